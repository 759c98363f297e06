//! Slices of rows that would keep their T lanes longer than others.

use std::cmp::Reverse;
use std::ops::Range;

use spmv_core::{CsrView, Value, parts};

use super::lay::OF_A_THREAD;
use super::shape::{Limits, Shape};

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

/// The slices of long rows, which come before all others.
#[derive(Debug, Default)]
pub(super) struct Long {
    /// Of the first slices.
    pub(super) parts: Vec<Part>,
    pub(super) slices: Lanes,
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
    /// Of rows and how many runs they have.
    pub(super) fn of<V: Value>(
        a: CsrView<'_, V, u32>,
        follows: &[bool],
        shape: Shape,
        limits: &Limits,
        mut rows: Vec<(u32, u32)>,
    ) -> Self {
        rows.sort_by_key(|(_, n_runs)| Reverse(*n_runs));
        let of_a_slice = |(_, n_runs): &(u32, u32)| (*n_runs as usize).div_ceil(shape.slice_lanes);
        let n_cut = rows.partition_point(|row| of_a_slice(row) > limits.most_steps);
        let (cut, rest) = rows.split_at(n_cut);
        let mut long = Self::default();
        let n_runs = cut.iter().map(|(_, n_runs)| *n_runs as usize).sum();
        let of_threads = parts::cut(n_cut, parts::threads(n_runs, OF_A_THREAD));
        let of_row = |row: &(u32, u32)| {
            let n = of_a_slice(row).div_ceil(limits.most_steps);
            let of_a_part = (row.1 as usize).div_ceil(n * shape.slice_lanes) * shape.slice_lanes;
            entries_of_parts(a.row_range(row.0 as usize), of_a_part, follows)
        };
        let of_rows = parts::map(of_threads, |part| cut[part].iter().map(of_row).collect::<Vec<_>>());
        for ((row, _), of_parts) in cut.iter().zip(of_rows.into_iter().flatten()) {
            let (first, n) = (long.parts.len() as u32, of_parts.len() as u32);
            for (at, entries) in of_parts.into_iter().enumerate() {
                long.parts.push(Part { entries, first, n });
                long.slices.push([if at == 0 { *row } else { NONE }], shape.slice_lanes, shape);
            }
        }
        let (rows, n_runs): (Vec<_>, Vec<_>) = rest.iter().copied().unzip();
        long.slices.push_sorted(&rows, |at| n_runs[at] as usize, limits.short_steps, shape);
        long
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

/// The entries of a row's parts, each of so many runs.
fn entries_of_parts(entries: Range<usize>, of_a_part: usize, follows: &[bool]) -> Vec<Range<u32>> {
    let starts: Vec<usize> = match follows {
        [] => entries.clone().step_by(of_a_part).collect(),
        _ => entries.clone().filter(|entry| !follows[*entry]).step_by(of_a_part).collect(),
    };
    let ends = starts.iter().skip(1).copied().chain([entries.end]);
    starts.iter().zip(ends).map(|(start, end)| *start as u32..end as u32).collect()
}
