//! What can be wrong with a file.

use std::fmt;
use std::io;

use spmv_core::CsrError;

/// What is wrong, and in which line.
///
/// ```
/// use spmv_io::matrix_market::{ErrorKind, Reader};
/// let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n";
/// let e = Reader::new().parse::<f64>(text).unwrap_err();
/// assert_eq!(e.line(), Some(3));
/// assert_eq!(e.kind(), &ErrorKind::RowOutOfRange { row: 3, rows: 2 });
/// assert_eq!(e.to_string(), "line 3: row 3 is out of range; the header says 2 rows");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    line: u64,
    kind: ErrorKind,
}

impl Error {
    pub(super) fn at(line: u64, kind: ErrorKind) -> Self {
        Self { line, kind }
    }

    /// The line, counted from 1, if the fault lies in one.
    pub fn line(&self) -> Option<u64> {
        (self.line > 0).then_some(self.line)
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line() {
            Some(line) => write!(f, "line {line}: {}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { line: 0, kind }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        ErrorKind::Io(e.kind(), e.to_string()).into()
    }
}

impl From<CsrError> for Error {
    fn from(e: CsrError) -> Self {
        ErrorKind::Matrix(e).into()
    }
}

/// What is wrong.
///
/// ```
/// use spmv_io::matrix_market::ErrorKind;
/// let kind = ErrorKind::TooFew { found: 3, expected: 4 };
/// assert_eq!(kind.to_string(), "the file ends after 3 of 4 entries");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file cannot be read or written.
    #[error("{1}")]
    Io(io::ErrorKind, String),
    /// The first line is no banner.
    #[error("not a Matrix Market file; it must begin with '%%MatrixMarket matrix'")]
    NoBanner,
    /// A word of the banner is unknown.
    #[error("unknown {what} '{word}'; known: {known}")]
    Banner {
        /// `object`, `format`, `field` or `symmetry`.
        what: &'static str,
        /// The word found, empty if there is none.
        word: String,
        /// The words known.
        known: &'static str,
    },
    /// Words that the format does not allow together.
    #[error("a matrix cannot be both {0} and {1}")]
    Contradiction(&'static str, &'static str),
    /// The matrix is complex and its real part was not asked for.
    #[error("the matrix is complex; ask for its real part (Reader::real_part)")]
    Complex,
    /// The size line is missing.
    #[error("the file ends before the size line")]
    NoSize,
    /// The size line does not hold the numbers it should.
    #[error("'{0}' is no size line; it must hold {1}")]
    Size(String, &'static str),
    /// More rows or columns than 32-bit indices can name.
    #[error("{n} {axis} are more than the {max} that 32-bit indices can name", max = u32::MAX)]
    TooLarge {
        /// `rows` or `columns`.
        axis: &'static str,
        /// How many the header says.
        n: u64,
    },
    /// A symmetric matrix that is not square.
    #[error("a {symmetry} matrix must be square, the header says {rows} x {cols}")]
    NotSquare {
        /// The symmetry of the banner.
        symmetry: &'static str,
        /// Rows of the header.
        rows: u64,
        /// Columns of the header.
        cols: u64,
    },
    /// More rows than the bytes present justify.
    #[error("{rows} rows are implausible for {bytes} bytes; Reader::max_rows allows them")]
    ImplausibleRows {
        /// Rows of the header.
        rows: u64,
        /// Bytes read.
        bytes: u64,
    },
    /// More entries than the bytes present justify: a compressed file that inflates to far more than a matrix would.
    #[error("{entries} entries are implausible for {bytes} bytes; Reader::max_entries allows them")]
    ImplausibleEntries {
        /// Entries read so far, both triangles counted.
        entries: u64,
        /// Bytes read, before any inflating.
        bytes: u64,
    },
    /// More entries than [`Reader::max_entries`](super::Reader::max_entries) allows.
    #[error("{entries} entries are more than the {max} that Reader::max_entries allows")]
    TooManyEntries {
        /// Entries of the header.
        entries: u64,
        /// The limit.
        max: u64,
    },
    /// A row index outside the matrix.
    #[error("row {row} is out of range; the header says {rows} rows")]
    RowOutOfRange {
        /// The index found, from 1 on.
        row: u64,
        /// Rows of the header.
        rows: u64,
    },
    /// A column index outside the matrix.
    #[error("column {column} is out of range; the header says {cols} columns")]
    ColumnOutOfRange {
        /// The index found, from 1 on.
        column: u64,
        /// Columns of the header.
        cols: u64,
    },
    /// Something that is no index.
    #[error("'{0}' is no index")]
    Index(String),
    /// Something that is no value of the field.
    #[error("'{0}' is no {1}")]
    Number(String, &'static str),
    /// A line with too few words.
    #[error("{found} words, {expected} are needed: {what}")]
    Missing {
        /// Words found.
        found: usize,
        /// Words needed.
        expected: usize,
        /// What they are.
        what: &'static str,
    },
    /// A line with too many words.
    #[error("'{0}' is left over at the end of the line")]
    LeftOver(String),
    /// An entry above the diagonal of a file that holds the lower triangle.
    #[error(
        "entry ({row}, {column}) lies above the diagonal of a {symmetry} matrix, whose lower triangle alone is stored"
    )]
    AboveDiagonal {
        /// Row, from 1 on.
        row: u64,
        /// Column, from 1 on.
        column: u64,
        /// The symmetry of the banner.
        symmetry: &'static str,
    },
    /// An entry on the diagonal of a skew-symmetric matrix.
    #[error("entry ({0}, {0}) lies on the diagonal of a skew-symmetric matrix, which is zero")]
    SkewDiagonal(u64),
    /// An entry after the last.
    #[error("more than the {0} entries that the header says")]
    TooMany(u64),
    /// The file ends early.
    #[error("the file ends after {found} of {expected} entries")]
    TooFew {
        /// Entries found.
        found: u64,
        /// Entries of the header.
        expected: u64,
    },
    /// A line that is longer than any entry.
    #[error("the line is longer than {0} bytes")]
    LongLine(usize),
    /// A matrix that was to be written as symmetric, and is not.
    #[error("row {row}, column {column} has no equal across the diagonal; write the matrix as general")]
    NotSymmetric {
        /// Row, from 0 on.
        row: usize,
        /// Column, from 0 on.
        column: u32,
    },
    /// A matrix where a vector was to be read.
    #[error("a vector has one column; this matrix is {rows} x {cols}")]
    NotAVector {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// The entries are no matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
}
