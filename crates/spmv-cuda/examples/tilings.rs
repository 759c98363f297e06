//! Times many tilings of every kernel on the suite's matrices, or on named ones of it and of the classes: what the plan's constants come
//! from.
//!
//! `cargo run --release -p spmv-cuda --example tilings [-- MATRIX|ALGORITHM ...]`; `SPMV_CUDA_DEVICE` names the
//! device.
//! One line for each matrix, type and kernel: its best tilings, and the microseconds of a run in a graph of twenty.

use spmv_core::{Csr, Tiling, Value};
use spmv_cuda::{Cuda, Options as CudaOptions};
use spmv_exec::{Algorithm, Device, Options};
use spmv_io::{classes, suite};

/// Runs in a graph, and replays of it; the first does not count.
const RUNS: u32 = 20;
const REPLAYS: usize = 6;
/// Tilings that are printed of each kernel.
const SHOWN: usize = 6;

fn tilings(algorithm: Algorithm) -> Vec<Tiling> {
    let mut all = Vec::new();
    let mut add = |t, w, s, b| all.extend(Tiling::new(t, w, s, b));
    match algorithm {
        Algorithm::CsrVector => {
            for t in [1, 2, 4, 8, 16, 32] {
                for lanes in [128, 256, 512] {
                    add(t, 1, 1, lanes / t);
                }
                add(t, 1, 2, 256 / t);
            }
        }
        Algorithm::Ipcsr => {
            for t in [128, 256] {
                for w in [4, 8, 16] {
                    add(t, w, 1, 1);
                }
            }
        }
        Algorithm::Sell => {
            for t in [1, 2, 4, 8, 16, 32] {
                for w in [1, 2, 3, 4] {
                    for lanes in [128, 256, 512] {
                        add(t, w, 1, lanes / t);
                    }
                }
            }
        }
        Algorithm::Stripes => {
            for t in [1, 2, 4, 8] {
                for w in [1, 2, 3] {
                    for lanes in [128, 256, 512] {
                        add(t, w, 1, lanes / t);
                    }
                }
            }
        }
        Algorithm::CsrScalar => [2, 4, 8].into_iter().for_each(|b| add(32, 1, 1, b)),
        _ => {
            for w in [4, 8, 16] {
                for s in [1, 2, 3, 4, 7, 10] {
                    for b in [4, 8] {
                        add(32, w, s, b);
                    }
                }
            }
        }
    }
    all
}

fn time<T: Value>(device: &Device<Cuda>, a: &Csr<T>, options: &Options) -> Result<f64, spmv_exec::Error> {
    let prepared = device.prepare(a.view(), options)?;
    let mut workspace = prepared.timed_workspace()?;
    let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(0.25 + (i % 64) as f64 / 64.0)).collect();
    let (x, mut y) = (device.upload(&x)?, device.zeros::<T::Accum>(a.n_rows())?);
    let (one, zero) = (num_traits::one(), num_traits::zero());
    let mut graph = prepared.capture(&mut workspace, RUNS, one, &x, zero, &mut y)?;
    let mut times = Vec::new();
    for _ in 0..REPLAYS {
        times.push(graph.replay()?.stage1_s * 1e6);
    }
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn of_type<T: Value>(
    device: &Device<Cuda>,
    name: &str,
    matrix: &Csr<f64>,
    algorithms: &[Algorithm],
) -> Result<(), spmv_exec::Error> {
    let a: Csr<T> = matrix.map_values(T::from_f64);
    for &algorithm in algorithms {
        let mut times = Vec::new();
        // A lane or a bunch for each row would take long where one row is.
        let longest = spmv_core::RowStats::of(a.view()).max;
        if matches!(algorithm, Algorithm::CsrVector | Algorithm::CsrScalar) && longest > 60_000 {
            continue;
        }
        for tiling in std::iter::once(None).chain(tilings(algorithm).into_iter().map(Some)) {
            let options = Options { algorithm, tiling, ..Options::default() };
            match time(device, &a, &options) {
                Ok(us) => {
                    let label = tiling.map_or_else(|| "planned".to_owned(), |t| t.to_string());
                    times.push((us, label));
                }
                Err(e) => println!("{name} {} {algorithm} {tiling:?}: {e}", T::DTYPE),
            }
        }
        let planned = times.first().map_or(f64::NAN, |(us, _)| *us);
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best: Vec<String> = times.iter().take(SHOWN).map(|(us, t)| format!("{us:.2} {t}")).collect();
        println!("{name:<16} {} {algorithm:<11} planned {planned:>7.2} | {}", T::DTYPE, best.join(" | "));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Cuda::open(CudaOptions::from_env()?)?)?;
    let (mut algorithms, mut matrices) = (Vec::new(), Vec::new());
    for asked in std::env::args().skip(1) {
        match asked.parse() {
            Ok(Algorithm::Auto) => return Err("name an algorithm that has tilings of its own".into()),
            Ok(algorithm) => algorithms.push(algorithm),
            Err(_) => matrices.push(asked),
        }
    }
    if algorithms.is_empty() {
        algorithms = Algorithm::ALL.iter().copied().filter(|a| *a != Algorithm::Auto).collect();
    }
    if matrices.is_empty() {
        matrices = suite::ENTRIES.iter().map(|entry| entry.name.to_owned()).collect();
    }
    for name in &matrices {
        let matrix = match (suite::find(name), classes::find(name)) {
            (Some(entry), _) => entry.load(None)?,
            (_, Some(entry)) => entry.generate()?,
            _ => return Err(format!("no matrix or algorithm '{name}'").into()),
        };
        of_type::<f32>(&device, name, &matrix, &algorithms)?;
        of_type::<f64>(&device, name, &matrix, &algorithms)?;
    }
    Ok(())
}
