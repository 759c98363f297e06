//! Chebyshev's semi-iteration.

use num_traits::{Float, One, Zero};
use spmv::{Number, Vector};
use spmv_core::Value;

use crate::error::{Error, Result};
use crate::operator::{LinearOperator, check_system};
use crate::options::{Found, Options, Report};

/// Solves `A*x = b` for a symmetric positive definite matrix whose eigenvalues lie in `bounds`, from what `x` holds on (Golub &
/// Varga 1961).
///
/// An iteration is a product and two passes over vectors, without sums: only checks need one. The device computes the factors too.
/// Eigenvalues outside of the bounds make it diverge, which ends as a breakdown or at the last iteration.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, chebyshev};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (1, 1, 2.0)])?)?;
/// let (b, mut x) = (context.upload(&[4.0, 4.0])?, a.zeros_x()?);
/// assert!(chebyshev(&a, 2.0..4.0, &b, &mut x, &mut Options::default())?.has_converged());
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
///
/// # Errors
/// [`Error::Option`] for bounds that are not positive, [`Error::Breakdown`], [`Error::Dimension`], and failures of the device.
pub fn chebyshev<A: Number>(
    a: &impl LinearOperator<A>,
    bounds: std::ops::Range<A::Part>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    options.validate()?;
    let n = a.n_rows();
    check_system(a, n, b, x)?;
    let (least, most) = (bounds.start, bounds.end);
    let need = "bounds of the eigenvalues are positive numbers, the lesser first";
    if !(least > A::Part::zero() && least.is_finite()) {
        return Err(Error::Option { what: "the lower bound", found: least.widen(), need });
    }
    if !(most >= least && most.is_finite()) {
        return Err(Error::Option { what: "the upper bound", found: most.widen(), need });
    }
    let two = A::Part::one() + A::Part::one();
    let (theta, delta) = ((most + least) / two, (most - least) / two);
    let one = A::one();
    let context = a.context();
    let mut queue = context.queue()?;
    let [rr, bb] = [queue.scalar()?, queue.scalar()?];
    let (mut r, mut d) = (context.zeros(n)?, context.zeros(n)?);
    queue.dot(b, b, bb)?;
    a.residual(&mut queue, x, b, &mut r)?;
    queue.axpby(A::from_re(theta.recip()), &r, A::zero(), &mut d)?;
    // With one eigenvalue the first step is the solution.
    let of_r = if delta.is_zero() { theta.recip() } else { A::Part::zero() };
    let mut scalar = |value| {
        let scalar = queue.scalar()?;
        queue.write_scalar(A::from_re(value), scalar)?;
        Ok::<_, Error>(scalar)
    };
    let [unit, of_r, of_d] = [scalar(A::Part::one())?, scalar(of_r)?, scalar(A::Part::zero())?];
    let [rho, next] = [scalar(delta / theta)?, scalar(A::Part::zero())?];
    let [twice, twice_centre] = [scalar(two / delta)?, scalar(two * theta / delta)?];
    let program = match delta.is_zero() {
        true => None,
        false => Some(queue.program(&[
            next.set(twice_centre - rho),
            next.set(unit / next),
            of_d.set(next * rho),
            of_r.set(twice * next),
            rho.set(next),
        ])?),
    };
    let mut state = (queue, x, r, d);
    options.drive(
        &mut state,
        |(queue, x, r, d), _| {
            queue.record(|queue| {
                queue.axpby(one, d, one, x)?;
                a.apply(queue, -one, d, one, r)?;
                program.map_or(Ok(()), |program| queue.compute(program))?;
                Ok(queue.axpby(of_r, r, of_d, d)?)
            })
        },
        |(queue, _, r, ..), _| {
            queue.dot(r, r, rr)?;
            let [of_r, of_b] = queue.read_scalars([rr, bb])?;
            Ok(Found { residual: of_r.re().sqrt(), of_b: of_b.re().sqrt(), breakdown: None })
        },
    )
}
