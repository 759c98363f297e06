// kernel: merge_path
// params: n_rows row_base nnz tiles alpha beta row_ptr bunch_rows cols vals x carries y
// steps:  1 a bunch takes S*W*T steps of the merge of row ends with entries, from bunch_rows[bunch] on;
//         2 finish the row that began before; 3 sum and store whole rows; 4 leave the last row's
//         beginning in carries[bunch]

use spmv_core::Tiling;

use super::prelude::{Rows, for_groups};
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

/// What a run of groups writes.
struct Out<'a, A> {
    y: Rows<'a, A>,
    carries: Rows<'a, A>,
}

impl<T: SimdValue> MergePath<'_, T> {
    pub(crate) fn run(mut self, groups: u32) {
        let bunch_rows = self.bunch_rows;
        let y = Rows { base: 0, rows: std::mem::take(&mut self.y) };
        let carries = Rows { base: 0, rows: std::mem::take(&mut self.carries) };
        let bunches = self.tiling.bunches() as usize;
        for_groups(
            0..groups,
            Out { y, carries },
            &|out, group| {
                let bunch = group as usize * bunches;
                let (y_left, y_right) = out.y.split_before(bunch_rows[bunch] as usize);
                let (carries_left, carries_right) = out.carries.split_before(bunch);
                (Out { y: y_left, carries: carries_left }, Out { y: y_right, carries: carries_right })
            },
            &|mut out, _| {
                for (i, carry) in out.carries.rows.iter_mut().enumerate() {
                    *carry = self.bunch(out.carries.base + i, &mut out.y);
                }
            },
        );
    }

    fn bunch(&self, bunch: usize, y: &mut Rows<'_, T::Accum>) -> T::Accum {
        // STEP 1
        let total = self.row_ptr.len() as u32 - 1 + self.row_ptr[self.row_ptr.len() - 1];
        let steps = self.tiling.bunch_range(bunch as u32, total);
        let rows = self.bunch_rows[bunch] as usize..self.bunch_rows[bunch + 1] as usize;
        let entries = steps.start as usize - rows.start..steps.end as usize - rows.end;
        if rows.is_empty() {
            return T::dot(self.isa, &self.a, entries);
        }
        // STEP 2
        let first_end = self.row_ptr[rows.start + 1] as usize;
        let first = T::dot(self.isa, &self.a, entries.start..first_end);
        let y = y.range(rows.clone());
        y[0] = super::store(self.alpha, first, self.beta, y[0]);
        // STEP 3
        T::rows(
            self.isa,
            &self.a,
            &self.row_ptr[rows.start + 1..=rows.end],
            self.alpha,
            self.beta,
            &mut y[1..],
        );
        // STEP 4
        T::dot(self.isa, &self.a, self.row_ptr[rows.end] as usize..entries.end)
    }
}
