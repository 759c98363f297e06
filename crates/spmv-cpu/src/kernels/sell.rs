// kernel: sell
// params: n_rows row_base n_slices n_long tiles sorted keeps epilogue alpha beta lo hi perm slices words vals x carries arrivals z y
// steps:  1 lanes of a slice take S slices; 2 each lane sums every T-th run of a row, until they are over; 3 add the
//         sums of a row's lanes; 4 store alpha*sum + beta*y; 5 of a row that goes over several slices leave a sum in
//         carries[slice]; where groups can join, the last to arrive adds its row's, else carry_apply

use num_traits::Zero;
use spmv_core::Tiling;

use super::prelude::{Rows, equal_shares, finish_rows, for_groups_cut, output};
use crate::device_args::PermutedRows;
use crate::device_args::view::Sell;
use crate::launch::Launch;
use crate::simd::{self, BLOCK_LANES, SimdValue, Slices};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Sell<'_, T>) {
    let Sell { n_slices, n_long, tiles, sorted, alpha, beta, .. } = args;
    let Sell { perm, slices, words, vals, x, carries, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (lanes, row_lanes) = (tiling.slice_lanes() as usize, tiling.lanes() as usize);
    let slice_rows = lanes / row_lanes;
    let slices = Slices::<T>::new(slices, [lanes, tiling.width() as usize], words, vals, x);
    let Rows { rows: y, z, bounds, .. } = output!(args);
    let rows = match sorted {
        0 => PermutedRows::in_order(y, z),
        _ => PermutedRows::new(perm.first(n_slices as usize * slice_rows), y, z),
    };
    let n_positions = rows.len();
    let n_carries = carries.len().min(n_long as usize);
    let first_slice = |group: u32| tiling.slices(group, n_slices).start as usize;
    let slots_before = |group: u32| {
        let slice = first_slice(group);
        slices.first_slot(slice) + Tiling::ROW_SLOTS * slice * slice_rows
    };
    for_groups_cut(
        launch.groups,
        slots_before(launch.groups.n),
        &equal_shares(launch.groups.n, slots_before),
        (rows, &mut carries[..n_carries], 0),
        &|(rows, carries, first): (PermutedRows<'_, T::Accum>, &mut [T::Accum], usize), group| {
            let slice = first_slice(group);
            let (left, right) = rows.split_before((slice * slice_rows).min(n_positions));
            let at = slice.clamp(first, first + carries.len());
            let (own, others) = carries.split_at_mut(at - first);
            ((left, own, first), (right, others, at))
        },
        &|(mut out, carries, first_carry), groups| {
            // STEP 1
            let (mut first, end) = (first_slice(groups.start), first_slice(groups.end));
            let mut sums = [T::Accum::zero(); BLOCK_LANES];
            while first < end {
                // Slices whose rows have one lane are taken together.
                let is_long =
                    |slice: usize| slice < n_long as usize && slices.header(slice).lanes != row_lanes;
                let is_alone = row_lanes > 1 || is_long(first);
                let n_most = end.min(first + if is_alone { 1 } else { BLOCK_LANES / lanes });
                let block = first..(first + 1..n_most).find(|slice| is_long(*slice)).unwrap_or(n_most);
                let positions = first * slice_rows..n_positions.min(block.end * slice_rows);
                // STEP 2
                simd::slices(launch.isa, &slices, block.clone(), &mut sums);
                let header = slices.header(first);
                // STEP 3
                let of_lanes = if is_alone { header.lanes } else { 1 };
                let n_sums = positions.len().min(block.len() * lanes / of_lanes);
                if of_lanes > 1 {
                    for row in 0..n_sums {
                        let of_row = &sums[row * of_lanes..(row + 1) * of_lanes];
                        sums[row] = of_row.iter().fold(T::Accum::zero(), |sum, lane| sum + *lane);
                    }
                }
                let sums = &mut sums[..n_sums];
                // What is carried is scaled later.
                let carried = sums[0];
                // STEP 4
                let bounds = bounds.filter(|_| !header.is_part);
                finish_rows(&mut out, positions.start, sums, (alpha, beta), bounds);
                // STEP 5: `carry_apply` adds the sums of slices after a row's first.
                if header.is_part {
                    let is_first = out.has(positions.start);
                    carries[first - first_carry] = if is_first { T::Accum::zero() } else { carried };
                }
                first = block.end;
            }
        },
    );
}
