//! The CPU as a device: rayon threads, SIMD gathers, and the readable version of every kernel.
//!
//! [`Cpu`] implements [`Backend`](spmv_backend::Backend), so that everything above runs on it as on a GPU. Its fast kernel is
//! `merge_path`: rows and entries are cut evenly over threads at prepare, so that neither one full row
//! nor a million empty ones unbalance it, and each part is summed with gathers. The others are there to
//! be read and compared with.
//!
//! A launch from outside any pool is shared by the thread that calls and by those of rayon's global pool, or of the one that
//! [`Options::threads`] asks for. From a thread of a pool, that pool is used.
//!
//! ```
//! use spmv_backend::Backend;
//! use spmv_cpu::Cpu;
//! let cpu = Cpu::open(Default::default())?;
//! assert!(cpu.caps().host_pointers);
//! # Ok::<(), spmv_backend::Error>(())
//! ```
#![deny(unsafe_code)]

mod cpu;
#[allow(unsafe_code)]
mod device;
#[allow(unsafe_code)]
mod device_args;
#[allow(unsafe_code)]
mod device_mailbox;
#[allow(unsafe_code)]
mod device_team;
mod kernels;
mod launch;
mod numbers;
#[allow(unsafe_code)]
mod simd;

pub use cpu::{Cpu, Mask, Options, last_cache_bytes};
pub use device::{Buffer, Kernel, Stream};
pub use simd::Isa;
