//! Vectors that live on the device.

use std::sync::Arc;

use spmv_core::Value;
use spmv_exec::BlockShape;

use crate::erased::{Element, Number};
use crate::erased_matrix::{AnyVector, Mismatch};
use crate::erased_queue::{AnyQueue, Source};
use crate::error::Result;
use crate::origin::Origin;

/// A vector on the device of a [`Context`](crate::Context): `x` in the matrix's value type, `y` in its type of sums
/// (`f32` for 16-bit values, else the same).
///
/// ```
/// use spmv::Context;
/// let context = Context::auto()?;
/// let mut x = context.zeros::<f32>(3)?;
/// x.write(&[1.0, 2.0, 3.0])?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Debug)]
pub struct Vector<T: Value> {
    pub(crate) erased: Box<dyn AnyVector<T>>,
    origin: Arc<Origin>,
}

impl<T: Value> Vector<T> {
    pub(crate) fn zeros(origin: &Arc<Origin>, len: usize) -> Result<Self>
    where
        T: Element,
    {
        Ok(Self::of(origin, T::device(&*origin.device).zeros(len)?))
    }

    /// That of a block, of `len` values.
    pub(crate) fn zeros_block(origin: &Arc<Origin>, shape: BlockShape, len: usize) -> Result<Self>
    where
        T: Element,
    {
        Ok(Self::of(origin, T::device(&*origin.device).zeros_block(shape, len)?))
    }

    /// One that is there already.
    pub(crate) fn of(origin: &Arc<Origin>, erased: Box<dyn AnyVector<T>>) -> Self {
        Self { erased, origin: Arc::clone(origin) }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.erased.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Overwrites all values.
    ///
    /// # Errors
    /// Another length, and whatever the driver says.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        Ok(self.erased.write(values)?)
    }

    /// Copies all values to the host.
    ///
    /// # Errors
    /// Another length, sums that were never repaired, and whatever the driver says.
    pub fn read(&self, values: &mut [T]) -> Result<()> {
        Ok(self.erased.read(values)?)
    }

    /// Copies all values to a new `Vec`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.len()];
        self.read(&mut values)?;
        Ok(values)
    }

    /// Shows the values to the host: in place where host and device share memory, else a copy. Others may look at the same time, and
    /// what the device only reads stays in use.
    ///
    /// ```
    /// let x = spmv::Context::auto()?.upload(&[1.0f32, 2.0])?;
    /// assert_eq!(x.with(|x| x.iter().sum::<f32>())?, 3.0);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn with<R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        let (mut f, mut result) = (Some(f), None);
        self.erased.with(&mut |values| result = f.take().map(|f| f(values)))?;
        Ok(result.expect("values that are shown have been looked at"))
    }

    /// Maps the values in place, where host and device share memory.
    ///
    /// # Errors
    /// `Unsupported` where memory is discrete, and sums that were never repaired.
    pub fn map<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        let (mut f, mut result) = (Some(f), None);
        self.erased.map(&mut |values| {
            if let Some(f) = f.take() {
                result = Some(f(values));
            }
        })?;
        Ok(result.expect("a map that succeeds has looked"))
    }
}

/// Operations on vectors in the type of sums, on the device. Each waits; [`Queue`](crate::Queue) has the same without waits, and
/// some that do two at a time. Vectors are of one length and context. After the first of each kind, none allocates memory of the
/// device. In co-execution vectors are in the host's memory, and the cores compute with them.
impl<A: Number> Vector<A> {
    /// The sum of products, of conjugates of these numbers with the other ones, with the same bits in every run. O(len).
    ///
    /// ```
    /// let context = spmv::Context::auto()?;
    /// let (x, y) = (context.upload(&[1.0f64, 2.0])?, context.upload(&[3.0, 4.0])?);
    /// assert_eq!(x.dot(&y)?, 11.0);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another length or context, sums that were never repaired, failures of the device.
    pub fn dot(&self, other: &Self) -> Result<A> {
        self.origin.result(|queue, to| A::vectors(queue).dot(&*self.erased, &*other.erased, to))
    }

    /// The Euclidean norm: the square root of [`dot`](Self::dot) with itself, which overflows where squares do.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn norm2(&self) -> Result<A::Part> {
        Ok(num_traits::Float::sqrt(self.dot(self)?.re()))
    }

    /// The greatest absolute value; 0 without any.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn norm_inf(&self) -> Result<A::Part> {
        let norm: Result<A> = self.origin.result(|queue, to| A::vectors(queue).norm_inf(&*self.erased, to));
        Ok(norm?.re())
    }

    /// `self <- alpha*x + beta*self`. As in BLAS, a factor of zero does not read what it scales.
    ///
    /// ```
    /// let context = spmv::Context::auto()?;
    /// let (x, mut y) = (context.upload(&[1.0f32, 2.0])?, context.upload(&[3.0, 4.0])?);
    /// y.axpby(2.0, &x, -1.0)?;
    /// assert_eq!(y.to_vec()?, [-1.0, 0.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn axpby(&mut self, alpha: A, x: &Self, beta: A) -> Result<()> {
        self.changed(|queue, y| {
            A::vectors(queue).update(alpha.into(), Source::One(&*x.erased), beta.into(), y, None)
        })
    }

    /// `self <- alpha*(d.*x) + beta*self`, number by number.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn hadamard(&mut self, alpha: A, d: &Self, x: &Self, beta: A) -> Result<()> {
        let u = Source::Product(&*d.erased, &*x.erased);
        self.changed(|queue, y| A::vectors(queue).update(alpha.into(), u, beta.into(), y, None))
    }

    /// `self <- by*self`.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn scale(&mut self, by: A) -> Result<()> {
        self.changed(|queue, y| A::vectors(queue).scale(by.into(), y))
    }

    /// Sets all numbers to `value`.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn fill(&mut self, value: A) -> Result<()> {
        self.changed(|queue, y| A::vectors(queue).fill(value.into(), y))
    }

    /// `self <- x`.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn copy_from(&mut self, x: &Self) -> Result<()> {
        self.axpby(A::one(), x, A::zero())
    }

    /// A copy on the same device.
    ///
    /// # Errors
    /// As [`dot`](Self::dot), and out of memory.
    pub fn try_clone(&self) -> Result<Self> {
        let mut copy = Self::zeros(&self.origin, self.len())?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    fn changed(
        &mut self,
        op: impl FnOnce(&mut dyn AnyQueue, &mut dyn AnyVector<A>) -> std::result::Result<(), Mismatch>,
    ) -> Result<()> {
        self.origin.run(|queue| op(queue, &mut *self.erased))
    }
}
