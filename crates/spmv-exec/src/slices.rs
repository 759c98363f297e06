//! Slices of rows whose entries stand in the order in which lanes read them: the layout of `sell`.
//!
//! A slice has as many rows as make [`SLICE_LANES`] lanes of T each. A lane takes every T-th *run* of its row: up to W entries whose columns
//! follow each other, of which only the first is kept. Where the runs of a slice lie close together, a column takes 16 bits.

use std::cmp::Reverse;
use std::ops::Range;

use spmv_core::{CsrView, Tiling, Value, parts};

/// Lanes of a slice, unless those of one row are more.
const SLICE_LANES: usize = 32;
/// Padding that is accepted before rows are sorted in larger windows, over the slots of the rows themselves: 1 / 8.
const PADDING: u64 = 8;
/// How many times larger the next window is that is tried.
const WIDER: usize = 32;
/// Entries, or rows, of a thread at least.
const OF_A_THREAD: usize = 1 << 18;
/// The column of a run that is not there, in 16 bits.
const NONE: u32 = 0xffff;
/// Lengths of runs in a word, of two bits each.
const LENGTHS: usize = 16;

/// What follows from a tiling alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// T: lanes of a row.
    lanes: usize,
    /// Rows of a slice.
    rows: usize,
    /// W: entries of a run.
    width: usize,
}

impl Shape {
    pub(crate) fn of(tiling: &Tiling) -> Self {
        let lanes = tiling.lanes() as usize;
        Self { lanes, rows: (SLICE_LANES / lanes).max(1), width: tiling.width() as usize }
    }

    /// Rows of a slice.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Slots of a step: W for each lane of a slice.
    pub(crate) fn step(&self) -> usize {
        self.slice_lanes() * self.width
    }

    fn slice_lanes(&self) -> usize {
        self.lanes * self.rows
    }
}

/// What a kernel reads of a slice first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    first_slot: u32,
    first_word: u32,
    /// The least column, where columns have 16 bits; else 0.
    base: u32,
    n_steps: u32,
    is_narrow: bool,
    /// Whether there are runs of fewer than W entries.
    is_ragged: bool,
}

impl Header {
    fn numbers(&self) -> [u32; 4] {
        let flags = u32::from(self.is_narrow) | u32::from(self.is_ragged) << 1;
        [self.first_slot, self.first_word, self.base, self.n_steps << 2 | flags]
    }

    fn words_of_lengths(&self, shape: &Shape) -> usize {
        let words = if self.is_ragged { (self.n_steps as usize).div_ceil(LENGTHS) } else { 0 };
        words * shape.slice_lanes()
    }

    fn words(&self, shape: &Shape) -> usize {
        let n_steps = self.n_steps as usize;
        let of_columns = if self.is_narrow { n_steps.div_ceil(2) } else { n_steps };
        self.words_of_lengths(shape) + of_columns * shape.slice_lanes()
    }
}

/// A row, as far as slices ask.
#[derive(Clone, Copy, Debug)]
struct Row {
    n_runs: u32,
    least: u32,
    greatest: u32,
    is_ragged: bool,
}

/// Where everything stands; the entries themselves are [filled](Self::fill) in afterwards.
#[derive(Debug)]
pub(crate) struct Slices {
    shape: Shape,
    /// The row at each position.
    pub(crate) perm: Vec<u32>,
    pub(crate) is_sorted: bool,
    headers: Vec<Header>,
    /// Whether an entry begins a run.
    begins: Vec<bool>,
    n_slots: usize,
    n_words: usize,
}

impl Slices {
    /// Of a matrix; `None` if 32 bits do not count the slots. Sorts rows by their steps within the smallest window that pads at most an
    /// eighth more. O(entries + rows log rows), on all threads.
    pub(crate) fn new<V: Value>(a: CsrView<'_, V, u32>, shape: Shape) -> Option<Self> {
        let (begins, rows) = runs(a, shape.width);
        let steps = |row: &u32| (rows[*row as usize].n_runs as usize).div_ceil(shape.lanes);
        let (perm, is_sorted) = order(rows.len(), &shape, &steps);
        let (mut n_slots, mut n_words) = (0usize, 0usize);
        let mut headers = Vec::with_capacity(perm.len().div_ceil(shape.rows));
        for of_slice in perm.chunks(shape.rows) {
            let held = of_slice.iter().map(|row| &rows[*row as usize]).filter(|row| row.n_runs > 0);
            let least = held.clone().map(|row| row.least).min().unwrap_or(0);
            let greatest = held.clone().map(|row| row.greatest).max().unwrap_or(0);
            let is_narrow = greatest - least < NONE;
            let header = Header {
                first_slot: u32::try_from(n_slots).ok()?,
                first_word: u32::try_from(n_words).ok()?,
                base: if is_narrow { least } else { 0 },
                n_steps: of_slice.iter().map(steps).max().unwrap_or(0) as u32,
                is_narrow,
                is_ragged: held.clone().any(|row| row.is_ragged),
            };
            n_slots += header.n_steps as usize * shape.step();
            n_words += header.words(&shape);
            headers.push(header);
        }
        let counted = u32::try_from(n_slots).is_ok() && u32::try_from(n_words).is_ok();
        counted.then_some(Self { shape, perm, is_sorted, headers, begins, n_slots, n_words })
    }

    /// Four numbers for each slice.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.headers.iter().flat_map(Header::numbers).collect()
    }

    pub(crate) fn n_slots(&self) -> usize {
        self.n_slots
    }

    pub(crate) fn n_words(&self) -> usize {
        self.n_words
    }

    pub(crate) fn n_slices(&self) -> usize {
        self.headers.len()
    }

    /// Where the slots and words of a slice begin; those of the slice behind the last are the ends.
    pub(crate) fn starts(&self, slice: usize) -> (usize, usize) {
        match self.headers.get(slice) {
            Some(header) => (header.first_slot as usize, header.first_word as usize),
            None => (self.n_slots, self.n_words),
        }
    }

    /// The first slice behind `first` whose slots begin at `slot` or later; the number of slices, if none does.
    pub(crate) fn first_beyond(&self, first: usize, slot: usize) -> usize {
        let rest = &self.headers[first + 1..];
        first + 1 + rest.partition_point(|header| (header.first_slot as usize) < slot)
    }

    /// Slots and words of some slices, on all threads. What was in them before is overwritten.
    pub(crate) fn fill<V: Value>(
        &self,
        a: CsrView<'_, V, u32>,
        slices: Range<usize>,
        words: &mut [u32],
        vals: &mut [V],
    ) {
        let threads = parts::threads(vals.len(), OF_A_THREAD);
        let of_threads: Vec<_> = parts::cut(slices.len(), threads)
            .map(|part| slices.start + part.start..slices.start + part.end)
            .collect();
        let held = |part: &Range<usize>| {
            let ((slot, word), (slots_end, words_end)) = (self.starts(part.start), self.starts(part.end));
            (slots_end - slot, words_end - word)
        };
        let words = parts::split(words, of_threads.iter().map(|part| held(part).1));
        let vals = parts::split(vals, of_threads.iter().map(|part| held(part).0));
        parts::map(of_threads.into_iter().zip(words.into_iter().zip(vals)), |(part, (words, vals))| {
            words.fill(u32::MAX);
            vals.fill(V::from_f64(0.0));
            let (first_slot, first_word) = self.starts(part.start);
            for slice in part {
                let header = &self.headers[slice];
                let lengths = header.first_word as usize - first_word;
                let columns = lengths + header.words_of_lengths(&self.shape);
                let slice_lanes = self.shape.slice_lanes();
                self.for_each_of_slice(a.row_ptr(), slice, |position, entry| {
                    let Position { step, lane, of_run, slot } = position;
                    vals[slot - first_slot] = a.vals()[entry];
                    if of_run == 0 {
                        let code = a.cols()[entry] - header.base;
                        if header.is_narrow {
                            let (word, shift) = (columns + step / 2 * slice_lanes + lane, step % 2 * 16);
                            words[word] = words[word] & !(NONE << shift) | code << shift;
                        } else {
                            words[columns + step * slice_lanes + lane] = code;
                        }
                    }
                    if header.is_ragged {
                        let (word, shift) =
                            (lengths + step / LENGTHS * slice_lanes + lane, step % LENGTHS * 2);
                        words[word] = words[word] & !(3 << shift) | (of_run as u32) << shift;
                    }
                });
            }
        });
    }

    /// Calls `f` with every slot that has an entry, and with that.
    pub(crate) fn for_each(&self, row_ptr: &[u32], mut f: impl FnMut(usize, u32)) {
        for slice in 0..self.headers.len() {
            self.for_each_of_slice(row_ptr, slice, |position, entry| f(position.slot, entry as u32));
        }
    }

    fn for_each_of_slice(&self, row_ptr: &[u32], slice: usize, mut f: impl FnMut(Position, usize)) {
        let Shape { lanes, rows, width } = self.shape;
        let first = self.headers[slice].first_slot as usize;
        let positions = slice * rows..self.perm.len().min((slice + 1) * rows);
        for (at, row) in self.perm[positions].iter().enumerate() {
            let entries = row_ptr[*row as usize] as usize..row_ptr[*row as usize + 1] as usize;
            let (mut n_runs, mut of_run) = (0, 0);
            for entry in entries {
                (n_runs, of_run) = if self.begins[entry] { (n_runs + 1, 0) } else { (n_runs, of_run + 1) };
                let (step, lane) = ((n_runs - 1) / lanes, at * lanes + (n_runs - 1) % lanes);
                let slot = first + (step * width + of_run) * self.shape.slice_lanes() + lane;
                f(Position { step, lane, of_run, slot }, entry);
            }
        }
    }
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
struct Position {
    step: usize,
    /// Of the slice.
    lane: usize,
    /// Entries before it in its run.
    of_run: usize,
    slot: usize,
}

/// Which entries begin a run of at most `width`, and what each row has.
fn runs<V: Value>(a: CsrView<'_, V, u32>, width: usize) -> (Vec<bool>, Vec<Row>) {
    let mut begins = vec![true; a.nnz()];
    let threads = parts::threads(a.nnz().max(a.n_rows()), OF_A_THREAD);
    let of_threads: Vec<_> = parts::cut(a.n_rows(), threads).collect();
    let n_entries = |rows: &Range<usize>| (a.row_ptr()[rows.end] - a.row_ptr()[rows.start]) as usize;
    let begins_of = parts::split(&mut begins, of_threads.iter().map(n_entries));
    let rows = parts::map(of_threads.into_iter().zip(begins_of), |(rows, mut begins)| {
        let row = |row: usize| {
            let cols = &a.cols()[a.row_range(row)];
            let (of_row, rest) = std::mem::take(&mut begins).split_at_mut(cols.len());
            begins = rest;
            runs_of_row(cols, width, of_row)
        };
        rows.map(row).collect::<Vec<_>>()
    });
    (begins, rows.concat())
}

fn runs_of_row(cols: &[u32], width: usize, begins: &mut [bool]) -> Row {
    let mut row = Row { n_runs: 0, least: u32::MAX, greatest: 0, is_ragged: false };
    let mut len = width;
    for (at, col) in cols.iter().enumerate() {
        let follows = at > 0 && Some(*col) == cols[at - 1].checked_add(1);
        begins[at] = !follows || len == width;
        if begins[at] {
            row.is_ragged |= len < width;
            row.n_runs += 1;
            len = 0;
            // Only the first columns of runs are kept.
            (row.least, row.greatest) = (row.least.min(*col), row.greatest.max(*col));
        }
        len += 1;
    }
    row.is_ragged |= len < width;
    row
}

/// Rows by position, and whether that is another order than their own.
fn order(n_rows: usize, shape: &Shape, steps: &(impl Fn(&u32) -> usize + Sync)) -> (Vec<u32>, bool) {
    let mut perm: Vec<u32> = (0..n_rows as u32).collect();
    let own: u64 = perm.iter().map(|row| steps(row) as u64).sum();
    let mut window = shape.rows;
    loop {
        let of_slice = |rows: &[u32]| (rows.iter().map(steps).max().unwrap_or(0) * shape.rows) as u64;
        let held: u64 = perm.chunks(shape.rows).map(of_slice).sum();
        if window >= n_rows || held <= own + own / PADDING {
            return (perm, window > shape.rows);
        }
        window = window.saturating_mul(WIDER);
        let n_windows = n_rows.div_ceil(window);
        let threads = parts::threads(n_rows, OF_A_THREAD).min(n_windows);
        let of_threads = perm.chunks_mut(n_windows.div_ceil(threads).saturating_mul(window));
        // Rows with as many steps stay in their order.
        parts::map(of_threads, |rows| {
            rows.chunks_mut(window).for_each(|rows| rows.sort_by_key(|row| Reverse(steps(row))));
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_core::Csr;

    use super::*;

    fn shape(lanes: u32, width: u32) -> Shape {
        Shape::of(&Tiling::new(lanes, width, 1, 1).unwrap())
    }

    fn filled(a: &Csr<f64>, slices: &Slices) -> (Vec<u32>, Vec<f64>) {
        let (mut words, mut vals) = (vec![7; slices.n_words()], vec![7.0; slices.n_slots()]);
        slices.fill(a.view(), 0..slices.n_slices(), &mut words, &mut vals);
        (words, vals)
    }

    /// `y` by what a kernel reads.
    fn multiplied(
        slices: &Slices,
        (words, vals): &(Vec<u32>, Vec<f64>),
        n_rows: usize,
        x: &[f64],
    ) -> Vec<f64> {
        let Shape { lanes, rows, width } = slices.shape;
        let (numbers, slice_lanes) = (slices.numbers(), slices.shape.slice_lanes());
        let mut y = vec![0.0; n_rows];
        for (position, row) in slices.perm.iter().enumerate() {
            let [slot, lengths, base, flags] =
                std::array::from_fn(|i| numbers[position / rows * 4 + i] as usize);
            let (n_steps, narrow, ragged) = (flags / 4, flags & 1 != 0, flags & 2 != 0);
            let cols = lengths + if ragged { n_steps.div_ceil(16) * slice_lanes } else { 0 };
            for (step, lane) in (0..n_steps).flat_map(|step| (0..lanes).map(move |lane| (step, lane))) {
                let at = position % rows * lanes + lane;
                let col = match narrow {
                    true => words[cols + step / 2 * slice_lanes + at] >> (step % 2 * 16) & 0xffff,
                    false => words[cols + step * slice_lanes + at],
                };
                if col == if narrow { 0xffff } else { u32::MAX } {
                    continue;
                }
                let len = match ragged {
                    true => {
                        (words[lengths + step / 16 * slice_lanes + at] >> (step % 16 * 2) & 3) as usize + 1
                    }
                    false => width,
                };
                for j in 0..len {
                    let val = vals[slot + (step * width + j) * slice_lanes + at];
                    y[*row as usize] += val * x[base + col as usize + j];
                }
            }
        }
        y
    }

    #[test]
    fn a_run_has_one_column_and_a_short_one_says_so() {
        let rows = [vec![3, 4, 5, 9], vec![], vec![70_000]];
        let entries = |cols: &Vec<u32>| cols.iter().map(|col| (*col, f64::from(*col))).collect::<Vec<_>>();
        let a = Csr::from_rows(100_000, rows.iter().map(entries)).unwrap();
        let slices = Slices::new(a.view(), shape(1, 3)).unwrap();
        assert!(!slices.is_sorted && slices.perm == [0, 1, 2], "three rows are one slice");
        // Two steps, columns of 32 bits, runs of fewer entries than three.
        assert_eq!(slices.numbers(), [0, 0, 0, 2 << 2 | 2]);
        let (words, vals) = filled(&a, &slices);
        assert_eq!((words.len(), vals.len()), (3 * 32, 2 * 3 * 32));
        assert_eq!(words[0] & 15, 2, "three entries, then one");
        assert_eq!((words[32..35].to_vec(), words[64]), (vec![3, u32::MAX, 70_000], 9));
        assert_eq!([vals[0], vals[32], vals[64], vals[96], vals[128]], [3.0, 4.0, 5.0, 9.0, 0.0]);
    }

    #[test]
    fn columns_take_16_bits_where_they_lie_close_together() {
        let of = |far: u32| {
            let a = Csr::from_rows(200_000, [[(1000, 1.0f64), (1000 + far, 2.0)]]).unwrap();
            let slices = Slices::new(a.view(), shape(1, 1)).unwrap();
            (slices.numbers(), filled(&a, &slices).0)
        };
        let (numbers, words) = of(65_534);
        assert_eq!((numbers, words[0], words.len()), (vec![0, 0, 1000, 2 << 2 | 1], 65_534 << 16, 32));
        let (numbers, words) = of(65_535);
        assert_eq!((numbers, words[0], words[32], words.len()), (vec![0, 0, 0, 2 << 2], 1000, 66_535, 64));
    }

    #[test]
    fn rows_with_as_many_steps_stay_in_their_order() {
        let lens = |n: usize| (0..n).map(|row| if row % 7 == 0 { 40 } else { 3 });
        let entries = |len: u32| (0..len).map(|col| (col * 2, 1.0f64));
        let a = Csr::from_rows(100, lens(200).map(entries)).unwrap();
        let slices = Slices::new(a.view(), shape(1, 1)).unwrap();
        assert!(slices.is_sorted);
        let of = |long| (0..200u32).filter(move |row| row.is_multiple_of(7) == long);
        assert!(slices.perm.iter().copied().eq(of(true).chain(of(false))));
    }

    #[test]
    fn many_entries_are_filled_by_several_threads() {
        let n = 70_000u32;
        let entries = |row: u32| (0..20).map(move |i| ((row + i * i) % n, f64::from(row % 97 + i)));
        let a = Csr::from_rows(n as usize, (0..n).map(entries)).unwrap();
        let slices = Slices::new(a.view(), shape(2, 2)).unwrap();
        let x: Vec<f64> = (0..n).map(|col| f64::from(col % 13)).collect();
        let y = multiplied(&slices, &filled(&a, &slices), n as usize, &x);
        let expected = |row: u32| entries(row).map(|(col, val)| val * x[col as usize]).sum::<f64>();
        assert!((0..n).all(|row| y[row as usize] == expected(row)));
        // In two batches.
        let (mut words, mut vals) = (vec![0; slices.n_words()], vec![0.0; slices.n_slots()]);
        let mid = slices.first_beyond(0, slices.n_slots() / 2);
        let ((slot, word), n_slices) = (slices.starts(mid), slices.n_slices());
        slices.fill(a.view(), 0..mid, &mut words[..word], &mut vals[..slot]);
        slices.fill(a.view(), mid..n_slices, &mut words[word..], &mut vals[slot..]);
        assert_eq!(multiplied(&slices, &(words, vals), n as usize, &x), y);
    }

    proptest! {
        #[test]
        fn every_entry_is_multiplied_once(
            rows in prop::collection::vec(prop::collection::vec((0u32..12, 0u32..5), 0..9), 0..90),
            lanes in prop_oneof![Just(1u32), Just(2), Just(8), Just(32), Just(33)],
            width in 1u32..=4,
        ) {
            // Runs of columns, in any order, some of them twice.
            let entries = |runs: &Vec<(u32, u32)>| {
                let cols = runs.iter().flat_map(|(first, len)| (0..*len).map(move |i| 6 * first + i));
                cols.enumerate().map(|(at, col)| (col, at as f64 + 1.0)).collect::<Vec<_>>()
            };
            let row_ptr: Vec<u32> = std::iter::once(0).chain(rows.iter().map(|row| entries(row).len() as u32)
                .scan(0, |sum, len| { *sum += len; Some(*sum) })).collect();
            let all: Vec<_> = rows.iter().flat_map(entries).collect();
            let (cols, vals) = all.iter().copied().unzip();
            let a = Csr::new(rows.len(), 80, row_ptr, cols, vals).unwrap();
            let slices = Slices::new(a.view(), shape(lanes, width)).unwrap();
            let x: Vec<f64> = (0..80).map(|col| f64::from(col) - 30.0).collect();
            let y = multiplied(&slices, &filled(&a, &slices), rows.len(), &x);
            for (row, sum) in rows.iter().zip(y) {
                prop_assert_eq!(sum, entries(row).iter().map(|(col, val)| val * x[*col as usize]).sum::<f64>());
            }
            let mut entries_of_slots = vec![None; slices.n_slots()];
            slices.for_each(a.row_ptr(), |slot, entry| entries_of_slots[slot] = Some(entry));
            prop_assert_eq!(entries_of_slots.iter().flatten().count(), a.nnz());
        }
    }
}
