//! How devices of each backend are opened, in the order of probing.

use std::path::PathBuf;

use spmv_backend::{DeviceCaps, Error, Result, find_device};
use spmv_cpu::Cpu;

use crate::backend::{BackendKind, Memory};
use crate::device::open;
use crate::erased::Opened;

/// What is asked of a device. What is left out, the environment says, or else the backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) device: Option<String>,
    pub(crate) memory: Option<Memory>,
    pub(crate) threads: Option<usize>,
    pub(crate) profiles: Option<PathBuf>,
}

/// A backend, and how its devices are opened.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) kind: BackendKind,
    pub(crate) n_devices: fn(&Wish) -> Result<usize>,
    pub(crate) open: fn(&Wish, usize) -> Opened,
    /// Why [`Context::auto`](crate::Context::auto) leaves a device alone that could be opened.
    pub(crate) passes: fn(&DeviceCaps) -> Option<&'static str>,
}

/// The entry of a backend with several devices and kinds of memory.
#[cfg(all(not(test), any(feature = "cuda", feature = "opencl", feature = "wgpu")))]
macro_rules! of_devices {
    ($kind:expr, $library:ident::$backend:ident, $passes:expr) => {{
        fn options(wish: &Wish) -> Result<$library::Options> {
            let mut options = $library::Options::from_env()?;
            if let Some(memory) = wish.memory {
                options.memory = Some(memory.name().parse().map_err(|reason| unavailable($kind, reason))?);
            }
            options.device = wish.device.clone().or(options.device);
            Ok(options)
        }
        Entry {
            kind: $kind,
            n_devices: |wish| match options(wish)?.device {
                Some(_) => Ok(1),
                None => Ok($library::devices()?.len()),
            },
            open: |wish, i| {
                let mut options = options(wish)?;
                options.device.get_or_insert_with(|| i.to_string());
                open($library::$backend::open(options), wish.profiles.as_deref())
            },
            passes: $passes,
        }
    }};
}

const CPU: Entry = Entry {
    kind: BackendKind::Cpu,
    n_devices: |_| Ok(1),
    open: |wish, _| open(open_cpu(wish), wish.profiles.as_deref()),
    passes: |_| None,
};

/// The one that unit tests need: for each further backend they would compile most of `spmv-exec` in every type once more. The tests in
/// `tests/` have all of them.
#[cfg(test)]
pub(crate) const BACKENDS: &[Entry] = &[CPU];

/// Every backend in the order of probing; device 0 is its best.
#[cfg(not(test))]
pub(crate) const BACKENDS: &[Entry] = &[
    #[cfg(feature = "cuda")]
    of_devices!(BackendKind::Cuda, spmv_cuda::Cuda, |_| None),
    #[cfg(feature = "opencl")]
    of_devices!(BackendKind::OpenCl, spmv_opencl::OpenCl, |caps| {
        let reason = "a CPU, which the cpu backend uses better; name opencl to use it";
        (caps.kind == spmv_backend::DeviceKind::Cpu).then_some(reason)
    }),
    #[cfg(feature = "wgpu")]
    of_devices!(BackendKind::Wgpu, spmv_wgpu::Wgpu, |caps| {
        let reason = "a CPU, which the cpu backend uses better; name wgpu to use it";
        (caps.kind == spmv_backend::DeviceKind::Cpu).then_some(reason)
    }),
    CPU,
];

#[cfg(not(test))]
const _: () = {
    assert!(BACKENDS.len() == BackendKind::ALL.len());
    let mut at = 0;
    while at < BACKENDS.len() {
        assert!(BACKENDS[at].kind as usize == BackendKind::ALL[at] as usize, "in the order of names");
        at += 1;
    }
};

fn open_cpu(wish: &Wish) -> Result<Cpu> {
    let refused = |reason: String| Err(unavailable(BackendKind::Cpu, reason));
    if let Some(memory) = wish.memory {
        return refused(format!("it has one kind of memory, and {} is another's", memory.name()));
    }
    if wish.threads == Some(0) {
        return refused("0 threads multiply nothing; ask for one or more".into());
    }
    let cpu = Cpu::open(spmv_cpu::Options { threads: wish.threads, ..Default::default() })?;
    let name = &spmv_backend::Backend::caps(&cpu).name;
    match wish.device.as_ref().map(|asked| find_device(&[()], asked, |()| name.clone()).map(drop)) {
        Some(Err(reason)) => refused(reason),
        _ => Ok(cpu),
    }
}

fn unavailable(backend: BackendKind, reason: String) -> Error {
    Error::Unavailable { backend: backend.name().into(), reason }
}

pub(crate) fn entry(backend: BackendKind) -> &'static Entry {
    BACKENDS.iter().find(|entry| entry.kind == backend).expect("every backend has an entry")
}

#[cfg(all(test, feature = "cuda", feature = "opencl", feature = "wgpu"))]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_memory_are_those_of_the_backends() {
        let cuda = spmv_cuda::Memory::ALL.map(spmv_cuda::Memory::name);
        let opencl = spmv_opencl::Memory::ALL.map(spmv_opencl::Memory::name);
        let wgpu = spmv_wgpu::Memory::ALL.map(spmv_wgpu::Memory::name);
        let known: Vec<&str> = [&cuda[..], &opencl, &wgpu].concat();
        assert_eq!(Memory::ALL.map(Memory::name).to_vec(), known);
    }
}
