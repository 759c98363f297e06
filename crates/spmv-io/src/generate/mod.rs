//! Seeded matrix generators: row lengths x column models, and well-known patterns.
//!
//! Every generator returns a [`Csr<f64>`](spmv_core::Csr) ([`scattered`] one of any type) with sorted, unique columns in each row and
//! values of magnitude 0.1 to 1 with either sign; Laplacians have their constant coefficients. The same arguments give the same bits on every
//! platform and with any number of threads: each row has its own generator, and no libm is involved.
//!
//! ```
//! use spmv_core::RowStats;
//! use spmv_io::generate;
//!
//! let a = generate::power_law_rows(10_000, 10_000, 1, 2_000, 2.1, 42)?;
//! let rows = RowStats::of(a.view());
//! assert!(rows.max as f64 > 50.0 * rows.mean);
//! assert_eq!(a, generate::power_law_rows(10_000, 10_000, 1, 2_000, 2.1, 42)?);
//! # Ok::<(), generate::GenerateError>(())
//! ```

mod engine;
mod error;
mod family;
mod laplacian;
mod lengths;
mod patterns;
pub(crate) mod random;
mod rmat;
mod scattered;
#[cfg(test)]
mod tests;

pub(crate) use engine::fill_rows;
pub use engine::{ColumnModel, from_row_lengths};
pub use error::GenerateError;
pub use family::Family;
pub use laplacian::{laplacian_2d, laplacian_3d, laplacian_3d_box};
pub use lengths::{RowLengths, fit_row_lengths};
pub use patterns::{
    EmptyRows, Stencil, banded, block_diagonal, dense_row, diagonal, empty_rows, fem, grid_2d, grid_3d,
    lattice, normal_rows, power_law_rows, uniform_rows,
};
pub use rmat::rmat;
pub use scattered::scattered;
