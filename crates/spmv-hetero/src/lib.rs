//! One multiplication by two devices at once.
//!
//! Tan et al. 2019 cut a matrix in two by its [`Pattern`]: what is regular goes to the device, the rest to the cores of the CPU. A
//! [`Cut`] says where, [`Pair::prepare`] copies each part to its device, and [`Pair::apply`] starts the device, multiplies on the
//! other side meanwhile, and joins the sums. The cores are the other side: runs of the cpu backend are done when they are started,
//! so nothing overlaps where they are the device, as in this example.
//!
//! ```
//! use spmv_core::Csr;
//! use spmv_cpu::Cpu;
//! use spmv_exec::Device;
//! use spmv_hetero::{Cut, Pair, Pattern};
//! // Two diagonals, and an entry far from them.
//! let stencil = (0..100u32).flat_map(|r| [(r, r, 2.0f64), (r, (r + 1) % 100, 1.0)]).chain([(3, 60, 5.0)]);
//! let a = Csr::from_coo(100, 100, &stencil.collect::<Vec<_>>())?;
//! assert_eq!(Pattern::of(a.view()), Pattern::QuasiDiagonal);
//! let (device, host) = (Device::new(Cpu::open(Default::default())?)?, Device::new(Cpu::open(Default::default())?)?);
//! let pair = Pair::prepare(&device, &host, a.view(), &Cut::of(a.view()))?;
//! let (x, mut y) = (vec![1.0; 100], vec![0.0; 100]);
//! pair.apply(&mut pair.workspace()?, 1.0, &x, 0.0, &mut y)?;
//! assert_eq!((y[0], y[3]), (3.0, 8.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod cut;
mod pair;
mod pattern;

pub use cut::Cut;
pub use pair::{Pair, PairStats, PairWorkspace};
pub use pattern::Pattern;
