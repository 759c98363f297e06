//! A matrix of one process in parts.

use spmv_core::{CsrView, Offset, Value};

use crate::error::{PartitionError, Result};
use crate::part::Part;
use crate::ranges::Ranges;
use crate::rows::LocalRows;

/// All parts of a matrix that one process holds, each with its halo.
///
/// Parts may own no row or no column, and there may be more parts than rows. O(entries log ghosts); next to the parts, one of them
/// at a time is held with 64-bit columns.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{Ranges, cut};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 2, 2.0), (2, 0, 3.0)])?;
/// let ranges = Ranges::even(3, 2);
/// let parts = cut(a.view(), &ranges, &ranges)?;
/// assert_eq!((parts[0].rows(), parts[1].rows()), (0..2, 2..3));
/// assert_eq!((parts[0].ghosts(), parts[1].ghosts()), (&[2][..], &[0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PartitionError::Shape`], [`PartitionError::Partitions`].
pub fn cut<T: Value, O: Offset>(a: CsrView<'_, T, O>, rows: &Ranges, cols: &Ranges) -> Result<Vec<Part<T>>> {
    for (axis, ranges, n) in [("rows", rows, a.n_rows()), ("columns", cols, a.n_cols())] {
        if ranges.len() != n as u64 {
            return Err(PartitionError::Shape { axis, ranges: ranges.len(), matrix: n as u64 });
        }
    }
    if rows.n_parts() != cols.n_parts() {
        return Err(PartitionError::Partitions { rows: rows.n_parts(), cols: cols.n_parts() });
    }
    let part = |index| Part::new(index, rows, cols, rows_of(a, rows, index));
    let mut parts = (0..rows.n_parts()).map(part).collect::<Result<Vec<_>>>()?;

    let mut requests = vec![Vec::new(); parts.len()];
    for part in &parts {
        for receive in part.needs() {
            requests[receive.from].push((part.index(), part.requests(receive.from)));
        }
    }
    let sends = parts.iter().zip(requests).map(|(part, requests)| part.sends(requests));
    let sends = sends.collect::<Result<Vec<_>>>()?;
    for (part, sends) in parts.iter_mut().zip(sends) {
        part.set_sends(sends);
    }
    Ok(parts)
}

/// A copy of the rows of one part. They are valid, because the matrix is.
fn rows_of<T: Value, O: Offset>(a: CsrView<'_, T, O>, rows: &Ranges, part: usize) -> LocalRows<T> {
    let rows = rows.range(part);
    let offsets = &a.row_ptr()[rows.start as usize..=rows.end as usize];
    let first = offsets[0].to_u64();
    let entries = first as usize..offsets[offsets.len() - 1].to_usize();
    LocalRows {
        n_cols: a.n_cols() as u64,
        row_ptr: offsets.iter().map(|offset| offset.to_u64() - first).collect(),
        cols: a.cols()[entries.clone()].iter().map(|col| u64::from(*col)).collect(),
        vals: a.vals()[entries].to_vec(),
    }
}
