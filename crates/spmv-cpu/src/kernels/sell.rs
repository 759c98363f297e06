// kernel: sell
// params: n_rows row_base tiles alpha beta perm chunk_ptr cols vals x y
// steps:  1 a lane takes S positions of the rows sorted by length; 2 sum the products of the position's slots in its chunk, but
//         for padding; 3 store alpha*sum + beta*y to the position's row

use num_traits::Zero;

use super::prelude::{SIDE_BY_SIDE, for_groups, rows_of, store};
use crate::device_args::PermutedRows;
use crate::device_args::view::Sell;
use crate::launch::Launch;
use crate::simd::{SimdValue, Slots};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Sell<'_, T>) {
    let Sell { n_rows, row_base, tiles, alpha, beta, perm, chunk_ptr, cols, vals, x, y, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let lanes = tiling.lanes() as usize;
    let n_chunks = (n_rows as usize).div_ceil(lanes);
    let n_slots = chunk_ptr[n_chunks] as usize;
    let a = Slots::new(cols.first(n_slots), &vals[..n_slots], x);
    for_groups(
        0..launch.groups,
        PermutedRows::new(perm.first(n_rows as usize), rows_of(y, row_base, n_rows)),
        &|rows: PermutedRows<'_, T::Accum>, group| {
            rows.split_before(tiling.scalar_rows(group, n_rows).start as usize)
        },
        &|mut out, _| {
            // STEP 1
            let (mut position, end) = (out.base(), out.base() + out.len());
            let mut sums = [T::Accum::zero(); SIDE_BY_SIDE];
            while position < end {
                let (chunk, lane) = (position / lanes, position % lanes);
                let height = lanes.min(n_rows as usize - chunk * lanes);
                let (start, stop) = (chunk_ptr[chunk] as usize, chunk_ptr[chunk + 1] as usize);
                let sums = &mut sums[..SIDE_BY_SIDE.min(height - lane).min(end - position)];
                // STEP 2
                T::slots(launch.isa, &a, start + lane, height, (stop - start) / height, sums);
                // STEP 3
                for sum in sums.iter() {
                    out.update(position, |y| store(alpha, *sum, beta, y));
                    position += 1;
                }
            }
        },
    );
}
