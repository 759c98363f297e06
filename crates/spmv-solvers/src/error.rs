//! What can go wrong.

use num_traits::Float;

/// The result of a solver.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an iteration cannot go on.
///
/// ```
/// use spmv_solvers::Breakdown;
/// assert_eq!(Breakdown::NotFinite.to_string(), "a sum is not finite");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breakdown {
    /// A NaN or an infinity: in the input, by overflow, or by a division by zero.
    #[error("a sum is not finite")]
    NotFinite,
    /// The product of a direction and its image is not positive.
    #[error("the matrix is not positive definite")]
    NotPositiveDefinite,
    /// A vector that is divided by is orthogonal to another: the method can find no further direction.
    #[error("two vectors became orthogonal")]
    Orthogonal,
    /// As [`NotPositiveDefinite`](Self::NotPositiveDefinite), of the preconditioner.
    #[error("the preconditioner is not positive definite")]
    PreconditionerNotPositiveDefinite,
    /// The matrix is singular where the method searches, and what it found there does not solve the system.
    #[error("the matrix is singular to working precision")]
    Singular,
}

impl Breakdown {
    /// Why conjugate gradients cannot go on, by the products of a direction and its image, and of the residual and what the
    /// preconditioner makes of it.
    pub(crate) fn of_products<P: Float>(direction: P, residual: P) -> Option<Self> {
        match () {
            () if !direction.is_finite() || !residual.is_finite() => Some(Self::NotFinite),
            () if direction <= P::zero() => Some(Self::NotPositiveDefinite),
            () if residual <= P::zero() => Some(Self::PreconditionerNotPositiveDefinite),
            () => None,
        }
    }
}

/// A fault of a request, a matrix or a device. Not to converge is none: see [`Stop`](crate::Stop).
///
/// ```
/// use spmv_solvers::{Breakdown, Error};
/// let e = Error::Breakdown { iteration: 10, why: Breakdown::NotFinite };
/// assert_eq!(e.to_string(), "breakdown up to iteration 10: a sum is not finite");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A product or an operation on vectors failed.
    #[error(transparent)]
    Spmv(#[from] spmv::Error),
    /// The iteration cannot go on. `x` is unspecified.
    #[error("breakdown up to iteration {iteration}: {why}")]
    Breakdown {
        /// The iteration after which it was seen; it may have come up to [`check_every`](crate::Options::check_every) earlier.
        iteration: usize,
        /// What was seen.
        why: Breakdown,
    },
    /// The matrix has other dimensions than the solver takes, or a vector another length.
    #[error("{what} is {found}, not {expected}")]
    Dimension {
        /// Of what.
        what: &'static str,
        /// What it is.
        found: usize,
        /// What is needed.
        expected: usize,
    },
    /// A number that makes no sense, such as a damping factor of 2.
    #[error("{what} is {found}; {need}")]
    Option {
        /// Which.
        what: &'static str,
        /// Its value.
        found: f64,
        /// What it may be.
        need: &'static str,
    },
}

impl From<spmv::CsrError> for Error {
    fn from(e: spmv::CsrError) -> Self {
        Self::Spmv(e.into())
    }
}

/// Compares a dimension.
pub(crate) fn expect(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Dimension { what, found, expected }) }
}
