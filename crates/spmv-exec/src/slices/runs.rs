//! Runs: entries of a row whose columns follow each other. Which entries go on with one is marked; where runs have one entry, none is.

use std::ops::Range;

use spmv_core::{CsrView, Value};

use super::shape::Shape;

/// What the rows of a slice have together; of runs, as many as the longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    pub(super) n: u32,
    /// Of the first columns of runs, which alone are kept.
    pub(super) least: u32,
    pub(super) greatest: u32,
    pub(super) is_ragged: bool,
}

/// Of a slice without entries.
pub(super) const NO_RUNS: Runs = Runs { n: 0, least: u32::MAX, greatest: 0, is_ragged: false };

impl Runs {
    /// Of a row none of whose entries is marked yet: marks those that go on with the run of the one before, which has fewer than
    /// `width`.
    pub(super) fn mark(cols: &[u32], width: usize, follows: &mut [bool]) -> Self {
        let mut row = NO_RUNS;
        let mut at = 0;
        while at < cols.len() {
            let col = cols[at];
            row.add(col, false);
            let rest = cols.iter().zip(&mut *follows).skip(at + 1).take(width - 1);
            // No column is the greatest number, so that there is a next one.
            let others = rest.zip(1..).take_while(|((next, _), distance)| **next == col + distance);
            at += 1 + others.map(|((_, follows), _)| *follows = true).count();
        }
        row.is_ragged = row.n as usize * width != cols.len();
        row
    }

    /// The same of entries that are marked, or need not be.
    pub(super) fn of(cols: &[u32], width: usize, follows: &[bool]) -> Self {
        let mut row = NO_RUNS;
        match follows {
            [] => {
                row.n = cols.len() as u32;
                cols.iter().for_each(|col| {
                    (row.least, row.greatest) = (row.least.min(*col), row.greatest.max(*col))
                });
            }
            _ => cols.iter().zip(follows).for_each(|(col, follows)| row.add(*col, *follows)),
        }
        row.is_ragged = row.n as usize * width != cols.len();
        row
    }

    fn add(&mut self, col: u32, follows: bool) {
        self.n += u32::from(!follows);
        // The first column of a run is its least.
        self.least = self.least.min(col);
        self.greatest = self.greatest.max(if follows { 0 } else { col });
    }

    pub(super) fn and(self, row: Self) -> Self {
        Self {
            n: self.n.max(row.n),
            least: self.least.min(row.least),
            greatest: self.greatest.max(row.greatest),
            is_ragged: self.is_ragged || row.is_ragged,
        }
    }
}

/// Whether the rows of a slice, which have those runs, are as many as it may have, each has a run of full length for each lane and step, and
/// columns are those of the row before plus one.
pub(super) fn are_stepped<V: Value>(
    a: CsrView<'_, V, u32>,
    shape: Shape,
    of: Runs,
    rows: impl Iterator<Item = usize>,
) -> bool {
    let n_runs = of.n as usize;
    if of.is_ragged || n_runs == 0 || !n_runs.is_multiple_of(shape.lanes) || shape.rows() == 1 {
        return false;
    }
    let mut before: Option<&[u32]> = None;
    let mut n_rows = 0;
    for row in rows {
        let cols = &a.cols()[a.row_range(row)];
        if cols.len() != n_runs * shape.width {
            return false;
        }
        // All comparisons at once; but no row is next to most.
        if let Some(before) = before
            && (cols[0] != before[0] + 1
                || !before
                    .iter()
                    .zip(cols)
                    .fold(true, |are, (before, col)| are & (*col == before.wrapping_add(1))))
        {
            return false;
        }
        before = Some(cols);
        n_rows += 1;
    }
    n_rows == shape.rows()
}

/// The marks of some entries; none, where runs have one entry.
pub(super) fn marks(follows: &[bool], entries: Range<usize>) -> &[bool] {
    if follows.is_empty() { follows } else { &follows[entries] }
}

/// How many runs a row has.
pub(super) fn count(entries: Range<usize>, follows: &[bool]) -> usize {
    entries.len() - marks(follows, entries).iter().filter(|follows| **follows).count()
}
