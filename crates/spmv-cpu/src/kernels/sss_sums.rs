// kernel: sss_sums
// params: n_rows row_base n_ranges tiles epilogue alpha beta lo hi ranges sums z y
// steps:  1 a lane takes S whole rows; 2 add the sums that ranges have of the row; 3 store alpha*sum + beta*y

use num_traits::Zero;

use super::prelude::{for_sums_side_by_side, output};
use crate::device_args::view::SssSums;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Entries that take as long as a row, which is read from memory as a rule, and is sums of one range or of few.
const ENTRIES_OF_A_ROW: usize = 4;

pub(crate) fn run<T: Numbers>(launch: Launch, args: SssSums<'_, T>) {
    let SssSums { n_ranges, alpha, beta, ranges, sums, .. } = args;
    let numbers = &ranges.as_chunks::<3>().0[..=n_ranges as usize];
    let y = output!(args);
    let n_entries = ENTRIES_OF_A_ROW * y.rows.len();
    // STEP 1, STEP 3
    for_sums_side_by_side(launch.groups, n_entries, (alpha, beta), y, &|first, of_rows| {
        let end = first + of_rows.len();
        of_rows.fill(T::Accum::zero());
        // STEP 2
        for range in numbers.windows(2) {
            let [[_, reached, first_sum], [end_row, ..]] =
                [range[0], range[1]].map(|n| n.map(|n| n as usize));
            let (from, to) = (first.max(reached), end.min(end_row));
            if from < to {
                let of_range = &sums[first_sum + from - reached..][..to - from];
                for (sum, of_range) in of_rows[from - first..].iter_mut().zip(of_range) {
                    *sum += *of_range;
                }
            }
        }
    });
}
