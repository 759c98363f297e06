// kernel: csr_scalar
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's products one by one; 3 store alpha*sum + beta*y

use num_traits::Zero;

use super::prelude::{for_equal_sums, operand, output, store};
use crate::device_args::view::CsrScalar;
use crate::launch::Launch;
use crate::simd::{SimdValue, one_by_one};

/// Entries that take as long as to begin and end a row.
const ROW_ENTRIES: usize = 3;

pub(crate) fn run<T: SimdValue>(launch: Launch, args: CsrScalar<'_, T>) {
    let CsrScalar { n_rows, alpha, beta, row_ptr, cols, vals, x, .. } = args;
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    let a = operand::<T>(row_ptr, cols, vals, x);
    // STEP 1
    let work = |row: u32| row_ptr[row as usize] as usize + ROW_ENTRIES * row as usize;
    for_equal_sums(launch.groups, n_rows, y, &work, &|out| {
        let row_ptr = &row_ptr[out.base..=out.base + out.rows.len()];
        // STEP 2, STEP 3
        if beta.is_zero() && !alpha.is_zero() {
            one_by_one(&a, row_ptr, out.rows, move |sum, _| alpha * sum);
        } else {
            one_by_one(&a, row_ptr, out.rows, move |sum, y| store(alpha, sum, beta, y));
        }
    });
}
