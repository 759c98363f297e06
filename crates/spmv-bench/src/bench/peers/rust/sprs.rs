//! sprs: borrows the arrays. Its product with a dense vector is serial; `multi_thread` is for sparse products.

use ::spmv::CsrView;
use ::sprs::{CsMatViewI, prod::mul_acc_mat_vec_csr};
use anyhow::anyhow;

use super::super::{Peer, PeerValue};

pub(super) struct Sprs<'a, T> {
    matrix: CsMatViewI<'a, T, u32, u32>,
}

impl<'a, T: PeerValue> Sprs<'a, T> {
    pub(super) fn new(a: CsrView<'a, T>) -> anyhow::Result<Self> {
        let matrix = CsMatViewI::try_new((a.n_rows(), a.n_cols()), a.row_ptr(), a.cols(), a.vals());
        Ok(Self { matrix: matrix.map_err(|(.., e)| anyhow!("refuses the matrix: {e}"))? })
    }
}

impl<T: PeerValue> Peer<T> for Sprs<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        mul_acc_mat_vec_csr(self.matrix, x, y);
        Ok(())
    }

    /// It adds to `y`.
    fn y_before(&self) -> T {
        T::default()
    }

    fn about(&self) -> String {
        "sprs, `mul_acc_mat_vec_csr`; 1 thread".into()
    }
}
