//! Matrices of `faer` 0.24, and its matrix-free solvers on ours.
//!
//! A prepared [`Matrix`](crate::Matrix) of `f32` or `f64` is a [`LinOp`](::faer::matrix_free::LinOp), so faer's conjugate gradients,
//! BiCGSTAB and eigensolvers multiply by it; with its transpose
//! ([`Context::prepare_with_transpose`](crate::Context::prepare_with_transpose)) it is a [`BiLinOp`](::faer::matrix_free::BiLinOp), for LSMR. Each column of
//! a right-hand side is multiplied by [`Matrix::apply_slices`](crate::Matrix::apply_slices): in place on the CPU, copied to the device
//! and back elsewhere. Columns whose values are not next to each other are copied on the host, too. `Par` is ignored: the
//! device decides.
//!
//! These traits cannot return an error. **If the device fails, or a length is wrong, the product panics.**
//! Solvers that keep their vectors on the device, and return errors, are in the crate `spmv-solvers`.
//!
//! ```
//! use faer::dyn_stack::{MemBuffer, MemStack};
//! use faer::matrix_free::{IdentityPrecond, conjugate_gradient as cg};
//! use faer::{Mat, Par, mat};
//! use spmv::{Context, Csr};
//!
//! let a = Csr::from_coo(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?;
//! let a = Context::auto()?.prepare(&a)?;
//! let (b, mut x) = (mat![[6.0], [7.0f64]], Mat::zeros(2, 1));
//! let identity = IdentityPrecond { dim: 2 };
//! let mut memory = MemBuffer::new(cg::conjugate_gradient_scratch(identity, &a, 1, Par::Seq));
//! // Leave `initial_guess` as it is: with `InitialGuessStatus::Zero`, faer 0.24 reads a residual that it never wrote.
//! let params = cg::CgParams::default();
//! let stack = MemStack::new(&mut memory);
//! cg::conjugate_gradient(x.as_mut(), identity, &a, b.as_ref(), params, |_| {}, Par::Seq, stack).unwrap();
//! assert!((x - mat![[1.0], [2.0]]).norm_max() < 1e-12);
//! # Ok::<(), spmv::Error>(())
//! ```

mod operator;

use ::faer::sparse::{
    SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseRowMat, SymbolicSparseRowMatRef,
};
use spmv_core::{Csr, CsrError, CsrView, Index, Offset, Value};

use super::Error;

/// faer uses half of the numbers of an index type.
const LIMIT: usize = i32::MAX as usize;

/// Borrows a matrix by rows with `u32` indices. O(rows + entries), to check the arrays.
///
/// What has other indices needs a copy, [`to_csr`]. Of a matrix by columns, the transpose can be borrowed:
/// `view(a.transpose())`.
///
/// ```
/// use faer::sparse::{SparseRowMat, Triplet};
/// use spmv::interop::faer::view;
/// let entries = [Triplet::new(0, 1, 2.0), Triplet::new(1, 0, 3.0)];
/// let theirs = SparseRowMat::<u32, f64>::try_new_from_triplets(2, 2, &entries).unwrap();
/// let a = view(theirs.as_ref())?;
/// assert_eq!(a.cols(), [1, 0]);
/// # Ok::<(), spmv::Error>(())
/// ```
///
/// # Errors
/// [`Error::UnusedSlots`] where rows have fewer entries than slots; [`CsrError::FirstOffset`].
pub fn view<T: Value>(a: SparseRowMatRef<'_, u32, T>) -> Result<CsrView<'_, T>, Error> {
    let (n_rows, n_cols, row_ptr, row_nnz, cols) = a.symbolic().parts();
    let slots = |row: usize| row_ptr[row + 1] - row_ptr[row];
    if let Some(row) = row_nnz.and_then(|nnz| (0..n_rows).find(|row| nnz[*row] != slots(*row))) {
        return Err(Error::UnusedSlots { row });
    }
    // There may be slots behind the last row.
    let end = row_ptr[n_rows] as usize;
    Ok(CsrView::new(n_rows, n_cols, row_ptr, &cols[..end], &a.val()[..end])?)
}

/// Copies a matrix by rows, with any [`Index`] type. One pass, O(rows + entries).
///
/// ```
/// use faer::sparse::{SparseRowMat, Triplet};
/// use spmv::{Csr, interop::faer::to_csr};
/// let theirs = SparseRowMat::<usize, f64>::try_new_from_triplets(1, 2, &[Triplet::new(0, 1, 2.0)]).unwrap();
/// let a: Csr<f64> = to_csr(theirs.as_ref())?;
/// assert_eq!((a.row_ptr(), a.cols(), a.vals()), (&[0, 1][..], &[1][..], &[2.0][..]));
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// [`CsrError::TooLarge`], [`CsrError::OffsetOverflow`].
pub fn to_csr<T: Value, O: Offset, I: ::faer::Index + Index>(
    a: SparseRowMatRef<'_, I, T>,
) -> Result<Csr<T, O>, CsrError> {
    let (n_rows, n_cols, row_ptr, row_nnz, cols) = a.symbolic().parts();
    if row_nnz.is_none() && row_ptr[0].to_i128() == 0 {
        let end = row_ptr[n_rows].to_i128() as usize;
        return Csr::from_indices(n_rows, n_cols, row_ptr, &cols[..end], &a.val()[..end]);
    }
    // `from_rows` refuses more columns than `u32` can name, so no column loses bits.
    let col = |c: &I| c.to_i128() as u32;
    let row =
        |row| a.symbolic().col_idx_of_row_raw(row).iter().map(col).zip(a.val_of_row(row).iter().copied());
    Csr::from_rows(n_cols, (0..n_rows).map(row))
}

/// Copies a matrix by columns, with any [`Index`] type. A counting sort, O(rows + columns + entries), with 8 bytes of scratch
/// memory for each row and column.
///
/// ```
/// use faer::sparse::{SparseColMat, Triplet};
/// use spmv::{Csr, interop::faer::csc_to_csr};
/// let entries = [Triplet::new(1, 0, 3.0f32), Triplet::new(0, 1, 2.0)];
/// let theirs = SparseColMat::<usize, f32>::try_new_from_triplets(2, 2, &entries).unwrap();
/// let a: Csr<f32> = csc_to_csr(theirs.as_ref())?;
/// assert_eq!((a.cols(), a.vals()), (&[1, 0][..], &[2.0, 3.0][..]));
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// As [`to_csr`].
pub fn csc_to_csr<T: Value, O: Offset, I: ::faer::Index + Index>(
    a: SparseColMatRef<'_, I, T>,
) -> Result<Csr<T, O>, CsrError> {
    let (n_rows, n_cols, col_ptr, col_nnz, rows) = a.symbolic().parts();
    if col_nnz.is_none() && col_ptr[0].to_i128() == 0 {
        let end = col_ptr[n_cols].to_i128() as usize;
        return Csr::from_csc_indices(n_rows, n_cols, col_ptr, &rows[..end], &a.val()[..end]);
    }
    let transpose = to_csr(a.transpose()).map_err(|e| CsrError::ByColumns(Box::new(e)))?;
    Ok(transpose.transpose())
}

/// Borrows a matrix for faer. O(rows + entries), to check the arrays; copies nothing. Of 64-bit offsets,
/// [`Csr::with_offsets`] makes others.
///
/// ```
/// use spmv::{Csr, interop::faer::as_faer};
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
/// assert_eq!(as_faer(&a)?.to_dense()[(0, 1)], 2.0);
/// # Ok::<(), spmv::Error>(())
/// ```
///
/// # Errors
/// [`CsrError::NotCanonical`]; [`Error::TooLarge`] for more than 2^31 - 1 rows or columns.
pub fn as_faer<'a, T: Value>(a: impl Into<CsrView<'a, T>>) -> Result<SparseRowMatRef<'a, u32, T>, Error> {
    let a = a.into();
    check(a)?;
    let pattern = SymbolicSparseRowMatRef::new_checked(a.n_rows(), a.n_cols(), a.row_ptr(), None, a.cols());
    Ok(SparseRowMatRef::new(pattern, a.vals()))
}

/// Moves the arrays of a matrix to faer. O(rows + entries), to check the arrays; copies nothing.
///
/// ```
/// use spmv::{Csr, interop::faer::into_faer};
/// let theirs = into_faer(Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?)?;
/// assert_eq!(theirs.to_col_major().unwrap().row_idx(), [1, 0]);
/// # Ok::<(), spmv::Error>(())
/// ```
///
/// # Errors
/// As [`as_faer`].
pub fn into_faer<T: Value>(a: Csr<T>) -> Result<SparseRowMat<u32, T>, Error> {
    check(a.view())?;
    let (n_rows, n_cols) = (a.n_rows(), a.n_cols());
    let (row_ptr, cols, vals) = a.into_parts();
    Ok(SparseRowMat::new(SymbolicSparseRowMat::new_checked(n_rows, n_cols, row_ptr, None, cols), vals))
}

/// What faer would panic at.
fn check<T: Value>(a: CsrView<'_, T>) -> Result<(), Error> {
    for (axis, n) in [("rows", a.n_rows()), ("columns", a.n_cols())] {
        if n > LIMIT {
            return Err(Error::TooLarge { axis, n, limit: LIMIT });
        }
    }
    Ok(a.check_canonical()?)
}
