// kernel: csr_scalar
// params: n_rows row_base tiles alpha beta row_ptr cols vals x y
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

use spmv_core::{Tiling, Value};

use super::prelude::{Rows, for_groups};
use crate::simd::Operand;

pub(crate) struct CsrScalar<'a, T: Value> {
    pub(crate) tiling: Tiling,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    pub(crate) row_ptr: &'a [u32],
    pub(crate) a: Operand<'a, T>,
    pub(crate) y: &'a mut [T::Accum],
}

impl<T: Value> CsrScalar<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, alpha, beta, row_ptr, a, y } = self;
        let n_rows = y.len() as u32;
        for_groups(
            0..groups,
            Rows { base: 0, rows: y },
            &|rows, group| rows.split_before(tiling.scalar_rows(group, n_rows).start as usize),
            &|out, _| {
                // STEP 1
                let pairs = row_ptr[out.base..].windows(2);
                for (y, pair) in out.rows.iter_mut().zip(pairs) {
                    // STEP 2
                    let mut sum = num_traits::zero();
                    for entry in pair[0]..pair[1] {
                        sum += a.product(entry as usize);
                    }
                    // STEP 3
                    *y = super::store(alpha, sum, beta, *y);
                }
            },
        );
    }
}
