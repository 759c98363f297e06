//! What the machine's platforms and devices say of themselves, asked once.

use std::sync::OnceLock;

use opencl3::device::{
    CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, CL_DEVICE_SVM_FINE_GRAIN_BUFFER, CL_DEVICE_TYPE_ALL,
    CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_WARP_SIZE_NV, Device, get_device_info,
};
use opencl3::error_codes::{ClError, error_text};
use opencl3::platform::{Platform, get_platforms};
use spmv_backend::{DeviceCaps, DeviceKind, DtypeSet, Error, MemoryModel, Result, find_device};

use crate::options::{Mask, Memory, Options};

/// A device that was found.
///
/// ```
/// for (i, device) in spmv_opencl::devices().unwrap_or_default().iter().enumerate() {
///     println!("{i}: {} ({}), {}", device.name, device.platform, device.kind);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Name of its platform.
    pub platform: String,
    /// What kind of processor it is.
    pub kind: DeviceKind,
    /// Kinds of memory it offers; the first is taken unless another is asked for.
    pub memories: Vec<Memory>,
}

/// A device and everything that opening it needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) device: Device,
    pub(crate) info: DeviceInfo,
    pub(crate) version: String,
    pub(crate) driver: String,
    pub(crate) extensions: String,
    shares_memory: bool,
    has_f64: bool,
    compute_units: u32,
    max_group: u32,
    local_bytes: u32,
    memory_bytes: Option<u64>,
    max_alloc: u64,
}

/// How lanes of a subgroup read each other's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Nv,
    Intel,
    Khr,
}

impl Shuffle {
    /// The name that `prelude.cl` knows.
    pub(crate) fn define(self) -> &'static str {
        match self {
            Shuffle::Nv => "SUBGROUP_NV",
            Shuffle::Intel => "SUBGROUP_INTEL",
            Shuffle::Khr => "SUBGROUP_KHR",
        }
    }
}

/// Every device of every platform: GPUs first, those with a memory of their own before those without, then
/// the one with more compute units. Asked once; later calls repeat the answer.
///
/// # Errors
/// [`Error::Unavailable`] without a library, a driver or a device.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    Ok(found()?.iter().map(|found| found.info.clone()).collect())
}

pub(crate) fn found() -> Result<&'static [Found]> {
    static FOUND: OnceLock<Result<Vec<Found>>> = OnceLock::new();
    FOUND.get_or_init(ask).as_deref().map_err(Clone::clone)
}

fn unavailable(reason: impl Into<String>) -> Error {
    Error::Unavailable { backend: "opencl".into(), reason: reason.into() }
}

fn ask() -> Result<Vec<Found>> {
    let platforms = get_platforms().map_err(|ClError(code)| match code {
        -2000 => unavailable("no OpenCL library; install a loader (Debian: ocl-icd-libopencl1) and a driver"),
        -1001 => unavailable("no OpenCL driver; install one (Debian: pocl-opencl-icd for the CPU)"),
        _ => unavailable(format!("platforms cannot be listed: {} ({code})", error_text(code))),
    })?;
    let mut all: Vec<Found> = platforms.iter().flat_map(of_platform).collect();
    if all.is_empty() {
        return Err(unavailable("no OpenCL device; install a driver for one (Debian: pocl-opencl-icd)"));
    }
    all.sort_by_key(|found| (found.info.kind.rank(), std::cmp::Reverse(found.compute_units)));
    Ok(all)
}

fn of_platform(platform: &Platform) -> Vec<Found> {
    // A platform without devices answers with an error; so may one that is broken, which shall not hide others.
    let ids = platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default();
    let platform = platform.name().unwrap_or_default();
    ids.into_iter().filter_map(|id| of_device(Device::new(id), &platform)).collect()
}

/// `None` for a device that is not available, cannot compile, or fails to answer.
fn of_device(device: Device, platform: &str) -> Option<Found> {
    if !(device.available().ok()? && device.compiler_available().ok()? && device.endian_little().ok()?) {
        return None;
    }
    let shares_memory = device.host_unified_memory().unwrap_or(false);
    let kind = match device.dev_type().ok()? {
        t if t & CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
        t if t & CL_DEVICE_TYPE_GPU != 0 && shares_memory => DeviceKind::IntegratedGpu,
        t if t & CL_DEVICE_TYPE_GPU != 0 => DeviceKind::DiscreteGpu,
        _ => DeviceKind::Other,
    };
    // Devices before OpenCL 2.0 do not know the question.
    let svm = device.svm_capabilities().unwrap_or(0);
    let mut memories = Vec::new();
    if svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0 {
        memories.push(Memory::Fine);
    }
    if svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER != 0 && shares_memory {
        memories.push(Memory::Coarse);
    }
    memories.push(Memory::Buffers);
    if svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER != 0 && !shares_memory {
        memories.push(Memory::Coarse);
    }
    let name = device.name().ok()?.trim().to_owned();
    let info = DeviceInfo { name, platform: platform.trim().to_owned(), kind, memories };
    Some(Found {
        version: device.version().unwrap_or_default(),
        driver: device.driver_version().unwrap_or_default(),
        extensions: device.extensions().unwrap_or_default(),
        shares_memory,
        has_f64: device.double_fp_config().is_ok_and(|config| config != 0),
        compute_units: device.max_compute_units().ok()?,
        max_group: u32::try_from(device.max_work_group_size().ok()?).unwrap_or(u32::MAX),
        local_bytes: u32::try_from(device.local_mem_size().ok()?).unwrap_or(u32::MAX),
        memory_bytes: device.global_mem_size().ok(),
        max_alloc: device.max_mem_alloc_size().ok()?,
        device,
        info,
    })
}

/// The device that the options name.
pub(crate) fn choose(options: &Options) -> Result<&'static Found> {
    let all = found()?;
    let Some(asked) = &options.device else { return Ok(&all[0]) };
    find_device(all, asked, |f| format!("{} ({})", f.info.name, f.info.platform)).map_err(unavailable)
}

/// Entries of a lane that a segment descriptor has bits for: a 32-bit word.
const SEGMENT_BITS: u32 = u32::BITS;

impl Found {
    /// The memory to use.
    pub(crate) fn memory(&self, asked: Option<Memory>) -> Result<Memory> {
        let offered = &self.info.memories;
        match asked {
            None => Ok(offered[0]),
            Some(memory) if offered.contains(&memory) => Ok(memory),
            Some(memory) => {
                let what = format!("{}-grained shared virtual memory", memory.name());
                let names: Vec<_> = offered.iter().map(|m| m.name()).collect();
                Err(Error::unsupported(&*self.info.name, what, format!("it offers: {}", names.join(", "))))
            }
        }
    }

    /// Everything but subgroups, which are tried rather than believed.
    pub(crate) fn caps(&self, memory: Memory, mask: Mask) -> DeviceCaps {
        let model = match memory {
            Memory::Fine => MemoryModel::UnifiedCoherent,
            Memory::Coarse if self.shares_memory => MemoryModel::UnifiedMapped,
            Memory::Coarse | Memory::Buffers => MemoryModel::Discrete,
        };
        let kind = if mask.as_gpu { DeviceKind::IntegratedGpu } else { self.info.kind };
        let mut caps = DeviceCaps::new(&*self.info.name, kind, model);
        caps.fingerprint =
            format!("opencl/{}/{}/{}/{}", self.info.platform, self.info.name, self.version, self.driver);
        // 16-bit values are unpacked by hand, so storage and arithmetic differ in nothing but f64.
        let types = if self.has_f64 && !mask.no_f64 { DtypeSet::ALL } else { DtypeSet::WITHOUT_DOUBLES };
        (caps.storage, caps.arithmetic) = (types, types);
        caps.compute_units = self.compute_units;
        caps.max_group = self.max_group;
        // Kernels count lanes in 32 bits.
        caps.max_groups = i32::MAX as u32 / self.max_group.max(1);
        caps.max_local_bytes = mask.local_bytes.unwrap_or(self.local_bytes).min(self.local_bytes);
        caps.memory_bytes = self.memory_bytes;
        caps.max_buffer_bytes = mask.max_buffer_bytes.unwrap_or(self.max_alloc).min(self.max_alloc);
        caps.max_tile.0 = SEGMENT_BITS;
        caps
    }

    /// Ways to shuffle that are worth a try, each with the fewest and the most lanes that may, best first.
    pub(crate) fn shuffles(&self) -> Vec<(Shuffle, [u16; 2])> {
        let has = |extension: &str| self.extensions.split_whitespace().any(|e| e == extension);
        if has("cl_nv_device_attribute_query") {
            let warp = get_device_info(self.device.id(), CL_DEVICE_WARP_SIZE_NV).map(|size| size.to_uint());
            return if warp == Ok(32) { vec![(Shuffle::Nv, [1, 32])] } else { vec![] };
        }
        // Barriers of these are of whole subgroups, of which parts may take different turns.
        if has("cl_intel_subgroups") && has("cl_intel_required_subgroup_size") {
            return [16, 32, 8].map(|size| (Shuffle::Intel, [size; 2])).to_vec();
        }
        if has("cl_khr_subgroup_shuffle") {
            let wavefront = self.device.wavefront_width_amd().ok().and_then(|w| u16::try_from(w).ok());
            let sizes: Vec<u16> = wavefront.map_or_else(|| vec![64, 32, 16, 8], |w| vec![w]);
            return sizes.into_iter().map(|size| (Shuffle::Khr, [size; 2])).collect();
        }
        vec![]
    }
}
