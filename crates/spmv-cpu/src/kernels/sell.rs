// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps alpha beta perm slices words vals x carries arrivals y
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

use num_traits::Zero;

use super::prelude::{for_groups, rows_of, store};
use crate::device_args::PermutedRows;
use crate::device_args::view::Sell;
use crate::launch::Launch;
use crate::simd::{Form, SLICE_LANES, SimdValue, Slice};

/// The four numbers of a slice.
struct Header {
    slot: usize,
    /// Where words of lengths begin; those of columns come after.
    word: usize,
    base: u32,
    form: Form,
    /// Of a row.
    lanes: usize,
    /// Whether its row goes over several slices.
    is_part: bool,
}

impl Header {
    fn of(numbers: &[u32], width: usize) -> Self {
        let [slot, word, base, flags] = std::array::from_fn(|i| numbers[i]);
        let is_part = flags & 32 != 0;
        let word = word as usize + if is_part { SLICE_LANES } else { 0 };
        let (is_narrow, is_ragged) = (flags & 1 != 0, flags & 2 != 0);
        let form = Form { n_steps: (flags >> 6) as usize, width, is_narrow, is_ragged };
        Self { slot: slot as usize, word, base, form, lanes: 1 << (flags >> 2 & 7), is_part }
    }
}

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Sell<'_, T>) {
    let Sell {
        n_rows, row_base, n_slices, n_long, tiles, sorted, alpha, beta, perm, slices, words, vals, x, carries, y, ..
    } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (width, slice_rows) = (tiling.width() as usize, SLICE_LANES / tiling.lanes() as usize);
    let n_positions = if sorted == 0 { n_rows as usize } else { n_slices as usize * slice_rows };
    let rows = PermutedRows::new(perm.first(n_positions), rows_of(y, row_base, n_rows));
    let n_carries = carries.len().min(n_long as usize);
    for_groups(
        launch.groups,
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
                let Header { slot, word, base, form, lanes, is_part } = Header::of(&slices[4 * at..4 * at + 4], width);
                // STEP 2
                let mut sums = T::slice(launch.isa, &Slice::<T>::new(form, base, &words[word..], &vals[slot..], x));
                // STEP 3
                if lanes > 1 {
                    for row in 0..SLICE_LANES / lanes {
                        let of_row = &sums[row * lanes..(row + 1) * lanes];
                        sums[row] = of_row.iter().fold(T::Accum::zero(), |sum, lane| sum + *lane);
                    }
                }
                let positions = at * slice_rows..n_positions.min((at + 1) * slice_rows);
                // STEP 4
                if let (Some(y), false) = (out.consecutive(positions.clone()), is_part) {
                    y.iter_mut().zip(&sums).for_each(|(y, sum)| *y = store(alpha, *sum, beta, *y));
                    continue;
                }
                for (position, sum) in positions.zip(&sums[..SLICE_LANES / lanes]) {
                    let is_first = out.update(position, |y| store(alpha, *sum, beta, y));
                    // STEP 5: `carry_apply` adds the sums of slices after a row's first.
                    if is_part {
                        carries[at - first_carry] = if is_first { T::Accum::zero() } else { *sum };
                    }
                }
            }
        },
    );
}
