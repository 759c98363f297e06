// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps alpha beta perm slices words vals x carries arrivals y
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

use num_traits::Zero;
use spmv_core::{Tiling, Value};

use super::prelude::{for_groups, rows_of, store};
use crate::device_args::PermutedRows;
use crate::device_args::view::Sell;
use crate::launch::Launch;

const SLICE_LANES: usize = Tiling::SLICE_LANES as usize;
/// The column of a run that is not there.
const NONE: u32 = u32::MAX;
const NARROW_NONE: u32 = 0xffff;

/// A slice, as its four numbers say.
struct Slice {
    slot: usize,
    /// Where words of lengths and of columns begin.
    lengths: usize,
    cols: usize,
    base: u32,
    n_steps: usize,
    /// Of a row.
    lanes: usize,
    is_narrow: bool,
    is_ragged: bool,
    /// Whether its row goes over several slices.
    is_part: bool,
}

impl Slice {
    fn of(numbers: &[u32]) -> Self {
        let [slot, word, base, flags] = std::array::from_fn(|i| numbers[i]);
        let (n_steps, is_narrow, is_ragged) = ((flags >> 6) as usize, flags & 1 != 0, flags & 2 != 0);
        let is_part = flags & 32 != 0;
        let lengths = word as usize + if is_part { SLICE_LANES } else { 0 };
        let cols = lengths + if is_ragged { n_steps.div_ceil(16) * SLICE_LANES } else { 0 };
        let lanes = 1 << (flags >> 2 & 7);
        Self { slot: slot as usize, lengths, cols, base, n_steps, lanes, is_narrow, is_ragged, is_part }
    }
}

pub(crate) fn run<T: Value>(launch: Launch, args: Sell<'_, T>) {
    let Sell {
        n_rows, row_base, n_slices, n_long, tiles, sorted, alpha, beta, perm, slices, words, vals, x, carries, y, ..
    } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (width, slice_rows) = (tiling.width() as usize, SLICE_LANES / tiling.lanes() as usize);
    let n_positions = if sorted == 0 { n_rows as usize } else { n_slices as usize * slice_rows };
    let rows = PermutedRows::new(perm.first(n_positions), rows_of(y, row_base, n_rows));
    let n_carries = carries.len().min(n_long as usize);
    for_groups(
        0..launch.groups,
        (rows, &mut carries[..n_carries], 0),
        &|(rows, carries, first): (PermutedRows<'_, T::Accum>, &mut [T::Accum], usize), group| {
            let slice = tiling.slices(group, n_slices).start as usize;
            let (left, right) = rows.split_before((slice * slice_rows).min(n_positions));
            let at = slice.clamp(first, first + carries.len());
            let (own, others) = carries.split_at_mut(at - first);
            ((left, own, first), (right, others, at))
        },
        &|(mut out, carries, first_carry), group| {
            // STEP 1
            for at in tiling.slices(group, n_slices) {
                let at = at as usize;
                let slice = Slice::of(&slices[4 * at..4 * at + 4]);
                let mut sums = [T::Accum::zero(); SLICE_LANES];
                // STEP 2, STEP 3: lanes side by side.
                for step in 0..slice.n_steps {
                    for lane in 0..SLICE_LANES {
                        let word = |first: usize, of_word: usize| words[first + step / of_word * SLICE_LANES + lane];
                        let col = match slice.is_narrow {
                            true => match word(slice.cols, 2) >> (step % 2 * 16) & NARROW_NONE {
                                NARROW_NONE => NONE,
                                col => col,
                            },
                            false => word(slice.cols, 1),
                        };
                        if col == NONE {
                            continue;
                        }
                        let last = match slice.is_ragged {
                            true => (word(slice.lengths, 16) >> (step % 16 * 2) & 3) as usize,
                            false => width - 1,
                        };
                        for j in 0..=last {
                            let val = vals[slice.slot + (step * width + j) * SLICE_LANES + lane];
                            let x = x[(slice.base + col) as usize + j];
                            sums[lane / slice.lanes] += val.to_accum() * x.to_accum();
                        }
                    }
                }
                let positions = at * slice_rows..n_positions.min((at + 1) * slice_rows);
                for (position, sum) in positions.zip(&sums[..SLICE_LANES / slice.lanes]) {
                    // STEP 4
                    let is_first = out.update(position, |y| store(alpha, *sum, beta, y));
                    // STEP 5: `carry_apply` adds the sums of slices after a row's first.
                    if slice.is_part {
                        carries[at - first_carry] = if is_first { T::Accum::zero() } else { *sum };
                    }
                }
            }
        },
    );
}
