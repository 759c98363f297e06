//! Operations of a queue that start together.

use spmv_backend::Backend;

use crate::error::{Error, Result};
use crate::queue::Queue;

impl<B: Backend> Queue<B> {
    /// Queues what `work` does, as one launch where the device can: a CUDA graph, which is made at the first time and kept, and
    /// started whenever the same operations on the same vectors, scalars and matrices are recorded again. Elsewhere each operation
    /// starts at once.
    ///
    /// Until `work` returns, its vectors can be used through this queue alone ([`Error::Recorded`]). What waits in it ends the recording:
    /// reads and writes of scalars, [`wait`](Self::wait), and products whose sums the host repairs.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// let mut queue = device.queue()?;
    /// let (x, mut y) = (device.upload(&[1.0f64, 2.0])?, device.zeros(2)?);
    /// for _ in 0..3 {
    ///     queue.record(|queue| {
    ///         queue.scale(2.0, &mut y)?;
    ///         queue.axpby(1.0, &x, 1.0, &mut y)
    ///     })?;
    /// }
    /// assert_eq!(y.to_vec()?, [7.0, 14.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What `work` returns; what it queued before is started all the same. Failures of the device.
    pub fn record<E: From<Error>>(&mut self, work: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let within_another = self.hold();
        let done = work(self);
        let released = if within_another { Ok(()) } else { self.release() };
        done.and_then(|()| Ok(released?))
    }

    /// Begins what [`record`](Self::record) does, until [`release`](Self::release). Whether operations were held back before.
    pub fn hold(&mut self) -> bool {
        let before = self.holds;
        if !before && self.device.backend().hold(&self.stream) {
            self.holds = true;
            self.device.stretches().held.push(self.stretch);
        }
        before
    }

    /// Starts what is held back, if anything is.
    ///
    /// # Errors
    /// Failures of the device; what vectors then hold is unspecified.
    pub fn release(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.holds) {
            return Ok(());
        }
        let released = self.device.backend().release(&self.stream);
        let stretch = self.stretch;
        self.device.stretches().held.retain(|held| *held != stretch);
        self.passed(released)
    }
}
