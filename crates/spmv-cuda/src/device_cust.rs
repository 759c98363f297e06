//! Contexts, streams and buffers of `cust`.

use std::sync::Arc;

use bytemuck::Pod;
use cust::context::Context;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::stream::Stream;
use spmv_backend::Result;

use crate::device::Cuda;
use crate::device_driver::{self as sys, CUcontext, CUdevice};
use crate::device_memory::Buffer;
use crate::error::{During, of, unavailable};
use crate::options::Options;
use crate::probe;

impl Cuda {
    /// Opens the device of a `cust` context, for work on a `cust` stream of that context.
    ///
    /// All work goes to the stream, in order with what the caller puts there. The context need not be the thread's,
    /// and which one is stays as it was. `options.device` is not looked at.
    ///
    /// # Errors
    /// As [`open_on_stream`](Self::open_on_stream).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use cust::memory::DeviceBuffer;
    /// use cust::stream::{Stream, StreamFlags};
    /// use spmv_cuda::{Cuda, Options};
    ///
    /// let context = cust::quick_init()?;
    /// let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None)?);
    /// let device = Cuda::from_cust(&context, Arc::clone(&stream), Options::default())?;
    /// let buffer = device.adopt_cust(DeviceBuffer::from_slice(&[1.0f32, 2.0])?)?;
    /// let back: DeviceBuffer<f32> = buffer.into_cust().expect("the type that it was made of");
    /// # Ok(()) }
    /// ```
    pub fn from_cust(context: &Context, stream: Arc<Stream>, options: Options) -> Result<Self> {
        let all = probe::found()?;
        let device = device_of(CUcontext(context.as_raw().cast()))?;
        let found = all.iter().find(|found| found.device == device);
        let found = found.ok_or_else(|| unavailable("the context's device does not answer"))?;
        let raw = stream.as_inner().cast();
        // SAFETY: the stream lives as long as its `Arc`, and `cust` gives no way to destroy it before; whether it is of
        // the primary context is checked there.
        unsafe { Self::found_on_stream(found, options, raw, stream) }
    }

    /// Takes over a buffer of `cust`, to be used in place; [`Buffer::into_cust`] gives it back.
    ///
    /// Work that the caller put on another stream than the backend's must be done.
    ///
    /// # Errors
    /// As [`wrap`](Self::wrap); the buffer is then freed.
    pub fn adopt_cust<T: DeviceCopy + Pod + Send + Sync>(&self, buffer: DeviceBuffer<T>) -> Result<Buffer> {
        let (start, bytes) = (buffer.as_device_ptr().as_raw(), size_of::<T>() * buffer.len());
        // SAFETY: the buffer owns these bytes, nobody else has it now, and any bytes are a `T` (`Pod`); whose memory it
        // is, is checked there.
        unsafe { self.wrap(start, bytes as u64, Box::new(buffer)) }
    }
}

impl Buffer {
    /// The buffer of `cust` that was [taken over](Cuda::adopt_cust).
    ///
    /// Does not wait: later work on the backend's stream is in order; before other uses, synchronize that stream.
    ///
    /// # Errors
    /// Itself, if it was not made of a buffer of that type.
    pub fn into_cust<T: DeviceCopy + Pod + Send + Sync>(self) -> std::result::Result<DeviceBuffer<T>, Self> {
        if !self.owner_is::<DeviceBuffer<T>>() {
            return Err(self);
        }
        let owner = self.into_owner().and_then(|owner| owner.downcast().ok());
        Ok(*owner.expect("asked above"))
    }
}

/// The device of a context.
fn device_of(context: CUcontext) -> Result<CUdevice> {
    let (mut device, mut popped): (CUdevice, _) = (0, CUcontext::NULL);
    let lost = |refusal| of("cuda", During::Other("context"), refusal);
    // SAFETY: `cust` keeps the context as long as the caller's reference to it.
    unsafe { sys::cuCtxPushCurrent_v2(context) }.map_err(lost)?;
    // SAFETY: writes the device of the thread's context to `device`.
    let answer = unsafe { sys::cuCtxGetDevice(&mut device) };
    // SAFETY: pops what was pushed above.
    let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    answer.map_err(lost)?;
    Ok(device)
}
