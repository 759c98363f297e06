//! Buffers, and the pinned memory that copies go through.

use std::any::Any;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::{ptr, thread};

use spmv_backend::{Addressed, Error, Result};
use spmv_core::parts;

use crate::device_driver::{self as sys, Answer, CUdeviceptr, CUevent, CUstream, Pinned};
use crate::device_owned::{Owned, Shared};
use crate::error::During;
use crate::options::Memory;

/// Bytes of each half of the pinned memory: large enough for the bus's full speed.
const HALF: usize = 1 << 20;
/// Threads that write at a time, each to pinned memory of its own: one is slower than the bus.
const WRITERS: usize = 8;
/// Bytes of each of them, at least.
const OF_A_WRITER: usize = 2 * HALF;

/// Memory of a device, given back when it is dropped; that waits for the device's work.
#[derive(Debug)]
pub(crate) struct Block {
    start: CUdeviceptr,
    /// Whether somebody else frees it.
    is_callers: bool,
    pub(crate) shared: Arc<Shared>,
}

impl Block {
    /// The context is the thread's.
    pub(crate) fn alloc(shared: &Arc<Shared>, bytes: usize) -> Result<Self> {
        let mut start: CUdeviceptr = 0;
        let answer = match (&shared.pool, shared.memory) {
            (Some(pool), _) => pool.alloc(&mut start, bytes, || shared.wait_unless_captured()),
            // SAFETY: writes the address of new memory of the thread's context to `start`.
            (None, Memory::Device) => unsafe { sys::cuMemAlloc_v2(&mut start, bytes) },
            (None, Memory::Managed) => {
                /// `CU_MEM_ATTACH_GLOBAL`.
                const ANY_STREAM: u32 = 1;
                // SAFETY: as above; the device offers managed memory (`probe`).
                unsafe { sys::cuMemAllocManaged(&mut start, bytes, ANY_STREAM) }
            }
        };
        shared.check(During::Memory { bytes: bytes as u64 }, answer)?;
        Ok(Self { start, is_callers: false, shared: Arc::clone(shared) })
    }

    /// Memory that somebody else frees.
    pub(crate) fn of_caller(shared: &Arc<Shared>, start: CUdeviceptr) -> Self {
        Self { start, is_callers: true, shared: Arc::clone(shared) }
    }

    /// The address of its first byte.
    pub(crate) fn start(&self) -> CUdeviceptr {
        self.start
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.is_callers {
            return;
        }
        let Ok(_current) = self.shared.enter() else { return };
        match &self.shared.pool {
            // SAFETY: allocated by `alloc` from this pool; work that begins later has no buffer with it.
            Some(pool) => unsafe { pool.free(Some(self.start), || self.shared.wait_unless_captured()) },
            // Waits for the device's work (CUDA driver API, cuMemFree).
            None => {
                // SAFETY: allocated by `alloc` in this context, freed only here. Errors as in `Pool::free`.
                let _ = unsafe { sys::cuMemFree_v2(self.start) };
            }
        }
    }
}

/// Memory that kernels of a device reach.
#[derive(Debug)]
pub struct Buffer {
    /// Keeps memory that was not allocated here; dropped before `memory`, which keeps the context.
    owner: Option<Owner>,
    /// Shared with what a stream holds back, which keeps it until it is started.
    memory: Arc<Block>,
    pub(crate) bytes: u64,
    /// Whether a `zero` may be under way, on any stream.
    pub(crate) zeroed: bool,
    /// Other devices that copied to it.
    writers: Vec<Arc<Shared>>,
}

/// What keeps memory of the caller alive.
pub(crate) type Owner = Box<dyn Any + Send + Sync>;

impl Buffer {
    pub(crate) fn alloc(shared: &Arc<Shared>, bytes: u64) -> Result<Self> {
        let _current = shared.enter()?;
        let full = || Error::OutOfMemory { device: shared.name.clone(), bytes };
        let size = usize::try_from(bytes.max(1)).map_err(|_| full())?;
        let memory = Arc::new(Block::alloc(shared, size)?);
        if shared.memory == Memory::Managed && shared.concurrent_access {
            /// `CU_MEM_ADVISE_SET_PREFERRED_LOCATION`.
            const HOME: i32 = 3;
            // Advice: where it is not taken, pages move when they are touched.
            // SAFETY: the range was allocated above.
            let _ = unsafe { sys::cuMemAdvise(memory.start(), size, HOME, shared.device) };
        }
        Ok(Self { memory, bytes, zeroed: false, owner: None, writers: vec![] })
    }

    /// Memory of the caller, which is not released here.
    pub(crate) fn of_caller(shared: &Arc<Shared>, start: CUdeviceptr, bytes: u64, owner: Owner) -> Self {
        let memory = Arc::new(Block::of_caller(shared, start));
        Self { memory, bytes, zeroed: false, owner: Some(owner), writers: vec![] }
    }

    /// Gives back what was handed over with memory of the caller; `None` for memory of this crate, which is freed.
    ///
    /// Does not wait: work that uses the memory may still be under way.
    ///
    /// ```
    /// use spmv_backend::Backend;
    /// use spmv_cuda::{Cuda, Options};
    /// if let Ok(device) = Cuda::open(Options::default()) {
    ///     assert!(device.alloc(16)?.into_owner().is_none());
    /// }
    /// # Ok::<(), spmv_backend::Error>(())
    /// ```
    pub fn into_owner(mut self) -> Option<Box<dyn Any + Send + Sync>> {
        self.owner.take()
    }

    /// Whether it was handed over with an owner of this type.
    #[cfg(feature = "cust")]
    pub(crate) fn owner_is<T: Any>(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.is::<T>())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.memory.shared
    }

    /// Whether somebody else frees the memory.
    pub(crate) fn is_callers(&self) -> bool {
        self.owner.is_some()
    }

    /// The memory, to be kept; only memory of the caller may be freed all the same.
    pub(crate) fn memory(&self) -> Arc<Block> {
        Arc::clone(&self.memory)
    }

    /// Takes note of another device that copies to it: freeing waits for it too.
    pub(crate) fn written_by(&mut self, writer: &Arc<Shared>) {
        let is_known = |known: &Arc<Shared>| Arc::ptr_eq(known, writer);
        if !is_known(self.shared()) && !self.writers.iter().any(is_known) {
            self.writers.push(Arc::clone(writer));
        }
    }

    /// Address of the first byte, for the device, and in managed memory for the host.
    pub(crate) fn start(&self) -> CUdeviceptr {
        self.memory.start()
    }
}

impl Drop for Buffer {
    /// The caller's memory may be freed with its owner: the device's work is waited for, and the context is the thread's. So is that of
    /// other devices that copied to it; freeing waits for the own device alone.
    fn drop(&mut self) {
        for writer in &self.writers {
            if let Ok(_current) = writer.enter() {
                let _ = writer.wait_for_all();
            }
        }
        let Some(owner) = self.owner.take() else { return };
        let current = self.shared().enter();
        if current.is_ok() {
            let _ = self.shared().wait_for_all();
        }
        drop(owner);
    }
}

impl Addressed for Buffer {
    fn address(&self) -> u64 {
        self.start()
    }
}

/// Page-locked host memory in two halves, so that one is filled or emptied while the other is copied.
#[derive(Debug)]
pub(crate) struct Staging {
    memory: Owned<Pinned>,
    /// One for each half: the copy from or to it is over.
    over: [Owned<CUevent>; 2],
}

/// Copies `bytes` to `to`, in stream order, by way of `stagings`, of which there are more when they are needed; returns when they are in pinned
/// memory at least. The context is the thread's.
///
/// # Safety
/// `to` begins device memory of that many bytes.
pub(crate) unsafe fn write(
    shared: &Arc<Shared>,
    stagings: &mut Vec<Staging>,
    stream: CUstream,
    to: CUdeviceptr,
    bytes: &[u8],
) -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(WRITERS);
    let n = (bytes.len() / OF_A_WRITER).clamp(1, threads);
    while stagings.len() < n {
        stagings.push(Staging::new(shared)?);
    }
    let write = |(range, staging): (Range<usize>, &mut Staging)| {
        // SAFETY: the range lies in `bytes`, and so many are there (contract).
        unsafe { staging.write(stream, to + range.start as u64, &bytes[range]) }
    };
    let mut of_writers = parts::cut(bytes.len(), n).zip(stagings);
    if n == 1 {
        return of_writers.try_for_each(write);
    }
    // Not jobs of a pool: what waits for one may take up another, and callers hold locks.
    thread::scope(|scope| {
        let write = &write;
        let writer = |of_writer| {
            scope.spawn(move || {
                let _current = shared.enter()?;
                write(of_writer)
            })
        };
        let writers: Vec<_> = of_writers.map(writer).collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("copies do not panic"))
    })
}

impl Staging {
    /// The context is the thread's.
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let mut start = Pinned(ptr::null_mut());
        // SAFETY: writes the address of new memory to `start`.
        let answer = unsafe { sys::cuMemHostAlloc(&mut start, 2 * HALF, 0) };
        shared.check(During::Memory { bytes: 2 * HALF as u64 }, answer)?;
        let memory = Owned::new(start, sys::cuMemFreeHost, shared);
        let event = || Ok(Owned::new(shared.new_event(false)?, sys::cuEventDestroy_v2, shared));
        Ok(Self { memory, over: [event()?, event()?] })
    }

    fn half(&self, i: usize) -> *mut u8 {
        // SAFETY: both halves lie in the allocation of `2 * HALF` bytes.
        unsafe { self.memory.get().0.cast::<u8>().add(i % 2 * HALF) }
    }

    fn mark(&self, i: usize, stream: CUstream) -> Answer {
        // SAFETY: event and stream live, in the same context.
        unsafe { sys::cuEventRecord(self.over[i % 2].get(), stream) }
    }

    /// Waits until nothing reads or writes half `i % 2`; an event that was never recorded is over.
    fn wait(&self, i: usize) -> Answer {
        // SAFETY: the event lives.
        unsafe { sys::cuEventSynchronize(self.over[i % 2].get()) }
    }

    /// Copies `bytes` to `to`, in stream order; returns when they are in pinned memory at least.
    ///
    /// # Safety
    /// `to` begins device memory of that many bytes.
    unsafe fn write(&self, stream: CUstream, to: CUdeviceptr, bytes: &[u8]) -> Result<()> {
        let check = |answer| self.memory.shared.check(During::Kernel("write"), answer);
        for (i, chunk) in bytes.chunks(HALF).enumerate() {
            check(self.wait(i))?;
            // SAFETY: the half holds `HALF` bytes, and no copy uses it now.
            unsafe { ptr::copy_nonoverlapping(chunk.as_ptr(), self.half(i), chunk.len()) };
            let at = to + (i * HALF) as u64;
            // SAFETY: `to` is large enough (contract), and the half is left alone until `over`.
            check(unsafe { sys::cuMemcpyHtoDAsync_v2(at, self.half(i).cast(), chunk.len(), stream) })?;
            check(self.mark(i, stream))?;
        }
        Ok(())
    }

    /// Copies from `from` on, after the stream's earlier work, and waits.
    ///
    /// # Safety
    /// `from` begins device memory of that many bytes.
    pub(crate) unsafe fn read(&self, stream: CUstream, from: CUdeviceptr, bytes: &mut [u8]) -> Result<()> {
        let check = |answer| self.memory.shared.check(During::Kernel("read"), answer);
        let total = bytes.len();
        let len = |i: usize| (total - i * HALF).min(HALF);
        let n = total.div_ceil(HALF);
        // One chunk is on its way while the one before is emptied.
        for i in 0..=n {
            if i < n {
                check(self.wait(i))?;
                // SAFETY: `from` has as many bytes (contract), the half is free.
                check(unsafe {
                    sys::cuMemcpyDtoHAsync_v2(self.half(i).cast(), from + (i * HALF) as u64, len(i), stream)
                })?;
                check(self.mark(i, stream))?;
            }
            if i > 0 {
                check(self.wait(i - 1))?;
                let to = &mut bytes[(i - 1) * HALF..][..len(i - 1)];
                // SAFETY: the copy into this half is over, and the next into it begins later.
                unsafe { ptr::copy_nonoverlapping(self.half(i - 1), to.as_mut_ptr(), to.len()) };
            }
        }
        Ok(())
    }
}
