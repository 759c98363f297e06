// kernel: fixup_apply
// params: n_rows row_base nnz tiles turn row_ptr tile_rows sync_sums dirty_count speculator y
// steps:  1 take the dirty tiles in turn; 2 read the tile's compact sums; 3 write them to their rows, zero
//         to empty rows; 4 add the carries of each row; 5 reset the next run's counter

use std::sync::atomic::Ordering::Relaxed;

use num_traits::Zero;

use super::prelude::{MAX_TILE, rows_of};
use crate::device_args::view::FixupApply;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: FixupApply<'_, T>) {
    let FixupApply {
        n_rows, row_base, nnz, tiles, turn, row_ptr, tile_rows, dirty_count, speculator, ..
    } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (n_tiles, n_bunches) = (tiling.n_tiles(nnz) as usize, tiling.n_bunches(nnz) as usize);
    let (row_ptr, tile_rows) = (&row_ptr[..=n_rows as usize], &tile_rows[..=n_tiles]);
    let (sync_sums, y) = (&args.sync_sums[..n_bunches], rows_of(args.y, row_base, n_rows));
    // STEP 1
    // The speculator was written by a device: no index is trusted.
    let n_dirty = (dirty_count[turn as usize].load(Relaxed) as usize).min(n_tiles);
    let mut compact = [T::Accum::zero(); MAX_TILE];
    for &tile in speculator[..n_dirty].iter().filter(|&&t| (t as usize) < n_tiles) {
        let (first_row, stop_row) = (tile_rows[tile as usize], tile_rows[tile as usize + 1]);
        let rows = first_row as usize + 1..(stop_row as usize).max(first_row as usize + 1);
        let is_empty = |row: usize| row_ptr[row] == row_ptr[row + 1];
        // STEP 2
        let n_sums = rows.clone().filter(|&row| !is_empty(row)).count();
        compact[..n_sums].copy_from_slice(&y[rows.start..rows.start + n_sums]);
        // STEP 3
        let mut sums = compact[..n_sums].iter();
        for row in rows {
            let sum = if is_empty(row) { None } else { sums.next() };
            y[row] = sum.copied().unwrap_or_else(T::Accum::zero);
        }
    }
    // STEP 4
    let first_tiles = tile_rows.iter().step_by(tiling.tiles() as usize);
    for (&row, &sum) in first_tiles.zip(sync_sums) {
        y[row as usize] += sum;
    }
    // STEP 5
    dirty_count[1 - turn as usize].store(0, Relaxed);
}
