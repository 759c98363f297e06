//! Memory of a device, which the driver keeps for later buffers where it has pools.

use std::sync::{Mutex, PoisonError};

use crate::device_driver::{
    self as sys, Answer, CUdevice, CUdeviceptr, CUmemoryPool, CUstream, MemAccess, MemPoolProps,
};
use crate::device_queries::{self as queries, Attribute};

/// Of a device's memory a pool keeps one part in so many, once that was in use; what is free beyond goes back to the driver.
const KEPT: u64 = 128;

/// A pool of the driver. Memory from it costs a tenth of the time of other memory, unless the pool has to grow.
#[derive(Debug)]
pub(crate) struct Pool {
    pool: CUmemoryPool,
    /// Memory comes and goes in its order. Nothing else is done on it.
    stream: CUstream,
    /// What was dropped while launches were captured, when nobody may wait for the device, or while another thread waited for it.
    late: Mutex<Vec<CUdeviceptr>>,
}

impl Pool {
    /// `None` where the driver has no pools. The context of the device is the thread's.
    pub(crate) fn new(device: CUdevice) -> Option<Self> {
        queries::attribute(device, Attribute::MemoryPoolsSupported).ok().filter(|has| *has != 0)?;
        let (mut kept, mut pool) = (queries::total_bytes(device).ok()? / KEPT, CUmemoryPool::NULL);
        // SAFETY: reads the properties, and writes a new pool to `pool`.
        unsafe { sys::cuMemPoolCreate(&mut pool, &MemPoolProps::of(device)) }.ok()?;
        /// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, of 64 bits.
        const RELEASE_THRESHOLD: i32 = 4;
        // A pool that keeps less is one all the same.
        // SAFETY: the pool lives; reads the 64 bits of `kept`.
        let _ = unsafe { sys::cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, (&raw mut kept).cast()) };
        let mut stream = CUstream::NULL;
        if sys::new_stream(&mut stream).is_err() {
            // SAFETY: made above.
            let _ = unsafe { sys::cuMemPoolDestroy(pool) };
            return None;
        }
        Some(Self { pool, stream, late: Mutex::default() })
    }

    /// Writes the address of new memory of so many bytes, more than none; where there is no more, of what could not be taken back earlier. The
    /// context is the thread's.
    pub(crate) fn alloc(
        &self,
        start: &mut CUdeviceptr,
        bytes: usize,
        wait: impl FnOnce() -> Option<Answer>,
    ) -> Answer {
        self.take(start, bytes).or_else(|_| {
            // SAFETY: gives it no memory.
            unsafe { self.free(None, wait) };
            self.take(start, bytes)
        })
    }

    fn take(&self, start: &mut CUdeviceptr, bytes: usize) -> Answer {
        // SAFETY: pool and stream live; writes an address to `start`.
        unsafe { sys::cuMemAllocFromPoolAsync(start, bytes, self.pool, self.stream) }?;
        // Then it is there for every stream.
        // SAFETY: the stream lives.
        unsafe { sys::cuStreamSynchronize(self.stream) }
    }

    /// Takes memory back, with what could not be taken back earlier, once `wait` has waited for all work of the device. If it may not, it gives
    /// `None`, and a later call takes all of it. The context is the thread's.
    ///
    /// # Safety
    /// The memory is of this pool, and only work that began before uses it.
    pub(crate) unsafe fn free(&self, memory: Option<CUdeviceptr>, wait: impl FnOnce() -> Option<Answer>) {
        // Held meanwhile: of what is in the list nothing is used by work that begins later.
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.extend(memory);
        let Some(waited) = wait() else { return };
        for start in late.drain(..).filter(|_| waited.is_ok()) {
            // SAFETY: of this pool and in nobody's hands (contract), and the work that used it is over. An error (of a device that was lost,
            // say) leaves nothing to be done.
            let _ = unsafe { sys::cuMemFreeAsync(start, self.stream) };
        }
    }

    /// Lets another device, which can, reach what comes from the pool.
    pub(crate) fn open_to(&self, device: CUdevice) -> Answer {
        // SAFETY: the pool lives; reads one description.
        unsafe { sys::cuMemPoolSetAccess(self.pool, &MemAccess::of(device), 1) }
    }

    /// Releases the pool. The context is the thread's.
    ///
    /// # Safety
    /// Nothing of it is used later, and no memory is in use.
    pub(crate) unsafe fn close(&self, wait: impl FnOnce() -> Option<Answer>) {
        // SAFETY: gives it no memory.
        unsafe { self.free(None, wait) };
        // SAFETY: made by `new`, and destroyed only here, as is the pool. What could not be freed keeps the driver from releasing the pool, and
        // nothing else.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
        // SAFETY: as above.
        let _ = unsafe { sys::cuMemPoolDestroy(self.pool) };
    }
}
