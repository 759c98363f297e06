// kernel: ell_csr
// params: n_rows row_base width tiles epilogue alpha beta lo hi slot_cols slot_vals row_ptr cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding; 3 add those of the rest
//         of the row, if that is short; 4 store alpha*sum + beta*y; 5 else leave the row to a bunch, whose lanes take
//         the rest together

use num_traits::Zero;

use super::prelude::{add_rest, for_sums_side_by_side, operand, output};
use crate::device_args::view::EllCsr;
use crate::launch::Launch;
use crate::simd::{SimdValue, Slots};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: EllCsr<'_, T>) {
    let EllCsr { n_rows, width, alpha, beta, slot_cols, slot_vals, .. } = args;
    let EllCsr { row_ptr, cols, vals, x, .. } = args;
    let n_slots = width as usize * n_rows as usize;
    let a = Slots::<T>::new(slot_cols.first(n_slots), &slot_vals[..n_slots], x);
    let row_ptr = &row_ptr[..=n_rows as usize];
    let rest = operand::<T>(row_ptr, cols, vals, x);
    let (y, n_rows) = (output!(args), n_rows as usize);
    // STEP 1, STEP 4
    for_sums_side_by_side(launch.groups, n_slots, (alpha, beta), y, &|first, sums| {
        // STEP 2
        sums.fill(T::Accum::zero());
        T::slots(launch.isa, &a, first, n_rows, width as usize, sums);
        // STEP 3, STEP 5: the vector unit takes long rows too.
        add_rest(launch.isa, &rest, row_ptr, first, sums);
    });
}
