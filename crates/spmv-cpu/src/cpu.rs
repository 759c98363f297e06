//! The CPU, opened, and what it says of itself.

use std::io::Read;
use std::sync::{Arc, LazyLock};

use rayon::{ThreadPool, ThreadPoolBuilder};
use spmv_backend::{DeviceCaps, DeviceKind, DtypeSet, Error, MemoryModel, Result};

use crate::device_team::{Calls, Team};
use crate::kernels::prelude::MAX_TILE;
use crate::simd::Isa;

/// The CPU, opened.
///
/// ```
/// use spmv_backend::Backend;
/// use spmv_cpu::{Cpu, Options};
/// let one = Cpu::open(Options { threads: Some(1), ..Options::default() })?;
/// assert_eq!(one.caps().compute_units, 1);
/// # Ok::<(), spmv_backend::Error>(())
/// ```
#[derive(Debug)]
pub struct Cpu {
    pub(crate) caps: DeviceCaps,
    pub(crate) isa: Isa,
    /// A pool of its own, if a number of threads was asked for; else rayon's global one. Callers help, so it has one thread less.
    pool: Option<ThreadPool>,
    threads: usize,
    mailboxes: Arc<Calls>,
}

/// Where threads of rayon's global pool wait, one fewer than it has: the caller's is the other.
static GLOBAL: LazyLock<Arc<Calls>> =
    LazyLock::new(|| Arc::new(Calls::new(rayon::current_num_threads() - 1)));

/// How to open the CPU.
///
/// ```
/// use spmv_cpu::{Isa, Options};
/// let readable = Options { isa: Some(Isa::Scalar), ..Options::default() };
/// assert_eq!(readable.threads, None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads, the caller's among them, the others in a pool of its own; `None` uses as many as rayon's global pool has, and
    /// that pool.
    pub threads: Option<usize>,
    /// Instruction set; `None` takes the best one this CPU runs.
    pub isa: Option<Isa>,
    /// Capabilities to hide.
    pub mask: Mask,
}

/// Capabilities to hide, so that plans and paths for lesser devices can be tried without one.
///
/// ```
/// use spmv_backend::{Backend, MemoryModel};
/// use spmv_cpu::{Cpu, Mask, Options};
/// let mask = Mask { discrete: true, local_bytes: Some(1024), ..Mask::default() };
/// let cpu = Cpu::open(Options { mask, ..Options::default() })?;
/// assert_eq!(cpu.caps().memory, MemoryModel::Discrete);
/// # Ok::<(), spmv_backend::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Lanes cannot shuffle.
    pub no_subgroups: bool,
    /// The host cannot map buffers, nor lend its own memory.
    pub discrete: bool,
    /// Kernels cannot use memory that the host lends.
    pub no_host_pointers: bool,
    /// Local memory of a group, in bytes.
    pub local_bytes: Option<u32>,
    /// Largest buffer, in bytes; larger matrices are split.
    pub max_buffer_bytes: Option<u64>,
    /// Kernels cannot compute in `f64`.
    pub no_f64: bool,
}

impl Cpu {
    /// Opens the CPU.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the threads asked for cannot be started, [`Error::Unsupported`] if this
    /// CPU does not run the instruction set asked for.
    pub fn open(options: Options) -> Result<Self> {
        let Options { threads, isa, mask } = options;
        let threads = threads.map(|n| if n == 0 { rayon::current_num_threads() } else { n });
        let own = |n: usize| ThreadPoolBuilder::new().num_threads(n - 1).build();
        let pool = threads.filter(|n| *n > 1).map(own).transpose();
        let unavailable =
            |e| Error::Unavailable { backend: "cpu".into(), reason: format!("no threads: {e}") };
        let pool = pool.map_err(unavailable)?;
        let n_threads = threads.unwrap_or_else(rayon::current_num_threads);
        let isa = isa.unwrap_or_else(Isa::detect);
        let name = format!("{n_threads} CPU threads ({})", isa.name());
        if !Isa::available().contains(&isa) {
            return Err(Error::unsupported("this CPU", isa.name(), "leave the choice to Isa::detect"));
        }
        let mailboxes = match &pool {
            Some(_) => Arc::new(Calls::new(n_threads - 1)),
            None => Arc::clone(&GLOBAL),
        };
        Ok(Self { caps: caps(name, n_threads, isa, mask), isa, pool, threads: n_threads, mailboxes })
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The threads that launches may use.
    pub(crate) fn team(&self) -> Team<'_> {
        Team { pool: self.pool.as_ref(), threads: self.threads, mailboxes: &self.mailboxes }
    }
}

/// What Linux calls the first processor (on ARM the number of the part), for the fingerprint; nothing elsewhere.
fn processor() -> String {
    let mut text = Vec::new();
    // The file lists every core. Reading it takes long where there are many.
    if let Ok(file) = std::fs::File::open("/proc/cpuinfo") {
        let _ = file.take(2048).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let name = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.split_once(": "));
    let name = name("model name").or_else(|| name("CPU part"));
    name.map_or_else(String::new, |(_, name)| name.trim().to_owned())
}

fn caps(name: String, n_threads: usize, isa: Isa, mask: Mask) -> DeviceCaps {
    let memory = if mask.discrete { MemoryModel::Discrete } else { MemoryModel::UnifiedCoherent };
    let mut caps = DeviceCaps::new(name, DeviceKind::Cpu, memory);
    caps.fingerprint = format!("cpu/{}/{}/{}", std::env::consts::ARCH, caps.name, processor());
    caps.host_pointers = !(mask.discrete || mask.no_host_pointers);
    caps.compute_units = n_threads as u32;
    caps.subgroup = if mask.no_subgroups { None } else { Some((1, 64)) };
    caps.arithmetic = if mask.no_f64 { DtypeSet::WITHOUT_DOUBLES } else { DtypeSet::ALL };
    // Gathers and masks are of 32 and 64 bits.
    let wide = DtypeSet::NONE.with(spmv_core::Dtype::F32).with(spmv_core::Dtype::F64);
    caps.gathers = if isa.gathers_fast() { wide } else { DtypeSet::NONE };
    caps.masked_loads = if isa.has_masked_loads() { wide } else { DtypeSet::NONE };
    caps.remembered_branches = isa.remembered_branches();
    caps.cache_bytes = last_cache_bytes();
    // A lane is an iteration: a group may have any number.
    caps.max_group = u32::MAX;
    caps.max_local_bytes = mask.local_bytes.unwrap_or(64 * 1024);
    caps.max_buffer_bytes = mask.max_buffer_bytes.unwrap_or(u64::MAX);
    caps.max_tile = (u32::MAX, MAX_TILE as u32);
    caps
}

/// Bytes of the last cache of the first core, where the system says.
///
/// ```
/// assert_ne!(spmv_cpu::last_cache_bytes(), Some(0));
/// ```
pub fn last_cache_bytes() -> Option<u64> {
    let bytes = |index: u32| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let kib: u64 = std::fs::read_to_string(path).ok()?.trim().strip_suffix('K')?.parse().ok()?;
        Some(kib << 10)
    };
    (0..5).filter_map(bytes).max()
}

#[cfg(test)]
mod tests {
    use spmv_backend::Backend;
    use spmv_core::Dtype;

    use super::*;

    #[test]
    fn only_the_widest_vectors_are_said_to_gather_and_only_what_loops_gather() {
        for isa in Isa::available() {
            let cpu = Cpu::open(Options { isa: Some(isa), ..Options::default() }).unwrap();
            let gathers = cpu.caps().gathers;
            assert!(isa == Isa::Avx512 || gathers == DtypeSet::NONE, "{isa:?}: {gathers:?}");
            assert!(!gathers.contains(Dtype::F16) && !gathers.contains(Dtype::Bf16), "{isa:?}: {gathers:?}");
        }
    }
}
