//! What can be wrong with the arrays of a matrix.

/// A matrix that cannot be: each variant says where and with which numbers.
///
/// ```
/// use spmv_core::Csr;
/// let e = Csr::new(2, 2, vec![0u32, 2, 1], vec![0], vec![1.0]).unwrap_err();
/// assert_eq!(e.to_string(), "row 2: offset 1 is before row 1's offset 2; row offsets must not decrease");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsrError {
    /// More rows or columns than a `u32` index can name.
    #[error("{n} {axis} are more than the {max} that 32-bit indices can name", max = u32::MAX)]
    TooLarge {
        /// `rows` or `columns`.
        axis: &'static str,
        /// How many were asked for.
        n: usize,
    },
    /// `row_ptr` does not have one entry per row plus one.
    #[error("{found} row offsets for {n_rows} rows; there must be one more offset than rows")]
    RowPtrLength {
        /// Rows of the matrix.
        n_rows: usize,
        /// Offsets given.
        found: usize,
    },
    /// The first row offset is not zero.
    #[error("row 0: offset {found} is not 0; slice the arrays or subtract the first offset")]
    FirstOffset {
        /// The offset found.
        found: u64,
    },
    /// A row ends before it starts.
    #[error("row {row}: offset {offset} is before row {prev_row}'s offset {prev}; row offsets must not decrease", prev_row = row - 1)]
    Decreasing {
        /// Index into `row_ptr`.
        row: usize,
        /// The offset there.
        offset: u64,
        /// The offset before it.
        prev: u64,
    },
    /// A row offset of a signed type is negative.
    #[error("row {row}: offset {offset} is negative")]
    NegativeOffset {
        /// Index into `row_ptr`.
        row: usize,
        /// The offset there.
        offset: i128,
    },
    /// A matrix that is not square has no mirror.
    #[error("{n_rows} rows and {n_cols} columns; only a square matrix is symmetric")]
    NotSquare {
        /// Rows of the matrix.
        n_rows: usize,
        /// Its columns.
        n_cols: usize,
    },
    /// An entry stands on the other side of the diagonal than one before it.
    #[error(
        "row {row}: column {col} is on the other side of the diagonal than earlier entries; give one triangle"
    )]
    NoTriangle {
        /// Row of the entry.
        row: usize,
        /// Its column.
        col: u32,
    },
    /// The last row offset is not the number of entries.
    #[error("the last row offset is {last}, but there are {entries} column indices")]
    LastOffset {
        /// Last row offset.
        last: u64,
        /// Column indices given.
        entries: usize,
    },
    /// As many values as columns are needed.
    #[error("{values} values for {columns} column indices; each entry needs one of both")]
    ValuesLength {
        /// Column indices given.
        columns: usize,
        /// Values given.
        values: usize,
    },
    /// A column index is not smaller than the number of columns.
    #[error("row {row}, entry {entry}: column {column} is out of range; the matrix has {n_cols} columns")]
    ColumnOutOfRange {
        /// Row of the entry.
        row: usize,
        /// Index of the entry in the column array.
        entry: usize,
        /// The column index found, which other libraries' types may hold: it may be negative.
        column: i128,
        /// Columns of the matrix.
        n_cols: usize,
    },
    /// A triplet's row is not smaller than the number of rows.
    #[error("triplet {entry}: row {row} is out of range; the matrix has {n_rows} rows")]
    RowOutOfRange {
        /// Index of the triplet.
        entry: usize,
        /// The row index found.
        row: u32,
        /// Rows of the matrix.
        n_rows: usize,
    },
    /// More entries than the offset type can count.
    #[error("{entries} entries do not fit {type_name} row offsets; use u64 offsets")]
    OffsetOverflow {
        /// Entries to be counted.
        entries: usize,
        /// Name of the offset type.
        type_name: &'static str,
    },
    /// A row's columns do not increase from entry to entry, where they must.
    #[error(
        "row {row}: column {column} follows column {prev}; Csr::to_canonical sorts columns and sums repeated ones"
    )]
    NotCanonical {
        /// Row of the entry.
        row: usize,
        /// The column index found.
        column: u32,
        /// That of the entry before.
        prev: u32,
    },
    /// Something is wrong with arrays by columns, which are those by rows of the transpose.
    #[error("of the transpose, whose rows are the columns given: {0}")]
    ByColumns(Box<CsrError>),
    /// A dense array does not have rows x columns values.
    #[error("{found} dense values for {n_rows} x {n_cols}")]
    DenseLength {
        /// Rows of the matrix.
        n_rows: usize,
        /// Columns of the matrix.
        n_cols: usize,
        /// Values given.
        found: usize,
    },
}
