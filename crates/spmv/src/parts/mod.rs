//! Matrices and vectors in parts, on several devices or in several processes.
//!
//! [`Context::devices`](crate::Context::devices) makes one context of several: each matrix is cut by rows, and so are vectors.
//! [`Context::with_peers`](crate::Context::with_peers) makes a context one of many that work together, each in a process of its own;
//! what moves values between them is a [`Peers`]. Either way products, operations on vectors and solvers stay as they are.
//!
//! A part multiplies what it owns while values that it needs of others, its ghosts, are on their way, and its boundary rows with
//! ghosts after that.
//!
//! ```
//! use spmv::{BackendKind, Context, Csr};
//! let one = Context::with(BackendKind::Cpu)?;
//! let two = Context::devices(&[one.clone(), one])?;
//! let a = two.prepare(&Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (0, 1, 2.0), (1, 0, 3.0)])?)?;
//! assert_eq!(a.multiply(&[1.0, 10.0])?, [21.0, 3.0]);
//! println!("{}", a.explain());
//! # Ok::<(), spmv::Error>(())
//! ```

mod context;
mod cut;
mod device;
mod group;
mod link;
mod matrix;
mod peers;
mod products;
mod queue;
mod shares;
mod sums;
mod vector;

pub use peers::{Exchange, Peers, PeersError, Reduction};
pub use spmv_partition::{Halo, Part, PartitionError, Ranges, Receive, Send};
