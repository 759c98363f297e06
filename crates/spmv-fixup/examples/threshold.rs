//! Finds the number of rows in dirty tiles from which on parallel repair wins.
//!
//! `cargo run --release -p spmv-fixup --example threshold`

use std::hint::black_box;
use std::time::Instant;

use spmv_core::{Tiling, tiling::tile_rows};
use spmv_fixup::{Structure, dirty};

fn main() {
    let tiling = Tiling::new(32, 8, 7, 5).expect("a valid tiling");
    println!("{:>10} {:>8} {:>12} {:>12} {:>7}", "dirty rows", "tiles", "serial us", "parallel us", "ratio");
    for shift in 10..22 {
        let n_rows = 1usize << shift;
        // Every fourth row is empty, so every tile is dirty.
        let row_ptr: Vec<u32> = (0..=n_rows as u32).map(|r| r - r / 4).collect();
        let tile_rows = tile_rows(&tiling, &row_ptr);
        let structure = Structure::new(tiling, &row_ptr, &tile_rows);
        let mut tiles: Vec<u32> = (0..structure.n_tiles() as u32).collect();
        let mut y = vec![1.0f32; n_rows];
        let mut time = |parallel_rows| {
            let mut best = f64::INFINITY;
            for _ in 0..50 {
                let start = Instant::now();
                dirty::repair_from(&structure, &mut tiles, black_box(&mut y), parallel_rows)
                    .expect("valid tiles");
                best = best.min(start.elapsed().as_secs_f64() * 1e6);
            }
            best
        };
        let (serial, parallel) = (time(usize::MAX), time(0));
        println!(
            "{n_rows:>10} {:>8} {serial:>12.1} {parallel:>12.1} {:>7.2}",
            structure.n_tiles(),
            serial / parallel
        );
    }
    println!("threads: {}; the constant in use: {}", rayon::current_num_threads(), dirty::PARALLEL_ROWS);
}
