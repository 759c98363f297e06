//! faer: borrows the arrays. Asked for all of rayon's threads, but 0.24's sparse-dense product ignores that
//! and is serial.

use ::faer::dyn_stack::{MemBuffer, MemStack};
use ::faer::matrix_free::{IdentityPrecond, InitialGuessStatus, LinOp, conjugate_gradient as cg};
use ::faer::sparse::linalg::matmul::sparse_dense_matmul;
use ::faer::sparse::{SparseRowMatRef, SymbolicSparseRowMatRef};
use ::faer::{Accum, MatMut, MatRef, Par};
use ::spmv::{CsrView, Value};
use anyhow::ensure;

use super::super::{Factor, Peer, PeerValue};

pub(super) struct Faer<'a, T> {
    matrix: SparseRowMatRef<'a, u32, T>,
    transposed: bool,
}

impl<'a, T: PeerValue> Faer<'a, T> {
    pub(super) fn new(Factor { a, transposed }: Factor<'a, T>) -> anyhow::Result<Self> {
        // faer panics on larger ones: it keeps half of an index type's range.
        let limit = i32::MAX as usize;
        ensure!(
            a.n_rows() <= limit && a.n_cols() <= limit,
            "{} x {} exceeds its {limit} rows or columns with u32 indices",
            a.n_rows(),
            a.n_cols()
        );
        // Columns of a row need not be sorted for a product.
        let pattern = SymbolicSparseRowMatRef::new_unsorted_checked(
            a.n_rows(),
            a.n_cols(),
            a.row_ptr(),
            None,
            a.cols(),
        );
        Ok(Self { matrix: SparseRowMatRef::new(pattern, a.vals()), transposed })
    }
}

/// faer's conjugate gradients on its matrix, which is symmetric, by rows or by columns.
pub(crate) fn conjugate_gradient<'a>(
    a: CsrView<'a, f64>,
    b: &'a [f64],
    by_columns: bool,
) -> anyhow::Result<super::super::Solve<'a>> {
    let by_rows = Faer::new(Factor { a, transposed: false })?.matrix;
    if by_columns {
        return Ok(solve(by_rows.transpose(), b));
    }
    Ok(solve(by_rows, b))
}

fn solve<'a>(matrix: impl LinOp<f64> + Copy + 'a, b: &'a [f64]) -> super::super::Solve<'a> {
    let (n, par) = (b.len(), Par::rayon(0));
    let identity = IdentityPrecond { dim: n };
    let mut memory = MemBuffer::new(cg::conjugate_gradient_scratch(identity, matrix, 1, par));
    Box::new(move |iterations, x| {
        // With `Zero` it does not set the first residual.
        let initial_guess = InitialGuessStatus::MaybeNonZero;
        let (rel_tolerance, abs_tolerance) = (0.0, 0.0);
        let max_iters = iterations;
        let params =
            cg::CgParams { initial_guess, rel_tolerance, abs_tolerance, max_iters, ..Default::default() };
        let out = MatMut::from_column_major_slice_mut(x, n, 1);
        let b = MatRef::from_column_major_slice(b, n, 1);
        let stack = MemStack::new(&mut memory);
        match cg::conjugate_gradient(out, identity, matrix, b, params, |_| {}, par, stack) {
            Ok(_) | Err(cg::CgError::NoConvergence { .. }) => Ok(()),
            Err(e) => anyhow::bail!("{e:?}"),
        }
    })
}

impl<T: PeerValue> Peer<T> for Faer<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        let (n_rows, n_cols) = (y.len(), x.len());
        let x = MatRef::from_column_major_slice(x, n_cols, 1);
        let y = MatMut::from_column_major_slice_mut(y, n_rows, 1);
        let (one, par) = (<T as Value>::from_f64(1.0), Par::rayon(0));
        if self.transposed {
            sparse_dense_matmul(y, Accum::Replace, self.matrix.transpose(), x, one, par);
        } else {
            sparse_dense_matmul(y, Accum::Replace, self.matrix, x, one, par);
        }
        Ok(())
    }

    fn y_before(&self) -> T {
        <T as Value>::from_f64(f64::NAN)
    }

    fn about(&self) -> String {
        let matrix = if self.transposed { " of the transpose" } else { "" };
        format!("faer, `sparse_dense_matmul`{matrix}; 1 thread")
    }
}
