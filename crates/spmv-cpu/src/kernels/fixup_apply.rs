// kernel: fixup_apply
// params: n_rows row_base nnz tiles turn row_ptr tile_rows sync_sums dirty_count speculator y
// steps:  1 take the dirty tiles in turn; 2 read the tile's compact sums; 3 write them to their rows, zero
//         to empty rows; 4 add the carries of each row; 5 reset the next run's counter

use spmv_core::{Accum, Tiling};

use super::spec_segsum::MAX_TILE;

pub(crate) struct FixupApply<'a, A> {
    pub(crate) tiling: Tiling,
    /// Which of the two counters this run used.
    pub(crate) turn: usize,
    pub(crate) row_ptr: &'a [u32],
    /// The row of each tile's first entry, and `n_rows` at the end.
    pub(crate) tile_rows: &'a [u32],
    pub(crate) sync_sums: &'a [A],
    pub(crate) dirty_count: &'a mut [u32],
    pub(crate) speculator: &'a [u32],
    pub(crate) y: &'a mut [A],
}

impl<A: Accum> FixupApply<'_, A> {
    pub(crate) fn run(self) {
        // STEP 1
        // The speculator was written by a device: no index is trusted.
        let n_dirty = (self.dirty_count[self.turn] as usize).min(self.speculator.len());
        let mut compact = [A::zero(); MAX_TILE];
        for &tile in self.speculator[..n_dirty].iter().filter(|&&t| (t as usize) < self.speculator.len()) {
            let (first_row, stop_row) = (self.tile_rows[tile as usize], self.tile_rows[tile as usize + 1]);
            let rows = first_row as usize + 1..(stop_row as usize).max(first_row as usize + 1);
            let is_empty = |row: usize| self.row_ptr[row] == self.row_ptr[row + 1];
            // STEP 2
            let n_sums = rows.clone().filter(|&row| !is_empty(row)).count();
            compact[..n_sums].copy_from_slice(&self.y[rows.start..rows.start + n_sums]);
            // STEP 3
            let mut sums = compact[..n_sums].iter();
            for row in rows {
                let sum = if is_empty(row) { None } else { sums.next() };
                self.y[row] = sum.copied().unwrap_or_else(A::zero);
            }
        }
        // STEP 4
        let first_tiles = self.tile_rows.iter().step_by(self.tiling.tiles() as usize);
        for (&row, &sum) in first_tiles.zip(self.sync_sums) {
            self.y[row as usize] += sum;
        }
        // STEP 5
        self.dirty_count[1 - self.turn] = 0;
    }
}
