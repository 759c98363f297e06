// kernel: ipcsr_published
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows cols vals x z y
// steps:  1 a group takes a block of whole rows; 2 bring the products of several rows to local memory; 3 each lane sums
//         its share of a row: of a single row, however long, every T-th product, else of as many lanes as rows leave,
//         one where rows are at least half of the lanes; 4 add the shares of a row by halves; 5 store
//         alpha*sum + beta*y

use super::prelude::{for_sums, operand, output};
use crate::device_args::view::IpcsrPublished;
use crate::launch::Launch;
use crate::simd::SimdValue;

/// A block is a task. Products need no memory of their own here: the vector unit sums them as it gathers them.
pub(crate) fn run<T: SimdValue>(launch: Launch, args: IpcsrPublished<'_, T>) {
    let IpcsrPublished { n_rows, alpha, beta, row_ptr, block_rows, cols, vals, x, .. } = args;
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    let a = operand::<T>(row_ptr, cols, vals, x);
    // STEP 1
    let first_row = |block: u32| block_rows[block as usize] as usize;
    for_sums(launch.groups, y, &first_row, &|out| {
        // STEP 2, STEP 3, STEP 4, STEP 5: the lanes of a row are those of the vector unit, for a single row too.
        let row_ptr = &row_ptr[out.base..=out.base + out.rows.len()];
        T::rows(launch.isa, &a, row_ptr, alpha, beta, out.rows);
    });
}
