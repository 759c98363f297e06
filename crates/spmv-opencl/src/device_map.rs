//! Shared virtual memory in the host's hands.

use std::ffi::c_void;
use std::ptr;

use opencl3::command_queue::{enqueue_svm_map, enqueue_svm_unmap, finish};
use opencl3::types::{CL_TRUE, cl_map_flags};
use spmv_backend::{Error, Result};

use crate::device::{OpenCl, Stream};
use crate::device_memory::Queue;
use crate::error::During;
use crate::options::Memory;

impl OpenCl {
    /// Gives the host access to shared virtual memory, after the stream's earlier work and what zeroes the buffer: at once
    /// where it is fine-grained, else between map and unmap. The `bytes` bytes from `start` on lie in one buffer, which is
    /// borrowed as long as this takes. While `f` runs the host may read them, and write them if `flags` and the borrow say so.
    pub(crate) fn reach<R>(
        &self,
        stream: &Stream,
        zeroed_on: Option<&Queue>,
        start: *mut c_void,
        bytes: usize,
        flags: cl_map_flags,
        f: impl FnOnce(*mut u8) -> R,
    ) -> Result<R> {
        if let Some(queue) = zeroed_on.filter(|queue| !ptr::eq(*queue, &*stream.queue)) {
            finish(queue.get()).map_err(|code| self.shared().error(During::Kernel("queue"), code))?;
        }
        if self.memory() != Memory::Coarse || bytes == 0 {
            stream.finish()?;
            // Shared virtual memory is at the same address for the host; fine-grained, it may be looked at whenever no command
            // is at work on it: those of the stream are done, and the one that zeroed it.
            return Ok(f(start.cast()));
        }
        // SAFETY: the range lies in shared virtual memory of this context; the call returns when earlier commands
        // are done and the host sees their writes.
        let event =
            unsafe { enqueue_svm_map(stream.queue.get(), CL_TRUE, flags, start, bytes, 0, ptr::null()) };
        stream.queued(event.map_err(|code| self.shared().error(During::Kernel("map"), code))?);
        stream.n_mapped.set(stream.n_mapped.get() + 1);
        let mut mapping = Mapping { stream, start: Some(start) };
        let result = f(start.cast());
        mapping.end()?;
        Ok(result)
    }

    pub(crate) fn cannot_map(&self) -> Error {
        let way_out = "read it, or let the device repair (Fixup::Device)";
        self.unsupported("memory that the host can map".into(), way_out)
    }
}

/// A map of coarse-grained memory; ends when it is dropped, in a panic too.
struct Mapping<'a> {
    stream: &'a Stream,
    start: Option<*mut c_void>,
}

impl Mapping<'_> {
    fn end(&mut self) -> Result<()> {
        let Some(start) = self.start.take() else { return Ok(()) };
        let Stream { queue, shared, n_mapped, .. } = self.stream;
        n_mapped.set(n_mapped.get() - 1);
        // SAFETY: mapped when this was made, and unmapped only here, once.
        let event = unsafe { enqueue_svm_unmap(queue.get(), start, 0, ptr::null()) };
        self.stream.queued(event.map_err(|code| shared.error(During::Kernel("unmap"), code))?);
        // Other streams may use the buffers as soon as the outermost call returns.
        if n_mapped.get() == 0 { self.stream.finish() } else { Ok(()) }
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // Where an error can be returned, `end` was called before.
        let _ = self.end();
    }
}
