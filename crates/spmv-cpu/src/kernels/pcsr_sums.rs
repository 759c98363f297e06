// kernel: pcsr_sums
// params: n_rows row_base tiles alpha beta row_ptr products y
// steps:  1 a group takes S times as many rows as it has lanes; 2 bring their products to local memory, W*T at a time;
//         3 a lane sums those of its row; 4 store alpha*sum + beta*y

use spmv_core::{Accum, Tiling};

use super::prelude::{Rows, for_groups};

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
        for_groups(
            0..groups,
            Rows { base: 0, rows: y },
            &|rows, group| rows.split_before(tiling.scalar_rows(group, n_rows).start as usize),
            &|out, _| {
                // STEP 1
                let pairs = row_ptr[out.base..].windows(2);
                for (y, pair) in out.rows.iter_mut().zip(pairs) {
                    // STEP 2, STEP 3: caches bring products nearer here.
                    let sum = products[pair[0] as usize..pair[1] as usize].iter();
                    let sum = sum.fold(A::zero(), |sum, product| sum + *product);
                    // STEP 4
                    *y = super::store(alpha, sum, beta, *y);
                }
            },
        );
    }
}
