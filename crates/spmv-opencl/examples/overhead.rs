//! What a call costs besides its bytes, for each kind of memory: with and without the device's timestamps.
//!
//! `cargo run --release -p spmv-opencl --example overhead`; `SPMV_OPENCL_DEVICE` names the device.

use std::time::Instant;

use spmv_backend::Backend;
use spmv_core::Csr;
use spmv_exec::{Algorithm, Device, Error, Options, Prepared, Workspace};
use spmv_opencl::{Memory, OpenCl};

const CALLS: usize = 300;
const COPY_BYTES: usize = 64 << 20;

fn main() -> Result<(), Error> {
    let n = 10_000u32;
    let entries: Vec<_> = (0..n).flat_map(|r| [(r, r, 1.0f32), (r, (r * 7) % n, 2.0)]).collect();
    let a = Csr::from_coo(n as usize, n as usize, &entries).expect("valid");
    println!("us a call: median of {CALLS}, {n} rows of two entries; GB/s: {} MiB", COPY_BYTES >> 20);
    println!("memory   algorithm    untimed   timed   write GB/s   read GB/s");
    for memory in Memory::ALL {
        let mut options = spmv_opencl::Options::from_env()?;
        options.memory = Some(memory);
        let device = match OpenCl::open(options) {
            Ok(device) => Device::new(device)?,
            Err(e) => {
                println!("{:<8} {e}", memory.name());
                continue;
            }
        };
        let (write, read) = copies(device.backend())?;
        for algorithm in [Algorithm::SpeculativeSegmentedSum, Algorithm::CsrVector] {
            let prepared = device.prepare(a.view(), &Options { algorithm, ..Options::default() })?;
            let untimed = call_us(&prepared, prepared.workspace()?)?;
            let timed = call_us(&prepared, prepared.timed_workspace()?)?;
            let (memory, algorithm) = (memory.name(), algorithm.name());
            println!("{memory:<8} {algorithm:<11} {untimed:>8.1} {timed:>7.1} {write:>12.1} {read:>11.1}");
        }
    }
    Ok(())
}

fn call_us(prepared: &Prepared<OpenCl, f32>, mut workspace: Workspace<OpenCl, f32>) -> Result<f64, Error> {
    let device = prepared.device();
    let x = device.upload(&vec![1.0; prepared.row_stats().n_cols])?;
    let mut y = device.zeros(prepared.row_stats().n_rows)?;
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[CALLS / 2])
}

/// Best of five copies to the device and back.
fn copies(device: &OpenCl) -> Result<(f64, f64), Error> {
    let mut bytes = vec![1u8; COPY_BYTES];
    let (stream, mut buffer) = (device.open_stream(false)?, device.alloc(COPY_BYTES as u64)?);
    let gbs = |start: Instant| COPY_BYTES as f64 / start.elapsed().as_secs_f64() / 1e9;
    let (mut write, mut read) = (0f64, 0f64);
    for _ in 0..5 {
        let start = Instant::now();
        device.write(&stream, &mut buffer, 0, &bytes)?;
        write = write.max(gbs(start));
        let start = Instant::now();
        device.read(&stream, &buffer, 0, &mut bytes)?;
        read = read.max(gbs(start));
    }
    Ok((write, read))
}
