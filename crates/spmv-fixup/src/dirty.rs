//! The speculator: tiles whose sums were stored compactly over empty rows.

use spmv_core::Accum;

use crate::{FixupError, Structure};

/// Rows in dirty tiles from which on tiles are repaired in parallel.
///
/// Measured by `cargo run --release -p spmv-fixup --example threshold`, which prints where two threads
/// begin to win; below, waking the other threads costs more than the repair.
pub const PARALLEL_ROWS: usize = 32 * 1024;

/// Repairs the rows of every dirty tile in `y`: moves each compact sum to its row, zeroes empty rows.
///
/// `dirty` holds tile indices in any order and is sorted in place; `y` has `n_rows` entries, of which
/// only rows inside the given tiles change. O(rows in dirty tiles) time, no scratch, in parallel from
/// [`PARALLEL_ROWS`] rows on. Liu & Vinter 2015, section 3.2.
///
/// # Errors
/// [`FixupError::TileOutOfRange`], [`FixupError::TileTwice`], [`FixupError::TooManyTiles`] if the device
/// reported what cannot be, [`FixupError::YLength`].
pub fn repair<A: Accum>(s: &Structure<'_>, dirty: &mut [u32], y: &mut [A]) -> Result<(), FixupError> {
    repair_from(s, dirty, y, PARALLEL_ROWS)
}

/// As [`repair`], in parallel from `parallel_rows` rows on.
///
/// # Errors
/// As [`repair`].
pub fn repair_from<A: Accum>(
    s: &Structure<'_>,
    dirty: &mut [u32],
    y: &mut [A],
    parallel_rows: usize,
) -> Result<(), FixupError> {
    s.check_y(y.len())?;
    check(s, dirty)?;
    let rows: usize = dirty.iter().map(|&t| rows_between(s, t).len()).sum();
    // Each half gets at least an eighth of the rows' worth of tiles, so that few tiles stay serial.
    let leaf = if rows < parallel_rows {
        dirty.len()
    } else {
        dirty.len().div_ceil(8 * rayon::current_num_threads())
    };
    repair_sorted(s, dirty, y, 0, leaf.max(1));
    Ok(())
}

/// Sorts the reported tiles, so that nothing depends on the order of the device's atomics, and checks
/// that each exists and is named once.
fn check(s: &Structure<'_>, dirty: &mut [u32]) -> Result<(), FixupError> {
    let n_tiles = s.n_tiles();
    if dirty.len() > n_tiles {
        return Err(FixupError::TooManyTiles { count: dirty.len() as u32, n_tiles });
    }
    dirty.sort_unstable();
    if let Some(&tile) = dirty.last().filter(|&&t| t as usize >= n_tiles) {
        return Err(FixupError::TileOutOfRange { tile, n_tiles });
    }
    match dirty.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(FixupError::TileTwice { tile: w[0] }),
        None => Ok(()),
    }
}

/// Rows that begin and end inside the tile: after its first row and before its stop row.
fn rows_between(s: &Structure<'_>, tile: u32) -> std::ops::Range<usize> {
    let (first, stop) = (s.tile_rows[tile as usize], s.tile_rows[tile as usize + 1]);
    first as usize + 1..stop.max(first + 1) as usize
}

/// Repairs tiles in ascending order; `y[0]` is row `base`.
fn repair_sorted<A: Accum>(s: &Structure<'_>, tiles: &[u32], y: &mut [A], base: usize, leaf: usize) {
    if tiles.len() <= leaf {
        for &tile in tiles {
            repair_tile(s, tile, y, base);
        }
        return;
    }
    let (left, right) = tiles.split_at(tiles.len() / 2);
    // Tiles own disjoint rows in ascending order, so `y` can be cut before the right half's first.
    let cut = rows_between(s, right[0]).start;
    let (y_left, y_right) = y.split_at_mut(cut - base);
    rayon::join(
        || repair_sorted(s, left, y_left, base, leaf),
        || repair_sorted(s, right, y_right, cut, leaf),
    );
}

/// Walks the tile's rows from the right. A compact sum never stands right of its row, so each is read
/// before anything is written over it.
fn repair_tile<A: Accum>(s: &Structure<'_>, tile: u32, y: &mut [A], base: usize) {
    let rows = rows_between(s, tile);
    let is_empty = |row: usize| s.row_ptr[row] == s.row_ptr[row + 1];
    let mut compact = rows.start + rows.clone().filter(|&row| !is_empty(row)).count();
    for row in rows.rev() {
        y[row - base] = if is_empty(row) {
            A::zero()
        } else {
            compact -= 1;
            y[compact - base]
        };
    }
}
