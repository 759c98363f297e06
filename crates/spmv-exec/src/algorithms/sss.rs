//! One lane a range of rows, of whose entries one stands for itself and for the one that mirrors it.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use bytemuck::cast_slice;
use spmv_backend::arguments::{Sss as Arguments, SssSums};
use spmv_backend::{Backend, DeviceCaps, Error as DeviceError, KernelId, KernelSpec, Memory, Types};
use spmv_core::{CsrView, MatrixStats, RowStats, Tiling, Value};

use super::vbl::storage_of_runs;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Method, Repair, Storage, Sums, rows_of_slots};
use crate::mirror::{Cuts, MOST_COLS, Mirror, n_runs, unfold};
use crate::part::{Build, Layout, Prepare, Runner, Span};
use crate::measured::Bound;
use crate::tilings::{ROW_A_LANE, Row};
use crate::values::{Order, Values};

const MEASURED: &str = "cargo xtask bench --matrix sym:fem3-1e7 sym:fem6-1e7 sym:band-1e7 sym:blocks-1e7 --backend cpu --algorithm merge_path,vbl,sell,sss --precision f32,f64: docs/results/2026-11-27-cpu-symmetric.txt";
/// Nonzeros from which cores take it, entries of a mean row, and the part of the entries that others mirror. Caches hold smaller matrices, and
/// of shorter rows the second pass over sums takes what the first one saves.
const WORTH: Bound<(usize, f64, f64)> = Bound { is: (4 << 20, 16.0, 0.95), by: MEASURED };
/// Nonzeros from which it is ahead of `sell` on cores that gather fast, and bytes of a value.
const WORTH_GATHERS: Bound<(usize, usize)> = Bound { is: (32 << 20, 8), by: MEASURED };
/// Parts of the matrix, none of which a row may exceed, as in `vbl`.
const LEAST_ROWS: usize = 1000;
/// Ranges for each thread: enough that one which comes late leaves others something to do.
const RANGES_OF_A_THREAD: usize = 4;
/// Ranges of a device whose lanes take one each, and the fewest.
const RANGES_OF_LANES: Range<usize> = 16..256;
/// Sums of rows before ranges that any matrix may have.
const FEW_BEFORE: usize = 1024;
/// Numbers of a range.
const NUMBERS: usize = 3;

pub(crate) struct Sss;

impl Method for Sss {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sums: Sums::Joined,
                own_layout: true,
                by_heuristic: true,
                on_cores: true,
                ..Facts::of(KernelId::Sss, "Gkountouvas et al. 2013 (local vectors with effective ranges)")
            }
        }
    }

    fn tilings(&self) -> &'static [Row] {
        ROW_A_LANE
    }

    fn suits(&self, stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let RowStats { nnz, mean, max, n_cols, .. } = stats.rows;
        let (entries, of_a_row, of_all) = WORTH.is;
        let is_even = max.saturating_mul(LEAST_ROWS) <= nnz && n_cols <= MOST_COLS;
        let is_worth_it = nnz >= entries && mean >= of_a_row && stats.mirrored.is_some_and(|part| part >= of_all);
        let (most, bytes) = WORTH_GATHERS.is;
        let is_ahead = !caps.gathers.contains(types.vector) || nnz >= most && types.value.bytes() >= bytes;
        (caps.tasks && caps.masked_loads.contains_each(types) && is_even && is_worth_it && is_ahead)
            .then_some("the matrix is symmetric, and half of its entries are read")
    }

    fn helpers(&self, kernel: &KernelSpec, _: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        vec![KernelSpec { id: KernelId::SssSums, ..*kernel }]
    }

    /// Capacity for all entries, so that any values may be set.
    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        storage_of_runs(stats, kernel.types.value)
    }

    /// As many sums of rows before ranges as rows, at most.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let (entries, rows) = rows_of_slots(launch, 1);
        (entries, rows.min(launch.sums() / 2).max(1))
    }

    /// A lane may have all rows and entries, and as many sums to clear as rows.
    fn loop_rows(&self, _: &Tiling, steps: u64) -> u64 {
        steps / 8
    }

    /// The ranges that may have a sum of a row.
    fn loop_steps(&self, _: &Tiling, _: u64) -> u64 {
        4 + RANGES_OF_LANES.end as u64
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let (nnz, caps) = (launch.rows.nnz as f64, launch.caps);
        let n_ranges = ranges(caps, launch.rows.n_rows).end as f64;
        let slots = nnz * (1.0 - stats.mirrored.unwrap_or(0.0) / 2.0);
        Effort { slots, longest: nnz / n_ranges, groups: n_ranges }
    }
}

/// How many ranges so many rows may have on a device.
fn ranges(caps: &DeviceCaps, n_rows: usize) -> Range<usize> {
    let threads = caps.compute_units as usize;
    let wanted = if caps.tasks { threads..RANGES_OF_A_THREAD * threads } else { RANGES_OF_LANES };
    let held = (caps.max_buffer_bytes / (NUMBERS * size_of::<u32>()) as u64).saturating_sub(1);
    let most = n_rows.min(held as usize).max(1);
    wanted.start.min(most)..wanted.end.min(most)
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    first: Compiled<B>,
    second: Compiled<B>,
    /// The column that belongs to the first row.
    base: usize,
    n_ranges: u32,
    /// Sums at most, whatever stands for what.
    n_sums: usize,
    arrays: RwLock<Arrays<B>>,
    vals: Values<B>,
}

/// With capacity for those of all entries.
#[derive(Debug)]
struct Arrays<B: Backend> {
    ranges: B::Buffer,
    row_ptr: B::Buffer,
    run_ptr: B::Buffer,
    runs: B::Buffer,
    /// Runs and entries, where some stand for others: then there are fewer of both than they hold.
    mirrored: Option<[usize; 2]>,
}

/// With the sums of every range.
#[derive(Debug)]
struct Ranges<B: Backend> {
    state: Arc<State<B>>,
    sums: B::Buffer,
}

impl Build for Sss {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let caps = to.device.caps();
        if a.n_cols() > MOST_COLS {
            let what = format!("mirrored runs in {} columns (at most {MOST_COLS})", a.n_cols());
            return Err(DeviceError::unsupported(&*caps.name, what, "use another algorithm").into());
        }
        // A row that began in an earlier part has columns of its own.
        let base = if to.span.continues { a.n_cols() } else { to.span.row_base as usize };
        let n_sums = (caps.max_buffer_bytes / to.kernel.types.accum.bytes() as u64) as usize;
        let most_before = FEW_BEFORE.max(a.nnz() / 4).min(n_sums.saturating_sub(a.n_rows()));
        let mirror = Mirror::new(a, &Cuts { base, ranges: ranges(caps, a.n_rows()), most_before });
        let n_runs = if mirror.leaves_out() { n_runs(a.row_ptr(), a.cols()) } else { 0 };
        let arrays = Arrays {
            ranges: to.copy(&mirror.ranges)?,
            row_ptr: to.copy(&mirror.row_ptr)?,
            run_ptr: to.copy(&mirror.run_ptr)?,
            runs: with_capacity(to, &mirror.runs, n_runs)?,
            mirrored: mirror.leaves_out().then(|| [mirror.runs.len(), mirror.n_kept()]),
        };
        let vals = if mirror.leaves_out() { kept_vals(to, &mirror, a)? } else { to.copy(a.vals())? };
        Ok(Arc::new(State {
            span: to.span,
            first: to.main()?,
            second: to.helper(KernelId::SssSums)?,
            base,
            n_ranges: mirror.n_ranges() as u32,
            n_sums: mirror.n_sums(),
            arrays: RwLock::new(arrays),
            vals: Values::new(vals, Order::Csr),
        }))
    }
}

/// A copy on the device that has the capacity for so many elements.
fn with_capacity<B: Backend, E: bytemuck::Pod>(to: &Prepare<'_, B>, elements: &[E], n: usize) -> Result<B::Buffer> {
    if n <= elements.len() {
        return to.copy(elements);
    }
    let mut buffer = to.device.scratch::<E>(n)?;
    to.device.copies(|s| to.device.backend().write(s, &mut buffer, 0, cast_slice(elements)))?;
    Ok(buffer)
}

/// Values of the entries that are kept, with capacity for all. They pass through memory that caches hold: pages that are new to a process
/// cost more than what is written to them.
fn kept_vals<B: Backend, V: Value>(
    to: &Prepare<'_, B>,
    mirror: &Mirror,
    a: CsrView<'_, V, u32>,
) -> Result<B::Buffer> {
    let mut buffer = to.device.scratch::<V>(a.nnz())?;
    let mut vals = Vec::new();
    for rows in mirror.batches() {
        let at = u64::from(mirror.row_ptr[rows.start]) * size_of::<V>() as u64;
        mirror.vals(a, rows, &mut vals);
        to.device.copies(|s| to.device.backend().write(s, &mut buffer, at, cast_slice(&vals)))?;
    }
    Ok(buffer)
}

impl<B: Backend> State<B> {
    /// Each entry stands for itself from now on: those that were left out get the values that stood for them.
    fn unfold(&self, device: &Device<B>, arrays: &mut Arrays<B>, [n_runs, n_kept]: [usize; 2]) -> Result<()> {
        let backend = device.backend();
        let of_value = self.first.spec.types.value.bytes();
        let mut vals = self.vals.get_mut();
        let mut ends = [(); 2].map(|()| vec![0u32; self.span.n_rows as usize + 1]);
        let (mut runs, mut kept) = (vec![0u32; n_runs], vec![0u8; n_kept * of_value]);
        let [row_ptr, run_ptr] = &mut ends;
        device.copies(|s| {
            backend.read(s, &arrays.row_ptr, 0, bytemuck::cast_slice_mut(row_ptr))?;
            backend.read(s, &arrays.run_ptr, 0, bytemuck::cast_slice_mut(run_ptr))?;
            backend.read(s, &arrays.runs, 0, bytemuck::cast_slice_mut(&mut runs))?;
            backend.read(s, &vals, 0, &mut kept)
        })?;
        let (row_ptr, cols, entries) = unfold(row_ptr, run_ptr, &runs, self.base);
        let plain = Mirror::plain(&row_ptr, &cols, self.n_ranges as usize);
        let all: Vec<u8> =
            entries.iter().flat_map(|entry| kept[*entry as usize * of_value..][..of_value].iter().copied()).collect();
        device.copies(|s| {
            backend.write(s, &mut arrays.ranges, 0, cast_slice(&plain.ranges))?;
            backend.write(s, &mut arrays.row_ptr, 0, cast_slice(&plain.row_ptr))?;
            backend.write(s, &mut arrays.run_ptr, 0, cast_slice(&plain.run_ptr))?;
            backend.write(s, &mut arrays.runs, 0, cast_slice(&plain.runs))?;
            backend.write(s, &mut vals, 0, &all)
        })?;
        arrays.mirrored = None;
        Ok(())
    }
}

impl<B: Backend, T: Value> Layout<B, T> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, T>>> {
        let sums = device.scratch::<T::Accum>(self.n_sums)?;
        Ok(Box::new(Ranges { state: Arc::clone(self), sums }))
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.vals]
    }

    fn forget_values(&self, device: &Device<B>) -> Result<()> {
        let mut arrays = self.arrays.write().unwrap_or_else(PoisonError::into_inner);
        arrays.mirrored.map_or(Ok(()), |of| self.unfold(device, &mut arrays, of))
    }
}

impl<B: Backend, T: Value> Runner<B, T> for Ranges<B> {
    fn stage1(&self, run: &Run<'_, B, T>) -> Result<()> {
        let State { span, first, second, n_ranges, arrays, vals, .. } = &*self.state;
        let tiling = &second.spec.tiling;
        let (arrays, vals) = (arrays.read().unwrap_or_else(PoisonError::into_inner), vals.get());
        let of_ranges = Arguments {
            row_base: span.row_base,
            n_ranges: *n_ranges,
            ranges: Memory::Device(&arrays.ranges),
            row_ptr: Memory::Device(&arrays.row_ptr),
            run_ptr: Memory::Device(&arrays.run_ptr),
            runs: Memory::Device(&arrays.runs),
            vals: Memory::Device(&*vals),
            x: run.x,
            sums: Memory::Device(&self.sums),
        };
        run.start(first, n_ranges.div_ceil(tiling.group_lanes()), of_ranges)?;
        let of_rows = SssSums {
            n_rows: span.n_rows,
            row_base: span.row_base,
            n_ranges: *n_ranges,
            tiles: tiling.tiles(),
            finish: span.finish(run),
            ranges: Memory::Device(&arrays.ranges),
            sums: Memory::Device(&self.sums),
            y: run.y,
        };
        run.start(second, span.row_groups(tiling), of_rows)
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, DtypeSet, MemoryModel};
    use spmv_core::{Csr, Dtype};
    use spmv_cpu::Cpu;

    use super::*;
    use crate::{Algorithm, Options, Prepared};

    #[test]
    fn cores_take_it_where_matrices_are_large_and_symmetric() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        (caps.tasks, caps.masked_loads) = (true, DtypeSet::NONE.with(Dtype::F64));
        let suits = |caps: &DeviceCaps, nnz: usize, mean: f64, mirrored: f64| {
            let rows = RowStats { n_rows: 100_000, n_cols: 100_000, nnz, mean, max: 80, ..RowStats::default() };
            let stats = MatrixStats { mirrored: Some(mirrored), ..MatrixStats::from(&rows) };
            Sss.suits(&stats, Types::of(Dtype::F64), caps).is_some()
        };
        assert!(suits(&caps, 5_000_000, 50.0, 1.0));
        assert!(!suits(&caps, 1_000_000, 50.0, 1.0), "caches hold it");
        assert!(!suits(&caps, 5_000_000, 5.0, 1.0), "short rows");
        assert!(!suits(&caps, 5_000_000, 50.0, 0.5), "not symmetric");
        caps.gathers = caps.masked_loads;
        assert!(!suits(&caps, 5_000_000, 50.0, 1.0) && suits(&caps, 50_000_000, 50.0, 1.0), "fast gathers");
        caps.tasks = false;
        assert!(!suits(&caps, 5_000_000, 50.0, 1.0), "a GPU");
    }

    #[test]
    fn values_that_are_not_symmetric_may_follow() {
        let of = |row: u32, col: u32| (row, col, f64::from(1 + row + col));
        let entries: Vec<_> = (0..50).flat_map(|i| [0, 3, 7].map(|by| (i, (i + by) % 50))).collect();
        let mut all: Vec<_> = entries.iter().flat_map(|(i, j)| [of(*i, *j), of(*j, *i)]).collect();
        all.sort_by_key(|(row, col, _)| (*row, *col));
        all.dedup_by_key(|(row, col, _)| (*row, *col));
        let a = Csr::from_coo(50, 50, &all).unwrap();
        let device = Device::new(Cpu::open(spmv_cpu::Options { threads: Some(2), ..Default::default() }).unwrap()).unwrap();
        let options = Options { algorithm: Algorithm::Sss, ..Options::default() };
        let mut prepared = device.prepare(a.view(), &options).unwrap();
        let x: Vec<f64> = (0..50).map(|i| f64::from(i % 5)).collect();
        let product = |prepared: &Prepared<Cpu, f64>| {
            let (mut workspace, mut y) = (prepared.workspace().unwrap(), vec![0.0; 50]);
            prepared.apply_slices(&mut workspace, 1.0, &x, 0.0, &mut y).unwrap();
            y
        };
        let expected = |a: &Csr<f64>| -> Vec<f64> {
            (0..50).map(|row| a.row(row).map(|(col, val)| val * x[col as usize]).sum()).collect()
        };
        assert_eq!(product(&prepared), expected(&a));
        let vals: Vec<f64> = (0..a.nnz()).map(|at| (at % 9) as f64).collect();
        prepared.set_values(&vals).unwrap();
        let mut at = vals.into_iter();
        assert_eq!(product(&prepared), expected(&a.map_values(|_| at.next().unwrap())));
    }
}
