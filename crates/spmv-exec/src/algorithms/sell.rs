//! Slices of rows in the order in which lanes read them, with one column for a run of entries: SELL-C-sigma with several lanes a row, more
//! for long rows.

use std::sync::Arc;

use spmv_backend::arguments::Sell as Arguments;
use spmv_backend::{
    Backend, DeviceCaps, DeviceKind, Error as DeviceError, KernelId, KernelSpec, Memory, Types,
};
use spmv_core::format::Cost;
use spmv_core::{CsrView, MatrixStats, RowStats, Runs, Tiling, Value};

use super::sell_filled::{besides, filled, with_csr};
use super::sell_on_cores;
use crate::carries::{self, Pieces};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, HALF, Launch, Method, Repair, Storage, Sums, bits, rows_of_bunch_steps};
use crate::part::{Build, Layout, Prepare, Runner, Span};
use crate::slices::{Shape, Slices, held_of_x};
use crate::measured::BY_CLASS;
use crate::tilings::{B, Of, On, Row, S, T, W};
use crate::values::{Order, Rows, Values};

const UNMEASURED: &str = "a lane a row; not measured";
const AS_PARTS: &str = "as where bunches are parts of subgroups; not measured";

pub(crate) struct Sell;

/// Of every algorithm whose layout is slices.
const fn facts(source: &'static str) -> Facts {
    Facts {
        sums: Sums::Joined,
        row_a_lane: false,
        own_layout: true,
        by_heuristic: true,
        ..Facts::of(KernelId::Sell, source)
    }
}

/// Of those that take one block of columns after another.
pub(super) const fn facts_of_blocks(rates: &'static str) -> Facts {
    let source = "Nishtala et al. 2007 (blocks of columns that fit a cache); the layout is that of sell";
    Facts { rates, ..facts(source) }
}

impl Method for Sell {
    fn facts(&self) -> &'static Facts {
        const { &facts("Kreutzer et al. 2014, section 3; Anzt, Tomov & Dongarra 2014 (several lanes a row)") }
    }

    /// W is the entries of a run.
    fn tilings(&self) -> &'static [Row] {
        &[
            Row {
                on: On::Tasks,
                t: T::Is(1),
                w: W::Runs,
                s: S::Tasks(Of::Slices),
                b: B::OfSlices,
                by: UNMEASURED,
            },
            Row {
                on: On::PartsOfSubgroups,
                t: T::Busy(32),
                w: W::Runs,
                s: S::OfShortRows,
                b: B::LanesOfShortRows(128, 256),
                by: BY_CLASS,
            },
            Row { on: On::Subgroups, t: T::Busy(32), w: W::Runs, s: S::One, b: B::Lanes(128), by: AS_PARTS },
            Row { on: On::Workgroups, t: T::Busy(32), w: W::Runs, s: S::One, b: B::Lanes(128), by: AS_PARTS },
        ]
    }

    /// Bounds of GPUs are those of CUDA; no integrated device was measured.
    fn suits(&self, stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
        if caps.tasks {
            return sell_on_cores::suits(stats, types, caps);
        }
        (caps.kind == DeviceKind::DiscreteGpu && stats.rows.nnz > 0)
            .then_some("entries stand in the order in which lanes read them, runs have one column, and long rows are cut")
    }

    /// Lengths of runs are stored in two bits.
    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        let tiling = &kernel.tiling;
        let (what, instead) = if !Shape::holds(tiling) {
            let of = format!("slices of {} lanes for {tiling}", tiling.slice_lanes());
            (of, "use a power of two for T and a multiple of 32 lanes, or one lane")
        } else if tiling.width() as usize > Runs::MOST {
            let of = format!("runs of {} entries (at most {})", tiling.width(), Runs::MOST);
            (of, "use a tiling with a smaller W")
        } else {
            return Ok(());
        };
        Err(DeviceError::unsupported(&*caps.name, what, instead).into())
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        if caps.cross_block_reduction { vec![] } else { vec![carries::kernel(kernel, caps)] }
    }

    /// Rows of about the same length next to each other pad a little, long ones less than an eighth.
    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let (value, tiling) = (kernel.types.value, &kernel.tiling);
        let rows = &stats.rows;
        let [n_rows, nnz, of_value] = [rows.n_rows, rows.nnz, value.bytes()].map(|n| n as u64);
        let (lanes, width) = (u64::from(tiling.lanes()), u64::from(tiling.width()));
        let slice_rows = u64::from(tiling.slice_lanes()) / lanes;
        // Each row ends in a step of its own. Of the steps an eighth is padding, or rows are sorted, and each slice of these is as long as
        // the longest of the next, for the most part.
        let n_held = n_rows - rows.empty as u64;
        let steps = (slots(stats, tiling) / (lanes * width) as f64) as u64 + n_held.min(nnz);
        let longest = (rows.max as u64).div_ceil(lanes).min(short_steps(rows, tiling));
        let steps = steps + steps / 8 + slice_rows.min(n_held) * longest / 2;
        let slots = steps.min(n_rows * (rows.max as u64).div_ceil(lanes)) * lanes * width;
        // A word for each run, and of two bits for its length; a slice ends in a word of lengths of its own.
        let n_slices = n_rows.div_ceil(slice_rows);
        let words = slots / width + slots / width / 16 + n_slices * u64::from(tiling.slice_lanes()).min(lanes * n_rows);
        let bytes = slots.saturating_mul(of_value).saturating_add((words + n_rows + 4 * n_slices) * 4);
        Storage::Own(Cost::of(rows.n_rows, rows.nnz, value, bytes, slots))
    }

    /// Each row takes a step of its lanes more than its entries, at most; sorted rows pad less than a slice of the longest row and an
    /// eighth besides. Slices of long rows have at least eight steps of all lanes.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let of_longest = (launch.rows.max as u64).div_ceil(u64::from(launch.tiling().lanes()));
        limits(launch, of_longest)
    }

    /// Lanes take several steps in an iteration, and a run has a step at most.
    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps)
    }

    /// Sums over a row's lanes by halves: of a bunch, then of a slice.
    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        let [lanes, slice_lanes] = [tiling.lanes(), tiling.slice_lanes()].map(u64::from);
        4 + 2 * bits(lanes) + bits(slice_lanes / lanes)
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let (tiling, rows) = (launch.tiling(), launch.rows);
        let n_slices = rows.n_rows as f64 * f64::from(tiling.lanes()) / f64::from(tiling.slice_lanes());
        let longest = (rows.max as u64).div_ceil(u64::from(tiling.lanes())).min(short_steps(rows, tiling));
        Effort {
            slots: slots(stats, tiling),
            longest: longest as f64,
            groups: n_slices / f64::from(tiling.slices(0, u32::MAX).end),
        }
    }
}

/// Entries and rows of a launch at most, if rows pad as many steps of a slice besides an eighth.
pub(super) fn limits(launch: &Launch<'_>, padding: u64) -> (u64, u64) {
    let (tiling, slots) = (launch.tiling(), launch.entries().clamp(1, HALF));
    let (lanes, width) = (u64::from(tiling.lanes()), u64::from(tiling.width()));
    let slice_lanes = u64::from(tiling.slice_lanes());
    // Entries, and steps of rows, have four elevenths of the slots each, without what is padded: the rest is for the eighth,
    // and for the words of slices that have a part of a row.
    let share = slots.saturating_sub((slice_lanes * width).saturating_mul(padding)) / 11 * 4 / width;
    // Or no slice is longer than all entries of a part.
    let entries = share.max(slots / (slice_lanes + 4) / width);
    let slices = launch.groups() * u64::from(tiling.slices(0, u32::MAX).end) / 2;
    let rows = share.max(entries).min(slices.saturating_mul(slice_lanes)) / lanes;
    (entries.min(slices.saturating_mul(4 * slice_lanes)).max(1), rows.max(1))
}

/// Steps of a row at most that is not long, if each entry is a run.
fn short_steps(rows: &RowStats, tiling: &Tiling) -> u64 {
    let steps = rows.nnz / tiling.lanes() as usize + rows.n_rows;
    Shape::of(tiling, 1).short_steps(steps, rows.n_rows) as u64
}

/// Slots of the runs of a matrix, without what rows and slices pad.
fn slots(stats: &MatrixStats, tiling: &Tiling) -> f64 {
    let width = tiling.width();
    let of_a_run = stats.runs.map_or(1.0, |runs| runs.mean(width as usize));
    stats.rows.nnz as f64 * f64::from(width) / of_a_run
}

/// A matrix in slices, on the device.
#[derive(Debug)]
pub(crate) struct Held<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    /// Where groups do not join the slices of a row themselves, and there are such; with the rows that they carry to.
    carry_apply: Option<(Compiled<B>, B::Buffer)>,
    is_sorted: bool,
    is_kept: bool,
    n_slices: u32,
    n_long: u32,
    n_parts: u32,
    perm: B::Buffer,
    slices: B::Buffer,
    words: B::Buffer,
    pub(super) vals: Values<B>,
}

/// With a piece for each slice that has a part of a row.
#[derive(Debug)]
struct Parts<B: Backend> {
    held: Arc<Held<B>>,
    pieces: Pieces<B>,
}

impl Build for Sell {
    type Made<B: Backend> = Arc<Held<B>>;

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let (caps, of_x) = (to.device.caps(), to.kernel.types.vector.bytes());
        let shape = shape(caps, &to.kernel).written_by(sell_on_cores::writers(caps, a.nnz()));
        // Windows of long rows were measured on a GPU alone.
        let held = held_of_x(caps).filter(|_| !caps.tasks).map(|bytes| bytes as usize / of_x);
        let slices = || Slices::new(a, held.map_or(shape, |cols| shape.holding(cols)));
        Ok(Arc::new(Held::copy(to, a, &slices, to.span)?))
    }
}

/// How slices are cut.
pub(super) fn shape(caps: &DeviceCaps, kernel: &KernelSpec) -> Shape {
    Shape::of(&kernel.tiling, caps.compute_units)
}

impl<B: Backend> Held<B> {
    /// Of a matrix whose rows go where the span says; there are no slices if 32 bits do not count the slots.
    pub(super) fn copy<V: Value>(
        to: &Prepare<'_, B>,
        a: CsrView<'_, V, u32>,
        slices: &(dyn Fn() -> Option<Slices> + Sync),
        span: Span,
    ) -> Result<Self> {
        let caps = to.device.caps();
        let (csr, slices) = with_csr(to, a, slices);
        let Some(slices) = slices else {
            let what = "indices for so much padding";
            return Err(DeviceError::unsupported(&*caps.name, what, "use another algorithm").into());
        };
        let rows_of_parts = slices.rows_of_parts();
        let n_parts = rows_of_parts.len() - 1;
        // Kernels read it where rows are sorted.
        let order = if slices.is_sorted() { slices.perm() } else { &[0] };
        let mut csr = csr?;
        let [perm, numbers] = besides(&mut csr, || Ok([to.copy(order)?, to.copy(slices.numbers())?]))?;
        let [words, vals] = filled(to.device, &slices, a, csr, [&perm, &numbers])?;
        let carries_over = n_parts > 0 && !caps.cross_block_reduction;
        let carry_apply =
            carries_over.then(|| Ok::<_, Error>((to.helper(KernelId::CarryApply)?, to.copy(&rows_of_parts)?)));
        Ok(Self {
            span,
            kernel: to.main()?,
            carry_apply: carry_apply.transpose()?,
            is_sorted: slices.is_sorted(),
            is_kept: is_kept(caps, &slices, order, a),
            n_slices: slices.n_slices() as u32,
            n_long: slices.n_long() as u32,
            n_parts: n_parts as u32,
            perm,
            slices: numbers,
            words,
            vals: Values::new(vals, Order::rows(a, Rows::Slices(slices))?),
        })
    }

    /// Scratch memory of its runs.
    pub(super) fn pieces<V: Value>(&self, device: &Device<B>) -> Result<Pieces<B>> {
        Pieces::new::<V>(device, self.n_parts.max(1) as usize)
    }

    /// Starts a product into `run.y`.
    pub(super) fn launch<V: Value>(&self, run: &Run<'_, B, V>, pieces: &Pieces<B>) -> Result<()> {
        let Self { span, kernel, carry_apply, perm, slices, words, vals, .. } = self;
        let Pieces { carries, arrivals, .. } = pieces;
        let tiling = &kernel.spec.tiling;
        let groups = Tiling::n_row_groups(&tiling.slices(0, self.n_slices), self.n_slices);
        let vals = vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            n_slices: self.n_slices,
            n_long: self.n_long,
            tiles: tiling.tiles(),
            sorted: u32::from(self.is_sorted),
            keeps: u32::from(self.is_kept),
            finish: span.finish(run),
            perm: Memory::Device(perm),
            slices: Memory::Device(slices),
            words: Memory::Device(words),
            vals: Memory::Device(&*vals),
            x: run.x,
            carries: Memory::Device(carries),
            arrivals: Memory::Device(arrivals),
            y: run.y,
        };
        run.start(kernel, groups, args)?;
        match carry_apply {
            Some((carry_apply, rows)) => carries::add(run, carry_apply, span, self.n_parts, rows, carries),
            None => Ok(()),
        }
    }
}

/// Whether the cache of the device's compute units holds the matrix and both vectors, nine tenths of it.
fn is_kept<V: Value>(caps: &DeviceCaps, slices: &Slices, perm: &[u32], a: CsrView<'_, V, u32>) -> bool {
    let n_words = slices.n_words() + perm.len() + slices.numbers().len();
    let n_values = slices.n_slots() + a.n_cols();
    let bytes = n_words * size_of::<u32>() + n_values * size_of::<V>() + a.n_rows() * size_of::<V::Accum>();
    caps.cache_bytes.is_some_and(|held| bytes as u64 <= held / 10 * 9)
}

impl<B: Backend, V: Value> Layout<B, V> for Arc<Held<B>> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, V>>> {
        Ok(Box::new(Parts { held: Arc::clone(self), pieces: self.pieces::<V>(device)? }))
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.vals]
    }
}

impl<B: Backend, V: Value> Runner<B, V> for Parts<B> {
    fn reset(&mut self, backend: &B, stream: &B::Stream) -> Result<()> {
        self.pieces.reset(backend, stream)
    }

    fn stage1(&self, run: &Run<'_, B, V>) -> Result<()> {
        self.held.launch(run, &self.pieces)
    }

    #[cfg(test)]
    fn scratch(&mut self, name: &str) -> Option<&mut B::Buffer> {
        (name == "arrivals").then_some(&mut self.pieces.arrivals)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use spmv_backend::{Lanes, MemoryModel};
    use spmv_core::{Csr, Dtype, RowStats};

    use super::*;
    use crate::algorithms::Algorithm;
    use crate::options::{Layouts, Options};
    use crate::plan::plan;
    use crate::tilings::{Case, tiling};

    fn h200() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        (caps.compute_units, caps.subgroup, caps.cross_block_reduction) = (132, Some((2, 32)), true);
        caps
    }

    fn planned(n_rows: usize, value: Dtype, cols: &[u32]) -> (u32, u32) {
        let rows = &RowStats { n_rows, mean: 40.0, ..RowStats::default() };
        let (caps, runs) = (&h200(), Some(Runs::of(cols)));
        let tiling = tiling(Sell.tilings(), &Case { kernel: KernelId::Sell, rows, runs, value, caps });
        (tiling.lanes(), tiling.width())
    }

    #[test]
    fn runs_are_as_long_as_leaves_the_fewest_bytes_and_a_row_has_as_many_lanes_as_keep_the_device_busy() {
        let blocks = |of: u32| (0..100).flat_map(|i| (0..of).map(move |j| 10 * i + j)).collect::<Vec<_>>();
        let widths = |value| [1, 2, 3, 4, 6].map(|of| planned(1 << 20, value, &blocks(of)).1);
        assert_eq!(widths(Dtype::F32), [1, 2, 3, 4, 3]);
        assert_eq!(widths(Dtype::F64), [1, 2, 3, 4, 3]);
        let lanes = [1 << 20, 200_000, 60_000, 5000].map(|rows| planned(rows, Dtype::F32, &[]).0);
        assert_eq!(lanes, [1, 2, 2, 8], "the second, since a lane each would take one turn of the device and half of another");
        let uneven = |mean: f64, std_dev| {
            let rows = &RowStats { n_rows: 1 << 20, mean, std_dev, ..RowStats::default() };
            let case = Case { kernel: KernelId::Sell, rows, runs: None, value: Dtype::F32, caps: &h200() };
            tiling(Sell.tilings(), &case).lanes()
        };
        assert_eq!([uneven(26.0, 2.0), uneven(78.0, 15.0), uneven(16.0, 9.0), uneven(4.0, 2.0)], [1, 2, 4, 1]);
    }

    #[test]
    fn many_short_rows_are_taken_two_at_a_time_and_many_uneven_ones_by_a_lane() {
        let planned_on = |caps: &DeviceCaps, n_rows, mean: f64, std_dev| {
            let rows = &RowStats { n_rows, n_cols: n_rows, mean, std_dev, ..RowStats::default() };
            let case = Case { kernel: KernelId::Sell, rows, runs: None, value: Dtype::F32, caps };
            let tiling = tiling(Sell.tilings(), &case);
            (tiling.lanes(), tiling.tiles(), tiling.group_lanes())
        };
        let planned = |n_rows, mean, std_dev| planned_on(&h200(), n_rows, mean, std_dev);
        assert_eq!(planned(1_600_000, 6.1, 6.0), (1, 2, 256));
        let mut by_wgpu = h200();
        by_wgpu.bunch_barriers = false;
        assert_eq!(planned_on(&by_wgpu, 1_600_000, 6.1, 6.0), (1, 1, 256), "turns would wait for each other");
        assert_eq!(planned(400_000, 6.1, 6.0), (1, 1, 128), "fewer than four turns");
        assert_eq!(planned(1_000_000, 10.0, 10.0), (1, 1, 128), "longer rows");
        assert_eq!(planned(625_000, 16.0, 9.0), (4, 1, 128), "enough for four lanes");
        assert_eq!(planned(6_250_000, 16.0, 9.0), (2, 1, 128), "so many turns that two are enough");
        assert_eq!(planned(164_000, 6.1, 6.0), (2, 1, 128), "one turn");
    }

    #[test]
    fn rows_of_all_lanes_have_runs_of_one_entry_unless_x_is_small() {
        let runs_of_three: Vec<u32> = (0..100).flat_map(|i| (0..3).map(move |j| 10 * i + j)).collect();
        let width = |n_rows, n_cols| {
            let rows = &RowStats { n_rows, n_cols, mean: 2634.0, ..RowStats::default() };
            let (caps, runs) = (&h200(), Some(Runs::of(&runs_of_three)));
            let case = Case { kernel: KernelId::Sell, rows, runs, value: Dtype::F32, caps };
            let tiling = tiling(Sell.tilings(), &case);
            (tiling.lanes(), tiling.width())
        };
        assert_eq!([width(4284, 2000), width(4284, 1_000_000)], [(32, 3), (32, 1)]);
        assert_eq!(width(1 << 20, 1_000_000), (1, 3));
    }

    #[test]
    fn rows_have_as_many_lanes_where_subgroups_are_whole_or_there_are_none() {
        let planned = |subgroup, max_group| {
            let mut caps = h200();
            (caps.subgroup, caps.max_group) = (subgroup, max_group);
            let rows = RowStats { n_rows: 4284, nnz: 11_279_748, mean: 2633.0, ..RowStats::default() };
            let case = Case { kernel: KernelId::Sell, rows: &rows, runs: None, value: Dtype::F32, caps: &caps };
            let tiling = tiling(Sell.tilings(), &case);
            (tiling.lanes(), tiling.group_lanes())
        };
        assert_eq!([Some((2, 32)), Some((32, 32)), Some((16, 16)), None].map(|of| planned(of, 1024)), [(32, 128); 4]);
        assert_eq!([64, 1].map(|most| planned(None, most)), [(32, 64), (1, 1)]);
    }

    #[test]
    fn matrices_with_an_entry_are_taken_whatever_their_rows() {
        let rows = |n_rows, mean: usize, max| {
            let rows = RowStats { n_rows, n_cols: n_rows, nnz: n_rows * mean, mean: mean as f64, max, ..RowStats::default() };
            Sell.suits(&MatrixStats::from(&rows), Types::of(Dtype::F32), &h200()).is_some()
        };
        assert!(rows(1 << 20, 27, 27) && rows(1 << 20, 27, 300_000) && rows(1000, 27, 27));
        assert!(rows(1000, 3000, 3000) && rows(4000, 3000, 3000) && !rows(0, 0, 0));
    }

    #[test]
    fn discrete_gpus_are_enough_and_other_devices_are_not() {
        let rows = RowStats { n_rows: 1000, n_cols: 1000, nnz: 5000, mean: 5.0, max: 5, ..RowStats::default() };
        let suits = |kind, subgroup, tasks| {
            let mut caps = DeviceCaps::new("a device", kind, MemoryModel::Discrete);
            (caps.subgroup, caps.tasks) = (subgroup, tasks);
            Sell.suits(&MatrixStats::from(&rows), Types::of(Dtype::F32), &caps).is_some()
        };
        let discrete = DeviceKind::DiscreteGpu;
        assert!([None, Some((16, 16)), Some((1, 32))].iter().all(|of| suits(discrete, *of, false)));
        assert!(!suits(discrete, None, true));
        let others = [DeviceKind::Cpu, DeviceKind::IntegratedGpu, DeviceKind::Other];
        assert!(others.iter().all(|kind| !suits(*kind, Some((1, 32)), false)));
    }

    #[test]
    fn a_few_products_and_csr_alone_are_planned_without_a_layout_of_its_own() {
        let n_rows = 1 << 20;
        let rows = RowStats { n_rows, n_cols: n_rows, nnz: 27 * n_rows, mean: 27.0, max: 27, ..RowStats::default() };
        let mut caps = h200();
        (caps.max_group, caps.max_groups, caps.max_buffer_bytes) = (1024, u32::MAX, 1 << 40);
        let taken = |options: Options| plan(&rows, Dtype::F64, &caps, None, &options).unwrap().algorithm;
        let of_runs = |runs| taken(Options { expected_runs: runs, ..Options::default() });
        assert_eq!([None, Some(100_000)].map(of_runs), [Algorithm::Sell; 2]);
        assert_eq!([Some(0), Some(100)].map(of_runs), [Algorithm::CsrVector; 2]);
        assert_eq!(taken(Options { layouts: Layouts::Csr, ..Options::default() }), Algorithm::CsrVector);
        let asked = Options { algorithm: Algorithm::Sell, layouts: Layouts::Csr, ..Options::default() };
        assert_eq!(taken(asked), Algorithm::Sell);
    }

    /// The first part of a matrix with rows of those lengths, as long as its limits allow. Of many columns none follow each
    /// other, of few some come again.
    pub(in crate::algorithms) fn first_part(
        method: &dyn Method,
        lens: &[usize],
        n_cols: u32,
        kernel: &KernelSpec,
        caps: &DeviceCaps,
    ) -> Csr<f32> {
        let rows = |lens: &[usize]| {
            let entries = |len: usize| (0..len as u32).map(|i| (2 * i % n_cols, 1.0));
            Csr::from_rows(n_cols as usize, lens.iter().map(|len| entries(*len))).unwrap()
        };
        let stats = RowStats::of(rows(lens).view());
        let (most_entries, most_rows) = method.limits(&Launch { kernel, rows: &stats, caps });
        let cut = |left: &mut usize, len: &usize| {
            let len = (*len).min(*left);
            *left -= len;
            Some(len)
        };
        let part: Vec<usize> = lens.iter().take(most_rows as usize).scan(most_entries as usize, cut).collect();
        rows(&part)
    }

    proptest! {
        #[test]
        fn a_part_fits_the_buffers(
            lens in prop::collection::vec(prop_oneof![8 => 0usize..6, 1 => 0usize..90, 1 => 0usize..900], 1..300),
            log2_lanes in 0u32..=5,
            width in 1u32..=4,
            max_buffer_bytes in 2400u64..100_000,
        ) {
            let lanes = 1 << log2_lanes;
            let tiling = Tiling::new(lanes, width, 1, 32 / lanes).unwrap();
            let kernel = KernelSpec::new(KernelId::Sell, Dtype::F32, Lanes::Workgroup, tiling);
            let mut caps = h200();
            caps.max_buffer_bytes = max_buffer_bytes;
            let part = first_part(&Sell, &lens, 2000, &kernel, &caps);
            let slices = Slices::new(part.view(), Shape::of(&tiling, 132)).unwrap();
            let most = max_buffer_bytes as usize / 4;
            let held = [slices.n_slots(), slices.n_words(), slices.perm().len(), slices.numbers().len()];
            prop_assert!(held.iter().all(|n| *n <= most), "{held:?} of {most}: {lens:?}");
        }

        #[test]
        fn a_layout_takes_about_what_was_said(
            lens in prop::collection::vec(prop_oneof![8 => 0usize..6, 1 => 0usize..90], 1..300),
            log2_lanes in 0u32..=5,
            width in 1u32..=4,
        ) {
            // No columns follow each other.
            let entries = |len: usize| (0..len as u32).map(move |i| (2 * i, 1.0f64));
            let a = Csr::from_rows(200, lens.iter().map(|len| entries(*len))).unwrap();
            let lanes = 1 << log2_lanes;
            let tiling = Tiling::new(lanes, width, 1, 32 / lanes).unwrap();
            let kernel = KernelSpec::new(KernelId::Sell, Dtype::F64, Lanes::Subgroup, tiling);
            let Storage::Own(said) = Sell.storage(&MatrixStats::of(a.view()), &kernel, &h200()) else {
                return Err(TestCaseError::fail("a layout of its own"));
            };
            let slices = Slices::new(a.view(), Shape::of(&tiling, 1)).unwrap();
            let n_words = slices.n_words() + slices.perm().len() + slices.numbers().len();
            let bytes = (4 * n_words + 8 * slices.n_slots()) as f64;
            // Slices that are not full.
            let of_few = f64::from(6 * 32 * width * 16 * (8 + 4));
            prop_assert!(bytes <= 1.25 * said.bytes as f64 + of_few, "{bytes} {said:?}");
        }
    }
}
