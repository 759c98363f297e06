//! What the driver says of the machine's devices, asked once.

use std::sync::OnceLock;

use spmv_backend::{Built, DeviceCaps, DeviceKind, Error, MemoryModel, Result, SmLimits, find_device};
use spmv_kernels_cuda::{ANY, VARIANTS, Variants};

use crate::device_driver::{self, CUdevice, Code, Refusal};
use crate::device_queries::{self as queries, Attribute};
use crate::error::unavailable;
use crate::options::{Mask, Memory, Options};

/// Most lanes of a group that kernels are built for (`__launch_bounds__` in `prelude.cu`).
const MAX_GROUP: i32 = 512;
/// Local memory that a group may have without asking the driver for more.
const LOCAL_BYTES: i32 = 48 * 1024;

/// A device that was found.
///
/// ```
/// for (i, device) in spmv_cuda::devices().unwrap_or_default().iter().enumerate() {
///     println!("{i}: {} (compute capability {}.{}), {}", device.name, device.compute.0, device.compute.1, device.kind);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Compute capability.
    pub compute: (u32, u32),
    /// Integrated or discrete.
    pub kind: DeviceKind,
    /// Kinds of memory it offers; the first is taken unless another is asked for.
    pub memories: Vec<Memory>,
    /// Size of the cache that all multiprocessors share, in bytes, where the driver says.
    pub l2_bytes: Option<u64>,
}

/// A device and everything that opening it needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) device: CUdevice,
    pub(crate) info: DeviceInfo,
    pub(crate) driver: (i32, i32),
    /// Whether the host may access managed memory while the device is at work.
    pub(crate) concurrent_access: bool,
    compute_units: u32,
    max_group: u32,
    local_bytes: u32,
    sm_limits: SmLimits,
    total_bytes: u64,
}

/// Every device that the driver lists, in its order. Asked once; later calls repeat the answer.
///
/// # Errors
/// [`Error::Unavailable`] without a driver or a device.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    Ok(found()?.iter().map(|found| found.info.clone()).collect())
}

pub(crate) fn found() -> Result<&'static [Found]> {
    static FOUND: OnceLock<Result<Vec<Found>>> = OnceLock::new();
    FOUND.get_or_init(ask).as_deref().map_err(Clone::clone)
}

fn ask() -> Result<Vec<Found>> {
    device_driver::available().map_err(|e| unavailable(e.to_string()))?;
    let failed = |what: &str| {
        let what = what.to_owned();
        move |refusal: Refusal| unavailable(format!("{what}: {}", refusal.meaning()))
    };
    let no_device = || unavailable("the driver finds no device (see CUDA_VISIBLE_DEVICES)");
    queries::init().map_err(|refusal| match refusal {
        Refusal::Code(Code::NO_DEVICE) => no_device(),
        refusal => failed("the driver does not start")(refusal),
    })?;
    let driver = queries::version().map_err(failed("the driver does not report its version"))?;
    let n = queries::n_devices().map_err(failed("devices cannot be counted"))?;
    // A device that fails to answer shall not hide others.
    let all: Vec<Found> = (0..n).filter_map(|ordinal| of_device(ordinal, driver).ok()).collect();
    if all.is_empty() {
        return Err(no_device());
    }
    Ok(all)
}

fn of_device(ordinal: i32, driver: (i32, i32)) -> Result<Found, Refusal> {
    let device = queries::device(ordinal)?;
    let ask = |attribute| queries::attribute(device, attribute);
    let number = |attribute| ask(attribute).map(|n| n.max(0) as u32);
    let integrated = ask(Attribute::Integrated)? != 0;
    let kind = if integrated { DeviceKind::IntegratedGpu } else { DeviceKind::DiscreteGpu };
    let mut memories = vec![Memory::Device];
    if ask(Attribute::ManagedMemory)? != 0 {
        memories.insert(usize::from(!integrated), Memory::Managed);
    }
    let compute = (number(Attribute::ComputeCapabilityMajor)?, number(Attribute::ComputeCapabilityMinor)?);
    let l2_bytes = number(Attribute::L2CacheSize).ok().filter(|bytes| *bytes > 0).map(u64::from);
    Ok(Found {
        device,
        driver,
        concurrent_access: ask(Attribute::ConcurrentManagedAccess)? != 0,
        compute_units: number(Attribute::MultiprocessorCount)?,
        max_group: ask(Attribute::MaxThreadsPerBlock)?.min(MAX_GROUP) as u32,
        local_bytes: ask(Attribute::MaxSharedMemoryPerBlock)?.min(LOCAL_BYTES) as u32,
        sm_limits: SmLimits {
            local_bytes: number(Attribute::MaxSharedMemoryPerMultiprocessor)?,
            lanes: number(Attribute::MaxThreadsPerMultiprocessor)?,
            // Drivers before CUDA 11 do not know the attribute.
            groups: number(Attribute::MaxBlocksPerMultiprocessor).ok().filter(|groups| *groups > 0),
        },
        total_bytes: queries::total_bytes(device)?,
        info: DeviceInfo { name: queries::name(device)?, compute, kind, memories, l2_bytes },
    })
}

/// The device that the options name.
pub(crate) fn choose(options: &Options) -> Result<&'static Found> {
    let all = found()?;
    let Some(asked) = &options.device else { return Ok(&all[0]) };
    find_device(all, asked, |f| f.info.name.clone()).map_err(unavailable)
}

/// The tilings that PTX holds.
fn built() -> Vec<Built> {
    let of = |variants: &Variants| {
        let (lanes, widths) = (variants.lanes.to_vec(), variants.widths);
        let widths = if widths == ANY { vec![] } else { widths.to_vec() };
        Some(Built { kernel: variants.stem.parse().ok()?, lanes, widths })
    };
    VARIANTS.iter().filter_map(of).collect()
}

impl Found {
    /// Whether there are kernels for the device.
    pub(crate) fn check_compute(&self) -> Result<()> {
        let oldest = spmv_kernels_cuda::TARGETS[0].compute;
        if self.info.compute >= oldest {
            return Ok(());
        }
        let ((major, minor), (least, minor_least)) = (self.info.compute, oldest);
        let what = format!("compute capability {least}.{minor_least} (but {major}.{minor})");
        Err(Error::unsupported(&*self.info.name, what, "use the opencl backend"))
    }

    /// The memory to use.
    pub(crate) fn memory(&self, asked: Option<Memory>) -> Result<Memory> {
        let offered = &self.info.memories;
        match asked {
            None => Ok(offered[0]),
            Some(memory) if offered.contains(&memory) => Ok(memory),
            Some(memory) => {
                let what = format!("{} memory", memory.name());
                Err(Error::unsupported(&*self.info.name, what, "use device memory"))
            }
        }
    }

    pub(crate) fn caps(&self, memory: Memory, mask: Mask) -> DeviceCaps {
        let model = match memory {
            Memory::Managed if self.concurrent_access && !mask.no_concurrent_access => {
                MemoryModel::UnifiedCoherent
            }
            Memory::Managed => MemoryModel::UnifiedMapped,
            Memory::Device => MemoryModel::Discrete,
        };
        let mut caps = DeviceCaps::new(&*self.info.name, self.info.kind, model);
        let ((major, minor), (driver, revision)) = (self.info.compute, self.driver);
        caps.fingerprint = format!("cuda/{}/sm_{major}{minor}/driver {driver}.{revision}", self.info.name);
        // A bunch may be part of a warp, down to one lane.
        caps.subgroup = Some((1, 32));
        caps.cross_block_reduction = true;
        caps.compute_units = self.compute_units.max(1);
        caps.max_group = self.max_group;
        // Kernels count lanes in 32 bits.
        caps.max_groups = i32::MAX as u32 / self.max_group.max(1);
        caps.max_local_bytes = self.local_bytes;
        caps.sm_limits = Some(self.sm_limits);
        caps.built = built();
        caps.memory_bytes = Some(self.total_bytes);
        caps.cache_bytes = self.info.l2_bytes;
        caps.max_buffer_bytes = mask.max_buffer_bytes.unwrap_or(self.total_bytes).min(self.total_bytes);
        caps
    }
}
