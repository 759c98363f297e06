// kernel: csr_vector
// params: n_rows row_base tiles alpha beta row_ptr cols vals x y
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

use spmv_core::Tiling;

use super::prelude::{Rows, for_groups};
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
        for_groups(
            0..groups,
            Rows { base: 0, rows: y },
            &|rows, group| rows.split_before(tiling.vector_rows(group, n_rows).start as usize),
            &|out, _| {
                // STEP 1
                let pairs = row_ptr[out.base..].windows(2);
                for (y, pair) in out.rows.iter_mut().zip(pairs) {
                    // STEP 2, STEP 3
                    let sum = T::dot(isa, &a, pair[0] as usize..pair[1] as usize);
                    // STEP 4
                    *y = super::store(alpha, sum, beta, *y);
                }
            },
        );
    }
}
