//! The seven traps found in published code, each against a model of the device that follows the
//! contract step by step in exact arithmetic, reports tiles in any order and starts from poison.

use proptest::prelude::*;
use spmv_core::tiling::{TileSpan, tile_rows};
use spmv_core::{Csr, Tiling, oracle};
use spmv_fixup::{FixupError, Structure, carry, dirty};

/// What stage 1 leaves behind.
#[derive(Clone, Debug)]
struct Stage1 {
    y: Vec<f64>,
    sync_rows: Vec<u32>,
    sync_sums: Vec<f64>,
    speculator: Vec<u32>,
}

/// Row offsets from row lengths.
fn row_ptr(lens: &[u32]) -> Vec<u32> {
    std::iter::once(0)
        .chain(lens.iter().scan(0, |s, l| {
            *s += l;
            Some(*s)
        }))
        .collect()
}

/// Value of entry `e`: distinct powers would overflow, small distinct integers do.
fn value(e: u32) -> f64 {
    f64::from(e % 97 + 1)
}

/// The device, one bunch after the other; `y` is what an earlier call left there.
fn device(tiling: &Tiling, row_ptr: &[u32], mut y: Vec<f64>) -> Stage1 {
    let nnz = *row_ptr.last().unwrap();
    let mut out = Stage1 { y: vec![], sync_rows: vec![], sync_sums: vec![], speculator: vec![] };
    if nnz > 0 {
        let lead = spmv_core::tiling::locate(row_ptr, 0) as usize;
        y[..=lead].fill(0.0);
    }
    for bunch in 0..tiling.n_bunches(nnz) {
        let tiles = tiling.bunch_tiles(bunch, nnz);
        let bunch_row = TileSpan::of(tiling, tiles.start, row_ptr).first_row;
        let (mut carry, mut sync) = (0.0, 0.0);
        for tile in tiles.clone() {
            let span = TileSpan::of(tiling, tile, row_ptr);
            let mut sums: Vec<f64> = Vec::new();
            for e in span.entries.clone() {
                if e == span.entries.start || row_ptr.contains(&e) {
                    sums.push(0.0);
                }
                *sums.last_mut().unwrap() += value(e);
            }
            sums[0] += carry;
            let tail = if span.has_tail(row_ptr) { sums.pop().unwrap() } else { 0.0 };
            for (j, sum) in sums.iter().enumerate() {
                if j == 0 && span.first_row == bunch_row {
                    sync = *sum
                } else {
                    y[span.first_row as usize + j] = *sum
                }
            }
            carry = tail;
            if tile + 1 == tiles.end {
                if span.stop_row == bunch_row {
                    sync = tail;
                } else if (span.stop_row as usize) < y.len() {
                    y[span.stop_row as usize] = tail;
                }
            }
            if span.is_dirty(row_ptr) {
                out.speculator.push(tile);
            }
        }
        out.sync_rows.push(bunch_row);
        out.sync_sums.push(sync);
    }
    out.y = y;
    out
}

fn repair(
    tiling: Tiling,
    row_ptr: &[u32],
    mut run: Stage1,
    parallel_rows: usize,
) -> Result<Vec<f64>, FixupError> {
    let rows = tile_rows(&tiling, row_ptr);
    let structure = Structure::new(tiling, row_ptr, &rows);
    dirty::repair_from(&structure, &mut run.speculator, &mut run.y, parallel_rows)?;
    carry::add(&structure, &run.sync_rows, &run.sync_sums, &mut run.y)?;
    Ok(run.y)
}

fn reference(row_ptr: &[u32]) -> Vec<f64> {
    let nnz = *row_ptr.last().unwrap();
    let a = Csr::new(
        row_ptr.len() - 1,
        1,
        row_ptr.to_vec(),
        vec![0; nnz as usize],
        (0..nnz).map(value).collect(),
    );
    oracle::multiply(a.unwrap().view(), 1.0, &[1.0], 0.0, &vec![0.0; row_ptr.len() - 1]).y
}

fn tiling(t: u32, w: u32, s: u32, b: u32) -> Tiling {
    Tiling::new(t, w, s, b).unwrap()
}

/// Runs stage 1 on poison, repairs, and runs again on what that left.
fn check(tiling: Tiling, lens: &[u32]) -> Stage1 {
    let row_ptr = row_ptr(lens);
    let first = device(&tiling, &row_ptr, vec![f64::NAN; lens.len()]);
    if *row_ptr.last().unwrap() == 0 {
        return first; // nothing was launched; the caller zeroes y
    }
    let y = repair(tiling, &row_ptr, first.clone(), usize::MAX).unwrap();
    assert_eq!(y, reference(&row_ptr), "{tiling} {lens:?}");
    let again = device(&tiling, &row_ptr, y);
    assert_eq!(
        repair(tiling, &row_ptr, again, 0).unwrap(),
        reference(&row_ptr),
        "second call: {tiling} {lens:?}"
    );
    first
}

/// The paper's example with rows 2 and 3 beginning at entries 8 and 14.
const PAPER: [u32; 12] = [3, 5, 6, 5, 8, 2, 0, 5, 3, 0, 7, 4];

#[test]
fn trap_1_a_stale_y_is_never_added_to() {
    // A row that starts exactly at each bunch boundary, and one that spans it.
    check(tiling(4, 2, 3, 1), &[24, 3, 0, 1, 20, 24, 5]);
    check(tiling(4, 2, 3, 1), &[23, 2, 0, 0, 23, 48, 1]);
    check(tiling(2, 1, 1, 1), &[0, 0, 2, 0, 2, 0]);
}

#[test]
fn trap_2_the_last_row_of_a_dirty_tile_goes_on_in_the_next() {
    let run = check(tiling(2, 2, 1, 1), &[1, 0, 5, 2]);
    assert!(!run.speculator.is_empty());
    let run = check(tiling(2, 2, 2, 1), &[1, 0, 5, 0, 2, 4]);
    assert!(run.speculator.len() >= 2);
}

#[test]
fn trap_3_the_order_of_reports_does_not_matter() {
    let row_ptr = row_ptr(&[1, 0, 2, 0, 1, 0, 3, 0, 0, 1, 5, 0, 1]);
    let tiling = tiling(2, 1, 2, 1);
    let mut run = device(&tiling, &row_ptr, vec![f64::NAN; 13]);
    assert!(run.speculator.len() > 2);
    for _ in 0..run.speculator.len() {
        run.speculator.rotate_left(1);
        assert_eq!(repair(tiling, &row_ptr, run.clone(), 0).unwrap(), reference(&row_ptr));
    }
}

#[test]
fn trap_4_spare_bunches_of_a_group_have_no_tiles() {
    let t = tiling(4, 2, 3, 5);
    assert_eq!((t.n_bunches(25), t.n_groups(25)), (2, 1));
    assert!((2..5).all(|spare| t.bunch_tiles(spare, 25).is_empty()));
    check(t, &[20, 5]);
}

#[test]
fn trap_5_only_rows_of_dirty_tiles_are_touched() {
    let row_ptr = row_ptr(&[2, 2, 1, 0, 1, 2]);
    let rows = tile_rows(&tiling(2, 1, 1, 1), &row_ptr);
    let structure = Structure::new(tiling(2, 1, 1, 1), &row_ptr, &rows);
    let mut y = [f64::NAN; 6];
    dirty::repair(&structure, &mut [2], &mut y).unwrap();
    let touched: Vec<usize> = (0..6).filter(|&r| !y[r].is_nan()).collect();
    assert_eq!(touched, [3], "the one empty row; rows at a tile's ends are not moved");
}

#[test]
fn trap_6_sums_of_16_bit_values_are_whole_words() {
    assert_eq!(spmv_core::Dtype::F16.accum().bytes(), 4);
    assert_eq!(spmv_core::Dtype::Bf16.accum().bytes(), 4);
}

#[test]
fn trap_7_what_a_device_wrote_is_checked() {
    let row_ptr = row_ptr(&PAPER);
    let t = tiling(4, 6, 2, 1);
    let good = device(&t, &row_ptr, vec![0.0; 12]);
    let with = |change: fn(&mut Stage1)| {
        let mut bad = good.clone();
        change(&mut bad);
        repair(t, &row_ptr, bad, 0).unwrap_err()
    };
    assert_eq!(with(|r| r.speculator[0] = 9), FixupError::TileOutOfRange { tile: 9, n_tiles: 2 });
    assert_eq!(
        with(|r| r.speculator[0] = u32::MAX),
        FixupError::TileOutOfRange { tile: u32::MAX, n_tiles: 2 }
    );
    assert_eq!(with(|r| r.speculator.push(1)), FixupError::TileTwice { tile: 1 });
    assert_eq!(with(|r| r.speculator.extend([0, 0])), FixupError::TooManyTiles { count: 3, n_tiles: 2 });
    assert_eq!(with(|r| r.sync_rows[0] = 1), FixupError::CarryMisplaced { bunch: 0, row: 1, n_rows: 12 });
    assert_eq!(with(|r| r.sync_rows[0] = 12), FixupError::CarryMisplaced { bunch: 0, row: 12, n_rows: 12 });
    assert_eq!(with(|r| r.sync_sums.clear()), FixupError::CarryCount { found: 0, n_bunches: 1 });
    assert_eq!(with(|r| r.y.truncate(11)), FixupError::YLength { found: 11, n_rows: 12 });
}

#[test]
fn the_papers_worked_example() {
    use std::fmt::Write;
    let (t, row_ptr) = (tiling(4, 6, 2, 1), row_ptr(&PAPER));
    let mut text = String::new();
    let rows = tile_rows(&t, &row_ptr);
    writeln!(text, "row_ptr          {row_ptr:?}\ntile boundaries  [0, 24, 48] -> rows {rows:?}").unwrap();
    for tile in 0..2 {
        let span = TileSpan::of(&t, tile, &row_ptr);
        let offsets: Vec<i64> = (span.first_row..=span.stop_row)
            .map(|r| i64::from(row_ptr[r as usize]) - i64::from(span.entries.start))
            .collect();
        let bits: Vec<u32> = span
            .entries
            .clone()
            .filter(|e| *e == span.entries.start || row_ptr.contains(e))
            .map(|e| e - span.entries.start)
            .collect();
        writeln!(
            text,
            "tile {tile}: offsets {offsets:?}, descriptor bits {bits:?}, dirty {}",
            span.is_dirty(&row_ptr)
        )
        .unwrap();
        if span.is_dirty(&row_ptr) {
            writeln!(text, "speculator <{},{}>", span.first_row, span.stop_row).unwrap();
        }
    }
    let run = device(&t, &row_ptr, vec![f64::NAN; 12]);
    writeln!(
        text,
        "synchronizer     rows {:?} sums {:?}\nspeculator       {:?}",
        run.sync_rows, run.sync_sums, run.speculator
    )
    .unwrap();
    writeln!(text, "y before repair  {:?}", run.y).unwrap();
    let y = repair(t, &row_ptr, run, 0).unwrap();
    writeln!(text, "y after repair   {y:?}").unwrap();
    assert_eq!(y, reference(&row_ptr));
    insta::assert_snapshot!(text);
}

#[test]
fn one_row_that_spans_many_bunches() {
    check(tiling(2, 1, 2, 1), &[0, 40, 0, 0]);
    check(tiling(2, 1, 2, 1), &[3, 41, 0, 2]);
}

#[test]
fn every_count_about_a_boundary() {
    let t = tiling(2, 2, 2, 2);
    for n in 1..40 {
        for first in 0..=n {
            for empties in 0..3 {
                let mut lens = vec![first];
                lens.extend(std::iter::repeat_n(0, empties));
                lens.push(n - first);
                check(t, &lens);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn any_matrix_any_tiling(
        t in 1u32..5, w in 1u32..4, s in 1u32..4, b in 1u32..3,
        lens in prop::collection::vec(prop_oneof![3 => Just(0u32), 4 => 1u32..4, 1 => 4u32..40], 1..40),
    ) {
        check(tiling(t, w, s, b), &lens);
    }
}
