//! Which matrices cores take as slices of rows: those that gather a vector of `x` at once, and those that load its elements one by one.

use spmv_backend::{DeviceCaps, Types};
use spmv_core::{MatrixStats, RowStats};

use super::vbl::Vbl;
use crate::measured::{Bound, ON_CORES};
use crate::method::Method;

/// Entries from which cores that gather take it. The least that was measured are 100,000, which still gain a sixth in `f32`.
const WORTH_A_LAYOUT: Bound<usize> = Bound { is: 1 << 16, by: ON_CORES };
/// Mean entries of a row from which cores that gather take it. Rows of four are level or slower, in `f32` by up to a quarter: a vector then
/// has few steps. Those of five are faster.
const MORE_THAN_A_FEW: Bound<f64> = Bound { is: 4.5, by: ON_CORES };
/// Short rows among which some are far longer, as in circuits: the mean below which rows are short, and the multiple of it from which one is
/// long. Sixteen cores then take up to half as long again as by `merge_path`; two are level.
const LONG_AMONG_SHORT: Bound<[f64; 2]> = Bound { is: [8.0, 32.0], by: ON_XEON };
const ON_XEON: &str = "cargo xtask bench --suite --peers --backend cpu --algorithm auto,merge_path --precision f32,f64: docs/results/2026-11-26-xeon-cpu-suite.txt, as it was in e35e22b";

/// Entries from which cores that load take it: less is soon done, whatever the order.
const WORTH_LOADING: Bound<usize> = Bound { is: 1 << 12, by: BY_LOADS };
/// Bytes of entries up to which they do: what comes from memory waits for that, in whatever order.
const CACHED: Bound<usize> = Bound { is: 24 << 20, by: BY_LOADS };
/// Mean entries of a row from which they do: where all rows have about as many, and where not. Of shorter rows the sums are most of the work.
const FEW_LOADS: Bound<[f64; 2]> = Bound { is: [3.5, 6.0], by: BY_LOADS };
/// How much lengths of rows deviate that are about the same, over their mean.
const ABOUT_THE_SAME: f64 = 0.1;
const BY_LOADS: &str = "cargo xtask bench --peers --backend cpu --algorithm auto,merge_path,sell --precision f32,f64 --matrix FILES: docs/results/2026-11-26-cpu-epyc-cached.txt";

/// Why, if they do.
pub(super) fn suits(stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
    let RowStats { nnz, mean, max, std_dev, .. } = stats.rows;
    let [short, multiple] = LONG_AMONG_SHORT.is;
    let is_uneven = max as f64 >= multiple * mean;
    if caps.gathers.contains_each(types) {
        let is_mixed = mean < short && is_uneven;
        return (nnz >= WORTH_A_LAYOUT.is && mean >= MORE_THAN_A_FEW.is && !is_mixed).then_some(
            "entries stand in the order in which vectors read them, and a vector of x is gathered at once",
        );
    }
    let [of_same, of_others] = FEW_LOADS.is;
    let least = if std_dev <= ABOUT_THE_SAME * mean { of_same } else { of_others };
    let is_cached = nnz.saturating_mul(types.value.bytes() + size_of::<u32>()) <= CACHED.is;
    let pays = nnz >= WORTH_LOADING.is && is_cached && mean >= least && !is_uneven;
    // Without masked loads nothing was measured. Long runs share a column elsewhere.
    let is_known = caps.masked_loads.contains_each(types) && Vbl.suits(stats, types, caps).is_none();
    (pays && is_known)
        .then_some("entries stand in the order in which vectors read them, eight rows at a time")
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
        let with_row = |caps: &DeviceCaps, max, nnz: usize, mean: f64, value| {
            let n_rows = (nnz as f64 / mean) as usize;
            let rows = RowStats { n_rows, n_cols: n_rows, nnz, mean, max, ..RowStats::default() };
            plan(&rows, value, caps, None, &Options::default()).unwrap().algorithm
        };
        let taken = |caps: &DeviceCaps, nnz, mean, value| with_row(caps, 30, nnz, mean, value);
        assert_eq!(
            taken(&caps, 1 << 20, 16.0, Dtype::F32),
            Algorithm::MergePath,
            "neither gathers nor vectors"
        );
        caps.gathers = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        let of = |nnz, mean, value| taken(&caps, nnz, mean, value);
        assert_eq!([Dtype::F32, Dtype::F64].map(|value| of(1 << 20, 16.0, value)), [Algorithm::Sell; 2]);
        assert_eq!(
            [5.0, 4.0].map(|mean| of(1 << 20, mean, Dtype::F32)),
            [Algorithm::Sell, Algorithm::MergePath]
        );
        assert_eq!(of(1 << 15, 16.0, Dtype::F32), Algorithm::MergePath, "a small matrix");
        let circuits = [5.0, 9.0].map(|mean| with_row(&caps, 1000, 1 << 20, mean, Dtype::F32));
        assert_eq!(circuits, [Algorithm::MergePath, Algorithm::Sell], "a long row among short ones");
        assert_eq!(of(1 << 20, 16.0, Dtype::F16), Algorithm::MergePath, "read one after another");
    }

    #[test]
    fn cores_that_load_take_it_for_matrices_in_caches_whose_rows_are_alike() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        (caps.tasks, caps.masked_loads) = (true, DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64));
        let taken = |nnz: usize, mean: f64, std_dev, max| {
            let n_rows = (nnz as f64 / mean) as usize;
            let rows = RowStats { n_rows, n_cols: n_rows, nnz, mean, std_dev, max, ..RowStats::default() };
            suits(&MatrixStats::from(&rows), Types::of(Dtype::F64), &caps).is_some()
        };
        assert!(
            taken(100_000, 13.0, 4.0, 30) && taken(100_000, 4.0, 0.2, 5) && taken(1 << 21, 13.0, 4.0, 30)
        );
        assert!(!taken(100_000, 4.0, 1.0, 7), "short rows of different lengths");
        assert!(!taken(100_000, 13.0, 40.0, 900), "some long rows");
        assert!(!taken(1 << 22, 13.0, 4.0, 30), "from memory");
        assert!(!taken(1000, 13.0, 4.0, 30), "a small matrix");
    }
}
