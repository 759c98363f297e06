//! What is solved with.

use spmv::{Context, Epilogue, Matrix, Number, Queue, Scalar, Vector};

use crate::error::{Result, expect};

/// A linear map of vectors, such as a prepared matrix.
///
/// ```
/// use spmv::{Context, Matrix, Queue, Vector};
/// use spmv_solvers::LinearOperator;
/// /// A + shift*I.
/// struct Shifted<'a> {
///     a: &'a Matrix<f64>,
///     shift: f64,
/// }
/// impl LinearOperator<f64> for Shifted<'_> {
///     fn context(&self) -> &Context {
///         self.a.context()
///     }
///     fn n_rows(&self) -> usize {
///         self.a.n_rows()
///     }
///     fn n_cols(&self) -> usize {
///         self.a.n_cols()
///     }
///     fn apply(&self, q: &mut Queue, alpha: f64, x: &Vector<f64>, beta: f64, y: &mut Vector<f64>) -> spmv::Result<()> {
///         q.apply(self.a, alpha, x, beta, y)?;
///         q.axpby(alpha * self.shift, x, 1.0, y)
///     }
/// }
/// ```
pub trait LinearOperator<A: Number> {
    /// Where its vectors live.
    fn context(&self) -> &Context;

    /// Length of the result.
    fn n_rows(&self) -> usize;

    /// Length of the argument.
    fn n_cols(&self) -> usize;

    /// Queues `y <- alpha*A*x + beta*y`.
    ///
    /// # Errors
    /// Whatever the queue says.
    fn apply(
        &self,
        queue: &mut Queue,
        alpha: A,
        x: &Vector<A>,
        beta: A,
        y: &mut Vector<A>,
    ) -> spmv::Result<()>;

    /// Queues `r <- b - A*x`: by default a copy and [`apply`](Self::apply), by a matrix in one pass.
    ///
    /// # Errors
    /// Whatever the queue says.
    fn residual(
        &self,
        queue: &mut Queue,
        x: &Vector<A>,
        b: &Vector<A>,
        r: &mut Vector<A>,
    ) -> spmv::Result<()> {
        queue.copy(b, r)?;
        self.apply(queue, -A::one(), x, A::one(), r)
    }
}

impl<A: Number + Scalar<Accum = A>> LinearOperator<A> for Matrix<A> {
    fn context(&self) -> &Context {
        Matrix::context(self)
    }

    fn n_rows(&self) -> usize {
        Matrix::n_rows(self)
    }

    fn n_cols(&self) -> usize {
        Matrix::n_cols(self)
    }

    fn apply(
        &self,
        queue: &mut Queue,
        alpha: A,
        x: &Vector<A>,
        beta: A,
        y: &mut Vector<A>,
    ) -> spmv::Result<()> {
        queue.apply(self, alpha, x, beta, y)
    }

    fn residual(
        &self,
        queue: &mut Queue,
        x: &Vector<A>,
        b: &Vector<A>,
        r: &mut Vector<A>,
    ) -> spmv::Result<()> {
        queue.apply_with(self, -A::one(), x, A::one(), r, Epilogue::new().plus(b))
    }
}

/// Compares the dimensions of a square system.
pub(crate) fn check_system<A: Number>(
    a: &dyn LinearOperator<A>,
    n: usize,
    b: &Vector<A>,
    x: &Vector<A>,
) -> Result<()> {
    expect("the number of rows", a.n_rows(), n)?;
    expect("the number of columns", a.n_cols(), n)?;
    expect("the length of b", b.len(), n)?;
    expect("the length of x", x.len(), n)
}
