//! Rows of which an entry stands for the one that mirrors it, and ranges of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use spmv_core::{CsrView, Runs, Value, parts};

use crate::runs;

/// Entries of a thread, at least; few where tests are to have several.
const OF_A_THREAD: usize = if cfg!(test) { 16 } else { 1 << 18 };
/// In the word of a run: its entries are mirrored.
const MIRRORED: u32 = 1 << Runs::LEN_BITS;
/// Columns that such a word numbers.
pub(crate) const MOST_COLS: usize = 1 << (u32::BITS - Runs::LEN_BITS - 1);

/// What becomes of an entry: it stands for itself; for its mirror too, or is its own; its mirror stands for it.
const PLAIN: u8 = 0;
const DOUBLE: u8 = 1;
const LEFT: u8 = 2;

/// Of every entry, where columns ascend in every row: which of the square block that begins at column `base` have mirrors with the same bits.
/// O(entries + rows) on all threads, each of which first finds where it begins in every row.
fn kinds<T: Value>(a: CsrView<'_, T, u32>, base: usize) -> Option<Vec<u8>> {
    let (n_rows, cols, vals) = (a.n_rows(), a.cols(), a.vals());
    let rows = || parts::cut(n_rows, parts::threads(a.nnz(), OF_A_THREAD));
    let ascend =
        |mut rows: Range<usize>| rows.all(|row| cols[a.row_range(row)].is_sorted_by(|col, next| col < next));
    if !parts::map(rows(), ascend).into_iter().all(|is| is) {
        return None;
    }
    let kinds: Vec<AtomicU8> = (0..a.nnz()).map(|_| AtomicU8::new(PLAIN)).collect();
    // No entry is set by two threads: a lower one is by that of its row, an upper one by that of its mirror.
    let set = |entry: usize, kind| kinds[entry].store(kind, Ordering::Relaxed);
    parts::map(rows(), |rows| {
        // The next entry of each row that a row of the thread may mirror, and the row's end.
        let next = |row| [entry_of(a, row, base + rows.start.max(row + 1)), a.row_range(row).end];
        let mut next: Vec<[u32; 2]> = (0..rows.end).map(|row| next(row).map(|entry| entry as u32)).collect();
        for row in rows {
            let col_of_row = (base + row) as u32;
            for entry in entry_of(a, row, base)..a.row_range(row).end {
                let of_row = cols[entry] as usize - base;
                if of_row >= row {
                    if of_row == row {
                        set(entry, DOUBLE);
                    }
                    break;
                }
                let [next, end] = &mut next[of_row];
                while *next < *end && cols[*next as usize] < col_of_row {
                    *next += 1;
                }
                let mirror = *next as usize;
                let bits = |entry: usize| bytemuck::bytes_of(&vals[entry]);
                if *next < *end && cols[mirror] == col_of_row && bits(mirror) == bits(entry) {
                    set(entry, DOUBLE);
                    set(mirror, LEFT);
                    *next += 1;
                }
            }
        }
    });
    Some(kinds.into_iter().map(AtomicU8::into_inner).collect())
}

/// The first entry of a row from a column on.
fn entry_of<T: Value>(a: CsrView<'_, T, u32>, row: usize, col: usize) -> usize {
    let of_row = a.row_range(row);
    of_row.start + a.cols()[of_row].partition_point(|of_entry| (*of_entry as usize) < col)
}

/// How a piece of a matrix is cut into ranges.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    /// The column that belongs to its first row.
    pub(crate) base: usize,
    /// Ranges that are wanted, and the fewest that are worth it.
    pub(crate) ranges: Range<usize>,
    /// Sums of rows before their ranges at most.
    pub(crate) most_before: usize,
}

/// Arrays as the kernel `sss` takes them, but for the values.
#[derive(Debug, PartialEq)]
pub(crate) struct Mirror {
    pub(crate) row_ptr: Vec<u32>,
    pub(crate) run_ptr: Vec<u32>,
    pub(crate) runs: Vec<u32>,
    pub(crate) ranges: Vec<[u32; 3]>,
    /// What becomes of each entry; `None` if all are kept.
    kinds: Option<Vec<u8>>,
}

impl Mirror {
    /// Of a piece. Each entry stands for itself where none has a mirror, where columns do not ascend, and where even the fewest ranges would
    /// have to keep sums of too many rows before them. O(entries + rows).
    pub(crate) fn new<T: Value>(a: CsrView<'_, T, u32>, cuts: &Cuts) -> Self {
        let mirrored = kinds(a, cuts.base).and_then(|kinds| {
            let Laid { row_ptr, run_ptr, runs } = lay(a.row_ptr(), a.cols(), Some(&kinds));
            if !kinds.contains(&LEFT) {
                return None;
            }
            let reached = reached(&run_ptr, &runs, cuts.base);
            let mut n = cuts.ranges.end;
            let ranges = loop {
                let (ranges, n_before) = ranges(&row_ptr, &reached, n);
                match n_before <= cuts.most_before {
                    true => break ranges,
                    false if n / 2 < cuts.ranges.start => return None,
                    false => n /= 2,
                }
            };
            Some(Self { row_ptr, run_ptr, runs, ranges, kinds: Some(kinds) })
        });
        mirrored.unwrap_or_else(|| Self::plain(a.row_ptr(), a.cols(), cuts.ranges.end))
    }

    /// Each entry stands for itself.
    pub(crate) fn plain(row_ptr: &[u32], cols: &[u32], n_ranges: usize) -> Self {
        let Laid { row_ptr, run_ptr, runs } = lay(row_ptr, cols, None);
        let own: Vec<u32> = (0..row_ptr.len() as u32 - 1).collect();
        let (ranges, _) = ranges(&row_ptr, &own, n_ranges);
        Self { row_ptr, run_ptr, runs, ranges, kinds: None }
    }

    /// Whether some entries stand for others, which are left out.
    pub(crate) fn leaves_out(&self) -> bool {
        self.kinds.is_some()
    }

    pub(crate) fn n_kept(&self) -> usize {
        self.row_ptr[self.row_ptr.len() - 1] as usize
    }

    /// Rows with few enough entries that are kept for caches to hold their values, or one row.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Range<usize>> {
        let n_rows = self.row_ptr.len() - 1;
        let of_a_batch = parts::threads(self.n_kept(), OF_A_THREAD) * OF_A_THREAD;
        let mut first = 0;
        std::iter::from_fn(move || {
            let most = self.row_ptr[first] as usize + of_a_batch;
            let fit = self.row_ptr[first..].partition_point(|end| *end as usize <= most) - 1;
            let rows = first..first + fit.max(1);
            (first < n_rows).then(|| first = rows.end)?;
            Some(rows)
        })
    }

    /// Values of the entries of rows that are kept. O(their entries) on all threads.
    pub(crate) fn vals<T: Value>(&self, a: CsrView<'_, T, u32>, rows: Range<usize>, vals: &mut Vec<T>) {
        let n_kept = |rows: &Range<usize>| (self.row_ptr[rows.end] - self.row_ptr[rows.start]) as usize;
        vals.resize(n_kept(&rows), T::from_f64(0.0));
        let of_threads = parts::cut(rows.len(), parts::threads(vals.len(), OF_A_THREAD));
        let of_threads: Vec<_> =
            of_threads.map(|part| rows.start + part.start..rows.start + part.end).collect();
        let kept = parts::split(vals, of_threads.iter().map(n_kept));
        parts::map(of_threads.into_iter().zip(kept), |(rows, kept)| {
            let entries = a.row_range(rows.start).start..a.row_range(rows.end - 1).end;
            let Some(kinds) = &self.kinds else { return kept.copy_from_slice(&a.vals()[entries]) };
            let mut at = 0;
            for (val, kind) in a.vals()[entries.clone()].iter().zip(&kinds[entries]) {
                // Written over by the next one, if it is left out.
                if let Some(kept) = kept.get_mut(at) {
                    *kept = *val;
                }
                at += usize::from(*kind != LEFT);
            }
        });
    }

    pub(crate) fn n_ranges(&self) -> usize {
        self.ranges.len() - 1
    }

    pub(crate) fn n_sums(&self) -> usize {
        self.ranges.last().map_or(0, |end| end[2] as usize)
    }
}

/// Rows of the entries that are kept.
#[derive(Default)]
struct Laid {
    row_ptr: Vec<u32>,
    run_ptr: Vec<u32>,
    runs: Vec<u32>,
}

/// O(entries + rows) on all threads.
fn lay(row_ptr: &[u32], cols: &[u32], kinds: Option<&[u8]>) -> Laid {
    let n_rows = row_ptr.len() - 1;
    let of_rows = |rows: Range<usize>| {
        let mut laid = Laid::default();
        let mut n_kept = 0;
        for row in rows {
            let of_row = row_ptr[row] as usize..row_ptr[row + 1] as usize;
            let kinds = kinds.map(|kinds| &kinds[of_row.clone()]);
            n_kept += runs_of_row(&cols[of_row], kinds, &mut laid.runs);
            laid.row_ptr.push(n_kept);
            laid.run_ptr.push(laid.runs.len() as u32);
        }
        laid
    };
    let of_threads = parts::cut(n_rows, parts::threads(cols.len().max(n_rows), OF_A_THREAD));
    let parts = parts::map(of_threads, of_rows);
    let ends = || Vec::with_capacity(n_rows + 1);
    let runs = Vec::with_capacity(parts.iter().map(|part| part.runs.len()).sum());
    let mut all = Laid { row_ptr: ends(), run_ptr: ends(), runs };
    all.row_ptr.push(0);
    all.run_ptr.push(0);
    for part in parts {
        let [kept_before, runs_before] =
            [&all.row_ptr, &all.run_ptr].map(|ptr: &Vec<u32>| ptr[ptr.len() - 1]);
        all.row_ptr.extend(part.row_ptr.iter().map(|end| kept_before + end));
        all.run_ptr.extend(part.run_ptr.iter().map(|end| runs_before + end));
        all.runs.extend(part.runs);
    }
    all
}

/// Appends the words of a row's runs, of entries of one kind each; how many entries they have.
fn runs_of_row(cols: &[u32], kinds: Option<&[u8]>, words: &mut Vec<u32>) -> u32 {
    let mut append = |cols: &[u32], kind: u8| {
        let flag = if kind == DOUBLE { MIRRORED } else { 0 };
        // The low bits say how many entries are missing.
        let word = |(first, len)| (first << (Runs::LEN_BITS + 1)) + flag + (Runs::LONGEST - len) as u32;
        words.extend(runs::of_row(cols).map(word));
        cols.len() as u32
    };
    let Some(kinds) = kinds else { return append(cols, PLAIN) };
    let (mut rest, mut n_kept) = (cols, 0);
    for of_kind in kinds.chunk_by(|kind, next| kind == next) {
        let (cols, after) = rest.split_at(of_kind.len());
        if of_kind[0] != LEFT {
            n_kept += append(cols, of_kind[0]);
        }
        rest = after;
    }
    n_kept
}

/// Runs if each entry stands for itself. O(entries) on all threads.
pub(crate) fn n_runs(row_ptr: &[u32], cols: &[u32]) -> usize {
    let n_rows = row_ptr.len() - 1;
    let of_threads = parts::cut(n_rows, parts::threads(cols.len().max(n_rows), OF_A_THREAD));
    let of_row = |row: usize| runs::of_row(&cols[row_ptr[row] as usize..row_ptr[row + 1] as usize]).count();
    parts::map(of_threads, |rows| rows.map(of_row).sum::<usize>()).into_iter().sum()
}

/// Of each row the first row to which an entry of it is mirrored, or its own.
fn reached(run_ptr: &[u32], runs: &[u32], base: usize) -> Vec<u32> {
    let of_row = |(row, ends): (usize, &[u32])| {
        let runs = &runs[ends[0] as usize..ends[1] as usize];
        let first = runs.iter().find(|run| **run & MIRRORED != 0);
        first.map_or(row as u32, |run| (run >> (Runs::LEN_BITS + 1)) - base as u32)
    };
    run_ptr.windows(2).enumerate().map(of_row).collect()
}

/// Ranges of about as many entries and rows each, and the end; and how many sums they have of rows before them.
fn ranges(row_ptr: &[u32], reached: &[u32], n: usize) -> (Vec<[u32; 3]>, usize) {
    let n_rows = reached.len();
    let work = |row: usize| row_ptr[row] as usize + row;
    let first_row = |range: usize| {
        let before = (work(n_rows) as u128 * range as u128 / n as u128) as usize;
        let (mut low, mut high) = (0, n_rows);
        while low < high {
            let row = usize::midpoint(low, high);
            if work(row) < before { low = row + 1 } else { high = row }
        }
        low
    };
    let (mut ranges, mut n_sums, mut n_before) = (Vec::with_capacity(n + 1), 0, 0);
    for range in 0..n {
        let rows = first_row(range)..first_row(range + 1);
        let reached = reached[rows.clone()].iter().copied().min().unwrap_or(rows.start as u32);
        ranges.push([rows.start as u32, reached, n_sums]);
        n_sums += rows.end as u32 - reached;
        n_before += rows.start - reached as usize;
    }
    ranges.push([n_rows as u32, n_rows as u32, n_sums]);
    (ranges, n_before)
}

/// The entry that stands for each entry of such rows, which were all that there are of their matrix, and its column. O(entries log(entries of a row)).
pub(crate) fn unfold(
    row_ptr: &[u32],
    run_ptr: &[u32],
    runs: &[u32],
    base: usize,
) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut rows = vec![Vec::new(); row_ptr.len() - 1];
    for row in 0..rows.len() {
        let mut entry = row_ptr[row];
        for run in &runs[run_ptr[row] as usize..run_ptr[row + 1] as usize] {
            let first = run >> (Runs::LEN_BITS + 1);
            for col in (first..).take(Runs::LONGEST - *run as usize % Runs::LONGEST) {
                rows[row].push((col, entry));
                if run & MIRRORED != 0 && col as usize != base + row {
                    rows[col as usize - base].push(((base + row) as u32, entry));
                }
                entry += 1;
            }
        }
    }
    let (mut full, mut cols, mut entries) = (vec![0], Vec::new(), Vec::new());
    for mut row in rows {
        row.sort_unstable();
        cols.extend(row.iter().map(|(col, _)| *col));
        entries.extend(row.iter().map(|(_, entry)| *entry));
        full.push(cols.len() as u32);
    }
    (full, cols, entries)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spmv_core::Csr;

    use super::*;

    const CUTS: Cuts = Cuts { base: 0, ranges: 1..4, most_before: 1000 };

    fn run(col: u32, len: u32, is_mirrored: bool) -> u32 {
        16 * col + if is_mirrored { 8 } else { 0 } + 8 - len
    }

    #[test]
    fn an_entry_stands_for_its_mirror_where_bits_are_the_same() {
        let entries =
            [(0, 0, 1.0), (0, 1, 2.0), (0, 2, 3.0), (1, 0, 2.0), (1, 1, 4.0), (2, 0, 5.0), (2, 3, 6.0)];
        let a = Csr::from_coo(3, 4, &entries).unwrap();
        let mirror = Mirror::new(a.view(), &Cuts { ranges: 1..1, ..CUTS });
        let runs =
            vec![run(0, 1, true), run(2, 1, false), run(0, 2, true), run(0, 1, false), run(3, 1, false)];
        assert_eq!((mirror.row_ptr, mirror.run_ptr, mirror.runs), (vec![0, 2, 4, 6], vec![0, 2, 3, 5], runs));
        assert_eq!(mirror.ranges, [[0, 0, 0], [3, 3, 3]]);
    }

    #[test]
    fn ranges_keep_sums_of_rows_before_them() {
        let tridiagonal =
            (0..8u32).flat_map(|i| [i.saturating_sub(1), i, (i + 1).min(7)].map(|col| (i, col, 1.0)));
        let mut entries: Vec<_> = tridiagonal.collect();
        entries.dedup();
        let a = Csr::from_coo(8, 8, &entries).unwrap();
        let mirror = Mirror::new(a.view(), &CUTS);
        assert_eq!(mirror.ranges.len(), 5);
        assert!(
            mirror.ranges[1..4].iter().all(|[first, reached, _]| reached + 1 == *first),
            "{:?}",
            mirror.ranges
        );
        assert_eq!(mirror.n_sums(), 8 + 3);
        let plain = Mirror::new(a.view(), &Cuts { most_before: 0, ranges: 2..4, ..CUTS });
        assert_eq!((plain.n_sums(), plain.leaves_out()), (8, false), "each entry for itself");
    }

    proptest! {
        #[test]
        fn what_was_left_out_comes_back(
            entries in proptest::collection::btree_map((0u32..20, 0u32..20), 0i8..3, 0..150),
            is_symmetric: bool,
            base in 0usize..3,
        ) {
            let base = if is_symmetric { 0 } else { base };
            let n_rows = 20 - base;
            let mut all = entries;
            if is_symmetric {
                all.retain(|(row, col), _| row <= col);
                all.extend(all.clone().into_iter().map(|((row, col), val)| ((col, row), val)));
            }
            let rows = (0..n_rows as u32).map(|row| {
                let of_row = all.range((row, 0)..(row + 1, 0));
                of_row.map(|((_, col), val)| (*col, f64::from(*val))).collect::<Vec<_>>()
            });
            let a = Csr::from_rows(20, rows).unwrap();
            let mirror = Mirror::new(a.view(), &Cuts { base, ..CUTS });
            let (mut kept, mut of_batch) = (Vec::new(), Vec::new());
            for rows in mirror.batches() {
                mirror.vals(a.view(), rows, &mut of_batch);
                kept.extend_from_slice(&of_batch);
            }
            prop_assert_eq!(kept.len(), mirror.n_kept());
            let plain = Mirror::plain(a.row_ptr(), a.cols(), 1);
            prop_assert_eq!(n_runs(a.row_ptr(), a.cols()), plain.runs.len());
            let (row_ptr, cols, entries) = unfold(&mirror.row_ptr, &mirror.run_ptr, &mirror.runs, base);
            prop_assert_eq!(&row_ptr[..], a.row_ptr());
            prop_assert_eq!(&cols[..], a.cols());
            let vals: Vec<f64> = entries.into_iter().map(|entry| kept[entry as usize]).collect();
            prop_assert_eq!(&vals[..], a.vals());
            let n_diagonal = (0..n_rows).filter(|row| a.row(*row).any(|(col, _)| col as usize == base + row)).count();
            prop_assert!(!is_symmetric || 2 * kept.len() == a.nnz() + n_diagonal);
        }
    }
}
