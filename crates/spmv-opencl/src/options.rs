//! How a device is opened.

use std::path::PathBuf;
use std::str::FromStr;

use spmv_backend::env;

/// How memory is allocated and reached by the host.
///
/// ```
/// use spmv_opencl::Memory;
/// assert_eq!("coarse".parse(), Ok(Memory::Coarse));
/// assert_eq!(Memory::Buffers.name(), "buffers");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Fine-grained buffer SVM: host and device see each other's writes without a call.
    Fine,
    /// Coarse-grained SVM: the host maps before it reads or writes.
    Coarse,
    /// Buffer objects: the host copies.
    Buffers,
}

impl Memory {
    /// All three, the closest sharing first.
    pub const ALL: [Memory; 3] = [Memory::Fine, Memory::Coarse, Memory::Buffers];

    /// Name in `SPMV_OPENCL_MEMORY`.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Fine => "fine",
            Memory::Coarse => "coarse",
            Memory::Buffers => "buffers",
        }
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        env::named("kind of OpenCL memory", &Memory::ALL, |memory| memory.name(), s)
    }
}

/// How to open a device.
///
/// ```
/// use spmv_opencl::{Memory, Options};
/// let copies = Options { memory: Some(Memory::Buffers), ..Options::default() };
/// assert_eq!(copies.device, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which device: its index in [`devices()`](crate::devices), or part of its or its platform's name, in any case of
    /// letters; `None` takes the first.
    pub device: Option<String>,
    /// What memory to use; `None` takes fine-grained SVM, else coarse-grained SVM where host and device
    /// share memory, else buffers.
    pub memory: Option<Memory>,
    /// A folder whose `<stem>.cl` files replace the kernels of this crate, for work on kernels and for tests
    /// of what faulty ones can do.
    pub kernels: Option<PathBuf>,
    /// Where compiled programs are kept; `None` is the user's cache folder, or PoCL's own cache with PoCL.
    pub cache: Option<PathBuf>,
    /// Capabilities to hide.
    pub mask: Mask,
}

impl Options {
    /// The options that `SPMV_OPENCL_DEVICE`, `SPMV_OPENCL_MEMORY` and `SPMV_OPENCL_KERNELS` give; the
    /// defaults where they are unset or empty.
    ///
    /// # Errors
    /// [`Error::Unavailable`](spmv_backend::Error::Unavailable) for an unknown kind of memory.
    pub fn from_env() -> spmv_backend::Result<Self> {
        let memory = env::parsed("opencl", "SPMV_OPENCL_MEMORY")?;
        let kernels = env::set("SPMV_OPENCL_KERNELS").map(PathBuf::from);
        Ok(Self { device: env::set("SPMV_OPENCL_DEVICE"), memory, kernels, ..Self::default() })
    }
}

/// Capabilities to hide, so that plans and paths for lesser devices can be tried without one.
///
/// ```
/// use spmv_opencl::{Mask, Options};
/// let mask = Mask { no_subgroups: true, ..Mask::default() };
/// assert_ne!(Options { mask, ..Options::default() }, Options::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Lanes cannot shuffle.
    pub no_subgroups: bool,
    /// Local memory of a group, in bytes.
    pub local_bytes: Option<u32>,
    /// Largest buffer, in bytes; larger matrices are split.
    pub max_buffer_bytes: Option<u64>,
    /// Kernels cannot compute in `f64`.
    pub no_f64: bool,
    /// Plan as for a GPU even on a CPU.
    pub as_gpu: bool,
}
