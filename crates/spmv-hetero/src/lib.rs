//! One multiplication by a device and the host's cores.
//!
//! Tan et al. 2019 split a matrix in two by its [`Pattern`]: what is regular goes to the device, the rest to the cores of the CPU. A
//! [`Split`] says where, and [`CoMatrix::prepare`] finds it: by [`Models`] of the times of both [`CoDevices`] and by runs, until both take as
//! long as each other. [`CoMatrix::apply`] starts both, and adds their sums once; where one of them alone is as fast, that one
//! has everything.
//!
//! ```
//! use spmv_core::Csr;
//! use spmv_cpu::Cpu;
//! use spmv_exec::Device;
//! use spmv_hetero::{Split, CoMatrix, Pattern, CoDevices, Steering};
//! // Two diagonals, and an entry far from them.
//! let stencil = (0..100u32).flat_map(|r| [(r, r, 2.0f64), (r, (r + 1) % 100, 1.0)]).chain([(3, 60, 5.0)]);
//! let a = Csr::from_coo(100, 100, &stencil.collect::<Vec<_>>())?;
//! assert_eq!(Pattern::of(a.view()), Pattern::QuasiDiagonal);
//! let cores = || Ok(Device::new(Cpu::open(Default::default())?)?);
//! // The cores also as the device, for want of another.
//! let devices = CoDevices::new(cores()?, 1, cores)?;
//! let steering = Steering { split: Some(Split::of(a.view())), ..Steering::default() };
//! let co_matrix = CoMatrix::prepare(&devices, a.view(), &Default::default(), &steering)?;
//! let (x, mut y) = (vec![1.0; 100], vec![0.0; 100]);
//! co_matrix.apply(&mut co_matrix.workspace()?, 1.0, &x, 0.0, &mut y)?;
//! assert_eq!((y[0], y[3]), (3.0, 8.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod balance;
mod co_devices;
mod co_matrix;
mod models;
mod partition;
mod pattern;
mod search;
mod searched;
mod split;
mod trials;

pub use co_devices::CoDevices;
pub use co_matrix::{CoMatrix, CoStats, CoWorkspace};
pub use models::{CORES_FEATURES, DEVICE_FEATURES, Models, SplitModels, Svr, features};
pub use partition::{By, Choice, Partition, Step};
pub use pattern::{Pattern, Regularity};
pub use search::Steering;
pub use split::{Regular, Split};
