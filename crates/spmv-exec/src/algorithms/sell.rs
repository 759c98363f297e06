//! Slices of rows in the order in which lanes read them, with one column for a run of entries: SELL-C-sigma with several lanes a row.

use spmv_backend::arguments::Sell as Arguments;
use spmv_backend::{Backend, DeviceCaps, DeviceKind, Error as DeviceError, KernelId, KernelSpec, Memory};
use spmv_core::format::Cost;
use spmv_core::{CsrView, Dtype, MatrixStats, Runs, Tiling, Value};

use super::csr_vector::{BUSY_LANES, EVEN};
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run, scalar};
use crate::method::{Effort, Facts, HALF, Launch, Method, Storage, rows_of_bunch_steps};
use crate::part::{Build, Direct, Layout, Prepare, Span, direct};
use crate::slices::{Shape, Slices};
use crate::tilings::{B, BY_CLASS, Bound, Of, On, Row, S, T, W};
use crate::values::{Order, Rows, Values};

/// Bytes of the CSR arrays from which it is taken: smaller matrices stay in the cache of a large GPU, from where CSR is read as fast.
const LARGE: Bound<u64> = Bound { is: 64 << 20, by: CLASSES };

const CLASSES: &str =
    "cargo xtask bench --suite classes --peers --backend cuda: docs/results/2026-11-24-h200-cuda-classes.txt";
const UNMEASURED: &str = "a lane a row; not measured";

pub(crate) struct Sell;

impl Method for Sell {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                row_a_lane: false,
                own_layout: true,
                by_heuristic: true,
                refuses: &["an arrow", "one long row"],
                ..Facts::of(
                    KernelId::Sell,
                    "Kreutzer et al. 2014, section 3; Anzt, Tomov & Dongarra 2014 (several lanes a row)",
                )
            }
        }
    }

    /// W is the entries of a run.
    fn tilings(&self) -> &'static [Row] {
        &[
            Row {
                on: On::Tasks,
                t: T::Is(1),
                w: W::Runs,
                s: S::Tasks(Of::BunchRows),
                b: B::One,
                by: UNMEASURED,
            },
            Row {
                on: On::PartsOfSubgroups,
                t: T::Busy(8),
                w: W::Runs,
                s: S::One,
                b: B::Lanes(128),
                by: BY_CLASS,
            },
            Row { on: On::Subgroups, t: T::Is(1), w: W::Runs, s: S::One, b: B::Lanes(128), by: UNMEASURED },
            Row { on: On::Workgroups, t: T::Is(1), w: W::Runs, s: S::One, b: B::Lanes(128), by: UNMEASURED },
        ]
    }

    /// A large matrix whose rows are about as even as [`CsrVector`](super::csr_vector::CsrVector) wants them. Measured with CUDA alone.
    fn suits(&self, stats: &MatrixStats, caps: &DeviceCaps) -> Option<&'static str> {
        let rows = &stats.rows;
        let is_cuda = caps.cross_block_reduction && caps.kind == DeviceKind::DiscreteGpu;
        let csr_bytes = rows.nnz as u64 * 8 + rows.n_rows as u64 * 4;
        let fills = rows.n_rows as u64 >= u64::from(caps.compute_units) * BUSY_LANES.is;
        let is_even = rows.max as f64 <= EVEN.is * rows.mean;
        (is_cuda && csr_bytes >= LARGE.is && fills && is_even)
            .then_some("large, with even rows: entries stand in the order in which lanes read them, and runs have one column")
    }

    /// Lengths of runs are stored in two bits.
    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        let width = kernel.tiling.width();
        if width as usize <= Runs::MOST {
            return Ok(());
        }
        let what = format!("runs of {width} entries (at most {})", Runs::MOST);
        Err(DeviceError::unsupported(&*caps.name, what, "use a tiling with a smaller W").into())
    }

    fn storage(&self, stats: &MatrixStats, value: Dtype, tiling: &Tiling) -> Storage {
        let rows = &stats.rows;
        let [n_rows, nnz, longest] = [rows.n_rows, rows.nnz, rows.max].map(|n| n as u64);
        let (lanes, width) = (u64::from(tiling.lanes()), u64::from(tiling.width()));
        // Lanes without rows, of which the last slice may have some, do not count.
        let slice_rows = (Shape::of(tiling).rows() as u64).min(n_rows.max(1));
        // Each row ends in a step of its own, and a slice has as many steps as its longest row: an eighth more, or all rows are sorted.
        let steps = (slots(stats, tiling) / (lanes * width) as f64) as u64 + n_rows.min(nnz);
        let sorted = (steps + steps / 8).saturating_add(slice_rows.saturating_mul(longest.div_ceil(lanes)));
        let steps = sorted.min(n_rows.saturating_mul(longest.div_ceil(lanes)));
        let slots = steps.saturating_mul(lanes * width);
        // A word for each run, and of two bits for its length; a slice ends in a word of lengths of its own.
        let n_slices = n_rows.div_ceil(slice_rows);
        let words = slots / width + slots / width / 16 + n_slices * slice_rows * lanes;
        let bytes = slots.saturating_mul(value.bytes() as u64).saturating_add((words + n_rows) * 4);
        let bytes = bytes.saturating_add(n_slices * 16);
        let csr_bytes = (n_rows + 1) * 4 + nnz * (4 + value.bytes() as u64);
        Storage::Own(Cost { bytes, csr_bytes, slots, padding: slots.saturating_sub(nnz) })
    }

    /// Sorted rows pad less than a slice of the longest row and an eighth besides; a row that is cut stands alone in its slice.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        let (tiling, slots) = (launch.tiling(), launch.entries().clamp(1, HALF));
        let (lanes, width) = (u64::from(tiling.lanes()), u64::from(tiling.width()));
        let of_a_step = Shape::of(tiling).step() as u64;
        let of_longest = of_a_step.saturating_mul((launch.rows.max as u64).div_ceil(lanes));
        // Either bound holds: no row of a part is longer than the longest, nor than all of its entries.
        let entries = (slots.saturating_sub(of_longest) / (2 * width)).max(slots / (of_a_step + 2 * width));
        let rows = launch.groups() * u64::from(tiling.vector_rows(0, u32::MAX).end);
        (entries.max(1), rows)
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        rows_of_bunch_steps(tiling, steps / u64::from(tiling.width()))
    }

    fn loop_steps(&self, tiling: &Tiling, _: u64) -> u64 {
        4 + 2 * crate::method::bits(u64::from(tiling.lanes()))
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let tiling = launch.tiling();
        let rows_of_a_group = f64::from(tiling.bunches()) * f64::from(tiling.tiles());
        Effort {
            slots: slots(stats, tiling),
            longest: launch.rows.max as f64 / f64::from(tiling.lanes()),
            groups: launch.rows.n_rows as f64 / rows_of_a_group,
        }
    }
}

/// Slots of the runs of a matrix, without what rows and slices pad.
fn slots(stats: &MatrixStats, tiling: &Tiling) -> f64 {
    let width = tiling.width();
    let of_a_run = stats.runs.map_or(1.0, |runs| runs.mean(width as usize));
    stats.rows.nnz as f64 * f64::from(width) / of_a_run
}

#[derive(Debug)]
struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    is_sorted: bool,
    perm: B::Buffer,
    slices: B::Buffer,
    words: B::Buffer,
    vals: Values<B>,
}

/// Slots that the host makes at a time: it need not find memory for all of a large layout, and pages that are new to a process cost more
/// than what is written to them.
const BATCH: usize = 1 << 23;

impl Build for Sell {
    fn build<B: Backend, V: Value>(
        to: &Prepare<'_, B>,
        a: CsrView<'_, V, u32>,
    ) -> Result<Box<dyn Layout<B, V>>> {
        let Some(slices) = Slices::new(a, Shape::of(&to.kernel.tiling)) else {
            let what = "indices for so much padding";
            let name = &*to.device.caps().name;
            return Err(DeviceError::unsupported(name, what, "use another algorithm").into());
        };
        let [words, vals] = filled(to.device, &slices, a)?;
        Ok(direct(State {
            span: to.span,
            kernel: to.main()?,
            is_sorted: slices.is_sorted,
            perm: to.copy(&slices.perm)?,
            slices: to.copy(&slices.numbers())?,
            words,
            vals: Values::new(vals, Order::rows(a, Rows::Slices(slices))),
        }))
    }
}

/// Words and values on the device.
fn filled<B: Backend, V: Value>(
    device: &Device<B>,
    slices: &Slices,
    a: CsrView<'_, V, u32>,
) -> Result<[B::Buffer; 2]> {
    let backend = device.backend();
    let bytes = |n: usize, of: usize| n as u64 * of as u64;
    let mut words = backend.alloc(bytes(slices.n_words(), size_of::<u32>()))?;
    let mut vals = backend.alloc(bytes(slices.n_slots(), size_of::<V>()))?;
    let (mut of_words, mut of_vals) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < slices.n_slices() {
        let (slot, word) = slices.starts(first);
        let end = slices.first_beyond(first, slot + BATCH);
        let (slots_end, words_end) = slices.starts(end);
        of_words.resize(words_end - word, 0);
        of_vals.resize(slots_end - slot, V::from_f64(0.0));
        slices.fill(a, first..end, &mut of_words, &mut of_vals);
        device.copies(|s| {
            backend.write(s, &mut words, bytes(word, size_of::<u32>()), bytemuck::cast_slice(&of_words))?;
            backend.write(s, &mut vals, bytes(slot, size_of::<V>()), bytemuck::cast_slice(&of_vals))
        })?;
        first = end;
    }
    Ok([words, vals])
}

impl<B: Backend, V: Value> Direct<B, V> for State<B> {
    fn launch(&self, run: &Run<'_, B, V>) -> Result<()> {
        let Self { span, kernel, is_sorted, perm, slices, words, vals } = self;
        let tiling = &kernel.spec.tiling;
        let groups = Tiling::n_row_groups(&tiling.vector_rows(0, span.n_rows), span.n_rows);
        let vals = vals.get();
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            tiles: tiling.tiles(),
            sorted: u32::from(*is_sorted),
            alpha: run.alpha(),
            beta: scalar(span.beta(run)),
            perm: Memory::Device(perm),
            slices: Memory::Device(slices),
            words: Memory::Device(words),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, groups, args)
    }

    fn values(&self) -> [Option<&Values<B>>; 2] {
        [Some(&self.vals), None]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_backend::MemoryModel;
    use spmv_core::{Csr, RowStats};

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
        let lanes = [1 << 20, 200_000, 60_000, 1000].map(|rows| planned(rows, Dtype::F32, &[]).0);
        assert_eq!(lanes, [1, 2, 4, 8]);
        let uneven = |mean: f64, std_dev| {
            let rows = &RowStats { n_rows: 1 << 20, mean, std_dev, ..RowStats::default() };
            let case = Case { kernel: KernelId::Sell, rows, runs: None, value: Dtype::F32, caps: &h200() };
            tiling(Sell.tilings(), &case).lanes()
        };
        assert_eq!([uneven(26.0, 2.0), uneven(78.0, 15.0), uneven(16.0, 9.0), uneven(4.0, 2.0)], [1, 2, 4, 1]);
    }

    #[test]
    fn large_even_matrices_are_taken() {
        let rows = |n_rows, mean: usize, max| {
            let rows = RowStats { n_rows, n_cols: n_rows, nnz: n_rows * mean, mean: mean as f64, max, ..RowStats::default() };
            Sell.suits(&MatrixStats::from(&rows), &h200()).is_some()
        };
        assert!(rows(1 << 20, 27, 27) && rows(1 << 20, 27, 200));
        assert!(!rows(1 << 20, 27, 300), "uneven");
        assert!(!rows(100_000, 27, 27), "in the cache");
        assert!(!rows(1000, 100_000, 100_000), "few rows");
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

    proptest! {
        #[test]
        fn a_layout_takes_no_more_than_was_said(
            lens in prop::collection::vec(prop_oneof![8 => 0usize..6, 1 => 0usize..90], 0..300),
            lanes in 1u32..40,
            width in 1u32..=4,
        ) {
            // No columns follow each other.
            let entries = |len: usize| (0..len as u32).map(move |i| (2 * i, 1.0f64));
            let a = Csr::from_rows(200, lens.iter().map(|len| entries(*len))).unwrap();
            let tiling = Tiling::new(lanes, width, 1, 1).unwrap();
            let Storage::Own(most) = Sell.storage(&MatrixStats::of(a.view()), Dtype::F64, &tiling) else {
                return Err(TestCaseError::fail("a layout of its own"));
            };
            let slices = Slices::new(a.view(), Shape::of(&tiling)).unwrap();
            let (rows, last) = (Shape::of(&tiling).rows(), slices.n_slices().saturating_sub(1));
            let of_last = (slices.n_slots() - slices.starts(last).0) as u64;
            let empty = (slices.n_slices() * rows - lens.len()) as u64 * of_last / rows as u64;
            prop_assert!(slices.n_slots() as u64 - empty <= most.slots, "{} {:?}", slices.n_slots(), most);
            let n_words = slices.n_words() + slices.perm.len() + slices.numbers().len();
            let bytes = 4 * n_words as u64 + 8 * (slices.n_slots() as u64 - empty);
            let of_empty_lanes = 4 * (2 * empty / u64::from(width) + 64);
            prop_assert!(bytes <= most.bytes + of_empty_lanes, "{bytes} {most:?}");
        }
    }
}
