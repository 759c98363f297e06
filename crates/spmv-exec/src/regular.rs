//! What algorithms share whose lanes take a regular part of each row, and the rest of it where that is short.

use spmv_core::Tiling;
use spmv_core::format::Cost;

use crate::method::{Limits, bits};

/// Entries of a row's rest up to which one lane takes it alone: `SHORT` of the kernels.
pub(crate) const SHORT: f64 = 32.0;

/// Rows of a part at most: each has as many slots as the layout has for it on average, or fewer. Its slots are `regular` ones of
/// each row and those of the rest.
pub(crate) fn rows_of_a_part(cost: Option<&Cost>, limits: &Limits, n_rows: usize) -> usize {
    let of_a_row = cost.map_or(0, |cost| cost.slots).div_ceil(n_rows.max(1) as u64).max(1);
    (limits.max_entries as u64 / of_a_row).clamp(1, limits.max_rows as u64) as usize
}

/// Iterations of a lane for each of its rows at most: its bunch may take a long row for each of its lanes, and add the lanes'
/// sums in two loops.
pub(crate) fn loop_steps(tiling: &Tiling) -> u64 {
    let lanes = u64::from(tiling.lanes());
    4 + lanes * (2 + 2 * bits(lanes))
}

/// Steps of the lane with the longest row: `slots` of the regular part, and a rest of so many entries.
pub(crate) fn steps(slots: f64, rest: f64, tiling: &Tiling) -> f64 {
    slots + if rest > SHORT { rest / f64::from(tiling.lanes()) } else { rest }
}
