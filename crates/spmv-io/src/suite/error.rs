//! Why there is no matrix.

use std::io;
use std::path::PathBuf;

use crate::generate::GenerateError;

/// Why a matrix of the suite could not be had.
///
/// ```
/// use spmv_io::suite::find;
/// let file = std::env::current_exe().unwrap(); // a file, where a directory is wanted
/// let error = find("dense2").unwrap().load(Some(&file)).unwrap_err();
/// assert!(error.to_string().starts_with("cannot write the cache file "));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// The recipe describes no matrix.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The cache directory takes no file.
    #[error("cannot write the cache file {}; choose another cache directory or none", path.display())]
    Cache {
        /// File that could not be written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A Matrix Market file cannot be read.
    #[error("cannot read {}", path.display())]
    Original {
        /// The file.
        path: PathBuf,
        /// Why.
        source: crate::matrix_market::Error,
    },
    /// A Matrix Market file holds another matrix.
    #[error(
        "{} is {found_rows} x {found_cols}, but {name} is {rows} x {cols}; remove the file or get the original",
        path.display()
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// Name of the entry.
        name: &'static str,
        /// Rows in the file.
        found_rows: usize,
        /// Columns in the file.
        found_cols: usize,
        /// Rows of the original.
        rows: usize,
        /// Columns of the original.
        cols: usize,
    },
}
