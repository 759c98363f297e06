//! One lane a row.

use spmv_backend::arguments::CsrScalar as Arguments;
use spmv_backend::{Backend, KernelId, Memory};
use spmv_core::{CsrView, Value};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Facts, Method};
use crate::part::{Build, CsrArrays, Direct, Prepare, Span, WithoutScratch};
use crate::tilings::{ROW_A_LANE, Row};

pub(crate) struct CsrScalar;

impl Method for CsrScalar {
    fn facts(&self) -> &'static Facts {
        const { &Facts::of(KernelId::CsrScalar, "Bell & Garland 2009, section 4.3 (scalar)") }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    a: CsrArrays<B>,
}

impl Build for CsrScalar {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        Ok(WithoutScratch::new(State { span: to.span, kernel: to.main()?, a: to.csr(a)? }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, a } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let vals = a.vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            row_ptr: Memory::Device(&a.row_ptr),
            cols: Memory::Device(&a.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, groups, args)
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        Some(&self.a)
    }
}
