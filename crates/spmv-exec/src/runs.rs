//! Entries of a row in consecutive columns, of which layouts keep the first column.

use spmv_core::Runs;

/// Runs of a row: the first column of each, and how many entries it has. O(entries).
pub(crate) fn of_row(mut cols: &[u32]) -> impl Iterator<Item = (u32, usize)> {
    std::iter::from_fn(move || {
        let first = *cols.first()?;
        // No column is the greatest number, so that there is a next one.
        let others =
            cols[1..].iter().zip(1..).take(Runs::LONGEST - 1).take_while(|(col, i)| **col == first + i);
        let len = 1 + others.count();
        cols = &cols[len..];
        Some((first, len))
    })
}
