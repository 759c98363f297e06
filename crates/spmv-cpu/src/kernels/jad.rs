// kernel: jad
// params: n_rows row_base n_jags tiles epilogue alpha beta lo hi perm jag_ptr cols vals x z y
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the position's products, one of each jagged diagonal
//         that is so long; 3 store alpha*sum + beta*y to the position's row

use num_traits::Zero;

use super::prelude::{Rows, SIDE_BY_SIDE, finish_rows, for_groups, output};
use crate::device_args::PermutedRows;
use crate::device_args::view::Jad;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: Jad<'_, T>) {
    let Jad { n_rows, n_jags, tiles, alpha, beta, perm, jag_ptr, cols, vals, x, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (groups, jag_ptr) = (launch.groups, &jag_ptr[..=n_jags as usize]);
    let Rows { rows: y, z, bounds, .. } = output!(args);
    let y = PermutedRows::new(perm.first(n_rows as usize), y, z);
    for_groups(
        groups,
        y,
        &|rows: PermutedRows<'_, T::Accum>, group| {
            rows.split_before(tiling.scalar_rows(group, n_rows).start as usize)
        },
        &|mut out, _| {
            // STEP 1
            let (base, end) = (out.base(), out.base() + out.len());
            for first in (base..end).step_by(SIDE_BY_SIDE) {
                let n = SIDE_BY_SIDE.min(end - first);
                // STEP 2
                let mut sums = [T::Accum::zero(); SIDE_BY_SIDE];
                for jag in jag_ptr.windows(2) {
                    let (start, long) = (jag[0] as usize + first, (jag[1] - jag[0]) as usize);
                    if long <= first {
                        break;
                    }
                    let entries = start..start + n.min(long - first);
                    let entries = cols[entries.clone()].iter().zip(&vals[entries]);
                    for (sum, (col, val)) in sums.iter_mut().zip(entries) {
                        *sum += T::of_val(*val) * T::of_x(x[*col as usize]);
                    }
                }
                // STEP 3
                finish_rows(&mut out, first, &mut sums[..n], (alpha, beta), bounds);
            }
        },
    );
}
