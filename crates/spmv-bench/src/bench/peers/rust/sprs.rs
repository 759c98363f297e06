//! sprs: borrows the arrays. Its product with a dense vector is serial; `multi_thread` is for sparse products.

use ::sprs::CsMatViewI;
use ::sprs::prod::{mul_acc_mat_vec_csc, mul_acc_mat_vec_csr};
use anyhow::anyhow;

use super::super::{Factor, Peer, PeerValue};

pub(super) struct Sprs<'a, T> {
    matrix: CsMatViewI<'a, T, u32, u32>,
}

impl<'a, T: PeerValue> Sprs<'a, T> {
    pub(super) fn new(Factor { a, transposed }: Factor<'a, T>) -> anyhow::Result<Self> {
        let matrix = CsMatViewI::try_new((a.n_rows(), a.n_cols()), a.row_ptr(), a.cols(), a.vals());
        let matrix = matrix.map_err(|(.., e)| anyhow!("refuses the matrix: {e}"))?;
        Ok(Self { matrix: if transposed { matrix.transpose_into() } else { matrix } })
    }
}

impl<T: PeerValue> Peer<T> for Sprs<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        if self.matrix.is_csr() {
            mul_acc_mat_vec_csr(self.matrix, x, y);
        } else {
            mul_acc_mat_vec_csc(self.matrix, x, y);
        }
        Ok(())
    }

    /// It adds to `y`.
    fn y_before(&self) -> T {
        T::default()
    }

    fn about(&self) -> String {
        let order = if self.matrix.is_csr() { "csr" } else { "csc" };
        format!("sprs, `mul_acc_mat_vec_{order}`; 1 thread")
    }
}
