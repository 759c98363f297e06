//! Streams and memory that the caller made, used in place.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use spmv_backend::Result;

use crate::device::Cuda;
use crate::device_driver::{self as sys, CUcontext, CUdevice, CUdeviceptr, CUstream, Refusal};
use crate::device_memory::Buffer;
use crate::device_owned::CallersStream;
use crate::error::During;
use crate::options::{Memory, Options};
use crate::probe::{self, Found};

/// Alignment of memory that kernels are given: that of their widest loads.
const ALIGNMENT: u64 = 16;

impl Cuda {
    /// Opens a device all of whose work goes to one stream of the caller, in order with what the caller puts there.
    ///
    /// Every stream that the backend opens is that one. Runs on it cannot be captured. Memory is
    /// [`Memory::Device`] unless the options ask for another.
    ///
    /// # Safety
    /// `stream` is a stream of the device's primary context, and stays one until `owner` is dropped.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Unsupported`](spmv_backend::Error::Unsupported) for a stream of another context.
    ///
    /// ```no_run
    /// use spmv_cuda::{Cuda, Options};
    /// # fn with(stream: std::sync::Arc<()>, handle: *mut std::ffi::c_void) -> Result<(), spmv_backend::Error> {
    /// // SAFETY: `handle` is the stream that `stream` keeps.
    /// let device = unsafe { Cuda::open_on_stream(Options::default(), handle, stream) }?;
    /// # Ok(()) }
    /// ```
    pub unsafe fn open_on_stream(
        options: Options,
        stream: *mut c_void,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let found = probe::choose(&options)?;
        // SAFETY: as promised by the caller.
        unsafe { Self::found_on_stream(found, options, stream, owner) }
    }

    /// # Safety
    /// As [`open_on_stream`](Self::open_on_stream).
    pub(crate) unsafe fn found_on_stream(
        found: &Found,
        mut options: Options,
        stream: *mut c_void,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        options.memory.get_or_insert(Memory::Device);
        let stream = CUstream(stream);
        let device = Self::of(found, &options, Some(CallersStream { stream, owner }))?;
        // SAFETY: the stream lives, as promised by the caller.
        unsafe { device.check_stream(stream) }?;
        Ok(device)
    }

    /// # Safety
    /// The stream lives.
    unsafe fn check_stream(&self, stream: CUstream) -> Result<()> {
        let shared = self.shared();
        let _current = shared.enter()?;
        let mut context = CUcontext::NULL;
        // SAFETY: the stream lives (contract); writes to `context`.
        match unsafe { sys::cuStreamGetCtx(stream, &mut context) } {
            // Before CUDA 9.2 there is no such question.
            Err(Refusal::Missing(_)) => return Ok(()),
            answer => shared.check(During::Other("stream"), answer)?,
        }
        if context == shared.context() {
            return Ok(());
        }
        Err(self.unsupported("such stream in its primary context", "make the stream in the primary context"))
    }

    /// Takes over memory of the caller, to be used in place; [`Buffer::into_owner`] gives it back.
    ///
    /// # Safety
    /// Until the buffer is gone and work that was given it is done, `bytes` bytes from `address` on are memory of the
    /// device's primary context that nothing else uses; `owner` keeps them.
    ///
    /// # Errors
    /// [`Unsupported`](spmv_backend::Error::Unsupported) with [`Memory::Managed`], for memory of another context, and for an address that is no
    /// multiple of 16.
    ///
    /// ```no_run
    /// # fn with(device: &spmv_cuda::Cuda, memory: Vec<u8>, address: u64) -> Result<(), spmv_backend::Error> {
    /// // SAFETY: `memory` keeps 1024 bytes of device memory from `address` on.
    /// let buffer = unsafe { device.wrap(address, 1024, Box::new(memory)) }?;
    /// # Ok(()) }
    /// ```
    pub unsafe fn wrap(&self, address: u64, bytes: u64, owner: Box<dyn Any + Send + Sync>) -> Result<Buffer> {
        self.check_wrap(address, bytes)?;
        Ok(Buffer::of_caller(self.shared(), address, bytes, owner))
    }

    /// Waits until all that was put on a stream of the caller is done. Null is the default stream.
    ///
    /// # Safety
    /// `stream` is a stream of the device's primary context, null, or one of the driver's names for default streams.
    ///
    /// # Errors
    /// Whatever the driver says, errors of earlier work included.
    ///
    /// ```no_run
    /// # fn with(device: &spmv_cuda::Cuda) -> Result<(), spmv_backend::Error> {
    /// // SAFETY: null is the default stream.
    /// unsafe { device.wait_for(std::ptr::null_mut()) }?;
    /// # Ok(()) }
    /// ```
    pub unsafe fn wait_for(&self, stream: *mut c_void) -> Result<()> {
        let shared = self.shared();
        let _current = shared.enter()?;
        // SAFETY: the stream lives (contract), and its context is the thread's.
        let answer = unsafe { sys::cuStreamSynchronize(CUstream(stream)) };
        shared.check(During::Kernel("stream"), answer)
    }

    fn check_wrap(&self, address: u64, bytes: u64) -> Result<()> {
        if self.memory() == Memory::Managed {
            let what = "use for memory of the caller when it allocates managed memory";
            return Err(self.unsupported(what, "open it with Memory::Device"));
        }
        if bytes == 0 {
            return Ok(());
        }
        if !address.is_multiple_of(ALIGNMENT) {
            let what = format!("use for memory at an address that is no multiple of {ALIGNMENT}");
            return Err(self.unsupported(&what, "align it"));
        }
        if self.has(address)? {
            return Ok(());
        }
        Err(self.unsupported("such memory in its primary context", "allocate it there"))
    }

    /// Whether an address is one of this context, or, where memory is of no context, of this device.
    fn has(&self, address: CUdeviceptr) -> Result<bool> {
        /// `CU_POINTER_ATTRIBUTE_CONTEXT` and `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
        const CONTEXT: i32 = 1;
        const DEVICE: i32 = 9;
        let shared = self.shared();
        let _current = shared.enter()?;
        let mut context = CUcontext::NULL;
        // SAFETY: writes a context, or null, to `context`; any address may be asked for.
        let answer =
            unsafe { sys::cuPointerGetAttribute(ptr::from_mut(&mut context).cast(), CONTEXT, address) };
        if answer.is_ok() && context != CUcontext::NULL {
            return Ok(context == shared.context());
        }
        let mut device: CUdevice = -1;
        // SAFETY: writes a device to `device`; any address may be asked for.
        let answer =
            unsafe { sys::cuPointerGetAttribute(ptr::from_mut(&mut device).cast(), DEVICE, address) };
        Ok(answer.is_ok() && device == shared.device)
    }
}
