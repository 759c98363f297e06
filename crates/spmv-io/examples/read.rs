//! Reads Matrix Market files and says how fast.
//!
//! `cargo run --release -p spmv-io --example read -- FILE...`

use std::time::Instant;

use spmv_core::Csr;
use spmv_io::matrix_market::{Field, Reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        return Err("name at least one .mtx or .mtx.gz file".into());
    }
    println!(
        "{:>9} {:>9} {:>8}  file ({} threads, best of 5)",
        "MB",
        "entries",
        "MB/s",
        rayon::current_num_threads()
    );
    for path in paths {
        let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;
        let mut best = f64::INFINITY;
        let (mut entries, mut note) = (0, "");
        for _ in 0..5 {
            let start = Instant::now();
            let (header, matrix): (_, Csr<f64>) = Reader::new().real_part(true).read_with_header(&path)?;
            best = best.min(start.elapsed().as_secs_f64());
            entries = matrix.nnz();
            note = if header.field == Field::Complex { " (real part of a complex matrix)" } else { "" };
        }
        println!("{megabytes:>9.2} {entries:>9} {:>8.1}  {path}{note}", megabytes / best);
    }
    Ok(())
}
