//! What a user can run into.

use std::path::PathBuf;

use spmv_core::format::FormatError;
use spmv_core::{CsrError, Dtype, TilingError};

use crate::backend::{Tried, UnknownBackend};
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
/// assert_eq!(e, Error::Length { what: "x", found: 3, expected: 2 });
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
    /// An allocation failed, or exceeds what the device allows.
    #[error("{device} cannot allocate {bytes} bytes; use a smaller matrix or another backend")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes asked for.
        bytes: u64,
    },
    /// The device cannot do what was asked.
    #[error("{device} has no {what}; {way_out}")]
    Unsupported {
        /// Name of the device.
        device: String,
        /// The capability it lacks.
        what: String,
        /// What to do instead.
        way_out: String,
    },
    /// The device is gone. Nothing on it can be used any more, and some drivers give no other in this process.
    #[error("{device} was lost: {detail}; use another backend, or open it again in a new process")]
    DeviceLost {
        /// Name of the device.
        device: String,
        /// What the driver said.
        detail: String,
    },
    /// A vector or slice of the wrong length.
    #[error("{what} has {found} values, not {expected}")]
    Length {
        /// Which one.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// A value that the type it is to be kept in ([`Options::values`](crate::Options::values)) makes infinite.
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
    /// A vector, matrix, scalar or workspace that was made elsewhere.
    #[error("{what} belongs to another {to}; make it from the one it is used with")]
    Foreign {
        /// What was given.
        what: &'static str,
        /// What differs: `backend`, `device`, `queue`, `prepared matrix` or `split matrix`.
        to: &'static str,
    },
    /// The arrays are no matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// A layout that does not take the matrix.
    #[error(transparent)]
    Layout(#[from] FormatError),
    /// The numbers are no tiling.
    #[error(transparent)]
    Tiling(#[from] TilingError),
    /// There is no folder that a profile could be kept in (feature `fit`).
    #[error(
        "no data folder to keep a profile in; name one with SPMV_PROFILES or Context::builder().profiles(..)"
    )]
    NoProfileFolder,
    /// A profile that cannot be read or written (feature `fit`).
    #[error("{}: {reason}", .path.display())]
    Profile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Anything else that planning, preparing or running can fail with.
    #[error(transparent)]
    Exec(spmv_exec::Error),
    /// A matrix of another library, or one for it.
    #[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
    #[error(transparent)]
    Interop(#[from] crate::interop::Error),
    /// A file, or what it holds.
    #[cfg(feature = "io")]
    #[error(transparent)]
    Io(#[from] crate::io::Error),
}

impl From<spmv_exec::Error> for Error {
    fn from(e: spmv_exec::Error) -> Self {
        use spmv_backend::Error as Device;
        use spmv_exec::Error as Exec;
        match e {
            Exec::Device(Device::OutOfMemory { device, bytes }) => Self::OutOfMemory { device, bytes },
            Exec::Device(Device::Unsupported { device, what, way_out }) => {
                Self::Unsupported { device, what, way_out }
            }
            Exec::Device(Device::DeviceLost { device, detail }) => Self::DeviceLost { device, detail },
            Exec::Length { what, found, expected } => Self::Length { what, found, expected },
            Exec::Narrow { entry, value, dtype } => Self::Narrow { entry, value, dtype },
            Exec::Foreign { what, to } => Self::Foreign { what, to },
            Exec::Matrix(e) => Self::Matrix(e),
            Exec::Format(e) => Self::Layout(e),
            Exec::Tiling(e) => Self::Tiling(e),
            other => Self::Exec(other),
        }
    }
}

impl From<Mismatch> for Error {
    fn from(e: Mismatch) -> Self {
        match e {
            Mismatch::Exec(e) => e.into(),
            Mismatch::Other(what) => Self::Foreign { what, to: "backend" },
        }
    }
}

fn listed(tried: &[Tried]) -> String {
    tried.iter().map(|t| format!(" {}: {};", t.backend, t.reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What no test can provoke on every machine. The words are those of the crates below.
    #[test]
    fn faults_of_a_device_keep_their_words() {
        use spmv_backend::Error as Device;
        let device = || "some GPU".to_owned();
        let of = |e: Device| (e.to_string(), Error::from(spmv_exec::Error::from(e)));
        let (words, e) = of(Device::OutOfMemory { device: device(), bytes: 7 });
        assert_eq!(e, Error::OutOfMemory { device: device(), bytes: 7 });
        assert_eq!(e.to_string(), words);
        let (words, e) = of(Device::unsupported("some GPU", "f64 arithmetic", "use f32"));
        assert!(
            matches!(&e, Error::Unsupported { what, way_out, .. } if what == "f64 arithmetic" && way_out == "use f32")
        );
        assert_eq!(e.to_string(), words);
        let (words, e) = of(Device::DeviceLost { device: device(), detail: "it fell off the bus".into() });
        assert_eq!(e, Error::DeviceLost { device: device(), detail: "it fell off the bus".into() });
        assert_eq!(e.to_string(), words);
        let (words, e) = of(Device::OutOfBounds { start: 0, end: 8, len: 4 });
        assert!(matches!(e, Error::Exec(_)));
        assert_eq!(e.to_string(), words);
    }

    #[test]
    fn requests_keep_their_words() {
        for e in [
            spmv_exec::Error::Length { what: "x", found: 3, expected: 2 },
            spmv_exec::Error::Foreign { what: "y", to: "device" },
            spmv_exec::Error::Unrepaired,
        ] {
            let words = e.to_string();
            let e = Error::from(e);
            assert_eq!(e.to_string(), words);
            assert_eq!(matches!(e, Error::Exec(_)), words.contains("never repaired"));
        }
    }
}
