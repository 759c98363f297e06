//! The products of all entries in the device's memory, then sums by row.

use std::sync::Arc;

use spmv_backend::arguments::{PcsrProducts, PcsrSums};
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Memory};
use spmv_core::{CsrView, Tiling, Value};

use super::ipcsr;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Facts, Launch, Method, Repair};
use crate::part::{Build, CsrArrays, Layout, Prepare, Runner, Span};
use crate::tilings::{B, Of, On, Row, S, T, W};

const SUITE: &str = "cargo xtask bench --suite --algorithm all: docs/results/2026-11-22-h200-cuda-auto.txt, 2026-11-22-cpu-auto.txt";

pub(crate) struct Pcsr;

impl Method for Pcsr {
    fn facts(&self) -> &'static Facts {
        const { &Facts { row_a_lane: false, ..Facts::of(KernelId::PcsrSums, "Gao et al., algorithms 2 and 3") } }
    }

    /// Both the products and the sums want tasks for all threads.
    fn tilings(&self) -> &'static [Row] {
        const BOTH: S = S::TasksOfBoth(Of::Entries, Of::LaneRows);
        &[
            Row { on: On::Tasks, t: T::Block(256), w: W::Block(16, 16), s: BOTH, b: B::One, by: SUITE },
            Row {
                on: On::PartsOfSubgroups,
                t: T::Block(128),
                w: W::Block(4, 8),
                s: S::One,
                b: B::One,
                by: SUITE,
            },
            Row { on: On::Subgroups, t: T::Block(128), w: W::Block(4, 8), s: S::One, b: B::One, by: SUITE },
            Row { on: On::Workgroups, t: T::Block(128), w: W::Block(4, 8), s: S::One, b: B::One, by: SUITE },
        ]
    }

    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        ipcsr::one_bunch(kernel, caps)
    }

    fn helpers(&self, kernel: &KernelSpec, _: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        vec![KernelSpec { id: KernelId::PcsrProducts, ..*kernel }]
    }

    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let tiling = launch.tiling();
        let lanes = launch.groups() * u64::from(tiling.group_lanes());
        let entries = lanes.saturating_mul(u64::from(tiling.width() * tiling.tiles()));
        (launch.sums().min(entries), lanes * u64::from(tiling.tiles()))
    }

    /// The entries of a group come to local memory too.
    fn loop_rows(&self, _: &Tiling, steps: u64) -> u64 {
        steps / 4
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    first: Compiled<B>,
    second: Compiled<B>,
    a: CsrArrays<B>,
}

/// With the product of every entry.
#[derive(Debug)]
struct Products<B: Backend> {
    state: Arc<State<B>>,
    products: B::Buffer,
}

impl Build for Pcsr {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let (first, second) = (to.helper(KernelId::PcsrProducts)?, to.main()?);
        Ok(Arc::new(State { span: to.span, first, second, a: to.csr(a)? }))
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let state = Arc::clone(self);
        let products = device.scratch::<T::Accum>(state.span.nnz as usize)?;
        Ok(Box::new(Products { state, products }))
    }

    fn csr(&self) -> Option<&CsrArrays<B>> {
        Some(&self.a)
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Products<B> {
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let State { span, first, second, a } = &*self.state;
        let tiling = &second.spec.tiling;
        let vals = a.vals.get();
        let products = PcsrProducts {
            nnz: span.nnz,
            tiles: tiling.tiles(),
            cols: Memory::Device(&a.cols),
            vals: Memory::Device(&*vals),
            x: run.x,
            products: Memory::Device(&self.products),
        };
        run.start(first, tiling.n_groups(span.nnz), products)?;
        let sums = PcsrSums {
            n_rows: span.n_rows,
            row_base: span.row_base,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            row_ptr: Memory::Device(&a.row_ptr),
            products: Memory::Device(&self.products),
            y: run.y,
        };
        run.start(second, span.row_groups(tiling), sums)
    }
}
