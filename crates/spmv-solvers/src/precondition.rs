//! Preconditioners.

use num_traits::Float;
use spmv::{Context, CsrView, DeviceScalar, Number, Offset, Queue, Scalar, Vector};
use spmv_core::Value;

use crate::error::{Error, Result, expect};

/// An approximation of the inverse: symmetric (Hermitian, if complex) and positive definite, but for BiCGSTAB and GMRES, which take any.
/// In the sum of products `r` or `z` is conjugate, if they are complex.
///
/// ```
/// use spmv::{DeviceScalar, Queue, Vector};
/// use spmv_solvers::Preconditioner;
/// struct Scaled(f64);
/// impl Preconditioner<f64> for Scaled {
///     fn apply(&self, q: &mut Queue, r: &Vector<f64>, z: &mut Vector<f64>, rz: DeviceScalar<f64>) -> spmv::Result<()> {
///         q.axpby_dot_with(self.0, r, 0.0, z, r, rz)
///     }
/// }
/// ```
pub trait Preconditioner<A: Number> {
    /// Queues `z <- M*r`, and the sum of products of `r` and `z`.
    ///
    /// # Errors
    /// Whatever the queue says.
    fn apply(
        &self,
        queue: &mut Queue,
        r: &Vector<A>,
        z: &mut Vector<A>,
        rz: DeviceScalar<A>,
    ) -> spmv::Result<()>;
}

/// One that is chosen at run time: `Box<dyn Preconditioner<A>>` is passed on like any other.
impl<A: Number, M: Preconditioner<A> + ?Sized> Preconditioner<A> for Box<M> {
    fn apply(
        &self,
        queue: &mut Queue,
        r: &Vector<A>,
        z: &mut Vector<A>,
        rz: DeviceScalar<A>,
    ) -> spmv::Result<()> {
        (**self).apply(queue, r, z, rz)
    }
}

/// The inverse of the diagonal.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{ConjugateGradient, Jacobi, Options};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1e6f64), (1, 1, 1.0)])?;
/// let context = Context::auto()?;
/// let (m, a) = (Jacobi::new(&context, &a)?, context.prepare(&a)?);
/// let (b, mut x) = (context.upload(&[1.0, 1.0])?, a.zeros_x()?);
/// let report = ConjugateGradient::new(&a)?.solve_with(&a, &m, &b, &mut x, &mut Options::default())?;
/// assert!(report.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct Jacobi<A: Number> {
    inverse: Vector<A>,
}

impl<A: Number> Jacobi<A> {
    /// Of a matrix, on the device of a context. O(entries).
    ///
    /// # Errors
    /// A matrix that is not square, a diagonal with an entry that is zero, absent or not finite, and out of memory.
    pub fn new<'a, O: Offset>(context: &Context, a: impl Into<CsrView<'a, A, O>>) -> Result<Self>
    where
        A: Scalar<Accum = A>,
    {
        let a: CsrView<'_, A, O> = a.into();
        expect("the number of columns", a.n_cols(), a.n_rows())?;
        let mut inverse = Vec::with_capacity(a.n_rows());
        for row in 0..a.n_rows() {
            let on_diagonal = a.row(row).filter(|(col, _)| *col as usize == row);
            let sum = on_diagonal.fold(A::zero(), |sum, (_, value)| sum + value);
            let of_it = A::one() / sum;
            if !of_it.modulus().is_finite() || of_it.is_zero() {
                let need = "an entry of the diagonal must be a number other than zero";
                let found = sum.modulus().widen();
                return Err(Error::Option { what: "an entry of the diagonal", found, need });
            }
            inverse.push(of_it);
        }
        Ok(Self { inverse: context.upload(&inverse)? })
    }
}

impl<A: Number> Preconditioner<A> for Jacobi<A> {
    fn apply(
        &self,
        queue: &mut Queue,
        r: &Vector<A>,
        z: &mut Vector<A>,
        rz: DeviceScalar<A>,
    ) -> spmv::Result<()> {
        queue.hadamard_dot(A::one(), &self.inverse, r, A::zero(), z, r, rz)
    }
}
