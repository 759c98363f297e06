//! How a device is opened.

use std::path::PathBuf;
use std::str::FromStr;

use spmv_backend::env;

/// How memory is allocated and reached by the host.
///
/// ```
/// use spmv_cuda::Memory;
/// assert_eq!("managed".parse(), Ok(Memory::Managed));
/// assert_eq!(Memory::Device.name(), "device");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// One address for host and device; the driver moves pages where memory is not the same.
    Managed,
    /// The device's own memory: the host copies. It comes from a pool of the driver, where there are such (CUDA 11.2) and the host may access
    /// managed memory while the device is at work. When buffers are dropped the pool keeps up to one part in 128 of the device's memory.
    /// Other processes cannot open it (`cuIpcGetMemHandle`).
    Device,
}

impl Memory {
    /// Both.
    pub const ALL: [Memory; 2] = [Memory::Managed, Memory::Device];

    /// Name in `SPMV_CUDA_MEMORY`.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Managed => "managed",
            Memory::Device => "device",
        }
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        env::named("kind of CUDA memory", &Memory::ALL, |memory| memory.name(), s)
    }
}

/// How to open a device.
///
/// ```
/// use spmv_cuda::{Memory, Options};
/// let unified = Options { memory: Some(Memory::Managed), ..Options::default() };
/// assert_eq!(unified.device, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which device: its index in [`devices()`](crate::devices()), or part of its name, in any case of letters; `None` takes the first.
    pub device: Option<String>,
    /// What memory to use; `None` takes managed memory on integrated GPUs, else device memory.
    pub memory: Option<Memory>,
    /// A folder whose `<stem>_<value>.ptx` files replace the kernels of this crate, for work on kernels and for tests
    /// of what faulty ones can do.
    pub kernels: Option<PathBuf>,
    /// Capabilities to hide.
    pub mask: Mask,
}

impl Options {
    /// The options that `SPMV_CUDA_DEVICE`, `SPMV_CUDA_MEMORY` and `SPMV_CUDA_KERNELS` give; the defaults where they
    /// are unset or empty. `SPMV_CUDA_IN_TURN`, whatever it is set to, is [`Mask::in_turn`].
    ///
    /// # Errors
    /// [`Error::Unavailable`](spmv_backend::Error::Unavailable) for an unknown kind of memory.
    pub fn from_env() -> spmv_backend::Result<Self> {
        let memory = env::parsed("cuda", "SPMV_CUDA_MEMORY")?;
        let kernels = env::set("SPMV_CUDA_KERNELS").map(PathBuf::from);
        let mask = Mask { in_turn: env::set("SPMV_CUDA_IN_TURN").is_some(), ..Mask::default() };
        Ok(Self { device: env::set("SPMV_CUDA_DEVICE"), memory, kernels, mask })
    }
}

/// Capabilities to hide, so that paths for lesser devices can be tried without one.
///
/// ```
/// use spmv_cuda::{Mask, Options};
/// let mask = Mask { no_concurrent_access: true, ..Mask::default() };
/// assert_ne!(Options { mask, ..Options::default() }, Options::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// The host may access managed memory only while the device is idle.
    pub no_concurrent_access: bool,
    /// The PTX for any device instead of the device's own.
    pub baseline: bool,
    /// No kernel starts while the one before it on its stream still runs (programmatic dependent launch, compute capability 9.0).
    pub in_turn: bool,
    /// Largest buffer, in bytes; larger matrices are split.
    pub max_buffer_bytes: Option<u64>,
}
