//! The backends of this build by name, and what is said of those that cannot be had.

use std::fmt;
use std::str::FromStr;

/// A backend of this build.
///
/// ```
/// use spmv::BackendKind;
/// assert_eq!("cpu".parse(), Ok(BackendKind::Cpu));
/// assert_eq!(BackendKind::Cpu.to_string(), "cpu");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendKind {
    /// NVIDIA GPUs with the CUDA driver.
    #[cfg(feature = "cuda")]
    Cuda,
    /// GPUs and other devices with an OpenCL driver.
    #[cfg(feature = "opencl")]
    OpenCl,
    /// Vulkan, Metal and Direct3D 12 devices.
    #[cfg(feature = "wgpu")]
    Wgpu,
    /// CPU cores.
    Cpu,
}

/// Every backend in the order of probing.
const KINDS: &[BackendKind] = &[
    #[cfg(feature = "cuda")]
    BackendKind::Cuda,
    #[cfg(feature = "opencl")]
    BackendKind::OpenCl,
    #[cfg(feature = "wgpu")]
    BackendKind::Wgpu,
    BackendKind::Cpu,
];

impl BackendKind {
    /// Every backend of this build, in the order of probing.
    pub const ALL: [BackendKind; KINDS.len()] = {
        let mut all = [BackendKind::Cpu; KINDS.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = KINDS[i];
            i += 1;
        }
        all
    };

    /// Lower-case name, as in `SPMV_BACKEND`.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "cuda")]
            BackendKind::Cuda => "cuda",
            #[cfg(feature = "opencl")]
            BackendKind::OpenCl => "opencl",
            #[cfg(feature = "wgpu")]
            BackendKind::Wgpu => "wgpu",
            BackendKind::Cpu => "cpu",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How memory of a device is allocated and reached by the host, where a backend has a choice.
///
/// ```
/// use spmv::{BackendKind, Context, Error, Memory};
/// let cpu = Context::builder().backend(BackendKind::Cpu).memory(Memory::Managed);
/// match cpu.build() {
///     Err(Error::NoBackend { tried }) => println!("{}", tried[0].reason),
///     other => panic!("the cpu backend has one kind: {other:?}"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// CUDA: one address for host and device; the driver moves pages.
    Managed,
    /// CUDA: the device's own memory; the host copies.
    Device,
    /// OpenCL: fine-grained buffer SVM, where host and device see each other's writes without a call.
    Fine,
    /// OpenCL: coarse-grained SVM, which the host maps before it reads or writes.
    Coarse,
    /// OpenCL: buffer objects; the host copies.
    Buffers,
    /// wgpu: the host maps what kernels use.
    Mapped,
    /// wgpu: the host copies, through buffers that kernels do not use.
    Staged,
}

impl Memory {
    /// Every kind, by backend in the order of probing.
    pub const ALL: [Memory; 7] = [
        Memory::Managed,
        Memory::Device,
        Memory::Fine,
        Memory::Coarse,
        Memory::Buffers,
        Memory::Mapped,
        Memory::Staged,
    ];

    /// Name in `SPMV_CUDA_MEMORY` and its like.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Managed => "managed",
            Memory::Device => "device",
            Memory::Fine => "fine",
            Memory::Coarse => "coarse",
            Memory::Buffers => "buffers",
            Memory::Mapped => "mapped",
            Memory::Staged => "staged",
        }
    }
}

/// A name that is no backend of this build.
///
/// ```
/// use spmv::BackendKind;
/// let e = "abacus".parse::<BackendKind>().unwrap_err();
/// assert!(e.to_string().ends_with(" cpu"), "unknown backend 'abacus'; this build has: cuda opencl wgpu cpu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown backend '{0}'; this build has: {known}", known = BackendKind::ALL.map(BackendKind::name).join(" "))]
pub struct UnknownBackend(String);

impl FromStr for BackendKind {
    type Err = UnknownBackend;

    fn from_str(s: &str) -> Result<Self, UnknownBackend> {
        BackendKind::ALL.into_iter().find(|b| b.name() == s).ok_or_else(|| UnknownBackend(s.to_owned()))
    }
}

/// A backend that could not be opened, and why.
///
/// ```
/// use spmv::{BackendKind, Tried};
/// let tried = Tried { backend: BackendKind::Cpu, reason: "no threads".into() };
/// assert_eq!(tried.backend.name(), "cpu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The backend.
    pub backend: BackendKind,
    /// What its driver or the system said.
    pub reason: String,
}

impl Tried {
    /// Drivers' errors begin with the name of the backend, as lists of what was tried do.
    pub(crate) fn new(backend: BackendKind, reason: String) -> Self {
        let reason = reason.strip_prefix(&format!("{backend}: ")).unwrap_or(&reason).to_owned();
        Self { backend, reason }
    }
}
