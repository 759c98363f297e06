//! The numbers of slices, which threads find part by part.

use std::ops::Range;

use spmv_core::tiling::merge_path;
use spmv_core::{CsrView, Value, parts};

use super::header::{Ends, Slice};
use super::order::{MANY, Steps};
use super::runs::{NO_RUNS, Runs, are_stepped};
use super::shape::{Limits, Shape};

/// Entries, runs or rows of a thread, at least.
pub(super) const OF_A_THREAD: usize = 1 << 16;

/// Writes the numbers of all slices, of which threads take those parts, each with a state of its own. The ends are `None` if 32 bits do not
/// count slots and words.
pub(super) fn lay<S: Send>(
    headers: &mut [[u32; 4]],
    shape: Shape,
    of_threads: Vec<(Range<usize>, S)>,
    what: impl Fn(&mut S, usize) -> Slice + Sync,
) -> (Option<Ends>, Vec<S>) {
    let n_slices = headers.len();
    let split = parts::split(headers, of_threads.iter().map(|(slices, _)| slices.len()));
    let laid = parts::map(of_threads.into_iter().zip(split), |((slices, mut state), headers)| {
        let mut ends = Some(Ends::default());
        for (slice, numbers) in slices.zip(&mut *headers) {
            let of_slice = what(&mut state, slice);
            ends = ends.and_then(|mut ends| {
                *numbers = ends.push(&of_slice, shape)?;
                Some(ends)
            });
        }
        (headers, ends, state)
    });
    let (mut all, mut states, mut firsts) = (Some(Ends::default()), Vec::new(), Vec::new());
    for (headers, ends, state) in laid {
        firsts.push((headers, all.unwrap_or_default()));
        all = all
            .zip(ends)
            .map(|(all, ends)| Ends { slots: all.slots + ends.slots, words: all.words + ends.words });
        states.push(state);
    }
    let all = all.filter(Ends::are_counted);
    if all.is_some() {
        let move_by = |(headers, first): (&mut [[u32; 4]], Ends)| {
            for numbers in headers {
                numbers[0] += first.slots as u32;
                numbers[1] += first.words as u32;
            }
        };
        if n_slices < OF_A_THREAD {
            firsts.into_iter().for_each(move_by);
        } else {
            parts::map(firsts, move_by);
        }
    }
    (all, states)
}

/// What rows have.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) n_runs: usize,
    pub(super) steps: Steps,
    /// Those that may be long, and their runs.
    pub(super) longer: Vec<(u32, u32)>,
}

/// What is found of runs; empty where they have one entry.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// Whether an entry goes on with the run of the one before.
    pub(super) follows: Vec<bool>,
    /// The numbers of what each row has.
    pub(super) of_rows: Vec<[u32; 4]>,
}

impl Marked {
    /// How many runs a row has.
    pub(super) fn n_runs(&self, entries: Range<usize>, row: usize) -> usize {
        self.of_rows.get(row).map_or(entries.len(), |numbers| Runs::of_numbers(*numbers).n as usize)
    }
}

/// Slices of rows in their own order, long or not.
pub(super) struct InOrder {
    pub(super) headers: Vec<[u32; 4]>,
    pub(super) ends: Option<Ends>,
    pub(super) marked: Marked,
    /// Steps that each row takes, up to [`MANY`].
    pub(super) steps: Vec<u8>,
    pub(super) counted: Counted,
}

impl InOrder {
    pub(super) fn of<V: Value>(a: CsrView<'_, V, u32>, shape: Shape) -> Self {
        let (n_rows, width, of_slice) = (a.n_rows(), shape.width, shape.rows());
        // Pages that are not written yet cost nothing: the threads find them.
        let mut headers = vec![[0; 4]; n_rows.div_ceil(of_slice)];
        let mut follows = vec![false; if width > 1 { a.nnz() } else { 0 }];
        let mut of_rows = vec![[0; 4]; if width > 1 { n_rows } else { 0 }];
        let mut steps = vec![0; n_rows];
        let of_threads = slices_of_threads(a, headers.len(), of_slice);
        let rows =
            |slices: &Range<usize>| n_rows.min(slices.start * of_slice)..n_rows.min(slices.end * of_slice);
        let entries = |rows: Range<usize>| a.row_ptr()[rows.start] as usize..a.row_ptr()[rows.end] as usize;
        let n_marks = |slices: &Range<usize>| if width > 1 { entries(rows(slices)).len() } else { 0 };
        let follows_of = parts::split(&mut follows, of_threads.iter().map(n_marks));
        let n_rows_of = |slices: &Range<usize>| rows(slices).len();
        let steps_of = parts::split(&mut steps, of_threads.iter().map(n_rows_of));
        let n_held = |slices: &Range<usize>| if width > 1 { n_rows_of(slices) } else { 0 };
        let rows_of = parts::split(&mut of_rows, of_threads.iter().map(n_held));
        let memory = follows_of.into_iter().zip(rows_of).zip(steps_of);
        let states = of_threads.into_iter().zip(memory).map(|(slices, ((follows, of_rows), steps))| {
            let (first_row, counted) = (rows(&slices).start, Counted::default());
            let first_entry = entries(rows(&slices)).start;
            (slices, OfThread { first_row, first_entry, follows, of_rows, steps, counted })
        });
        // No matrix has fewer runs and steps of as many entries: what is long has more than is allowed with so few.
        let n_runs = a.nnz() / width;
        let limits = Limits::of(shape, n_rows, n_runs / shape.lanes, n_runs);
        let (ends, parts) = lay(&mut headers, shape, states.collect(), |part: &mut OfThread<'_>, slice| {
            let rows = rows(&(slice..slice + 1));
            let runs = part.count(a, shape, &limits, rows.clone());
            let ends = a.row_ptr()[rows.start..=rows.end].windows(2).map(|ends| ends[0]..ends[1]);
            let is_stepped = are_stepped(a.cols(), shape, shape.steps(runs.n as usize), ends);
            Slice { runs, lanes: shape.lanes as u32, is_part: false, is_stepped }
        });
        let counted = parts.into_iter().map(|part| part.counted).fold(Counted::default(), Counted::and);
        Self { headers, ends, marked: Marked { follows, of_rows }, steps, counted }
    }
}

/// Rows of a thread, and what it finds of them.
struct OfThread<'a> {
    first_row: usize,
    first_entry: usize,
    follows: &'a mut [bool],
    of_rows: &'a mut [[u32; 4]],
    steps: &'a mut [u8],
    counted: Counted,
}

impl OfThread<'_> {
    /// What the rows of a slice have.
    fn count<V: Value>(
        &mut self,
        a: CsrView<'_, V, u32>,
        shape: Shape,
        limits: &Limits,
        rows: Range<usize>,
    ) -> Runs {
        let width = shape.width;
        let (mut all, mut n_runs, mut own) = (NO_RUNS, 0, 0);
        let steps = &mut self.steps[rows.start - self.first_row..rows.end - self.first_row];
        let ends = a.row_ptr()[rows.start..=rows.end].windows(2);
        for ((row, ends), steps) in (rows.start as u32..).zip(ends).zip(steps) {
            let entries = ends[0] as usize..ends[1] as usize;
            let n = if width == 1 {
                entries.len()
            } else {
                let follows =
                    &mut self.follows[entries.start - self.first_entry..entries.end - self.first_entry];
                let of_row = Runs::mark(&a.cols()[entries], width, follows);
                self.of_rows[row as usize - self.first_row] = of_row.numbers();
                all = all.and(of_row);
                of_row.n as usize
            };
            let n_steps = shape.steps(n);
            if limits.are_long(n_steps) {
                self.counted.longer.push((row, n as u32));
            }
            *steps = n_steps.min(MANY.into()) as u8;
            all.n = all.n.max(n as u32);
            (n_runs, own) = (n_runs + n, own + n_steps as u64);
        }
        if width == 1 {
            // Of all rows at once, whose entries stand one after another.
            let entries = a.row_range(rows.start).start..a.row_ptr()[rows.end] as usize;
            all = Runs { n: all.n, ..Runs::of(&a.cols()[entries], shape, &[]) };
        }
        let held = (shape.steps(all.n as usize) * shape.rows()) as u64;
        self.counted.n_runs += n_runs;
        self.counted.steps = self.counted.steps.and(Steps { own, held });
        all
    }
}

impl Counted {
    fn and(mut self, others: Self) -> Self {
        self.longer.extend(others.longer);
        Self { n_runs: self.n_runs + others.n_runs, steps: self.steps.and(others.steps), ..self }
    }
}

/// Slices of as many rows, of which threads have about as many rows and entries.
fn slices_of_threads<V: Value>(
    a: CsrView<'_, V, u32>,
    n_slices: usize,
    of_slice: usize,
) -> Vec<Range<usize>> {
    let threads = parts::threads(a.nnz().max(a.n_rows()), OF_A_THREAD);
    let work = a.nnz() + a.n_rows();
    let first = |thread: usize| match thread == threads {
        true => n_slices,
        // A launch has fewer than 2^32 rows and entries.
        false => {
            merge_path(a.row_ptr(), (work as u64 * thread as u64 / threads as u64) as u32).0 as usize
                / of_slice
        }
    };
    (0..threads).map(|thread| first(thread)..first(thread + 1)).collect()
}
