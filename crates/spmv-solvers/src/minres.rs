//! The minimal residual method.

use num_traits::{Float, Zero};
use spmv::{Context, DeviceScalar, Factor, Number, Program, Queue, Vector};

use crate::error::{Breakdown, Error, Result};
use crate::freeze::{Freeze, norm_of};
use crate::method::{Method, System, solve_methods};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};
use crate::precondition::Preconditioner;

/// Solves `A*x = b` for a symmetric matrix, which may be indefinite (Paige & Saunders 1975), from what `x` holds on. As
/// [`Minres::solve`], with vectors of its own.
///
/// # Errors
/// As [`Minres::solve`], and out of memory.
pub fn minres<A: Number>(
    a: &impl LinearOperator<A>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    Minres::new(a)?.solve(a, b, x, options)
}

/// Queue and vectors of the minimal residual method, for several systems of one size.
///
/// An iteration is a product, five passes over vectors and a program of scalars. There are five vectors. A preconditioner, which must be
/// symmetric positive definite, costs three vectors and a pass more: that pass keeps the residual itself, so that residuals are
/// comparable with those of other methods; what falls in each iteration is then the residual in the norm of the preconditioner. Complex
/// systems take one pass more.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, minres};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (1, 1, -2.0)])?)?;
/// let (b, mut x) = (context.upload(&[3.0, 4.0])?, a.zeros_x()?);
/// assert!(minres(&a, &b, &mut x, &mut Options::default())?.has_converged());
/// let x = x.to_vec()?;
/// assert!((x[0] - 3.0).abs() < 1e-9 && (x[1] + 2.0).abs() < 1e-9);
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct Minres<A: Number> {
    queue: Queue,
    /// Vectors of Lanczos' process, not scaled: the last one, the one before, and where the product goes.
    last: Vector<A>,
    before: Vector<A>,
    next: Vector<A>,
    /// Directions: the last one, and the one before.
    w: Vector<A>,
    w_before: Vector<A>,
    preconditioned: Option<Preconditioned<A>>,
    scalars: Scalars<A>,
    start: Program<A>,
    /// From the sums of Lanczos' process to the next rotation.
    rotate: Program<A>,
}

#[derive(Debug)]
struct Preconditioned<A: Number> {
    /// The last vector of Lanczos' process, and the next one, preconditioned.
    last: Vector<A>,
    next: Vector<A>,
    residual: Vector<A>,
}

/// Names as in the paper, and of Choi's thesis (2006).
#[derive(Clone, Copy, Debug)]
struct Scalars<A> {
    /// Norm of the last vector, its square, and that of the one before.
    beta: DeviceScalar<A>,
    beta_squared: DeviceScalar<A>,
    beta_before: DeviceScalar<A>,
    /// The last vector times its image.
    image: DeviceScalar<A>,
    alpha: DeviceScalar<A>,
    /// The column of the triangular factor.
    epsilon: DeviceScalar<A>,
    epsilon_next: DeviceScalar<A>,
    delta: DeviceScalar<A>,
    delta_next: DeviceScalar<A>,
    gamma_bar: DeviceScalar<A>,
    gamma: DeviceScalar<A>,
    /// The rotation.
    cos: DeviceScalar<A>,
    sin: DeviceScalar<A>,
    phi: DeviceScalar<A>,
    /// Norm of the residual: in that of the preconditioner.
    phi_bar: DeviceScalar<A>,
    /// beta_before*gamma.
    scale: DeviceScalar<A>,
    sin_squared: DeviceScalar<A>,
    /// What the residual takes of the last vector, times its norm.
    share: DeviceScalar<A>,
    least_squared: DeviceScalar<A>,
    freeze: Freeze<A>,
    rr: DeviceScalar<A>,
    bb: DeviceScalar<A>,
    scratch: [DeviceScalar<A>; 2],
}

impl<A: Number> Scalars<A> {
    fn new(queue: &mut Queue) -> Result<Self> {
        let mut scalar = || queue.scalar();
        Ok(Self {
            // What the host reads comes first, side by side.
            phi_bar: scalar()?,
            least_squared: scalar()?,
            rr: scalar()?,
            bb: scalar()?,
            beta: scalar()?,
            beta_squared: scalar()?,
            beta_before: scalar()?,
            image: scalar()?,
            alpha: scalar()?,
            epsilon: scalar()?,
            epsilon_next: scalar()?,
            delta: scalar()?,
            delta_next: scalar()?,
            gamma_bar: scalar()?,
            gamma: scalar()?,
            cos: scalar()?,
            sin: scalar()?,
            phi: scalar()?,
            scale: scalar()?,
            sin_squared: scalar()?,
            share: scalar()?,
            scratch: [scalar()?, scalar()?],
            freeze: Freeze::new(queue)?,
        })
    }

    fn start(&self, queue: &mut Queue) -> Result<Program<A>> {
        let Self { beta, beta_squared, phi_bar, least_squared, freeze, .. } = *self;
        let mut steps = vec![least_squared.set(beta_squared)];
        steps.extend(norm_of(beta, beta_squared));
        steps.push(phi_bar.set(beta));
        steps.extend(freeze.start(phi_bar));
        Ok(queue.program(&steps)?)
    }

    fn rotate(&self, queue: &mut Queue) -> Result<Program<A>> {
        let Self { beta, beta_squared, beta_before, image, alpha, .. } = *self;
        let Self { epsilon, epsilon_next, delta, delta_next, gamma_bar, gamma, .. } = *self;
        let Self { cos, sin, phi, phi_bar, scale, sin_squared, share, .. } = *self;
        let Self { least_squared, freeze, scratch: [s, t], .. } = *self;
        let mut steps = vec![beta_before.set(beta), alpha.set(image / beta_before)];
        // It is real, and so is all that follows: an imaginary part is a rounding error, which would grow.
        if A::DTYPE.is_complex() {
            steps.extend([
                s.set(alpha.greater(freeze.zero)),
                s.set(s.abs()),
                t.set(alpha.lesser(freeze.zero)),
                t.set(t.abs()),
                alpha.set(s - t),
            ]);
        }
        steps.extend([
            // A negative one stays what `least_squared` shows, and no NaN follows from it.
            least_squared.set(least_squared.lesser(beta_squared)),
            beta_squared.set(beta_squared.greater(freeze.zero)),
        ]);
        steps.extend(norm_of(beta, beta_squared));
        steps.extend([
            // The last rotation, of the new column.
            epsilon.set(epsilon_next),
            s.set(cos * delta_next),
            t.set(sin * alpha),
            delta.set(s + t),
            s.set(sin * delta_next),
            t.set(cos * alpha),
            gamma_bar.set(s - t),
            epsilon_next.set(sin * beta),
            delta_next.set(cos * beta),
            delta_next.set(freeze.zero - delta_next),
            // The new one.
            s.set(gamma_bar * gamma_bar),
            s.set(s + beta_squared),
            gamma.set(s.sqrt()),
            cos.set(gamma_bar / gamma),
            sin.set(beta / gamma),
            scale.set(beta_before * gamma),
            phi.set(cos * phi_bar),
            s.set(sin * phi_bar),
        ]);
        steps.extend(freeze.rotated([gamma, gamma], phi, [phi_bar, s]));
        // The residual takes sin^2 of itself, or all where it stays.
        steps.extend([
            share.set(cos * phi_bar),
            share.set(share * freeze.is_live),
            s.set(sin * sin),
            s.set(s * freeze.is_live),
            sin_squared.set(s + freeze.is_frozen),
        ]);
        Ok(queue.program(&steps)?)
    }
}

impl<A: Number> Minres<A> {
    /// For systems as large as this one.
    ///
    /// # Errors
    /// Out of memory, and contexts without queues.
    pub fn new(a: &impl LinearOperator<A>) -> Result<Self> {
        let (context, n) = (a.context(), a.n_rows());
        let mut queue = context.queue()?;
        let scalars = Scalars::new(&mut queue)?;
        let (start, rotate) = (scalars.start(&mut queue)?, scalars.rotate(&mut queue)?);
        let zeros = || context.zeros(n);
        let (last, before, next) = (zeros()?, zeros()?, zeros()?);
        let (w, w_before) = (zeros()?, zeros()?);
        Ok(Self { queue, last, before, next, w, w_before, preconditioned: None, scalars, start, rotate })
    }
}

solve_methods! {
    Minres:

    /// Solves `A*x = b` from what `x` holds on.
    ///
    /// A singular system that has solutions converges to one of them. Once a pivot is a rounding error (at most ten times that of the
    /// greatest), `x` stays as it is.
    ///
    /// # Errors
    /// [`Error::Breakdown`](crate::Error::Breakdown) for a singular matrix whose system is not solved, and for NaN and overflow;
    /// [`Error::Dimension`](crate::Error::Dimension), and failures of the device. `x` is then unspecified.
    solve;

    /// As [`solve`](Self::solve), with a preconditioner.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), also for a preconditioner that is seen not to be positive definite.
    solve_with;
}

impl<A: Number> Method<A> for Minres<A> {
    fn n_rows(&self) -> usize {
        self.last.len()
    }

    fn make_workspace(&mut self, context: &Context) -> Result<()> {
        if self.preconditioned.is_none() {
            let zeros = || context.zeros(self.last.len());
            self.preconditioned = Some(Preconditioned { last: zeros()?, next: zeros()?, residual: zeros()? });
        }
        Ok(())
    }

    fn begin(&mut self, system: &System<'_, A>, x: &mut Vector<A>) -> Result<()> {
        let System { a, m, b, .. } = *system;
        let Self { queue, last, preconditioned, scalars, start, .. } = self;
        let (one, zero) = (A::one(), A::zero());
        queue.dot(b, b, scalars.bb)?;
        a.residual(queue, x, b, last)?;
        queue.dot(last, last, scalars.rr)?;
        match (m, preconditioned) {
            (Some(m), Some(Preconditioned { last: image, residual, .. })) => {
                m.apply(queue, last, image, scalars.beta_squared)?;
                queue.copy(last, residual)?;
            }
            _ => queue.dot(last, last, scalars.beta_squared)?,
        }
        // Factors of zero: nothing of the vectors before the first is read.
        let first = [
            (-one, scalars.cos),
            (zero, scalars.sin),
            (zero, scalars.beta_before),
            (zero, scalars.epsilon_next),
            (zero, scalars.delta_next),
        ];
        first.into_iter().try_for_each(|(value, scalar)| queue.write_scalar(value, scalar))?;
        scalars.freeze.begin(queue)?;
        queue.compute(*start)?;
        Ok(())
    }

    fn iterate(&mut self, system: &System<'_, A>, x: &mut Vector<A>, _: usize) -> Result<()> {
        let System { a, m, .. } = *system;
        let Self { queue, last, before, next, w, w_before, preconditioned, scalars, rotate, .. } = self;
        let Scalars { freeze: Freeze { one: unit, .. }, beta, beta_squared, beta_before, image, .. } =
            *scalars;
        let Scalars { epsilon, delta, gamma, phi, scale, sin_squared, share, rr, .. } = *scalars;
        let (one, zero) = (A::one(), A::zero());
        queue.record(|queue| {
            let mut preconditioned = match (m, preconditioned) {
                (Some(m), Some(vectors)) => Some((m, vectors)),
                _ => None,
            };
            // Lanczos: alpha/beta is `image` over beta squared.
            let y = preconditioned.as_ref().map_or(&*last, |(_, vectors)| &vectors.last);
            a.apply(queue, one, y, zero, next)?;
            if A::DTYPE.is_complex() {
                // Not its conjugate: what rounding makes imaginary is to be taken out too.
                queue.axpby(-beta.over(beta_before), before, unit.over(beta), next)?;
                queue.dot(y, next, image)?;
            } else {
                queue.axpby_dot_with(-beta.over(beta_before), before, unit.over(beta), next, y, image)?;
            }
            match &mut preconditioned {
                None => queue.axpby_dot(-image.over(beta_squared), last, one, next, beta_squared)?,
                Some((m, vectors)) => {
                    queue.axpby(-image.over(beta_squared), last, one, next)?;
                    m.apply(queue, next, &mut vectors.next, beta_squared)?;
                }
            }
            queue.compute(*rotate)?;
            let y = preconditioned.as_ref().map_or(&*last, |(_, vectors)| &vectors.last);
            queue.axpby(unit.over(scale), y, -epsilon.over(gamma), w_before)?;
            queue.axpby(-delta.over(gamma), w, one, w_before)?;
            queue.axpby(phi, w_before, one, x)?;
            if let Some((_, vectors)) = preconditioned {
                queue.axpby_dot(
                    -share.over(beta),
                    next,
                    Factor::from(sin_squared),
                    &mut vectors.residual,
                    rr,
                )?;
                std::mem::swap(&mut vectors.last, &mut vectors.next);
            }
            std::mem::swap(w, w_before);
            std::mem::swap(before, last);
            std::mem::swap(last, next);
            Ok(())
        })
    }

    fn check(
        &mut self,
        system: &System<'_, A>,
        _: &mut Vector<A>,
        iteration: usize,
    ) -> Result<Found<A::Part>> {
        let Scalars { phi_bar, least_squared, freeze, rr, bb, .. } = self.scalars;
        let read = [phi_bar, least_squared, rr, bb, freeze.is_regular];
        let [phi_bar, least_squared, rr, bb, is_regular] = self.queue.read_scalars(read)?;
        if least_squared.re() < A::Part::zero() {
            let why = Breakdown::PreconditionerNotPositiveDefinite;
            return Err(Error::Breakdown { iteration, why });
        }
        let residual = if system.m.is_some() { rr.re().sqrt() } else { phi_bar.re() };
        let breakdown = is_regular.is_zero().then_some(Breakdown::Singular);
        Ok(Found { residual, of_b: bb.re().sqrt(), breakdown })
    }
}
