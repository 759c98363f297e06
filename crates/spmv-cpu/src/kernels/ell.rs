// kernel: ell
// params: n_rows row_base width tiles alpha beta cols vals x y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's places, but for padding;
//         3 store alpha*sum + beta*y

use spmv_core::format::Ell as Layout;
use spmv_core::{Tiling, Value};

use super::prelude::for_sums_side_by_side;

pub(crate) struct Ell<'a, T: Value> {
    pub(crate) tiling: Tiling,
    pub(crate) width: usize,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    /// Place k of row r at `k * n_rows + r`.
    pub(crate) cols: &'a [u32],
    pub(crate) vals: &'a [T],
    pub(crate) x: &'a [T],
    pub(crate) y: &'a mut [T::Accum],
}

impl<T: Value> Ell<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, width, alpha, beta, cols, vals, x, y } = self;
        let n_rows = y.len();
        // STEP 1, STEP 3
        for_sums_side_by_side(groups, tiling, (alpha, beta), y, &|first, sums| {
            // STEP 2
            for k in 0..width {
                let places = k * n_rows + first..k * n_rows + first + sums.len();
                let entries = cols[places.clone()].iter().zip(&vals[places]);
                for (sum, (col, val)) in sums.iter_mut().zip(entries) {
                    if *col != Layout::<T>::PADDING {
                        *sum += val.to_accum() * x[*col as usize].to_accum();
                    }
                }
            }
        });
    }
}
