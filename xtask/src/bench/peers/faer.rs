//! faer: borrows the arrays; asked for all of rayon's threads.

use ::faer::sparse::linalg::matmul::sparse_dense_matmul;
use ::faer::sparse::{SparseRowMatRef, SymbolicSparseRowMatRef};
use ::faer::{Accum, MatMut, MatRef, Par};
use ::spmv::{CsrView, Value};

use super::{Peer, PeerValue};

pub(super) struct Faer<'a, T> {
    matrix: SparseRowMatRef<'a, u32, T>,
}

impl<'a, T: PeerValue> Faer<'a, T> {
    pub(super) fn new(a: CsrView<'a, T>) -> anyhow::Result<Self> {
        // Columns of a row need not be sorted for a product.
        let pattern = SymbolicSparseRowMatRef::new_unsorted_checked(
            a.n_rows(),
            a.n_cols(),
            a.row_ptr(),
            None,
            a.cols(),
        );
        Ok(Self { matrix: SparseRowMatRef::new(pattern, a.vals()) })
    }
}

impl<T: PeerValue> Peer<T> for Faer<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        let (n_rows, n_cols) = (y.len(), x.len());
        let x = MatRef::from_column_major_slice(x, n_cols, 1);
        let y = MatMut::from_column_major_slice_mut(y, n_rows, 1);
        sparse_dense_matmul(y, Accum::Replace, self.matrix, x, <T as Value>::from_f64(1.0), Par::rayon(0));
        Ok(())
    }
}
