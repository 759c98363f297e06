//! Slices of rows whose entries stand in the order in which lanes read them: the layout of `sell`.
//!
//! A slice has 32 lanes, or eight where one lane of a device takes all of it, and T for each of its rows. A lane takes every T-th *run* of its
//! row: up to W entries whose columns follow each other, of which only the first is kept. Where the runs of a slice lie close together, a column
//! takes 16 bits. In a *stepped* slice each row has the columns of the row before plus one, and those of the first row are all that is kept. Rows
//! that would keep their T lanes longer than others get more, in slices between those of the rows around them. The longest go over several
//! slices, which come first.

mod columns;
mod fill;
mod header;
mod lay;
mod long;
mod order;
mod runs;
mod shape;

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::ops::Range;

use spmv_core::format::SliceHeader;
use spmv_core::{CsrView, Tiling, Value, parts};

use crate::error::Result;
use crate::pages::Pages;

pub(crate) use columns::{Columns, Cut, held_of_x, n_blocks, of_a_block};
use fill::{fill, runs};
use header::{Ends, Slice};
use lay::{InOrder, Marked, OF_A_THREAD, lay};
use long::{Lanes, Long, NONE, Part};
use order::{OfRows, Short};
use runs::{NO_RUNS, Runs, are_stepped, marks};
use shape::Limits;
pub(crate) use shape::Shape;

/// Lanes of a slice: one of these.
const FEW_LANES: usize = Tiling::FEW_SLICE_LANES as usize;
const MOST_LANES: usize = Tiling::MOST_SLICE_LANES as usize;
/// Slots of a thread that fills them, at least.
const SLOTS_OF_A_THREAD: usize = 1 << 15;

/// Where everything stands; the entries themselves are [filled](Self::fill) in afterwards.
#[derive(Debug)]
pub(crate) struct Slices {
    shape: Shape,
    n_rows: usize,
    /// The row at each position, or [`NONE`]; empty where rows are in their own order.
    perm: Vec<u32>,
    /// Of the first slices.
    parts: Vec<Part>,
    /// Slices up to the last whose rows have more lanes than T, or are cut.
    n_long: usize,
    headers: Vec<[u32; 4]>,
    /// Whether an entry goes on with the run of the one before; empty where runs have one entry.
    follows: Vec<bool>,
    ends: Ends,
}

impl Slices {
    /// Of a matrix; `None` if 32 bits do not count the slots. Sorts long rows, and the others by their steps within the smallest window
    /// that pads at most an eighth more. O(entries + rows) on all threads, and long rows by one.
    pub(crate) fn new<V: Value>(a: CsrView<'_, V, u32>, shape: Shape) -> Option<Self> {
        let mut in_order = InOrder::of(a, shape);
        let (n_rows, of_slice) = (a.n_rows(), shape.rows());
        let counted = std::mem::take(&mut in_order.counted);
        let limits = Limits::of(shape, n_rows, counted.steps.own as usize, counted.n_runs);
        let mut rows = counted.longer;
        rows.retain(|(_, n_runs)| limits.are_long(shape.steps(*n_runs as usize)));
        let short = Short::without(rows.iter().map(|(row, _)| *row), n_rows);
        let known = rows.is_empty().then_some(counted.steps);
        let many = |row: usize| shape.steps(in_order.marked.n_runs(a.row_range(row), row));
        let steps = OfRows { few: &in_order.steps, many };
        // Where rows are in their own order, nobody asks.
        let firsts = LazyCell::new(|| steps.firsts_of_writers(shape));
        let of_long: &[u32] = if rows.is_empty() { &[] } else { &firsts };
        let long = Long::of(a, &in_order.marked.follows, shape, &limits, &rows, of_long);
        let n_slices = long.n_slices() + short.len().div_ceil(of_slice);
        // Rows in their own order do not write it, and pages that are not written cost nothing.
        let mut perm = vec![0; n_slices * of_slice];
        let of_others = &mut perm[long.n_slices() * of_slice..];
        let (of_short, none) = of_others.split_at_mut(short.len());
        let firsts = LazyCell::new(|| {
            let n_long = |first: u32| rows.partition_point(|(row, _)| *row < first);
            let position = |first: &u32| (*first as usize - n_long(*first)) / of_slice * of_slice;
            firsts.iter().map(position).collect()
        });
        let is_sorted = short.order(of_short, shape, &firsts, known, &steps);
        let InOrder { headers, ends, marked: Marked { follows, of_rows }, .. } = in_order;
        if !is_sorted && rows.is_empty() {
            let (perm, parts) = (Vec::new(), Vec::new());
            return Some(Self { shape, n_rows, perm, parts, n_long: 0, headers, follows, ends: ends? });
        }
        none.fill(NONE);
        let lanes = long.lay(&mut perm, shape);
        let (parts, n_long, ends) = (long.parts, lanes.len(), Ends::default());
        Self { shape, n_rows, perm, parts, n_long, headers, follows, ends }.laid(a, &lanes, &of_rows)
    }

    /// Of rows that have entries, each in one stripe of columns: those of a stripe after those of the one before. `None` as above. In a
    /// stripe, rows are sorted, and have as many lanes as their length wants. O(rows log(rows of a stripe)), besides marking runs.
    pub(crate) fn by_stripes<V: Value>(
        a: CsrView<'_, V, u32>,
        shape: Shape,
        columns: Columns,
    ) -> Option<Self> {
        let (n_rows, n_stripes) = (a.n_rows(), columns.n_stripes());
        let stripe = |row: usize| columns.stripe(a.cols()[a.row_range(row).start]);
        let marked = if shape.width > 1 { InOrder::of(a, shape).marked } else { Marked::default() };
        let short_steps = shape.short_steps(a.nnz() / shape.lanes, n_rows);
        let threads = parts::threads(n_rows, OF_A_THREAD);
        let found = parts::map(parts::cut(n_rows, threads), |rows| {
            let mut of_stripes = vec![Vec::new(); n_stripes];
            rows.for_each(|row| of_stripes[stripe(row)].push(row as u32));
            of_stripes
        });
        let laid = parts::map(parts::cut(n_stripes, threads), |stripes| {
            let mut all = Lanes::default();
            for stripe in stripes {
                let rows = &mut found.iter().flat_map(|of| &of[stripe]).copied().collect::<Vec<u32>>();
                let n_runs = |row: u32| marked.n_runs(a.row_range(row as usize), row as usize);
                rows.sort_by_cached_key(|row| Reverse(n_runs(*row)));
                all.push_sorted(rows, |at| n_runs(rows[at]), short_steps, shape);
            }
            all
        });
        let (perm, lanes): (Vec<_>, Vec<_>) = laid.into_iter().map(|of| (of.perm, of.lanes)).unzip();
        let (perm, lanes) = (perm.concat(), lanes.concat());
        let (parts, headers, ends) = (Vec::new(), Vec::new(), Ends::default());
        let Marked { follows, of_rows } = marked;
        Self { shape, n_rows, perm, parts, n_long: lanes.len(), headers, follows, ends }
            .laid(a, &lanes, &of_rows)
    }

    /// Fills in the headers of all slices, by the rows in `perm`. `lanes` has the lanes of a row in the first slices; rows of the others have
    /// T. What rows have is known where runs have several entries. `None` if 32 bits do not count the slots.
    fn laid<V: Value>(mut self, a: CsrView<'_, V, u32>, lanes: &[u32], of_rows: &[[u32; 4]]) -> Option<Self> {
        let mut headers = std::mem::take(&mut self.headers);
        let shape = self.shape;
        headers.resize(self.perm.len() / shape.rows(), [0; 4]);
        let of_threads = parts::cut(headers.len(), parts::threads(a.nnz().max(a.n_rows()), OF_A_THREAD));
        let of_threads = of_threads.map(|slices| (slices, ())).collect();
        let (ends, _) = lay(&mut headers, shape, of_threads, |(), slice| {
            let rows = &self.rows_of_slice::<MOST_LANES>(a.row_ptr(), slice)[..shape.rows()];
            let is_part = slice < self.parts.len();
            let runs = if is_part || of_rows.is_empty() {
                let of_row = |row: &Range<u32>| {
                    let row = row.start as usize..row.end as usize;
                    Runs::of(&a.cols()[row.clone()], shape, marks(&self.follows, row))
                };
                rows.iter().map(of_row).fold(NO_RUNS, Runs::and)
            } else {
                let of_slice = &self.perm[slice * shape.rows()..(slice + 1) * shape.rows()];
                let known = of_slice.iter().filter_map(|row| of_rows.get(*row as usize));
                known.map(|numbers| Runs::of_numbers(*numbers)).fold(NO_RUNS, Runs::and)
            };
            let lanes = lanes.get(slice).map_or(shape.lanes as u32, |lanes| *lanes);
            let is_stepped = !is_part
                && lanes == shape.lanes as u32
                && are_stepped(a.cols(), shape, shape.steps(runs.n as usize), rows.iter().cloned());
            Slice { runs, lanes, is_part, is_stepped }
        });
        Some(Self { headers, ends: ends?, ..self })
    }

    /// The row at each position, or the greatest number; empty where rows are not [sorted](Self::is_sorted).
    pub(crate) fn perm(&self) -> &[u32] {
        &self.perm
    }

    pub(crate) fn is_sorted(&self) -> bool {
        !self.perm.is_empty()
    }

    /// Four numbers for each slice.
    pub(crate) fn numbers(&self) -> &[u32] {
        self.headers.as_flattened()
    }

    pub(crate) fn n_slots(&self) -> usize {
        self.ends.slots
    }

    pub(crate) fn n_words(&self) -> usize {
        self.ends.words
    }

    pub(crate) fn n_slices(&self) -> usize {
        self.headers.len()
    }

    pub(crate) fn n_long(&self) -> usize {
        self.n_long
    }

    /// Zero, and the row of each slice that has a part of one; what `carry_apply` takes.
    pub(crate) fn rows_of_parts(&self) -> Vec<u32> {
        let rows = self.parts.iter().map(|part| self.perm[part.first as usize * self.shape.rows()]);
        std::iter::once(0).chain(rows).collect()
    }

    /// Of each slice that has a part of a row: the first slice of the row, how many it has, the first entry of the part and the one behind its
    /// last.
    pub(crate) fn numbers_of_parts(&self) -> Vec<[u32; 4]> {
        self.parts.iter().map(|part| [part.first, part.n, part.entries.start, part.entries.end]).collect()
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How slices are cut.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Where the slots and words of a slice begin; those of the slice behind the last are the ends.
    pub(crate) fn starts(&self, slice: usize) -> (usize, usize) {
        match self.headers.get(slice) {
            Some([slot, word, ..]) => (*slot as usize, *word as usize),
            None => (self.ends.slots, self.ends.words),
        }
    }

    /// The first slice behind `first` whose slots begin at `slot` or later; the number of slices, if none does.
    pub(crate) fn first_beyond(&self, first: usize, slot: usize) -> usize {
        let rest = &self.headers[first + 1..];
        first + 1 + rest.partition_point(|numbers| (numbers[0] as usize) < slot)
    }

    /// Slots and words of some slices, on all threads. What was in them before is overwritten.
    pub(crate) fn fill<V: Value>(
        &self,
        a: CsrView<'_, V, u32>,
        slices: Range<usize>,
        words: &mut [u32],
        vals: &mut [V],
    ) {
        let of_threads = self.of_threads(slices, vals.len());
        let starts = |part: &Range<usize>| [self.starts(part.start), self.starts(part.end)];
        let n_slots = of_threads.iter().map(starts).map(|[first, end]| end.0 - first.0);
        let n_words = of_threads.iter().map(starts).map(|[first, end]| end.1 - first.1);
        let (words, vals) = (parts::split(words, n_words), parts::split(vals, n_slots));
        parts::map(
            of_threads.into_iter().zip(words.into_iter().zip(vals)),
            |(part, (mut words, mut vals))| {
                for slice in part {
                    let [first, end] = starts(&(slice..slice + 1));
                    let of_slice;
                    (of_slice, words) = words.split_at_mut(end.1 - first.1);
                    let slots;
                    (slots, vals) = vals.split_at_mut(end.0 - first.0);
                    match self.shape.slice_lanes {
                        FEW_LANES => self.fill_slice::<V, FEW_LANES>(a, slice, of_slice, slots),
                        _ => self.fill_slice::<V, MOST_LANES>(a, slice, of_slice, slots),
                    }
                }
            },
        );
    }

    /// Some slices, cut so that threads have about as many slots.
    fn of_threads(&self, slices: Range<usize>, n_slots: usize) -> Vec<Range<usize>> {
        let (threads, first_slot) = (parts::threads(n_slots, SLOTS_OF_A_THREAD), self.starts(slices.start).0);
        let of_slices = &self.headers[slices.clone()];
        let first = |thread: usize| {
            let slot = first_slot + (n_slots as u64 * thread as u64 / threads as u64) as usize;
            slices.start + of_slices.partition_point(|numbers| (numbers[0] as usize) < slot)
        };
        let firsts = (0..threads).map(first).chain([slices.end]).collect::<Vec<_>>();
        firsts.windows(2).map(|ends| ends[0]..ends[1]).collect()
    }

    fn fill_slice<V: Value, const N: usize>(
        &self,
        a: CsrView<'_, V, u32>,
        slice: usize,
        words: &mut [u32],
        vals: &mut [V],
    ) {
        let header = SliceHeader::of(self.headers[slice]);
        let (of_part, words) = words.split_at_mut(header.words_of_part(N));
        if let Some(part) = self.parts.get(slice) {
            of_part.fill(NONE);
            (of_part[0], of_part[1]) = (part.first, part.n);
        }
        let rows = self.rows_of_slice::<N>(a.row_ptr(), slice);
        fill::<V, N>(a, &header, self.shape.width, rows, &self.follows, words, vals);
    }

    /// The entry of each slot, or `none`, on all threads. The entries of a row follow each other from `first` of it on.
    pub(crate) fn entries_of_slots(
        &self,
        row_ptr: &[u32],
        first: impl Fn(usize) -> u32 + Sync,
        none: u32,
    ) -> Result<Pages<u32>> {
        let mut all = Pages::new(self.n_slots())?;
        let of_threads = self.of_threads(0..self.n_slices(), all.len());
        let n_slots = of_threads.iter().map(|part| self.starts(part.end).0 - self.starts(part.start).0);
        let slots = parts::split(&mut all, n_slots);
        parts::map(of_threads.into_iter().zip(slots), |(part, slots)| {
            slots.fill(none);
            let first_slot = self.starts(part.start).0;
            part.for_each(|slice| {
                self.list(slice, row_ptr, &first, &mut slots[self.starts(slice).0 - first_slot..])
            });
        });
        Ok(all)
    }

    /// Writes to the slots of a slice which entries they have.
    fn list(&self, slice: usize, row_ptr: &[u32], first: impl Fn(usize) -> u32, slots: &mut [u32]) {
        let Shape { slice_lanes, width, .. } = self.shape;
        let lanes = SliceHeader::of(self.headers[slice]).lanes;
        let first_position =
            self.parts.get(slice).map_or(slice, |part| part.first as usize) * self.shape.rows();
        let rows = self.rows_of_slice::<MOST_LANES>(row_ptr, slice).into_iter().enumerate();
        for (at, entries) in rows.filter(|(_, entries)| !entries.is_empty()) {
            let position = first_position + at;
            let row = if self.is_sorted() { self.perm[position] as usize } else { position };
            let first = first(row);
            for taken in runs(entries, &self.follows, at * lanes..(at + 1) * lanes) {
                let slot = taken.step * width * slice_lanes + taken.lane;
                let entry = first + (taken.first as u32 - row_ptr[row]);
                (0..taken.len).for_each(|i| slots[slot + i * slice_lanes] = entry + i as u32);
            }
        }
    }

    /// The entries of each row of a slice, or of its part of a row. All are found before the first is read: rows need not be near each other.
    #[inline]
    fn rows_of_slice<const N: usize>(&self, row_ptr: &[u32], slice: usize) -> [Range<u32>; N] {
        let mut rows = [const { 0..0 }; N];
        if let Some(part) = self.parts.get(slice) {
            rows[0] = part.entries.clone();
            return rows;
        }
        let of_slice = self.shape.rows();
        let first = slice * of_slice;
        for (at, of_row) in rows[..of_slice].iter_mut().enumerate() {
            let row = if self.is_sorted() { self.perm[first + at] as usize } else { first + at };
            if row < self.n_rows {
                *of_row = row_ptr[row]..row_ptr[row + 1];
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests;
