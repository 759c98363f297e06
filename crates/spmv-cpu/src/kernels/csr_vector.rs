// kernel: csr_vector
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a bunch takes S whole rows; 2 its lanes sum every T-th product; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

use super::prelude::{for_row_sums, operand, output};
use crate::device_args::view::CsrVector;
use crate::launch::Launch;
use crate::simd::SimdValue;

pub(crate) fn run<T: SimdValue>(launch: Launch, args: CsrVector<'_, T>) {
    let CsrVector { n_rows, tiles, alpha, beta, row_ptr, cols, vals, x, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    let a = operand::<T>(row_ptr, cols, vals, x);
    // STEP 1
    let first_row = |group| tiling.vector_rows(group, n_rows).start;
    // STEP 4
    for_row_sums(launch.groups, &first_row, (alpha, beta), row_ptr, y, &|entries| {
        // STEP 2, STEP 3
        T::dot(launch.isa, &a, entries)
    });
}
