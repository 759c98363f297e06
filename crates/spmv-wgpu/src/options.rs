//! How a device is opened.

use std::path::PathBuf;
use std::str::FromStr;

use spmv_backend::env;

/// How memory is allocated and reached by the host.
///
/// ```
/// use spmv_wgpu::Memory;
/// assert_eq!("mapped".parse(), Ok(Memory::Mapped));
/// assert_eq!(Memory::Staged.name(), "staged");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// The host maps what kernels use.
    Mapped,
    /// The host copies, through buffers that kernels do not use.
    Staged,
}

impl Memory {
    /// Both, the closer sharing first.
    pub const ALL: [Memory; 2] = [Memory::Mapped, Memory::Staged];

    /// Name in `SPMV_WGPU_MEMORY`.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Mapped => "mapped",
            Memory::Staged => "staged",
        }
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        env::named("kind of wgpu memory", &Memory::ALL, |memory| memory.name(), s)
    }
}

/// How to open a device.
///
/// ```
/// use spmv_wgpu::{Memory, Options};
/// let copies = Options { memory: Some(Memory::Staged), ..Options::default() };
/// assert_eq!(copies.device, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which device: its index in [`devices()`](crate::devices), or part of its name, driver or interface (`vulkan`, `metal`, `dx12`),
    /// in any case of letters; `None` takes the first.
    pub device: Option<String>,
    /// What memory to use; `None` takes mapped memory where host and device share memory, else staged.
    pub memory: Option<Memory>,
    /// A folder whose `<stem>.wgsl` files replace the kernels of this crate, for work on kernels and for tests of what
    /// faulty ones can do. They run without checks of indices: name none that you do not trust.
    pub kernels: Option<PathBuf>,
    /// Where compiled pipelines are kept, if the driver gives them; `None` is the user's cache folder.
    pub cache: Option<PathBuf>,
    /// Capabilities to hide.
    pub mask: Mask,
}

impl Options {
    /// The options that `SPMV_WGPU_DEVICE`, `SPMV_WGPU_MEMORY` and `SPMV_WGPU_KERNELS` give; the defaults where they
    /// are unset or empty.
    ///
    /// # Errors
    /// [`Error::Unavailable`](spmv_backend::Error::Unavailable) for an unknown kind of memory.
    pub fn from_env() -> spmv_backend::Result<Self> {
        let memory = env::parsed("wgpu", "SPMV_WGPU_MEMORY")?;
        let kernels = env::set("SPMV_WGPU_KERNELS").map(PathBuf::from);
        Ok(Self { device: env::set("SPMV_WGPU_DEVICE"), memory, kernels, ..Self::default() })
    }
}

/// Capabilities to hide, so that plans and paths for lesser devices can be tried without one.
///
/// ```
/// use spmv_wgpu::{Mask, Options};
/// let mask = Mask { no_subgroups: true, ..Mask::default() };
/// assert_ne!(Options { mask, ..Options::default() }, Options::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Lanes cannot shuffle.
    pub no_subgroups: bool,
    /// Groups of a launch cannot join what they did.
    pub no_joins: bool,
    /// Local memory of a group, in bytes.
    pub local_bytes: Option<u32>,
    /// Largest buffer, in bytes; larger matrices are split.
    pub max_buffer_bytes: Option<u64>,
    /// Kernels cannot compute in `f64`.
    pub no_f64: bool,
    /// Groups of a line, so that launches of more take several lines (65,535 on most devices).
    pub max_groups_of_line: Option<u32>,
}
