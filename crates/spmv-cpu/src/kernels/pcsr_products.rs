// kernel: pcsr_products
// params: nnz tiles cols vals x products
// steps:  1 a group takes S*W*T entries; 2 gather their products; 3 store them in order

use super::prelude::for_rows;
use crate::device_args::view::PcsrProducts;
use crate::launch::Launch;
use crate::simd::{Operand, SimdValue};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: PcsrProducts<'_, T>) {
    let PcsrProducts { nnz, tiles, cols, vals, x, products, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let n = nnz as usize;
    let a = Operand::<T>::new(cols.first(n), &vals[..n], x);
    // STEP 1
    let first = |group| tiling.bunch_range(group * tiling.bunches(), nnz).start as usize;
    for_rows(launch.groups, &mut products[..n], &first, &|out| {
        for (i, product) in out.rows.iter_mut().enumerate() {
            // STEP 2, STEP 3
            *product = a.product(out.base + i);
        }
    });
}
