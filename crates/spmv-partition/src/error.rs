//! What no partition is.

use std::ops::Range;

use spmv_core::CsrError;

/// The result of cutting.
pub type Result<T, E = PartitionError> = std::result::Result<T, E>;

/// A partition, or a part, that cannot be.
///
/// ```
/// use spmv_partition::Ranges;
/// let e = Ranges::new(vec![0, 5, 3]).unwrap_err();
/// assert_eq!(e.to_string(), "part 1 begins at 5 and ends at 3; offsets must not decrease");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// No offsets, or a first one that is not 0.
    #[error("the offsets of parts begin with {}; they must begin with 0", first(.0))]
    First(Option<u64>),
    /// A part that ends before it begins.
    #[error("part {part} begins at {from} and ends at {to}; offsets must not decrease")]
    Decreasing {
        /// Index of the part.
        part: usize,
        /// Its first row.
        from: u64,
        /// The row after its last.
        to: u64,
    },
    /// Row offsets or values that do not belong to a matrix.
    #[error(transparent)]
    Csr(#[from] CsrError),
    /// A global column that the matrix does not have.
    #[error("row {row}, entry {entry}: column {column} is out of range; the matrix has {n_cols} columns")]
    Column {
        /// Row of the entry, counted within the part.
        row: usize,
        /// Index of the entry in the column array.
        entry: usize,
        /// The column found.
        column: u64,
        /// Columns of the matrix.
        n_cols: u64,
    },
    /// Rows, but no part to own them.
    #[error("{rows} rows and no part to own them; ask for at least 1 part")]
    NoParts {
        /// Rows of the matrix.
        rows: u64,
    },
    /// The index of a part that is not there.
    #[error("there is no part {part} in a partition of {parts}; indices begin with 0")]
    NoSuchPart {
        /// Index of the part.
        part: usize,
        /// How many parts there are.
        parts: usize,
    },
    /// Rows and columns are partitioned among different numbers of parts.
    #[error("rows are partitioned among {rows} parts, columns among {cols}; each part needs a range of both")]
    Partitions {
        /// Parts that own rows.
        rows: usize,
        /// Parts that own columns.
        cols: usize,
    },
    /// A part is given another number of rows than it owns.
    #[error("part {part} owns {owned} rows, {first} to before {end}, but {found} were given", owned = rows.end - rows.start, first = rows.start, end = rows.end)]
    Rows {
        /// Index of the part.
        part: usize,
        /// The rows that it owns.
        rows: Range<u64>,
        /// How many rows were given.
        found: usize,
    },
    /// Ranges of another matrix.
    #[error("the ranges hold {ranges} {axis}, the matrix has {matrix}; make them for this matrix")]
    Shape {
        /// `rows` or `columns`.
        axis: &'static str,
        /// As many as all parts own.
        ranges: u64,
        /// As many as the matrix has.
        matrix: u64,
    },
    /// More rows, columns or ghosts of one part than 32-bit local indices can name.
    #[error("part {part} has {n} {what}, more than the {max} that 32-bit indices can name; use more parts", max = u32::MAX)]
    TooMany {
        /// Index of the part.
        part: usize,
        /// `rows`, `columns` or `ghosts`.
        what: &'static str,
        /// How many.
        n: u64,
    },
    /// A part is asked for a value of `x` that another one owns.
    #[error("part {to} requests column {column} of part {part}, which owns {first} to before {end}; all parts must use the same ranges", first = cols.start, end = cols.end)]
    NotOwned {
        /// The part that is asked.
        part: usize,
        /// The part that asks.
        to: usize,
        /// The column asked for.
        column: u64,
        /// The columns that the asked part owns.
        cols: Range<u64>,
    },
    /// A request by the part itself, or by one that is not there.
    #[error("part {part} of {parts} cannot send to part {to}; requests come from the other parts")]
    Receiver {
        /// The part that is asked.
        part: usize,
        /// The part that is said to ask.
        to: usize,
        /// How many parts there are.
        parts: usize,
    },
    /// Two lists of requests by one part.
    #[error("part {to} requests values of part {part} in two lists; join them")]
    RequestedTwice {
        /// The part that is asked.
        part: usize,
        /// The part that asks.
        to: usize,
    },
    /// A matrix that is not square, where rows and columns are reordered alike.
    #[error("{n_rows} rows and {n_cols} columns; only a square matrix is reordered symmetrically")]
    NotSquare {
        /// Rows of the matrix.
        n_rows: usize,
        /// Columns of the matrix.
        n_cols: usize,
    },
    /// An order that names an index twice, or one that is not there.
    #[error(
        "index {found} at position {position} is repeated or not below {n}; a permutation holds each index once"
    )]
    NotAPermutation {
        /// Where in the order.
        position: usize,
        /// The index found there.
        found: u32,
        /// Length of the order.
        n: usize,
    },
    /// A vector or a matrix of another length than the permutation.
    #[error("{found} values for a permutation of {n}")]
    Length {
        /// Length of the permutation.
        n: usize,
        /// Length of what it was applied to.
        found: usize,
    },
    /// More than METIS counts.
    #[error("METIS cannot partition {n} {what}: its integers end at {max}; partition by rows or by nonzeros", max = i32::MAX)]
    TooLargeForMetis {
        /// `rows`, `edges`, `nonzeros` or `parts`.
        what: &'static str,
        /// How many.
        n: u64,
    },
    /// What METIS reported.
    #[error("METIS did not partition the matrix: {0}")]
    Metis(String),
}

fn first(found: &Option<u64>) -> String {
    found.map_or("nothing".into(), |first| first.to_string())
}
