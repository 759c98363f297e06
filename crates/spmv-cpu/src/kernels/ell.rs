// kernel: ell
// params: n_rows row_base width tiles alpha beta cols vals x y
// steps:  1 a lane takes S whole rows; 2 sum the products of the row's places, but for padding;
//         3 store alpha*sum + beta*y

use spmv_core::format::Ell as Layout;
use spmv_core::{Tiling, Value};

use super::prelude::{Rows, for_groups};

/// Rows summed side by side: their sums stay in L1.
const ROWS: usize = 1024;

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
        for_groups(
            0..groups,
            Rows { base: 0, rows: y },
            &|rows, group| rows.split_before(tiling.scalar_rows(group, n_rows as u32).start as usize),
            &|out, _| {
                // STEP 1
                for (chunk, y) in out.rows.chunks_mut(ROWS).enumerate() {
                    let first = out.base + chunk * ROWS;
                    // STEP 2
                    let mut sums = [num_traits::zero::<T::Accum>(); ROWS];
                    for k in 0..width {
                        let places = k * n_rows + first..k * n_rows + first + y.len();
                        let entries = cols[places.clone()].iter().zip(&vals[places]);
                        for (sum, (col, val)) in sums.iter_mut().zip(entries) {
                            if *col != Layout::<T>::PADDING {
                                *sum += val.to_accum() * x[*col as usize].to_accum();
                            }
                        }
                    }
                    // STEP 3
                    for (y, sum) in y.iter_mut().zip(sums) {
                        *y = super::store(alpha, sum, beta, *y);
                    }
                }
            },
        );
    }
}
