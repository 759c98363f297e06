//! Ranges of even work.

use spmv_core::{Offset, check_row_ptr};

use crate::error::{PartitionError, Result};
use crate::ranges::Ranges;

/// What a row costs before its first entry, in entries: its offset is read and its sum written, as much memory as a value and a
/// column take. Merge paths count rows alike (Merrill & Garland 2016, section 3).
const ROW_COST: u64 = 1;

impl Ranges {
    /// Ranges of even work, where an entry and a row cost as much: no contiguous ranges give the part with the most work less of it.
    ///
    /// Of the ranges that are equally good for that part, those whose ends are nearest to even shares. A row is never divided, so a
    /// row with most of the entries is a part of its own. O(rows + parts log rows log entries). The greatest share is found by
    /// bisection; Pinar & Aykanat 2004, section 3.
    ///
    /// ```
    /// use spmv_partition::Ranges;
    /// // Rows of 9, 1, 1, 1 and 1 entries.
    /// let rows = Ranges::by_nonzeros(&[0u32, 9, 10, 11, 12, 13], 2)?;
    /// assert_eq!(rows.offsets(), [0, 1, 5]);
    /// # Ok::<(), spmv_partition::PartitionError>(())
    /// ```
    ///
    /// # Errors
    /// [`PartitionError::NoParts`] for rows without parts, [`PartitionError::Csr`] for offsets that do not begin with 0 or decrease.
    pub fn by_nonzeros<O: Offset>(row_ptr: &[O], parts: usize) -> Result<Self> {
        let rows = row_ptr.len().saturating_sub(1);
        check_row_ptr(rows, row_ptr, row_ptr.last().map_or(0, |last| last.to_usize()))?;
        if parts == 0 {
            return if rows == 0 {
                Ranges::new(vec![0])
            } else {
                Err(PartitionError::NoParts { rows: rows as u64 })
            };
        }
        let work = Work { row_ptr };
        let most = work.least_maximum(parts);
        let earliest = work.earliest_starts(parts, most);
        let mut offsets = vec![0];
        let mut from = 0;
        for (part, earliest) in (1..parts).zip(earliest) {
            // Not so early that the rest exceeds the greatest share, nor so late that this part does.
            from = work.nearest(part, parts).max(earliest).min(work.last_within(from, most));
            offsets.push(from as u64);
        }
        offsets.push(rows as u64);
        Ranges::new(offsets)
    }
}

/// The work before each row. `u128`, because offsets may end anywhere.
struct Work<'a, O> {
    row_ptr: &'a [O],
}

impl<O: Offset> Work<'_, O> {
    fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    fn before(&self, row: usize) -> u128 {
        u128::from(self.row_ptr[row].to_u64()) + u128::from(ROW_COST) * row as u128
    }

    /// The last row that a part may end before, if it begins with `from` and has at most that much work.
    fn last_within(&self, from: usize, most: u128) -> usize {
        let limit = self.before(from) + most;
        first(from + 1, self.rows() + 1, |row| self.before(row) > limit) - 1
    }

    /// The work of the greatest part, where that is least.
    fn least_maximum(&self, parts: usize) -> u128 {
        let longest = (0..self.rows()).map(|row| self.before(row + 1) - self.before(row)).max();
        let total = self.before(self.rows());
        let (mut low, mut high) = (longest.unwrap_or(0).max(total.div_ceil(parts as u128)), total);
        while low < high {
            let middle = low + (high - low) / 2;
            let end = (0..parts).try_fold(0, |from, _| {
                // Nothing is left for later parts.
                if from == self.rows() { Err(from) } else { Ok(self.last_within(from, middle)) }
            });
            let end = end.unwrap_or_else(|end| end);
            if end == self.rows() { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// For each part but the first, the earliest row that it may begin with if it and all after it have at most that much work each.
    fn earliest_starts(&self, parts: usize, most: u128) -> Vec<usize> {
        let mut starts = Vec::with_capacity(parts - 1);
        let mut end = self.rows();
        for _ in 1..parts {
            let limit = self.before(end).saturating_sub(most);
            end = first(0, end, |row| self.before(row) >= limit);
            starts.push(end);
        }
        starts.reverse();
        starts
    }

    /// The row nearest to the even beginning of a part.
    fn nearest(&self, part: usize, parts: usize) -> usize {
        let ideal = self.before(self.rows()) * part as u128 / parts as u128;
        let after = first(0, self.rows(), |row| self.before(row) >= ideal);
        let is_nearer = after > 0 && ideal - self.before(after - 1) <= self.before(after) - ideal;
        if is_nearer { after - 1 } else { after }
    }
}

/// The first of `low..high` for which something holds that holds for all after it; `high` if for none.
fn first(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row_ptr(lengths: &[u32]) -> Vec<u32> {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    fn of_part(row_ptr: &[u32], rows: std::ops::Range<u64>) -> u64 {
        let entries = row_ptr[rows.end as usize] - row_ptr[rows.start as usize];
        u64::from(entries) + ROW_COST * (rows.end - rows.start)
    }

    fn most(row_ptr: &[u32], ranges: &Ranges) -> u64 {
        (0..ranges.n_parts()).map(|part| of_part(row_ptr, ranges.range(part))).max().unwrap_or(0)
    }

    /// The least of all ranges, by trying each.
    fn least(row_ptr: &[u32], from: usize, parts: usize) -> u64 {
        let rows = row_ptr.len() - 1;
        let alone = |to: usize| of_part(row_ptr, from as u64..to as u64);
        if parts == 1 {
            return alone(rows);
        }
        (from..=rows).map(|to| alone(to).max(least(row_ptr, to, parts - 1))).min().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_ranges_give_the_fullest_part_less(
            lengths in prop::collection::vec(prop_oneof![0u32..4, 0u32..40], 0..9),
            parts in 1usize..5,
        ) {
            let row_ptr = row_ptr(&lengths);
            let ranges = Ranges::by_nonzeros(&row_ptr, parts).unwrap();
            prop_assert_eq!((ranges.n_parts(), ranges.len()), (parts, lengths.len() as u64));
            prop_assert_eq!(most(&row_ptr, &ranges), least(&row_ptr, 0, parts));
        }

        #[test]
        fn filling_part_by_part_is_never_better(
            lengths in prop::collection::vec(0u32..60, 1..200),
            parts in 1usize..9,
        ) {
            let row_ptr = row_ptr(&lengths);
            let total = of_part(&row_ptr, 0..lengths.len() as u64);
            let mut offsets = vec![0];
            for row in 1..lengths.len() as u64 {
                let share = total * offsets.len() as u64 / parts as u64;
                if offsets.len() < parts && of_part(&row_ptr, 0..row) >= share {
                    offsets.push(row);
                }
            }
            offsets.resize(parts + 1, lengths.len() as u64);
            let greedy = Ranges::new(offsets).unwrap();
            let ranges = Ranges::by_nonzeros(&row_ptr, parts).unwrap();
            prop_assert!(most(&row_ptr, &ranges) <= most(&row_ptr, &greedy));
        }
    }

    #[test]
    fn rows_of_one_length_are_shared_evenly() {
        let row_ptr: Vec<u64> = (0..=12).map(|row| 5 * row).collect();
        assert_eq!(Ranges::by_nonzeros(&row_ptr, 4).unwrap(), Ranges::even(12, 4));
    }

    #[test]
    fn rest_is_shared_evenly_where_one_row_has_most_entries() {
        let row_ptr = row_ptr(&[1, 1, 1, 1, 100, 1, 1, 1, 1]);
        assert_eq!(Ranges::by_nonzeros(&row_ptr, 3).unwrap().offsets(), [0, 4, 5, 9]);
    }

    #[test]
    fn empty_rows_and_parts_beyond_the_rows_are_ranges_too() {
        assert_eq!(Ranges::by_nonzeros(&[0u32; 9], 4).unwrap(), Ranges::even(8, 4));
        let few = Ranges::by_nonzeros(&[0u32, 3, 6], 5).unwrap();
        assert_eq!((few.n_parts(), few.len(), most(&[0, 3, 6], &few)), (5, 2, 4));
        assert_eq!(Ranges::by_nonzeros(&[0u32], 3).unwrap().offsets(), [0; 4]);
        assert_eq!(Ranges::by_nonzeros(&[0u64, u64::MAX], 2).unwrap().len(), 1);
    }

    #[test]
    fn rows_without_parts_and_broken_offsets_are_refused() {
        assert_eq!(Ranges::by_nonzeros(&[0u32, 1], 0), Err(PartitionError::NoParts { rows: 1 }));
        assert_eq!(Ranges::by_nonzeros(&[0u32], 0).unwrap().n_parts(), 0);
        let message = |row_ptr: &[u32]| Ranges::by_nonzeros(row_ptr, 2).unwrap_err().to_string();
        assert!(message(&[0, 3, 2]).starts_with("row 2: offset 2 is before row 1's offset 3"));
        assert!(message(&[]).starts_with("0 row offsets"));
    }
}
