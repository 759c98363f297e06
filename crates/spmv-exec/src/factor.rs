//! Numbers that live on the device, and what operations scale by.

use std::marker::PhantomData;
use std::ops::Neg;

use spmv_core::Accum;

/// A number that lives on the device, of one queue: what [`Queue::dot`](crate::Queue::dot) finds, and what later operations scale by without the
/// host having seen it.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// let mut queue = device.queue()?;
/// let (x, s) = (device.upload(&[3.0f64, 4.0])?, queue.scalar::<f64>()?);
/// queue.dot(&x, &x, s)?;
/// assert_eq!(queue.read_scalar(s)?, 25.0);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DeviceScalar<A> {
    pub(crate) at: u32,
    pub(crate) queue: u64,
    pub(crate) of: PhantomData<A>,
}

// Not derived: `A` need not be `Copy`.
impl<A> Clone for DeviceScalar<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for DeviceScalar<A> {}

impl<A: Accum> DeviceScalar<A> {
    /// This scalar over another one, as a factor. Zero if either is zero: an iteration that goes on after it has converged then
    /// changes nothing. A division by zero that matters must be seen in the scalars.
    pub fn over(self, other: Self) -> Factor<A> {
        Factor { by: num_traits::one(), num: Some(self), den: Some(other) }
    }
}

/// What an operation scales by: a number, times a scalar of the device or a quotient of two.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(queue: &mut spmv_exec::Queue<B>) -> Result<(), spmv_exec::Error> {
/// use spmv_exec::Factor;
/// let (rr, pq) = (queue.scalar::<f64>()?, queue.scalar()?);
/// let step = rr.over(pq);
/// let (back, half): (Factor<f64>, Factor<f64>) = (-step, step.times(0.5));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Factor<A> {
    pub(crate) by: A,
    pub(crate) num: Option<DeviceScalar<A>>,
    pub(crate) den: Option<DeviceScalar<A>>,
}

impl<A: Copy> Clone for Factor<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Copy> Copy for Factor<A> {}

impl<A: Accum> From<A> for Factor<A> {
    fn from(by: A) -> Self {
        Self { by, num: None, den: None }
    }
}

impl<A: Accum> From<DeviceScalar<A>> for Factor<A> {
    fn from(scalar: DeviceScalar<A>) -> Self {
        Self { by: num_traits::one(), num: Some(scalar), den: None }
    }
}

impl<A: Accum> Factor<A> {
    /// That many times this factor.
    #[must_use]
    pub fn times(self, by: A) -> Self {
        Self { by: by * self.by, ..self }
    }
}

impl<A: Accum> Neg for Factor<A> {
    type Output = Self;

    fn neg(self) -> Self {
        Self { by: -self.by, ..self }
    }
}
