// kernel: stripe_sums
// params: n_rows row_base epilogue alpha beta lo hi row_ptr sums z y
// steps:  1 a bunch takes a row; 2 its lanes sum every T-th of the sums that stripes have of it; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y

use num_traits::Zero;

use super::prelude::{for_row_sums, output};
use crate::device_args::view::StripeSums;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: StripeSums<'_, T>) {
    let StripeSums { n_rows, alpha, beta, row_ptr, sums, .. } = args;
    let tiling = launch.tiling.with_tiles(1);
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    // STEP 1
    let first_row = |group| tiling.vector_rows(group, n_rows).start;
    // STEP 4
    for_row_sums(launch.groups, &first_row, (alpha, beta), row_ptr, y, &|of_row| {
        // STEP 2, STEP 3
        sums[of_row].iter().fold(T::Accum::zero(), |sum, of_stripe| sum + *of_stripe)
    });
}
