//! A matrix together with its transpose.

use spmv::{Context, CsrView, Matrix, Offset, Real, Scalar};

use crate::error::Result;

/// A matrix and its transpose, prepared each on its own: what least squares need. It takes the memory of both.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::LeastSquares;
/// let a = Csr::from_coo(3, 2, &[(0, 0, 1.0f64), (1, 1, 2.0), (2, 0, 3.0)])?;
/// let of = LeastSquares::new(&Context::auto()?, &a)?;
/// assert_eq!((of.matrix.n_rows(), of.transpose.n_rows()), (3, 2));
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct LeastSquares<A: Real + Scalar<Accum = A>> {
    /// A.
    pub matrix: Matrix<A>,
    /// The transpose of A.
    pub transpose: Matrix<A>,
}

impl<A: Real + Scalar<Accum = A>> LeastSquares<A> {
    /// Of a matrix, on the device of a context. O(rows + columns + entries) to transpose it.
    ///
    /// # Errors
    /// Whatever preparing it says.
    pub fn new<'a, O: Offset>(context: &Context, a: impl Into<CsrView<'a, A, O>>) -> Result<Self> {
        let a: CsrView<'_, A, O> = a.into();
        let transpose = a.transpose();
        Ok(Self { matrix: context.prepare(a)?, transpose: context.prepare(transpose.view())? })
    }
}
