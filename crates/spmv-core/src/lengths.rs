//! How many rows have each length, found in one pass over the row offsets.

use std::ops::AddAssign;

use crate::offset::Offset;
use crate::parts;

/// Lengths that are counted; of the few rows that are longer, each stands alone.
const COUNTED: usize = 1024;
/// Rows of a thread, below which its start would take longer than its work.
const OF_A_THREAD: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Lengths {
    counts: Vec<usize>,
    /// Ascending.
    longer: Vec<usize>,
}

impl Lengths {
    /// O(rows), by several threads where there are many.
    pub(crate) fn of<O: Offset>(row_ptr: &[O]) -> Self {
        let n_rows = row_ptr.len().saturating_sub(1);
        let rows = parts::cut(n_rows, parts::threads(n_rows, OF_A_THREAD));
        let counted = parts::map(rows, |rows| Self::of_part(&row_ptr[rows.start..=rows.end]));
        let mut all = counted.into_iter().fold(Self::of_part::<O>(&[]), |mut all, part| {
            all += part;
            all
        });
        all.longer.sort_unstable();
        all
    }

    fn of_part<O: Offset>(row_ptr: &[O]) -> Self {
        let (mut counts, mut longer) = (vec![0; COUNTED], Vec::new());
        for pair in row_ptr.windows(2) {
            let len = pair[1].to_usize() - pair[0].to_usize();
            match counts.get_mut(len) {
                Some(n) => *n += 1,
                None => longer.push(len),
            }
        }
        Self { counts, longer }
    }

    /// Lengths that rows have, ascending, and how many have them; long ones one by one.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let counted = self.counts.iter().copied().enumerate().filter(|(_, n)| *n > 0);
        counted.chain(self.longer.iter().map(|len| (*len, 1)))
    }
}

impl AddAssign for Lengths {
    fn add_assign(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(n, more)| *n += more);
        self.longer.extend(other.longer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_counted_by_however_many_threads() {
        let lens = (0..3 * OF_A_THREAD + 5).map(|row| [0, 3, 1, 2000 + row % 2][row % 4]);
        let row_ptr: Vec<u64> = std::iter::once(0)
            .chain(lens.scan(0, |end, len| {
                *end += len as u64;
                Some(*end)
            }))
            .collect();
        let (all, one) = (Lengths::of(&row_ptr), Lengths::of_part(&row_ptr));
        assert_eq!(all.counts, one.counts);
        let n = 3 * OF_A_THREAD / 4 + 1;
        assert_eq!(all.counts[..4], [n + 1, n, 0, n]);
        assert_eq!(all.longer.len(), n);
        assert!(all.longer.is_sorted() && all.iter().map(|(_, n)| n).sum::<usize>() == row_ptr.len() - 1);
    }
}
