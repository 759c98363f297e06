// kernel: fixup_apply
// params: n_rows row_base nnz row_ptr sync_rows sync_sums dirty_count speculator y
// steps:  1 take the dirty tiles in turn; 2 read the tile's compact sums; 3 write them to their rows, zero
//         to empty rows; 4 add the carries in bunch order; 5 keep the dirty count, reset the counter

use spmv_core::tiling::TileSpan;
use spmv_core::{Accum, Tiling};

use super::spec_segsum::MAX_TILE;

pub(crate) struct FixupApply<'a, A> {
    pub(crate) tiling: Tiling,
    pub(crate) row_ptr: &'a [u32],
    pub(crate) sync_rows: &'a [u32],
    pub(crate) sync_sums: &'a [A],
    /// The counter, and what it came to in the last run.
    pub(crate) dirty_count: &'a mut [u32],
    pub(crate) speculator: &'a [u32],
    pub(crate) y: &'a mut [A],
}

impl<A: Accum> FixupApply<'_, A> {
    pub(crate) fn run(self) {
        // STEP 1
        // The speculator and the synchronizer were written by a device: no index is trusted.
        let n_dirty = (self.dirty_count[0] as usize).min(self.speculator.len());
        let mut compact = [A::zero(); MAX_TILE];
        for &tile in self.speculator[..n_dirty].iter().filter(|&&t| (t as usize) < self.speculator.len()) {
            let span = TileSpan::of(&self.tiling, tile, self.row_ptr);
            let rows = span.first_row as usize + 1..(span.stop_row as usize).max(span.first_row as usize + 1);
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
        for (&row, &sum) in self.sync_rows.iter().zip(self.sync_sums) {
            if let Some(y) = self.y.get_mut(row as usize) {
                *y += sum;
            }
        }
        // STEP 5
        self.dirty_count[1] = self.dirty_count[0];
        self.dirty_count[0] = 0;
    }
}
