//! What else becomes of a product, without a pass of its own over vectors.

use spmv_core::Value;

use crate::erased::{Number, Scalar};
use crate::erased_matrix::AnyEpilogue;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::queue::Queue;
use crate::vector::Vector;

/// What else becomes of a product, for [`Queue::apply_with`].
///
/// ```
/// use spmv::{Context, Epilogue};
/// let context = Context::auto()?;
/// let b = context.upload(&[1.0f64, 2.0])?;
/// let residual = Epilogue::new().plus(&b);
/// let not_negative = Epilogue::new().clamp(0.0, f64::INFINITY);
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Debug)]
pub struct Epilogue<'a, A: Value> {
    z: Option<&'a Vector<A>>,
    bounds: Option<[A; 2]>,
}

impl<A: Value> Clone for Epilogue<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Value> Copy for Epilogue<'_, A> {}

impl<A: Number> Default for Epilogue<'_, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, A: Number> Epilogue<'a, A> {
    /// Nothing else.
    pub fn new() -> Self {
        Self { z: None, bounds: None }
    }

    /// `beta` scales `z`, which is not written, in place of `y`, which is not read.
    #[must_use]
    pub fn plus(self, z: &'a Vector<A>) -> Self {
        Self { z: Some(z), ..self }
    }

    /// What is less than `lo` becomes `lo`, and what is more than `hi` becomes `hi`, when all has been added. Either may be infinite. What
    /// is no number stays so.
    #[must_use]
    pub fn clamp(self, lo: A, hi: A) -> Self {
        Self { bounds: Some([lo, hi]), ..self }
    }

    fn erased(self) -> AnyEpilogue<'a, A> {
        AnyEpilogue { z: self.z.map(|z| &*z.erased), bounds: self.bounds }
    }
}

impl Queue {
    /// `y <- clamp(alpha*A*x + beta*z)`, as `epilogue` says; else as [`apply`](Self::apply). The product writes each row once, so that neither
    /// takes a pass over vectors; for a transpose give [`Matrix::transposed`] as `a`.
    ///
    /// A pass over `y` clamps it where several launches add to a row: with the algorithm `hyb`, in rows too long for one launch, and in
    /// parts whose rows get something from another device. In co-execution both take passes.
    ///
    /// A residual, and a step of projected gradient descent:
    ///
    /// ```
    /// use spmv::{Context, Csr, Epilogue};
    /// let context = Context::auto()?;
    /// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (1, 1, 2.0)])?)?;
    /// let (x, b) = (context.upload(&[2.0, 2.0])?, context.upload(&[4.0, 2.0])?);
    /// let (mut r, mut next) = (context.zeros(2)?, context.zeros(2)?);
    /// let mut q = context.queue()?;
    /// q.apply_with(&a, -1.0, &x, 1.0, &mut r, Epilogue::new().plus(&b))?;
    /// q.apply_with(&a, 1.0, &r, 1.0, &mut next, Epilogue::new().plus(&x).clamp(-1.0, 1.0))?;
    /// assert_eq!((r.to_vec()?, next.to_vec()?), (vec![-4.0, -2.0], vec![-1.0, -1.0]));
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`apply`](Self::apply), for `z` as for `y`; bounds of complex numbers, or in the wrong order.
    pub fn apply_with<T: Scalar>(
        &mut self,
        a: &Matrix<T>,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
        epilogue: Epilogue<'_, T::Accum>,
    ) -> Result<()> {
        let (x, y) = (&*x.erased, &mut *y.erased);
        Ok(T::products(self.erased()).apply(a.erased(), alpha, x, beta, y, epilogue.erased())?)
    }

    /// Clamps `y` as [`Epilogue::clamp`] does, in a pass of its own.
    ///
    /// ```
    /// let context = spmv::Context::auto()?;
    /// let mut y = context.upload(&[-2.0f32, 0.5, 3.0])?;
    /// context.queue()?.clamp(0.0, 1.0, &mut y)?;
    /// assert_eq!(y.to_vec()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby); bounds of complex numbers, or in the wrong order.
    pub fn clamp<A: Number>(&mut self, lo: A, hi: A, y: &mut Vector<A>) -> Result<()> {
        Ok(A::vectors(self.erased()).clamp([lo, hi], &mut *y.erased)?)
    }
}
