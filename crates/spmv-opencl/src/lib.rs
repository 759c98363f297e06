//! Any OpenCL device: Intel and AMD chips with memory shared by CPU and GPU first, discrete GPUs too.
//!
//! [`OpenCl`] implements [`Backend`](spmv_backend::Backend). Where device and host share memory, speculative
//! sums are repaired by CPU cores in place (Liu & Vinter 2015, section 3.2):
//!
//! | memory | the device offers | model |
//! |---|---|---|
//! | [`Memory::Fine`] | fine-grained buffer SVM | [`UnifiedCoherent`](spmv_backend::MemoryModel::UnifiedCoherent): the host reads and writes at any time between runs |
//! | [`Memory::Coarse`] | coarse-grained SVM, and the host's memory is its own | [`UnifiedMapped`](spmv_backend::MemoryModel::UnifiedMapped): the host maps first |
//! | [`Memory::Coarse`] | coarse-grained SVM in a memory of its own | [`Discrete`](spmv_backend::MemoryModel::Discrete) |
//! | [`Memory::Buffers`] | nothing | [`Discrete`](spmv_backend::MemoryModel::Discrete): copies; the device repairs |
//!
//! The library is loaded at run time; without it, without a driver or without a device, opening says so.
//!
//! ```
//! use spmv_backend::{Backend, Error};
//! use spmv_opencl::{OpenCl, Options};
//! match OpenCl::open(Options::default()) {
//!     Ok(device) => println!("{}, {:?}", device.caps().name, device.caps().memory),
//!     Err(Error::Unavailable { reason, .. }) => println!("no OpenCL here: {reason}"),
//!     Err(e) => return Err(e),
//! }
//! # Ok::<(), Error>(())
//! ```
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod device;
#[allow(unsafe_code)]
mod device_map;
#[allow(unsafe_code)]
mod device_memory;
#[allow(unsafe_code)]
mod device_owned;
#[allow(unsafe_code)]
mod device_program;
mod error;
mod options;
mod probe;

pub use device::{Event, Kernel, OpenCl, Stream};
pub use device_memory::Buffer;
pub use options::{Mask, Memory, Options};
pub use probe::{DeviceInfo, devices};
