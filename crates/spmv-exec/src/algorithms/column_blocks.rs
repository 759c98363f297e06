//! Blocks of columns, each laid out as `sell` lays out a matrix and multiplied by a launch of its own: the cache that all groups share then
//! holds the part of `x` that is read. Every launch but the first adds to `y`.

use std::ops::Range;
use std::sync::Arc;

use spmv_backend::{Backend, DeviceCaps, DeviceKind, KernelSpec, Types};
use spmv_core::format::Cost;
use spmv_core::{CsrView, Footprint, MatrixStats, RowStats, Tiling, Value, parts};

use super::sell::{self, Held, Sell};
use crate::carries::Pieces;
use crate::device::Device;
use crate::error::Result;
use crate::launch::Run;
use crate::method::{Effort, Facts, Launch, Method, Repair, Storage};
use crate::pages::Pages;
use crate::part::{Build, Layout, Prepare, Runner, Span};
use crate::slices::{Slices, held_of_x, n_blocks};
use crate::measured::Bound;
use crate::tilings::{B, Of, On, Row, S, T, W};
use crate::values::Values;

const MEASURED: &str = "cargo xtask bench --matrix circuit-1e8 rmat-1e8 lp-tall-1e8 random4-1e8 random16-1e8 power-out-1e8 lp-tall-t-1e8 power-in-1e8 --backend cuda --algorithm auto,sell,column_blocks --precision f32,f64 --warm: docs/results/2026-11-28-h100-irregular.txt";
const MEASURED_ON_CORES: &str = "cargo xtask bench --matrix random16-1e8 random4-1e8 power-out-1e8 rmat-1e8 circuit-1e8 lp-tall-t-1e8 --backend cpu --algorithm auto,sell,merge_path,column_blocks --precision f32,f64 --repeat 3: docs/results/2026-11-28-cpu-column-blocks.txt";
const UNMEASURED: &str = "a lane a row; not measured";
const AS_PARTS: &str = "as where bunches are parts of subgroups; not measured";
/// Time of a gather that misses the cache beyond that of one which does not, in the time of the latter; that of a row in each launch but the
/// first; on GPUs and on cores.
const ON_GPUS: Bound<(f64, f64)> = Bound { is: (2.5, 1.2), by: MEASURED };
const ON_CORES: Bound<(f64, f64)> = Bound { is: (6.0, 2.0), by: MEASURED_ON_CORES };
/// The predicted time over that without blocks from which it is taken.
const WORTH: Bound<f64> = Bound { is: 0.8, by: MEASURED };
/// Entries of a thread, at least.
const OF_A_THREAD: usize = if cfg!(test) { 16 } else { 1 << 18 };

pub(crate) struct ColumnBlocks;

/// Its kernel is that of `sell`.
impl Method for ColumnBlocks {
    fn facts(&self) -> &'static Facts {
        const { &sell::facts_of_blocks("column_blocks") }
    }

    /// Scattered entries have no runs.
    fn tilings(&self) -> &'static [Row] {
        &[
            Row {
                on: On::Tasks,
                t: T::Is(1),
                w: W::Is(1),
                s: S::Tasks(Of::Slices),
                b: B::OfSlices,
                by: UNMEASURED,
            },
            Row {
                on: On::PartsOfSubgroups,
                t: T::OfBlocks(32),
                w: W::Is(1),
                s: S::One,
                b: B::Lanes(128),
                by: MEASURED,
            },
            Row { on: On::Subgroups, t: T::OfBlocks(32), w: W::Is(1), s: S::One, b: B::Lanes(128), by: AS_PARTS },
            Row { on: On::Workgroups, t: T::OfBlocks(32), w: W::Is(1), s: S::One, b: B::Lanes(128), by: AS_PARTS },
        ]
    }

    fn suits(&self, stats: &MatrixStats, types: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let RowStats { n_rows, n_cols, nnz, .. } = stats.rows;
        let (miss, row) = match caps.kind {
            // Elsewhere lanes of slices are read one after another.
            DeviceKind::Cpu if caps.tasks && caps.masked_loads.contains_each(types) => ON_CORES.is,
            DeviceKind::DiscreteGpu => ON_GPUS.is,
            _ => return None,
        };
        let held = held_of_x(caps)? as usize / Footprint::line_bytes(types.vector.bytes());
        let n_more = n_blocks(n_cols, types.vector, caps) - 1;
        let without = nnz as f64 * (1.0 + miss * stats.footprint?.misses(held));
        let of_blocks = nnz as f64 + row * n_more as f64 * n_rows as f64;
        (of_blocks <= WORTH.is * without)
            .then_some("gathers of x miss the cache, which holds the part that a block of columns reads")
    }

    fn check(&self, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
        Sell.check(kernel, caps)
    }

    fn helpers(&self, kernel: &KernelSpec, caps: &DeviceCaps, repair: Repair) -> Vec<KernelSpec> {
        Sell.helpers(kernel, caps, repair)
    }

    /// In every block a row may end in a step of its own, and has its number.
    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, caps: &DeviceCaps) -> Storage {
        let Storage::Own(of_sell) = Sell.storage(stats, kernel, caps) else { return Storage::Unknown };
        let RowStats { n_rows, nnz, .. } = stats.rows;
        let (tiling, value) = (&kernel.tiling, kernel.types.value);
        let n_more = n_blocks(stats.rows.n_cols, kernel.types.vector, caps) as u64 - 1;
        let of_a_step = u64::from(tiling.lanes()) * u64::from(tiling.width());
        let n_more = n_more * n_rows as u64;
        let slots = n_more.min(nnz as u64) * (of_a_step - 1) / 2;
        // The number of a row, and its share of what begins a slice.
        let of_rows = n_more * 4 + n_more * 16 * u64::from(tiling.lanes()) / u64::from(tiling.slice_lanes());
        let bytes = slots * (4 + value.bytes() as u64) + of_rows;
        Storage::Own(Cost::of(n_rows, nnz, value, of_sell.bytes + bytes, of_sell.slots + slots))
    }

    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        Sell.limits(launch)
    }

    fn loop_rows(&self, tiling: &Tiling, steps: u64) -> u64 {
        Sell.loop_rows(tiling, steps)
    }

    fn loop_steps(&self, tiling: &Tiling, search: u64) -> u64 {
        Sell.loop_steps(tiling, search)
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let n_blocks = n_blocks(launch.rows.n_cols, launch.kernel.types.vector, launch.caps) as f64;
        let of_sell = Sell.effort(launch, stats);
        Effort { longest: of_sell.longest / n_blocks, groups: of_sell.groups * n_blocks, ..of_sell }
    }
}

/// The blocks of a part.
type State<B> = Arc<Vec<Held<B>>>;

/// With the pieces of the rows that each block cuts.
#[derive(Debug)]
struct OfBlocks<B: Backend> {
    blocks: State<B>,
    pieces: Vec<Pieces<B>>,
}

impl Build for ColumnBlocks {
    type Made<B: Backend> = Arc<Vec<Held<B>>>;

    /// Makes one block of rows whose entries do not stand block by block.
    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let caps = to.device.caps();
        let shape = sell::shape(caps, &to.kernel);
        let wanted = n_blocks(a.n_cols(), to.kernel.types.vector, caps);
        let width = a.n_cols().div_ceil(wanted).max(1);
        let n_blocks = if stand_by_blocks(a, width) { a.n_cols().div_ceil(width).max(1) } else { 1 };
        let mut blocks = Vec::with_capacity(n_blocks);
        let mut firsts = a.row_ptr()[..a.n_rows()].to_vec();
        let mut memory = Block::new(a.n_rows())?;
        for block in 0..n_blocks {
            let ends = ends(a, if block + 1 < n_blocks { (block + 1) * width } else { usize::MAX });
            let of_block = memory.with(a, &firsts, &ends)?;
            if of_block.nnz() > 0 || block == 0 {
                let continues = to.span.continues || block > 0;
                let span = Span { nnz: of_block.nnz() as u32, continues, ..to.span };
                let mut held = Held::copy(to, of_block, &|| Slices::new(of_block, shape), span)?;
                held.vals = held.vals.of_entries(firsts);
                blocks.push(held);
            }
            firsts = ends;
        }
        Ok(Arc::new(blocks))
    }
}

/// Whether no row has an entry of a block after one of a later block. O(entries) on all threads.
fn stand_by_blocks<V: Value>(a: CsrView<'_, V, u32>, width: usize) -> bool {
    let of_threads = parts::cut(a.n_rows(), parts::threads(a.nnz().max(a.n_rows()), OF_A_THREAD));
    let of_row = |row: usize| {
        let cols = &a.cols()[a.row_range(row)];
        // Blocks of columns that ascend do too, and are not divided.
        cols.is_sorted() || cols.is_sorted_by_key(|col| *col as usize / width)
    };
    parts::map(of_threads, |mut rows| rows.all(of_row)).into_iter().all(|stand| stand)
}

/// The first entry of each row from a column on, or its end, where blocks end there. O(rows log(entries of a row)) on all threads.
fn ends<V: Value>(a: CsrView<'_, V, u32>, col: usize) -> Vec<u32> {
    let of_threads: Vec<_> = parts::cut(a.n_rows(), parts::threads(a.n_rows(), OF_A_THREAD)).collect();
    let end = |row: usize| {
        let of_row = a.row_range(row);
        (of_row.start + a.cols()[of_row].partition_point(|of_entry| (*of_entry as usize) < col)) as u32
    };
    let mut ends = vec![0; a.n_rows()];
    let to = parts::split(&mut ends, of_threads.iter().map(ExactSizeIterator::len));
    parts::map(of_threads.into_iter().zip(to), |(rows, to)| {
        rows.zip(to).for_each(|(row, to)| *to = end(row));
    });
    ends
}

/// Memory for the entries of a block, which that of the next one may use again.
struct Block<V> {
    row_ptr: Pages<u32>,
    cols: Pages<u32>,
    vals: Pages<V>,
}

impl<V: Value> Block<V> {
    fn new(n_rows: usize) -> Result<Self> {
        Ok(Self { row_ptr: Pages::new(n_rows + 1)?, cols: Pages::new(0)?, vals: Pages::new(0)? })
    }

    /// The entries of each row from some on and to others, as a matrix has them. O(rows + entries) on all threads.
    fn with(&mut self, a: CsrView<'_, V, u32>, firsts: &[u32], ends: &[u32]) -> Result<CsrView<'_, V, u32>> {
        let of_threads: Vec<_> = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD)).collect();
        let n_entries = |rows: Range<usize>| rows.map(|row| (ends[row] - firsts[row]) as usize).sum::<usize>();
        let lens = parts::map(of_threads.iter().cloned(), n_entries);
        let n = lens.iter().sum();
        if self.cols.len() < n {
            (self.cols, self.vals) = (Pages::new(0)?, Pages::new(0)?);
            // A later block may be a little larger, and pages that are not written cost nothing.
            let most = a.nnz().min(n + n / 4);
            (self.cols, self.vals) = (Pages::new(most)?, Pages::new(most)?);
        }
        let starts = lens.iter().scan(0, |end, len| Some(std::mem::replace(end, *end + len)));
        let to_rows = parts::split(&mut self.row_ptr[1..], of_threads.iter().map(ExactSizeIterator::len));
        let to_cols = parts::split(&mut self.cols, lens.iter().copied());
        let to = to_rows.into_iter().zip(to_cols.into_iter().zip(parts::split(&mut self.vals, lens.iter().copied())));
        parts::map(of_threads.into_iter().zip(starts).zip(to), |((rows, start), (to_rows, (mut cols, mut vals)))| {
            let mut end = start as u32;
            for (row, to_row) in rows.zip(to_rows) {
                let (first, len) = (firsts[row] as usize, (ends[row] - firsts[row]) as usize);
                let (of_cols, of_vals);
                (of_cols, cols) = cols.split_at_mut(len);
                (of_vals, vals) = vals.split_at_mut(len);
                of_cols.copy_from_slice(&a.cols()[first..first + len]);
                of_vals.copy_from_slice(&a.vals()[first..first + len]);
                end += len as u32;
                *to_row = end;
            }
        });
        Ok(CsrView::new(a.n_rows(), a.n_cols(), &self.row_ptr, &self.cols[..n], &self.vals[..n])?)
    }
}

impl<B: Backend, V: Value> Layout<B, V> for State<B> {
    fn runner(&self, device: &Device<B>) -> Result<Box<dyn Runner<B, V>>> {
        let pieces = self.iter().map(|block| block.pieces::<V>(device)).collect::<Result<_>>()?;
        Ok(Box::new(OfBlocks { blocks: Arc::clone(self), pieces }))
    }

    /// The last block does not know which rows the one before it wrote.
    fn finishes_rows(&self) -> bool {
        self.len() < 2
    }

    fn values(&self) -> Vec<&Values<B>> {
        self.iter().map(|block| &block.vals).collect()
    }
}

impl<B: Backend, V: Value> Runner<B, V> for OfBlocks<B> {
    fn reset(&mut self, backend: &B, stream: &B::Stream) -> Result<()> {
        self.pieces.iter_mut().try_for_each(|pieces| pieces.reset(backend, stream))
    }

    fn stage1(&self, run: &Run<'_, B, V>) -> Result<()> {
        self.blocks.iter().zip(&self.pieces).try_for_each(|(block, pieces)| block.launch(run, pieces))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_backend::{DtypeSet, MemoryModel};
    use spmv_core::{Csr, Dtype};

    use super::*;

    fn h100() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.cache_bytes = Some(50 << 20);
        caps
    }

    #[test]
    fn it_suits_scattered_entries_of_rows_that_have_some_in_every_block() {
        let suits = |n_rows: usize, of_a_row: usize, is_scattered: bool, caps: &DeviceCaps| {
            let (nnz, n_cols) = (n_rows * of_a_row, n_rows as u64);
            let scattered = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24) % n_cols;
            let near = |i: u64| i / of_a_row as u64 % n_cols;
            let cols: Vec<u32> = (0..1 << 21).map(|i| if is_scattered { scattered(i) } else { near(i) } as u32).collect();
            let rows = RowStats { n_rows, n_cols: n_rows, nnz, mean: of_a_row as f64, ..RowStats::default() };
            let stats = MatrixStats { footprint: Footprint::of(&cols, n_rows), ..MatrixStats::from(&rows) };
            [Dtype::F32, Dtype::F64].map(|dtype| ColumnBlocks.suits(&stats, Types::of(dtype), caps).is_some())
        };
        assert_eq!(suits(6_250_000, 16, true, &h100()), [false, true], "half of the cache holds x in f32");
        assert_eq!(suits(25_000_000, 4, true, &h100()), [true, false], "eight blocks are too many for four entries");
        assert_eq!(suits(25_000_000, 16, false, &h100()), [false; 2]);
        let mut cpu = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        (cpu.tasks, cpu.cache_bytes) = (true, Some(32 << 20));
        assert_eq!(suits(6_250_000, 16, true, &cpu), [false; 2], "lanes would be read one after another");
        cpu.masked_loads = DtypeSet::NONE.with(Dtype::F32).with(Dtype::F64);
        assert_eq!(suits(6_250_000, 16, true, &cpu), [true; 2]);
        let mut unknown = h100();
        unknown.cache_bytes = None;
        assert_eq!(suits(6_250_000, 16, true, &unknown), [false; 2]);
    }

    proptest! {
        #[test]
        fn blocks_have_every_entry_in_its_row(
            rows in proptest::collection::vec(proptest::collection::btree_set(0u32..50, 0..20), 1..40),
            width in 1usize..60,
        ) {
            let of = |row: &std::collections::BTreeSet<u32>| row.iter().map(|col| (*col, f64::from(*col))).collect::<Vec<_>>();
            let a = Csr::from_rows(50, rows.iter().map(of)).unwrap();
            prop_assert!(stand_by_blocks(a.view(), width));
            let mut firsts = a.row_ptr()[..rows.len()].to_vec();
            let (mut found, mut memory) = (vec![vec![]; rows.len()], Block::new(rows.len()).unwrap());
            for col in (width..50 + width).step_by(width) {
                let ends = ends(a.view(), col);
                let of_block = memory.with(a.view(), &firsts, &ends).unwrap();
                for (row, found) in found.iter_mut().enumerate() {
                    let is_inside = |(of_entry, _): (u32, f64)| (of_entry as usize) + width >= col && (of_entry as usize) < col;
                    prop_assert!(of_block.row(row).all(is_inside));
                    found.extend(of_block.row(row));
                }
                firsts = ends;
            }
            prop_assert_eq!(found, rows.iter().map(of).collect::<Vec<_>>());
        }
    }

    #[test]
    fn columns_that_go_back_stand_in_no_blocks() {
        let rows = [vec![(0u32, 1.0f32), (5, 1.0), (1, 1.0)], vec![]];
        let a = Csr::from_rows(6, rows).unwrap();
        assert!(!stand_by_blocks(a.view(), 3) && stand_by_blocks(a.view(), 6));
    }
}
