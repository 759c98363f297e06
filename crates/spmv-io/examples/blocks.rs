//! What the row blocks of `ipcsr` cost compared with the CSR arrays that they are found from.
//!
//! `cargo run --release -p spmv-io --example blocks`

use std::hint::black_box;
use std::time::Instant;

use spmv_core::RowBlocks;
use spmv_core::{Csr, Tiling};
use spmv_io::suite::ENTRIES;

/// Milliseconds, the best of some runs.
fn best_ms<R>(runs: usize, mut run: impl FnMut() -> R) -> f64 {
    let time = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What a GPU is planned.
    let tiling = Tiling::new(128, 8, 1, 1)?;
    let mut largest: Vec<_> = ENTRIES.iter().collect();
    largest.sort_by_key(|entry| std::cmp::Reverse(entry.nnz));
    println!("best of 3 and of 20 runs; blocks of 128 rows and 1024 entries at most");
    println!("{:<12} {:>9} {:>9} {:>8} {:>9} {:>7}", "matrix", "entries", "CSR ms", "blocks", "ms", "%");
    for entry in &largest[..3] {
        let matrix = entry.load(None)?;
        let rows: Vec<u32> =
            (0..matrix.n_rows()).flat_map(|r| matrix.row(r).map(move |_| r as u32)).collect();
        let (cols, vals) = (matrix.cols(), matrix.vals());
        let csr_ms = best_ms(3, || {
            let csr: Csr<f64> = Csr::from_triplets(matrix.n_rows(), matrix.n_cols(), &rows, cols, vals)
                .expect("a matrix as it was");
            csr
        });
        let n_blocks = RowBlocks::of(&tiling, matrix.row_ptr()).n_blocks();
        let blocks_ms = best_ms(20, || RowBlocks::of(&tiling, matrix.row_ptr()));
        println!(
            "{:<12} {:>9} {csr_ms:>9.1} {n_blocks:>8} {blocks_ms:>9.3} {:>7.3}",
            entry.name,
            matrix.nnz(),
            100.0 * blocks_ms / csr_ms
        );
    }
    Ok(())
}
