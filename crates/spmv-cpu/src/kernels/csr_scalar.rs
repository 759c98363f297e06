// kernel: csr_scalar
// params: n_rows row_base tiles alpha beta row_ptr cols vals x y
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

use spmv_core::{Tiling, Value};

use super::prelude::for_row_sums;
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
        // STEP 1
        let first_row = |group| tiling.scalar_rows(group, n_rows).start;
        // STEP 3
        for_row_sums(groups, &first_row, (alpha, beta), row_ptr, y, &|entries| {
            // STEP 2
            let mut sum = num_traits::zero();
            for entry in entries {
                sum += a.product(entry);
            }
            sum
        });
    }
}
