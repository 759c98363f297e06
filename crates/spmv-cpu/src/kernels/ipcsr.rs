// kernel: ipcsr
// params: n_rows row_base alpha beta row_ptr block_rows block_entries cols vals x carries arrivals y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it, then rows too long for those; 4 store alpha*sum + beta*y; 5 leave a piece's
//         sum in carries[block]; where groups can join, the last to arrive adds its row's, else carry_apply

use super::prelude::{RowSums, for_carriers};
use crate::simd::{Isa, Operand, SimdValue};

pub(crate) struct Ipcsr<'a, T: SimdValue> {
    pub(crate) isa: Isa,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    pub(crate) row_ptr: &'a [u32],
    /// First row of each block, and the end: one more than blocks.
    pub(crate) block_rows: &'a [u32],
    /// First entry of each block, and the end.
    pub(crate) block_entries: &'a [u32],
    pub(crate) a: Operand<'a, T>,
    pub(crate) carries: &'a mut [T::Accum],
    pub(crate) y: &'a mut [T::Accum],
}

/// Products need no memory of their own here: the vector unit sums them as it gathers them.
impl<T: SimdValue> Ipcsr<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { isa, alpha, beta, row_ptr, block_rows, block_entries, a, carries, y } = self;
        let sums = RowSums { isa, alpha, beta, row_ptr, a };
        for_carriers(groups, 1, block_rows, y, carries, &|block, y| {
            // STEP 1
            let rows = block_rows[block] as usize..block_rows[block + 1] as usize;
            let entries = block_entries[block] as usize..block_entries[block + 1] as usize;
            // STEP 2, STEP 3, STEP 4, STEP 5: after whole rows no entry is left to carry.
            sums.of(rows, entries, y)
        });
    }
}
