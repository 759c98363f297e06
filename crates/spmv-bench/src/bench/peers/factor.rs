//! Matrices as peers get them.

use ::spmv::{CsrView, Value};
use anyhow::ensure;

/// What peers multiply `x` by: a matrix, or its transpose by their product of the matrix as it is.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'a, T> {
    pub(crate) a: CsrView<'a, T>,
    pub(crate) transposed: bool,
}

impl<T: Value> Factor<'_, T> {
    /// # Errors
    /// Vectors of other lengths.
    pub(crate) fn check(&self, x: &[T], y: &[T]) -> anyhow::Result<()> {
        let [mut from, mut to] = [self.a.n_cols(), self.a.n_rows()];
        if self.transposed {
            (from, to) = (to, from);
        }
        ensure!(x.len() == from && y.len() == to, "lengths of x and y");
        Ok(())
    }
}
