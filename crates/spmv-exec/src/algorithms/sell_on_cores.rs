//! Which matrices cores take as slices of rows: those that gather a vector of `x` at once, and those that load its elements one by one.

use spmv_backend::{DeviceCaps, Types};
use spmv_core::{MatrixStats, RowStats, Tiling};

use super::vbl::{RUNS, Vbl, by_width};
use crate::measured::Bound;
use crate::method::Method;

/// Entries and mean entries of a row from which cores that gather take it. Few entries are soon done, and rows of two have too few steps.
const WORTH_GATHERING: Bound<(usize, f64)> = Bound { is: (1 << 10, 2.25), by: BY_GATHERS };
/// Slices that a thread should have, of those that share the work.
const SLICES_OF_A_THREAD: Bound<usize> = Bound { is: 2, by: BY_GATHERS };
/// Entries of a thread that shares it.
const ENTRIES_OF_A_THREAD: usize = 1 << 13;
const BY_GATHERS: &str = "cargo xtask bench --peers --backend cpu --algorithm auto,merge_path --precision f32,f64 --matrix FILES: docs/results/2026-11-28-xeon-cpu-cached.txt";

/// Lanes of their slices.
const LANES: usize = 8;
/// Entries from which cores that load take it: less is soon done, whatever the order.
const WORTH_LOADING: Bound<usize> = Bound { is: 1 << 12, by: BY_LOADS };
/// Bytes of entries up to which they do: of these the last cache holds a good part. What comes from memory waits for that, in whatever order.
const CACHED: Bound<usize> = Bound { is: 96 << 20, by: BY_LOADS };
/// Mean entries of a row that has some from which they do: where all rows have about as many, and where not, with x in numbers of up to four bytes
/// and in wider ones. Of shorter rows the sums are most of the work; rows without entries come last, and have no steps.
const FEW_LOADS: Bound<(f64, [f64; 2])> = Bound { is: (3.5, [4.25, 3.75]), by: BY_LOADS };
/// Slices that a thread should have of those that share the work: rows of a few slices differ in length, or are cut.
const SLICES_OF_A_LOADER: Bound<usize> = Bound { is: 24, by: BY_LOADS };
/// How much lengths of rows deviate that are about the same, over their mean.
const ABOUT_THE_SAME: f64 = 0.1;
/// The longest row over the mean one that has entries, from which some are far longer than the others.
const UNEVEN: Bound<f64> = Bound { is: 2048.0, by: BY_LOADS };
const BY_LOADS: &str = RUNS;

/// Why, if they do.
pub(super) fn suits(stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
    let RowStats { n_rows, nnz, mean, max, .. } = stats.rows;
    let threads = threads(caps, nnz);
    if caps.gathers.contains_each(types) {
        let (least, least_mean) = WORTH_GATHERING.is;
        let n_slices = n_rows.div_ceil(Tiling::MOST_SLICE_LANES as usize);
        let pays = nnz >= least && mean >= least_mean && n_slices >= threads * SLICES_OF_A_THREAD.is;
        return pays.then_some(
            "entries stand in the order in which vectors read them, and a vector of x is gathered at once",
        );
    }
    let (of_same, of_others) = FEW_LOADS.is;
    let least = if are_alike(&stats.rows) { of_same } else { by_width(types, of_others) };
    let is_cached = nnz.saturating_mul(types.value.bytes() + size_of::<u32>()) <= CACHED.is;
    let mean_held = mean_held(&stats.rows);
    let is_uneven = max as f64 >= UNEVEN.is * mean_held;
    let has_slices = n_rows.div_ceil(LANES) >= threads * SLICES_OF_A_LOADER.is;
    let pays = nnz >= WORTH_LOADING.is && is_cached && mean_held >= least && !is_uneven && has_slices;
    // Without masked loads nothing was measured. Long runs share a column elsewhere.
    let is_known = caps.masked_loads.contains_each(types) && Vbl.suits(stats, types, caps).is_none();
    (pays && is_known)
        .then_some("entries stand in the order in which vectors read them, eight rows at a time")
}

/// Whether rows are about as long.
pub(super) fn are_alike(rows: &RowStats) -> bool {
    rows.std_dev <= ABOUT_THE_SAME * rows.mean
}

/// Mean entries of a row that has some.
pub(super) fn mean_held(rows: &RowStats) -> f64 {
    rows.nnz as f64 / (rows.n_rows - rows.empty).max(1) as f64
}

/// Threads that share so many entries.
pub(super) fn threads(caps: &DeviceCaps, nnz: usize) -> usize {
    (nnz / ENTRIES_OF_A_THREAD + 1).min(caps.compute_units.max(1) as usize)
}

/// Cores that write to `y` at the same time; one on other devices, where nobody waits for lines of a cache.
pub(super) fn writers(caps: &DeviceCaps, nnz: usize) -> u32 {
    if caps.tasks {
        nnz.div_ceil(Tiling::ENTRIES_OF_A_CORE).clamp(1, caps.compute_units.max(1) as usize) as u32
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, DtypeSet, MemoryModel};
    use spmv_core::Dtype;

    use super::*;
    use crate::algorithms::Algorithm;
    use crate::options::Options;
    use crate::plan::plan;

    #[test]
    fn cores_that_gather_take_it_for_rows_of_more_than_a_few() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        let taken = |caps: &DeviceCaps, nnz: usize, mean: f64, value| {
            let n_rows = (nnz as f64 / mean) as usize;
            let rows = RowStats { n_rows, n_cols: n_rows, nnz, mean, max: 300, ..RowStats::default() };
            plan(&rows, value, caps, None, &Options::default()).unwrap().algorithm
        };
        let neither = taken(&caps, 1 << 20, 16.0, Dtype::F32);
        assert_eq!(neither, Algorithm::MergePath, "neither gathers nor vectors");
        caps.gathers = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        caps.compute_units = 16;
        let of = |nnz, mean, value| taken(&caps, nnz, mean, value);
        assert_eq!([Dtype::F32, Dtype::F64].map(|value| of(1 << 20, 16.0, value)), [Algorithm::Sell; 2]);
        assert_eq!(
            [3.0, 2.0].map(|mean| of(1 << 20, mean, Dtype::F32)),
            [Algorithm::Sell, Algorithm::MergePath]
        );
        assert_eq!(
            [2000, 1000].map(|nnz| of(nnz, 16.0, Dtype::F32)),
            [Algorithm::Sell, Algorithm::MergePath],
            "a small matrix"
        );
        assert_eq!(
            [1000.0, 2000.0].map(|mean| of(1 << 20, mean, Dtype::F32)),
            [Algorithm::Sell, Algorithm::MergePath],
            "fewer slices than threads should have"
        );
        assert_eq!(of(1 << 20, 16.0, Dtype::F16), Algorithm::MergePath, "read one after another");
    }

    #[test]
    fn cores_that_load_take_it_for_matrices_in_caches_whose_rows_are_alike() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        (caps.tasks, caps.compute_units) = (true, 2);
        caps.masked_loads = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        let taken_with = |nnz: usize, mean: f64, std_dev, max, empty| {
            let n_rows = (nnz as f64 / mean) as usize;
            let rows =
                RowStats { n_rows, n_cols: n_rows, nnz, mean, std_dev, max, empty, ..RowStats::default() };
            suits(&MatrixStats::from(&rows), Types::of(Dtype::F64), &caps).is_some()
        };
        let taken = |nnz, mean, std_dev, max| taken_with(nnz, mean, std_dev, max, 0);
        assert!(
            taken(100_000, 13.0, 4.0, 30) && taken(100_000, 4.0, 0.2, 5) && taken(1 << 21, 13.0, 4.0, 30)
        );
        assert!(
            taken(100_000, 4.0, 1.0, 7) && !taken(100_000, 3.6, 1.0, 7),
            "short rows of different lengths"
        );
        assert!(!taken(100_000, 350.0, 300.0, 2500), "few slices");
        assert!(taken_with(100_000, 4.0, 5.0, 40, 15_000), "of which most have none");
        assert!(taken(100_000, 13.0, 40.0, 9000) && !taken(100_000, 13.0, 40.0, 30_000), "some long rows");
        assert!(!taken(1 << 24, 13.0, 4.0, 30), "from memory");
        assert!(!taken(1000, 13.0, 4.0, 30), "a small matrix");
    }
}
