//! Times what a product costs the host besides the kernel.
//!
//! `cargo run --release -p spmv-cuda --example host_path [-- MATRIX ...]`; `SPMV_CUDA_DEVICE` names the device.
//! One line for each matrix, `f32`, microseconds, medians: the kernel in a graph of twenty; `apply`, which waits; what `apply` takes beyond
//! the kernel; `enqueue` alone, which does not wait; and a product in a queue, of a hundred that are waited for together, until the last
//! one is queued. Before them what the driver takes at least: for a launch alone, and with a wait, of a kernel that writes one number.

use std::time::Instant;

use spmv_core::Csr;
use spmv_cuda::{Cuda, Options as CudaOptions};
use spmv_exec::{Device, Options};
use spmv_io::suite;

const RUNS: u32 = 20;
const REPEATS: usize = 200;
const QUEUED: usize = 100;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2] * 1e6
}

fn times(device: &Device<Cuda>, a: &Csr<f32>) -> Result<[f64; 4], spmv_exec::Error> {
    let prepared = device.prepare(a.view(), &Options::default())?;
    let x: Vec<f32> = (0..a.n_cols()).map(|i| 0.25 + (i % 64) as f32 / 64.0).collect();
    let (x, mut y) = (device.upload(&x)?, device.zeros::<f32>(a.n_rows())?);
    let mut workspace = prepared.timed_workspace()?;
    let mut graph = prepared.capture(&mut workspace, RUNS, 1.0, &x, 0.0, &mut y)?;
    let mut kernel = Vec::new();
    for _ in 0..RUNS {
        kernel.push(graph.replay()?.stage1_s);
    }
    drop(graph);
    let mut workspace = prepared.workspace()?;
    let (mut apply, mut enqueue, mut queued) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let start = Instant::now();
        prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        apply.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let pending = prepared.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        enqueue.push(start.elapsed().as_secs_f64());
        pending.wait()?;
    }
    let mut queue = device.queue()?;
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..QUEUED {
            queue.apply(&prepared, 1.0, &x, 0.0, &mut y)?;
        }
        queued.push(start.elapsed().as_secs_f64() / QUEUED as f64);
        queue.wait()?;
    }
    Ok([kernel, apply, enqueue, queued].map(median))
}

/// A launch alone, and with a wait.
fn least(device: &Device<Cuda>) -> Result<[f64; 2], spmv_exec::Error> {
    let (mut queue, mut one) = (device.queue()?, device.zeros::<f32>(1)?);
    let (mut launch, mut waited) = (Vec::new(), Vec::new());
    for _ in 0..10 * REPEATS {
        let start = Instant::now();
        queue.fill(1.0, &mut one)?;
        launch.push(start.elapsed().as_secs_f64());
        queue.wait()?;
        waited.push(start.elapsed().as_secs_f64());
    }
    Ok([launch, waited].map(median))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Cuda::open(CudaOptions::from_env()?)?)?;
    let named: Vec<String> = std::env::args().skip(1).collect();
    let [launch, waited] = least(&device)?;
    println!("a kernel that writes one number: {launch:.2} us to launch, {waited:.2} us with a wait");
    println!("{:<16} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "kernel", "apply", "beyond", "enqueue", "queued");
    for entry in suite::ENTRIES {
        if !named.is_empty() && !named.iter().any(|name| name == entry.name) {
            continue;
        }
        let a = entry.load(None)?.map_values(|v| v as f32);
        let [kernel, apply, enqueue, queued] = times(&device, &a)?;
        let beyond = apply - kernel;
        println!("{:<16} {kernel:>8.2} {apply:>8.2} {beyond:>8.2} {enqueue:>8.2} {queued:>8.2}", entry.name);
    }
    Ok(())
}
