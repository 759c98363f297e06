// kernel: sss
// params: row_base n_ranges ranges row_ptr run_ptr runs vals x sums
// steps:  1 a lane takes a range of rows; 2 clear its sums of rows before; 3 sum the row's runs one after another, and of
//         a mirrored run add each value times x of the row to the sum of its column's row; 4 store the row's sum

use num_traits::Zero;

use super::prelude::{Rows, for_groups};
use crate::device_args::view::Sss;
use crate::launch::Launch;
use crate::simd::{RowRange, RunRows, SimdValue};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Sss<'_, T>) {
    let Sss { row_base, n_ranges, ranges, row_ptr, run_ptr, runs, vals, x, sums, .. } = args;
    let numbers = &ranges.as_chunks::<3>().0[..=n_ranges as usize];
    let lanes = launch.tiling.group_lanes();
    let first = |group: u32| (group * lanes).min(n_ranges) as usize;
    let sums = Rows::from(&mut sums[..numbers[n_ranges as usize][2] as usize]);
    let first_sum = |group| numbers[first(group)][2] as usize;
    for_groups(
        launch.groups,
        sums,
        &|sums: Rows<'_, _>, group| sums.split_before(first_sum(group)),
        &|mut sums, group| {
            // STEP 1
            for range in numbers[first(group)..=first(group + 1)].windows(2) {
                let [[first_row, reached, first_sum], [end_row, _, end_sum]] =
                    [range[0], range[1]].map(|n| n.map(|n| n as usize));
                let sums = sums.range(first_sum..end_sum);
                // STEP 2
                let n_before = first_row - reached;
                sums[..n_before].fill(T::Accum::zero());
                let run_ptr = &run_ptr[first_row..=end_row];
                let a = RunRows { run_ptr, first_entry: row_ptr[first_row] as usize, runs, vals, x };
                // STEP 3, STEP 4
                let range = RowRange { first_col: row_base as usize + reached, n_before };
                T::mirrored(launch.isa, &a, range, sums);
            }
        },
    );
}
