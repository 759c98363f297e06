//! Sums that bunches or groups carry to the row where the next one begins.

use spmv_backend::arguments::CarryApply;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Lanes, Memory};
use spmv_core::{Tiling, Value};

use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::part::Span;

/// Scratch memory of a kernel whose groups sum pieces of rows: a sum for each piece, and a count of those that are done.
#[derive(Debug)]
pub(crate) struct Pieces<B: Backend> {
    pub(crate) carries: B::Buffer,
    /// Zero between launches.
    pub(crate) arrivals: B::Buffer,
    n: usize,
}

impl<B: Backend> Pieces<B> {
    pub(crate) fn new<T: Value>(device: &Device<B>, n: usize) -> Result<Self> {
        Ok(Self { carries: device.scratch::<T::Accum>(n)?, arrivals: device.scratch::<u32>(n)?, n })
    }

    pub(crate) fn reset(&mut self, backend: &B, stream: &B::Stream) -> Result<()> {
        Ok(backend.zero(stream, &mut self.arrivals, self.n as u64 * size_of::<u32>() as u64)?)
    }
}

/// Lanes of a bunch that adds what is carried to a row, where lanes do not shuffle.
const LANES_WITHOUT_SUBGROUPS: u32 = 32;

/// The kernel that adds what another carries. One that talks over more lanes than run together leaves it the lanes that do. So does
/// one whose bunches have fewer, since a row may get what hundreds of them carry; but not where lanes are iterations.
pub(crate) fn kernel(kernel: &KernelSpec, caps: &DeviceCaps) -> KernelSpec {
    let lanes_of_kernel = kernel.tiling.lanes();
    let most = caps.subgroup.map_or(LANES_WITHOUT_SUBGROUPS.min(caps.max_group), |(_, most)| u32::from(most));
    let is_wide = kernel.lanes == Lanes::Workgroup && caps.subgroup.is_some() && lanes_of_kernel > most;
    let is_narrow = !caps.tasks && lanes_of_kernel < most;
    // W and S are nothing to it; without them more multiplications share it.
    let [t, b] = match is_wide || is_narrow {
        true => [most, 1],
        false => [lanes_of_kernel, kernel.tiling.bunches()],
    };
    let tiling = Tiling::new(t, 1, 1, b).expect("no larger than the kernel's");
    KernelSpec { id: KernelId::CarryApply, tiling, lanes: lanes(&tiling, caps), ..*kernel }
}

/// How the lanes of a bunch talk. On a CPU a lane is an iteration and T may be anything; elsewhere a subgroup must be that
/// wide, or parts of it, which have powers of two.
pub(crate) fn lanes(tiling: &Tiling, caps: &DeviceCaps) -> Lanes {
    match caps.subgroup {
        Some((least, most))
            if (u32::from(least)..=u32::from(most)).contains(&tiling.lanes())
                && tiling.lanes().is_power_of_two() =>
        {
            Lanes::Subgroup
        }
        _ => Lanes::Workgroup,
    }
}

/// Adds what `n_bunches` bunches (or blocks) carried to the row where each ends: `bunch_rows[bunch + 1]`.
pub(crate) fn add<B: Backend, T: Value>(
    run: &Run<'_, B, T>,
    kernel: &Compiled<B>,
    span: &Span,
    n_bunches: u32,
    bunch_rows: &B::Buffer,
    carries: &B::Buffer,
) -> Result<()> {
    let groups = n_bunches.div_ceil(kernel.spec.tiling.bunches());
    let args = CarryApply {
        n_rows: span.n_rows,
        row_base: span.row_base,
        n_bunches,
        finish: span.finish(run),
        bunch_rows: Memory::Device(bunch_rows),
        carries: Memory::Device(carries),
        y: run.y,
    };
    run.start(kernel, groups, args)
}
