//! NVIDIA GPUs: chips that share memory with the CPU (Tegra) first, discrete GPUs too.
//!
//! [`Cuda`] implements [`Backend`](spmv_backend::Backend). Where device and host share memory, speculative sums are
//! repaired by CPU cores in place (Liu & Vinter 2015, section 3.2):
//!
//! | memory | the device | model |
//! |---|---|---|
//! | [`Memory::Managed`] | may be at work while the host accesses memory (`ConcurrentManagedAccess`) | [`UnifiedCoherent`](spmv_backend::MemoryModel::UnifiedCoherent) |
//! | [`Memory::Managed`] | may not (older Tegra, Windows) | [`UnifiedMapped`](spmv_backend::MemoryModel::UnifiedMapped): the host accesses it while the device is idle |
//! | [`Memory::Device`] | any | [`Discrete`](spmv_backend::MemoryModel::Discrete): copies through pinned memory; the device repairs |
//!
//! Integrated GPUs take managed memory unless told otherwise, others device memory.
//!
//! Programs need no toolkit: kernels are PTX (for any GPU since Pascal, and for Hopper) that the driver compiles. The
//! driver is loaded at run time; without it, or without a device, opening says so.
//!
//! ```
//! use spmv_backend::{Backend, Error};
//! use spmv_cuda::{Cuda, Options};
//! match Cuda::open(Options::default()) {
//!     Ok(device) => println!("{}, {:?}", device.caps().name, device.caps().memory),
//!     Err(Error::Unavailable { reason, .. }) => println!("no CUDA here: {reason}"),
//!     Err(e) => return Err(e),
//! }
//! # Ok::<(), Error>(())
//! ```
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod device;
#[allow(unsafe_code)]
mod device_callers;
#[cfg(feature = "cust")]
#[allow(unsafe_code)]
mod device_cust;
#[allow(unsafe_code)]
mod device_driver;
#[allow(unsafe_code)]
mod device_held;
#[allow(unsafe_code)]
mod device_memory;
#[allow(unsafe_code)]
mod device_module;
#[allow(unsafe_code)]
mod device_owned;
#[allow(unsafe_code)]
mod device_pool;
#[allow(unsafe_code)]
mod device_queries;
#[allow(unsafe_code)]
mod device_stream;
mod error;
mod options;
mod probe;

pub use device::Cuda;
pub use device_memory::Buffer;
pub use device_module::Kernel;
pub use device_stream::{Event, Graph, Stream};
pub use options::{Mask, Memory, Options};
pub use probe::{DeviceInfo, devices};
