//! Iterative solvers whose vectors and scalars stay on the device.
//!
//! Each works through a [`Queue`](spmv::Queue): an iteration waits for nothing. Every [`Options::check_every`] iterations the host
//! reads a few numbers, with one wait, and decides whether to go on. So up to that many iterations are made in vain; they change
//! nothing where the residual is zero. Where the host repairs sums, each product waits once more.
//!
//! ```
//! use spmv::{Context, Csr};
//! use spmv_solvers::{Options, conjugate_gradient};
//! let a = Csr::from_coo(2, 2, &[(0, 0, 4.0f64), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?;
//! let context = Context::auto()?;
//! let (a, b) = (context.prepare(&a)?, context.upload(&[1.0, 2.0])?);
//! let mut x = a.zeros_x()?;
//! let report = conjugate_gradient(&a, &b, &mut x, &mut Options::default())?;
//! assert!(report.has_converged());
//! let x = x.to_vec()?;
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-9 && (x[1] - 7.0 / 11.0).abs() < 1e-9);
//! # Ok::<(), spmv_solvers::Error>(())
//! ```
//!
//! All but PageRank solve complex systems too, where *symmetric* means Hermitian. Norms and tolerances are real.
//!
//! ```
//! use spmv::{Context, Csr, c64};
//! use spmv_solvers::{Options, gmres};
//! let context = Context::auto()?;
//! let a = context.prepare(&Csr::from_coo(1, 1, &[(0, 0, c64::new(0.0, 2.0))])?)?;
//! let (b, mut x) = (context.upload(&[c64::new(4.0, 0.0)])?, a.zeros_x()?);
//! assert!(gmres(&a, 30, &b, &mut x, &mut Options::default())?.has_converged());
//! assert!((x.to_vec()?[0] - c64::new(0.0, -2.0)).norm() < 1e-9);
//! # Ok::<(), spmv_solvers::Error>(())
//! ```
#![forbid(unsafe_code)]

mod bicgstab;
mod block_jacobi;
mod cg;
mod chebyshev;
mod error;
mod freeze;
mod gmres;
mod hessenberg;
mod lsmr;
mod method;
mod minres;
mod operator;
mod options;
mod page_rank;
mod pipelined_cg;
mod power;
mod precondition;

pub use bicgstab::{BiCgStab, bicgstab};
pub use block_jacobi::BlockJacobi;
pub use cg::{ConjugateGradient, conjugate_gradient};
pub use chebyshev::chebyshev;
pub use error::{Breakdown, Error, Result};
pub use gmres::{Gmres, gmres};
pub use lsmr::{Lsmr, lsmr};
pub use minres::{Minres, minres};
pub use operator::LinearOperator;
pub use options::{Monitor, Options, Progress, Report, Stop};
pub use page_rank::{Links, page_rank};
pub use pipelined_cg::{PipelinedConjugateGradient, pipelined_conjugate_gradient};
pub use power::{Eigenpair, power_iteration};
pub use precondition::{Jacobi, Preconditioner};
