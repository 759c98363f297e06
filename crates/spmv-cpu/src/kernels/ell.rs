// kernel: ell
// params: n_rows row_base width tiles epilogue alpha beta lo hi cols vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's slots, but for padding;
//         3 store alpha*sum + beta*y

use num_traits::Zero;

use super::prelude::{for_sums_side_by_side, output};
use crate::device_args::view::Ell;
use crate::launch::Launch;
use crate::simd::{SimdValue, Slots};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Ell<'_, T>) {
    let Ell { n_rows, width, alpha, beta, cols, vals, x, .. } = args;
    let n_slots = width as usize * n_rows as usize;
    let a = Slots::<T>::new(cols.first(n_slots), &vals[..n_slots], x);
    let (y, n_rows) = (output!(args), n_rows as usize);
    // STEP 1, STEP 3
    for_sums_side_by_side(launch.groups, n_slots, (alpha, beta), y, &|first, sums| {
        // STEP 2
        sums.fill(T::Accum::zero());
        T::slots(launch.isa, &a, first, n_rows, width as usize, sums);
    });
}
