//! Any device that wgpu reaches: Vulkan, Metal and Direct3D 12, of any vendor.
//!
//! [`Wgpu`] implements [`Backend`](spmv_backend::Backend). Where device and host share memory, speculative sums are
//! repaired by CPU cores in place (Liu & Vinter 2015, section 3.2):
//!
//! | memory | where | model |
//! |---|---|---|
//! | [`Memory::Mapped`] | buffers that kernels use may be mapped (`MAPPABLE_PRIMARY_BUFFERS`); taken by itself where host and device share memory | [`UnifiedMapped`](spmv_backend::MemoryModel::UnifiedMapped) |
//! | [`Memory::Staged`] | everywhere | [`Discrete`](spmv_backend::MemoryModel::Discrete): copies; the device repairs |
//!
//! Drivers are looked for at run time; without one, opening says so.
//!
//! ```
//! use spmv_backend::{Backend, Error};
//! use spmv_wgpu::{Options, Wgpu};
//! match Wgpu::open(Options::default()) {
//!     Ok(device) => println!("{}, {:?}", device.caps().name, device.caps().memory),
//!     Err(Error::Unavailable { reason, .. }) => println!("no device here: {reason}"),
//!     Err(e) => return Err(e),
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! A thread that waits for a GPU stays awake for 200 us, since to wake it takes longer than many a product. Then it sleeps. While it waits
//! for a driver that computes on the host's own cores, it sleeps from the first.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod device;
#[allow(unsafe_code)]
mod device_memory;
#[allow(unsafe_code)]
mod device_shader;
mod faults;
mod options;
mod probe;
mod shared;
mod stream;
mod text;

pub use device::Wgpu;
pub use device_memory::Buffer;
pub use device_shader::Kernel;
pub use options::{Mask, Memory, Options};
pub use probe::{DeviceInfo, devices};
pub use stream::{Event, Stream};
