#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod adopt;
mod backend;
mod block;
mod builder;
mod context;
mod device;
mod entries;
mod epilogue;
mod erased;
mod erased_matrix;
mod erased_queue;
mod error;
#[cfg(feature = "fit")]
pub mod fit;
pub mod guide;
pub mod hetero;
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
pub mod interop;
#[cfg(feature = "io")]
pub mod io;
mod matrix;
mod origin;
pub mod parts;
pub mod plan;
mod profiles;
mod queue;
#[cfg(feature = "fit")]
mod timing;
mod transpose;
mod transposed_entries;
mod vector;

pub use backend::{BackendKind, Memory, Tried, UnknownBackend};
pub use block::Block;
pub use builder::ContextBuilder;
pub use context::Context;
pub use epilogue::Epilogue;
pub use erased::{Element, Number, Real, Scalar};
pub use error::{Error, Result};
pub use matrix::{Graph, Matrix, Pending, Workspace};
pub use queue::Queue;
pub use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel, Types};
pub use spmv_core::{
    Accum, Csr, CsrError, CsrView, Dtype, Index, Offset, Value, Wide, by_dtype, format, oracle, types,
};
pub use spmv_exec::{
    Assignment, BlockOrder, BlockShape, DeviceScalar, Factor, Operation, Options, Program, RunStats,
};
pub use types::*;
pub use vector::Vector;
