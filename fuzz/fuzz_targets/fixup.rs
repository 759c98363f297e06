//! Whatever a device wrote: an error or a repaired `y`; the right one if the device made no mistake.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use spmv_core::tiling::{TileSpan, locate, tile_rows};
use spmv_core::{Csr, Tiling, oracle};
use spmv_fixup::{FixupError, Structure, carry, dirty};

/// Enough for many tiles of any tiling here, and few enough to be fast.
const MOST_ROWS: usize = 200;

#[derive(Arbitrary, Debug)]
struct Input {
    /// Entries of each row.
    lens: Vec<u8>,
    /// T, W, S, B, less one.
    tiling: [u8; 4],
    /// How far the device's reports of dirty tiles are rotated: atomics come in any order.
    rotated: u8,
    /// In parallel if it is 1: seldom, as threads take long to wake.
    waking: u8,
    /// What the device got wrong, if anything.
    faults: Vec<Fault>,
}

#[derive(Arbitrary, Debug)]
enum Fault {
    Row(u16, u32),
    Sum(u16, f64),
    Tile(u16, u32),
    AnotherTile(u32),
    Y(u16, f64),
    Rows(Vec<u32>),
    Sums(Vec<f64>),
    Tiles(Vec<u32>),
    LenOfY(u16),
}

/// What stage 1 leaves behind.
#[derive(Clone)]
struct Stage1 {
    y: Vec<f64>,
    rows: Vec<u32>,
    sums: Vec<f64>,
    tiles: Vec<u32>,
}

fuzz_target!(|input: Input| {
    let [t, w, s, b] = input.tiling.map(|n| u32::from(n % 8) + 1);
    let tiling = Tiling::new(t, w, s, b).expect("small");
    let row_ptr: Vec<u32> = std::iter::once(0)
        .chain(input.lens.iter().take(MOST_ROWS).scan(0, |end, len| {
            *end += u32::from(*len % 32);
            Some(*end)
        }))
        .collect();
    let mut run = stage_1(&tiling, &row_ptr);
    let rotated = usize::from(input.rotated) % run.tiles.len().max(1);
    run.tiles.rotate_left(rotated);
    let parallel_rows = if input.waking == 1 { 0 } else { usize::MAX };
    if input.faults.is_empty() {
        let y = repair(tiling, &row_ptr, run, parallel_rows).expect("what a device that works wrote");
        assert_eq!(y, reference(&row_ptr));
        return;
    }
    input.faults.into_iter().for_each(|fault| run.take(fault));
    // Wrong sums are not seen; indices that cannot be are.
    let tiles = run.tiles.clone();
    if repair(tiling, &row_ptr, run, parallel_rows).is_ok() {
        assert!(tiles.iter().all(|tile| *tile < tiling.n_tiles(row_ptr[row_ptr.len() - 1])));
    }
});

impl Stage1 {
    fn take(&mut self, fault: Fault) {
        fn put<T>(list: &mut [T], at: u16, value: T) {
            if !list.is_empty() {
                let at = usize::from(at) % list.len();
                list[at] = value;
            }
        }
        match fault {
            Fault::Row(at, row) => put(&mut self.rows, at, row),
            Fault::Sum(at, sum) => put(&mut self.sums, at, sum),
            Fault::Tile(at, tile) => put(&mut self.tiles, at, tile),
            Fault::AnotherTile(tile) => self.tiles.push(tile),
            Fault::Y(at, value) => put(&mut self.y, at, value),
            Fault::Rows(rows) => self.rows = rows,
            Fault::Sums(sums) => self.sums = sums,
            Fault::Tiles(tiles) => self.tiles = tiles,
            Fault::LenOfY(n) => self.y.resize(usize::from(n), f64::NAN),
        }
    }
}

fn repair(
    tiling: Tiling,
    row_ptr: &[u32],
    mut run: Stage1,
    parallel_rows: usize,
) -> Result<Vec<f64>, FixupError> {
    let rows = tile_rows(&tiling, row_ptr);
    let structure = Structure::new(tiling, row_ptr, &rows);
    dirty::repair_from(&structure, &mut run.tiles, &mut run.y, parallel_rows)?;
    carry::add(&structure, &run.rows, &run.sums, &mut run.y)?;
    Ok(run.y)
}

/// What stage 1 leaves behind, from what it should: sums of the row in which a bunch begins are apart, and those of dirty
/// tiles stand without the empty rows between them, whose slots hold anything. Not how a device goes about it, which
/// `traps.rs` of spmv-fixup follows.
fn stage_1(tiling: &Tiling, row_ptr: &[u32]) -> Stage1 {
    let nnz = row_ptr[row_ptr.len() - 1];
    let mut run = Stage1 { y: vec![0.0; row_ptr.len() - 1], rows: vec![], sums: vec![], tiles: vec![] };
    for bunch in 0..tiling.n_bunches(nnz) {
        let entries = tiling.bunch_range(bunch, nnz);
        let first = locate(row_ptr, entries.start);
        let mut sum = 0.0;
        for entry in entries {
            match locate(row_ptr, entry) {
                row if row == first => sum += value(entry),
                row => run.y[row as usize] += value(entry),
            }
        }
        run.rows.push(first);
        run.sums.push(sum);
    }
    for tile in 0..tiling.n_tiles(nnz) {
        let span = TileSpan::of(tiling, tile, row_ptr);
        if !span.is_dirty(row_ptr) {
            continue;
        }
        run.tiles.push(tile);
        let between = span.first_row as usize + 1..span.stop_row as usize;
        let is_empty = |row: &usize| row_ptr[*row] == row_ptr[row + 1];
        let sums: Vec<f64> = between.clone().filter(|row| !is_empty(row)).map(|row| run.y[row]).collect();
        run.y[between.clone()].fill(f64::NAN);
        run.y[between][..sums.len()].copy_from_slice(&sums);
    }
    run
}

/// Small integers, whose sums are exact.
fn value(entry: u32) -> f64 {
    f64::from(entry % 97 + 1)
}

fn reference(row_ptr: &[u32]) -> Vec<f64> {
    let (n_rows, nnz) = (row_ptr.len() - 1, row_ptr[row_ptr.len() - 1]);
    let values = (0..nnz).map(value).collect();
    let a = Csr::new(n_rows, 1, row_ptr.to_vec(), vec![0; nnz as usize], values).expect("a matrix");
    oracle::multiply(a.view(), 1.0, &[1.0], 0.0, &vec![0.0; n_rows]).y
}
