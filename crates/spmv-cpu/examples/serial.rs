//! Finds the size from which on several threads beat one: the tiling decides how many parts there are.
//!
//! `cargo run --release -p spmv-cpu --example serial`

use std::time::Instant;

use spmv_core::{Csr, Tiling};
use spmv_cpu::Cpu;
use spmv_exec::{Algorithm, Device, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Cpu::open(Default::default())?)?;
    println!(
        "{}\n{:>9} {:>11} {:>13} {:>12}",
        device.caps().name,
        "entries",
        "serial us",
        "outside us",
        "in pool us"
    );
    for shift in 12..19 {
        let n_rows = (1usize << shift) / 10;
        let row_ptr: Vec<u32> = (0..=n_rows as u32).map(|row| row * 10).collect();
        let cols: Vec<u32> = (0..n_rows as u32 * 10).map(|e| e * 7 % n_rows as u32).collect();
        let a = Csr::new(n_rows, n_rows, row_ptr, cols, vec![1.0f64; n_rows * 10])?;
        let steps = n_rows as u32 * 11;
        let time = |parts: u32| -> Result<f64, spmv_exec::Error> {
            let tiling = Some(Tiling::new(8, 16, steps.div_ceil(parts * 128), 1)?);
            let options = Options { algorithm: Algorithm::MergePath, tiling, ..Options::default() };
            let prepared = device.prepare(a.view(), &options)?;
            let mut workspace = prepared.workspace()?;
            let (x, mut y) = (vec![1.0; n_rows], vec![0.0; n_rows]);
            let mut best = f64::INFINITY;
            for _ in 0..300 {
                let start = Instant::now();
                prepared.apply_slices(&mut workspace, 1.0, &x, 0.0, &mut y)?;
                best = best.min(start.elapsed().as_secs_f64() * 1e6);
            }
            Ok(best)
        };
        let parts = 4 * device.caps().compute_units;
        let in_pool = rayon::scope(|_| time(parts))?;
        println!("{:>9} {:>11.1} {:>13.1} {in_pool:>12.1}", a.nnz(), time(1)?, time(parts)?);
    }
    Ok(())
}
