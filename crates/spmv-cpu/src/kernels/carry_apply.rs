// kernel: carry_apply
// params: n_rows row_base n_bunches alpha bunch_rows carries y
// steps:  1 find the bunches that carry to the same row; 2 add alpha times the sum of their carries to it

use spmv_core::Accum;

pub(crate) struct CarryApply<'a, A> {
    pub(crate) alpha: A,
    /// Rows finished before each bunch, and before the end: one more than bunches.
    pub(crate) bunch_rows: &'a [u32],
    pub(crate) carries: &'a [A],
    pub(crate) y: &'a mut [A],
}

impl<A: Accum> CarryApply<'_, A> {
    pub(crate) fn run(self) {
        let mut bunch = 0;
        while bunch < self.carries.len() {
            // STEP 1
            let row = self.bunch_rows[bunch + 1];
            let same = self.bunch_rows[bunch + 1..].iter().take_while(|r| **r == row).count();
            // STEP 2
            if let Some(y) = self.y.get_mut(row as usize) {
                let sum = self.carries[bunch..bunch + same].iter().fold(A::zero(), |sum, carry| sum + *carry);
                *y += self.alpha * sum;
            }
            bunch += same;
        }
    }
}
