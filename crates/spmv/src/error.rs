//! What a user can run into.

use crate::backend::{BackendKind, Tried, UnknownBackend};
use crate::erased_matrix::Mismatch;

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of a request, a matrix or a device.
///
/// ```
/// use spmv::{Context, Csr, Error};
/// let context = Context::auto()?;
/// let a = context.prepare(&Csr::from_coo(1, 2, &[(0, 1, 1.0f64)])?)?;
/// let e = a.multiply(&[1.0, 2.0, 3.0]).unwrap_err();
/// assert_eq!(e.to_string(), "x has 3 values, not 2");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No backend could be opened.
    #[error("no backend can be opened:{}", listed(.tried))]
    NoBackend {
        /// Each backend that was tried, and why it could not be opened.
        tried: Vec<Tried>,
    },
    /// `SPMV_BACKEND` or a text names no backend of this build.
    #[error(transparent)]
    UnknownBackend(#[from] UnknownBackend),
    /// Planning, preparing or running failed.
    #[error(transparent)]
    Exec(#[from] spmv_exec::Error),
    /// A vector of another backend than the matrix's.
    #[error("{what} is not of the matrix's context, which is on {backend}; make it from that")]
    OtherBackend {
        /// Which vector.
        what: &'static str,
        /// Backend of the matrix.
        backend: BackendKind,
    },
    /// A matrix of another library, or one for it.
    #[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
    #[error(transparent)]
    Interop(#[from] crate::interop::Error),
    /// A file, or what it holds.
    #[cfg(feature = "io")]
    #[error(transparent)]
    Io(#[from] crate::io::Error),
}

impl Error {
    /// Of a run or a queue on a backend.
    pub(crate) fn of(e: Mismatch, backend: BackendKind) -> Self {
        match e {
            Mismatch::Exec(e) => e.into(),
            Mismatch::Other(what) => Self::OtherBackend { what, backend },
        }
    }
}

impl From<spmv_core::CsrError> for Error {
    fn from(e: spmv_core::CsrError) -> Self {
        Self::Exec(e.into())
    }
}

impl From<spmv_core::TilingError> for Error {
    fn from(e: spmv_core::TilingError) -> Self {
        Self::Exec(e.into())
    }
}

fn listed(tried: &[Tried]) -> String {
    tried.iter().map(|t| format!(" {}: {};", t.backend, t.reason)).collect()
}
