//! One lane a row of whole diagonals.

use std::sync::{PoisonError, RwLock};

use spmv_backend::arguments::Dia as Arguments;
use spmv_backend::{Backend, DeviceCaps, DeviceKind, KernelId, KernelSpec, Memory, Types};
use spmv_core::format::{Cost, Dia as Format};
use spmv_core::{CsrView, Dtype, MatrixStats, Offset, Tiling, Value};

use crate::device::Device;
use crate::error::Result;
use crate::launch::{Compiled, Run};
use crate::method::{Effort, Facts, Launch, Limits, Method, Storage, rows_of_a_group};
use crate::part::{Build, Direct, Prepare, Span, WithoutScratch};
use super::csr_vector::BUSY_LANES;
use crate::measured::{BY_CLASS, Bound};
use crate::tilings::{ROW_A_LANE, Row, S};
use crate::values::{Order, Values, diagonals_of_entries};

/// Bytes over those of CSR, up to which diagonals are expected to be faster: no column is read, and every access is to neighbours.
const WORTH: Bound<f64> = Bound { is: 0.8, by: SOLVE };

/// Diagonals up to which a lane has a whole row: as many as stencils have.
const FEW: Bound<usize> = Bound { is: 32, by: SOLVE };

/// The same on cores, which go through a few diagonals at a time.
const FEW_ON_CORES: Bound<usize> = Bound { is: 128, by: BANDS_ON_CORES };
const BANDS_ON_CORES: &str = "cargo xtask bench --backend cpu --algorithm auto,dia,sell --precision f32,f64 --matrix band-1e5 band-1e6 band-1e7: docs/results/2026-11-29-xeon-cpu-windows.txt";

/// Entries from which a CPU takes it without a prediction: less is soon done.
const WORTH_A_LAYOUT: Bound<usize> = Bound { is: 1 << 12, by: CACHED_ON_CORES };

/// Bytes of a thread that its own cache holds, and slots for each entry up to which cores then take it: a slot takes less than half as long as an
/// entry whose column is read.
const CACHED: Bound<(usize, usize)> = Bound { is: (1 << 20, 2), by: CACHED_ON_CORES };
const CACHED_ON_CORES: &str = "cargo xtask bench --backend cpu --algorithm auto,dia,sell,merge_path --precision f32,f64 --matrix FILES: docs/results/2026-11-29-xeon-cpu-small.txt";

/// Diagonals for which a device is as busy as with fewer: `stencil27-1e6` is faster by `csr_vector`.
const EIGHT: Bound<usize> = Bound { is: 8, by: BY_CLASS };

const SOLVE: &str =
    "cargo xtask solve --backend cuda --algorithm dia,csr_vector: docs/results/2026-11-23-h200-solve.txt";

const STRIDES: &str = "cargo xtask bench --matrix stencil5-1e8 stencil7-1e8 stencil27-1e8 --backend cuda --algorithm dia --tiling T=32,W=1,S=4,B=4: docs/results/2026-11-28-h200-dia.txt";

pub(crate) struct Dia;

impl Method for Dia {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                by_heuristic: true,
                own_layout: true,
                stores_one_nonzero_a_cell: true,
                refuses: &[
                    "an arrow",
                    "scattered entries",
                    "one long row",
                    "repeated entries",
                    "a stored zero",
                ],
                ..Facts::of(KernelId::Dia, "Bell & Garland 2009, section 3.1")
            }
        }
    }

    /// What a turn of a lane reads, its next one finds in the first cache.
    fn tilings(&self) -> &'static [Row] {
        const {
            let [tasks, parts, subgroups, workgroups] = *ROW_A_LANE;
            &[tasks, Row { s: S::ManyTurns(4), by: STRIDES, ..parts }, subgroups, workgroups]
        }
    }

    fn suits(&self, stats: &MatrixStats, _: Types, caps: &DeviceCaps) -> Option<&'static str> {
        let cost = |value| Cost::dia(&stats.rows, stats.diagonals.unwrap_or(0), value);
        // The widest values save least.
        let few = if caps.tasks { FEW_ON_CORES.is } else { FEW.is };
        let is_few = stats.diagonals.is_some_and(|n| (1..=few).contains(&n));
        let saves = is_few && cost(Dtype::F64).blow_up() <= WORTH.is;
        let slots = stats.diagonals.unwrap_or(0).saturating_mul(Format::<f32>::stride(stats.rows.n_rows));
        let (of_thread, of_entry) = CACHED.is;
        let is_cached = slots.saturating_mul(Dtype::F64.bytes()) <= of_thread * caps.compute_units as usize;
        let saves = saves || caps.tasks && is_few && is_cached && slots <= of_entry * stats.rows.nnz;
        let eights = stats.diagonals.unwrap_or(0).div_ceil(EIGHT.is) as u64;
        // Of GPUs, measured on NVIDIA's.
        let is_known = caps.cross_block_reduction && caps.kind == DeviceKind::DiscreteGpu;
        let fills = match caps.tasks {
            true => stats.rows.nnz >= WORTH_A_LAYOUT.is,
            // A lane takes all diagonals of a row: with many of them, few rows leave it waiting.
            false => stats.rows.n_rows as u64 >= (u64::from(caps.compute_units) * BUSY_LANES.is).saturating_mul(eights),
        };
        (saves && fills && (is_known || caps.kind == DeviceKind::Cpu && caps.tasks))
            .then_some("all entries lie on a few diagonals: no column is read")
    }

    fn storage(&self, stats: &MatrixStats, kernel: &KernelSpec, _: &DeviceCaps) -> Storage {
        let value = kernel.types.value;
        match stats.diagonals {
            Some(n_diags) => Storage::Own(Cost::dia(&stats.rows, n_diags, value)),
            None => Storage::Unknown,
        }
    }

    fn effort(&self, launch: &Launch<'_>, stats: &MatrixStats) -> Effort {
        let (n_rows, n_diags) = (launch.rows.n_rows as f64, stats.diagonals.unwrap_or(0) as f64);
        Effort {
            slots: n_rows * n_diags,
            longest: n_diags,
            groups: n_rows / rows_of_a_group(launch.tiling()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State<B: Backend> {
    span: Span,
    kernel: Compiled<B>,
    n_cols: u32,
    n_diags: u32,
    /// Rows from one of a lane to its next.
    stride: u32,
    table: RwLock<Table<B>>,
    vals: Values<B>,
}

/// What makes a row its column and its slot, of each diagonal, in 32 bits.
#[derive(Debug)]
struct Table<B: Backend> {
    buffer: B::Buffer,
    /// For any values, if it is for these alone: a diagonal below the main one that mirrors one above has the slots of that, and products
    /// then read half as much.
    of_any: Option<Vec<u32>>,
}

/// Of the diagonals with these offsets, where those that `mirror` another have the slots of that.
fn table(stride: usize, offsets: &[i64], mirrors: &[Option<usize>]) -> Vec<u32> {
    let slots = |diagonal: usize| diagonal * stride;
    let entry = |(at, (offset, mirrored)): (usize, (&i64, &Option<usize>))| {
        let to_slot = mirrored.map_or(slots(at) as i64, |other| slots(other) as i64 + offset);
        // A sum of 32 bits finds column and slot again.
        [*offset as u32, to_slot as u32]
    };
    offsets.iter().zip(mirrors).enumerate().flat_map(entry).collect()
}

/// Groups of a launch: S turns take S times `stride` rows, one behind another.
fn groups(stride: u32, n_rows: u32, tiling: &Tiling) -> u32 {
    let rows_of_turns = u64::from(stride) * u64::from(tiling.tiles());
    let n_lanes = u64::from(n_rows).div_ceil(rows_of_turns) * u64::from(stride);
    n_lanes.div_ceil(tiling.group_lanes().into()) as u32
}

/// How far apart a lane's rows are: as most diagonals are from another one, so that what a turn of it reads is in the first cache when the next
/// one does. The lanes of a group, if there is but one turn, or no diagonal is farther than that from another.
fn stride(offsets: &[i64], n_rows: usize, tiling: &Tiling, caps: &DeviceCaps) -> u32 {
    let lanes = tiling.group_lanes();
    if caps.tasks || tiling.tiles() == 1 || offsets.len() > FEW.is {
        return lanes;
    }
    let n_apart = |stride: i64| offsets.iter().filter(|at| offsets.binary_search(&(*at - stride)).is_ok()).count();
    let far = offsets.iter().filter_map(|at| u32::try_from(at.unsigned_abs()).ok()).filter(|at| *at > lanes);
    // Turns after the last row are at numbers of 32 bits, those of lanes that fill the last group included.
    let far = far.filter(|stride| {
        let end = n_rows as u64 + 2 * u64::from(*stride) * u64::from(tiling.tiles());
        end < 1 << 32 && groups(*stride, n_rows as u32, tiling) <= caps.max_groups
    });
    far.max_by_key(|stride| (n_apart((*stride).into()), *stride)).unwrap_or(lanes)
}

impl Build for Dia {
    type Made<B: Backend> = WithoutScratch<State<B>>;

    fn cost<T: Value, O: Offset>(a: CsrView<'_, T, O>, _: usize) -> Option<Cost> {
        Some(Format::<T>::cost(a))
    }

    fn rows_of_a_part(cost: Option<&Cost>, limits: &Limits, n_rows: usize, n_cols: usize) -> usize {
        // A row number plus an offset in 32 bits then stands for one column alone.
        let most = limits.max_rows.min(((1u64 << 32) - n_cols as u64) as usize).max(1);
        // No piece has more diagonals than the whole, nor more slots.
        let slots = cost.map_or(0, |cost| cost.slots);
        if slots <= limits.max_entries as u64 {
            return most;
        }
        let n_diags = slots.div_ceil(Format::<f32>::stride(n_rows).max(1) as u64).max(1);
        Format::<f32>::rows_of((limits.max_entries as u64 / n_diags) as usize).clamp(1, most)
    }

    fn build<B: Backend, V: Value>(to: &Prepare<'_, B>, a: CsrView<'_, V, u32>) -> Result<Self::Made<B>> {
        let (n_rows, offsets) = (a.n_rows(), Format::held(a));
        let slots = Format::<V>::stride(n_rows);
        let mut of_entries = diagonals_of_entries(a, offsets.len())?;
        let (vals, mirrors) = to.filled(offsets.len() * slots, |vals| {
            Format::fill(a, &offsets, vals, of_entries.as_deref_mut().unwrap_or_default())?;
            Ok(Format::mirrors(n_rows, &offsets, vals))
        })?;
        let of_any = table(slots, &offsets, &vec![None; mirrors.len()]);
        let table = Table {
            buffer: to.copy(&table(slots, &offsets, &mirrors))?,
            of_any: mirrors.iter().any(Option::is_some).then_some(of_any),
        };
        let order = Order::on_diagonals(a, of_entries, (offsets.len(), slots))?;
        Ok(WithoutScratch::new(State {
            span: to.span,
            kernel: to.main()?,
            n_cols: a.n_cols() as u32,
            n_diags: mirrors.len() as u32,
            stride: stride(&offsets, n_rows, &to.kernel.tiling, to.device.caps()),
            table: RwLock::new(table),
            vals: Values::new(vals, order),
        }))
    }
}

impl<B: Backend, T: Value> Direct<B, T> for State<B> {
    fn launch(&self, run: &Run<'_, B, T>) -> Result<()> {
        let Self { span, kernel, n_cols, n_diags, stride, table, vals } = self;
        let tiling = &kernel.spec.tiling;
        let groups = groups(*stride, span.n_rows, tiling);
        let (table, vals) = (table.read().unwrap_or_else(PoisonError::into_inner), vals.get());
        let args = Arguments {
            n_rows: span.n_rows,
            row_base: span.row_base,
            n_cols: *n_cols,
            n_diags: *n_diags,
            tiles: tiling.tiles(),
            stride: *stride,
            finish: span.finish(run),
            diags: Memory::Device(&table.buffer),
            vals: Memory::Device(&*vals),
            x: run.x,
            y: run.y,
        };
        run.start(kernel, groups, args)
    }

    fn values(&self) -> Vec<&Values<B>> {
        vec![&self.vals]
    }

    fn forget_values(&self, device: &Device<B>) -> Result<()> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Table { buffer, of_any } = &mut *table;
        if let Some(numbers) = of_any {
            device.copies(|s| device.backend().write(s, buffer, 0, bytemuck::cast_slice(numbers)))?;
            *of_any = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::MemoryModel;

    use super::*;

    fn gpu() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.max_groups = u32::MAX;
        caps
    }

    fn of_turns(tiles: u32) -> Tiling {
        Tiling::new(32, 1, 1, 4).unwrap().with_tiles(tiles)
    }

    #[test]
    fn a_lane_goes_from_plane_to_plane_of_a_grid() {
        let of = |offsets: &[i64], tiles, caps: &DeviceCaps| stride(offsets, 1 << 24, &of_turns(tiles), caps);
        let plane = [-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001].map(i64::from);
        let cube: Vec<i64> = [-1_000_000, 0, 1_000_000].iter().flat_map(|z| plane.map(|at| at + z)).collect();
        assert_eq!(of(&plane, 2, &gpu()), 1000);
        assert_eq!(of(&cube, 2, &gpu()), 1_000_000);
        assert_eq!(of(&cube, 1, &gpu()), 128, "one turn");
        assert_eq!(of(&[-100, 0, 100], 4, &gpu()), 128, "nearer than the rows of a group");
        assert_eq!(of(&[-130, 0, 130, 131], 4, &gpu()), 130);
        let mut cores = gpu();
        cores.tasks = true;
        assert_eq!(of(&plane, 2, &cores), 128);
    }

    #[test]
    fn every_row_is_taken_once() {
        for (n_rows, tiles, stride) in [(1u32, 1, 128u32), (5000, 3, 128), (5000, 4, 1000), (5000, 2, 4999), (700, 8, 500)] {
            let (tiling, mut taken) = (of_turns(tiles), vec![0; n_rows as usize]);
            // As kernels have it.
            let lanes = tiling.group_lanes();
            for (group, lane) in (0..groups(stride, n_rows, &tiling)).flat_map(|g| (0..lanes).map(move |l| (g, l))) {
                let lane = group * lanes + lane;
                let first = lane + lane / stride * stride * (tiles - 1);
                let rows = (0..tiles).map(|turn| first + turn * stride).filter(|row| *row < n_rows);
                rows.for_each(|row| taken[row as usize] += 1);
            }
            assert!(taken.iter().all(|n| *n == 1), "{n_rows} rows, {tiles} turns, {stride}");
        }
    }
}
