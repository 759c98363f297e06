//! Vectors that live on the device.

use spmv_core::Value;

use crate::erased::AnyVector;
use crate::error::Result;

/// A vector on the device of a [`Context`](crate::Context): `x` in the matrix's value type, `y` in its type of sums
/// (`f32` for 16- and 32-bit values, else `f64`).
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
}

impl<T: Value> Vector<T> {
    pub(crate) fn new(erased: Box<dyn AnyVector<T>>) -> Self {
        Self { erased }
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
