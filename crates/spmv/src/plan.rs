//! What plans are made of: statistics of a matrix, the algorithm and tiling that are chosen, predicted times and their profiles.
//!
//! A plan is made by [`Context::plan`](crate::Context::plan) and kept by every prepared [`Matrix`](crate::Matrix::plan). Each part of it can
//! be chosen by [`Options`](crate::Options), or by trials on the matrix itself ([`Tune`]).
//!
//! ```
//! use spmv::plan::{Algorithm, Tiling};
//! use spmv::{Context, Csr, Options};
//! let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?;
//! let options = Options { algorithm: Algorithm::CsrVector, tiling: Some(Tiling::new(4, 1, 1, 8)?), ..Options::default() };
//! let plan = Context::auto()?.plan(&a, &options)?;
//! assert_eq!(plan.algorithm, Algorithm::CsrVector);
//! println!("{}", plan.explain());
//! # Ok::<(), spmv::Error>(())
//! ```

pub use spmv_core::{HybShape, MatrixStats, RowBlocks, RowStats, Tiling, TilingError, tiling};
pub use spmv_exec::{
    Algorithm, Candidate, Choice, ChoiceError, Fixup, Layouts, Plan, Profile, Repair, Trial, Tune,
};
