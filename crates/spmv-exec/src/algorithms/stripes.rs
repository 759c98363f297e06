//! Rows cut where stripes of columns begin, and their parts laid out stripe by stripe as `sell` lays out rows: what runs at a time then reads
//! a part of `x` that caches near it hold. The sums of each row's parts are added afterwards.

use std::sync::Arc;

use num_traits::{One, Zero};
use spmv_backend::arguments::StripeSums;
use spmv_backend::{Backend, DeviceCaps, DeviceKind, KernelId, KernelSpec, Memory, Types};
use spmv_core::format::Cost;
use spmv_core::{CsrView, MatrixStats, RowStats, Runs, Tiling, Value};

use super::sell::{self, Sell};
use crate::carries::{self, Pieces};
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run, Scaling};
use crate::method::{Effort, Facts, Launch, Method, Repair, Storage};
use crate::part::{Build, Layout, Prepare, Runner, Span};
use crate::slices::{Columns, Cut, Slices};
use crate::measured::{Bound, STRIPES};
use crate::tilings::{B, Of, On, Row, S, T, W};
use crate::values::Values;

const AS_PARTS: &str = "as where bunches are parts of subgroups; not measured";
/// Mean entries of a row in a stripe, and bytes of x, from which it is taken.
const ON_GPUS: Bound<(f64, usize)> = Bound { is: (8.0, 640 << 10), by: STRIPES };
/// The same on cores, of which more memory is near: mean entries, and bytes of x.
const ON_CORES: Bound<[(f64, usize); 2]> = Bound {
    is: [(8.0, 16 << 20), (32.0, 2 << 20)],
    by: "cargo xtask bench --matrix rail4284 lp-wide-1e7 lp-wide-1e8 --backend cpu --algorithm merge_path,sell,stripes --precision f32,f64: docs/results/2026-11-25-cpu-stripes.txt",
};
/// Mean entries of a run up to which columns are scattered: those of longer runs come in whole lines anyway.
const SCATTERED: Bound<f64> = Bound { is: 3.0, by: STRIPES };

pub(crate) struct Stripes;

/// Its main kernel is that of `sell`.
impl Method for Stripes {
    fn facts(&self) -> &'static Facts {
        const { &sell::facts_of_blocks("stripes") }
    }

    fn tilings(&self) -> &'static [Row] {
        &[
            Row {
                on: On::Tasks,
                t: T::Is(1),
                w: W::Is(1),
                s: S::Tasks(Of::Slices),
                b: B::OfSlices,
                by: "a lane a row; not measured",
            },
            Row { on: On::PartsOfSubgroups, t: T::OfParts, w: W::Is(1), s: S::One, b: B::LanesIfLimits(512, 256), by: STRIPES },
            Row { on: On::Subgroups, t: T::OfParts, w: W::Is(1), s: S::One, b: B::Lanes(128), by: AS_PARTS },
            Row { on: On::Workgroups, t: T::OfParts, w: W::Is(1), s: S::One, b: B::Lanes(128), by: AS_PARTS },
        ]
    }

    fn suits(&self, stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let rows = &stats.rows;
        let of_a_part = rows.nnz as f64 / Columns::n_parts(rows).max(1) as f64;
        // A `c64` counts as an `f64`: by its 16 bytes matrices whose rows lie near the diagonal were taken, of which a cache holds x anyway.
        let of_x = rows.n_cols.saturating_mul(types.vector.bytes().min(size_of::<f64>()));
        let is_scattered = stats.runs.is_some_and(|runs| runs.mean(Runs::MOST) <= SCATTERED.is);
        let pays = |(entries, bytes): &(f64, usize)| of_a_part >= *entries && of_x >= *bytes;
        let does_pay = match caps.kind {
            // Elsewhere lanes of slices are read one after another.
            DeviceKind::Cpu if caps.host_pointers && caps.masked_loads.contains_each(types) => ON_CORES.is.iter().any(pays),
            DeviceKind::DiscreteGpu => pays(&ON_GPUS.is),
            _ => false,
        };
        (is_scattered && does_pay)
            .then_some("rows have several entries in every stripe of columns, and caches hold what that reads of x")
    }

    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        Sell.check(kernel, caps)
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        vec![KernelSpec { id: KernelId::StripeSums, ..carries::kernel(kernel, caps) }]
    }

    /// A part of a row ends in a step of its own, of which half is padding.
    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let (value, tiling) = (kernel.types.value, &kernel.tiling);
        let RowStats { n_rows, nnz, .. } = stats.rows;
        let n_parts = Columns::n_parts(&stats.rows) as u64;
        let [n_rows, nnz, of_value] = [n_rows, nnz, value.bytes()].map(|n| n as u64);
        let of_a_step = u64::from(tiling.lanes()) * u64::from(tiling.width());
        let slots = nnz + n_parts * of_a_step / 2;
        let of_a_part = 4 + 4 + 16 * u64::from(tiling.lanes()) / u64::from(tiling.slice_lanes());
        let bytes = slots * (of_value + 2) + n_parts * of_a_part + 4 * n_rows;
        Storage::Own(Cost::of(stats.rows.n_rows, stats.rows.nnz, value, bytes, slots))
    }

    /// There are no more parts of rows than entries, and for each a sum. A stripe pads two slices of its longest part at most: the last one,
    /// and what each slice's first part has more than the last.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let (columns, lanes) = (Columns::of(launch.rows.n_cols), launch.tiling().lanes() as usize);
        let RowStats { max, n_cols, .. } = *launch.rows;
        // A row that has a column more than once may have more entries in a stripe than that has columns.
        let in_a_stripe = if max > n_cols { max } else { max.min(columns.width()) };
        let of_longest = in_a_stripe.div_ceil(lanes);
        let padding = 2 * (columns.n_stripes() as u64).saturating_mul(of_longest as u64);
        let (entries, parts) = sell::limits(launch, padding);
        (entries.min(parts).min(launch.sums()).max(1), launch.marks().min(launch.groups()))
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        Sell.loop_rows(tiling, steps).min(steps / 4)
    }

    fn loop_steps(&self, tiling: &Tiling, search: u64) -> u64 {
        Sell.loop_steps(tiling, search)
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let (tiling, rows) = (launch.tiling(), launch.rows);
        let lanes_of_parts = Columns::n_parts(rows) as f64 * f64::from(tiling.lanes());
        let of_a_row = rows.max.min(Columns::of(rows.n_cols).width());
        Effort {
            slots: stats.rows.nnz as f64 + lanes_of_parts / 2.0,
            longest: of_a_row as f64 / f64::from(tiling.slice_lanes()),
            groups: lanes_of_parts / f64::from(tiling.slice_lanes()) / f64::from(tiling.slices(0, u32::MAX).end),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    parts: sell::Held<B>,
    n_parts: usize,
    add: Compiled<B>,
    rows: B::Buffer,
}

/// With the sum of each part.
#[derive(Debug)]
struct OfParts<B: Backend> {
    state: Arc<State<B>>,
    pieces: Pieces<B>,
    sums: B::Buffer,
}

impl Build for Stripes {
    type Made<B: Backend> = Arc<State<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let columns = Columns::of(a.n_cols());
        let cut = Cut::of(a, columns);
        let n_parts = cut.n_parts();
        let of_parts = cut.parts(a);
        let shape = sell::shape(to.device.caps(), &to.kernel);
        let slices = || Slices::by_stripes(of_parts, shape, columns);
        let span = Span { row_base: 0, n_rows: n_parts as u32, nnz: to.span.nnz, continues: false };
        Ok(Arc::new(State {
            span: to.span,
            parts: sell::Held::copy(to, of_parts, &slices, span)?,
            n_parts,
            add: to.helper(KernelId::StripeSums)?,
            rows: to.copy(&cut.rows)?,
        }))
    }
}

impl<B: Backend, V: Value> Layout<B, V> for Arc<State<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, V>>> {
        let (pieces, sums) = (self.parts.pieces::<V>(device)?, device.scratch::<V::Accum>(self.n_parts)?);
        Ok(Box::new(OfParts { state: Arc::clone(self), pieces, sums }))
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.parts.vals]
    }
}

impl<B: Backend, V: Value> Runner<B, V> for OfParts<B> {
    fn stage1(&self, run: &Run<'_, B, V>) -> Result<()> {
        let State { span, parts, add, rows, .. } = &*self.state;
        let (y, scaling) = (Memory::Device(&self.sums), Scaling::new(V::Accum::one(), V::Accum::zero()));
        parts.launch(&Run { y, z: None, scaling, ..*run }, &self.pieces)?;
        let groups = span.n_rows.div_ceil(add.spec.tiling.bunches());
        let args = StripeSums {
            n_rows: span.n_rows,
            row_base: span.row_base,
            finish: span.finish(run),
            row_ptr: Memory::Device(rows),
            sums: Memory::Device(&self.sums),
            y: run.y,
        };
        run.start(add, groups, args)
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Dtype;
    use proptest::prelude::*;
    use spmv_backend::{DtypeSet, Lanes, MemoryModel};

    use super::super::sell::tests::first_part;
    use super::*;
    use crate::algorithms::Algorithm;
    use crate::options::Options;
    use crate::plan::plan;

    fn h200() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        (caps.compute_units, caps.subgroup, caps.cross_block_reduction) = (132, Some((1, 32)), true);
        (caps.max_group, caps.max_groups, caps.max_buffer_bytes) = (1024, u32::MAX, 1 << 40);
        caps
    }

    #[test]
    fn long_rows_of_scattered_columns_are_taken_where_x_is_large() {
        let planned_for = |dtype: Dtype, n_rows: usize, n_cols: usize, mean: usize, run: u32| {
            let cols: Vec<u32> = (0..1000).map(|at| at / run * 10 + at % run).collect();
            let rows = RowStats { n_rows, n_cols, nnz: n_rows * mean, mean: mean as f64, max: 2 * mean, ..RowStats::default() };
            let stats = MatrixStats { runs: Some(Runs::of(&cols)), ..MatrixStats::from(&rows) };
            let plan = plan(stats, dtype, &h200(), None, &Options::default()).unwrap();
            (plan.algorithm, plan.kernel.tiling.lanes())
        };
        let planned = |n_rows, n_cols, mean, run| planned_for(Dtype::F32, n_rows, n_cols, mean, run);
        assert_eq!(planned_for(Dtype::C64, 62_451, 62_451, 65, 1).0, Algorithm::Sell, "cant^T");
        assert_eq!(planned_for(Dtype::C64, 4284, 1_096_894, 2633, 1).0, Algorithm::Stripes);
        let taken = |lanes| (Algorithm::Stripes, lanes);
        assert_eq!(planned(4284, 1_096_894, 2633, 1), taken(2));
        assert_eq!(planned(500, 300_000, 2000, 1), taken(8), "fewer parts of more lanes");
        let others = [(4284, 1_096_894, 2633, 4), (4284, 1_096_894, 300, 1), (4284, 100_000, 2633, 1), (1 << 20, 1 << 20, 16, 1)];
        for (n_rows, n_cols, mean, run) in others {
            assert_eq!(planned(n_rows, n_cols, mean, run).0, Algorithm::Sell, "{n_cols} columns, {mean} a row, runs of {run}");
        }
    }

    #[test]
    fn on_cores_x_is_larger_or_parts_are_longer() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        caps.host_pointers = true;
        caps.masked_loads = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        let suits = |n_cols: usize, mean: usize, value| {
            let rows = RowStats { n_rows: 2000, n_cols, nnz: 2000 * mean, mean: mean as f64, ..RowStats::default() };
            let stats = MatrixStats { runs: Some(Runs::of(&[1, 5, 9])), ..MatrixStats::from(&rows) };
            Stripes.suits(&stats, Types::of(value), &caps).is_some()
        };
        assert!(suits(10_000_000, 21_457, Dtype::F32) && suits(1_000_000, 6079, Dtype::F32));
        assert!(suits(2_200_000, 5300, Dtype::F64) && !suits(1_096_894, 2633, Dtype::F64), "16 MiB, and less");
        assert!(!suits(100_000, 6079, Dtype::F64) && !suits(10_000_000, 300, Dtype::F64));
        assert!(!suits(10_000_000, 21_457, Dtype::F16), "lanes would be read one after another");
    }

    #[test]
    fn a_row_may_have_a_column_more_than_once() {
        let mask = spmv_cpu::Mask { discrete: true, max_buffer_bytes: Some(2400), ..Default::default() };
        let cpu = spmv_cpu::Cpu::open(spmv_cpu::Options { mask, ..Default::default() }).unwrap();
        let device = crate::Device::new(cpu).unwrap();
        let rows = [3, 2, 1, 79, 47].map(|len| std::iter::repeat_n((0, 1.0f32), len));
        let a: spmv_core::Csr<f32> = spmv_core::Csr::from_rows(1, rows).unwrap();
        let tiling = Some(Tiling::new(1, 1, 1, 32).unwrap());
        let options = crate::Options { algorithm: crate::Algorithm::Stripes, tiling, ..Default::default() };
        // In pieces, each of which fits.
        device.prepare(a.view(), &options).unwrap();
    }

    proptest! {
        #[test]
        fn a_part_fits_the_buffers(
            lens in prop::collection::vec(prop_oneof![8 => 0usize..6, 1 => 0usize..90, 1 => 0usize..900], 1..300),
            n_cols in prop_oneof![Just(2000u32), 1u32..50],
            log2_lanes in 0u32..=5,
            width in 1u32..=4,
            max_buffer_bytes in 2400u64..100_000,
        ) {
            let tiling = Tiling::new(1 << log2_lanes, width, 1, 32 >> log2_lanes).unwrap();
            let kernel = KernelSpec::new(KernelId::Sell, Dtype::F32, Lanes::Workgroup, tiling);
            let mut caps = h200();
            caps.max_buffer_bytes = max_buffer_bytes;
            let part = first_part(&Stripes, &lens, n_cols, &kernel, &caps);
            let columns = Columns::of(part.n_cols());
            let cut = Cut::of(part.view(), columns);
            let slices = Slices::by_stripes(cut.parts(part.view()), crate::slices::Shape::of(&tiling, 132), columns).unwrap();
            let most = max_buffer_bytes as usize / 4;
            let held = [slices.n_slots(), slices.n_words(), slices.perm().len(), slices.numbers().len(), cut.rows.len()];
            prop_assert!(held.iter().all(|n| *n <= most), "{held:?} of {most}: {lens:?}");
        }
    }
}
