//! Power iteration.

use spmv::{Number, Vector};

use crate::error::{Result, expect};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};

/// An eigenvalue, by the vector that was found for it.
///
/// ```
/// fn show(found: &spmv_solvers::Eigenpair<f64>) {
///     println!("{} after {} iterations", found.value, found.report.iterations);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Eigenpair<A: Number> {
    /// The Rayleigh quotient of the vector.
    pub value: A,
    /// Residuals are the greatest absolute values of `A*x - value*x`, for an `x` whose own is 1.
    pub report: Report<A::Part>,
}

/// The eigenvalue of greatest modulus and its eigenvector, from what `x` holds on.
///
/// It converges as the second greatest over the greatest; not if the greatest are a pair of opposite sign, or complex. `x` must not
/// be orthogonal to the eigenvector, as zero is. [`Options::relative`] is of the eigenvalue.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, power_iteration};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 3.0f64), (1, 1, 1.0)])?)?;
/// let mut x = context.upload(&[1.0, 1.0])?;
/// let found = power_iteration(&a, &mut x, &mut Options::default())?;
/// assert!(found.report.has_converged() && (found.value - 3.0).abs() < 1e-6);
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
///
/// # Errors
/// [`Error::Breakdown`](crate::Error::Breakdown) for NaN, overflow and an `x` that becomes zero;
/// [`Error::Dimension`](crate::Error::Dimension), and failures of the device.
pub fn power_iteration<A: Number>(
    a: &impl LinearOperator<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Eigenpair<A>> {
    options.validate()?;
    let n = a.n_rows();
    expect("the number of columns", a.n_cols(), n)?;
    expect("the length of x", x.len(), n)?;
    let context = a.context();
    let mut queue = context.queue()?;
    let [norm, xx, xy, off] = [queue.scalar()?, queue.scalar()?, queue.scalar()?, queue.scalar()?];
    let unit = queue.scalar()?;
    queue.write_scalar(A::one(), unit)?;
    let mut y = context.zeros::<A>(n)?;
    let (one, zero) = (A::one(), A::zero());
    queue.norm_inf(x, norm)?;
    queue.scale(unit.over(norm), x)?;
    let mut value = zero;
    let mut state = (queue, x, &mut y);
    let report = options.drive(
        &mut state,
        |(queue, x, y), _| {
            queue.record(|queue| {
                a.apply(queue, one, x, zero, y)?;
                queue.norm_inf(y, norm)?;
                queue.axpby(unit.over(norm), y, zero, x)?;
                Ok(())
            })
        },
        |(queue, x, y), _| {
            a.apply(queue, one, x, zero, y)?;
            queue.dot(x, x, xx)?;
            queue.dot(x, y, xy)?;
            queue.axpby(-xy.over(xx), x, one, y)?;
            queue.norm_inf(y, off)?;
            let [of_xx, of_xy, of_off] = queue.read_scalars([xx, xy, off])?;
            value = of_xy / of_xx;
            Ok(Found { residual: of_off.re(), of_b: value.modulus(), breakdown: None })
        },
    )?;
    Ok(Eigenpair { value, report })
}
