//! What can go wrong between a matrix and its product.

use spmv_core::format::FormatError;
use spmv_core::{CsrError, Dtype, TilingError};
use spmv_fixup::FixupError;

/// The result of planning, preparing or running.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of a request, a matrix or a device.
///
/// ```
/// use spmv_exec::Error;
/// let e = Error::Length { what: "x", found: 3, expected: 4 };
/// assert_eq!(e.to_string(), "x has 3 values, not 4");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed, or cannot do what was asked.
    #[error(transparent)]
    Device(#[from] spmv_backend::Error),
    /// The device reported what cannot be.
    #[error(transparent)]
    Fixup(#[from] FixupError),
    /// The arrays are no matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// A layout that does not take the matrix.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The numbers are no tiling.
    #[error(transparent)]
    Tiling(#[from] TilingError),
    /// A vector of the wrong length.
    #[error("{what} has {found} values, not {expected}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// A block of another shape.
    #[error("{what} has {} rows and {} columns, not {} and {}", found.0, found.1, expected.0, expected.1)]
    Shape {
        /// Which block.
        what: &'static str,
        /// Its rows and columns.
        found: (usize, usize),
        /// Those needed.
        expected: (usize, usize),
    },
    /// A leading dimension that rows (or columns, in column-major order) do not fit.
    #[error("a leading dimension of {leading} is less than the {least} values that stand next to each other")]
    Leading {
        /// What was given.
        leading: usize,
        /// The least that fits.
        least: usize,
    },
    /// A vector whose last run failed or was forgotten before its sums were repaired.
    #[error("the vector holds sums that were never repaired; write it anew, or wait for the pending run")]
    Unrepaired,
    /// A vector that operations use which a queue holds back, so that nobody can wait for them.
    #[error("the vector is used by operations that a queue still records; use it when the recording is over")]
    Recorded,
    /// An index that is none of the vectors it is to be for.
    #[error("index {at} is {index}, but the vectors have {len} values, from 0 on")]
    Index {
        /// Its position among the indices.
        at: usize,
        /// What it is.
        index: u32,
        /// The length of the vectors.
        len: usize,
    },
    /// Indices that are not all different, where each value is to be written once.
    #[error(
        "index {at} is {index}, as is index {first}; give each index once, with the sum of what is to be added"
    )]
    RepeatedIndex {
        /// The later position among the indices.
        at: usize,
        /// The earlier one.
        first: usize,
        /// What both are.
        index: u32,
    },
    /// A value that a narrower type would make infinite.
    #[error(
        "entry {entry} has the value {value:e}, which is beyond {dtype}; scale the matrix, or keep its values in a wider type"
    )]
    Narrow {
        /// The entry, counted from the first of the rows that the device has.
        entry: usize,
        /// Its value.
        value: f64,
        /// The type that was to hold it.
        dtype: Dtype,
    },
    /// Bounds that nothing can be clamped to.
    #[error("these bounds clamp nothing: {why}")]
    Bounds {
        /// What is wrong with them.
        why: &'static str,
    },
    /// A workspace, vector or matrix of another device or matrix.
    #[error("{what} belongs to another {to}; make it from the one it is used with")]
    Foreign {
        /// What was given.
        what: &'static str,
        /// `device`, `prepared matrix` or `split matrix`.
        to: &'static str,
    },
}

impl Error {
    /// The same of a piece that begins with row `first` of a matrix, in the matrix's row numbers.
    pub(crate) fn in_rows_from(self, first: usize) -> Self {
        match self {
            Error::Format(e) => Error::Format(e.in_rows_from(first)),
            other => other,
        }
    }
}
