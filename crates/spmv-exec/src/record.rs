//! Operations of a queue that start together.

use spmv_backend::Backend;

use crate::error::{Error, Result};
use crate::queue::{Queue, next_id};

impl<B: Backend> Queue<B> {
    /// Queues what `work` does, as one launch where the device can: a CUDA graph, which is made at the second time and kept, and
    /// started whenever the same operations on the same vectors, scalars and matrices are recorded again. Elsewhere each operation
    /// starts at once.
    ///
    /// Until `work` returns, its vectors can be used through this queue alone ([`Error::Recorded`]). What waits or submits in it ends the recording:
    /// reads and writes of scalars, new programs, [`wait`](Self::wait), [`submit`](Self::submit), and products whose sums the host repairs.
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
    /// What `work` returns, and what it queued before is started all the same, if it can be; failures of the device.
    pub fn record<E: From<Error>>(&mut self, work: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let within_another = self.hold();
        let mut held = Held { queue: self, ends: !within_another };
        let done = work(held.queue);
        let released = held.end();
        done.and_then(|()| Ok(released?))
    }

    /// Begins what [`record`](Self::record) does, until [`release`](Self::release). Whether operations were held back before.
    pub fn hold(&mut self) -> bool {
        let before = self.recording != 0;
        if !before && self.device.backend().hold(&self.stream) {
            self.recording = next_id();
            self.device.stretches().held.push(self.recording);
        }
        before
    }

    /// Starts what is held back, if anything is.
    ///
    /// # Errors
    /// Failures of the device; what vectors then hold is unspecified.
    pub fn release(&mut self) -> Result<()> {
        let recording = std::mem::take(&mut self.recording);
        if recording == 0 {
            return Ok(());
        }
        let released = self.device.backend().release(&self.stream);
        self.device.stretches().held.retain(|held| *held != recording);
        self.passed(released)
    }
}

/// A queue while it records. Where that ends, what is held back is started, after a panic too.
struct Held<'q, B: Backend> {
    queue: &'q mut Queue<B>,
    ends: bool,
}

impl<B: Backend> Held<'_, B> {
    fn end(&mut self) -> Result<()> {
        if std::mem::take(&mut self.ends) { self.queue.release() } else { Ok(()) }
    }
}

impl<B: Backend> Drop for Held<'_, B> {
    fn drop(&mut self) {
        // Where an error can be returned, `end` was called before.
        let _ = self.end();
    }
}
