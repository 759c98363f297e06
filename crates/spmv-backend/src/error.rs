//! What can go wrong on a device.

/// The result of a device verb.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of a device or of a request to it; each message names the way out where there is one.
///
/// ```
/// use spmv_backend::Error;
/// let e = Error::unsupported("wgpu (llvmpipe)", "f64 arithmetic", "use f32 values, or the cuda or opencl backend");
/// assert_eq!(
///     e.to_string(),
///     "wgpu (llvmpipe) has no f64 arithmetic; use f32 values, or the cuda or opencl backend"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend has no usable device on this machine.
    #[error("{backend}: {reason}")]
    Unavailable {
        /// Name of the backend.
        backend: String,
        /// Why, and how to change that.
        reason: String,
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
    /// An allocation failed, or exceeds what the device allows.
    #[error("{device} cannot allocate {bytes} bytes; use a smaller matrix or another backend")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes asked for.
        bytes: u64,
    },
    /// A kernel did not compile.
    #[error("kernel {kernel} does not compile on {device}: {log}")]
    Compile {
        /// Name of the device.
        device: String,
        /// Label of the kernel.
        kernel: String,
        /// What the compiler said.
        log: String,
    },
    /// A kernel did not start or did not finish.
    #[error("kernel {kernel} failed on {device}: {detail}")]
    Launch {
        /// Name of the device.
        device: String,
        /// Label of the kernel.
        kernel: String,
        /// What the driver said.
        detail: String,
    },
    /// The device is gone; nothing on it can be used any more, and some drivers give no other in this process.
    #[error("{device} was lost: {detail}; use another backend, or open it again in a new process")]
    DeviceLost {
        /// Name of the device.
        device: String,
        /// What the driver said.
        detail: String,
    },
    /// A copy beyond the end of a buffer.
    #[error("bytes {start}..{end} are beyond a buffer of {len} bytes")]
    OutOfBounds {
        /// First byte.
        start: u64,
        /// One past the last byte.
        end: u64,
        /// Size of the buffer.
        len: u64,
    },
}

impl Error {
    /// An [`Error::Unsupported`] from its parts.
    pub fn unsupported(
        device: impl Into<String>,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Self {
        Self::Unsupported { device: device.into(), what: what.into(), way_out: way_out.into() }
    }

    /// The byte range of a copy, if it lies inside a buffer of `len` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn check_range(start: u64, bytes: u64, len: u64) -> Result<std::ops::Range<usize>> {
        match start.checked_add(bytes) {
            Some(end) if end <= len => Ok(start as usize..end as usize),
            end => Err(Self::OutOfBounds { start, end: end.unwrap_or(u64::MAX), len }),
        }
    }
}
