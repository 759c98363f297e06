//! Matrices of `sprs` 0.11.
//!
//! ```
//! use spmv::interop::sprs::view;
//! use spmv::{Context, Csr};
//! let theirs = sprs::CsMatI::<f64, u32, usize>::new((2, 2), vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0]);
//! let a = Context::auto()?.prepare(view(&theirs)?)?;
//! assert_eq!(a.multiply(&[1.0, 10.0])?, [20.0, 3.0]);
//! # Ok::<(), spmv::Error>(())
//! ```

use std::ops::Deref;

use ::sprs::{CsMatBase, CsMatI, CsMatViewI, SpIndex};
use spmv_core::{Csr, CsrError, CsrView, Index, Offset, Value};

use super::Error;

/// Borrows a matrix by rows with `u32` or `i32` columns. O(rows + entries), to check the arrays.
///
/// What has other columns needs a copy, [`to_csr`]. Offsets of `usize` are borrowed as `u64` (`u32` where that is their width).
/// Of a matrix by columns, the transpose can be borrowed: `view(&a.transpose_view())`.
///
/// # Errors
/// [`Error::ByColumns`]; [`CsrError::FirstOffset`] for a slice of rows that leaves out the first ones; [`CsrError::TooLarge`].
pub fn view<'a, T, I, P, PS, IS, TS>(
    a: &'a CsMatBase<T, I, PS, IS, TS, P>,
) -> Result<CsrView<'a, T, P::Offset>, Error>
where
    T: Value,
    I: SpIndex + Index<Offset = u32>,
    P: SpIndex + Index,
    PS: Deref<Target = [P]>,
    IS: Deref<Target = [I]>,
    TS: Deref<Target = [T]>,
{
    if a.is_csc() {
        return Err(Error::ByColumns);
    }
    let (n_rows, n_cols) = a.shape();
    let (row_ptr, cols, vals) = a.view().into_raw_storage();
    Ok(CsrView::from_indices(n_rows, n_cols, row_ptr, cols, vals)?)
}

/// Copies a matrix by rows or by columns, whole or a slice, with any [`Index`] types.
///
/// O(rows + columns + entries). By rows one pass; by columns a counting sort with 8 bytes of scratch memory for each row and
/// column.
///
/// ```
/// use spmv::Csr;
/// use spmv::interop::sprs::to_csr;
/// let by_columns = sprs::CsMat::new_csc((2, 3), vec![0, 1, 1, 3], vec![1, 0, 1], vec![1.0, 2.0, 3.0]);
/// let a: Csr<f64> = to_csr(&by_columns)?;
/// assert_eq!((a.row_ptr(), a.cols(), a.vals()), (&[0, 1, 3][..], &[2, 0, 2][..], &[2.0, 1.0, 3.0][..]));
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// [`CsrError::TooLarge`], [`CsrError::OffsetOverflow`].
pub fn to_csr<T, O, I, P, PS, IS, TS>(a: &CsMatBase<T, I, PS, IS, TS, P>) -> Result<Csr<T, O>, CsrError>
where
    T: Value,
    O: Offset,
    I: SpIndex + Index,
    P: SpIndex + Index,
    PS: Deref<Target = [P]>,
    IS: Deref<Target = [I]>,
    TS: Deref<Target = [T]>,
{
    let (n_rows, n_cols) = a.shape();
    // From 0 on, of a slice too.
    let offsets = a.proper_indptr();
    match a.is_csr() {
        true => Csr::from_indices(n_rows, n_cols, &offsets, a.indices(), a.data()),
        false => Csr::from_csc_indices(n_rows, n_cols, &offsets, a.indices(), a.data()),
    }
}

/// Borrows a matrix for sprs. O(rows + entries), to check the arrays; copies nothing.
///
/// ```
/// use spmv::Csr;
/// use spmv::interop::sprs::as_sprs;
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
/// assert_eq!(as_sprs(&a)?.get(0, 1), Some(&2.0));
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// [`CsrError::NotCanonical`].
pub fn as_sprs<'a, T: Value, O: Offset + SpIndex>(
    a: impl Into<CsrView<'a, T, O>>,
) -> Result<CsMatViewI<'a, T, u32, O>, CsrError> {
    let a = a.into();
    a.check_canonical()?;
    Ok(CsMatViewI::new((a.n_rows(), a.n_cols()), a.row_ptr(), a.cols(), a.vals()))
}

/// Moves the arrays of a matrix to sprs. O(rows + entries), to check the arrays; copies nothing.
///
/// ```
/// use spmv::Csr;
/// use spmv::interop::sprs::into_sprs;
/// let theirs = into_sprs(Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?)?;
/// assert_eq!((&theirs * &theirs).get(0, 0), Some(&6.0));
/// # Ok::<(), spmv::CsrError>(())
/// ```
///
/// # Errors
/// [`CsrError::NotCanonical`].
pub fn into_sprs<T: Value, O: Offset + SpIndex>(a: Csr<T, O>) -> Result<CsMatI<T, u32, O>, CsrError> {
    a.view().check_canonical()?;
    let shape = (a.n_rows(), a.n_cols());
    let (row_ptr, cols, vals) = a.into_parts();
    Ok(CsMatI::new(shape, row_ptr, cols, vals))
}
