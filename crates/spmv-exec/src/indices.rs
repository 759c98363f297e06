//! Positions in vectors, by which a queue gathers values and adds to them.

use spmv_backend::arguments::VecScatterAdd;
use spmv_backend::{Backend, Memory};
use spmv_core::{Accum, Value};

use crate::device::{Device, DeviceVec};
use crate::error::{Error, Result};
use crate::launch::{launch, to_slots};
use crate::numbers::{Cut, counted};
use crate::queue::{Queue, same_length};

/// Positions in vectors of one length, on the device. They never change.
///
/// Four bytes each. A queue that still goes by them may outlive them: their memory is freed when the device is done with it.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// let ends = device.indices(&[0, 2], 3)?;
/// let (x, mut y) = (device.upload(&[1.0f64, 2.0, 3.0])?, device.zeros(2)?);
/// let mut queue = device.queue()?;
/// queue.gather(&x, &ends, &mut y)?;
/// assert_eq!(y.to_vec()?, [1.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Indices<B: Backend> {
    device: Device<B>,
    buffer: B::Buffer,
    n: u32,
    of_len: usize,
    /// Why sums cannot go by them, if two are the same.
    repeated: Option<Error>,
}

impl<B: Backend> Device<B> {
    /// Copies positions in vectors of `len` values to the device, each of which is below that. They need not be in order, and one may be
    /// there several times.
    ///
    /// O(n) where they ascend, else O(n log n).
    ///
    /// # Errors
    /// [`Error::Index`] for one that is not below `len`, `Unsupported` for more than kernels count (4,294,901,759), out of memory.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// use spmv_exec::Error;
    /// assert_eq!(device.indices(&[4, 0, 4], 5)?.len(), 3);
    /// let refused = device.indices(&[4, 5], 5);
    /// assert!(matches!(refused, Err(Error::Index { at: 1, index: 5, len: 5 })));
    /// # Ok(()) }
    /// ```
    pub fn indices(&self, indices: &[u32], len: usize) -> Result<Indices<B>> {
        // A vector that is no longer than this has no position that `gather_values` takes for padding.
        counted(self, len)?;
        let n = counted(self, indices.len())?;
        if let Some((at, index)) = (0..).zip(indices).find(|(_, index)| **index as usize >= len) {
            return Err(Error::Index { at, index: *index, len });
        }
        let mut buffer = self.scratch::<u32>(indices.len())?;
        let bytes = bytemuck::cast_slice(indices);
        self.copies(|stream| self.backend().write(stream, &mut buffer, 0, bytes))?;
        Ok(Indices { device: self.clone(), buffer, n, of_len: len, repeated: repeated(indices) })
    }
}

/// The first index that an earlier one is too.
fn repeated(indices: &[u32]) -> Option<Error> {
    if indices.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut order: Vec<u32> = (0..indices.len() as u32).collect();
    order.sort_unstable_by_key(|at| (indices[*at as usize], *at));
    let pairs = order.windows(2).map(|pair| [pair[0] as usize, pair[1] as usize]);
    let same = pairs.filter(|[first, at]| indices[*first] == indices[*at]);
    let [first, at] = same.min_by_key(|[_, at]| *at)?;
    Some(Error::RepeatedIndex { at, first, index: indices[at] })
}

impl<B: Backend> Indices<B> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The length of the vectors that they are positions in.
    pub fn of_len(&self) -> usize {
        self.of_len
    }

    /// Whether no position is there twice, as [`Queue::scatter_add`] needs it.
    pub fn all_differ(&self) -> bool {
        self.repeated.is_none()
    }

    /// The device that has them.
    pub fn device(&self) -> &Device<B> {
        &self.device
    }
}

impl<B: Backend> Queue<B> {
    /// `to[i] <- from[at[i]]`. `from` is as long as `at` says, `to` has a value for each index, whatever it held before.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`], [`Error::Unrepaired`] of `from`, `Unsupported` for a type that the device does not store, and
    /// failures of the device.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// let at = device.indices(&[2, 0, 2], 3)?;
    /// let (x, mut y) = (device.upload(&[1.0f32, 2.0, 3.0])?, device.zeros(3)?);
    /// device.queue()?.gather(&x, &at, &mut y)?;
    /// assert_eq!(y.to_vec()?, [3.0, 1.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn gather<T: Value>(
        &mut self,
        from: &DeviceVec<B, T>,
        at: &Indices<B>,
        to: &mut DeviceVec<B, T>,
    ) -> Result<()> {
        self.has(at)?;
        same_length(at.of_len, [("from", from.len())])?;
        same_length(at.len(), [("to", to.len())])?;
        self.reads("from", from)?;
        self.by_indices.gather(&self.device, T::DTYPE)?;
        // Nothing is refused from here on, so that a vector counts as written only if it is.
        self.writes("to", to, false)?;
        let kernel = self.by_indices.gather(&self.device, T::DTYPE)?;
        let done = to_slots(
            &self.device,
            &self.stream,
            kernel,
            at.n,
            &at.buffer,
            Memory::Device(&from.buffer),
            &to.buffer,
        );
        to.unrepaired = done.is_err();
        done
    }

    /// `y[at[i]] <- y[at[i]] + x[i]`, with the same bits in every run: no position is there twice, so each value is added to once. `y` is
    /// as long as `at` says, `x` has a number for each index.
    ///
    /// # Errors
    /// [`Error::RepeatedIndex`] unless [`all differ`](Indices::all_differ), and as [`axpby`](Self::axpby).
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// let at = device.indices(&[2, 0], 3)?;
    /// let (x, mut y) = (device.upload(&[0.5f64, 0.25])?, device.upload(&[1.0, 2.0, 3.0])?);
    /// device.queue()?.scatter_add(&x, &at, &mut y)?;
    /// assert_eq!(y.to_vec()?, [1.25, 2.0, 3.5]);
    /// # Ok(()) }
    /// ```
    pub fn scatter_add<A: Accum>(
        &mut self,
        x: &DeviceVec<B, A>,
        at: &Indices<B>,
        y: &mut DeviceVec<B, A>,
    ) -> Result<()> {
        self.has(at)?;
        if let Some(repeated) = &at.repeated {
            return Err(repeated.clone());
        }
        same_length(at.len(), [("x", x.len())])?;
        same_length(at.of_len, [("y", y.len())])?;
        self.reads("x", x)?;
        let Cut { n, groups, chunk } = self.cut::<A>(at.len())?;
        self.by_indices.scatter(&self.device, A::DTYPE)?;
        // Nothing is refused from here on, so that a vector counts as written only if it is.
        self.writes("y", y, true)?;
        let kernel = self.by_indices.scatter(&self.device, A::DTYPE)?;
        let groups = if at.is_empty() { 0 } else { groups };
        let args = VecScatterAdd {
            n,
            chunk,
            at: Memory::Device(&at.buffer),
            x: Memory::Device(&x.buffer),
            y: Memory::Device(&y.buffer),
        };
        let done = launch(&self.device, &self.stream, kernel, groups, args);
        y.unrepaired = done.is_err();
        done
    }

    fn has(&self, at: &Indices<B>) -> Result<()> {
        let is_own = at.device.is(&self.device);
        if is_own { Ok(()) } else { Err(Error::Foreign { what: "the indices", to: "device" }) }
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Csr;
    use spmv_cpu::{Cpu, Options as CpuOptions};

    use super::*;
    use crate::Options;

    fn device() -> Device<Cpu> {
        Device::new(Cpu::open(CpuOptions::default()).unwrap()).unwrap()
    }

    #[test]
    fn the_first_index_that_repeats_is_named_with_the_one_it_repeats() {
        let repeats = |indices: &[u32]| match repeated(indices) {
            Some(Error::RepeatedIndex { at, first, index }) => Some((at, first, index)),
            _ => None,
        };
        assert_eq!([&[][..], &[3], &[0, 2, 9], &[9, 0, 2]].map(repeats), [None; 4]);
        assert_eq!(repeats(&[4, 4]), Some((1, 0, 4)));
        assert_eq!(repeats(&[7, 1, 5, 1, 7, 1]), Some((3, 1, 1)), "7 repeats later");
    }

    #[test]
    fn vectors_longer_than_kernels_count_have_no_indices() {
        for len in [u32::MAX as usize, usize::MAX] {
            let refused = device().indices(&[0], len).unwrap_err();
            assert!(matches!(refused, Error::Device(spmv_backend::Error::Unsupported { .. })), "{refused}");
        }
    }

    #[test]
    fn sums_that_were_never_repaired_are_overwritten_but_neither_read_nor_added_to() {
        let device = device();
        let mut queue = device.queue().unwrap();
        let a = Csr::from_coo(2, 2, &[(0, 0, 2.0f64), (1, 1, 2.0)]).unwrap();
        let a = device.prepare(a.view(), &Options::default()).unwrap();
        let (x, mut y) = (device.upload(&[1.0, 3.0]).unwrap(), device.zeros(2).unwrap());
        let mut out = device.zeros(2).unwrap();
        let (both, none) = (device.indices(&[1, 0], 2).unwrap(), device.indices(&[], 2).unwrap());
        let mut workspace = a.workspace().unwrap();
        std::mem::forget(a.enqueue(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap());
        assert_eq!(queue.gather(&y, &both, &mut out), Err(Error::Unrepaired));
        assert_eq!(queue.scatter_add(&y, &both, &mut out), Err(Error::Unrepaired));
        assert_eq!(queue.scatter_add(&x, &both, &mut y), Err(Error::Unrepaired));
        assert_eq!(queue.scatter_add(&device.zeros(0).unwrap(), &none, &mut y), Err(Error::Unrepaired));
        queue.gather(&x, &both, &mut y).unwrap();
        assert_eq!((y.to_vec().unwrap(), out.to_vec().unwrap()), (vec![3.0, 1.0], vec![0.0, 0.0]));
    }
}
