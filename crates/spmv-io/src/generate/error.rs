//! What no generator makes.

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
