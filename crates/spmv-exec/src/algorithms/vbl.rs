//! One lane a row of runs: entries in consecutive columns, of which the first column is kept.

use std::ops::Range;

use spmv_backend::arguments::Vbl as Arguments;
use spmv_backend::{Backend, DeviceCaps, Error as DeviceError, KernelId, KernelSpec, Memory, Types};
use spmv_core::format::Cost;
use spmv_core::{CsrView, Dtype, MatrixStats, RowStats, Runs, Tiling, Value, parts};

use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Facts, Method, Storage};
use crate::part::{Build, Direct, Prepare, Span, WithoutScratch};
use crate::runs;
use crate::measured::Bound;
use crate::tilings::{ROW_A_LANE, Row};
use crate::values::{Order, Values};

/// Columns that the word of a run numbers.
const MOST_COLS: usize = 1 << (u32::BITS - Runs::LEN_BITS);
/// Entries of a thread that finds runs, at least.
const OF_A_THREAD: usize = 1 << 18;

/// Entries of a mean run from which cores take what caches hold: where x has numbers of up to four bytes, and where they are wider. A run costs
/// what two to three single entries do, more where lengths of runs differ.
const LONG_RUNS: Bound<[f64; 2]> = Bound { is: [4.2, 5.5], by: RUNS };
/// Nonzeros, and entries of a mean run, from which they take what caches do not hold: there fewer bytes count.
const FROM_MEMORY: Bound<(usize, f64)> = Bound { is: (3 << 20, 2.0), by: RUNS };
pub(super) const RUNS: &str = "cargo xtask bench --backend cpu --algorithm merge_path,sell,vbl --precision f32,f64 --suite --matrix CLASSES FILES: docs/results/2026-11-30-cpu-epyc-choices.txt";
/// Parts of the matrix, none of which a row may exceed: rows are not cut, so a longer one would keep the other threads waiting.
const LEAST_ROWS: usize = 1000;

/// A word for each run, two for each row, and all values.
pub(super) fn storage_of_runs(stats: &MatrixStats, value: Dtype) -> Storage {
    let RowStats { n_rows, nnz, .. } = stats.rows;
    let n_runs = nnz as f64 / mean_run(stats);
    let bytes = nnz as u64 * value.bytes() as u64 + 8 * (n_rows as u64 + 1) + 4 * n_runs as u64;
    Storage::Own(Cost::of(n_rows, nnz, value, bytes, nnz as u64))
}

fn mean_run(stats: &MatrixStats) -> f64 {
    stats.runs.map_or(1.0, |runs| runs.mean(Runs::LONGEST))
}

/// The first where x has numbers of up to four bytes, the other where they are wider.
pub(super) fn by_width(types: Types, [narrow, wide]: [f64; 2]) -> f64 {
    if types.vector.bytes() <= size_of::<f32>() { narrow } else { wide }
}

pub(crate) struct Vbl;

impl Method for Vbl {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                own_layout: true,
                by_heuristic: true,
                on_cores: true,
                ..Facts::of(KernelId::Vbl, "Pinar & Heath 1999, section 3 (1D-VBL)")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    fn suits(&self, stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let RowStats { nnz, max, n_cols, .. } = stats.rows;
        let is_even = max.saturating_mul(LEAST_ROWS) <= nnz && n_cols <= MOST_COLS;
        let (run, (many, least)) = (mean_run(stats), FROM_MEMORY.is);
        let has_runs = run >= by_width(types, LONG_RUNS.is) || nnz >= many && run >= least;
        (caps.masked_loads.contains_each(types) && is_even && has_runs)
            .then_some("entries in consecutive columns share a column, and are read at once")
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        storage_of_runs(stats, kernel.types.value)
    }

    /// Each entry may be a run of its own, which takes an iteration besides.
    fn loop_rows(&self, _: &Tiling, steps: u64) -> u64 {
        steps / 4
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    row_ptr: B::Buffer,
    run_ptr: B::Buffer,
    runs: B::Buffer,
    vals: Values<B>,
}

impl Build for Vbl {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        if a.n_cols() > MOST_COLS {
            let what = format!("runs in {} columns (at most {MOST_COLS})", a.n_cols());
            let name = &*to.device.caps().name;
            return Err(DeviceError::unsupported(name, what, "use another algorithm").into());
        }
        let (run_ptr, runs) = runs(a);
        Ok(WithoutScratch::new(State {
            span: to.span,
            kernel: to.main()?,
            row_ptr: to.copy(a.row_ptr())?,
            run_ptr: to.copy(&run_ptr)?,
            runs: to.copy(&runs)?,
            vals: Values::new(to.copy(a.vals())?, Order::Csr),
        }))
    }
}

/// The first run of each row, and the end; of each run eight times its first column, plus how many entries it has less than eight.
/// O(entries + rows) on all threads.
fn runs<T: Value>(a: CsrView<'_, T, u32>) -> (Vec<u32>, Vec<u32>) {
    let n_rows = a.n_rows();
    let of_rows = |rows: Range<usize>| {
        let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            let of_row = runs::of_row(&a.cols()[a.row_range(row)]);
            all.extend(of_row.map(|(first, len)| (first << Runs::LEN_BITS) + (Runs::LONGEST - len) as u32));
            ends.push(all.len() as u32);
        }
        (all, ends)
    };
    let of_threads = parts::cut(n_rows, parts::threads(a.nnz().max(n_rows), OF_A_THREAD));
    let (mut all, mut run_ptr) = (Vec::new(), Vec::with_capacity(n_rows + 1));
    run_ptr.push(0);
    for (runs, ends) in parts::map(of_threads, of_rows) {
        let n_before = all.len() as u32;
        run_ptr.extend(ends.iter().map(|end| n_before + end));
        all.extend(runs);
    }
    (run_ptr, all)
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, row_ptr, run_ptr, runs, vals } = self;
        let tiling = &kernel.spec.tiling;
        let groups = span.row_groups(tiling);
        let vals = vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            row_ptr: Memory::Device(row_ptr),
            run_ptr: Memory::Device(run_ptr),
            runs: Memory::Device(runs),
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

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, DtypeSet, MemoryModel};
    use spmv_core::{Csr, Dtype};

    use super::*;

    #[test]
    fn a_run_has_at_most_eight_entries_of_one_row() {
        let rows: [Vec<u32>; 4] = [(0..10).collect(), vec![], vec![3, 4, 4, 6, 5], vec![6]];
        let rows = rows.map(|cols| cols.into_iter().map(|col| (col, 1.0f32)).collect::<Vec<_>>());
        let a = Csr::from_rows(10, rows).unwrap();
        let run = |first: u32, len: u32| 8 * first + 8 - len;
        let of = vec![run(0, 8), run(8, 2), run(3, 2), run(4, 1), run(6, 1), run(5, 1), run(6, 1)];
        assert_eq!(runs(a.view()), (vec![0, 2, 2, 6, 7], of));
    }

    #[test]
    fn cores_take_it_where_runs_are_long_and_no_row_is() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        caps.masked_loads = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        let suits_as = |value, caps: &DeviceCaps, of: u32, nnz: usize, max| {
            let cols: Vec<u32> = (0..400).flat_map(|i| (0..of).map(move |j| 10 * i + j)).collect();
            let rows = RowStats { n_rows: 10_000, n_cols: 10_000, nnz, mean: 50.0, max, ..RowStats::default() };
            let stats = MatrixStats { runs: Some(Runs::of(&cols)), ..MatrixStats::from(&rows) };
            Vbl.suits(&stats, Types::of(value), caps).is_some()
        };
        let suits = |caps: &DeviceCaps, of, nnz, max| suits_as(Dtype::F64, caps, of, nnz, max);
        assert!(suits(&caps, 3, 4_000_000, 80) && suits(&caps, 6, 500_000, 80));
        assert!(!suits(&caps, 3, 500_000, 80), "short runs that caches hold");
        assert_eq!([Dtype::F32, Dtype::F64].map(|value| suits_as(value, &caps, 5, 500_000, 80)), [true, false]);
        assert!(!suits(&caps, 1, 4_000_000, 80), "runs of one entry");
        assert!(!suits(&caps, 6, 500_000, 2000), "a long row");
        caps.masked_loads = DtypeSet::NONE;
        assert!(!suits(&caps, 6, 500_000, 80), "no masks");
    }
}
