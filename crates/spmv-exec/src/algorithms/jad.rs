//! One lane a row of jagged diagonals.

use spmv_backend::arguments::Jad as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::format::{BySlot, Cost};
use spmv_core::{CsrView, MatrixStats, Value};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Facts, Method, Storage};
use crate::part::{Build, Direct, Prepare, Span, WithoutScratch};
use crate::tilings::{ROW_A_LANE, Row};
use crate::values::{Order, Rows, Values};

pub(crate) struct Jad;

impl Method for Jad {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                own_layout: true,
                ..Facts::of(KernelId::Jad, "Saad 1989; Wang, Gu & Li 2017, section 2")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        Storage::Own(Cost::jad(&stats.rows, value))
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    n_jags: u32,
    perm: B::Buffer,
    jag_ptr: B::Buffer,
    cols: B::Buffer,
    vals: Values<B>,
}

impl Build for Jad {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let order = BySlot::jagged(a);
        let jag_ptr: Vec<u32> = order.ptr().iter().map(|entry| *entry as u32).collect();
        let [cols, vals] = to.slots(&order, a)?;
        Ok(WithoutScratch::new(State {
            span: to.span,
            kernel: to.main()?,
            n_jags: order.width() as u32,
            perm: to.copy(order.perm())?,
            jag_ptr: to.copy(&jag_ptr)?,
            cols,
            vals: Values::new(vals, Order::rows(a, Rows::Jagged(order))?),
        }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, n_jags, perm, jag_ptr, cols, vals } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let vals = vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            n_jags: *n_jags,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            perm: Memory::Device(perm),
            jag_ptr: Memory::Device(jag_ptr),
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
