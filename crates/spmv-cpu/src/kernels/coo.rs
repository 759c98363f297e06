// kernel: coo
// params: n_rows row_base nnz n_slots tiles epilogue alpha beta lo hi rows cols vals x carries z y
// steps:  1 a bunch takes S*W*T slots: entries, then rows without entries; 2 gather products and notice where rows
//         end; 3 sum and store whole rows; 4 finish the row that began before; 5 leave the last row's beginning
//         in carries[bunch]

use std::ops::Range;

use num_traits::Zero;
use spmv_core::Tiling;

use super::prelude::{Rows, for_carriers, output, store};
use crate::device_args::view;
use crate::launch::Launch;
use crate::simd::{Isa, Operand, SimdValue};

/// What every bunch reads.
struct Coo<'a, T: SimdValue> {
    isa: Isa,
    tiling: Tiling,
    alpha: T::Accum,
    beta: T::Accum,
    n_rows: usize,
    n_slots: u32,
    /// Of the entries alone, in their order.
    rows: &'a [u32],
    a: Operand<'a, T>,
}

pub(crate) fn run<T: SimdValue>(launch: Launch, args: view::Coo<'_, T>) {
    let view::Coo { n_rows, nnz, n_slots, tiles, alpha, beta, rows, cols, vals, x, carries, .. } = args;
    let (tiling, nnz) = (launch.tiling.with_tiles(tiles), nnz as usize);
    let a = Operand::<T>::new(cols.first(nnz), &vals[..nnz], x);
    let (isa, rows, y) = (launch.isa, &rows[..nnz], output!(args));
    let coo = Coo { isa, tiling, alpha, beta, n_rows: n_rows as usize, n_slots, rows, a };
    let carries = &mut carries[..tiling.n_bunches(n_slots) as usize];
    let bunches = tiling.bunches() as usize;
    for_carriers(launch.groups, bunches, &|bunch| coo.first_row(bunch), y, carries, &|bunch, y| {
        coo.bunch(bunch, y)
    });
}

impl<T: SimdValue> Coo<'_, T> {
    /// Slots of a bunch that hold entries.
    fn entries(&self, bunch: usize) -> Range<usize> {
        let slots = self.tiling.bunch_range(bunch as u32, self.n_slots);
        let clip = |slot: u32| (slot as usize).min(self.rows.len());
        clip(slots.start)..clip(slots.end)
    }

    /// The first row that a bunch writes. Bunches write rows up to the next one's first.
    fn first_row(&self, bunch: usize) -> usize {
        if bunch == 0 {
            return 0;
        }
        self.rows.get(self.entries(bunch).start).map_or(self.n_rows, |row| *row as usize)
    }

    /// Stores the rows that end in a bunch; returns what it sums of the row that goes on.
    ///
    /// Where there are slots for them, rows without entries are stored by the bunch of the entries before them: here it is
    /// rows in order that tasks can share, not slots.
    fn bunch(&self, bunch: usize, y: &mut Rows<'_, T::Accum>) -> T::Accum {
        let Self { isa, alpha, beta, rows, a, .. } = self;
        // STEP 1
        let entries = self.entries(bunch);
        let last = bunch as u32 + 1 == self.tiling.n_bunches(self.n_slots);
        let stop_row = if last { self.n_rows } else { self.first_row(bunch + 1) };
        let has_empty = self.n_slots as usize > rows.len();
        let fill = |y: &mut Rows<'_, T::Accum>, empty: Range<usize>| {
            if has_empty {
                y.range(empty.clone())
                    .iter_mut()
                    .for_each(|y| *y = store(*alpha, T::Accum::zero(), *beta, *y));
                y.clamp(empty);
            }
        };
        let (mut entry, mut next_row) = (entries.start, self.first_row(bunch));
        while entry < entries.end {
            // STEP 2
            let row = rows[entry];
            let stop = entry + rows[entry..entries.end].iter().take_while(|r| **r == row).count();
            let sum = T::dot(*isa, a, entry..stop);
            if rows.get(stop) == Some(&row) {
                // STEP 5
                fill(y, next_row..row as usize);
                return sum;
            }
            // STEP 3, STEP 4: what earlier bunches summed of the row comes with their carries.
            let row = row as usize;
            fill(y, next_row..row);
            let out = &mut y.range(row..row + 1)[0];
            *out = store(*alpha, sum, *beta, *out);
            // A row that began before is whole when carry_apply has added to it.
            let has_begun = entry == entries.start && entry > 0 && rows[entry - 1] as usize == row;
            if !has_begun {
                y.clamp(row..row + 1);
            }
            (entry, next_row) = (stop, row + 1);
        }
        fill(y, next_row..stop_row);
        T::Accum::zero()
    }
}
