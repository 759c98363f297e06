//! Matrices together with their transposes.

use spmv_core::{Csr, CsrView, Offset, Value, conjugate};
use spmv_exec::{Options, RunStats};

use crate::context::Context;
use crate::erased::Scalar;
use crate::error::{Error, Result};
use crate::matrix::{Matrix, Transpose};
use crate::queue::Queue;
use crate::transposed_entries::TransposedEntries;
use crate::vector::Vector;

/// Whether both have the same arrays: then both products add the same numbers in the same order.
fn are_same<T: Value, O: Offset>(a: CsrView<'_, T, O>, transpose: &Csr<T, O>) -> bool {
    a.n_rows() == a.n_cols()
        && a.row_ptr() == transpose.row_ptr()
        && a.cols() == transpose.cols()
        && a.vals() == transpose.vals()
}

impl Context {
    /// As [`prepare_with`](Self::prepare_with), for products by the matrix and by its transpose: [`Matrix::apply_transpose`],
    /// [`Matrix::transposed`], [`Queue::apply_transpose`]. The options hold for both.
    ///
    /// The transpose is a matrix of its own, with the plan that suits its rows: products by it are as fast as others, and have the same
    /// bits in every run. It takes as much memory again, as [`Matrix::explain`] shows; but a matrix that is symmetric, with
    /// columns that ascend in each row, is used for both. The host keeps the entry of each entry of the transpose, in 4 or 8 bytes as
    /// row offsets have, for [`Matrix::set_values`].
    ///
    /// O(rows + columns + entries) besides what preparing takes, on all threads.
    ///
    /// ```
    /// use spmv::{Context, Csr, Options};
    /// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f64), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let context = Context::auto()?;
    /// let a = context.prepare_with_transpose(&a, &Options::default())?;
    /// let (x, mut y) = (context.upload(&[1.0, 10.0])?, context.zeros(3)?);
    /// a.apply_transpose(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.to_vec()?, [1.0, 30.0, 2.0]);
    /// assert_eq!(a.multiply(&[1.0, 1.0, 1.0])?, [3.0, 3.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prepare_with`](Self::prepare_with), of either.
    pub fn prepare_with_transpose<'a, T: Scalar, O: Offset>(
        &self,
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Matrix<T>> {
        self.prepare_with_other(a.into(), options, false)
    }

    /// As [`prepare_with_transpose`](Self::prepare_with_transpose), with the conjugate transpose instead: [`Matrix::apply_adjoint`],
    /// [`Matrix::adjoint`], [`Queue::apply_adjoint`]. A Hermitian matrix is used for both. Real matrices have one transpose, so that either
    /// function prepares it.
    ///
    /// ```
    /// use spmv::{Context, Csr, Options, c64};
    /// let a = Csr::from_coo(1, 2, &[(0, 1, c64::new(0.0, 2.0))])?;
    /// let context = Context::auto()?;
    /// let a = context.prepare_with_adjoint(&a, &Options::default())?;
    /// assert_eq!(a.adjoint()?.multiply(&[c64::new(3.0, 0.0)])?, [c64::new(0.0, 0.0), c64::new(0.0, -6.0)]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prepare_with`](Self::prepare_with), of either.
    pub fn prepare_with_adjoint<'a, T: Scalar, O: Offset>(
        &self,
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Matrix<T>> {
        self.prepare_with_other(a.into(), options, T::DTYPE.is_complex())
    }

    fn prepare_with_other<T: Scalar, O: Offset>(
        &self,
        a: CsrView<'_, T, O>,
        options: &Options,
        is_conjugate: bool,
    ) -> Result<Matrix<T>> {
        let mut matrix = self.prepare_with(a, options)?;
        let (mut transpose, entries) = a.transpose_with_entries();
        if is_conjugate {
            conjugate(transpose.vals_mut());
        }
        let stored = (!are_same(a, &transpose))
            .then(|| self.prepare_with(&transpose, options).map(Box::new))
            .transpose()?;
        drop(transpose);
        matrix.set_transpose(Transpose { is_conjugate, stored, entries: TransposedEntries::of(entries) });
        Ok(matrix)
    }
}

impl<T: Scalar> Matrix<T> {
    /// The transpose of a matrix that was [prepared with it](Context::prepare_with_transpose), for all that a matrix is for: runs with a
    /// workspace, graphs, solvers. The matrix itself where that is symmetric.
    ///
    /// ```
    /// use spmv::{Context, Csr, Options};
    /// let a = Csr::from_coo(2, 3, &[(0, 2, 1.0f32)])?;
    /// let context = Context::auto()?;
    /// let both = context.prepare_with_transpose(&a, &Options::default())?;
    /// assert_eq!((both.transposed()?.n_rows(), both.transposed()?.n_cols()), (3, 2));
    /// assert!(context.prepare(&a)?.transposed().is_err());
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a matrix that was prepared without it.
    pub fn transposed(&self) -> Result<&Self> {
        self.other(false)
    }

    /// The conjugate transpose, of a matrix that was [prepared with it](Context::prepare_with_adjoint); of a real one the transpose.
    ///
    /// # Errors
    /// As [`transposed`](Self::transposed).
    pub fn adjoint(&self) -> Result<&Self> {
        self.other(T::DTYPE.is_complex())
    }

    fn other(&self, is_conjugate: bool) -> Result<&Self> {
        let (what, call) = match is_conjugate {
            false => ("products by its transpose", "call Context::prepare_with_transpose"),
            true => ("products by its conjugate transpose", "call Context::prepare_with_adjoint"),
        };
        let device = match self.transpose() {
            Some(transpose) if transpose.is_conjugate == is_conjugate => {
                return Ok(transpose.stored.as_deref().unwrap_or(self));
            }
            Some(_) => "a matrix that was prepared with another one",
            None => "a matrix that was prepared by itself",
        };
        Err(Error::Unsupported { device: device.into(), what: what.into(), way_out: call.into() })
    }

    /// `y <- alpha*A^T*x + beta*y` on device vectors: `x` of `n_rows` values, `y` of `n_cols` sums. All else is as of
    /// [`apply`](Self::apply).
    ///
    /// # Errors
    /// As [`apply`](Self::apply) and [`transposed`](Self::transposed).
    pub fn apply_transpose(
        &self,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
    ) -> Result<RunStats> {
        self.transposed()?.apply(alpha, x, beta, y)
    }

    /// `y <- alpha*A^H*x + beta*y`, by the conjugate transpose; else as [`apply_transpose`](Self::apply_transpose).
    ///
    /// # Errors
    /// As [`apply`](Self::apply) and [`adjoint`](Self::adjoint).
    pub fn apply_adjoint(
        &self,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
    ) -> Result<RunStats> {
        self.adjoint()?.apply(alpha, x, beta, y)
    }
}

impl Queue {
    /// `y <- alpha*A^T*x + beta*y`, as [`Matrix::apply_transpose`].
    ///
    /// # Errors
    /// As [`Matrix::apply_transpose`].
    pub fn apply_transpose<T: Scalar>(
        &mut self,
        a: &Matrix<T>,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
    ) -> Result<()> {
        self.apply(a.transposed()?, alpha, x, beta, y)
    }

    /// `y <- alpha*A^H*x + beta*y`, as [`Matrix::apply_adjoint`].
    ///
    /// # Errors
    /// As [`Matrix::apply_adjoint`].
    pub fn apply_adjoint<T: Scalar>(
        &mut self,
        a: &Matrix<T>,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
    ) -> Result<()> {
        self.apply(a.adjoint()?, alpha, x, beta, y)
    }
}
