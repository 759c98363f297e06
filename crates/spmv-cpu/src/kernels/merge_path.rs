// kernel: merge_path
// params: n_rows row_base nnz tiles alpha beta row_ptr bunch_rows cols vals x carries y
// steps:  1 a bunch takes S*W*T steps of the merge of row ends with entries, from bunch_rows[bunch] on;
//         2 finish the row that began before; 3 sum and store whole rows; 4 leave the last row's
//         beginning in carries[bunch]

use spmv_core::Tiling;

use super::prelude::{RowSums, for_carriers};
use crate::simd::{Isa, Operand, SimdValue};

pub(crate) struct MergePath<'a, T: SimdValue> {
    pub(crate) tiling: Tiling,
    pub(crate) isa: Isa,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    pub(crate) row_ptr: &'a [u32],
    /// Rows finished before each bunch, and before the end: one more than bunches.
    pub(crate) bunch_rows: &'a [u32],
    pub(crate) a: Operand<'a, T>,
    pub(crate) carries: &'a mut [T::Accum],
    pub(crate) y: &'a mut [T::Accum],
}

impl<T: SimdValue> MergePath<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, isa, alpha, beta, row_ptr, bunch_rows, a, carries, y } = self;
        let total = row_ptr.len() as u32 - 1 + row_ptr[row_ptr.len() - 1];
        let sums = RowSums { isa, alpha, beta, row_ptr, a };
        for_carriers(groups, tiling.bunches() as usize, bunch_rows, y, carries, &|bunch, y| {
            // STEP 1
            let steps = tiling.bunch_range(bunch as u32, total);
            let rows = bunch_rows[bunch] as usize..bunch_rows[bunch + 1] as usize;
            let entries = steps.start as usize - rows.start..steps.end as usize - rows.end;
            // STEP 2, STEP 3, STEP 4
            sums.of(rows, entries, y)
        });
    }
}
