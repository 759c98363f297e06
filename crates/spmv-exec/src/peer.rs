//! Copies between queues of several devices.

use std::ops::Range;

use spmv_backend::Backend;
use spmv_core::{Accum, Value};

use crate::device::{Device, DeviceVec, bytes_of};
use crate::error::{Error, Result};
use crate::factor::DeviceScalar;
use crate::queue::Queue;

/// What of a queue is meant: its operations, or its copies of vectors to other queues, which run at the same time.
///
/// ```
/// use spmv_exec::Lane;
/// assert_ne!(Lane::Operations, Lane::Copies);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// What a queue does in order.
    Operations,
    /// What [`Queue::copy_to_peer`] does in order, at the same time as the operations.
    Copies,
}

/// A point in the order of a queue's operations or copies, for another queue to be [after](Queue::after).
///
/// ```
/// # fn with<B: spmv_backend::Backend>(queues: &mut [spmv_exec::Queue<B>; 2]) -> Result<(), spmv_exec::Error> {
/// use spmv_exec::{Lane, Mark};
/// let [first, second] = queues;
/// let so_far: Mark<B> = first.mark(Lane::Operations)?;
/// second.after(Lane::Copies, &so_far)?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Mark<B: Backend>(B::Event);

impl<B: Backend> Device<B> {
    /// Whether its queues can copy to vectors and scalars of queues of another device, which may be this one.
    pub fn reaches(&self, peer: &Self) -> bool {
        self.backend().reaches(peer.backend())
    }
}

/// Several devices, each with a queue. None of this waits on the host where the backend has an order across devices.
///
/// A copy comes after nothing of the other queue, and nothing of it after the copy, but for what [`after`](Self::after) says.
impl<B: Backend> Queue<B> {
    fn lane(&mut self, lane: Lane) -> Result<(&B, &B::Stream)> {
        self.release()?;
        let Self { device, stream, copies, .. } = self;
        let backend = device.backend();
        let stream = match (lane, copies) {
            (Lane::Operations, _) => stream,
            (Lane::Copies, Some(copies)) => copies,
            (Lane::Copies, none) => none.insert(backend.open_stream(false)?),
        };
        Ok((backend, stream))
    }

    /// Those of its operations and of its copies.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &B::Stream> {
        [Some(&self.stream), self.copies.as_ref()].into_iter().flatten()
    }

    /// What comes next comes after the copies too.
    pub(crate) fn join_copies(&self) -> spmv_backend::Result<()> {
        let backend = self.device.backend();
        let Some(copies) = &self.copies else { return Ok(()) };
        backend.after(&self.stream, &backend.record(copies)?)
    }

    /// Marks what the queue was given so far.
    ///
    /// # Errors
    /// Whatever the driver says.
    pub fn mark(&mut self, lane: Lane) -> Result<Mark<B>> {
        let (backend, stream) = self.lane(lane)?;
        Ok(Mark(backend.record(stream)?))
    }

    /// Does what it is given from here on after what was marked, of this queue or of another one.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn after(&mut self, lane: Lane, mark: &Mark<B>) -> Result<()> {
        let (backend, stream) = self.lane(lane)?;
        Ok(backend.after(stream, &mark.0)?)
    }

    /// Copies values to a vector of another queue's device, from `to_at` on, among the copies. The rest of that vector counts as written
    /// too.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(queues: &mut [spmv_exec::Queue<B>; 2]) -> Result<(), spmv_exec::Error> {
    /// use spmv_exec::Lane;
    /// let [first, second] = queues;
    /// let (x, mut y) = (first.device().upload(&[1.0f64, 2.0, 3.0])?, second.device().upload(&[0.0; 2])?);
    /// first.copy_to_peer(&x, 1..3, second, &mut y, 0)?;
    /// second.after(Lane::Operations, &first.mark(Lane::Copies)?)?;
    /// second.scale(2.0, &mut y)?;
    /// assert_eq!(y.to_vec()?, [4.0, 6.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a device that it does not [reach](Device::reaches), [`Error::Length`] for a range outside a vector,
    /// [`Error::Foreign`], [`Error::Unrepaired`], and failures of the device.
    pub fn copy_to_peer<T: Value>(
        &mut self,
        from: &DeviceVec<B, T>,
        range: Range<usize>,
        peer: &mut Self,
        to: &mut DeviceVec<B, T>,
        to_at: usize,
    ) -> Result<()> {
        let end = to_at.saturating_add(range.len());
        for (what, found, expected) in [("from", range.end, from.len()), ("to", end, to.len())] {
            if found > expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        self.reads("from", from)?;
        peer.writes("to", to, true)?;
        let (bytes, to_at) = (bytes_of::<T>(range.start)..bytes_of::<T>(range.end), bytes_of::<T>(to_at));
        let (backend, lane) = self.lane(Lane::Copies)?;
        let target = peer.device.backend();
        let copied = backend.copy_to_peer(lane, &from.buffer, bytes, target, &mut to.buffer, to_at);
        to.unrepaired = copied.is_err();
        self.passed(copied)
    }

    /// Copies a scalar to one of another queue, among the operations.
    ///
    /// # Errors
    /// As [`copy_to_peer`](Self::copy_to_peer).
    pub fn copy_scalar_to_peer<A: Accum>(
        &mut self,
        from: DeviceScalar<A>,
        peer: &mut Self,
        to: DeviceScalar<A>,
    ) -> Result<()> {
        let (from, to) = (self.index_of(Some(from))?, peer.index_of(Some(to))?);
        self.release()?;
        self.begin();
        let [from, to] = [from, to].map(|at| bytes_of::<A>(at as usize));
        let bytes = from..from + bytes_of::<A>(1);
        let (device, stream, own) = self.parts::<A>();
        let (target, _, others) = peer.parts_mut::<A>();
        let copied = device.backend().copy_to_peer(
            stream,
            &own.scalars,
            bytes,
            target.backend(),
            &mut others.scalars,
            to,
        );
        self.passed(copied)
    }
}

#[cfg(test)]
mod tests {
    use spmv_cpu::{Cpu, Options};

    use super::*;

    fn queues() -> [Queue<Cpu>; 2] {
        [(); 2].map(|()| Device::new(Cpu::open(Options::default()).unwrap()).unwrap().queue().unwrap())
    }

    #[test]
    fn values_and_scalars_come_over_and_the_rest_stays() {
        let [mut first, mut second] = queues();
        let x = first.device().upload(&[1.0f32, 2.0, 3.0]).unwrap();
        let mut y = second.device().upload(&[7.0f32; 4]).unwrap();
        assert!(first.device().reaches(second.device()));
        first.after(Lane::Copies, &second.mark(Lane::Operations).unwrap()).unwrap();
        first.copy_to_peer(&x, 1..3, &mut second, &mut y, 1).unwrap();
        second.after(Lane::Operations, &first.mark(Lane::Copies).unwrap()).unwrap();
        assert_eq!(y.to_vec().unwrap(), [7.0, 2.0, 3.0, 7.0]);

        let (from, [_, to]) = (first.scalar::<f64>().unwrap(), [(); 2].map(|()| second.scalar().unwrap()));
        first.write_scalar(5.0, from).unwrap();
        first.copy_scalar_to_peer(from, &mut second, to).unwrap();
        assert_eq!(second.read_scalar(to).unwrap(), 5.0);
    }

    #[test]
    fn what_is_out_of_range_or_of_others_is_refused() {
        let [mut first, mut second] = queues();
        let x = first.device().upload(&[1.0f32; 3]).unwrap();
        let mut y = second.device().upload(&[0.0f32; 2]).unwrap();
        for (range, to_at, what) in
            [(0..4, 0, "from"), (0..3, 0, "to"), (0..1, 2, "to"), (0..1, usize::MAX, "to")]
        {
            let refused = first.copy_to_peer(&x, range, &mut second, &mut y, to_at);
            assert!(matches!(refused, Err(Error::Length { what: of, .. }) if of == what), "{refused:?}");
        }
        let refused = second.copy_to_peer(&x, 0..1, &mut first, &mut y, 0);
        assert!(matches!(refused, Err(Error::Foreign { what: "from", .. })), "{refused:?}");
        let own = first.scalar::<f32>().unwrap();
        assert!(matches!(first.copy_scalar_to_peer(own, &mut second, own), Err(Error::Foreign { .. })));
        assert_eq!(y.to_vec().unwrap(), [0.0; 2]);
    }
}
