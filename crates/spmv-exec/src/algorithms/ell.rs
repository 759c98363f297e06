//! One lane a row of the ELLPACK layout.

use spmv_backend::arguments::Ell as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::format::{BySlot, Cost, Ell as Format};
use spmv_core::{CsrView, MatrixStats, RowStats, Value};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Method, Storage, rows_of_a_group, rows_of_slots};
use crate::part::{Build, Direct, Prepare, Span, WithoutScratch};
use crate::tilings::{ROW_A_LANE, Row};
use crate::values::{Order, Rows, Values};

pub(crate) struct Ell;

impl Method for Ell {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                own_layout: true,
                refuses: &["an arrow", "one long row"],
                ..Facts::of(KernelId::Ell, "Bell & Garland 2009, section 3.2")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        Storage::Own(Cost::ell(&stats.rows, value))
    }

    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        rows_of_slots(launch, launch.rows.max as u64)
    }

    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let (n_rows, longest) = (launch.rows.n_rows as f64, launch.rows.max as f64);
        Effort { slots: n_rows * longest, longest, groups: n_rows / rows_of_a_group(launch.tiling()) }
    }
}

/// The layout on the device.
#[derive(Debug)]
pub(crate) struct Slots<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    width: u32,
    cols: B::Buffer,
    pub(super) vals: Values<B>,
}

impl Build for Ell {
    type Made<B: Backend> = WithoutScratch<Slots<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let width = RowStats::of(a).max;
        let [cols, vals] = to.slots(&BySlot::padded(a.n_rows(), width), a)?;
        let vals = Values::new(vals, Order::rows(a, Rows::Slots { width })?);
        Ok(WithoutScratch::new(Slots { span: to.span, kernel: to.main()?, width: width as u32, cols, vals }))
    }
}

impl<B: Backend> Slots<B> {
    /// Copies a layout of the first entries of rows for the kernel, which need not be the main one.
    pub(super) fn copy<T: Value>(
        to: &Prepare<'_, B>,
        kernel: Compiled<B>,
        ell: &Format<T>,
        order: Order,
    ) -> Result<Self> {
        let (cols, vals) = (to.copy(ell.cols())?, to.copy(ell.vals())?);
        let vals = Values::new(vals, order);
        Ok(Self { span: to.span, kernel, width: ell.width() as u32, cols, vals })
    }
}

impl<B: Backend, T: Value> Direct<B, T> for Slots<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, width, cols, vals } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let vals = vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            width: *width,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            cols: Memory::Device(cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, groups, args)
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.vals]
    }
}
