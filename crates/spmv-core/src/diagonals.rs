//! On which diagonals entries are, where neighbouring rows are alike.

use std::ops::Range;

use crate::csr::CsrView;
use crate::offset::Offset;
use crate::parts;
use crate::value::Value;

/// Entries of a thread, below which its start would take longer than its work.
pub(crate) const OF_A_THREAD: usize = 1 << 18;
/// Diagonals up to which those of each thread are kept in order, as they are met.
pub(crate) const FEW: usize = 256;

/// Rows from which on a diagonal begins with a cache line.
const IN_LINES: usize = 1 << 10;
/// Slots of a whole number of lines, in every type of values.
const LINE: usize = 32;
/// So many of them are whole pages, or halves.
const PAGE: usize = 16;

/// Slots from one diagonal of a layout to the next.
pub(crate) fn stride(n_rows: usize) -> usize {
    let lines = n_rows.div_ceil(LINE);
    let lines = lines + usize::from(lines.is_multiple_of(PAGE));
    if n_rows < IN_LINES { n_rows } else { lines.saturating_mul(LINE) }
}

/// The most rows with no larger stride than that.
pub(crate) fn rows_of(slots: usize) -> usize {
    let lines = slots / LINE;
    let in_lines = (lines - usize::from(lines > 0 && lines.is_multiple_of(PAGE))) * LINE;
    if in_lines < IN_LINES { slots.min(IN_LINES - 1) } else { in_lines }
}

/// Column minus row.
pub(crate) fn offset(row: usize, col: u32) -> i64 {
    i64::from(col) - row as i64
}

/// How many of these rows, from the first on, have their entries on the diagonals that the first has, in its order; one at least. O(their entries).
pub(crate) fn n_alike<T: Value, O: Offset>(a: CsrView<'_, T, O>, rows: Range<usize>) -> usize {
    let of_first = &a.cols()[a.row_range(rows.start)];
    let is_alike = |(on, row): &(u32, usize)| {
        let of_row = &a.cols()[a.row_range(*row)];
        let cols = of_row.iter().zip(of_first);
        // All of them are read: of a few, that is faster than to stop at the first.
        let differ = || cols.fold(0, |differ, (col, of_first)| differ | (col.wrapping_sub(*of_first) ^ on));
        of_row.len() == of_first.len() && differ() == 0
    };
    let others = rows.start + 1..rows.end;
    1 + (1..u32::MAX).zip(others).take_while(is_alike).count()
}

/// The diagonals that hold an entry, ascending. `None` if there are more than `most`, or `takes` refuses rows, of which it is given each range
/// that are alike. O(rows + entries), by several threads.
pub(crate) fn few<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    most: usize,
    takes: impl Fn(Range<usize>) -> bool + Sync,
) -> Option<Vec<i64>> {
    let rows = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD));
    let held: Option<Vec<_>> = parts::map(rows, |rows| of_rows(a, rows, most, &takes)).into_iter().collect();
    let mut all = held?.concat();
    all.sort_unstable();
    all.dedup();
    (all.len() <= most).then_some(all)
}

fn of_rows<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    rows: Range<usize>,
    most: usize,
    takes: impl Fn(Range<usize>) -> bool,
) -> Option<Vec<i64>> {
    let (mut met, mut first) = (Vec::new(), rows.start);
    while first < rows.end {
        let alike = first..first + n_alike(a, first..rows.end);
        for col in &a.cols()[a.row_range(first)] {
            let offset = offset(first, *col);
            if let Err(at) = met.binary_search(&offset) {
                if met.len() == most {
                    return None;
                }
                met.insert(at, offset);
            }
        }
        first = alike.end;
        if !takes(alike) {
            return None;
        }
    }
    Some(met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    #[test]
    fn long_diagonals_begin_with_a_line_and_not_all_with_a_page() {
        for n_rows in 0..5000 {
            let stride = stride(n_rows);
            assert!((n_rows..n_rows + 2 * LINE).contains(&stride));
            let is_in_lines = stride.is_multiple_of(LINE) && !stride.is_multiple_of(PAGE * LINE);
            assert!(n_rows < IN_LINES || is_in_lines, "{n_rows}");
            let most = rows_of(n_rows);
            assert!(super::stride(most) <= n_rows && super::stride(most + 1) > n_rows, "{n_rows}: {most}");
        }
    }

    #[test]
    fn rows_are_alike_as_long_as_their_columns_go_with_them() {
        let rows = [vec![1u32, 4], vec![2, 5], vec![3, 6], vec![4, 8], vec![], vec![], vec![9]];
        let rows = rows.iter().map(|cols| cols.iter().map(|col| (*col, 1.0f32)).collect::<Vec<_>>());
        let a: Csr<f32> = Csr::from_rows(10, rows).unwrap();
        let n_alike = |rows| n_alike(a.view(), rows);
        assert_eq!([0..7, 0..2, 3..7, 4..7, 6..7].map(n_alike), [3, 2, 1, 2, 1]);
        assert_eq!(few(a.view(), 4, |_| true), Some(vec![1, 3, 4, 5]));
        assert_eq!(few(a.view(), 3, |_| true), None);
        assert_eq!(few(a.view(), 4, |rows| rows.start < 6), None);
    }
}
