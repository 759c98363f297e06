//! One lane a row.

use spmv_backend::arguments::CsrScalar as Arguments;
use spmv_backend::{Backend, DeviceCaps, DtypeSet, KernelId, Memory, Types};
use spmv_core::{CsrView, MatrixStats, RowStats, Value};

use super::sell_on_cores::{are_alike, mean_held, threads};
use super::vbl::Vbl;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::measured::Bound;
use crate::method::{Facts, Method};
use crate::part::{Build, CsrArrays, Direct, Prepare, Span, WithoutScratch};
use crate::tilings::{ROW_A_LANE, Row};

/// Entries that cores take between two branches of a row.
const STEP: usize = 4;
/// The share of the branches that a core remembers which those of a product may be: what runs between two products has some too.
const REMEMBERED: Bound<f64> = Bound { is: 0.8, by: ONE_BY_ONE };
/// Entries from which they take it: the fewer there are, the less it matters.
const WORTH_A_RULE: usize = 1 << 10;
/// Mean entries of a row that has some up to which cores take it: of longer rows several are better summed side by side.
const SHORT: Bound<f64> = Bound { is: 21.0, by: ONE_BY_ONE };
/// Parts of a thread's entries, none of which a row may exceed: rows are not cut.
const LEAST_ROWS: usize = 4;
const ONE_BY_ONE: &str = "cargo xtask bench --backend cpu --algorithm csr_scalar,merge_path,sell --precision f32,f64 --suite classes --max-nnz 1e6 --matrix FILES: docs/results/2026-11-30-cpu-epyc-one-by-one.txt";

pub(crate) struct CsrScalar;

impl Method for CsrScalar {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                by_heuristic: true,
                on_cores: true,
                ..Facts::of(KernelId::CsrScalar, "Bell & Garland 2009, section 4.3 (scalar)")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    /// Takes matrices with so few branches that a core remembers all of them. Where all rows are about as long these need no memory, and `sell` none.
    fn suits(&self, stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let RowStats { nnz, max, .. } = stats.rows;
        let are_short = mean_held(&stats.rows) <= SHORT.is;
        let is_even = max.saturating_mul(LEAST_ROWS * threads(caps, nnz)) <= nnz;
        let is_worth_it = nnz >= WORTH_A_RULE && !are_alike(&stats.rows);
        // Numbers of these types are added as they are. Long runs share a column elsewhere.
        let is_known = caps.masked_loads.contains_each(types) && Vbl.suits(stats, types, caps).is_none();
        (caps.tasks && are_remembered(&stats.rows, caps) && are_short && is_even && is_worth_it && is_known)
            .then_some("rows are short, and a core remembers from product to product how long each is")
    }

    /// Where rows of different lengths are forgotten it takes several times as long, which no rate says. Where other algorithms have loops without such
    /// branches, they are then faster.
    fn is_foretold(&self, stats: &MatrixStats, caps: &DeviceCaps) -> bool {
        caps.masked_loads == DtypeSet::NONE || are_alike(&stats.rows) || are_remembered(&stats.rows, caps)
    }
}

/// Whether a core remembers the branches of a thread's rows.
fn are_remembered(rows: &RowStats, caps: &DeviceCaps) -> bool {
    let RowStats { n_rows, nnz, empty, .. } = *rows;
    // Of a step each, and of what is left of a row: whether there is any, and how much.
    let n_branches = (nnz / STEP + n_rows + n_rows - empty) / threads(caps, nnz);
    n_branches as f64 <= REMEMBERED.is * f64::from(caps.remembered_branches)
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

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel};
    use spmv_core::Dtype;

    use super::*;

    #[test]
    fn cores_take_it_for_short_rows_of_all_lengths_that_they_remember() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        (caps.tasks, caps.compute_units, caps.remembered_branches) = (true, 2, 50_000);
        caps.masked_loads = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        let suits = |caps: &DeviceCaps, nnz: usize, mean: f64, std_dev, value| {
            let n_rows = (nnz as f64 / mean) as usize;
            let rows =
                RowStats { n_rows, n_cols: n_rows, nnz, mean, std_dev, max: 99, ..RowStats::default() };
            CsrScalar.suits(&MatrixStats::from(&rows), Types::of(value), caps).is_some()
        };
        let taken = |nnz, mean, std_dev, value| suits(&caps, nnz, mean, std_dev, value);
        assert!(taken(100_000, 4.0, 1.5, Dtype::F32) && taken(100_000, 12.0, 30.0, Dtype::F64));
        assert!(!taken(200_000, 4.0, 1.5, Dtype::F32), "more rows than are remembered");
        assert!(!taken(100_000, 4.0, 0.2, Dtype::F32), "rows of one length need no memory");
        assert!(!taken(100_000, 25.0, 30.0, Dtype::F64), "long rows");
        let with_row = |max| {
            let rows = RowStats { n_rows: 7000, nnz: 21_000, mean: 3.0, std_dev: 90.0, max, ..RowStats::default() };
            CsrScalar.suits(&MatrixStats::from(&rows), Types::of(Dtype::F32), &caps).is_some()
        };
        assert!(with_row(2600) && !with_row(2700), "a row that keeps a thread waiting");
        assert!(!taken(500, 4.0, 1.5, Dtype::F32), "a small matrix");
        assert!(!taken(100_000, 4.0, 1.5, Dtype::F16), "converted one by one");
        let is_foretold = |caps: &DeviceCaps, nnz: usize, std_dev| {
            let rows = RowStats { n_rows: nnz / 4, nnz, mean: 4.0, std_dev, ..RowStats::default() };
            CsrScalar.is_foretold(&MatrixStats::from(&rows), caps)
        };
        assert!(is_foretold(&caps, 100_000, 1.5) && is_foretold(&caps, 1_000_000, 0.2));
        assert!(!is_foretold(&caps, 1_000_000, 1.5), "rows that are forgotten");
        let plain = DeviceCaps::new("OpenCL on a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        assert!(is_foretold(&plain, 1_000_000, 1.5), "no other has loops without branches");
        caps.compute_units = 1;
        assert!(!suits(&caps, 100_000, 4.0, 1.5, Dtype::F32), "one thread has all rows");
        caps.remembered_branches = 0;
        assert!(!suits(&caps, 10_000, 4.0, 1.5, Dtype::F32), "not known to remember");
    }
}
