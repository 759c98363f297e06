//! What a device says of itself, probed once when it is opened.

use std::fmt;

use spmv_core::Dtype;

use crate::error::{Error, Result};
use crate::kernels::KernelId;
use crate::spec::{KernelSpec, Operation};
use crate::types::Types;

/// How host and device share memory.
///
/// ```
/// use spmv_backend::MemoryModel;
/// assert!(MemoryModel::UnifiedMapped.host_can_map());
/// assert!(!MemoryModel::Discrete.host_can_map());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryModel {
    /// Two memories; the host reaches the device's by copies alone.
    Discrete,
    /// One memory; the host may access a buffer between map and unmap.
    UnifiedMapped,
    /// One memory, coherent: mapping costs nothing.
    UnifiedCoherent,
}

impl MemoryModel {
    /// Whether [`Backend::map`](crate::Backend::map) works.
    pub const fn host_can_map(self) -> bool {
        !matches!(self, MemoryModel::Discrete)
    }
}

/// What kind of processor a device is.
///
/// ```
/// use spmv_backend::DeviceKind;
/// assert_eq!(DeviceKind::IntegratedGpu.to_string(), "integrated GPU");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// Cores that run the host program too.
    Cpu,
    /// A GPU on the chip of the CPU.
    IntegratedGpu,
    /// A GPU with a memory of its own.
    DiscreteGpu,
    /// Anything else.
    Other,
}

impl DeviceKind {
    /// Rank in lists of devices: GPUs with a memory of their own first, CPUs last.
    ///
    /// ```
    /// use spmv_backend::DeviceKind;
    /// assert!(DeviceKind::DiscreteGpu.rank() < DeviceKind::IntegratedGpu.rank());
    /// ```
    pub const fn rank(self) -> u8 {
        match self {
            DeviceKind::DiscreteGpu => 0,
            DeviceKind::IntegratedGpu => 1,
            DeviceKind::Other => 2,
            DeviceKind::Cpu => 3,
        }
    }
}

impl fmt::Display for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemoryModel::Discrete => "discrete",
            MemoryModel::UnifiedMapped => "unified, mapped",
            MemoryModel::UnifiedCoherent => "unified, coherent",
        })
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DeviceKind::Cpu => "CPU",
            DeviceKind::IntegratedGpu => "integrated GPU",
            DeviceKind::DiscreteGpu => "discrete GPU",
            DeviceKind::Other => "other device",
        })
    }
}

/// A set of value types.
///
/// ```
/// use spmv_backend::DtypeSet;
/// use spmv_core::Dtype;
/// let set = DtypeSet::ALL.without(Dtype::F64);
/// assert!(set.contains(Dtype::F32) && !set.contains(Dtype::F64));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DtypeSet(u8);

impl DtypeSet {
    /// No type.
    pub const NONE: Self = Self(0);
    /// All types.
    pub const ALL: Self = Self(((1u16 << Dtype::ALL.len()) - 1) as u8);

    /// All types without numbers of 64 bits.
    pub const WITHOUT_DOUBLES: Self = Self::ALL.without(Dtype::F64).without(Dtype::C64);

    /// This set and `dtype`.
    #[must_use]
    pub const fn with(self, dtype: Dtype) -> Self {
        Self(self.0 | 1 << dtype as u8)
    }

    /// This set less `dtype`.
    #[must_use]
    pub const fn without(self, dtype: Dtype) -> Self {
        Self(self.0 & !(1 << dtype as u8))
    }

    /// Whether `dtype` is in the set.
    pub const fn contains(self, dtype: Dtype) -> bool {
        self.0 & 1 << dtype as u8 != 0
    }

    /// Whether it contains the types of values and of `x`.
    ///
    /// ```
    /// use spmv_backend::{DtypeSet, Types};
    /// use spmv_core::Dtype;
    /// let wide = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
    /// assert!(wide.contains_each(Types::stored_as(Dtype::F32, Dtype::F64).unwrap()));
    /// assert!(!wide.contains_each(Types::stored_as(Dtype::F16, Dtype::F64).unwrap()));
    /// ```
    pub const fn contains_each(self, types: Types) -> bool {
        self.contains(types.value) && self.contains(types.vector)
    }
}

impl fmt::Debug for DtypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Dtype::ALL.into_iter().filter(|d| self.contains(*d))).finish()
    }
}

/// What planning knows of a device; the same caps give the same plan.
///
/// ```
/// use spmv_backend::DeviceCaps;
/// use spmv_core::Dtype;
/// fn can_sum(caps: &DeviceCaps, value: Dtype) -> bool {
///     caps.storage.contains(value) && caps.arithmetic.contains(value.accum())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceCaps {
    /// Name as the driver gives it.
    pub name: String,
    /// Stable key of device, driver and build, for caches of binaries and profiles.
    pub fingerprint: String,
    /// What kind of processor it is.
    pub kind: DeviceKind,
    /// How host and device share memory.
    pub memory: MemoryModel,
    /// Whether kernels may read and write pageable host memory given as
    /// [`Memory::Host`](crate::Memory::Host).
    pub host_pointers: bool,
    /// Value types that buffers may hold.
    pub storage: DtypeSet,
    /// Value types that kernels can compute in.
    pub arithmetic: DtypeSet,
    /// Least and greatest number of lanes that run together, where lanes can shuffle.
    pub subgroup: Option<(u16, u16)>,
    /// Whether groups of a launch can join what they did: the group whose atomic add comes last sees what the others
    /// wrote before theirs.
    pub cross_block_reduction: bool,
    /// Whether bunches of a group that takes several meet at barriers of their own; else only the whole group does.
    pub bunch_barriers: bool,
    /// Whether timed streams have timestamps of the device.
    pub timestamps: bool,
    /// Whether a group is a task of one thread, so that few large groups are best.
    pub tasks: bool,
    /// Value types of which a core loads several elements of `x` by one instruction, and is known to be fast at it; none where that was
    /// not measured. Planning asks where groups are [tasks](Self::tasks): lanes of a GPU always gather.
    pub gathers: DtypeSet,
    /// Value types of which a core loads the first few elements of a vector by one instruction. Planning asks where groups are
    /// [tasks](Self::tasks).
    pub masked_loads: DtypeSet,
    /// Branches of which a core remembers from one launch to the next how each went, if they are those of loops over rows of all lengths; 0 where
    /// that was not measured. Planning asks where groups are [tasks](Self::tasks).
    pub remembered_branches: u32,
    /// Iterations of loops that a lane may take in a launch: some drivers end longer loops without a word.
    pub max_loop_steps: Option<u32>,
    /// Processors: cores of a CPU, multiprocessors of a GPU.
    pub compute_units: u32,
    /// Most lanes of a group.
    pub max_group: u32,
    /// Most groups of a launch.
    pub max_groups: u32,
    /// Local (shared, workgroup) memory of a group in bytes.
    pub max_local_bytes: u32,
    /// What a compute unit holds at a time, where the driver reports it.
    pub sm_limits: Option<SmLimits>,
    /// Memory that buffers are in, in bytes, where the driver reports it.
    pub memory_bytes: Option<u64>,
    /// Bytes of the cache that all compute units share, on CPUs of the last one, where the backend asks for it.
    pub cache_bytes: Option<u64>,
    /// Largest buffer that a kernel can be given, in bytes.
    pub max_buffer_bytes: u64,
    /// Most entries of a lane in a tile of speculative segmented sum, and of a whole tile.
    pub max_tile: (u32, u32),
    /// Tilings of kernels that were built ahead of time; a kernel that is not listed is built for any.
    pub built: Vec<Built>,
    /// Whether kernels may take subnormal numbers for zero, as WGSL allows.
    pub flushes_subnormals: bool,
    /// What was found wanting when the device was opened, in words; plans repeat it.
    pub notes: Vec<String>,
}

/// The tilings that a kernel was built for: every T in `lanes` with every W in `widths`.
///
/// ```
/// use spmv_backend::{Built, KernelId};
/// let built = Built { kernel: KernelId::CsrVector, lanes: vec![2, 4], widths: vec![] };
/// assert!(built.holds(4, 7) && !built.holds(8, 1));
/// assert_eq!(built.to_string(), "T=2,4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The kernel.
    pub kernel: KernelId,
    /// T.
    pub lanes: Vec<u32>,
    /// W; empty where the code is the same for every W.
    pub widths: Vec<u32>,
}

impl Built {
    /// Whether there is code for a tiling.
    pub fn holds(&self, lanes: u32, width: u32) -> bool {
        self.lanes.contains(&lanes) && (self.widths.is_empty() || self.widths.contains(&width))
    }
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        write!(f, "T={}", list(&self.lanes))?;
        if self.widths.is_empty() { Ok(()) } else { write!(f, " W={}", list(&self.widths)) }
    }
}

/// What a compute unit holds at a time, of all its groups together.
///
/// ```
/// use spmv_backend::SmLimits;
/// let turing = SmLimits { local_bytes: 64 * 1024, lanes: 1024, groups: Some(16) };
/// assert_eq!((turing.resident_groups(128), turing.group_local_bytes(128)), (8, 8 * 1024));
/// assert_eq!(turing.resident_groups(32), 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmLimits {
    /// Local memory in bytes.
    pub local_bytes: u32,
    /// Lanes.
    pub lanes: u32,
    /// Groups, where the driver reports it.
    pub groups: Option<u32>,
}

impl SmLimits {
    /// Groups of `lanes` lanes that the unit holds at a time, whatever their local memory; at least 1.
    pub const fn resident_groups(&self, lanes: u32) -> u32 {
        let by_lanes = self.lanes / if lanes == 0 { 1 } else { lanes };
        let groups = match self.groups {
            Some(most) if most < by_lanes => most,
            _ => by_lanes,
        };
        if groups == 0 { 1 } else { groups }
    }

    /// Bytes of local memory that each group may take if the unit is to hold as many groups of `lanes` lanes as it can.
    pub const fn group_local_bytes(&self, lanes: u32) -> u32 {
        self.local_bytes / self.resident_groups(lanes)
    }

    /// SHARED_SIZE of Gao et al., equation 3: entries whose products `lanes` lanes of a group may hold in local memory, in
    /// sums of that type. With *t* lanes in a group, and *T*, *S* and *B* the most threads, bytes of shared memory and
    /// blocks of a multiprocessor, it is *S* / min(*T*/*t*, *B*) / bytes of a sum: twice as many in `f32` as in `f64`.
    ///
    /// ```
    /// use spmv_backend::SmLimits;
    /// use spmv_core::Dtype;
    /// let k20c = SmLimits { local_bytes: 48 * 1024, lanes: 2048, groups: Some(16) };
    /// assert_eq!([Dtype::F32, Dtype::F64].map(|sum| k20c.shared_size(256, sum)), [1536, 768]);
    /// ```
    pub const fn shared_size(&self, lanes: u32, sum: Dtype) -> u32 {
        self.group_local_bytes(lanes) / sum.bytes() as u32
    }
}

impl DeviceCaps {
    /// Caps of a CPU-like device with no limits, to be narrowed field by field.
    pub fn new(name: impl Into<String>, kind: DeviceKind, memory: MemoryModel) -> Self {
        let name = name.into();
        Self {
            fingerprint: name.clone(),
            name,
            kind,
            memory,
            host_pointers: false,
            storage: DtypeSet::ALL,
            arithmetic: DtypeSet::ALL,
            subgroup: None,
            cross_block_reduction: false,
            bunch_barriers: true,
            timestamps: true,
            tasks: kind == DeviceKind::Cpu,
            gathers: DtypeSet::NONE,
            masked_loads: DtypeSet::NONE,
            remembered_branches: 0,
            max_loop_steps: None,
            compute_units: 1,
            max_group: 1024,
            max_groups: i32::MAX as u32,
            max_local_bytes: 32 * 1024,
            sm_limits: None,
            memory_bytes: None,
            cache_bytes: None,
            max_buffer_bytes: u64::MAX,
            max_tile: (u32::MAX, u32::MAX),
            built: Vec::new(),
            flushes_subnormals: false,
            notes: Vec::new(),
        }
    }

    /// Whether it is another processor than the host's cores in the memory that they share, as on Tegra and APUs: there sums
    /// are repaired in place. A discrete GPU in managed memory is none, since pages go over the bus.
    ///
    /// ```
    /// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
    /// let caps = |kind| DeviceCaps::new("a chip", kind, MemoryModel::UnifiedCoherent);
    /// assert!(caps(DeviceKind::IntegratedGpu).is_integrated());
    /// assert!(!caps(DeviceKind::DiscreteGpu).is_integrated() && !caps(DeviceKind::Cpu).is_integrated());
    /// ```
    pub const fn is_integrated(&self) -> bool {
        self.memory.host_can_map() && matches!(self.kind, DeviceKind::IntegratedGpu | DeviceKind::Other)
    }

    /// Whether the backend has code for a kernel: what this refuses, plans do not yield, and
    /// [`Backend::compile`](crate::Backend::compile) refuses with the same words.
    ///
    /// ```
    /// use spmv_backend::{DeviceCaps, DeviceKind, KernelId, KernelSpec, Lanes, MemoryModel};
    /// use spmv_core::{Dtype, Tiling};
    /// let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
    /// caps.max_tile = (32, 4096);
    /// let spec = |w| KernelSpec::new(KernelId::SpecSegsum, Dtype::F32, Lanes::Subgroup, Tiling::new(32, w, 1, 1).unwrap());
    /// assert_eq!(caps.check_kernel(&spec(16)), Ok(()));
    /// let e = caps.check_kernel(&spec(64)).unwrap_err();
    /// assert_eq!(e.to_string(), "a GPU has no tiles of 64 entries a lane (at most 32); use a tiling with a smaller W");
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn check_kernel(&self, spec: &KernelSpec) -> Result<()> {
        let refused = |what: String, way_out: &str| Err(Error::unsupported(&*self.name, what, way_out));
        let KernelSpec { id, types, operation, columns, .. } = *spec;
        let is_known =
            Types::stored_as(types.value, types.vector) == Some(types) && spec.with_types(types) == *spec;
        if !is_known || operation != Operation::Plain || columns != 1 {
            return refused(
                format!("kernel {spec}"),
                "multiply the matrix as it is by one vector, of the type of its values or a wider one",
            );
        }
        let (lanes, width) = (spec.tiling.lanes(), spec.tiling.width());
        if let Some(built) = self.built.iter().find(|built| built.kernel == id)
            && !built.holds(lanes, width)
        {
            let what = format!("{id} built for T={lanes}, W={width}");
            return refused(what, &format!("use a tiling with {built}"));
        }
        let (most_of_a_lane, most) = self.max_tile;
        if id.walks_tiles() && width > most_of_a_lane {
            let what = format!("tiles of {width} entries a lane (at most {most_of_a_lane})");
            return refused(what, "use a tiling with a smaller W");
        }
        if id.walks_tiles() && spec.tiling.tile_entries() > most {
            let what = format!("tile of {} entries (at most {most})", spec.tiling.tile_entries());
            return refused(what, "use smaller T or W");
        }
        Ok(())
    }
}

/// Why a device lacks what a trial kernel tried; `None` if the trial gave the right results.
///
/// ```
/// use spmv_backend::{Error, why_not};
/// assert_eq!(why_not(Ok(true)), Ok(None));
/// assert_eq!(why_not(Ok(false)), Ok(Some("a trial kernel gave wrong results".into())));
/// let refused = Error::unsupported("a GPU", "shuffles", "use a newer driver");
/// assert_eq!(why_not(Err(refused)), Ok(Some("a GPU has no shuffles; use a newer driver".into())));
/// let full = Error::OutOfMemory { device: "a GPU".into(), bytes: 8 };
/// assert_eq!(why_not(Err(full.clone())), Err(full), "another time it may be there");
/// ```
///
/// # Errors
/// What says nothing of what was tried: anything but a kernel that is refused, does not compile or does not run.
pub fn why_not(trial: Result<bool>) -> Result<Option<String>> {
    match trial {
        Ok(true) => Ok(None),
        Ok(false) => Ok(Some("a trial kernel gave wrong results".into())),
        Err(e @ (Error::Unsupported { .. } | Error::Compile { .. } | Error::Launch { .. })) => {
            Ok(Some(e.to_string()))
        }
        Err(e) => Err(e),
    }
}

/// The device that a user names: by its index in the list, or by part of its name in any case of letters. A number is an index
/// and nothing else.
///
/// ```
/// use spmv_backend::find_device;
/// let all = ["Iris Xe".to_string(), "H200".to_string()];
/// assert_eq!(find_device(&all, "h2", String::clone), Ok(&all[1]));
/// assert_eq!(find_device(&all, "0", String::clone), Ok(&all[0]));
/// let e = find_device(&all, "2", String::clone).unwrap_err();
/// assert_eq!(e, "no device '2'; there are 0: Iris Xe, 1: H200", "although a name contains it");
/// let e = find_device(&all, "abacus", String::clone).unwrap_err();
/// assert_eq!(e, "no device 'abacus'; there are 0: Iris Xe, 1: H200");
/// ```
///
/// # Errors
/// The devices there are, in words.
pub fn find_device<'a, D>(all: &'a [D], asked: &str, name: impl Fn(&D) -> String) -> Result<&'a D, String> {
    let asked = asked.trim();
    let is_number = !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit());
    let found = match is_number {
        // A number with more digits than an index is out of range too.
        true => asked.parse::<usize>().ok().and_then(|i| all.get(i)),
        false => all.iter().find(|d| name(d).to_lowercase().contains(&asked.to_lowercase())),
    };
    found.ok_or_else(|| {
        let list: Vec<String> = all.iter().enumerate().map(|(i, d)| format!("{i}: {}", name(d))).collect();
        format!("no device '{asked}'; there are {}", list.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads, KiB of shared memory and blocks of a multiprocessor: NVIDIA's for compute capability 2.0 and 3.5.
    const C2050: SmLimits = SmLimits { local_bytes: 48 * 1024, lanes: 1536, groups: Some(8) };
    const K20C: SmLimits = SmLimits { local_bytes: 48 * 1024, lanes: 2048, groups: Some(16) };

    #[test]
    fn equation_3_of_gao_et_al_on_the_papers_devices() {
        let sizes = |unit: SmLimits, sum| [64, 128, 256, 512].map(|lanes| unit.shared_size(lanes, sum));
        // 8 blocks, where threads alone would allow 24 and 12; then 6 and 3.
        assert_eq!(sizes(C2050, Dtype::F32), [1536, 1536, 2048, 4096]);
        // 16 blocks, where threads alone would allow 32; then 16, 8 and 4.
        assert_eq!(sizes(K20C, Dtype::F32), [768, 768, 1536, 3072]);
    }

    #[test]
    fn blocks_of_f32_hold_twice_the_entries_of_f64() {
        for unit in [C2050, K20C] {
            for lanes in [32, 64, 128, 256, 512, 1024] {
                assert_eq!(
                    unit.shared_size(lanes, Dtype::F32),
                    2 * unit.shared_size(lanes, Dtype::F64),
                    "{lanes}"
                );
            }
        }
    }

    #[test]
    fn a_unit_holds_one_group_whatever_its_limits() {
        let unit = SmLimits { local_bytes: 1024, lanes: 64, groups: Some(0) };
        assert_eq!((unit.resident_groups(0), unit.resident_groups(128)), (1, 1));
        assert_eq!(SmLimits { groups: None, ..C2050 }.resident_groups(64), 24);
    }
}
