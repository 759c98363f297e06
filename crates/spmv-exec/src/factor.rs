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

impl<A> PartialEq for DeviceScalar<A> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.queue) == (other.at, other.queue)
    }
}

impl<A> Eq for DeviceScalar<A> {}

impl<A: Accum> DeviceScalar<A> {
    /// This scalar over another one, as a factor. Zero if either is zero: an iteration that goes on after it has converged then
    /// changes nothing. A division by zero that matters must be seen in the scalars.
    pub fn over(self, other: Self) -> Factor<A> {
        Factor { by: num_traits::one(), num: Some(self), den: Some(other) }
    }
}

/// For a queue that is made of several: scalars are numbered in the order in which they are made, so that a number means the same scalar
/// in queues that made the same ones.
impl<A> DeviceScalar<A> {
    /// The scalar of the same number in another queue. One of a third queue stays, and is refused where it is used.
    #[doc(hidden)]
    #[must_use]
    pub fn in_queue(self, from: u64, to: u64) -> Self {
        Self { queue: if self.queue == from { to } else { self.queue }, ..self }
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

    /// Whether what it scales is not read.
    #[doc(hidden)]
    pub fn is_zero(&self) -> bool {
        self.by.is_zero()
    }

    /// The same factor of the scalars of another queue. Scalars of a third one stay.
    #[doc(hidden)]
    #[must_use]
    pub fn in_queue(self, from: u64, to: u64) -> Self {
        let moved = |scalar: Option<DeviceScalar<A>>| scalar.map(|scalar| scalar.in_queue(from, to));
        Self { by: self.by, num: moved(self.num), den: moved(self.den) }
    }
}

impl<A: Accum> Neg for Factor<A> {
    type Output = Self;

    fn neg(self) -> Self {
        Self { by: -self.by, ..self }
    }
}

#[cfg(test)]
mod tests {
    use spmv_cpu::{Cpu, Options};

    use crate::{Device, Error};

    #[test]
    fn scalars_and_programs_have_their_numbers_in_queues_that_made_the_same() {
        let device = Device::new(Cpu::open(Options::default()).unwrap()).unwrap();
        let mut queues = [device.queue().unwrap(), device.queue().unwrap()];
        let [first, second] = [queues[0].id(), queues[1].id()];
        let made = queues.each_mut().map(|queue| [(); 3].map(|()| queue.scalar::<f64>().unwrap()));
        let [a, b, c] = made[0];
        let steps = [c.set(a + b), c.set(c.sqrt())];
        let programs = queues.each_mut().map(|queue| {
            let id = queue.id();
            queue.program(&steps.map(|step| step.in_queue(first, id))).unwrap()
        });
        assert_eq!(made[0].map(|s| s.in_queue(first, second).at), made[1].map(|s| s.at));
        assert_eq!((a.queue, a.in_queue(first, second).queue), (first, second));

        let [_, queue] = &mut queues;
        for (value, to) in [(9.0, a), (7.0, b)] {
            queue.write_scalar(value, to.in_queue(first, second)).unwrap();
        }
        queue.compute(programs[0].in_queue(first, second)).unwrap();
        assert_eq!(queue.read_scalar(c.in_queue(first, second)).unwrap(), 4.0);
        let mut y = device.upload(&[1.0f64]).unwrap();
        queue.scale(a.over(c).times(4.0).in_queue(first, second), &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [9.0]);
    }

    #[test]
    fn what_is_of_a_third_queue_stays_foreign() {
        let device = Device::new(Cpu::open(Options::default()).unwrap()).unwrap();
        let mut queues = [(); 3].map(|()| device.queue().unwrap());
        let ids = queues.each_ref().map(|queue| queue.id());
        let [of_first, of_third] = [0, 2].map(|i| queues[i].scalar::<f64>().unwrap());
        let program = queues[2].program(&[of_third.set(of_third)]).unwrap();
        let queue = &mut queues[1];
        queue.scalar::<f64>().unwrap();
        let mut y = device.upload(&[1.0f64]).unwrap();
        let factor = of_first.over(of_third).in_queue(ids[0], ids[1]);
        assert!(matches!(queue.scale(factor, &mut y), Err(Error::Foreign { .. })));
        let step = of_first.set(of_third).in_queue(ids[0], ids[1]);
        assert!(matches!(queue.program(&[step]), Err(Error::Foreign { .. })));
        let program = program.in_queue(ids[0], ids[1]);
        assert!(matches!(queue.compute(program), Err(Error::Foreign { .. })));
    }
}
