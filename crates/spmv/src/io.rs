//! Matrix Market files: feature `io`.
//!
//! [`read`] takes what files of the SuiteSparse collection are: coordinates or arrays, plain or gzipped, from untrusted sources too
//! ([`matrix_market`] says within which limits). [`Reader`] and [`Writer`] have options, [`generate`] makes matrices without files.
//!
//! ```
//! use spmv::{Context, Csr, io};
//! # let dir = std::env::temp_dir().join(format!("spmv-io-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).unwrap();
//! let path = dir.join("a.mtx.gz");
//! io::write(&path, &Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?)?;
//! let a = Context::auto()?.prepare(&io::read::<f64>(&path)?)?;
//! assert_eq!(a.multiply(&[1.0, 10.0])?, [20.0, 3.0]);
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), spmv::Error>(())
//! ```

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use spmv_core::{Csr, CsrView, Offset, Value};

pub use spmv_io::generate;
pub use spmv_io::matrix_market::{self, Reader, Writer};

/// Reads a matrix from a file, plain or gzipped, with 32-bit row offsets. [`read_with`] has options.
///
/// O(bytes / threads + rows + entries log(longest row)) time; memory as [`matrix_market`] says.
///
/// # Errors
/// [`Error`] with the path, and with the line where there is one.
pub fn read<T: Value>(path: impl AsRef<Path>) -> Result<Csr<T>, Error> {
    read_with(path, &Reader::new())
}

/// As [`read`], with the reader's limits, complex matrices if it takes their real parts, and row offsets of either type.
///
/// ```
/// use spmv::io;
/// let reader = io::Reader::new().max_rows(1000);
/// let e = io::read_with::<f32, u64>("missing.mtx", &reader).unwrap_err();
/// assert!(e.to_string().starts_with("missing.mtx: "));
/// ```
///
/// # Errors
/// As [`read`].
pub fn read_with<T: Value, O: Offset>(path: impl AsRef<Path>, reader: &Reader) -> Result<Csr<T, O>, Error> {
    let path = path.as_ref();
    reader.read(path).map_err(|cause| Error { path: Some(path.to_owned()), cause })
}

/// Reads a matrix from anything that gives bytes, plain or gzipped, with 32-bit row offsets.
///
/// ```
/// let text: &[u8] = b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 4 0.5\n";
/// let e = spmv::io::read_from::<f32>(text).unwrap_err();
/// assert_eq!(e.to_string(), "line 3: column 4 is out of range; the header says 3 columns");
/// ```
///
/// # Errors
/// [`Error`] without a path, with the line where there is one.
pub fn read_from<T: Value>(source: impl Read) -> Result<Csr<T>, Error> {
    Reader::new().read_from(source).map_err(|cause| Error { path: None, cause })
}

/// Writes a matrix as a general coordinate file of real values, gzipped if the name ends in `.gz`. [`Writer`] has options.
///
/// # Errors
/// [`Error`] with the path.
pub fn write<'a, T: Value, O: Offset>(
    path: impl AsRef<Path>,
    a: impl Into<CsrView<'a, T, O>>,
) -> Result<(), Error> {
    let path = path.as_ref();
    matrix_market::write(path, a.into()).map_err(|cause| Error { path: Some(path.to_owned()), cause })
}

/// Reads a vector: a matrix of one column, in a coordinate or array file, plain or gzipped. What a file does not hold is zero.
///
/// ```
/// use spmv::io;
/// let path = std::env::temp_dir().join(format!("spmv-vector-{}.mtx", std::process::id()));
/// io::write_vector(&path, &[1.0f32, 0.0, -2.5])?;
/// assert_eq!(io::read_vector::<f32>(&path)?, [1.0, 0.0, -2.5]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// [`Error`] with the path: of a matrix with more columns or none too.
pub fn read_vector<T: Value>(path: impl AsRef<Path>) -> Result<Vec<T>, Error> {
    let path = path.as_ref();
    matrix_market::read_vector(path).map_err(|cause| Error { path: Some(path.to_owned()), cause })
}

/// Writes a vector as an array file of one column, gzipped if the name ends in `.gz`.
///
/// # Errors
/// [`Error`] with the path.
pub fn write_vector<T: Value>(path: impl AsRef<Path>, x: &[T]) -> Result<(), Error> {
    let path = path.as_ref();
    matrix_market::write_vector(path, x).map_err(|cause| Error { path: Some(path.to_owned()), cause })
}

/// What is wrong with a file, and which file it is.
///
/// ```
/// let e = spmv::io::read::<f64>("missing.mtx").unwrap_err();
/// assert!(e.to_string().starts_with("missing.mtx: "));
/// assert_eq!(e.path(), Some("missing.mtx".as_ref()));
/// assert!(matches!(e.cause().kind(), spmv::io::matrix_market::ErrorKind::Io(std::io::ErrorKind::NotFound, _)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    path: Option<PathBuf>,
    cause: matrix_market::Error,
}

impl Error {
    /// The file, unless the bytes came from elsewhere.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What is wrong with it, and in which line.
    pub fn cause(&self) -> &matrix_market::Error {
        &self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        self.cause.fmt(f)
    }
}

impl std::error::Error for Error {}
