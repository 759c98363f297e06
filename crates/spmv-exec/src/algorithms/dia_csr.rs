//! A band about the diagonal in DIA form and the rest of the rows in CSR form, in one launch.

use spmv_backend::arguments::DiaCsr as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::format::{Cost, Dia};
use spmv_core::{CsrView, MatrixStats, Offset, RowStats, Tiling, Value, regular};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Limits, Method, Storage, rows_of_a_group};
use crate::part::{Build, CsrArrays, Direct, Prepare, Span, WithoutScratch};
use crate::regular::{loop_steps, rows_of_a_part, steps};
use crate::tilings::{ROW_A_LANE, Row};
use crate::values::{Order, Values};

pub(crate) struct DiaCsr;

impl Method for DiaCsr {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                row_a_lane: false,
                own_layout: true,
                refuses: &["an arrow", "scattered entries", "one long row"],
                ..Facts::of(KernelId::DiaCsr, "Tan et al. 2019, section 3.2 (Quasi-diagonal), in one launch")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        let cost = |band: regular::Band| {
            let rest = stats.rows.nnz.saturating_sub(band.part.entries);
            Cost::dia_csr(&stats.rows, band.diagonals, rest, value)
        };
        stats.band.map_or(Storage::Unknown, |band| Storage::Own(cost(band)))
    }

    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        loop_steps(tiling)
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let (rows, tiling, band) = (launch.rows, launch.tiling(), stats.band.unwrap_or_default());
        let (n_rows, n_diags) = (rows.n_rows as f64, band.diagonals as f64);
        Effort {
            slots: n_rows * n_diags + rows.nnz.saturating_sub(band.part.entries) as f64,
            // As if the longest row had an entry on every diagonal of the band.
            longest: steps(n_diags, rows.max.saturating_sub(band.diagonals) as f64, tiling),
            groups: n_rows / rows_of_a_group(tiling),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    n_cols: u32,
    n_diags: u32,
    /// From rows to columns, in 32 bits.
    offsets: B::Buffer,
    slot_vals: Values<B>,
    rest: CsrArrays<B>,
}

impl Build for DiaCsr {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn regular_width<T: Value, O: Offset>(a: CsrView<'_, T, O>, asked: Option<usize>) -> Option<usize> {
        Some(asked.unwrap_or_else(|| regular::band(a, regular::SHARE).width))
    }

    /// As if a slot could hold every entry of the band: stored zeros and repeated entries make the rest larger.
    fn cost<T: Value, O: Offset>(a: CsrView<'_, T, O>, regular_width: usize) -> Option<Cost> {
        let n_diags = regular::diagonals(a, 0, regular_width).len();
        let rest = a.nnz() - regular::in_band(a, regular_width);
        Some(Cost::dia_csr(&RowStats::of(a), n_diags, rest, T::DTYPE))
    }

    fn rows_of_a_part(cost: Option<&Cost>, limits: &Limits, n_rows: usize, n_cols: usize) -> usize {
        // A row number plus an offset in 32 bits then stands for one column alone.
        let most = ((1u64 << 32) - n_cols as u64).max(1) as usize;
        rows_of_a_part(cost, limits, n_rows).min(most)
    }

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let (dia, rest) = Dia::split(a, to.span.row_base as usize, to.regular_width);
        // A sum of 32 bits finds the column again.
        let offsets: Vec<u32> = dia.offsets().iter().map(|offset| *offset as u32).collect();
        let [on_diagonals, off_diagonals] = Order::by_diagonals(a, dia.offsets())?;
        Ok(WithoutScratch::new(State {
            span: to.span,
            kernel: to.main()?,
            n_cols: a.n_cols() as u32,
            n_diags: offsets.len() as u32,
            offsets: to.copy(&offsets)?,
            slot_vals: Values::new(to.copy(dia.vals())?, on_diagonals),
            rest: to.rest(rest.view(), off_diagonals)?,
        }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, n_cols, n_diags, offsets, slot_vals, rest } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let slot_vals = slot_vals.get();
        let vals = rest.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            n_cols: *n_cols,
            n_diags: *n_diags,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            offsets: Memory::Device(offsets),
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
