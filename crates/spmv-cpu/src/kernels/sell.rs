// kernel: sell
// params: n_rows row_base tiles sorted alpha beta perm slices words vals x y
// steps:  1 a bunch takes S whole rows; 2 each lane sums every T-th run, until they are over; 3 add the lanes' sums;
//         4 store alpha*sum + beta*y to the position's row

use num_traits::Zero;
use spmv_core::Value;

use super::prelude::{for_groups, rows_of, store};
use crate::device_args::PermutedRows;
use crate::device_args::view::Sell;
use crate::launch::Launch;

/// Lanes of a slice, unless those of one row are more.
const SLICE_LANES: usize = 32;
/// The column of a run that is not there.
const NONE: u32 = u32::MAX;
const NARROW_NONE: u32 = 0xffff;

pub(crate) fn run<T: Value>(launch: Launch, args: Sell<'_, T>) {
    let Sell { n_rows, row_base, tiles, alpha, beta, perm, slices, words, vals, x, y, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (lanes, width) = (tiling.lanes() as usize, tiling.width() as usize);
    let slice_rows = (SLICE_LANES / lanes).max(1);
    let slice_lanes = slice_rows * lanes;
    for_groups(
        0..launch.groups,
        PermutedRows::new(perm.first(n_rows as usize), rows_of(y, row_base, n_rows)),
        &|rows: PermutedRows<'_, T::Accum>, group| {
            rows.split_before(tiling.vector_rows(group, n_rows).start as usize)
        },
        &|mut out, _| {
            // STEP 1
            let (mut position, end) = (out.base(), out.base() + out.len());
            while position < end {
                let first = position % slice_rows;
                let n = (slice_rows - first).min(end - position);
                let slice = position / slice_rows * 4;
                let [slot, lengths, base, flags] = std::array::from_fn(|i| slices[slice + i]);
                let (n_steps, is_narrow, is_ragged) = ((flags / 4) as usize, flags & 1 != 0, flags & 2 != 0);
                let (slot, lengths) = (slot as usize, lengths as usize);
                let cols = lengths + if is_ragged { n_steps.div_ceil(16) * slice_lanes } else { 0 };
                let mut sums = [T::Accum::zero(); SLICE_LANES];
                // STEP 2, STEP 3: lanes side by side.
                for step in 0..n_steps {
                    for at in first * lanes..(first + n) * lanes {
                        let word = |first: usize, of_word: usize| words[first + step / of_word * slice_lanes + at];
                        let col = match is_narrow {
                            true => match word(cols, 2) >> (step % 2 * 16) & NARROW_NONE {
                                NARROW_NONE => NONE,
                                col => col,
                            },
                            false => word(cols, 1),
                        };
                        if col == NONE {
                            continue;
                        }
                        let last = match is_ragged {
                            true => (word(lengths, 16) >> (step % 16 * 2) & 3) as usize,
                            false => width - 1,
                        };
                        for j in 0..=last {
                            let val = vals[slot + (step * width + j) * slice_lanes + at];
                            sums[at / lanes - first] += val.to_accum() * x[(base + col) as usize + j].to_accum();
                        }
                    }
                }
                // STEP 4
                for sum in &sums[..n] {
                    out.update(position, |y| store(alpha, *sum, beta, y));
                    position += 1;
                }
            }
        },
    );
}
