//! The order of rows that are not long: their own, or by steps within windows.

use std::cell::LazyCell;
use std::ops::Range;

use spmv_core::{Tiling, parts};

use super::shape::Shape;

/// Rows of a thread at least.
const OF_A_THREAD: usize = 1 << 15;
/// Rows whose slots are summed at once.
const STRETCH: usize = 1 << 8;

/// That many steps of a row, or more, where a byte counts them.
pub(super) const MANY: u8 = u8::MAX;

/// Steps of each row: a byte, or else what counts them.
pub(super) struct OfRows<'a, F> {
    pub(super) few: &'a [u8],
    pub(super) many: F,
}

impl<F: Fn(usize) -> usize> OfRows<'_, F> {
    fn get(&self, row: u32) -> usize {
        match self.few[row as usize] {
            MANY => (self.many)(row as usize),
            n => n.into(),
        }
    }

    /// Where the rows of each writer of `y` but the first begin, if all are to take about as long.
    pub(super) fn firsts_of_writers(&self, shape: Shape) -> Vec<u32>
    where
        F: Sync,
    {
        let (n_rows, writers) = (self.few.len(), shape.writers as usize);
        if writers < 2 || n_rows == 0 {
            return Vec::new();
        }
        let of_a_step = shape.lanes * shape.width;
        let slots = |row: usize| self.get(row as u32) * of_a_step + Tiling::ROW_SLOTS;
        let of_threads = parts::cut(n_rows.div_ceil(STRETCH), parts::threads(n_rows, OF_A_THREAD));
        let of_stretches = parts::map(of_threads, |stretches| {
            let rows = stretches.map(|stretch| stretch * STRETCH..n_rows.min((stretch + 1) * STRETCH));
            rows.map(|rows| rows.map(slots).sum::<usize>()).collect::<Vec<_>>()
        })
        .concat();
        let all = of_stretches.iter().sum::<usize>() as u128;
        let (mut stretch, mut before) = (0, 0);
        let first = |writer: usize| {
            let share = (all * writer as u128 / writers as u128) as usize;
            while before + of_stretches[stretch] <= share {
                before += of_stretches[stretch];
                stretch += 1;
            }
            let (mut row, mut before) = (stretch * STRETCH, before);
            while before + slots(row) <= share {
                before += slots(row);
                row += 1;
            }
            row as u32
        };
        (1..writers).map(first).collect()
    }

    /// The sum and the greatest of some rows that follow each other.
    fn sum_and_most(&self, rows: Range<u32>) -> (usize, usize) {
        let few = &self.few[rows.start as usize..rows.end as usize];
        match few.iter().copied().fold(0, u8::max) {
            MANY => rows.map(|row| self.get(row)).fold((0, 0), |(sum, most), n| (sum + n, most.max(n))),
            most => (few.iter().map(|n| usize::from(*n)).sum(), most.into()),
        }
    }
}

/// Steps of rows, and those that their slices make of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    pub(super) own: u64,
    /// Of each slice, those of its longest row for as many rows as it may have.
    pub(super) held: u64,
}

impl Steps {
    pub(super) fn and(self, others: Self) -> Self {
        Self { own: self.own + others.own, held: self.held + others.held }
    }

    /// Whether the padding is more than this part of the slots of the rows themselves, and so many steps.
    fn pad_more_than(self, part: u64, steps: u64) -> bool {
        self.held > self.own + self.own / part + steps
    }
}

/// The rows that are not long.
#[derive(Debug)]
pub(super) struct Short {
    n: usize,
    /// How many of them come before each long row.
    before: Vec<u32>,
}

impl Short {
    /// All but those, which ascend.
    pub(super) fn without(long: impl ExactSizeIterator<Item = u32>, n_rows: usize) -> Self {
        Self { n: n_rows - long.len(), before: (0..).zip(long).map(|(at, row)| row - at).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// In their own order, as long as they follow each other.
    fn ranges(&self, positions: Range<usize>) -> impl Iterator<Item = Range<u32>> + '_ {
        let (mut first, end) = (positions.start as u32, positions.end as u32);
        let mut n_long = self.before.partition_point(|before| *before <= first);
        std::iter::from_fn(move || {
            let next = self.before.get(n_long).map_or(end, |before| end.min(*before));
            let rows = first + n_long as u32..next + n_long as u32;
            let is_over = first == end;
            n_long += 1;
            first = next;
            (!is_over).then_some(rows)
        })
    }

    /// Writes them to `perm`, sorted in the smallest windows that leave no more padding than is accepted; whether they are sorted. Where writers have
    /// windows to themselves, more is accepted: those of each but the first begin at the positions `firsts`. What they take in their own order may be
    /// known: then `perm` is written only if they are.
    pub(super) fn order(
        &self,
        perm: &mut [u32],
        shape: Shape,
        firsts: &LazyCell<Vec<usize>, impl FnOnce() -> Vec<usize>>,
        known: Option<Steps>,
        steps: &OfRows<'_, impl Fn(usize) -> usize + Sync>,
    ) -> bool {
        let of_slice = shape.rows();
        let (mut window, widest) = (of_slice, shape.widest(self.n));
        let mut taken = known.unwrap_or_else(|| self.in_order(of_slice, steps));
        // Cores that share larger windows would wait for lines of y.
        let waits = |window| if window == widest { shape.wait_steps() * self.n as u64 } else { 0 };
        while window < self.n && taken.pad_more_than(shape.padding(), waits(window)) {
            let next = window.saturating_mul(shape.wider());
            window = if window < widest { next.min(widest) } else { next };
            let firsts: &[usize] = if window > widest { &[] } else { firsts };
            taken = self.sort(perm, of_slice, &windows(self.n, window, firsts), steps);
        }
        let is_sorted = window > of_slice;
        if !is_sorted && known.is_none() {
            let of_threads: Vec<_> = parts::cut(self.n, parts::threads(self.n, OF_A_THREAD)).collect();
            let split = parts::split(perm, of_threads.iter().map(|positions| positions.len()));
            parts::map(of_threads.into_iter().zip(split), |(positions, perm)| {
                perm.iter_mut().zip(self.ranges(positions).flatten()).for_each(|(to, row)| *to = row);
            });
        }
        is_sorted
    }

    /// What they take in their own order.
    fn in_order(&self, of_slice: usize, steps: &OfRows<'_, impl Fn(usize) -> usize + Sync>) -> Steps {
        // Slices of one row pad nothing.
        if of_slice == 1 {
            return Steps::default();
        }
        let n_slices = self.n.div_ceil(of_slice);
        let of_threads = parts::cut(n_slices, parts::threads(self.n, OF_A_THREAD));
        let taken = parts::map(of_threads, |slices| {
            let taken = slices.map(|slice| {
                let ranges = self.ranges(slice * of_slice..self.n.min((slice + 1) * of_slice));
                let of_ranges = ranges.map(|rows| steps.sum_and_most(rows));
                let (own, most) = of_ranges.fold((0, 0), |(all, most), (sum, n)| (all + sum, most.max(n)));
                Steps { own: own as u64, held: (most * of_slice) as u64 }
            });
            taken.fold(Steps::default(), Steps::and)
        });
        taken.into_iter().fold(Steps::default(), Steps::and)
    }

    /// Writes them sorted within windows.
    fn sort(
        &self,
        perm: &mut [u32],
        of_slice: usize,
        windows: &[Range<usize>],
        steps: &OfRows<'_, impl Fn(usize) -> usize + Sync>,
    ) -> Steps {
        let of_threads: Vec<_> = parts::cut(windows.len(), parts::threads(self.n, OF_A_THREAD)).collect();
        let n_rows = |of_thread: &Range<usize>| windows[of_thread.clone()].iter().map(Range::len).sum();
        let split = parts::split(perm, of_threads.iter().map(n_rows));
        let taken = parts::map(of_threads.into_iter().zip(split), |(of_thread, mut rest)| {
            let mut counts = Vec::new();
            let taken = windows[of_thread].iter().map(|positions| {
                let perm = rest.split_off_mut(..positions.len()).expect("those of the windows");
                let own = sort(perm, || self.ranges(positions.clone()), steps, &mut counts);
                // The first row of a slice is the longest.
                let longest = perm.iter().step_by(of_slice).map(|row| steps.get(*row)).sum::<usize>();
                Steps { own, held: (longest * of_slice) as u64 }
            });
            taken.fold(Steps::default(), Steps::and)
        });
        taken.into_iter().fold(Steps::default(), Steps::and)
    }
}

/// Windows of so many of `n` positions, each of which begins a new one at `firsts` too, which ascend.
pub(super) fn windows(n: usize, of_window: usize, firsts: &[usize]) -> Vec<Range<usize>> {
    let stretches = [&[0], firsts, &[n]].concat();
    let of_stretch = |ends: &[usize]| {
        let end = ends[1];
        (ends[0]..end).step_by(of_window).map(move |first| first..end.min(first.saturating_add(of_window)))
    };
    stretches.windows(2).flat_map(of_stretch).collect()
}

/// Writes rows to `perm` by counting, those of the most steps first; how many steps they have. Those that have as many stay in their order.
fn sort<R: Iterator<Item = Range<u32>>>(
    perm: &mut [u32],
    rows: impl Fn() -> R,
    steps: &OfRows<'_, impl Fn(usize) -> usize>,
    counts: &mut Vec<usize>,
) -> u64 {
    counts.clear();
    let mut own = 0;
    for rows in rows() {
        for row in rows {
            let n = steps.get(row);
            if n >= counts.len() {
                counts.resize(n + 1, 0);
            }
            counts[n] += 1;
            own += n as u64;
        }
    }
    counts.iter_mut().rev().fold(0, |first, n| first + std::mem::replace(n, first));
    for rows in rows() {
        for row in rows {
            let at = &mut counts[steps.get(row)];
            perm[*at] = row;
            *at += 1;
        }
    }
    own
}
