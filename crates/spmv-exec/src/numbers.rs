//! What a queue has for vectors of one type: kernels, scalars, and how a vector is cut.

use spmv_backend::arguments::VecReduce;
use spmv_backend::{Backend, DeviceCaps, Error as DeviceError, KernelId, KernelSpec, Memory};
use spmv_core::{Accum, Dtype, RowStats};

use crate::carries::lanes;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, launch};
use crate::tilings::{B, Case, On, Row, S, T, W, tiling};

/// Scalars of each type that a queue has, the first of which is 1.
const SCALARS: u32 = 4096;
/// Groups of a reduction at most: the second pass is one group's.
const GROUPS: u32 = 1024;
/// Numbers of a task on the cores, and of a lane elsewhere, below which more of them cost more than they bring.
const OF_A_TASK: u32 = 16 * 1024;
const OF_A_LANE: u32 = 4;
/// Tasks of each thread on the cores.
const TASKS_OF_A_THREAD: u32 = 4;

const UNMEASURED: &str = "not measured: groups of eight warps hide loads on every GPU";
const TILINGS: &[Row] = &[
    Row { on: On::Tasks, t: T::Is(1), w: W::Is(1), s: S::One, b: B::One, by: UNMEASURED },
    Row {
        on: On::PartsOfSubgroups,
        t: T::Subgroup,
        w: W::Is(1),
        s: S::One,
        b: B::Lanes(256),
        by: UNMEASURED,
    },
    Row { on: On::Subgroups, t: T::Subgroup, w: W::Is(1), s: S::One, b: B::Lanes(256), by: UNMEASURED },
    Row { on: On::Workgroups, t: T::AtMost(64), w: W::Is(1), s: S::One, b: B::One, by: UNMEASURED },
];

/// Of `gather_values` and `sell_fill`, whose groups take a value, or the steps of one lane of a slice, a lane and no more.
const GATHER_TILINGS: &[Row] = &[
    Row {
        on: On::Tasks,
        t: T::Is(1),
        w: W::Is(1),
        s: S::One,
        b: B::Lanes(256),
        by: "not archived: PoCL takes longer to begin a group than to copy a value",
    },
    TILINGS[1],
    TILINGS[2],
    TILINGS[3],
];

/// Scalars of one type, and partial results of a reduction.
#[derive(Debug)]
pub(crate) struct Numbers<B: Backend> {
    pub(crate) scalars: B::Buffer,
    pub(crate) partials: B::Buffer,
    /// How many there are of either: fewer where buffers are small.
    pub(crate) n_scalars: u32,
    n_partials: u32,
    pub(crate) taken: u32,
    pub(crate) update: Compiled<B>,
    pub(crate) step: Compiled<B>,
    pub(crate) dot: Compiled<B>,
    pub(crate) reduce: Compiled<B>,
    /// Compiled with the first program.
    pub(crate) compute: Option<Compiled<B>>,
    /// Steps of each.
    pub(crate) programs: Vec<B::Buffer>,
}

/// Kernels that go by indices, by type; compiled when first asked for.
#[derive(Debug)]
pub(crate) struct ByIndices<B: Backend> {
    gather: [Option<Compiled<B>>; Dtype::ALL.len()],
    scatter: [Option<Compiled<B>>; Dtype::ALL.len()],
}

/// How a vector is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) n: u32,
    pub(crate) groups: u32,
    pub(crate) chunk: u32,
}

impl<B: Backend> Numbers<B> {
    pub(crate) fn new<A: Accum>(device: &Device<B>) -> Result<Self> {
        let kernel = |id| device.compiled(&spec(device, id, A::DTYPE)?);
        let bytes = A::DTYPE.bytes() as u64;
        let fitting =
            |wanted: u32| u64::from(wanted).min(device.caps().max_buffer_bytes / bytes).max(1) as u32;
        let (n_scalars, n_partials) = (fitting(SCALARS), fitting(GROUPS));
        let mut scalars = device.scratch::<A>(n_scalars as usize)?;
        let (backend, one) = (device.backend(), [A::one()]);
        device.copies(|stream| {
            backend.zero(stream, &mut scalars, u64::from(n_scalars) * bytes)?;
            backend.write(stream, &mut scalars, 0, bytemuck::cast_slice(&one))
        })?;
        Ok(Self {
            scalars,
            partials: device.scratch::<A>(n_partials as usize)?,
            n_scalars,
            n_partials,
            taken: 1,
            update: kernel(KernelId::VecUpdate)?,
            step: kernel(KernelId::VecAxpyAypx)?,
            dot: kernel(KernelId::VecDot)?,
            reduce: kernel(KernelId::VecReduce)?,
            compute: None,
            programs: vec![],
        })
    }

    /// The second pass of a reduction: joins what `n` groups found.
    pub(crate) fn finish_reduction(
        &self,
        device: &Device<B>,
        stream: &B::Stream,
        op: u32,
        n: u32,
        at: u32,
    ) -> Result<()> {
        let (partials, scalars) = (Memory::Device(&self.partials), Memory::Device(&self.scalars));
        launch(device, stream, &self.reduce, 1, VecReduce { n, op, at, partials, scalars })
    }

    /// Compiles what programs need.
    pub(crate) fn with_programs<A: Accum>(&mut self, device: &Device<B>) -> Result<()> {
        if self.compute.is_none() {
            self.compute = Some(device.compiled(&spec(device, KernelId::VecScalars, A::DTYPE)?)?);
        }
        Ok(())
    }
}

// Not derived: kernels have no default.
impl<B: Backend> Default for ByIndices<B> {
    fn default() -> Self {
        Self { gather: [const { None }; _], scatter: [const { None }; _] }
    }
}

impl<B: Backend> ByIndices<B> {
    /// Copies values of any type that the device stores.
    pub(crate) fn gather(&mut self, device: &Device<B>, value: Dtype) -> Result<&Compiled<B>> {
        let caps = device.caps();
        if !caps.storage.contains(value) {
            let what = format!("{value} storage");
            return Err(DeviceError::unsupported(&*caps.name, what, "use f32 vectors").into());
        }
        kept(&mut self.gather[value as usize], || device.compiled(&gather_values(value, caps)))
    }

    /// Adds sums.
    pub(crate) fn scatter(&mut self, device: &Device<B>, sum: Dtype) -> Result<&Compiled<B>> {
        kept(&mut self.scatter[sum as usize], || {
            device.compiled(&spec(device, KernelId::VecScatterAdd, sum)?)
        })
    }
}

fn kept<B: Backend>(
    slot: &mut Option<Compiled<B>>,
    compile: impl FnOnce() -> Result<Compiled<B>>,
) -> Result<&Compiled<B>> {
    match slot {
        Some(kernel) => Ok(kernel),
        none => Ok(none.insert(compile()?)),
    }
}

/// The kernel as this device takes it.
pub(crate) fn spec<B: Backend>(device: &Device<B>, id: KernelId, value: Dtype) -> Result<KernelSpec> {
    let caps = device.caps();
    if !caps.arithmetic.contains(value) {
        let what = format!("{value} arithmetic");
        return Err(DeviceError::unsupported(&*caps.name, what, "use f32 vectors").into());
    }
    Ok(tiled(TILINGS, id, value, caps))
}

/// The kernel that copies values of a type by indices.
pub(crate) fn gather_values(value: Dtype, caps: &DeviceCaps) -> KernelSpec {
    tiled(GATHER_TILINGS, KernelId::GatherValues, value, caps)
}

/// The kernel that lays slices out. It reads no values.
pub(crate) fn sell_fill(caps: &DeviceCaps) -> KernelSpec {
    tiled(GATHER_TILINGS, KernelId::SellFill, Dtype::F32, caps)
}

fn tiled(rows: &[Row], id: KernelId, value: Dtype, caps: &DeviceCaps) -> KernelSpec {
    let tiling = tiling(rows, &Case { kernel: id, rows: &RowStats::default(), runs: None, value, caps });
    KernelSpec::new(id, value, lanes(&tiling, caps), tiling)
}

/// A number of values, as kernels count them.
pub(crate) fn counted<B: Backend>(device: &Device<B>, n: usize) -> Result<u32> {
    // Lanes count a little beyond the end.
    let most = u32::MAX - (1 << 16);
    Ok(u32::try_from(n).ok().filter(|n| *n <= most).ok_or_else(|| {
        let what = format!("an operation on {n} values at a time");
        DeviceError::unsupported(&*device.caps().name, what, "use shorter vectors")
    })?)
}

impl Cut {
    pub(crate) fn of<B: Backend>(device: &Device<B>, n: usize, numbers: &Numbers<B>) -> Result<Self> {
        let n = counted(device, n)?;
        let (caps, most) = (device.caps(), numbers.n_partials);
        let group_lanes = numbers.update.spec.tiling.group_lanes();
        let chunk = if caps.tasks {
            let tasks = (caps.compute_units.max(1) * TASKS_OF_A_THREAD).min(most);
            if n <= 2 * OF_A_TASK { n } else { n.div_ceil(tasks).max(OF_A_TASK) }
        } else {
            let groups = n.div_ceil(group_lanes * OF_A_LANE).clamp(1, most);
            n.div_ceil(groups).next_multiple_of(group_lanes)
        };
        let chunk = chunk.max(1);
        Ok(Self { n, groups: n.div_ceil(chunk).max(1), chunk })
    }
}
