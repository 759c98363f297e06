// kernel: pcsr_products
// params: nnz tiles cols vals x products
// steps:  1 a group takes S*W*T entries; 2 gather their products; 3 store them in order

use spmv_core::{Tiling, Value};

use super::prelude::for_rows;
use crate::simd::Operand;

pub(crate) struct PcsrProducts<'a, T: Value> {
    pub(crate) tiling: Tiling,
    pub(crate) a: Operand<'a, T>,
    pub(crate) products: &'a mut [T::Accum],
}

impl<T: Value> PcsrProducts<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, a, products } = self;
        let nnz = products.len() as u32;
        // STEP 1
        let first = |group| tiling.bunch_range(group * tiling.bunches(), nnz).start;
        for_rows(groups, products, &first, &|out| {
            for (i, product) in out.rows.iter_mut().enumerate() {
                // STEP 2, STEP 3
                *product = a.product(out.base + i);
            }
        });
    }
}
