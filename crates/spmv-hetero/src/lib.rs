//! One multiplication by a device and the cores beside it.
//!
//! Tan et al. 2019 cut a matrix in two by its [`Pattern`]: what is regular goes to the device, the rest to the cores of the CPU. A
//! [`Cut`] says where, and [`Pair::prepare`] finds it: by [`Models`] of the times of both [`Sides`] and by runs, until both take as
//! long as each other. [`Pair::apply`] starts both, and joins their sums once; where one side alone is as fast, that side
//! has everything.
//!
//! ```
//! use spmv_core::Csr;
//! use spmv_cpu::Cpu;
//! use spmv_exec::Device;
//! use spmv_hetero::{Cut, Pair, Pattern, Sides, Steering};
//! // Two diagonals, and an entry far from them.
//! let stencil = (0..100u32).flat_map(|r| [(r, r, 2.0f64), (r, (r + 1) % 100, 1.0)]).chain([(3, 60, 5.0)]);
//! let a = Csr::from_coo(100, 100, &stencil.collect::<Vec<_>>())?;
//! assert_eq!(Pattern::of(a.view()), Pattern::QuasiDiagonal);
//! let cores = || Ok(Device::new(Cpu::open(Default::default())?)?);
//! // The cores also as the device, for want of another.
//! let sides = Sides::new(cores()?, 1, cores)?;
//! let steering = Steering { cut: Some(Cut::of(a.view())), ..Steering::default() };
//! let pair = Pair::prepare(&sides, a.view(), &Default::default(), &steering)?;
//! let (x, mut y) = (vec![1.0; 100], vec![0.0; 100]);
//! pair.apply(&mut pair.workspace()?, 1.0, &x, 0.0, &mut y)?;
//! assert_eq!((y[0], y[3]), (3.0, 8.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod balance;
mod cut;
mod models;
mod pair;
mod partition;
mod pattern;
mod search;
mod sides;

pub use cut::{Cut, Regular};
pub use models::{CORES_FEATURES, DEVICE_FEATURES, ModelPair, Models, Svr, features};
pub use pair::{Pair, PairStats, PairWorkspace};
pub use partition::{By, Choice, Partition, Step};
pub use pattern::Pattern;
pub use search::Steering;
pub use sides::Sides;
