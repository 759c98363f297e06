//! Buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use spmv_backend::{Error, Result};
use wgpu::{BufferDescriptor, BufferUsages};

use crate::options::Memory;
use crate::shared::Shared;

/// Memory that kernels of a device reach.
#[derive(Debug)]
pub struct Buffer {
    pub(crate) raw: wgpu::Buffer,
    pub(crate) bytes: u64,
    /// Unlike that of any other buffer of the process.
    pub(crate) id: u64,
    /// Gone with the buffer, so that those who keep something of it know.
    pub(crate) alive: Arc<()>,
    pub(crate) shared: Arc<Shared>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A number that nothing else of the process has.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl Shared {
    /// A buffer of wgpu, or the reason why there is none.
    pub(crate) fn allocate(&self, label: &str, size: u64, usage: BufferUsages) -> Result<wgpu::Buffer> {
        let descriptor = BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        self.guarded("alloc", size, || self.device.create_buffer(&descriptor))
    }

    /// A buffer for kernels, of whole words.
    pub(crate) fn alloc(self: &Arc<Self>, bytes: u64) -> Result<Buffer> {
        let mut usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        if self.memory == Memory::Mapped {
            usage |= BufferUsages::MAP_READ | BufferUsages::MAP_WRITE;
        }
        // A binding holds one element at least.
        let raw = self.allocate("spmv", bytes.max(16).next_multiple_of(4), usage)?;
        let (id, alive) = (next_id(), Arc::new(()));
        Ok(Buffer { raw, bytes, id, alive, shared: Arc::clone(self) })
    }
}

impl Buffer {
    pub(crate) fn range(&self, offset: u64, bytes: u64) -> Result<std::ops::Range<usize>> {
        Error::check_range(offset, bytes, self.bytes)
    }

    /// Lends out the first `len` bytes of memory that was mapped for writing, and unmaps it, after a panic too.
    pub(crate) fn lend<R>(&mut self, len: u64, f: impl FnOnce(&mut [u8]) -> R) -> Result<R> {
        struct Unmap<'a>(&'a wgpu::Buffer);
        impl Drop for Unmap<'_> {
            fn drop(&mut self) {
                self.0.unmap();
            }
        }
        let _unmap = Unmap(&self.raw);
        let mut view = self
            .raw
            .get_mapped_range_mut(0..len.max(4).next_multiple_of(4))
            .map_err(|e| self.shared.failed("map", e.to_string()))?;
        let mut memory = view.slice(..);
        // SAFETY: the view is of that many mapped bytes at least and outlives the slice. Kernels do not run on them while
        // they are mapped, and no other view is there: the buffer is borrowed mutably. Reading what was
        // mapped for writing is sound where it is ordinary memory of the host, which wgpu-hal's drivers map; it was mapped
        // for reading just before, so it holds what the device wrote. Bytes may have any value.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(memory.as_raw_element_ptr().as_ptr(), len as usize) };
        Ok(f(bytes))
    }
}
