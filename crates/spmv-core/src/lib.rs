//! Sparse matrices in CSR form, the tiling math of speculative segmented sum, and the naive oracle.
//!
//! This crate performs no IO and knows no device. Everything else in the workspace stands on it:
//!
//! - [`Csr`] and [`CsrView`]: owned and borrowed matrices, validated once, trusted afterwards;
//! - [`Value`], [`Accum`], [`Real`], [`Offset`]: the types that matrices hold; [`Index`]: those of other libraries' indices;
//! - [`RowStats`], [`MatrixStats`]: what planning uses;
//! - [`format`](mod@format): other layouts of the same matrix (ELL, JAD, DIA and pairs with CSR);
//! - [`regular`]: how wide a band, or how many slots of each row, hold most entries;
//! - [`tiling`]: every boundary of a tile, bunch, group or part is computed there and nowhere else;
//! - [`oracle`]: the slow, obvious product that decides whether any other result is right.
//!
//! ```
//! use spmv_core::{Csr, oracle};
//!
//! let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (1, 2, 3.0), (1, 0, 2.0)])?;
//! let reference = oracle::multiply(a.view(), 1.0, &[1.0, 10.0, 100.0], 0.0, &[0.0; 2]);
//! assert_eq!(reference.y, [1.0, 302.0]);
//! # Ok::<(), spmv_core::CsrError>(())
//! ```
#![forbid(unsafe_code)]

mod assemble;
mod checks;
mod csr;
mod diagonals;
mod error;
mod footprint;
pub mod format;
mod hash;
mod indices;
mod lengths;
mod mirror;
mod offset;
pub mod oracle;
mod order;
mod owner;
pub mod parts;
pub mod regular;
mod row_blocks;
mod shared;
mod stats;
pub mod tiling;
mod value;

pub use checks::check_row_ptr;
pub use csr::{AnyCsr, Csr, CsrView};
pub use error::CsrError;
pub use footprint::Footprint;
pub use hash::fnv1a;
pub use mirror::mirrored_share;
pub use offset::{Index, Offset};
pub use order::conjugate;
pub use owner::Owner;
pub use row_blocks::RowBlocks;
pub use shared::SharedCsr;
pub use stats::{HybShape, MatrixStats, RowStats, Runs, most_common_row_length};
pub use tiling::{Tiling, TilingError};
pub use types::*;
pub use value::{Accum, Dtype, Real, UnknownDtype, Value, Wide, types};
