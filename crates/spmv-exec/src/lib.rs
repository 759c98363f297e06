//! SpMV written once, generic over [`Backend`](spmv_backend::Backend).
//!
//! [`plan()`] is a pure function: the same matrix statistics, device capabilities, profile of measured times and
//! options give the same plan. [`Device::prepare`] copies a matrix to the device by that plan into a [`Prepared`], which
//! never changes and may be shared. A [`Workspace`] holds what a run writes besides `y`, one per
//! stream. [`Prepared::enqueue`] returns a [`Pending`] that keeps `y` borrowed until stage 2 has
//! repaired it; [`Prepared::apply`] waits at once.
//!
//! ```
//! # fn with<B: spmv_backend::Backend>(backend: B) -> Result<(), spmv_exec::Error> {
//! use spmv_core::Csr;
//! use spmv_exec::{Device, Options};
//!
//! let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
//! let device = Device::new(backend)?;
//! let prepared = device.prepare(a.view(), &Options::default())?;
//! let mut workspace = prepared.workspace()?;
//! let (x, mut y) = (device.upload(&[1.0, 10.0])?, device.zeros::<f32>(2)?);
//! let stats = prepared.apply(&mut workspace, 1.0, &x, 0.0, &mut y)?;
//! assert_eq!(y.to_vec()?, [20.0, 3.0]);
//! println!("stage 1 took {} s", stats.stage1_s);
//! # Ok(()) }
//! ```
// Not `forbid`: `launch.rs` holds the one unsafe call.
#![deny(unsafe_code)]

mod algorithms;
mod alternatives;
mod apply_block;
mod block_shape;
mod blocks;
mod carries;
mod choice;
mod choose;
mod device;
mod error;
mod factor;
#[cfg(test)]
mod faults;
mod gather;
mod graph;
mod indices;
#[cfg(test)]
mod integrated;
mod keep_blocks;
#[allow(unsafe_code)]
mod launch;
mod measured;
mod method;
mod mirror;
mod narrow;
mod numbers;
mod options;
mod pages;
mod part;
mod peer;
mod plan;
mod prepare;
mod prepared;
mod products;
mod program;
mod queue;
mod record;
mod regular;
mod run;
mod runs;
mod scalars;
mod slices;
mod tilings;
mod tune;
mod values;
mod workspace;

pub use algorithms::{Algorithm, UnknownAlgorithm};
pub use apply_block::{check_shapes, without_blocks};
pub use block_shape::{BlockOrder, BlockShape};
pub use choice::{Choice, ChoiceError, Trial};
pub use choose::{Candidate, work_of};
pub use device::{Device, DeviceVec};
pub use error::{Error, Result};
pub use factor::{DeviceScalar, Factor};
pub use graph::Graph;
pub use indices::Indices;
pub use method::{Facts, Repair, Sums};
pub use narrow::exact_values;
pub use options::{Fixup, Layouts, Options, Tune};
pub use peer::{Lane, Mark};
pub use plan::{Plan, plan};
pub use prepared::Prepared;
pub use products::{Epilogue, check_bounds};
pub use program::{Assignment, Operation, Program};
pub use queue::Queue;
pub use run::{Pending, RunStats};
pub use spmv_model::Profile;
pub use workspace::Workspace;
