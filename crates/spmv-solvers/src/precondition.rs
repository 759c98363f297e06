//! Preconditioners.

use spmv::{Context, CsrView, DeviceScalar, Offset, Queue, Real, Scalar, Vector};

use crate::error::{Error, Result, expect};

/// An approximation of the inverse: symmetric and positive definite, but for BiCGSTAB and GMRES, which take any.
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
pub trait Preconditioner<A: Real> {
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
impl<A: Real, M: Preconditioner<A> + ?Sized> Preconditioner<A> for Box<M> {
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
pub struct Jacobi<A: Real> {
    inverse: Vector<A>,
}

impl<A: Real> Jacobi<A> {
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
            let of_it = sum.recip();
            if !of_it.is_finite() || of_it.is_zero() {
                let need = "an entry of the diagonal must be a number other than zero";
                return Err(Error::Option { what: "an entry of the diagonal", found: sum.widen(), need });
            }
            inverse.push(of_it);
        }
        Ok(Self { inverse: context.upload(&inverse)? })
    }
}

impl<A: Real> Preconditioner<A> for Jacobi<A> {
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
