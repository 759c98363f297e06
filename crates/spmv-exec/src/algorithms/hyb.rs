//! One lane a row of the first entries of all rows, then the other entries with a row number each.

use std::sync::Arc;

use num_traits::One;
use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec};
use spmv_core::format::{Cost, Hyb as Format};
use spmv_core::{CsrView, Dtype, HybShape, MatrixStats, Offset, RowStats, Tiling, Value};

use super::coo::{self, Coo};
use super::ell::{self, Ell};
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Run, Scaling, finish};
use crate::method::{
    Effort, Facts, HALF, Launch, Method, Repair, Storage, Sums, entries_of_a_group, rows_of_a_group,
};
use crate::part::{ANY_BLOW_UP, Build, Direct, Layout, Prepare, Runner, Span};
use crate::tilings::Row;
use crate::values::{Order, Values};

/// Slots of the ELL part over its entries, at most; and how many of them are taken to take as long as one of the COO part. Both
/// are what the width of the ELL part is chosen by ([`HybShape`]).
const ELL_OVER_COO: u64 = 3;

pub(crate) struct Hyb;

/// Its kernels are those of `ell` and `coo`. The latter is the main one, since all four numbers of a tiling matter to it. In
/// profiles it has a name of its own: neither's time for a slot is that of both together.
impl Method for Hyb {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                rates: "hyb",
                sums: Sums::Joined,
                row_a_lane: false,
                own_layout: true,
                ..Facts::of(KernelId::Coo, "Bell & Garland 2009, sections 3.5 and 4.5")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        Coo.tilings()
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, repair: Repair) -> Vec<KernelSpec> {
        let mut helpers = Coo.helpers(kernel, caps, repair);
        helpers.push(KernelSpec { id: Ell.facts().kernel, ..*kernel });
        helpers
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        let of_shape = |shape: HybShape| Storage::Own(cost(&stats.rows, &shape, value));
        stats.hyb.map_or(Storage::Unknown, of_shape)
    }

    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let (entries, rows) = Coo.limits(launch);
        let slots = launch.entries().min(HALF);
        (entries.min(slots / ELL_OVER_COO), rows.min(launch.lane_rows()))
    }

    /// A lane may be the only one for a long row of the ELL part, too.
    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        Coo.loop_rows(tiling, steps).min(steps / 2)
    }

    fn loop_steps(&self, tiling: &Tiling, search: u64) -> u64 {
        Coo.loop_steps(tiling, search)
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let n_rows = launch.rows.n_rows as f64;
        let HybShape { width, rest } = stats.hyb.unwrap_or_default();
        let (width, rest) = (width as f64, rest as f64);
        let of_ell = if width > 0.0 { n_rows / rows_of_a_group(launch.tiling()) } else { 0.0 };
        Effort {
            slots: n_rows * width + rest * ELL_OVER_COO as f64,
            longest: width,
            groups: of_ell.max(rest / entries_of_a_group(launch.tiling())),
        }
    }
}

/// Without an ELL part, what `coo` takes.
fn cost(rows: &RowStats, shape: &HybShape, value: Dtype) -> Cost {
    if shape.width == 0 { coo::cost(rows, value) } else { Cost::hyb(rows, shape, value) }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    /// Where it has a width: else the other part stores every row.
    ell: Option<ell::Slots<B>>,
    coo: coo::Slots<B>,
}

/// With a sum for each bunch of the COO part.
#[derive(Debug)]
struct Carrying<B: Backend> {
    state: Arc<State<B>>,
    carries: B::Buffer,
}

impl Build for Hyb {
    type Made<B: Backend> = Arc<State<B>>;

    fn cost<T: Value, O: Offset>(a: CsrView<'_, T, O>, _: usize) -> Option<Cost> {
        Some(cost(&RowStats::of(a), &HybShape::of(a), T::DTYPE))
    }

    /// The width of the ELL part is that of the piece, since it must be worth a launch of its own.
    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let hyb = Format::from_csr(a, ANY_BLOW_UP)?;
        let [in_slots, after_slots] = Order::by_slots(a, hyb.ell().width())?;
        let has_ell = hyb.ell().width() > 0;
        let of_ell = || ell::Slots::copy(to, to.helper(Ell.facts().kernel)?, hyb.ell(), in_slots);
        let ell = has_ell.then(of_ell).transpose()?;
        let others = (!has_ell).then(|| coo::empty_rows(a)).into_iter().flatten();
        let coo = coo::Slots::copy(to, hyb.coo(), after_slots, others)?;
        Ok(Arc::new(State { span: to.span, ell, coo }))
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let carries = self.coo.carries::<T>(device)?;
        Ok(Box::new(Carrying { state: Arc::clone(self), carries }))
    }

    fn finishes_rows(&self) -> bool {
        self.ell.is_none()
    }

    fn values(&self) -> Vec<&Values<B>> {
        self.ell.iter().map(|ell| &ell.vals).chain([&self.coo.vals]).collect()
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Carrying<B> {
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let State { span, ell, coo } = &*self.state;
        let Some(ell) = ell else { return coo.launch(run, span, span.finish(run), &self.carries) };
        ell.launch(run)?;
        // Every row is scaled by now.
        let added = Scaling { beta: T::Accum::one(), bounds: None, ..run.scaling };
        coo.launch(run, span, finish(run.device, added, None), &self.carries)
    }
}
