// kernel: csr_scalar
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

use super::prelude::{for_row_sums, operand, output};
use crate::device_args::view::CsrScalar;
use crate::launch::Launch;
use crate::simd::SimdValue;

pub(crate) fn run<T: SimdValue>(launch: Launch, args: CsrScalar<'_, T>) {
    let CsrScalar { n_rows, tiles, alpha, beta, row_ptr, cols, vals, x, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    let a = operand::<T>(row_ptr, cols, vals, x);
    // STEP 1
    let first_row = |group| tiling.scalar_rows(group, n_rows).start;
    // STEP 3
    for_row_sums(launch.groups, &first_row, (alpha, beta), row_ptr, y, &|entries| {
        // STEP 2
        let mut sum = num_traits::zero();
        for entry in entries {
            sum += a.product(entry);
        }
        sum
    });
}
