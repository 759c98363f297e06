//! Matrices of `nalgebra-sparse` 0.12, whose indices are all `usize`: nothing can be borrowed, for columns here are `u32`.
//!
//! ```
//! use nalgebra_sparse::CsrMatrix;
//! use spmv::interop::nalgebra_sparse::to_csr;
//! use spmv::{Context, Csr};
//! let theirs = CsrMatrix::try_from_csr_data(2, 2, vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0]).unwrap();
//! let a: Csr<f64> = to_csr(&theirs)?;
//! assert_eq!(Context::auto()?.prepare(&a)?.multiply(&[1.0, 10.0])?, [20.0, 3.0]);
//! # Ok::<(), spmv::Error>(())
//! ```

use ::nalgebra_sparse::{CscMatrix, CsrMatrix};
use spmv_core::{Csr, CsrError, CsrView, Offset, Value};

/// Copies a matrix by rows. One pass, O(rows + entries).
///
/// # Errors
/// [`CsrError::TooLarge`], [`CsrError::OffsetOverflow`].
pub fn to_csr<T: Value, O: Offset>(a: &CsrMatrix<T>) -> Result<Csr<T, O>, CsrError> {
    let (row_ptr, cols, vals) = a.csr_data();
    Csr::from_indices(a.nrows(), a.ncols(), row_ptr, cols, vals)
}

/// Copies a matrix by columns. A counting sort, O(rows + columns + entries), with 8 bytes of scratch memory for each row and
/// column.
///
/// ```
/// use nalgebra_sparse::CscMatrix;
/// use spmv::Csr;
/// use spmv::interop::nalgebra_sparse::csc_to_csr;
/// let theirs = CscMatrix::try_from_csc_data(1, 2, vec![0, 1, 2], vec![0, 0], vec![2.0f32, 3.0]).unwrap();
/// let a: Csr<f32> = csc_to_csr(&theirs)?;
/// assert_eq!((a.row_ptr(), a.cols()), (&[0, 2][..], &[0, 1][..]));
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// As [`to_csr`].
pub fn csc_to_csr<T: Value, O: Offset>(a: &CscMatrix<T>) -> Result<Csr<T, O>, CsrError> {
    let (col_ptr, rows, vals) = a.csc_data();
    Csr::from_csc_indices(a.nrows(), a.ncols(), col_ptr, rows, vals)
}

/// Copies a matrix for nalgebra-sparse. O(rows + entries).
///
/// ```
/// use spmv::Csr;
/// use spmv::interop::nalgebra_sparse::to_nalgebra;
/// let theirs = to_nalgebra(&Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?)?;
/// assert_eq!(theirs.col_indices(), [1, 0]);
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// [`CsrError::NotCanonical`].
pub fn to_nalgebra<'a, T: Value, O: Offset>(
    a: impl Into<CsrView<'a, T, O>>,
) -> Result<CsrMatrix<T>, CsrError> {
    let a = a.into();
    a.check_canonical()?;
    let row_ptr = a.row_ptr().iter().map(|o| o.to_usize()).collect();
    let cols = a.cols().iter().map(|c| *c as usize).collect();
    let theirs = CsrMatrix::try_from_csr_data(a.n_rows(), a.n_cols(), row_ptr, cols, a.vals().to_vec());
    Ok(theirs.expect("a canonical matrix"))
}
