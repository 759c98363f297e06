//! Seeded matrix generators: row lengths x column models, and well-known patterns.
//!
//! Every generator returns a [`Csr<f64>`](spmv_core::Csr) with sorted, unique columns in each row and
//! values of magnitude 0.1 to 1 with either sign. The same arguments give the same bits on every
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
mod lengths;
mod patterns;
pub(crate) mod random;
#[cfg(test)]
mod tests;

pub(crate) use engine::fill_rows;
pub use engine::{ColumnModel, from_row_lengths};
pub use lengths::{RowLengths, fit_row_lengths};
pub use patterns::{
    EmptyRows, Stencil, banded, dense_row, diagonal, empty_rows, fem, grid_2d, grid_3d, lattice, normal_rows,
    power_law_rows, uniform_rows,
};

/// Arguments that describe no matrix, or none with `u32` offsets.
///
/// ```
/// use spmv_io::generate;
/// let error = generate::uniform_rows(10, 4, 1, 5, 0).unwrap_err();
/// assert_eq!(error.to_string(), "rows of up to 5 entries do not fit into 4 columns");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A row has more entries than there are columns.
    #[error("row {row} shall hold {len} entries, but there are {n_cols} columns")]
    RowTooLong {
        /// The first such row.
        row: usize,
        /// Its length.
        len: u32,
        /// Columns of the matrix.
        n_cols: usize,
    },
    /// The longest row that a length model may draw has more entries than there are columns.
    #[error("rows of up to {max} entries do not fit into {n_cols} columns")]
    LengthsTooLong {
        /// Longest row of the model.
        max: u32,
        /// Columns of the matrix.
        n_cols: usize,
    },
    /// All rows together have more entries than `u32` offsets count.
    #[error("{entries} entries are more than the 4294967295 that u32 row offsets count")]
    TooManyEntries {
        /// Entries of all rows.
        entries: u64,
    },
    /// More rows or columns than `u32` indices count.
    #[error("{n} {axis} are more than the 4294967295 that u32 indices count")]
    TooLarge {
        /// `rows` or `columns`.
        axis: &'static str,
        /// How many.
        n: usize,
    },
    /// Row lengths cannot be moved to the wanted total.
    #[error("{n_rows} rows of {min} to {max} entries cannot hold {nnz} entries; they miss it by {gap}")]
    Unreachable {
        /// Wanted entries.
        nnz: u64,
        /// Rows.
        n_rows: usize,
        /// Shortest allowed row.
        min: u32,
        /// Longest allowed row.
        max: u32,
        /// Entries that are missing; negative if there are too many.
        gap: i64,
    },
    /// A number outside its range.
    #[error("{name} is {value}; it must be {wanted}")]
    Parameter {
        /// What the number is.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
}
