// kernel: pcsr_sums
// params: n_rows row_base tiles alpha beta row_ptr products y
// steps:  1 a group takes S times as many rows as it has lanes; 2 bring their products to local memory, W*T at a time;
//         3 a lane sums those of its row; 4 store alpha*sum + beta*y

use spmv_core::{Accum, Tiling};

use super::prelude::for_row_sums;

pub(crate) struct PcsrSums<'a, A> {
    pub(crate) tiling: Tiling,
    pub(crate) alpha: A,
    pub(crate) beta: A,
    pub(crate) row_ptr: &'a [u32],
    pub(crate) products: &'a [A],
    pub(crate) y: &'a mut [A],
}

impl<A: Accum> PcsrSums<'_, A> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, alpha, beta, row_ptr, products, y } = self;
        let n_rows = y.len() as u32;
        // STEP 1
        let first_row = |group| tiling.scalar_rows(group, n_rows).start;
        // STEP 4
        for_row_sums(groups, &first_row, (alpha, beta), row_ptr, y, &|entries| {
            // STEP 2, STEP 3: caches bring products nearer here.
            products[entries].iter().fold(A::zero(), |sum, product| sum + *product)
        });
    }
}
