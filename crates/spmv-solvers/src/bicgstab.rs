//! The stabilised biconjugate gradient method.

use num_traits::Float;
use spmv::{Context, DeviceScalar, Number, Queue, Vector};

use crate::error::{Breakdown, Result};
use crate::method::{Method, System, solve_methods};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// Solves `A*x = b` for a matrix that need not be symmetric (van der Vorst 1992), from what `x` holds on. As [`BiCgStab::solve`],
/// with vectors of its own.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, bicgstab};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (0, 1, 1.0), (1, 1, 2.0)])?)?;
/// let (b, mut x) = (context.upload(&[5.0, 2.0])?, a.zeros_x()?);
/// assert!(bicgstab(&a, &b, &mut x, &mut Options::default())?.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
///
/// # Errors
/// As [`BiCgStab::solve`], and out of memory.
pub fn bicgstab<A: Number>(
    a: &impl LinearOperator<A>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    BiCgStab::new(a)?.solve(a, b, x, options)
}

/// Queue and vectors of the method, for several systems of one size. Later solves with the same matrix allocate no memory of the
/// device; each new matrix costs a workspace.
///
/// An iteration is two products and eight passes over vectors, two more with a preconditioner, which is applied on the right: residuals
/// are those of the system itself.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{BiCgStab, Jacobi, Options};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let context = Context::auto()?;
/// let (m, a) = (Jacobi::new(&context, &a)?, context.prepare(&a)?);
/// let (b, mut x) = (context.upload(&[5.0, 2.0])?, a.zeros_x()?);
/// assert!(BiCgStab::new(&a)?.solve_with(&a, &m, &b, &mut x, &mut Options::default())?.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct BiCgStab<A: Number> {
    queue: Queue,
    /// The residual; between the halves of an iteration that of the first half, s.
    r: Vector<A>,
    /// The first residual, which later ones are multiplied by.
    shadow: Vector<A>,
    p: Vector<A>,
    v: Vector<A>,
    t: Vector<A>,
    /// Where there is a preconditioner: what it makes of p, and of s.
    preconditioned: Option<[Vector<A>; 2]>,
    scalars: Scalars<A>,
}

#[derive(Clone, Copy, Debug)]
struct Scalars<A> {
    /// Of this iteration and the next, in turn: the shadow residual times the residual.
    rho: [DeviceScalar<A>; 2],
    /// The shadow residual times v.
    shadow_v: DeviceScalar<A>,
    ts: DeviceScalar<A>,
    tt: DeviceScalar<A>,
    rr: DeviceScalar<A>,
    bb: DeviceScalar<A>,
    /// What preconditioners sum up, which is not needed.
    unused: DeviceScalar<A>,
}

impl<A: Number> BiCgStab<A> {
    /// For systems as large as this one.
    ///
    /// # Errors
    /// Out of memory, and contexts without queues.
    pub fn new(a: &impl LinearOperator<A>) -> Result<Self> {
        let (context, n) = (a.context(), a.n_rows());
        let mut queue = context.queue()?;
        let mut scalar = || queue.scalar();
        let scalars = Scalars {
            rho: [scalar()?, scalar()?],
            shadow_v: scalar()?,
            ts: scalar()?,
            tt: scalar()?,
            rr: scalar()?,
            bb: scalar()?,
            unused: scalar()?,
        };
        let zeros = || context.zeros(n);
        let (r, shadow, p, v, t) = (zeros()?, zeros()?, zeros()?, zeros()?, zeros()?);
        Ok(Self { queue, r, shadow, p, v, t, preconditioned: None, scalars })
    }
}

solve_methods! {
    BiCgStab:

    /// Solves `A*x = b` from what `x` holds on.
    ///
    /// # Errors
    /// [`Error::Breakdown`](crate::Error::Breakdown) where the method cannot go on (begin again from that `x`, or take another
    /// method), and for NaN and overflow; [`Error::Dimension`](crate::Error::Dimension), and failures of the device, after which `x`
    /// is unspecified.
    solve;

    /// As [`solve`](Self::solve), with a preconditioner.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    solve_with;
}

impl<A: Number> Method<A> for BiCgStab<A> {
    fn n_rows(&self) -> usize {
        self.r.len()
    }

    fn make_workspace(&mut self, context: &Context) -> Result<()> {
        if self.preconditioned.is_none() {
            let zeros = || context.zeros(self.r.len());
            self.preconditioned = Some([zeros()?, zeros()?]);
        }
        Ok(())
    }

    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        let System { a, b, .. } = *system;
        let Self { queue, r, shadow, p, scalars, .. } = self;
        queue.dot(b, b, scalars.bb)?;
        a.residual(queue, x, b, r)?;
        queue.copy(r, shadow)?;
        queue.copy(r, p)?;
        queue.dot(r, r, scalars.rr)?;
        queue.dot(r, r, scalars.rho[0])?;
        // Of no iteration yet.
        for scalar in [scalars.shadow_v, scalars.ts, scalars.tt] {
            queue.write_scalar(A::one(), scalar)?;
        }
        Ok(())
    }

    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, iteration: usize) -> Result<()> {
        let System { a, m, .. } = *system;
        let Self { queue, r, shadow, p, v, t, preconditioned, scalars } = self;
        let Scalars { rho, shadow_v, ts, tt, rr, unused, .. } = *scalars;
        let [old, new] = [rho[iteration % 2], rho[(iteration + 1) % 2]];
        let (one, zero) = (A::one(), A::zero());
        let mut halves = match (m, preconditioned) {
            (Some(m), Some([of_p, of_s])) => Some((m, of_p, of_s)),
            _ => None,
        };
        queue.record(|queue| {
            // The first half: alpha = rho/(shadow*v).
            if let Some((m, of_p, _)) = &mut halves {
                m.apply(queue, p, of_p, unused)?;
            }
            let direction = halves.as_ref().map_or(&*p, |(_, of_p, _)| of_p);
            a.apply(queue, one, direction, zero, v)?;
            queue.dot(shadow, v, shadow_v)?;
            queue.axpby(old.over(shadow_v), direction, one, x)?;
            queue.axpby(-old.over(shadow_v), v, one, r)?;
            // The second half: omega = (t*s)/(t*t).
            if let Some((m, _, of_s)) = &mut halves {
                m.apply(queue, r, of_s, unused)?;
            }
            let direction = halves.as_ref().map_or(&*r, |(_, _, of_s)| of_s);
            a.apply(queue, one, direction, zero, t)?;
            queue.dot(t, r, ts)?;
            queue.dot(t, t, tt)?;
            queue.axpby(ts.over(tt), direction, one, x)?;
            queue.axpby_dot(-ts.over(tt), t, one, r, rr)?;
            // p <- r + beta*(p - omega*v) with beta = (new/old)*(alpha/omega): omega is taken out of the brackets.
            queue.dot(shadow, r, new)?;
            queue.axpby(-one, v, tt.over(ts), p)?;
            queue.axpby(one, r, new.over(shadow_v), p)?;
            Ok(())
        })
    }

    fn check(&mut self, _: &System<'_, A>, _: &mut Vector<A>, iteration: usize) -> Result<Found<A::Part>> {
        let Scalars { rho, shadow_v, ts, tt, rr, bb, .. } = self.scalars;
        let read = [rho[iteration % 2], shadow_v, ts, tt, rr, bb];
        let [rho, shadow_v, ts, tt, rr, bb] = self.queue.read_scalars(read)?;
        let breakdown = match () {
            () if ![rho, shadow_v, ts, tt].iter().all(|value| value.modulus().is_finite()) => {
                Some(Breakdown::NotFinite)
            }
            () if [rho, shadow_v, ts].iter().any(|value| value.is_zero()) => Some(Breakdown::Orthogonal),
            () => None,
        };
        Ok(Found { residual: rr.re().sqrt(), of_b: bb.re().sqrt(), breakdown })
    }
}
