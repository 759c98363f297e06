//! Vectors in memory of the caller.

use std::any::Any;

use spmv_backend::Backend;
use spmv_exec::{Device, DeviceVec};

use crate::context::Context;
use crate::erased::Element;
use crate::error::{Error, Result};
use crate::vector::Vector;

impl Context {
    /// The device as the crate of its backend has it, for what that alone can do, such as [`adopt`](Self::adopt) memory of the caller. None where
    /// the backend is another, in co-execution, and where there are several devices.
    ///
    /// ```
    /// use spmv::{BackendKind, Context};
    /// use spmv_cpu::Cpu;
    /// let context = Context::with(BackendKind::Cpu)?;
    /// let cpu = context.device::<Cpu>().expect("the backend that was asked for");
    /// println!("{}", cpu.backend().isa().name());
    /// # Ok::<(), spmv::Error>(())
    /// ```
    pub fn device<B: Backend>(&self) -> Option<&Device<B>> {
        let device: &dyn Any = &*self.origin.device;
        device.downcast_ref()
    }

    /// A vector of the crate of the backend as one of this context. Nothing is copied. What keeps the memory is dropped with the vector.
    ///
    /// ```
    /// use spmv::{BackendKind, Context};
    /// use spmv_backend::Backend;
    /// use spmv_cpu::Cpu;
    /// let context = Context::with(BackendKind::Cpu)?;
    /// let cpu = context.device::<Cpu>().expect("the backend that was asked for");
    /// // Or, with CUDA, `Cuda::wrap`, which takes memory that is there already.
    /// let buffer = cpu.backend().alloc(8).expect("8 bytes");
    /// let mut x = context.adopt(cpu.adopt::<f32>(buffer, 2)?)?;
    /// x.write(&[3.0, 4.0])?;
    /// assert_eq!(x.norm2()?, 5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A vector of another device.
    pub fn adopt<B: Backend, T: Element>(&self, vector: DeviceVec<B, T>) -> Result<Vector<T>> {
        if !self.device().is_some_and(|device: &Device<B>| device.is(vector.device())) {
            return Err(Error::Foreign { what: "the vector", to: "device" });
        }
        Ok(Vector::of(&self.origin, Box::new(vector)))
    }
}
