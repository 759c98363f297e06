//! Which devices there are, and what they can do.

use std::sync::{Mutex, PoisonError};

use spmv_backend::{
    DeviceCaps, DeviceKind, DtypeSet, Error, KernelId, MemoryModel, Param, ParamKind, Result, find_device,
};
use spmv_core::Dtype;
use wgpu::{Adapter, Features, Instance, InstanceDescriptor, Limits};

use crate::faults::unavailable;
use crate::options::{Mask, Memory, Options};

/// Processors of a GPU that does not say how many it has: no interface of wgpu reports it.
const UNITS_OF_GPU: u32 = 128;
/// The same for one on the chip of the CPU.
const UNITS_OF_INTEGRATED_GPU: u32 = 16;
/// What telling the time of a stream takes.
const TIMES: Features = Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
/// Lanes of a subgroup of Apple's GPUs.
const LANES_OF_METAL: u32 = 32;
/// Mesa's software driver ends an invocation's loops after so many iterations of all of them together (seen with 22.3).
const LOOP_STEPS_OF_LLVMPIPE: u32 = 65_535;

/// A device that wgpu reaches.
///
/// ```
/// for device in spmv_wgpu::devices().into_iter().flatten() {
///     println!("{}: {} through {}, {:?}", device.name, device.kind, device.interface, device.memories);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Name as the driver gives it.
    pub name: String,
    /// The driver.
    pub driver: String,
    /// `vulkan`, `metal`, `dx12` or `gl`.
    pub interface: String,
    /// What kind of processor it is.
    pub kind: DeviceKind,
    /// Kinds of memory to open it with, the one that is taken by itself first.
    pub memories: Vec<Memory>,
}

/// An adapter and what it says of itself.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) adapter: Adapter,
    pub(crate) info: DeviceInfo,
    pub(crate) features: Features,
    pub(crate) limits: Limits,
    least_subgroup: u32,
}

/// Every device: GPUs first, those with a memory of their own before those without.
///
/// # Errors
/// [`Error::Unavailable`] without a driver or a device.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    Ok(found()?.into_iter().map(|found| found.info).collect())
}

/// Asked again each time: an adapter makes one device.
pub(crate) fn found() -> Result<Vec<Found>> {
    // Drivers' loaders do not all like to be asked by several threads at once.
    static INSTANCE: Mutex<Option<Instance>> = Mutex::new(None);
    let mut instance = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
    let instance =
        instance.get_or_insert_with(|| Instance::new(InstanceDescriptor::new_without_display_handle()));
    let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    let mut all: Vec<Found> = adapters.into_iter().map(Found::new).collect();
    if all.is_empty() {
        let reason = "no Vulkan, Metal or Direct3D 12 device; install a driver (Debian: mesa-vulkan-drivers libvulkan1)";
        return Err(unavailable(reason));
    }
    all.sort_by_key(|found| found.info.kind.rank());
    Ok(all)
}

/// The device that the options name.
pub(crate) fn choose(options: &Options) -> Result<Found> {
    let mut all = found()?;
    let Some(asked) = &options.device else { return Ok(all.remove(0)) };
    let at = {
        let indices: Vec<usize> = (0..all.len()).collect();
        let name = |i: &usize| {
            let info = &all[*i].info;
            format!("{} ({}, {})", info.name, info.driver, info.interface)
        };
        *find_device(&indices, asked, name).map_err(unavailable)?
    };
    Ok(all.swap_remove(at))
}

/// Entries of a lane that a segment descriptor has bits for: a 32-bit word.
const SEGMENT_BITS: u32 = u32::BITS;

impl Found {
    fn new(adapter: Adapter) -> Self {
        let (info, features, limits) = (adapter.get_info(), adapter.features(), adapter.limits());
        let (kind, shares_memory) = match info.device_type {
            wgpu::DeviceType::Cpu => (DeviceKind::Cpu, true),
            wgpu::DeviceType::IntegratedGpu => (DeviceKind::IntegratedGpu, true),
            wgpu::DeviceType::DiscreteGpu => (DeviceKind::DiscreteGpu, false),
            _ => (DeviceKind::Other, false),
        };
        let memories = match (features.contains(Features::MAPPABLE_PRIMARY_BUFFERS), shares_memory) {
            (false, _) => vec![Memory::Staged],
            (true, true) => vec![Memory::Mapped, Memory::Staged],
            (true, false) => vec![Memory::Staged, Memory::Mapped],
        };
        let interface = info.backend.to_string().to_lowercase();
        let driver = format!("{} {}", info.driver, info.driver_info);
        let name = info.name.trim().to_owned();
        let info_kept = DeviceInfo { name, driver: driver.trim().to_owned(), interface, kind, memories };
        let least_subgroup = info.subgroup_min_size;
        Self { adapter, info: info_kept, features, limits, least_subgroup }
    }

    /// The memory to use.
    pub(crate) fn memory(&self, asked: Option<Memory>) -> Result<Memory> {
        let offered = &self.info.memories;
        match asked {
            None => Ok(offered[0]),
            Some(memory) if offered.contains(&memory) => Ok(memory),
            Some(memory) => {
                let what = format!("{} memory", memory.name());
                let names: Vec<_> = offered.iter().map(|m| m.name()).collect();
                Err(Error::unsupported(&*self.info.name, what, format!("it offers: {}", names.join(", "))))
            }
        }
    }

    /// What kernels cannot do without.
    pub(crate) fn check(&self) -> Result<()> {
        let lacks = |what: &str| {
            Err(Error::unsupported(&*self.info.name, what, "use another backend, or a newer driver"))
        };
        if !self.features.contains(Features::IMMEDIATES) {
            return lacks("immediates (push constants)");
        }
        let buffers = |id: &KernelId| {
            let is_buffer = |param: &&Param| matches!(param.kind, ParamKind::Read(_) | ParamKind::Write(_));
            id.params().iter().filter(is_buffer).count()
        };
        let most = KernelId::ALL.iter().map(buffers).max().unwrap_or(0);
        if (self.limits.max_storage_buffers_per_shader_stage as usize) < most {
            return lacks(&format!("{most} storage buffers for a kernel"));
        }
        Ok(())
    }

    /// Features that are used where they are there.
    pub(crate) fn wanted(&self) -> Features {
        let all = Features::IMMEDIATES
            | Features::SHADER_F64
            | Features::SUBGROUP
            | Features::MAPPABLE_PRIMARY_BUFFERS
            | Features::PIPELINE_CACHE
            | TIMES;
        let joins = if self.joins() { Features::MEMORY_DECORATION_COHERENT } else { Features::empty() };
        self.features & all | joins
    }

    /// Whether groups see what others wrote before an atomic. Barriers order memory of the whole device where naga writes SPIR-V; in
    /// Metal's language they do not, and with Direct3D it was not tried.
    fn joins(&self) -> bool {
        self.features.contains(Features::MEMORY_DECORATION_COHERENT) && self.info.interface == "vulkan"
    }

    /// Lanes that are part of one subgroup whatever size the driver gives it.
    pub(crate) fn subgroup_lanes(&self) -> Option<u16> {
        // Metal reports no bounds that mean anything; a trial kernel shows whether these are right.
        let least = if self.info.interface == "metal" { LANES_OF_METAL } else { self.least_subgroup };
        let usable = self.features.contains(Features::SUBGROUP) && least.is_power_of_two();
        usable.then(|| u16::try_from(least).ok()).flatten().filter(|lanes| *lanes > 1)
    }

    /// Everything but subgroups, which are tried rather than believed.
    pub(crate) fn caps(&self, memory: Memory, mask: Mask) -> DeviceCaps {
        let model = match memory {
            Memory::Mapped => MemoryModel::UnifiedMapped,
            Memory::Staged => MemoryModel::Discrete,
        };
        let DeviceInfo { name, driver, interface, kind, .. } = &self.info;
        let mut caps = DeviceCaps::new(&**name, *kind, model);
        caps.fingerprint = format!("wgpu/{interface}/{name}/{driver}");
        // 16-bit values are unpacked by hand, so storage and arithmetic differ in nothing but f64.
        let has_f64 = self.features.contains(Features::SHADER_F64) && !mask.no_f64;
        let types = if has_f64 { DtypeSet::ALL } else { DtypeSet::WITHOUT_DOUBLES };
        let unpacks = self.adapter.get_downlevel_capabilities().flags;
        let unpacks = unpacks.contains(wgpu::DownlevelFlags::SHADER_F16_IN_F32);
        let types = if unpacks { types } else { types.without(Dtype::F16) };
        (caps.storage, caps.arithmetic) = (types, types);
        caps.compute_units = match kind {
            DeviceKind::Cpu => std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            DeviceKind::IntegratedGpu => UNITS_OF_INTEGRATED_GPU,
            _ => UNITS_OF_GPU,
        };
        let limits = &self.limits;
        caps.max_group =
            limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        // Kernels count lanes in 32 bits.
        caps.max_groups = i32::MAX as u32 / caps.max_group.max(1);
        let local = limits.max_compute_workgroup_storage_size;
        caps.max_local_bytes = mask.local_bytes.unwrap_or(local).min(local);
        let largest = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        // A copy takes whole words.
        caps.max_buffer_bytes = mask.max_buffer_bytes.unwrap_or(largest).min(largest) / 4 * 4;
        caps.max_tile.0 = SEGMENT_BITS;
        caps.cross_block_reduction = self.joins() && !mask.no_joins;
        caps.bunch_barriers = false;
        // WGSL, section 15.7.2: so it may, and NVIDIA's driver does.
        caps.flushes_subnormals = true;
        caps.timestamps = self.features.contains(TIMES);
        // Software takes small groups as other devices do, and ends long loops.
        caps.tasks = false;
        if driver.starts_with("llvmpipe") {
            caps.max_loop_steps = Some(LOOP_STEPS_OF_LLVMPIPE);
        }
        caps
    }
}
