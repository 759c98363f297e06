// kernel: ipcsr
// params: n_rows row_base alpha beta row_ptr block_rows block_entries cols vals x carries y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it; 4 store alpha*sum + beta*y; 5 leave a piece's sum in carries[block] if its
//         row goes on, else zero

use num_traits::Zero;

use super::prelude::{Rows, for_groups};
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

/// What a run of groups writes.
struct Out<'a, A> {
    y: Rows<'a, A>,
    carries: Rows<'a, A>,
}

impl<T: SimdValue> Ipcsr<'_, T> {
    pub(crate) fn run(mut self, groups: u32) {
        let block_rows = self.block_rows;
        let y = Rows { base: 0, rows: std::mem::take(&mut self.y) };
        let carries = Rows { base: 0, rows: std::mem::take(&mut self.carries) };
        for_groups(
            0..groups,
            Out { y, carries },
            &|out, group| {
                let (y_left, y_right) = out.y.split_before(block_rows[group as usize] as usize);
                let (carries_left, carries_right) = out.carries.split_before(group as usize);
                (Out { y: y_left, carries: carries_left }, Out { y: y_right, carries: carries_right })
            },
            &|mut out, group| out.carries.rows[0] = self.block(group as usize, &mut out.y),
        );
    }

    /// Products need no memory of their own here: the vector unit sums them as it gathers them.
    fn block(&self, block: usize, y: &mut Rows<'_, T::Accum>) -> T::Accum {
        // STEP 1
        let rows = self.block_rows[block] as usize..self.block_rows[block + 1] as usize;
        let entries = self.block_entries[block] as usize..self.block_entries[block + 1] as usize;
        if rows.is_empty() {
            // STEP 2, STEP 3, STEP 5
            return T::dot(self.isa, &self.a, entries);
        }
        // STEP 2, STEP 3, STEP 4: the first row may have begun in another block.
        let first = T::dot(self.isa, &self.a, entries.start..self.row_ptr[rows.start + 1] as usize);
        let y = y.range(rows.clone());
        y[0] = super::store(self.alpha, first, self.beta, y[0]);
        let row_ptr = &self.row_ptr[rows.start + 1..=rows.end];
        T::rows(self.isa, &self.a, row_ptr, self.alpha, self.beta, &mut y[1..]);
        // STEP 5
        T::Accum::zero()
    }
}
