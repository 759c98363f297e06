//! One bunch a row.

use spmv_backend::arguments::CsrVector as Arguments;
use spmv_backend::{Backend, DeviceCaps, KernelId, Memory, Types};
use spmv_core::{CsrView, MatrixStats, Tiling, Value};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Method, bits, rows_of_bunch_steps};
use crate::part::{Build, CsrArrays, Direct, Prepare, Span, WithoutScratch};
use crate::measured::{AUTO, BY_CLASS, Bound, OPENCL, SERIAL};
use crate::tilings::{B, Of, On, Row, S, T, W, lanes_of_a_row};

/// Longest row over the mean, up to which rows count as even: a bunch that is done waits for others of its group.
pub(super) const EVEN: Bound<f64> = Bound { is: 8.0, by: AUTO };
/// Steps of the bunch with the longest row, up to which rows count as even whatever their mean: about as long as other
/// algorithms take for what they do besides.
const SHORT_STEPS: Bound<u64> = Bound { is: 16, by: AUTO };
/// Lanes of a compute unit that must have a row to take, or part of one, where rows are not cut. Below, the whole device
/// waits for a few of its units.
pub(super) const BUSY_LANES: Bound<u64> = Bound { is: 256, by: AUTO };
/// Entries of a lane that loads four at once.
const ENTRIES_IN_CHUNKS: Bound<f64> = Bound { is: 7.5, by: BY_CLASS };

pub(crate) struct CsrVector;

impl Method for CsrVector {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                row_a_lane: false,
                by_heuristic: true,
                ..Facts::of(KernelId::CsrVector, "Bell & Garland 2009, section 4.3 (vector)")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        &[
            Row {
                on: On::Tasks,
                t: T::Is(8),
                w: W::Is(1),
                s: S::Tasks(Of::BunchRows),
                b: B::One,
                by: SERIAL,
            },
            Row {
                on: On::PartsOfSubgroups,
                t: T::RowOfChunks(ENTRIES_IN_CHUNKS.is),
                w: W::Is(1),
                s: S::One,
                b: B::Lanes(128),
                by: BY_CLASS,
            },
            Row { on: On::Subgroups, t: T::Row, w: W::Is(1), s: S::One, b: B::Row(256, 128), by: OPENCL },
            Row { on: On::Workgroups, t: T::Row, w: W::Is(1), s: S::One, b: B::Row(256, 128), by: OPENCL },
        ]
    }

    /// Bunches with a row each must be done at about the same time, with a lane for every step.
    ///
    /// The bounds were measured with lanes that take an entry at a time and have four on their way, and count those. CUDA's
    /// lanes have eight on their way; a row has as many of them or half, so that it takes about as many round trips to
    /// memory, or fewer.
    fn suits(&self, stats: &MatrixStats, _: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let rows = &stats.rows;
        let lanes = u64::from(lanes_of_a_row(rows, caps));
        let fills = (rows.n_rows as u64).saturating_mul(lanes) >= u64::from(caps.compute_units) * BUSY_LANES.is;
        let is_short = rows.nnz > 0 && rows.max as u64 <= SHORT_STEPS.is * lanes;
        let is_even = is_short || (fills && rows.max as f64 <= EVEN.is * rows.mean);
        (is_even && !caps.tasks)
            .then_some("one launch; rows are so even that no bunch waits long for another")
    }

    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        (u64::MAX, launch.groups() * u64::from(launch.tiling().vector_rows(0, u32::MAX).end))
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        4 + 2 * bits(u64::from(tiling.lanes()))
    }

    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let tiling = launch.tiling();
        let rows_of_a_group = f64::from(tiling.bunches()) * f64::from(tiling.tiles());
        Effort {
            slots: launch.rows.nnz as f64,
            longest: launch.rows.max as f64 / f64::from(tiling.lanes()),
            groups: launch.rows.n_rows as f64 / rows_of_a_group,
        }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    a: CsrArrays<B>,
}

impl Build for CsrVector {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        Ok(WithoutScratch::new(State { span: to.span, kernel: to.main()?, a: to.csr(a)? }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, a } = self;
        let tiling = &kernel.spec.tiling;
        let groups = Tiling::n_row_groups(&tiling.vector_rows(0, span.n_rows), span.n_rows);
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
