// kernel: csr_vector
// params: n_rows row_base tiles alpha beta row_ptr cols vals x y
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

use spmv_core::Tiling;

use super::prelude::for_row_sums;
use crate::simd::{Isa, Operand, SimdValue};

pub(crate) struct CsrVector<'a, T: SimdValue> {
    pub(crate) tiling: Tiling,
    pub(crate) isa: Isa,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    pub(crate) row_ptr: &'a [u32],
    pub(crate) a: Operand<'a, T>,
    pub(crate) y: &'a mut [T::Accum],
}

impl<T: SimdValue> CsrVector<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, isa, alpha, beta, row_ptr, a, y } = self;
        let n_rows = y.len() as u32;
        // STEP 1
        let first_row = |group| tiling.vector_rows(group, n_rows).start;
        // STEP 4
        for_row_sums(groups, &first_row, (alpha, beta), row_ptr, y, &|entries| {
            // STEP 2, STEP 3
            T::dot(isa, &a, entries)
        });
    }
}
