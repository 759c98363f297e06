//! Blocks of rows whose products a group holds in local memory.

use std::sync::Arc;

use spmv_backend::arguments::Ipcsr as Arguments;
use spmv_backend::{Backend, DeviceCaps, DeviceKind, Error, KernelId, KernelSpec, Memory, Types};
use spmv_core::RowBlocks;
use spmv_core::{CsrView, MatrixStats, RowStats, Tiling, Value};

use crate::carries::{self, Pieces};
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Method, Repair, Sums, entries_of_a_group, rows_of_bunch_steps};
use crate::part::{Build, CsrArrays, Layout, Prepare, Runner, Span};
use crate::measured::{AUTO, BY_CLASS, Bound, TILINGS};
use crate::tilings::{B, On, RESIDENT_LANES, Row, S, T, W, splits_subgroups};

/// Mean entries of a row above which groups that hold a block of rows hold pieces of rows for the most part, and
/// meet at barriers for nothing.
const LONG: Bound<f64> = Bound { is: 1024.0, by: AUTO };

/// Entries of a compute unit from which speculation pays: fewer than some ten for each lane that it holds keep its second launch visible.
const FULL: Bound<u64> = Bound { is: 16 * RESIDENT_LANES.is, by: BY_CLASS };

const BLOCKS: &str = "cargo xtask bench --suite --algorithm ipcsr: docs/results/2026-11-21-cpu-blocks.txt";

pub(crate) struct Ipcsr;

impl Method for Ipcsr {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sums: Sums::Joined,
                row_a_lane: false,
                by_heuristic: true,
                ..Facts::of(KernelId::Ipcsr, "Gao et al., algorithms 4 to 6")
            }
        }
    }

    /// Few lanes, so that many groups wait for memory at the same time. They talk through local memory, so they are one
    /// bunch. Where a block is a task, the number of its rows matters instead.
    fn tilings(&self) -> &'static [Row] {
        &[
            Row { on: On::Tasks, t: T::Block(256), w: W::Block(16, 16), s: S::One, b: B::One, by: BLOCKS },
            Row {
                on: On::PartsOfSubgroups,
                t: T::BlockBySize(128, 256),
                w: W::Block(4, 8),
                s: S::One,
                b: B::One,
                by: BY_CLASS,
            },
            Row { on: On::Subgroups, t: T::Block(128), w: W::Block(4, 8), s: S::One, b: B::One, by: TILINGS },
            Row {
                on: On::Workgroups,
                t: T::Block(128),
                w: W::Block(4, 8),
                s: S::One,
                b: B::One,
                by: TILINGS,
            },
        ]
    }

    /// Long rows leave groups with pieces of rows, which matters where there is work for all of them. Where the host can
    /// map, it would repair speculative sums, and in a memory of two parts pages would go to and fro. All of this was
    /// measured on a discrete GPU, so it says nothing of integrated ones, nor of CPUs.
    fn suits(&self, stats: &MatrixStats, _: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let rows = &stats.rows;
        if caps.is_integrated() || caps.kind == DeviceKind::Cpu {
            return None;
        }
        (splits_subgroups(caps) && caps.cross_block_reduction && !speculates(rows, caps, &LONG))
            .then_some("one launch; cuts entries evenly over groups, whatever the row lengths")
    }

    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        one_bunch(kernel, caps)
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        if caps.cross_block_reduction { vec![] } else { vec![carries::kernel(kernel, caps)] }
    }

    /// A block holds a row for each lane; or overflows with the next, so that both exceed what a block holds; or ends
    /// before a cut row, which has more than half a block for each of its pieces. So blocks are at most 5 times the
    /// entries over what a block holds, and rows over lanes, and one.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let tiling = launch.tiling();
        let blocks = (launch.groups().min(launch.marks()) / 8).max(1);
        let entries = u64::from(tiling.tile_entries()) * u64::from(tiling.bunches());
        (blocks.saturating_mul(entries), blocks * u64::from(tiling.group_lanes()))
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    fn loop_steps(&self, _: &Tiling, _: u64) -> u64 {
        0
    }

    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let (n_rows, nnz) = (launch.rows.n_rows as f64, launch.rows.nnz as f64);
        let tiling = launch.tiling();
        let groups = (nnz / entries_of_a_group(tiling)).max(n_rows / f64::from(tiling.group_lanes()));
        let longest =
            if launch.caps.tasks { 0.0 } else { steps_in_a_block(tiling, launch.rows, launch.caps) };
        Effort { slots: nnz, longest, groups }
    }
}

/// Whether rows are so long, and so many, that speculative sums are faster.
pub(super) fn speculates(rows: &RowStats, caps: &DeviceCaps, long: &Bound<f64>) -> bool {
    let is_full = rows.nnz as u64 >= u64::from(caps.compute_units) * FULL.is;
    rows.mean > long.is && is_full && !caps.memory.host_can_map()
}

/// A group whose lanes find each other's products in local memory is one bunch.
pub(super) fn one_bunch(kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
    if kernel.tiling.bunches() == 1 {
        return Ok(());
    }
    let what = format!("{} for groups of several bunches", kernel.id);
    Err(Error::unsupported(&*caps.name, what, "use a tiling with B=1").into())
}

/// Steps after the products: a row's lanes alternate with those of others in its block, up to twice W each; then
/// subgroups take the rows that are longer, one after the other, of which there are no more than Cantelli's inequality
/// says.
fn steps_in_a_block(tiling: &Tiling, rows: &RowStats, caps: &DeviceCaps) -> f64 {
    let (lanes, width) = (f64::from(tiling.lanes()), f64::from(tiling.width()));
    let together = caps.subgroup.map_or(1.0, |(_, most)| f64::from(most));
    let rows_of_a_block = (lanes * width / rows.mean.max(1e-9)).clamp(1.0, lanes);
    let of_a_row = (lanes / rows_of_a_block).log2().floor().exp2().min(together);
    let (most, longest) = (2.0 * width * of_a_row, rows.max as f64);
    if longest <= most || of_a_row >= together {
        return longest.min(most) / of_a_row;
    }
    let (variance, above) = (rows.std_dev.powi(2), (most - rows.mean).max(0.0));
    let share = if variance > 0.0 { variance / (variance + above.powi(2)) } else { 0.0 };
    2.0 * width + share * rows_of_a_block * together / lanes
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    /// Where groups do not join the pieces of a row themselves, and there are such.
    carry_apply: Option<Compiled<B>>,
    a: CsrArrays<B>,
    /// [`RowBlocks`].
    block_rows: B::Buffer,
    block_entries: B::Buffer,
    n_blocks: u32,
}

/// With a piece for each block.
#[derive(Debug)]
struct Blocks<B: Backend> {
    state: Arc<State<B>>,
    pieces: Pieces<B>,
}

impl Build for Ipcsr {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let blocks = RowBlocks::of(&to.kernel.tiling, a.row_ptr());
        let n_blocks = blocks.n_blocks() as u32;
        let carries_over = blocks.cuts_rows && !to.device.caps().cross_block_reduction;
        let carry_apply = carries_over.then(|| to.helper(KernelId::CarryApply)).transpose()?;
        let (block_rows, block_entries) = (to.copy(&blocks.rows)?, to.copy(&blocks.entries)?);
        let (kernel, a) = (to.main()?, to.csr(a)?);
        let state = State { span: to.span, kernel, carry_apply, a, block_rows, block_entries, n_blocks };
        Ok(Arc::new(state))
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let state = Arc::clone(self);
        let pieces = Pieces::new::<T>(device, state.n_blocks as usize)?;
        Ok(Box::new(Blocks { state, pieces }))
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        Some(&self.a)
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Blocks<B> {
    fn reset(&mut self, backend: &B, stream: &B::Stream) -> Result<()> {
        self.pieces.reset(backend, stream)
    }

    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { state, pieces: Pieces { carries, arrivals, .. } } = self;
        let State { span, kernel, carry_apply, a, block_rows, block_entries, n_blocks } = &**state;
        let vals = a.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            finish: span.finish(run),
            row_ptr: Memory::Device(&a.row_ptr),
            block_rows: Memory::Device(block_rows),
            block_entries: Memory::Device(block_entries),
            cols: Memory::Device(&a.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            carries: Memory::Device(carries),
            arrivals: Memory::Device(arrivals),
            y: run.y,
        };
        run.start(kernel, *n_blocks, args)?;
        match carry_apply {
            Some(carry_apply) => carries::add(run, carry_apply, span, *n_blocks, block_rows, carries),
            None => Ok(()),
        }
    }

    #[cfg(test)]
    fn scratch(&mut self, name: &str) -> Option<&mut B::Buffer> {
        (name == "arrivals").then_some(&mut self.pieces.arrivals)
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel};

    use super::*;

    #[test]
    fn long_rows_of_a_block_alternate() {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.subgroup = Some((2, 32));
        let tiling = Tiling::new(128, 8, 1, 1).unwrap();
        let steps = |mean: f64, max: usize, std_dev: f64| {
            steps_in_a_block(&tiling, &RowStats { mean, max, std_dev, ..RowStats::default() }, &caps)
        };
        // 64 rows with two lanes each, which take up to 16 slots.
        assert_eq!((steps(16.0, 20, 2.0), steps(16.0, 32, 2.0)), (10.0, 16.0));
        // Of the 64 rows a fifth may be longer, for four subgroups.
        assert!((steps(16.0, 33, 8.0) - (16.0 + 0.2 * 64.0 / 4.0)).abs() < 1e-12);
        assert_eq!(steps(0.0, 0, 0.0), 0.0);
        assert_eq!(steps(5000.0, 90_000, 10.0), 16.0, "a block holds a piece of a row");
    }
}
