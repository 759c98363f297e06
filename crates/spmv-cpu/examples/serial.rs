//! Finds the size from which on several threads beat one: the tiling decides how many parts there are.
//!
//! Medians, of calls back to back, and of calls after the caller had other work: for 20 us, over which helpers stay awake, and for 100 us, in which
//! they fall asleep.
//!
//! `cargo run --release -p spmv-cpu --example serial`

use std::time::{Duration, Instant};

use spmv_core::{Csr, Tiling};
use spmv_cpu::Cpu;
use spmv_exec::{Algorithm, Device, Options};

const OTHER_WORK: [Duration; 3] = [Duration::ZERO, Duration::from_micros(20), Duration::from_micros(100)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Cpu::open(Default::default())?)?;
    println!("{}", device.caps().name);
    println!("{:>38} {:>29} {:>29}", "back to back, us", "after 20 us, us", "after 100 us, us");
    let columns = format!(" {:>9} {:>9} {:>9}", "serial", "outside", "in pool").repeat(OTHER_WORK.len());
    println!("{:>9}{columns}", "entries");
    for shift in 12..19 {
        let n_rows = (1usize << shift) / 10;
        let row_ptr: Vec<u32> = (0..=n_rows as u32).map(|row| row * 10).collect();
        let cols: Vec<u32> = (0..n_rows as u32 * 10).map(|e| e * 7 % n_rows as u32).collect();
        let a = Csr::new(n_rows, n_rows, row_ptr, cols, vec![1.0f64; n_rows * 10])?;
        let steps = n_rows as u32 * 11;
        let time = |parts: u32, other_work: Duration| -> Result<f64, spmv_exec::Error> {
            let tiling = Some(Tiling::new(8, 16, steps.div_ceil(parts * 128), 1)?);
            let options = Options { algorithm: Algorithm::MergePath, tiling, ..Options::default() };
            let prepared = device.prepare(a.view(), &options)?;
            let mut workspace = prepared.workspace()?;
            let (x, mut y) = (vec![1.0; n_rows], vec![0.0; n_rows]);
            let mut times = Vec::new();
            for _ in 0..300 {
                let begun = Instant::now();
                while begun.elapsed() < other_work {}
                let start = Instant::now();
                prepared.apply_slices(&mut workspace, 1.0, &x, 0.0, &mut y)?;
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        };
        let parts = 4 * device.caps().compute_units;
        print!("{:>9}", a.nnz());
        for other_work in OTHER_WORK {
            let (serial, outside) = (time(1, other_work)?, time(parts, other_work)?);
            let in_pool = rayon::scope(|_| time(parts, other_work))?;
            print!(" {serial:>9.1} {outside:>9.1} {in_pool:>9.1}");
        }
        println!();
    }
    Ok(())
}
