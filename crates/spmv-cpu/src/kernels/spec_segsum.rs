// kernel: spec_segsum
// params: n_rows row_base nnz tiles turn row_ptr tile_rows cols vals x y sync_rows sync_sums
//         dirty_count speculator
// steps:  1 take the rows of the tiles; 2 mark row starts, notice empty rows; 3 gather products; 4 segmented sum;
//         5 store partial sums compactly; 6 carry the tail; 7 report a dirty tile

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use num_traits::Zero;
use spmv_core::Tiling;

use super::prelude::{MAX_TILE, Rows, for_groups, operand, rows_of};
use crate::device_args::view;
use crate::launch::{Groups, Launch};
use crate::numbers::Numbers;
use crate::simd::{Operand, SimdValue};

/// What every bunch reads, and what several report to.
struct SpecSegsum<'a, T: Numbers> {
    tiling: Tiling,
    row_ptr: &'a [u32],
    tile_rows: &'a [u32],
    a: Operand<'a, T>,
    dirty_count: &'a AtomicU32,
    speculator: &'a [AtomicU32],
}

/// What a run of groups writes, besides the speculator.
struct Out<'a, A> {
    y: Rows<'a, A>,
    sync_rows: Rows<'a, u32>,
    sync_sums: Rows<'a, A>,
}

/// Local memory of a bunch: a tile's segment descriptor and its sums.
struct Local<A> {
    starts: [u32; MAX_TILE / 32 + 1],
    sums: [A; MAX_TILE],
}

/// Where a bunch stands between two tiles.
struct Bunch<A> {
    /// Row in which the bunch began; its sum goes to the synchronizer.
    row: u32,
    /// Sum of the row that the last tile left unfinished.
    tail: A,
    sync: A,
}

pub(crate) fn run<T: SimdValue>(launch: Launch, args: view::SpecSegsum<'_, T>) {
    let view::SpecSegsum { n_rows, row_base, nnz, tiles, turn, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (n_tiles, n_bunches) = (tiling.n_tiles(nnz) as usize, tiling.n_bunches(nnz) as usize);
    let row_ptr = &args.row_ptr[..=n_rows as usize];
    let out = Out {
        y: rows_of(args.y, row_base, n_rows).into(),
        sync_rows: (&mut args.sync_rows[..n_bunches]).into(),
        sync_sums: (&mut args.sync_sums[..n_bunches]).into(),
    };
    let sums = SpecSegsum {
        tiling,
        row_ptr,
        tile_rows: &args.tile_rows[..=n_tiles],
        a: operand::<T>(row_ptr, args.cols, args.vals, args.x),
        dirty_count: &args.dirty_count[turn as usize],
        speculator: &args.speculator[..n_tiles],
    };
    sums.run(launch.groups, nnz, out);
}

impl<T: Numbers> SpecSegsum<'_, T> {
    fn run(&self, groups: Groups<'_>, nnz: u32, out: Out<'_, T::Accum>) {
        let (tiling, tile_rows) = (self.tiling, self.tile_rows);
        for_groups(
            groups,
            out,
            &|out, group| {
                let bunch = group * tiling.bunches();
                // A bunch owns the rows after the one it begins in, up to the one the next begins in.
                let row = tile_rows[tiling.bunch_tiles(bunch, nnz).start as usize] as usize + 1;
                let (y, y_right) = out.y.split_before(row);
                let (sync_rows, sync_rows_right) = out.sync_rows.split_before(bunch as usize);
                let (sync_sums, sync_sums_right) = out.sync_sums.split_before(bunch as usize);
                let right = Out { y: y_right, sync_rows: sync_rows_right, sync_sums: sync_sums_right };
                (Out { y, sync_rows, sync_sums }, right)
            },
            &|mut out, _| {
                let mut local = Local { starts: [0; MAX_TILE / 32 + 1], sums: [T::Accum::zero(); MAX_TILE] };
                let syncs = out.sync_rows.rows.iter_mut().zip(out.sync_sums.rows.iter_mut());
                for (i, (row, sum)) in syncs.enumerate() {
                    let bunch = (out.sync_rows.base + i) as u32;
                    (*row, *sum) = self.bunch(bunch, nnz, &mut out.y, &mut local);
                }
            },
        );
    }

    fn bunch(
        &self,
        bunch: u32,
        nnz: u32,
        y: &mut Rows<'_, T::Accum>,
        local: &mut Local<T::Accum>,
    ) -> (u32, T::Accum) {
        // STEP 1
        let tiles = self.tiling.bunch_tiles(bunch, nnz);
        let mut first_row = self.tile_rows[tiles.start as usize];
        if bunch == 0 {
            // Rows before the first entry, and the row that the synchronizer will add to.
            y.range(0..first_row as usize + 1).fill(T::Accum::zero());
        }
        let mut state = Bunch { row: first_row, tail: T::Accum::zero(), sync: T::Accum::zero() };
        for tile in tiles {
            let stop_row = self.tile_rows[tile as usize + 1];
            self.tile(tile, self.tiling.tile_range(tile, nnz), first_row..stop_row, &mut state, y, local);
            first_row = stop_row;
        }
        let stop_row = first_row;
        if stop_row == state.row {
            state.sync = state.tail; // the whole bunch lies in one row
        } else if (stop_row as usize) < self.row_ptr.len() - 1 {
            y.range(stop_row as usize..stop_row as usize + 1)[0] = state.tail;
        }
        (state.row, state.sync)
    }

    /// `rows` runs from the tile's first row to its stop row.
    fn tile(
        &self,
        tile: u32,
        entries: Range<u32>,
        rows: Range<u32>,
        state: &mut Bunch<T::Accum>,
        y: &mut Rows<'_, T::Accum>,
        local: &mut Local<T::Accum>,
    ) {
        if rows.is_empty() {
            // Fast path: the whole tile lies in one row, which goes on.
            for entry in entries {
                state.tail += self.a.product(entry as usize);
            }
            return;
        }
        // STEP 2
        let dirty = self.mark(&entries, &rows, &mut local.starts);
        // STEP 3, STEP 4
        let n_sums = self.segmented_sum(&entries, local);
        local.sums[0] += state.tail;
        // STEP 6
        // A row that begins exactly at the tile's end has no segment here, so nothing to carry.
        let has_tail = self.row_ptr[rows.end as usize] < entries.end;
        state.tail = if has_tail { local.sums[n_sums - 1] } else { T::Accum::zero() };
        // STEP 5
        let stored = n_sums - usize::from(has_tail);
        let skip = usize::from(rows.start == state.row);
        if skip == 1 {
            state.sync = local.sums[0];
        }
        let first = rows.start as usize;
        y.range(first + skip..first + stored).copy_from_slice(&local.sums[skip..stored]);
        // STEP 7
        if dirty {
            let slot = self.dirty_count.fetch_add(1, Ordering::Relaxed);
            self.speculator[slot as usize].store(tile, Ordering::Relaxed);
        }
    }

    /// Sets a bit where a row starts, and says whether a row between the first and the stop row is empty.
    fn mark(&self, entries: &Range<u32>, rows: &Range<u32>, starts: &mut [u32]) -> bool {
        starts[..entries.len().div_ceil(32)].fill(0);
        starts[0] = 1;
        let mut dirty = false;
        for row in rows.start + 1..=rows.end {
            let offset = self.row_ptr[row as usize];
            if row < rows.end && self.row_ptr[row as usize + 1] == offset {
                dirty = true;
            } else if offset < entries.end {
                let bit = offset - entries.start;
                starts[bit as usize / 32] |= 1 << (bit % 32);
            }
        }
        dirty
    }

    /// One sum for each bit that is set, in order; returns how many.
    fn segmented_sum(&self, entries: &Range<u32>, local: &mut Local<T::Accum>) -> usize {
        let mut n_sums = 0;
        for (i, entry) in entries.clone().enumerate() {
            let product = self.a.product(entry as usize);
            if local.starts[i / 32] & 1 << (i % 32) != 0 {
                local.sums[n_sums] = product;
                n_sums += 1;
            } else {
                local.sums[n_sums - 1] += product;
            }
        }
        n_sums
    }
}
