//! Conjugate gradients.

use num_traits::Float;
use spmv::{Context, DeviceScalar, Number, Queue, Vector};

use crate::error::{Breakdown, Result};
use crate::method::{Method, System, solve_methods};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// Solves `A*x = b` for a symmetric positive definite matrix (Hestenes & Stiefel 1952), from what `x` holds on. As
/// [`ConjugateGradient::solve`], with vectors of its own.
///
/// # Errors
/// As [`ConjugateGradient::solve`], and out of memory.
pub fn conjugate_gradient<A: Number>(
    a: &impl LinearOperator<A>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    ConjugateGradient::new(a)?.solve(a, b, x, options)
}

/// Queue and vectors of conjugate gradients, for several systems of one size. Later solves with the same matrix allocate no memory
/// of the device; each new matrix costs a workspace.
///
/// An iteration is a product, a scalar product and two updates of vectors, besides what a preconditioner takes. Norms are square roots of sums of squares:
/// scale systems whose numbers are so small that their squares underflow.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{ConjugateGradient, Options};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 4.0f32), (1, 1, 2.0)])?)?;
/// let mut cg = ConjugateGradient::new(&a)?;
/// let mut x = a.zeros_x()?;
/// for b in [[4.0, 2.0], [8.0, 8.0]] {
///     let b = context.upload(&b)?;
///     println!("{} iterations", cg.solve(&a, &b, &mut x, &mut Options::default())?.iterations);
/// }
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct ConjugateGradient<A: Number> {
    queue: Queue,
    r: Vector<A>,
    p: Vector<A>,
    ap: Vector<A>,
    /// Where there is a preconditioner.
    z: Option<Vector<A>>,
    /// Of this iteration and the next, in turn: r and its preconditioned self.
    rz: [DeviceScalar<A>; 2],
    rr: DeviceScalar<A>,
    p_ap: DeviceScalar<A>,
    bb: DeviceScalar<A>,
}

impl<A: Number> ConjugateGradient<A> {
    /// For systems as large as this one.
    ///
    /// # Errors
    /// Out of memory, and contexts without queues.
    pub fn new(a: &impl LinearOperator<A>) -> Result<Self> {
        let (context, n) = (a.context(), a.n_rows());
        let mut queue = context.queue()?;
        let mut scalar = || queue.scalar();
        let (rz, rr, p_ap, bb) = ([scalar()?, scalar()?], scalar()?, scalar()?, scalar()?);
        let zeros = || context.zeros(n);
        let (r, p, ap) = (zeros()?, zeros()?, zeros()?);
        Ok(Self { queue, r, p, ap, z: None, rz, rr, p_ap, bb })
    }
}

solve_methods! {
    ConjugateGradient:

    /// Solves `A*x = b` from what `x` holds on.
    ///
    /// # Errors
    /// [`Error::Breakdown`](crate::Error::Breakdown) for a matrix that is seen not to be positive definite, and for NaN and overflow;
    /// [`Error::Dimension`](crate::Error::Dimension), and failures of the device. `x` is then unspecified.
    solve;

    /// As [`solve`](Self::solve), with a preconditioner.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), also for a preconditioner that is seen not to be positive definite.
    solve_with;
}

impl<A: Number> Method<A> for ConjugateGradient<A> {
    fn n_rows(&self) -> usize {
        self.r.len()
    }

    fn make_workspace(&mut self, context: &Context) -> Result<()> {
        if self.z.is_none() {
            self.z = Some(context.zeros(self.r.len())?);
        }
        Ok(())
    }

    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        let System { a, m, b, .. } = *system;
        let Self { queue, r, p, z, rz, rr, p_ap, bb, .. } = self;
        queue.dot(b, b, *bb)?;
        a.residual(queue, x, b, r)?;
        queue.dot(r, r, *rr)?;
        // Of no direction yet.
        queue.write_scalar(A::one(), *p_ap)?;
        match (m, z) {
            (Some(m), Some(z)) => {
                m.apply(queue, r, z, rz[0])?;
                queue.copy(z, p)?;
            }
            _ => {
                queue.dot(r, r, rz[0])?;
                queue.copy(r, p)?;
            }
        }
        Ok(())
    }

    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, iteration: usize) -> Result<()> {
        let System { a, m, .. } = *system;
        let Self { queue, r, p, ap, z, rz, rr, p_ap, .. } = self;
        let (one, zero) = (A::one(), A::zero());
        let [old, new] = [rz[iteration % 2], rz[(iteration + 1) % 2]];
        queue.record(|queue| {
            a.apply(queue, one, p, zero, ap)?;
            queue.dot(p, ap, *p_ap)?;
            let alpha = old.over(*p_ap);
            let z = match (m, z) {
                (Some(m), Some(z)) => {
                    queue.axpby_dot(-alpha, ap, one, r, *rr)?;
                    m.apply(queue, r, z, new)?;
                    &*z
                }
                _ => {
                    queue.axpby_dot(-alpha, ap, one, r, new)?;
                    &*r
                }
            };
            Ok(queue.axpy_aypx(alpha, x, z, new.over(old), p)?)
        })
    }

    fn check(
        &mut self,
        system: &System<'_, A>,
        _: &mut Vector<A>,
        iteration: usize,
    ) -> Result<Found<A::Part>> {
        let Self { queue, rz, rr, p_ap, bb, .. } = self;
        let [of_rz, of_rr, of_p_ap, of_bb] = queue.read_scalars([rz[iteration % 2], *rr, *p_ap, *bb])?;
        let rr = if system.m.is_some() { of_rr } else { of_rz };
        let [rr, of_rz, of_p_ap, of_bb] = [rr, of_rz, of_p_ap, of_bb].map(A::re);
        let breakdown = Breakdown::of_products(of_p_ap, of_rz);
        Ok(Found { residual: rr.sqrt(), of_b: of_bb.sqrt(), breakdown })
    }
}
