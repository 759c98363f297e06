//! The first entries of each row in ELL form and the rest of the rows in CSR form, in one launch.

use spmv_backend::arguments::EllCsr as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::format::{Cost, Ell};
use spmv_core::{CsrView, MatrixStats, Offset, RowStats, Tiling, Value, regular};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Limits, Method, Storage, rows_of_a_group};
use crate::part::{Build, CsrArrays, Direct, Prepare, Span, WithoutScratch};
use crate::regular::{loop_steps, rows_of_a_part, steps};
use crate::tilings::{ROW_A_LANE, Row};
use crate::values::{Order, Values};

pub(crate) struct EllCsr;

impl Method for EllCsr {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                row_a_lane: false,
                own_layout: true,
                refuses: &["an arrow", "one long row"],
                ..Facts::of(KernelId::EllCsr, "Tan et al. 2019, section 3.2 (Tetris), in one launch")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        let cost = |part: regular::Part| {
            Cost::ell_csr(&stats.rows, part.width, stats.rows.nnz.saturating_sub(part.entries), value)
        };
        stats.slots.map_or(Storage::Unknown, |part| Storage::Own(cost(part)))
    }

    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        loop_steps(tiling)
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let (rows, tiling, part) = (launch.rows, launch.tiling(), stats.slots.unwrap_or_default());
        let (n_rows, width) = (rows.n_rows as f64, part.width as f64);
        Effort {
            slots: n_rows * width + rows.nnz.saturating_sub(part.entries) as f64,
            longest: steps(width, rows.max.saturating_sub(part.width) as f64, tiling),
            groups: n_rows / rows_of_a_group(tiling),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    width: u32,
    slot_cols: B::Buffer,
    slot_vals: Values<B>,
    rest: CsrArrays<B>,
}

impl Build for EllCsr {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn regular_width<T: Value, O: Offset>(a: CsrView<'_, T, O>, asked: Option<usize>) -> Option<usize> {
        Some(asked.unwrap_or_else(|| regular::slots(a, regular::SHARE).width))
    }

    fn cost<T: Value, O: Offset>(a: CsrView<'_, T, O>, regular_width: usize) -> Option<Cost> {
        let rows = RowStats::of(a);
        let width = regular_width.min(rows.max);
        Some(Cost::ell_csr(&rows, width, rows.nnz - regular::in_slots(a, width), T::DTYPE))
    }

    fn rows_of_a_part(cost: Option<&Cost>, limits: &Limits, n_rows: usize, _: usize) -> usize {
        rows_of_a_part(cost, limits, n_rows)
    }

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let (ell, rest) = Ell::split(a, to.regular_width);
        let [in_slots, after_slots] = Order::by_slots(a, ell.width())?;
        Ok(WithoutScratch::new(State {
            span: to.span,
            kernel: to.main()?,
            width: ell.width() as u32,
            slot_cols: to.copy(ell.cols())?,
            slot_vals: Values::new(to.copy(ell.vals())?, in_slots),
            rest: to.rest(rest.view(), after_slots)?,
        }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, width, slot_cols, slot_vals, rest } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let slot_vals = slot_vals.get();
        let vals = rest.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            width: *width,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            slot_cols: Memory::Device(slot_cols),
            slot_vals: Memory::Device(&*slot_vals),
            row_ptr: Memory::Device(&rest.row_ptr),
            cols: Memory::Device(&rest.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, groups, args)
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.slot_vals, &self.rest.vals]
    }
}
