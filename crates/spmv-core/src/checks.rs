//! What must hold of the arrays of a matrix.

use crate::error::CsrError;
use crate::offset::Offset;
use crate::parts;

/// Whether row offsets are those of a matrix: one more than rows, from 0 on to the number of entries, none of which decreases. O(rows).
///
/// ```
/// use spmv_core::{CsrError, check_row_ptr};
/// assert_eq!(check_row_ptr(2, &[0u32, 1, 3], 3), Ok(()));
/// assert_eq!(check_row_ptr(1, &[0u64, 1], 2), Err(CsrError::LastOffset { last: 1, entries: 2 }));
/// ```
///
/// # Errors
/// [`CsrError::RowPtrLength`], [`CsrError::FirstOffset`], [`CsrError::Decreasing`], [`CsrError::LastOffset`].
pub fn check_row_ptr<O: Offset>(n_rows: usize, row_ptr: &[O], n_entries: usize) -> Result<(), CsrError> {
    if row_ptr.len() != n_rows + 1 {
        return Err(CsrError::RowPtrLength { n_rows, found: row_ptr.len() });
    }
    if row_ptr[0].to_u64() != 0 {
        return Err(CsrError::FirstOffset { found: row_ptr[0].to_u64() });
    }
    if let Some(i) = row_ptr.windows(2).position(|w| w[1] < w[0]) {
        let (offset, prev) = (row_ptr[i + 1].to_u64(), row_ptr[i].to_u64());
        return Err(CsrError::Decreasing { row: i + 1, offset, prev });
    }
    if row_ptr[n_rows].to_u64() != n_entries as u64 {
        return Err(CsrError::LastOffset { last: row_ptr[n_rows].to_u64(), entries: n_entries });
    }
    Ok(())
}

/// Columns of a thread, below which its start would take longer than its work.
const OF_A_THREAD: usize = 1 << 19;

/// The highest column, 0 without any; by several threads where there are many.
pub(crate) fn highest(cols: &[u32]) -> u32 {
    // A running maximum vectorises.
    let of = |cols: &[u32]| cols.iter().copied().fold(0, u32::max);
    let all = parts::cut(cols.len(), parts::threads(cols.len(), OF_A_THREAD));
    parts::map(all, |part| of(&cols[part])).into_iter().fold(0, u32::max)
}

/// Rows and columns that `u32` indices can name.
pub(crate) fn check_dims(n_rows: usize, n_cols: usize) -> Result<(), CsrError> {
    for (axis, n) in [("rows", n_rows), ("columns", n_cols)] {
        if n > u32::MAX as usize {
            return Err(CsrError::TooLarge { axis, n });
        }
    }
    Ok(())
}

/// A count of entries as an offset.
pub(crate) fn offset<O: Offset>(entries: usize) -> Result<O, CsrError> {
    let overflow = CsrError::OffsetOverflow { entries, type_name: std::any::type_name::<O>() };
    O::try_from_usize(entries).ok_or(overflow)
}
