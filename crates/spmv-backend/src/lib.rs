//! The narrow waist: device verbs, never formats.
//!
//! [`Backend`] is about a dozen verbs on one opened device. A kernel is *data*: a [`KernelSpec`] says
//! which stem, value type, lanes and tiling to compile, and [`KernelId::params`] which arguments it
//! takes, in every language alike. Adding a kernel is a row in [`KernelId`] and a source file per
//! language; adding a backend is the verbs and a folder of kernels.
//!
//! ```
//! use spmv_backend::{KernelId, KernelSpec, Lanes};
//! use spmv_core::{Dtype, Tiling};
//!
//! let spec = KernelSpec {
//!     id: KernelId::SpecSegsum,
//!     value: Dtype::F32,
//!     lanes: Lanes::Subgroup,
//!     tiling: Tiling::new(32, 8, 7, 5)?,
//! };
//! assert_eq!(spec.to_string(), "spec_segsum/f32/subgroup/T=32,W=8,S=7,B=5");
//! assert_eq!(spec.id.params()[0].name, "n_rows");
//! # Ok::<(), spmv_core::TilingError>(())
//! ```
// Not `forbid`: the trait declares one unsafe verb, and nothing here implements it.
#![deny(unsafe_code)]

mod backend;
mod cache;
mod caps;
mod error;
mod kernel;
mod params;

pub use backend::{Addressed, Arg, Backend, HostSlice, Lent, Look, Scalar};
pub use cache::Cache;
pub use caps::{DeviceCaps, DeviceKind, DtypeSet, MemoryModel, Unit, find_device};
pub use error::{Error, Result};
pub use kernel::{KernelId, KernelSpec, Lanes, UnknownKernel};
pub use params::{Elem, Param, ParamKind};
