//! Scalars of a queue, as the host makes, reads and writes them.

use std::marker::PhantomData;

use spmv_backend::{Backend, Error as DeviceError};
use spmv_core::Accum;

use crate::error::Result;
use crate::factor::DeviceScalar;
use crate::queue::{Queue, same_length};

/// Scalars between which a read allocates nothing.
const FEW: usize = 64;

impl<B: Backend> Queue<B> {
    /// A scalar, 0 to begin with. There are 4095 of each type, fewer where buffers are small.
    ///
    /// # Errors
    /// `Unsupported` when all are taken, or where the device has no arithmetic of the type; out of memory.
    pub fn scalar<A: Accum>(&mut self) -> Result<DeviceScalar<A>> {
        let (queue, device) = (self.id(), self.device().clone());
        let numbers = self.numbers::<A>()?;
        if numbers.taken == numbers.n_scalars {
            let what = format!("more than {} scalars of a queue", numbers.n_scalars - 1);
            return Err(
                DeviceError::unsupported(&*device.caps().name, what, "use those there are again").into()
            );
        }
        numbers.taken += 1;
        Ok(DeviceScalar { at: numbers.taken - 1, queue, of: PhantomData })
    }

    /// The number, after all operations before. Waits.
    ///
    /// # Errors
    /// [`Error::Foreign`](crate::Error::Foreign) of another queue, and failures of the device.
    pub fn read_scalar<A: Accum>(&mut self, from: DeviceScalar<A>) -> Result<A> {
        let mut value = [A::zero()];
        self.read_scalars(&[from], &mut value)?;
        Ok(value[0])
    }

    /// Several numbers, after all operations before, with one wait and one copy.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) for other numbers of values, [`Error::Foreign`](crate::Error::Foreign) of another queue, and failures of the device.
    pub fn read_scalars<A: Accum>(&mut self, from: &[DeviceScalar<A>], values: &mut [A]) -> Result<()> {
        same_length(from.len(), [("the slice", values.len())])?;
        self.release()?;
        from.iter().try_for_each(|scalar| self.index_of(Some(*scalar)).map(drop))?;
        let (Some(first), Some(last)) = (from.iter().map(|s| s.at).min(), from.iter().map(|s| s.at).max())
        else {
            return Ok(());
        };
        let (mut few, mut many) = ([A::zero(); FEW], vec![]);
        let n = (last - first) as usize + 1;
        let all = if n <= FEW {
            &mut few[..n]
        } else {
            many.resize(n, A::zero());
            &mut many[..]
        };
        let joined = self.join_copies();
        self.passed(joined)?;
        let (device, stream, numbers) = self.parts::<A>();
        let (at, read) = (u64::from(first) * A::DTYPE.bytes() as u64, &mut *all);
        let read = device.backend().read(stream, &numbers.scalars, at, bytemuck::cast_slice_mut(read));
        self.passed(read)?;
        for (value, scalar) in values.iter_mut().zip(from) {
            *value = all[(scalar.at - first) as usize];
        }
        self.end();
        Ok(())
    }

    /// Sets a scalar, in order. Some devices wait for what was queued before.
    ///
    /// # Errors
    /// [`Error::Foreign`](crate::Error::Foreign) of another queue, and failures of the device.
    pub fn write_scalar<A: Accum>(&mut self, value: A, to: DeviceScalar<A>) -> Result<()> {
        let at = u64::from(self.index_of(Some(to))?) * A::DTYPE.bytes() as u64;
        self.release()?;
        self.numbers::<A>()?;
        let (device, stream, numbers) = self.parts_mut::<A>();
        Ok(device.backend().write(stream, &mut numbers.scalars, at, bytemuck::cast_slice(&[value]))?)
    }
}
