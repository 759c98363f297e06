//! Slices of rows that would keep their T lanes longer than others.

use std::cmp::Reverse;
use std::ops::Range;

use spmv_core::{CsrView, Value, parts};

use super::lay::OF_A_THREAD;
use super::order::windows;
use super::shape::{Limits, Shape};

/// Long rows that are sorted by their length, as they follow each other.
const WINDOW: usize = 1 << 15;
/// The same where the cache would lose what the rows around them read of `x` before they are done. R-MAT graphs, whose long
/// rows read the same hubs, are slower by such windows. (docs/results/2026-11-28-h200-windows.txt)
const NEAR_WINDOW: usize = 1 << 8;
/// Columns between the entries of long rows next to each other that read `x` near each other.
const NEAR: u32 = 1 << 15;
/// Long rows that are looked at.
const SAMPLED: usize = 1 << 12;

/// The number of a row that is not there.
pub(super) const NONE: u32 = u32::MAX;

/// A part of a row that goes over several slices.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) entries: Range<u32>,
    /// The first slice of the row.
    pub(super) first: u32,
    /// Slices of the row.
    pub(super) n: u32,
}

/// The slices of long rows.
#[derive(Debug, Default)]
pub(super) struct Long {
    /// Of the first slices.
    pub(super) parts: Vec<Part>,
    /// Those of rows that go over several, which come before all others.
    pub(super) of_parts: Lanes,
    /// Those of the other rows, window by window, and how many rows that are not long come before.
    pub(super) windows: Vec<(usize, Lanes)>,
}

/// Slices that follow each other, whose rows have as many lanes as their length wants.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The row at each position, or [`NONE`].
    pub(super) perm: Vec<u32>,
    /// Lanes of a row of each slice.
    pub(super) lanes: Vec<u32>,
}

impl Long {
    /// Of rows that ascend, and how many runs they have. Windows of each writer of `y` but the first begin at the rows `firsts`.
    pub(super) fn of<V: Value>(
        a: CsrView<'_, V, u32>,
        follows: &[bool],
        shape: Shape,
        limits: &Limits,
        rows: &[(u32, u32)],
        firsts: &[u32],
    ) -> Self {
        let of_a_slice = |n_runs: u32| (n_runs as usize).div_ceil(shape.slice_lanes);
        let is_cut = |n_runs: u32| of_a_slice(n_runs) > limits.most_steps;
        let mut cut: Vec<_> = rows.iter().copied().filter(|(_, n_runs)| is_cut(*n_runs)).collect();
        cut.sort_by_key(|(_, n_runs)| Reverse(*n_runs));
        let mut long = Self::default();
        let n_runs = cut.iter().map(|(_, n_runs)| *n_runs as usize).sum();
        let of_threads = parts::cut(cut.len(), parts::threads(n_runs, OF_A_THREAD));
        let of_row = |row: &(u32, u32)| {
            let n = of_a_slice(row.1).div_ceil(limits.most_steps);
            let of_a_part = (row.1 as usize).div_ceil(n * shape.slice_lanes) * shape.slice_lanes;
            entries_of_parts(a.row_range(row.0 as usize), of_a_part, follows)
        };
        let of_rows = parts::map(of_threads, |part| cut[part].iter().map(of_row).collect::<Vec<_>>());
        for ((row, _), of_parts) in cut.iter().zip(of_rows.into_iter().flatten()) {
            let (first, n) = (long.parts.len() as u32, of_parts.len() as u32);
            for (at, entries) in of_parts.into_iter().enumerate() {
                long.parts.push(Part { entries, first, n });
                long.of_parts.push([if at == 0 { *row } else { NONE }], shape.slice_lanes, shape);
            }
        }
        let whole = (0u32..).zip(rows).filter(|(_, (_, n_runs))| !is_cut(*n_runs));
        let mut whole: Vec<_> = whole.map(|(at, (row, n_runs))| (*row, *n_runs, row - at)).collect();
        let is_held = a.n_cols() <= shape.held_cols as usize;
        let of_window = if !is_held && read_near_each_other(a, rows) { NEAR_WINDOW } else { WINDOW };
        let of_window = of_window.min(shape.widest_long(whole.len()));
        let firsts: Vec<_> =
            firsts.iter().map(|first| whole.partition_point(|(row, ..)| row < first)).collect();
        let windows: Vec<_> = windows(whole.len(), of_window, &firsts).iter().map(Range::len).collect();
        let mut windows = parts::split(&mut whole, windows);
        let of_a_thread = windows.len().div_ceil(parts::threads(rows.len(), WINDOW)).max(1);
        let windows = parts::map(windows.chunks_mut(of_a_thread), |windows| {
            let windows = windows.iter_mut().map(|window| {
                let before = window[0].2 as usize;
                window.sort_by_key(|(_, n_runs, _)| Reverse(*n_runs));
                let rows: Vec<_> = window.iter().map(|(row, ..)| *row).collect();
                let mut slices = Lanes::default();
                slices.push_sorted(&rows, |at| window[at].1 as usize, limits.short_steps, shape);
                (before, slices)
            });
            windows.collect::<Vec<_>>()
        });
        long.windows = windows.into_iter().flatten().collect();
        // What takes longest begins first.
        if let Some((before, _)) = long.windows.first_mut() {
            *before = 0;
        }
        long
    }

    /// Slices of all long rows.
    pub(super) fn n_slices(&self) -> usize {
        self.of_parts.lanes.len() + self.windows.iter().map(|(_, slices)| slices.lanes.len()).sum::<usize>()
    }

    /// Writes the rows of long slices between those of the others, which are the last of `perm`; lanes of a row of all slices up to the last
    /// long one.
    pub(super) fn lay(&self, perm: &mut [u32], shape: Shape) -> Vec<u32> {
        let of_slice = shape.rows();
        let mut lanes = Vec::new();
        let mut short = self.n_slices() * of_slice;
        let first_short = short;
        let mut to = 0;
        let windows = self.windows.iter().map(|(before, slices)| (before / of_slice * of_slice, slices));
        for (before, slices) in std::iter::once((0, &self.of_parts)).chain(windows) {
            let end = first_short + before;
            perm.copy_within(short..end, to);
            to += end - short;
            lanes.resize(to / of_slice, shape.lanes as u32);
            short = end;
            perm[to..to + slices.perm.len()].copy_from_slice(&slices.perm);
            to += slices.perm.len();
            lanes.extend_from_slice(&slices.lanes);
        }
        debug_assert_eq!(to, short);
        lanes
    }
}

impl Lanes {
    /// Appends slices of rows, the longest of which come first; of so many runs each, by their position. A lane has so many steps at most, if
    /// the row is no longer than that on all lanes.
    pub(super) fn push_sorted(
        &mut self,
        rows: &[u32],
        n_runs: impl Fn(usize) -> usize,
        short_steps: usize,
        shape: Shape,
    ) {
        let mut at = 0;
        while at < rows.len() {
            let fewest = n_runs(at).div_ceil(short_steps).next_power_of_two();
            // The last fill their slice.
            let filling = shape.slice_lanes / (rows.len() - at).next_power_of_two();
            let lanes = fewest.max(filling).clamp(shape.lanes, shape.slice_lanes);
            let end = rows.len().min(at + shape.slice_lanes / lanes);
            self.push(rows[at..end].iter().copied(), lanes, shape);
            at = end;
        }
    }

    fn push(&mut self, rows: impl IntoIterator<Item = u32>, lanes: usize, shape: Shape) {
        self.perm.extend(rows);
        self.lanes.push(lanes as u32);
        self.perm.resize(self.lanes.len() * shape.rows(), NONE);
    }
}

/// Whether most long rows have their middle entry near that of the next.
fn read_near_each_other<V: Value>(a: CsrView<'_, V, u32>, rows: &[(u32, u32)]) -> bool {
    let middle = |(row, _): (u32, u32)| {
        let entries = a.row_range(row as usize);
        a.cols()[entries.start + entries.len() / 2]
    };
    let pairs = rows.windows(2).step_by(rows.len().div_ceil(SAMPLED).max(1));
    let n_near = pairs.clone().filter(|pair| middle(pair[0]).abs_diff(middle(pair[1])) < NEAR).count();
    2 * n_near > pairs.len()
}

/// The entries of a row's parts, each of so many runs.
fn entries_of_parts(entries: Range<usize>, of_a_part: usize, follows: &[bool]) -> Vec<Range<u32>> {
    let starts: Vec<usize> = match follows {
        [] => entries.clone().step_by(of_a_part).collect(),
        _ => entries.clone().filter(|entry| !follows[*entry]).step_by(of_a_part).collect(),
    };
    let ends = starts.iter().skip(1).copied().chain([entries.end]);
    starts.iter().zip(ends).map(|(start, end)| *start as u32..end as u32).collect()
}
