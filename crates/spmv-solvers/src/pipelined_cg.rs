//! Pipelined conjugate gradients.

use num_traits::Float;
use spmv::{Context, DeviceScalar, Number, Program, Queue, Vector};

use crate::error::{Breakdown, Result};
use crate::method::{Method, System, solve_methods};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// Solves `A*x = b` for a symmetric positive definite matrix by pipelined conjugate gradients (Ghysels & Vanroose 2014), from what `x`
/// holds on. As [`PipelinedConjugateGradient::solve`], with vectors of its own.
///
/// # Errors
/// As [`PipelinedConjugateGradient::solve`], and out of memory.
pub fn pipelined_conjugate_gradient<A: Number>(
    a: &impl LinearOperator<A>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    PipelinedConjugateGradient::new(a)?.solve(a, b, x, options)
}

/// Queue and vectors of pipelined conjugate gradients, for several systems of one size.
///
/// All sums of an iteration stand together at its end, and the next product needs none of them: where sums are slow, as between
/// several devices, they can be made during that product. On one device [`ConjugateGradient`](crate::ConjugateGradient) is faster.
///
/// An iteration is a product, six passes over vectors and a program of scalars; two passes more with a preconditioner. There are six
/// vectors (nine with a preconditioner). Recurrences for more vectors make more rounding errors: the smallest residual that can be
/// reached is greater than that of conjugate gradients (section 4 of the paper), and the recurrence does not show it. Near it a matrix
/// may seem not to be positive definite.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, pipelined_conjugate_gradient};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?)?;
/// let (b, mut x) = (context.upload(&[5.0, 4.0])?, a.zeros_x()?);
/// let report = pipelined_conjugate_gradient(&a, &b, &mut x, &mut Options::default())?;
/// assert!(report.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct PipelinedConjugateGradient<A: Number> {
    queue: Queue,
    /// The residual.
    r: Vector<A>,
    /// A times the preconditioned residual.
    w: Vector<A>,
    /// A times the preconditioned w.
    n: Vector<A>,
    /// The direction, and what becomes of it as r, u, w and n are updated by p, q, s and z.
    p: Vector<A>,
    s: Vector<A>,
    z: Vector<A>,
    preconditioned: Option<Preconditioned<A>>,
    scalars: Scalars<A>,
    /// From the sums to the factors of an iteration.
    factors: Program<A>,
}

/// What is the same as r, w and s without a preconditioner.
#[derive(Debug)]
struct Preconditioned<A: Number> {
    u: Vector<A>,
    m: Vector<A>,
    q: Vector<A>,
}

#[derive(Clone, Copy, Debug)]
struct Scalars<A> {
    /// The residual times its preconditioned self, and that of the iteration before.
    gamma: DeviceScalar<A>,
    gamma_old: DeviceScalar<A>,
    /// w times the preconditioned residual.
    delta: DeviceScalar<A>,
    alpha: DeviceScalar<A>,
    beta: DeviceScalar<A>,
    /// The direction times its image, as the recurrences have it.
    p_ap: DeviceScalar<A>,
    rr: DeviceScalar<A>,
    bb: DeviceScalar<A>,
    unused: DeviceScalar<A>,
}

impl<A: Number> PipelinedConjugateGradient<A> {
    /// For systems as large as this one.
    ///
    /// # Errors
    /// Out of memory, and contexts without queues.
    pub fn new(a: &impl LinearOperator<A>) -> Result<Self> {
        let (context, n) = (a.context(), a.n_rows());
        let mut queue = context.queue()?;
        let mut scalar = || queue.scalar();
        let scalars = Scalars {
            gamma: scalar()?,
            gamma_old: scalar()?,
            delta: scalar()?,
            alpha: scalar()?,
            beta: scalar()?,
            p_ap: scalar()?,
            rr: scalar()?,
            bb: scalar()?,
            unused: scalar()?,
        };
        let Scalars { gamma, gamma_old, delta, alpha, beta, p_ap, .. } = scalars;
        // In the first iteration gamma_old is zero, and so are beta and what is subtracted from delta.
        let factors = queue.program(&[
            beta.set(gamma / gamma_old),
            p_ap.set(beta * gamma),
            p_ap.set(p_ap / alpha),
            p_ap.set(delta - p_ap),
            alpha.set(gamma / p_ap),
            gamma_old.set(gamma),
        ])?;
        let zeros = || context.zeros(n);
        let (r, w, n) = (zeros()?, zeros()?, zeros()?);
        let (p, s, z) = (zeros()?, zeros()?, zeros()?);
        Ok(Self { queue, r, w, n, p, s, z, preconditioned: None, scalars, factors })
    }
}

solve_methods! {
    PipelinedConjugateGradient:

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

impl<A: Number> Method<A> for PipelinedConjugateGradient<A> {
    fn n_rows(&self) -> usize {
        self.r.len()
    }

    fn make_workspace(&mut self, context: &Context) -> Result<()> {
        if self.preconditioned.is_none() {
            let zeros = || context.zeros(self.r.len());
            self.preconditioned = Some(Preconditioned { u: zeros()?, m: zeros()?, q: zeros()? });
        }
        Ok(())
    }

    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        let System { a, m, b, .. } = *system;
        let Self { queue, r, w, preconditioned, scalars, .. } = self;
        let Scalars { gamma, gamma_old, delta, alpha, p_ap, rr, bb, .. } = *scalars;
        let (one, zero) = (A::one(), A::zero());
        queue.dot(b, b, bb)?;
        a.residual(queue, x, b, r)?;
        queue.write_scalar(zero, gamma_old)?;
        queue.write_scalar(zero, alpha)?;
        // Of no direction yet.
        queue.write_scalar(one, p_ap)?;
        queue.dot(r, r, rr)?;
        match (m, preconditioned) {
            (Some(m), Some(Preconditioned { u, .. })) => {
                m.apply(queue, r, u, gamma)?;
                a.apply(queue, one, u, zero, w)?;
                queue.dot(w, u, delta)?;
            }
            _ => {
                queue.dot(r, r, gamma)?;
                a.apply(queue, one, r, zero, w)?;
                queue.dot(w, r, delta)?;
            }
        }
        Ok(())
    }

    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, _: usize) -> Result<()> {
        let Self { queue, r, w, n, p, s, z, preconditioned, scalars, factors } = self;
        let Scalars { gamma, delta, alpha, beta, rr, unused, .. } = *scalars;
        let (one, zero) = (A::one(), A::zero());
        let minus_alpha = -spmv::Factor::from(alpha);
        queue.record(|queue| {
            queue.compute(*factors)?;
            match (system.m, preconditioned) {
                (Some(preconditioner), Some(Preconditioned { u, m, q })) => {
                    preconditioner.apply(queue, w, m, unused)?;
                    system.a.apply(queue, one, m, zero, n)?;
                    queue.axpby(one, n, beta, z)?;
                    queue.axpby(one, m, beta, q)?;
                    queue.axpby(one, w, beta, s)?;
                    queue.axpby(one, u, beta, p)?;
                    queue.axpby(alpha, p, one, x)?;
                    queue.axpby_dot(minus_alpha, s, one, r, rr)?;
                    queue.axpby_dot_with(minus_alpha, q, one, u, r, gamma)?;
                    queue.axpby_dot_with(minus_alpha, z, one, w, u, delta)?;
                }
                _ => {
                    system.a.apply(queue, one, w, zero, n)?;
                    queue.axpby(one, n, beta, z)?;
                    queue.axpby(one, w, beta, s)?;
                    queue.axpby(one, r, beta, p)?;
                    queue.axpby(alpha, p, one, x)?;
                    queue.axpby_dot(minus_alpha, s, one, r, gamma)?;
                    queue.axpby_dot_with(minus_alpha, z, one, w, r, delta)?;
                }
            }
            Ok(())
        })
    }

    fn check(&mut self, system: &System<'_, A>, _: &mut Vector<A>, _: usize) -> Result<Found<A::Part>> {
        let Scalars { gamma, p_ap, rr, bb, .. } = self.scalars;
        let [gamma, p_ap, rr, bb] = self.queue.read_scalars([gamma, p_ap, rr, bb])?.map(A::re);
        let breakdown = Breakdown::of_products(p_ap, gamma);
        let rr = if system.m.is_some() { rr } else { gamma };
        Ok(Found { residual: rr.sqrt(), of_b: bb.sqrt(), breakdown })
    }
}
