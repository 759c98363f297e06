//! The narrow waist: device verbs, never formats.
//!
//! [`Backend`] is about a dozen verbs on one opened device. A kernel is *data*: a [`KernelSpec`] says
//! which stem, types, lanes and tiling to compile. A kernel is declared once ([`for_each_kernel`]); from that follow
//! its [`KernelId::params`], in every language alike, and the struct of its [`arguments`]. Adding a kernel is a
//! declaration and a source file per language; adding a backend is the verbs and a folder of kernels.
//!
//! ```
//! use spmv_backend::{KernelId, KernelSpec, Lanes};
//! use spmv_core::{Dtype, Tiling};
//!
//! let tiling = Tiling::new(32, 8, 7, 5)?;
//! let spec = KernelSpec::new(KernelId::SpecSegsum, Dtype::F32, Lanes::Subgroup, tiling);
//! assert_eq!(spec.to_string(), "spec_segsum/f32/subgroup/T=32,W=8,S=7,B=5");
//! assert_eq!(spec.id.params()[0].name, "n_rows");
//! # Ok::<(), spmv_core::TilingError>(())
//! ```
// Not `forbid`: the trait declares one unsafe verb, and nothing here implements it.
#![deny(unsafe_code)]

mod arg;
pub mod arguments;
mod backend;
mod cache;
mod caps;
pub mod codes;
pub mod env;
mod error;
pub mod files;
mod host;
mod kernels;
mod params;
mod spec;
mod types;

pub use arg::{HostSlice, Scalar};
pub use backend::{Addressed, Arg, Args, Backend, MAX_PARAMS, Memory};
pub use cache::Cache;
pub use caps::{Built, DeviceCaps, DeviceKind, DtypeSet, MemoryModel, SmLimits, find_device, why_not};
pub use error::{Error, Result};
pub use host::HostArray;
pub use kernels::{Group, KernelId};
pub use params::{Elem, Param, ParamKind};
pub use spec::{KernelSpec, Lanes, Operation, UnknownKernel};
pub use types::Types;
