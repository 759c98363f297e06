//! LSMR, for least squares.

use num_traits::Float;
use spmv::{DeviceScalar, Number, Program, Queue, Vector};

use crate::error::{Result, expect};
use crate::freeze::{Freeze, norm_of};
use crate::operator::LinearOperator;
use crate::options::{Found, Options, Report};

/// Finds an `x` for which the norm of `b - A*x` is least, by LSMR (Fong & Saunders 2011), from what `x` holds on. As [`Lsmr::solve`],
/// with vectors of its own.
///
/// # Errors
/// As [`Lsmr::solve`], and out of memory.
pub fn lsmr<A: Number>(
    a: &impl LinearOperator<A>,
    transpose: &impl LinearOperator<A>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> Result<Report<A::Part>> {
    Lsmr::new(a)?.solve(a, transpose, b, x, options)
}

/// Queue and vectors of LSMR, for several systems of one size. The matrix has any number of rows and columns, and any rank.
///
/// **Residuals are norms of `A^T*(b - A*x)`**, which is zero where the norm of `b - A*x` is least; [`Options::relative`] is of the norm
/// of `A^T*b`. They fall in each iteration. From zero on, `x` converges to the solution of least norm where there are several.
///
/// An iteration is a product by the matrix and one by its transpose, a pass over vectors as long as `b`, four over vectors as long as
/// `x`, and two programs of scalars. There are two vectors of the one length and four of the other.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{Options, lsmr};
/// // A line through (0, 1), (1, 3) and (2, 5).
/// let points = Csr::from_coo(3, 2, &[(0, 0, 1.0f64), (1, 0, 1.0), (2, 0, 1.0), (1, 1, 1.0), (2, 1, 2.0)])?;
/// let context = Context::auto()?;
/// let a = context.prepare_with_transpose(&points, &spmv::Options::default())?;
/// let (b, mut x) = (context.upload(&[1.0, 3.0, 5.0])?, context.zeros(2)?);
/// assert!(lsmr(&a, a.transposed()?, &b, &mut x, &mut Options::default())?.has_converged());
/// let x = x.to_vec()?;
/// assert!((x[0] - 1.0).abs() < 1e-6 && (x[1] - 2.0).abs() < 1e-6);
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct Lsmr<A: Number> {
    queue: Queue,
    /// Vectors of the bidiagonalisation, whose norms are beta and alpha, and their images.
    u: Vector<A>,
    v: Vector<A>,
    image: Vector<A>,
    back: Vector<A>,
    h: Vector<A>,
    h_bar: Vector<A>,
    scalars: Scalars<A>,
    start: Program<A>,
    root: Program<A>,
    /// From the sums of the bidiagonalisation to the next rotations.
    rotate: Program<A>,
}

/// Names as in section 2.8 of the paper.
#[derive(Clone, Copy, Debug)]
struct Scalars<A> {
    zeta_bar: DeviceScalar<A>,
    /// Sum of squares of A^T*b.
    of_b: DeviceScalar<A>,
    unit: DeviceScalar<A>,
    alpha: DeviceScalar<A>,
    alpha_squared: DeviceScalar<A>,
    beta: DeviceScalar<A>,
    beta_squared: DeviceScalar<A>,
    alpha_bar: DeviceScalar<A>,
    rho: DeviceScalar<A>,
    rho_bar: DeviceScalar<A>,
    cos: DeviceScalar<A>,
    sin: DeviceScalar<A>,
    cos_bar: DeviceScalar<A>,
    sin_bar: DeviceScalar<A>,
    theta: DeviceScalar<A>,
    theta_bar: DeviceScalar<A>,
    zeta: DeviceScalar<A>,
    /// Products that directions are scaled by.
    theta_rho: DeviceScalar<A>,
    rhos_before: DeviceScalar<A>,
    rhos: DeviceScalar<A>,
    freeze: Freeze<A>,
    scratch: [DeviceScalar<A>; 2],
}

impl<A: Number> Scalars<A> {
    fn new(queue: &mut Queue) -> Result<Self> {
        let mut scalar = || queue.scalar();
        Ok(Self {
            zeta_bar: scalar()?,
            of_b: scalar()?,
            unit: scalar()?,
            alpha: scalar()?,
            alpha_squared: scalar()?,
            beta: scalar()?,
            beta_squared: scalar()?,
            alpha_bar: scalar()?,
            rho: scalar()?,
            rho_bar: scalar()?,
            cos: scalar()?,
            sin: scalar()?,
            cos_bar: scalar()?,
            sin_bar: scalar()?,
            theta: scalar()?,
            theta_bar: scalar()?,
            zeta: scalar()?,
            theta_rho: scalar()?,
            rhos_before: scalar()?,
            rhos: scalar()?,
            scratch: [scalar()?, scalar()?],
            freeze: Freeze::new(queue)?,
        })
    }

    fn start(&self, queue: &mut Queue) -> Result<Program<A>> {
        let Self { alpha, alpha_squared, beta, alpha_bar, zeta_bar, freeze, .. } = *self;
        let mut steps = norm_of(alpha, alpha_squared).to_vec();
        steps.extend([alpha_bar.set(alpha), zeta_bar.set(alpha * beta)]);
        steps.extend(freeze.start(zeta_bar));
        Ok(queue.program(&steps)?)
    }

    fn rotate(&self, queue: &mut Queue) -> Result<Program<A>> {
        let Self { alpha, alpha_squared, beta, beta_squared, alpha_bar, .. } = *self;
        let Self { rho, rho_bar, cos, sin, cos_bar, sin_bar, theta, theta_bar, .. } = *self;
        let Self { zeta, zeta_bar, theta_rho, rhos_before, rhos, freeze, scratch: [s, t], .. } = *self;
        let mut steps = norm_of(alpha, alpha_squared).to_vec();
        steps.extend([
            rhos_before.set(rho * rho_bar),
            // The first rotation makes the bidiagonal matrix upper bidiagonal.
            s.set(alpha_bar * alpha_bar),
            s.set(s + beta_squared),
            rho.set(s.sqrt()),
            cos.set(alpha_bar / rho),
            sin.set(beta / rho),
            theta.set(sin * alpha),
            alpha_bar.set(cos * alpha),
            // The second one, of its transpose.
            theta_bar.set(sin_bar * rho),
            t.set(cos_bar * rho),
            s.set(theta * theta),
            rho_bar.set(t * t),
            s.set(s + rho_bar),
            rho_bar.set(s.sqrt()),
            cos_bar.set(t / rho_bar),
            sin_bar.set(theta / rho_bar),
            theta_rho.set(theta_bar * rho),
            rhos.set(rho * rho_bar),
            zeta.set(cos_bar * zeta_bar),
            s.set(sin_bar * zeta_bar),
            s.set(freeze.zero - s),
            t.set(rho.lesser(rho_bar)),
        ]);
        steps.extend(freeze.rotated([t, rho], zeta, [zeta_bar, s]));
        Ok(queue.program(&steps)?)
    }
}

impl<A: Number> Lsmr<A> {
    /// For systems as large as this one.
    ///
    /// # Errors
    /// Out of memory, and contexts without queues.
    pub fn new(a: &impl LinearOperator<A>) -> Result<Self> {
        let (context, n_rows, n_cols) = (a.context(), a.n_rows(), a.n_cols());
        let mut queue = context.queue()?;
        let scalars = Scalars::new(&mut queue)?;
        let (start, rotate) = (scalars.start(&mut queue)?, scalars.rotate(&mut queue)?);
        let root = queue.program(&norm_of(scalars.beta, scalars.beta_squared))?;
        let (u, image) = (context.zeros(n_rows)?, context.zeros(n_rows)?);
        let zeros = || context.zeros(n_cols);
        let (v, back, h, h_bar) = (zeros()?, zeros()?, zeros()?, zeros()?);
        Ok(Self { queue, u, v, image, back, h, h_bar, scalars, start, root, rotate })
    }

    /// Finds an `x` for which the norm of `b - A*x` is least, from what `x` holds on, with a matrix and its transpose,
    /// such as [`Matrix::transposed`](spmv::Matrix::transposed); a complex one takes the conjugate transpose,
    /// [`Matrix::adjoint`](spmv::Matrix::adjoint).
    ///
    /// That `transpose` is the transpose is not checked; with another matrix the result means nothing. Once a pivot is a rounding error
    /// (at most ten times that of the greatest), `x` stays as it is.
    ///
    /// # Errors
    /// [`Error::Breakdown`](crate::Error::Breakdown) for NaN and overflow; [`Error::Dimension`](crate::Error::Dimension), and failures of
    /// the device. `x` is then unspecified.
    pub fn solve(
        &mut self,
        a: &impl LinearOperator<A>,
        transpose: &impl LinearOperator<A>,
        b: &Vector<A>,
        x: &mut Vector<A>,
        options: &mut Options<'_, A::Part>,
    ) -> Result<Report<A::Part>> {
        options.validate()?;
        let (n_rows, n_cols) = (self.u.len(), self.v.len());
        expect("the number of rows", a.n_rows(), n_rows)?;
        expect("the number of columns", a.n_cols(), n_cols)?;
        expect("the number of rows of the transpose", transpose.n_rows(), n_cols)?;
        expect("the number of columns of the transpose", transpose.n_cols(), n_rows)?;
        expect("the length of b", b.len(), n_rows)?;
        expect("the length of x", x.len(), n_cols)?;
        self.begin(a, transpose, b, x)?;
        let mut state = (self, x);
        options.drive(
            &mut state,
            |(lsmr, x), _| lsmr.iterate(a, transpose, x),
            |(lsmr, _), _| {
                let Scalars { zeta_bar, of_b, .. } = lsmr.scalars;
                let [residual, of_b] = lsmr.queue.read_scalars([zeta_bar, of_b])?;
                Ok(Found { residual: residual.modulus(), of_b: of_b.re().sqrt(), breakdown: None })
            },
        )
    }

    fn begin(
        &mut self,
        a: &dyn LinearOperator<A>,
        transpose: &dyn LinearOperator<A>,
        b: &Vector<A>,
        x: &Vector<A>,
    ) -> Result<()> {
        let Self { queue, u, v, back, h, scalars, start, root, .. } = self;
        let Scalars { unit, alpha, alpha_squared, beta, beta_squared, of_b, .. } = *scalars;
        let (one, zero) = (A::one(), A::zero());
        for scalar in [unit, scalars.rho, scalars.rho_bar, scalars.cos_bar] {
            queue.write_scalar(one, scalar)?;
        }
        scalars.freeze.begin(queue)?;
        // Factors of zero: nothing of the directions before the first is read.
        queue.write_scalar(zero, scalars.sin_bar)?;
        transpose.apply(queue, one, b, zero, back)?;
        queue.dot(back, back, of_b)?;
        a.residual(queue, x, b, u)?;
        queue.dot(u, u, beta_squared)?;
        queue.compute(*root)?;
        transpose.apply(queue, one, u, zero, back)?;
        queue.axpby_dot(unit.over(beta), back, zero, v, alpha_squared)?;
        queue.compute(*start)?;
        queue.axpby(unit.over(alpha), v, zero, h)?;
        Ok(())
    }

    fn iterate(
        &mut self,
        a: &dyn LinearOperator<A>,
        transpose: &dyn LinearOperator<A>,
        x: &mut Vector<A>,
    ) -> Result<()> {
        let Self { queue, u, v, image, back, h, h_bar, scalars, root, rotate, .. } = self;
        let Scalars { unit, alpha, alpha_squared, beta, beta_squared, .. } = *scalars;
        let Scalars { rho, theta, zeta, theta_rho, rhos_before, rhos, .. } = *scalars;
        let (one, zero) = (A::one(), A::zero());
        queue.record(|queue| {
            a.apply(queue, one, v, zero, image)?;
            queue.axpby_dot(unit.over(alpha), image, -alpha.over(beta), u, beta_squared)?;
            queue.compute(*root)?;
            transpose.apply(queue, one, u, zero, back)?;
            queue.axpby_dot(unit.over(beta), back, -beta.over(alpha), v, alpha_squared)?;
            queue.compute(*rotate)?;
            queue.axpby(one, h, -theta_rho.over(rhos_before), h_bar)?;
            queue.axpby(zeta.over(rhos), h_bar, one, x)?;
            queue.axpby(unit.over(alpha), v, -theta.over(rho), h)?;
            Ok(())
        })
    }
}
