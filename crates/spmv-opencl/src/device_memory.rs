//! Contexts, queues, buffers.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use opencl3::command_queue::{create_command_queue, finish, release_command_queue};
use opencl3::context::context::{create_context, release_context};
use opencl3::device::Device;
use opencl3::memory::{
    CL_MEM_READ_WRITE, CL_MEM_SVM_FINE_GRAIN_BUFFER, create_buffer, release_mem_object, svm_alloc, svm_free,
};
use opencl3::types::{cl_command_queue, cl_context, cl_mem};
use spmv_backend::{Error, Result};

use crate::device_owned::Owned;
use crate::error::{self, During};
use crate::options::Memory;

/// Profiling of commands: `CL_QUEUE_PROFILING_ENABLE`.
const PROFILING: u64 = 1 << 1;
/// Buffers of shared virtual memory begin at a multiple of this, and are a multiple long.
const ALIGN: usize = 128;

/// A device's context, and what everything made in it shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) device: Device,
    pub(crate) context: Owned<cl_context>,
    pub(crate) memory: Memory,
    /// Queues that may still use a buffer.
    queues: Mutex<Vec<Weak<Queue>>>,
    /// Queues ever opened.
    n_queues: AtomicU32,
    /// Held while shared virtual memory is allocated or freed: NVIDIA's driver 580 refuses allocations at
    /// random when several threads ask at once.
    allocating: Mutex<()>,
}

/// An in-order queue of commands.
#[derive(Debug)]
pub(crate) struct Queue {
    queue: Owned<cl_command_queue>,
    /// A bit for buffers to know it by, which it may share with other queues.
    slot: u64,
}

impl Queue {
    pub(crate) fn get(&self) -> cl_command_queue {
        self.queue.get()
    }
}

impl Shared {
    pub(crate) fn new(device: Device, name: &str, memory: Memory) -> Result<Arc<Self>> {
        let context = create_context(&[device.id()], ptr::null(), None, ptr::null_mut())
            .map_err(|code| error::of(name, During::Other("context"), code))?;
        let context = Owned::new(context, release_context);
        Ok(Arc::new(Self {
            name: name.to_owned(),
            device,
            context,
            memory,
            queues: Mutex::default(),
            n_queues: AtomicU32::new(0),
            allocating: Mutex::default(),
        }))
    }

    pub(crate) fn error(&self, during: During<'_>, code: i32) -> Error {
        error::of(&self.name, during, code)
    }

    pub(crate) fn open_queue(&self, timed: bool) -> Result<Arc<Queue>> {
        let properties = if timed { PROFILING } else { 0 };
        // The call of OpenCL 1.x, which every version has.
        // SAFETY: the device is the one that the context was made for.
        let queue = unsafe { create_command_queue(self.context.get(), self.device.id(), properties) }
            .map_err(|code| self.error(During::Other("queue"), code))?;
        let serial = self.n_queues.fetch_add(1, Ordering::Relaxed);
        let slot = 1 << (serial % u64::BITS);
        let queue = Arc::new(Queue { queue: Owned::new(queue, release_command_queue), slot });
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        Ok(queue)
    }

    /// Waits for the work of every queue.
    pub(crate) fn finish_all(&self) -> Result<(), i32> {
        self.finish(u64::MAX)
    }

    /// Waits for the work of the queues in these slots; others may be opened meanwhile.
    fn finish(&self, slots: u64) -> Result<(), i32> {
        let queues: Vec<_> = {
            let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
            queues.iter().filter_map(Weak::upgrade).filter(|queue| queue.slot & slots != 0).collect()
        };
        queues.iter().try_for_each(|queue| finish(queue.get()))
    }

    pub(crate) fn alloc(self: &Arc<Self>, bytes: u64) -> Result<Buffer> {
        let size = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| bytes.max(1).checked_next_multiple_of(ALIGN))
            .ok_or_else(|| Error::OutOfMemory { device: self.name.clone(), bytes })?;
        let storage = match self.memory {
            Memory::Buffers => {
                // SAFETY: the context lives in `self`; no host memory is given.
                let mem =
                    unsafe { create_buffer(self.context.get(), CL_MEM_READ_WRITE, size, ptr::null_mut()) }
                        .map_err(|code| self.error(During::Memory { bytes }, code))?;
                Storage::Mem(Owned::new(mem, release_mem_object))
            }
            shared => {
                let fine = if shared == Memory::Fine { CL_MEM_SVM_FINE_GRAIN_BUFFER } else { 0 };
                let _one_at_a_time = self.allocating.lock().unwrap_or_else(PoisonError::into_inner);
                // SAFETY: `probe` found this kind of shared virtual memory among the device's capabilities.
                let start =
                    unsafe { svm_alloc(self.context.get(), CL_MEM_READ_WRITE | fine, size, ALIGN as u32) }
                        // The driver says nothing but a null pointer, whatever the reason.
                        .map_err(|_| Error::OutOfMemory { device: self.name.clone(), bytes })?;
                Storage::Svm(start)
            }
        };
        Ok(Buffer { storage, bytes, zeroed_on: None, used: AtomicU64::new(0), shared: Arc::clone(self) })
    }
}

/// Memory that kernels of a device reach.
#[derive(Debug)]
pub struct Buffer {
    pub(crate) storage: Storage,
    pub(crate) bytes: u64,
    /// The queue that zeroed it last, perhaps not yet.
    pub(crate) zeroed_on: Option<Arc<Queue>>,
    /// Queues whose commands used it, by their [`slot`](Queue::slot).
    used: AtomicU64,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) enum Storage {
    Mem(Owned<cl_mem>),
    /// Start of shared virtual memory.
    Svm(*mut c_void),
}

// SAFETY: the pointer is an address of the context's shared memory, good on any thread; who may read or write
// there and when is the contract of the verbs in `device.rs`.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Takes note that a command of the queue uses the memory.
    pub(crate) fn used_on(&self, queue: &Queue) {
        if self.used.load(Ordering::Relaxed) & queue.slot == 0 {
            self.used.fetch_or(queue.slot, Ordering::Relaxed);
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Storage::Svm(start) = self.storage else { return };
        // Unlike buffer objects, this memory is not kept by commands that use it. A stream that is no more waited
        // for its commands before it let go of its queue.
        let _ = self.shared.finish(*self.used.get_mut());
        let _one_at_a_time = self.shared.allocating.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `alloc` got it from the same context, no command uses it any more, and it is freed only here.
        let _ = unsafe { svm_free(self.shared.context.get(), start) };
    }
}
