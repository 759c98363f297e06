//! Rows as they come, with global columns.

use spmv_core::{CsrError, Value, check_row_ptr};

use crate::error::{PartitionError, Result};

/// The rows of one part with the columns that the whole matrix gives them, validated once.
///
/// What a part is made of, wherever it comes from: a file, a generator, a larger matrix. Rows are counted within the part, columns
/// over the whole matrix. Columns of a row may stand in any order and may repeat, as in [`spmv_core::Csr`].
///
/// ```
/// use spmv_partition::LocalRows;
/// // Two rows of a matrix of 10^12 columns.
/// let rows = LocalRows::new(1_000_000_000_000, vec![0, 1, 3], vec![7, 0, 999_999_999_999], vec![1.0f32, 2.0, 3.0])?;
/// assert_eq!((rows.n_rows(), rows.nnz()), (2, 3));
/// # Ok::<(), spmv_partition::PartitionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LocalRows<T> {
    pub(crate) n_cols: u64,
    pub(crate) row_ptr: Vec<u64>,
    pub(crate) cols: Vec<u64>,
    pub(crate) vals: Vec<T>,
}

impl<T: Value> LocalRows<T> {
    /// Takes over the arrays: one offset more than rows, from 0 on; a column and a value for each entry. O(rows + entries).
    ///
    /// # Errors
    /// [`PartitionError::Csr`] for offsets or lengths that do not fit, [`PartitionError::Column`].
    pub fn new(n_cols: u64, row_ptr: Vec<u64>, cols: Vec<u64>, vals: Vec<T>) -> Result<Self> {
        check_row_ptr(row_ptr.len().saturating_sub(1), &row_ptr, cols.len())?;
        if vals.len() != cols.len() {
            return Err(CsrError::ValuesLength { columns: cols.len(), values: vals.len() }.into());
        }
        if let Some(entry) = cols.iter().position(|col| *col >= n_cols) {
            let row = row_ptr.partition_point(|offset| *offset <= entry as u64) - 1;
            return Err(PartitionError::Column { row, entry, column: cols[entry], n_cols });
        }
        Ok(Self { n_cols, row_ptr, cols, vals })
    }

    /// Number of rows of the part.
    pub fn n_rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of columns of the whole matrix.
    pub fn n_cols(&self) -> u64 {
        self.n_cols
    }

    /// Where each row begins, and the last one ends.
    pub fn row_ptr(&self) -> &[u64] {
        &self.row_ptr
    }

    /// Columns of the entries, as the whole matrix counts them.
    pub fn cols(&self) -> &[u64] {
        &self.cols
    }

    /// Values of the entries.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// Number of stored entries of the part.
    pub fn nnz(&self) -> usize {
        self.cols.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(row_ptr: &[u64], cols: &[u64], vals: &[f32]) -> String {
        LocalRows::new(5, row_ptr.into(), cols.into(), vals.into()).unwrap_err().to_string()
    }

    #[test]
    fn each_broken_array_is_named_with_its_numbers() {
        assert!(message(&[], &[], &[]).starts_with("0 row offsets for 0 rows"));
        assert!(message(&[1, 1], &[0], &[1.0]).starts_with("row 0: offset 1 is not 0"));
        assert!(message(&[0, 2, 1], &[0], &[1.0]).starts_with("row 2: offset 1 is before row 1's offset 2"));
        assert_eq!(
            message(&[0, 2], &[0], &[1.0]),
            "the last row offset is 2, but there are 1 column indices"
        );
        assert!(message(&[0, 1], &[0], &[]).starts_with("0 values for 1 column indices"));
        assert_eq!(
            message(&[0, 1, 1, 3], &[4, 0, 5], &[1.0; 3]),
            "row 2, entry 2: column 5 is out of range; the matrix has 5 columns"
        );
    }

    #[test]
    fn no_rows_are_rows_too() {
        let rows = LocalRows::<f64>::new(0, vec![0], vec![], vec![]).unwrap();
        assert_eq!((rows.n_rows(), rows.n_cols(), rows.nnz()), (0, 0, 0));
    }
}
