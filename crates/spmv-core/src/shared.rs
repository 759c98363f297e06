//! A matrix whose arrays go separate ways.

use std::sync::Arc;

use crate::csr::{Csr, CsrView};
use crate::offset::Offset;
use crate::value::Value;

/// A matrix in CSR form of which others may keep single arrays.
///
/// ```
/// use spmv_core::{Csr, SharedCsr};
/// let a = SharedCsr::from(Csr::from_coo(1, 2, &[(0, 1, 3.0f32)])?);
/// let vals = a.vals();
/// assert_eq!(a.view().cols(), [1]);
/// drop(a);
/// assert_eq!(*vals, [3.0]);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedCsr<T, O = u32> {
    n_cols: usize,
    row_ptr: Arc<Vec<O>>,
    cols: Arc<Vec<u32>>,
    vals: Arc<Vec<T>>,
}

impl<T: Value, O: Offset> From<Csr<T, O>> for SharedCsr<T, O> {
    fn from(a: Csr<T, O>) -> Self {
        let n_cols = a.n_cols();
        let (row_ptr, cols, vals) = a.into_parts();
        Self { n_cols, row_ptr: Arc::new(row_ptr), cols: Arc::new(cols), vals: Arc::new(vals) }
    }
}

impl<T: Value, O: Offset> SharedCsr<T, O> {
    /// The matrix, borrowed. O(1): nobody can have changed the arrays.
    pub fn view(&self) -> CsrView<'_, T, O> {
        CsrView::from_checked(self.n_cols, &self.row_ptr, &self.cols, &self.vals)
    }

    /// Row offsets, `n_rows + 1` of them.
    pub fn row_ptr(&self) -> Arc<Vec<O>> {
        Arc::clone(&self.row_ptr)
    }

    /// Column indices, one per entry.
    pub fn cols(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.cols)
    }

    /// Values, one per entry.
    pub fn vals(&self) -> Arc<Vec<T>> {
        Arc::clone(&self.vals)
    }
}
