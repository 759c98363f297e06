// kernel: dia_csr
// params: n_rows row_base n_cols n_diags tiles epilogue alpha beta lo hi offsets slot_vals row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there; 3 add
//         those of the rest of the row, if that is short; 4 store alpha*sum + beta*y; 5 else leave the row to a bunch,
//         whose lanes take the rest together

use super::dia::{entries, sum};
use super::prelude::{add_rest, for_sums_side_by_side, operand, output};
use crate::device_args::view::DiaCsr;
use crate::launch::Launch;
use crate::simd::SimdValue;

pub(crate) fn run<T: SimdValue>(launch: Launch, args: DiaCsr<'_, T>) {
    let DiaCsr { n_rows, n_cols, n_diags, alpha, beta, offsets, slot_vals, .. } = args;
    let DiaCsr { row_ptr, cols, vals, x, .. } = args;
    let row_ptr = &row_ptr[..=n_rows as usize];
    let rest = operand::<T>(row_ptr, cols, vals, x);
    let (offsets, x) = (&offsets[..n_diags as usize], &x[..n_cols as usize]);
    let table = (0..n_diags).map(|d| (offsets[d as usize], d * n_rows));
    let (y, n_entries) = (output!(args), entries(n_rows as usize, n_diags));
    // STEP 1, STEP 4
    for_sums_side_by_side(launch.groups, n_entries, (alpha, beta), y, &|first, sums| {
        // STEP 2
        sum::<T>(launch.isa, table.clone(), slot_vals, x, first, sums);
        // STEP 3, STEP 5: the vector unit takes long rows too.
        add_rest(launch.isa, &rest, row_ptr, first, sums);
    });
}
