//! nalgebra-sparse: copies, because its indices are `usize`. Its product is serial. It takes vectors, whose memory the
//! allocator aligns; all threads touch them first.

use ::spmv::Value;
use anyhow::anyhow;
use nalgebra_sparse::CsrMatrix;
use nalgebra_sparse::na::{DMatrixView, DMatrixViewMut};
use nalgebra_sparse::ops::Op;
use nalgebra_sparse::ops::serial::spmm_csr_dense;
use rayon::prelude::*;

use super::super::{Factor, Peer, PeerValue};

pub(super) struct Nalgebra<T> {
    matrix: CsrMatrix<T>,
    transposed: bool,
}

impl<T: PeerValue> Nalgebra<T> {
    pub(super) fn new(Factor { a, transposed }: Factor<'_, T>) -> anyhow::Result<Self> {
        let wide = |indices: &[u32]| indices.par_iter().map(|i| *i as usize).collect();
        let (offsets, cols) = (wide(a.row_ptr()), wide(a.cols()));
        let vals = a.vals().par_iter().copied().collect();
        let matrix = CsrMatrix::try_from_csr_data(a.n_rows(), a.n_cols(), offsets, cols, vals);
        Ok(Self { matrix: matrix.map_err(|e| anyhow!("refuses the matrix: {e}"))?, transposed })
    }
}

impl<T: PeerValue> Peer<T> for Nalgebra<T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        let (n_rows, n_cols) = (y.len(), x.len());
        let (zero, one) = (T::default(), <T as Value>::from_f64(1.0));
        let x = DMatrixView::from_slice(x, n_cols, 1);
        let y = DMatrixViewMut::from_slice(y, n_rows, 1);
        let matrix = if self.transposed { Op::Transpose(&self.matrix) } else { Op::NoOp(&self.matrix) };
        spmm_csr_dense(zero, y, one, matrix, Op::NoOp(x));
        Ok(())
    }

    /// It multiplies `y` by beta = 0, so what stands there must be finite.
    fn y_before(&self) -> T {
        T::default()
    }

    fn about(&self) -> String {
        let matrix = if self.transposed { " of `Op::Transpose`" } else { "" };
        format!("nalgebra-sparse, `spmm_csr_dense`{matrix}; 1 thread")
    }
}
