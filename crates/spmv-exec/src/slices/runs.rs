//! Runs: entries of a row whose columns follow each other. Which entries go on with one is marked; where runs have one entry, none is.

use std::ops::Range;

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

    /// The same of entries that are marked, or need not be. Columns are not looked at where none takes 16 bits.
    #[inline]
    pub(super) fn of(cols: &[u32], shape: Shape, follows: &[bool]) -> Self {
        let mut row = NO_RUNS;
        match follows {
            [] => {
                row.n = cols.len() as u32;
                if shape.has_halves() {
                    cols.iter().for_each(|col| {
                        (row.least, row.greatest) = (row.least.min(*col), row.greatest.max(*col))
                    });
                }
            }
            _ => cols.iter().zip(follows).for_each(|(col, follows)| row.add(*col, *follows)),
        }
        row.is_ragged = row.n as usize * shape.width != cols.len();
        row
    }

    /// For an array of zeros, whose pages the threads that write them are the first to touch.
    pub(super) fn numbers(self) -> [u32; 4] {
        [self.n, self.least, self.greatest, self.is_ragged.into()]
    }

    pub(super) fn of_numbers([n, least, greatest, is_ragged]: [u32; 4]) -> Self {
        Self { n, least, greatest, is_ragged: is_ragged != 0 }
    }

    fn add(&mut self, col: u32, follows: bool) {
        self.n += u32::from(!follows);
        // The first column of a run is its least.
        self.least = self.least.min(col);
        self.greatest = self.greatest.max(if follows { 0 } else { col });
    }

    #[inline]
    pub(super) fn and(self, row: Self) -> Self {
        Self {
            n: self.n.max(row.n),
            least: self.least.min(row.least),
            greatest: self.greatest.max(row.greatest),
            is_ragged: self.is_ragged || row.is_ragged,
        }
    }
}

/// Whether the rows of a slice, none of which has more steps, are as many as it may have and follow each other in the matrix, each has a run of
/// full length for each lane and step, and columns are those of the row before plus one.
pub(super) fn are_stepped(
    cols: &[u32],
    shape: Shape,
    n_steps: usize,
    mut rows: impl ExactSizeIterator<Item = Range<u32>>,
) -> bool {
    let (n, n_rows) = (n_steps * shape.lanes * shape.width, rows.len());
    if n == 0 || n_rows == 1 || n_rows != shape.rows() {
        return false;
    }
    let Some(Range { start: first, end }) = rows.next() else { return false };
    let next = |end: u32, row: Range<u32>| (row.start == end && row.len() == n).then_some(row.end);
    let end = if (end - first) as usize == n { rows.try_fold(end, next) } else { None };
    let Some(end) = end else { return false };
    let cols = &cols[first as usize..end as usize];
    // No column is the greatest number. All comparisons at once; but no row is next to most.
    let is_next = |(before, col): (&u32, &u32)| *col == before.wrapping_add(1);
    cols[n] == cols[0] + 1 && cols.iter().zip(&cols[n..]).fold(true, |are, cols| are & is_next(cols))
}

/// The marks of some entries; none, where runs have one entry.
pub(super) fn marks(follows: &[bool], entries: Range<usize>) -> &[bool] {
    if follows.is_empty() { follows } else { &follows[entries] }
}
