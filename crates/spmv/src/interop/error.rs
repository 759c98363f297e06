//! What keeps a matrix from being borrowed or passed on.

use spmv_core::CsrError;

/// A matrix that cannot be borrowed or passed on as it is.
///
/// ```
/// use spmv::interop::Error;
/// assert_eq!(Error::ByColumns.to_string(), "the matrix is stored by columns; borrow its transpose, or copy it with to_csr");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays are no matrix here, or their rows are not sorted as the other library wants them.
    #[error(transparent)]
    Csr(#[from] CsrError),
    /// Rows were asked for, and the matrix is stored by columns.
    #[error("the matrix is stored by columns; borrow its transpose, or copy it with to_csr")]
    ByColumns,
    /// Rows do not follow each other in the arrays.
    #[error("row {row} leaves slots unused; copy the matrix with to_csr")]
    UnusedSlots {
        /// The first such row.
        row: usize,
    },
    /// More rows or columns than the library can name by 32-bit indices.
    #[error("{n} {axis} are more than the {limit} that faer can name by u32 indices")]
    TooLarge {
        /// `rows` or `columns`.
        axis: &'static str,
        /// How many there are.
        n: usize,
        /// How many there may be.
        limit: usize,
    },
}
