// kernel: jad
// params: n_rows row_base n_jags tiles alpha beta perm jag_ptr cols vals x y
// steps:  1 a lane takes S places of the rows sorted by length; 2 sum the place's products, one of each jagged diagonal
//         that is so long; 3 store alpha*sum + beta*y to the place's row

use spmv_core::{Tiling, Value};

use super::prelude::{SIDE_BY_SIDE, for_groups};
use crate::device::Places;

pub(crate) struct Jad<'a, T: Value> {
    pub(crate) tiling: Tiling,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    /// Where each jagged diagonal begins, and the end.
    pub(crate) jag_ptr: &'a [u32],
    pub(crate) cols: &'a [u32],
    pub(crate) vals: &'a [T],
    pub(crate) x: &'a [T],
    pub(crate) y: Places<'a, T::Accum>,
}

impl<T: Value> Jad<'_, T> {
    pub(crate) fn run(self, groups: u32) {
        let Self { tiling, alpha, beta, jag_ptr, cols, vals, x, y } = self;
        let n_rows = y.len() as u32;
        for_groups(
            0..groups,
            y,
            &|places: Places<'_, T::Accum>, group| {
                places.split_before(tiling.scalar_rows(group, n_rows).start as usize)
            },
            &|mut out, _| {
                // STEP 1
                let (base, end) = (out.base(), out.base() + out.len());
                for first in (base..end).step_by(SIDE_BY_SIDE) {
                    let n = SIDE_BY_SIDE.min(end - first);
                    // STEP 2
                    let mut sums = [num_traits::zero::<T::Accum>(); SIDE_BY_SIDE];
                    for jag in jag_ptr.windows(2) {
                        let (start, long) = (jag[0] as usize + first, (jag[1] - jag[0]) as usize);
                        if long <= first {
                            break;
                        }
                        let entries = start..start + n.min(long - first);
                        let entries = cols[entries.clone()].iter().zip(&vals[entries]);
                        for (sum, (col, val)) in sums.iter_mut().zip(entries) {
                            *sum += val.to_accum() * x[*col as usize].to_accum();
                        }
                    }
                    // STEP 3
                    for (place, sum) in (first..first + n).zip(sums) {
                        out.update(place, |y| super::store(alpha, sum, beta, y));
                    }
                }
            },
        );
    }
}
