//! Rows and entries cut evenly over bunches.

use std::sync::Arc;

use spmv_backend::arguments::MergePath as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory, Types};
use spmv_core::tiling::merge_path;
use spmv_core::{CsrView, MatrixStats, Tiling, Value};

use crate::carries;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Method, Repair, Sums, bits, entries_of_a_group, rows_of_bunch_steps};
use crate::part::{Build, CsrArrays, Layout, Prepare, Runner, Span};
use crate::measured::TILINGS;
use crate::tilings::{B, Of, On, Row, S, T, W, tiled};

pub(crate) struct MergePath;

impl Method for MergePath {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sums: Sums::Joined,
                row_a_lane: false,
                by_heuristic: true,
                ..Facts::of(KernelId::MergePath, "Merrill & Garland 2016")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        const ROWS: [Row; 4] = tiled(
            Of::Steps,
            Row {
                on: On::PartsOfSubgroups,
                t: T::Subgroup,
                w: W::Is(8),
                s: S::Bunches(Of::Steps, 30),
                b: B::AtMost(8),
                by: TILINGS,
            },
        );
        &ROWS
    }

    fn suits(&self, _: &MatrixStats, _: Types, caps: &DeviceCaps) -> Option<&'static str> {
        caps.tasks.then_some("cuts rows and entries evenly over threads, whatever the row lengths")
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        vec![carries::kernel(kernel, caps)]
    }

    /// Rows and entries both take steps of the merge.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let tiling = launch.tiling();
        let bunches = (launch.groups() * u64::from(tiling.bunches())).min(launch.marks());
        let steps = bunches.saturating_mul(u64::from(tiling.bunch_entries())) / 2;
        (steps, steps)
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    fn loop_steps(&self, tiling: &Tiling, search: u64) -> u64 {
        let [entries, lanes, width] = [tiling.tile_entries(), tiling.lanes(), tiling.width()].map(u64::from);
        3 * width + search + bits(entries) + 2 * bits(lanes) + 4
    }

    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let (n_rows, nnz) = (launch.rows.n_rows as f64, launch.rows.nnz as f64);
        Effort { slots: nnz, longest: 0.0, groups: (n_rows + nnz) / entries_of_a_group(launch.tiling()) }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    carry_apply: Compiled<B>,
    a: CsrArrays<B>,
    /// The rows finished before each bunch, and before the end.
    bunch_rows: B::Buffer,
}

/// With a sum for each bunch.
#[derive(Debug)]
struct Carrying<B: Backend> {
    state: Arc<State<B>>,
    carries: B::Buffer,
}

impl Build for MergePath {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let bunch_rows = to.copy(&bunch_rows(&to.kernel.tiling, a.row_ptr()))?;
        let carry_apply = to.helper(KernelId::CarryApply)?;
        let state = State { span: to.span, kernel: to.main()?, carry_apply, a: to.csr(a)?, bunch_rows };
        Ok(Arc::new(state))
    }
}

fn bunch_rows(tiling: &Tiling, row_ptr: &[u32]) -> Vec<u32> {
    let steps = row_ptr.len() as u32 - 1 + row_ptr[row_ptr.len() - 1];
    let start = |bunch| merge_path(row_ptr, tiling.bunch_range(bunch, steps).start).0;
    (0..=tiling.n_bunches(steps)).map(start).collect()
}

impl<B: Backend> State<B> {
    fn steps(&self) -> u32 {
        self.span.n_rows + self.span.nnz
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let state = Arc::clone(self);
        let n_bunches = state.kernel.spec.tiling.n_bunches(state.steps());
        let carries = device.scratch::<T::Accum>(n_bunches as usize)?;
        Ok(Box::new(Carrying { state, carries }))
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        Some(&self.a)
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Carrying<B> {
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { state, carries } = self;
        let State { span, kernel, carry_apply, a, bunch_rows } = &**state;
        let tiling = &kernel.spec.tiling;
        let vals = a.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            nnz: span.nnz,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            row_ptr: Memory::Device(&a.row_ptr),
            bunch_rows: Memory::Device(bunch_rows),
            cols: Memory::Device(&a.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            carries: Memory::Device(carries),
            y: run.y,
        };
        run.start(kernel, tiling.n_groups(state.steps()), args)?;
        // A single bunch carries nothing.
        match tiling.n_bunches(state.steps()) {
            0 | 1 => Ok(()),
            n => carries::add(run, carry_apply, span, n, bunch_rows, carries),
        }
    }
}
