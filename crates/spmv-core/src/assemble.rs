//! Coordinates to rows that are sorted by column.

use crate::checks::{check_dims, offset};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::value::Value;

/// Row offsets, columns and values.
pub(crate) type Arrays<T, O> = (Vec<O>, Vec<u32>, Vec<T>);

/// Counting sort by row, a stable sort by column within each row, then duplicates summed in place.
pub(crate) fn assemble<T: Value, O: Offset>(
    n_rows: usize,
    n_cols: usize,
    n: usize,
    triplet: impl Fn(usize) -> (u32, u32, T),
) -> Result<Arrays<T, O>, CsrError> {
    check_dims(n_rows, n_cols)?;
    let mut next = vec![0usize; n_rows + 1];
    for entry in 0..n {
        let (row, column, _) = triplet(entry);
        if row as usize >= n_rows {
            return Err(CsrError::RowOutOfRange { entry, row, n_rows });
        }
        if column as usize >= n_cols {
            let (row, column) = (row as usize, column.into());
            return Err(CsrError::ColumnOutOfRange { row, entry, column, n_cols });
        }
        next[row as usize + 1] += 1;
    }
    for row in 0..n_rows {
        next[row + 1] += next[row];
    }
    let starts = next.clone();
    let mut sorted = vec![(0u32, T::default()); n];
    for entry in 0..n {
        let (row, column, value) = triplet(entry);
        sorted[next[row as usize]] = (column, value);
        next[row as usize] += 1;
    }
    merge(&starts, &mut sorted)
}

/// Sorts the entries of each row by column, and sums those of the same column in the order given.
///
/// Row `r` holds `entries[starts[r]..starts[r + 1]]`. O(rows + entries log(longest row)).
pub(crate) fn merge<T: Value, O: Offset>(
    starts: &[usize],
    entries: &mut [(u32, T)],
) -> Result<Arrays<T, O>, CsrError> {
    let mut row_ptr = Vec::with_capacity(starts.len());
    row_ptr.push(O::default());
    let (mut cols, mut vals) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for row in starts.windows(2) {
        let entries = &mut entries[row[0]..row[1]];
        if !entries.is_sorted_by_key(|e| e.0) {
            entries.sort_by_key(|e| e.0);
        }
        for run in entries.chunk_by(|a, b| a.0 == b.0) {
            cols.push(run[0].0);
            vals.push(if run.len() == 1 { run[0].1 } else { sum(run) });
        }
        row_ptr.push(offset(cols.len())?);
    }
    Ok((row_ptr, cols, vals))
}

fn sum<T: Value>(run: &[(u32, T)]) -> T {
    let mut total = <T::Accum as num_traits::Zero>::zero();
    for (_, v) in run {
        total += v.to_accum();
    }
    T::from_parts(total.parts())
}
