//! Operations in order, without waits.

use std::fmt;

use spmv_exec::{Assignment, DeviceScalar, Factor, Program};

use crate::backend::BackendKind;
use crate::context::Context;
use crate::erased::{Number, Scalar};
use crate::erased_matrix::{AnyEpilogue, Mismatch};
use crate::erased_queue::{AnyQueue, DotInto, Source};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::origin::Origin;
use crate::vector::Vector;

/// Products and operations on vectors in the order given, none of which waits for the device: [`wait`](Self::wait),
/// [`read_scalar`](Self::read_scalar) and whoever reads a vector do. What a device finds, later operations can scale by
/// without the host having seen it.
///
/// A vector may be used elsewhere at any time; where a queue still writes it, that use waits, and so does a write of what a
/// queue still reads. Products whose sums the host repairs wait too ([`Matrix::explain`] says where they are repaired), and so do
/// products in co-execution, where vectors are in the host's memory and the cores compute with them.
/// The first product of each matrix allocates its workspace, the first operation of each type scalars and partial sums; kernels are
/// compiled then too. Later ones allocate no memory of the device.
///
/// Sums have the same bits in every run on the same device. A queue can be sent to another thread. Dropped, it waits.
///
/// An iteration of conjugate gradients:
///
/// ```
/// use spmv::{Context, Csr};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (1, 1, 2.0)])?)?;
/// let (mut x, mut r) = (context.zeros::<f64>(2)?, context.upload(&[4.0, 2.0])?);
/// let (mut p, mut ap) = (r.try_clone()?, context.zeros::<f64>(2)?);
/// let mut q = context.queue()?;
/// let (rr, p_ap, rr_new) = (q.scalar()?, q.scalar()?, q.scalar()?);
/// q.dot(&r, &r, rr)?;
/// q.apply(&a, 1.0, &p, 0.0, &mut ap)?;
/// q.dot(&p, &ap, p_ap)?;
/// q.axpby(rr.over(p_ap), &p, 1.0, &mut x)?;
/// q.axpby_dot(-rr.over(p_ap), &ap, 1.0, &mut r, rr_new)?;
/// q.axpby(1.0, &r, rr_new.over(rr), &mut p)?;
/// println!("{} left", q.read_scalar(rr_new)?.sqrt());
/// # Ok::<(), spmv::Error>(())
/// ```
pub struct Queue {
    backend: BackendKind,
    erased: Box<dyn AnyQueue>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Context {
    /// A queue of operations, none of which waits.
    ///
    /// # Errors
    /// Whatever the driver says.
    pub fn queue(&self) -> Result<Queue> {
        Queue::open(&self.origin)
    }
}

impl Queue {
    pub(crate) fn open(origin: &Origin) -> Result<Self> {
        Ok(Self { backend: origin.backend, erased: origin.device.queue()? })
    }

    pub(crate) fn erased(&mut self) -> &mut dyn AnyQueue {
        &mut *self.erased
    }

    /// A scalar on the device, 0 to begin with. There are 4095 of each type, fewer where buffers are small.
    ///
    /// # Errors
    /// `Unsupported` when all are taken, or where the device has no arithmetic of the type; out of memory.
    pub fn scalar<A: Number>(&mut self) -> Result<DeviceScalar<A>> {
        Ok(A::vectors(&mut *self.erased).scalar()?)
    }

    /// The scalar, after all operations before. Waits.
    ///
    /// # Errors
    /// A scalar of another queue, and failures of the device.
    pub fn read_scalar<A: Number>(&mut self, from: DeviceScalar<A>) -> Result<A> {
        Ok(self.read_scalars([from])?[0])
    }

    /// Several scalars, after all operations before, with one wait and one copy.
    ///
    /// # Errors
    /// As [`read_scalar`](Self::read_scalar).
    pub fn read_scalars<A: Number, const N: usize>(&mut self, from: [DeviceScalar<A>; N]) -> Result<[A; N]> {
        let mut values = [A::zero(); N];
        self.read_scalars_to(&from, &mut values)?;
        Ok(values)
    }

    /// As [`read_scalars`](Self::read_scalars), as many as `values` has. What lies between them is copied too: scalars that were made
    /// one after another are read fastest.
    ///
    /// # Errors
    /// As [`read_scalar`](Self::read_scalar), and other numbers of values.
    pub fn read_scalars_to<A: Number>(&mut self, from: &[DeviceScalar<A>], values: &mut [A]) -> Result<()> {
        Ok(A::vectors(&mut *self.erased).read_scalars(from, values)?)
    }

    /// Sets a scalar, in order. Some devices wait for what was queued before.
    ///
    /// # Errors
    /// A scalar of another queue, and failures of the device.
    pub fn write_scalar<A: Number>(&mut self, value: A, to: DeviceScalar<A>) -> Result<()> {
        Ok(A::vectors(&mut *self.erased).write_scalar(value, to)?)
    }

    /// Copies the steps of a program to the device: once, before an iteration. It lasts as long as the queue.
    ///
    /// ```
    /// use spmv::Context;
    /// let context = Context::auto()?;
    /// let (x, mut q) = (context.upload(&[3.0f64, 4.0])?, context.queue()?);
    /// let (xx, norm, least) = (q.scalar()?, q.scalar()?, q.scalar()?);
    /// q.write_scalar(6.0, least)?;
    /// let program = q.program(&[norm.set(xx.sqrt()), norm.set(norm.greater(least)), norm.set(norm / least)])?;
    /// q.dot(&x, &x, xx)?;
    /// q.compute(program)?;
    /// assert_eq!(q.read_scalar(norm)?, 1.0);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// Scalars of another queue, more than 16,384 steps, out of memory.
    pub fn program<A: Number>(&mut self, steps: &[Assignment<A>]) -> Result<Program<A>> {
        Ok(A::vectors(&mut *self.erased).program(steps)?)
    }

    /// Takes the steps of a program in order, by one lane: for numbers that a later [`Factor`] cannot say, such as a square root.
    /// Allocates nothing and does not wait.
    ///
    /// # Errors
    /// A program of another queue, and failures of the device.
    pub fn compute<A: Number>(&mut self, program: Program<A>) -> Result<()> {
        Ok(A::vectors(&mut *self.erased).compute(program)?)
    }

    /// `y <- alpha*A*x + beta*y`, as [`Matrix::apply`].
    ///
    /// # Errors
    /// As [`Matrix::apply`].
    pub fn apply<T: Scalar>(
        &mut self,
        a: &Matrix<T>,
        alpha: T::Accum,
        x: &Vector<T>,
        beta: T::Accum,
        y: &mut Vector<T::Accum>,
    ) -> Result<()> {
        let (x, y) = (&*x.erased, &mut *y.erased);
        let done = T::products(&mut *self.erased).apply(a.erased(), alpha, x, beta, y, AnyEpilogue::NONE);
        self.told(done)
    }

    /// `y <- alpha*x + beta*y`. As in BLAS, a factor of zero does not read what it scales.
    ///
    /// # Errors
    /// Vectors of another length or context, scalars of another queue, sums that were never repaired, failures of the device.
    pub fn axpby<A: Number>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &Vector<A>,
        beta: impl Into<Factor<A>>,
        y: &mut Vector<A>,
    ) -> Result<()> {
        self.update(alpha.into(), Source::One(&*x.erased), beta.into(), y, None)
    }

    /// As [`axpby`](Self::axpby), and the sum of squares of the new `y`, of its absolute values, in one pass.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn axpby_dot<A: Number>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &Vector<A>,
        beta: impl Into<Factor<A>>,
        y: &mut Vector<A>,
        yy: DeviceScalar<A>,
    ) -> Result<()> {
        let dot = Some(DotInto { with: None, to: yy });
        self.update(alpha.into(), Source::One(&*x.erased), beta.into(), y, dot)
    }

    /// As [`axpby`](Self::axpby), and the sum of products of the new `y`, conjugate if it is complex, and `z`, in one pass.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn axpby_dot_with<A: Number>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &Vector<A>,
        beta: impl Into<Factor<A>>,
        y: &mut Vector<A>,
        z: &Vector<A>,
        yz: DeviceScalar<A>,
    ) -> Result<()> {
        let dot = Some(DotInto { with: Some(&*z.erased), to: yz });
        self.update(alpha.into(), Source::One(&*x.erased), beta.into(), y, dot)
    }

    /// `x <- alpha*d + x`, then `d <- z + beta*d`, in one pass: how conjugate gradients take a step and a new direction. A factor of zero
    /// does not read what it scales.
    ///
    /// ```
    /// let context = spmv::Context::auto()?;
    /// let (mut x, z, mut d) = (context.upload(&[1.0f64])?, context.upload(&[5.0])?, context.upload(&[2.0])?);
    /// let mut queue = context.queue()?;
    /// queue.axpy_aypx(3.0, &mut x, &z, -1.0, &mut d)?;
    /// assert_eq!((x.to_vec()?, d.to_vec()?), (vec![7.0], vec![3.0]));
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn axpy_aypx<A: Number>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        x: &mut Vector<A>,
        z: &Vector<A>,
        beta: impl Into<Factor<A>>,
        d: &mut Vector<A>,
    ) -> Result<()> {
        let (x, d) = (&mut *x.erased, &mut *d.erased);
        let done = A::vectors(&mut *self.erased).axpy_aypx(alpha.into(), x, &*z.erased, beta.into(), d);
        self.told(done)
    }

    /// `y <- alpha*(d.*x) + beta*y`, number by number.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn hadamard<A: Number>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        d: &Vector<A>,
        x: &Vector<A>,
        beta: impl Into<Factor<A>>,
        y: &mut Vector<A>,
    ) -> Result<()> {
        self.update(alpha.into(), Source::Product(&*d.erased, &*x.erased), beta.into(), y, None)
    }

    /// As [`hadamard`](Self::hadamard), and the sum of products of the new `y`, conjugate if it is complex, and `z`, in one pass.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[allow(clippy::too_many_arguments)] // Those of `hadamard`, `z` and where the sum goes.
    pub fn hadamard_dot<A: Number>(
        &mut self,
        alpha: impl Into<Factor<A>>,
        d: &Vector<A>,
        x: &Vector<A>,
        beta: impl Into<Factor<A>>,
        y: &mut Vector<A>,
        z: &Vector<A>,
        yz: DeviceScalar<A>,
    ) -> Result<()> {
        let dot = Some(DotInto { with: Some(&*z.erased), to: yz });
        self.update(alpha.into(), Source::Product(&*d.erased, &*x.erased), beta.into(), y, dot)
    }

    /// `y <- x`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn copy<A: Number>(&mut self, x: &Vector<A>, y: &mut Vector<A>) -> Result<()> {
        self.axpby(A::one(), x, A::zero(), y)
    }

    /// `y <- beta*y`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn scale<A: Number>(&mut self, beta: impl Into<Factor<A>>, y: &mut Vector<A>) -> Result<()> {
        let done = A::vectors(&mut *self.erased).scale(beta.into(), &mut *y.erased);
        self.told(done)
    }

    /// Sets all of `y` to a number.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn fill<A: Number>(&mut self, value: impl Into<Factor<A>>, y: &mut Vector<A>) -> Result<()> {
        let done = A::vectors(&mut *self.erased).fill(value.into(), &mut *y.erased);
        self.told(done)
    }

    /// The sum of products of `x`, conjugate if it is complex, and `z`.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn dot<A: Number>(&mut self, x: &Vector<A>, z: &Vector<A>, xz: DeviceScalar<A>) -> Result<()> {
        let done = A::vectors(&mut *self.erased).dot(&*x.erased, &*z.erased, xz);
        self.told(done)
    }

    /// The greatest absolute value of `x`; 0 without any. A NaN counts as the greatest where the device knows NaN.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn norm_inf<A: Number>(&mut self, x: &Vector<A>, norm: DeviceScalar<A>) -> Result<()> {
        let done = A::vectors(&mut *self.erased).norm_inf(&*x.erased, norm);
        self.told(done)
    }

    /// Queues what `work` does, as one launch where the device can: a CUDA graph, which is made at the second time and kept, and
    /// started whenever the same operations on the same vectors, scalars and matrices are recorded again. Elsewhere each operation
    /// starts at once. A queue keeps 256 graphs.
    ///
    /// Until `work` returns, its vectors can be used through this queue alone. What waits or submits in it ends the recording: reads and writes
    /// of scalars, new programs, [`wait`](Self::wait), [`submit`](Self::submit), and products whose sums the host repairs.
    ///
    /// ```
    /// let context = spmv::Context::auto()?;
    /// let (x, mut y) = (context.upload(&[1.0f64, 2.0])?, context.zeros(2)?);
    /// let mut queue = context.queue()?;
    /// for _ in 0..3 {
    ///     queue.record(|queue| {
    ///         queue.scale(2.0, &mut y)?;
    ///         queue.axpby(1.0, &x, 1.0, &mut y)
    ///     })?;
    /// }
    /// assert_eq!(y.to_vec()?, [7.0, 14.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// What `work` returns, and what it queued before is started all the same, if it can be; failures of the device.
    pub fn record<E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let within_another = self.erased.hold();
        let mut held = Held { queue: self, ends: !within_another };
        let done = work(held.queue);
        let released = held.end();
        done.and_then(|()| Ok(released?))
    }

    /// Hands over what has been queued, so that the device begins; waiting does so too.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn submit(&mut self) -> Result<()> {
        Ok(self.erased.submit()?)
    }

    /// Waits until all operations are done.
    ///
    /// # Errors
    /// Failures of the device; what vectors then hold is unspecified.
    pub fn wait(&mut self) -> Result<()> {
        Ok(self.erased.wait()?)
    }

    fn update<A: Number>(
        &mut self,
        alpha: Factor<A>,
        u: Source<'_, A>,
        beta: Factor<A>,
        y: &mut Vector<A>,
        dot: Option<DotInto<'_, A>>,
    ) -> Result<()> {
        let done = A::vectors(&mut *self.erased).update(alpha, u, beta, &mut *y.erased, dot);
        self.told(done)
    }

    fn told(&self, done: std::result::Result<(), Mismatch>) -> Result<()> {
        Ok(done?)
    }
}

/// A queue while it records. Where that ends, what is held back is started, after a panic too.
struct Held<'q> {
    queue: &'q mut Queue,
    ends: bool,
}

impl Held<'_> {
    fn end(&mut self) -> Result<()> {
        if std::mem::take(&mut self.ends) { Ok(self.queue.erased.release()?) } else { Ok(()) }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Where an error can be returned, `end` was called before.
        let _ = self.end();
    }
}
