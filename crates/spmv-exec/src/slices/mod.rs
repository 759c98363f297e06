//! Slices of rows whose entries stand in the order in which lanes read them: the layout of `sell`.
//!
//! A slice has 32 lanes, T for each of its rows. A lane takes every T-th *run* of its row: up to W entries whose columns follow each other,
//! of which only the first is kept. Where the runs of a slice lie close together, a column takes 16 bits. Rows that would keep their T
//! lanes longer than others get more, in slices before those of other rows, and the longest go over several slices.

use std::cmp::Reverse;
use std::ops::Range;

use spmv_core::{CsrView, Tiling, Value, parts};

const SLICE_LANES: usize = Tiling::SLICE_LANES as usize;
/// Padding that is accepted before rows are sorted in larger windows, over the slots of the rows themselves: 1 / 8.
const PADDING: u64 = 8;
/// How many times larger the next window is that is tried.
const WIDER: usize = 32;
/// Steps of a row up to which it is not long, whatever the others have, and up to which no slice of a long row is shorter.
const FEW_STEPS: usize = 16;
/// Steps over those of the mean row up to which a row is not long.
const LONG: usize = 4;
/// Steps of a slice of a row that goes over several, at most.
const MOST_STEPS: usize = 128;
/// Slices that a compute unit should have before those of one row are longer than [`FEW_STEPS`].
const BUSY_SLICES: usize = 64;
/// Entries, or rows, of a thread at least.
const OF_A_THREAD: usize = 1 << 18;
/// The column of a run that is not there, in 16 bits.
const NARROW_NONE: u32 = 0xffff;
/// The number of a row that is not there.
const NONE: u32 = u32::MAX;
/// Lengths of runs in a word, of two bits each.
const LENGTHS: usize = 16;

/// What follows from a tiling and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// T: lanes of a row.
    lanes: usize,
    /// W: entries of a run.
    width: usize,
    /// Compute units; `None` where one lane takes whole slices, which leaves rows whole.
    units: Option<usize>,
}

impl Shape {
    pub(crate) fn of(tiling: &Tiling, units: u32) -> Self {
        let cuts = tiling.group_lanes() > 1;
        Self {
            lanes: tiling.lanes() as usize,
            width: tiling.width() as usize,
            units: cuts.then_some((units as usize).max(1)),
        }
    }

    /// Whether slices are laid out for such a tiling: groups take whole ones, or a lane does.
    pub(crate) fn holds(tiling: &Tiling) -> bool {
        let lanes = tiling.lanes();
        let whole = lanes.is_power_of_two() && tiling.group_lanes().is_multiple_of(Tiling::SLICE_LANES);
        tiling.group_lanes() == 1 || whole && lanes <= Tiling::SLICE_LANES
    }

    /// Rows of a slice at most.
    pub(crate) fn rows(&self) -> usize {
        SLICE_LANES / self.lanes
    }

    /// Slots of a step.
    pub(crate) fn step(&self) -> usize {
        SLICE_LANES * self.width
    }

    /// Steps of T lanes that a row may take without being long, where all rows take so many.
    pub(crate) fn short_steps(&self, steps: usize, n_rows: usize) -> usize {
        (LONG * steps / n_rows.max(1)).max(FEW_STEPS)
    }

    /// Steps of a slice at most that has a part of a row, of that many runs of all rows.
    pub(crate) fn steps_of_a_part(&self, n_runs: usize) -> usize {
        let busy = |units: usize| n_runs / SLICE_LANES / (units * BUSY_SLICES);
        self.units.map_or(usize::MAX, |units| busy(units).clamp(FEW_STEPS, MOST_STEPS))
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
    /// Lanes of a row.
    lanes: u32,
    is_narrow: bool,
    /// Whether there are runs of fewer than W entries.
    is_ragged: bool,
    /// Whether its row goes over several slices.
    is_part: bool,
}

impl Header {
    /// Bits before the steps.
    const FLAGS: u32 = 6;

    fn numbers(&self) -> [u32; 4] {
        let flags = u32::from(self.is_narrow) | u32::from(self.is_ragged) << 1 | u32::from(self.is_part) << 5;
        let flags = flags | self.lanes.ilog2() << 2;
        [self.first_slot, self.first_word, self.base, self.n_steps << Self::FLAGS | flags]
    }

    /// Words before those of columns.
    fn words_before(&self) -> usize {
        let lengths = if self.is_ragged { (self.n_steps as usize).div_ceil(LENGTHS) } else { 0 };
        (lengths + usize::from(self.is_part)) * SLICE_LANES
    }

    fn words(&self) -> usize {
        let n_steps = self.n_steps as usize;
        let of_columns = if self.is_narrow { n_steps.div_ceil(2) } else { n_steps };
        self.words_before() + of_columns * SLICE_LANES
    }
}

/// Runs of a row, or of a part of one.
#[derive(Clone, Copy, Debug)]
struct Runs {
    n: u32,
    least: u32,
    greatest: u32,
    is_ragged: bool,
}

const NO_RUNS: Runs = Runs { n: 0, least: u32::MAX, greatest: 0, is_ragged: false };

/// A part of a row that goes over several slices.
#[derive(Clone, Debug)]
struct Part {
    entries: Range<usize>,
    /// The first slice of the row.
    first: u32,
    /// Slices of the row.
    n: u32,
}

/// Where everything stands; the entries themselves are [filled](Self::fill) in afterwards.
#[derive(Debug)]
pub(crate) struct Slices {
    shape: Shape,
    /// The row at each position, or [`NONE`].
    pub(crate) perm: Vec<u32>,
    pub(crate) is_sorted: bool,
    /// Of the first slices.
    parts: Vec<Part>,
    /// Slices whose rows have more lanes than T, or are cut.
    n_long: usize,
    headers: Vec<Header>,
    /// Whether an entry begins a run.
    begins: Vec<bool>,
    n_slots: usize,
    n_words: usize,
}

impl Slices {
    /// Of a matrix; `None` if 32 bits do not count the slots. Sorts long rows, and the others by their steps within the smallest window
    /// that pads at most an eighth more. O(entries + rows log rows), on all threads.
    pub(crate) fn new<V: Value>(a: CsrView<'_, V, u32>, shape: Shape) -> Option<Self> {
        let (begins, rows) = runs(a, shape.width);
        let n_runs = |row: &u32| rows[*row as usize].n as usize;
        let steps = |row: &u32| n_runs(row).div_ceil(shape.lanes);
        let all = 0..rows.len() as u32;
        let short_steps = shape.short_steps(all.clone().map(|row| steps(&row)).sum(), rows.len());
        let most_steps = shape.steps_of_a_part(all.clone().map(|row| n_runs(&row)).sum());
        let is_long = |row: &u32| {
            let steps = steps(row);
            steps > short_steps || shape.lanes == SLICE_LANES && steps > most_steps
        };
        let mut long: Vec<u32> = all.clone().filter(is_long).collect();
        let mut short: Vec<u32> = match long.len() {
            0 => all.collect(),
            _ => all.filter(|row| !is_long(row)).collect(),
        };
        let mut slices = Self {
            shape,
            perm: Vec::new(),
            is_sorted: false,
            parts: Vec::new(),
            n_long: 0,
            headers: Vec::new(),
            begins,
            n_slots: 0,
            n_words: 0,
        };
        long.sort_by_key(|row| Reverse(n_runs(row)));
        let of_a_slice = |row: &u32| n_runs(row).div_ceil(SLICE_LANES);
        let n_cut = long.partition_point(|row| of_a_slice(row) > most_steps);
        for row in &long[..n_cut] {
            let n = of_a_slice(row).div_ceil(most_steps);
            slices.push_parts(a, *row, n_runs(row), n)?;
        }
        let mut rest = &long[n_cut..];
        while let Some(row) = rest.first() {
            let fewest = n_runs(row).div_ceil(short_steps).next_power_of_two();
            // The last fill their slice.
            let filling = SLICE_LANES / rest.len().next_power_of_two();
            let lanes = fewest.max(filling).clamp(shape.lanes, SLICE_LANES);
            let (of_slice, others) = rest.split_at(rest.len().min(SLICE_LANES / lanes));
            slices.perm.extend(of_slice);
            slices.push(joined(of_slice, &rows), lanes, false)?;
            slices.perm.resize(slices.headers.len() * shape.rows(), NONE);
            rest = others;
        }
        slices.n_long = slices.headers.len();
        slices.is_sorted = order(&mut short, &shape, &steps) || slices.n_long > 0;
        slices.headers.reserve_exact(short.len().div_ceil(shape.rows()));
        let of_slices = on_threads(&short, shape.rows(), |of_slice| joined(of_slice, &rows));
        for runs in of_slices.iter().flatten() {
            slices.push(*runs, shape.lanes, false)?;
        }
        match slices.n_long {
            0 => slices.perm = short,
            _ => slices.perm.extend(short),
        }
        if slices.is_sorted {
            slices.perm.resize(slices.headers.len() * shape.rows(), NONE);
        }
        Some(slices)
    }

    /// `n` slices of a row of so many runs.
    fn push_parts<V: Value>(
        &mut self,
        a: CsrView<'_, V, u32>,
        row: u32,
        n_runs: usize,
        n: usize,
    ) -> Option<()> {
        let of_a_part = n_runs.div_ceil(n * SLICE_LANES) * SLICE_LANES;
        let (entries, first) = (a.row_range(row as usize), self.headers.len());
        let begins = &self.begins[entries.clone()];
        let starts = begins.iter().enumerate().filter(|(_, begins)| **begins).map(|(at, _)| at);
        let starts: Vec<usize> = starts.step_by(of_a_part).map(|at| entries.start + at).collect();
        for (at, start) in starts.iter().enumerate() {
            let of_part = *start..starts.get(at + 1).copied().unwrap_or(entries.end);
            let mut begins = vec![false; of_part.len()];
            let runs = runs_of_row(&a.cols()[of_part.clone()], self.shape.width, &mut begins);
            self.parts.push(Part { entries: of_part, first: first as u32, n: starts.len() as u32 });
            self.perm.push(if at == 0 { row } else { NONE });
            self.push(runs, SLICE_LANES, true)?;
            self.perm.resize(self.headers.len() * self.shape.rows(), NONE);
        }
        Some(())
    }

    /// A slice of rows of those runs, of which the longest has so many.
    fn push(&mut self, runs: Runs, lanes: usize, is_part: bool) -> Option<()> {
        let (least, greatest) = if runs.n > 0 { (runs.least, runs.greatest) } else { (0, 0) };
        let is_narrow = greatest - least < NARROW_NONE;
        let header = Header {
            first_slot: u32::try_from(self.n_slots).ok()?,
            first_word: u32::try_from(self.n_words).ok()?,
            base: if is_narrow { least } else { 0 },
            n_steps: runs.n.div_ceil(lanes as u32),
            lanes: lanes as u32,
            is_narrow,
            is_ragged: runs.is_ragged,
            is_part,
        };
        self.n_slots += header.n_steps as usize * self.shape.step();
        self.n_words += header.words();
        self.headers.push(header);
        let is_counted = u32::try_from(self.n_slots.max(self.n_words)).is_ok();
        (is_counted && header.n_steps.leading_zeros() >= Header::FLAGS).then_some(())
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

    pub(crate) fn n_long(&self) -> usize {
        self.n_long
    }

    /// Zero, and the row of each slice that has a part of one; what `carry_apply` takes.
    pub(crate) fn rows_of_parts(&self) -> Vec<u32> {
        let rows = self.parts.iter().map(|part| self.perm[part.first as usize * self.shape.rows()]);
        std::iter::once(0).chain(rows).collect()
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
            words.fill(NONE);
            vals.fill(V::from_f64(0.0));
            let (first_slot, first_word) = self.starts(part.start);
            for slice in part {
                let header = &self.headers[slice];
                let mut lengths = header.first_word as usize - first_word;
                let columns = lengths + header.words_before();
                if let Some(part) = self.parts.get(slice) {
                    (words[lengths], words[lengths + 1]) = (part.first, part.n);
                    lengths += SLICE_LANES;
                }
                self.for_each_of_slice(a.row_ptr(), slice, |position, entry| {
                    let Position { step, lane, of_run, slot } = position;
                    vals[slot - first_slot] = a.vals()[entry];
                    if of_run == 0 {
                        let code = a.cols()[entry] - header.base;
                        if header.is_narrow {
                            let (word, shift) = (columns + step / 2 * SLICE_LANES + lane, step % 2 * 16);
                            words[word] = words[word] & !(NARROW_NONE << shift) | code << shift;
                        } else {
                            words[columns + step * SLICE_LANES + lane] = code;
                        }
                    }
                    if header.is_ragged {
                        let (word, shift) =
                            (lengths + step / LENGTHS * SLICE_LANES + lane, step % LENGTHS * 2);
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
        if let Some(part) = self.parts.get(slice) {
            return self.for_each_of_row(slice, 0, part.entries.clone(), &mut f);
        }
        let rows = self.shape.rows();
        let positions = slice * rows..self.perm.len().min((slice + 1) * rows);
        for (at, row) in self.perm[positions].iter().map(|row| *row as usize).enumerate() {
            if row < row_ptr.len() - 1 {
                self.for_each_of_row(slice, at, row_ptr[row] as usize..row_ptr[row + 1] as usize, &mut f);
            }
        }
    }

    /// The entries of row `at` of a slice.
    fn for_each_of_row(
        &self,
        slice: usize,
        at: usize,
        entries: Range<usize>,
        f: &mut impl FnMut(Position, usize),
    ) {
        let (header, width) = (&self.headers[slice], self.shape.width);
        let (lanes, first) = (header.lanes as usize, header.first_slot as usize);
        let (mut n_runs, mut of_run) = (0, 0);
        for entry in entries {
            (n_runs, of_run) = if self.begins[entry] { (n_runs + 1, 0) } else { (n_runs, of_run + 1) };
            let (step, lane) = ((n_runs - 1) / lanes, at * lanes + (n_runs - 1) % lanes);
            let slot = first + (step * width + of_run) * SLICE_LANES + lane;
            f(Position { step, lane, of_run, slot }, entry);
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
fn runs<V: Value>(a: CsrView<'_, V, u32>, width: usize) -> (Vec<bool>, Vec<Runs>) {
    let mut begins = vec![true; a.nnz()];
    let threads = parts::threads(a.nnz().max(a.n_rows()), OF_A_THREAD);
    let of_threads: Vec<_> = parts::cut(a.n_rows(), threads).collect();
    let n_entries = |rows: &Range<usize>| (a.row_ptr()[rows.end] - a.row_ptr()[rows.start]) as usize;
    let begins_of = parts::split(&mut begins, of_threads.iter().map(n_entries));
    let mut all = vec![NO_RUNS; a.n_rows()];
    let all_of = parts::split(&mut all, of_threads.iter().map(Range::len));
    parts::map(of_threads.into_iter().zip(begins_of).zip(all_of), |((rows, mut begins), all)| {
        for (row, runs) in rows.zip(all) {
            let cols = &a.cols()[a.row_range(row)];
            let (of_row, rest) = std::mem::take(&mut begins).split_at_mut(cols.len());
            begins = rest;
            *runs = runs_of_row(cols, width, of_row);
        }
    });
    (begins, all)
}

fn runs_of_row(cols: &[u32], width: usize, begins: &mut [bool]) -> Runs {
    let mut row = NO_RUNS;
    let mut len = width;
    for (at, col) in cols.iter().enumerate() {
        let follows = at > 0 && Some(*col) == cols[at - 1].checked_add(1);
        begins[at] = !follows || len == width;
        if begins[at] {
            row.is_ragged |= len < width;
            row.n += 1;
            len = 0;
            // Only the first columns of runs are kept.
            (row.least, row.greatest) = (row.least.min(*col), row.greatest.max(*col));
        }
        len += 1;
    }
    row.is_ragged |= len < width;
    row
}

/// What some rows have together; of runs, as many as the longest.
fn joined(of_slice: &[u32], rows: &[Runs]) -> Runs {
    of_slice.iter().map(|row| &rows[*row as usize]).fold(NO_RUNS, |all, row| Runs {
        n: all.n.max(row.n),
        least: all.least.min(row.least),
        greatest: all.greatest.max(row.greatest),
        is_ragged: all.is_ragged || row.is_ragged,
    })
}

/// What `f` makes of every `n` rows, by thread.
fn on_threads<R: Send>(rows: &[u32], n: usize, f: impl Fn(&[u32]) -> R + Sync) -> Vec<Vec<R>> {
    let of_threads = parts::cut(rows.len().div_ceil(n), parts::threads(rows.len(), OF_A_THREAD));
    parts::map(of_threads, |part| {
        rows[part.start * n..rows.len().min(part.end * n)].chunks(n).map(&f).collect()
    })
}

/// Sorts rows that are not long as far as that leaves less padding; whether it did.
fn order(rows: &mut [u32], shape: &Shape, steps: &(impl Fn(&u32) -> usize + Sync)) -> bool {
    let of_slices = |rows: &[u32]| {
        let of_slice = |rows: &[u32]| {
            let (sum, most) = rows.iter().map(steps).fold((0, 0), |(sum, most), n| (sum + n, most.max(n)));
            [sum as u64, (most * shape.rows()) as u64]
        };
        on_threads(rows, shape.rows(), of_slice)
            .iter()
            .flatten()
            .fold([0; 2], |all, of| [all[0] + of[0], all[1] + of[1]])
    };
    let mut window = shape.rows();
    loop {
        let [own, held] = of_slices(rows);
        if window >= rows.len() || held <= own + own / PADDING {
            return window > shape.rows();
        }
        window = window.saturating_mul(WIDER);
        let n_windows = rows.len().div_ceil(window);
        let threads = parts::threads(rows.len(), OF_A_THREAD).min(n_windows);
        let of_threads = rows.chunks_mut(n_windows.div_ceil(threads).saturating_mul(window));
        // Rows with as many steps stay in their order.
        parts::map(of_threads, |rows| {
            rows.chunks_mut(window).for_each(|rows| rows.sort_by_key(|row| Reverse(steps(row))));
        });
    }
}

#[cfg(test)]
mod tests;
