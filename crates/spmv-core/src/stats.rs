//! What planning uses: row lengths, diagonals, and how far apart columns are.

use std::ops::Range;

use crate::csr::CsrView;
use crate::diagonals::{FEW, OF_A_THREAD, few, n_alike};
use crate::footprint::Footprint;
use crate::lengths::Lengths;
use crate::mirror::mirrored_share;
use crate::offset::Offset;
use crate::parts;
use crate::regular::{Band, Part, SHARE, slots_of};
use crate::value::Value;

/// Facts about row lengths; O(rows) to find, so every plan starts from them.
///
/// ```
/// use spmv_core::{Csr, RowStats};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (0, 1, 1.0), (2, 2, 1.0)])?;
/// let rows = RowStats::of(a.view());
/// assert_eq!((rows.min, rows.mean, rows.max, rows.empty), (0, 1.0, 2, 1));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RowStats {
    /// Rows of the matrix.
    pub n_rows: usize,
    /// Columns of the matrix.
    pub n_cols: usize,
    /// Stored entries.
    pub nnz: usize,
    /// Entries of the shortest row (0 without rows).
    pub min: usize,
    /// Mean entries of a row (0 without rows).
    pub mean: f64,
    /// Entries of the longest row.
    pub max: usize,
    /// Standard deviation of row lengths over all rows.
    pub std_dev: f64,
    /// Rows without entries.
    pub empty: usize,
}

impl RowStats {
    /// Reads the row offsets. O(rows).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        Self::of_offsets(a.n_cols(), a.row_ptr())
    }

    /// As [`of`](Self::of), of a matrix that is known by its row offsets. O(rows).
    ///
    /// ```
    /// use spmv_core::RowStats;
    /// assert_eq!(RowStats::of_offsets(5, &[0u64, 2, 2, 6]).max, 4);
    /// ```
    pub fn of_offsets<O: Offset>(n_cols: usize, row_ptr: &[O]) -> Self {
        let ends = row_ptr.first().zip(row_ptr.last());
        let nnz = ends.map_or(0, |(first, last)| last.to_usize() - first.to_usize());
        Self::of_lengths(row_ptr.len().saturating_sub(1), n_cols, nnz, &Lengths::of(row_ptr))
    }

    fn of_lengths(n_rows: usize, n_cols: usize, nnz: usize, lengths: &Lengths) -> Self {
        if n_rows == 0 {
            return Self { n_cols, ..Self::default() };
        }
        let mean = nnz as f64 / n_rows as f64;
        let all = || lengths.iter();
        let (min, max) =
            (all().next().map_or(0, |(len, _)| len), all().next_back().map_or(0, |(len, _)| len));
        let empty = all().next().filter(|(len, _)| *len == 0).map_or(0, |(_, n)| n);
        let squares: f64 = all().map(|(len, n)| n as f64 * (len as f64 - mean).powi(2)).sum();
        let std_dev = (squares / n_rows as f64).sqrt();
        Self { n_rows, n_cols, nnz, min, mean, max, std_dev, empty }
    }
}

/// The row length that most rows have, the shortest of those that are equally common; 0 without rows. O(rows log rows), four
/// bytes of scratch per row.
///
/// ```
/// use spmv_core::{Csr, most_common_row_length};
/// let a = Csr::from_coo(4, 2, &[(0, 0, 1.0f32), (0, 1, 1.0), (1, 0, 1.0), (3, 0, 1.0)])?;
/// assert_eq!(most_common_row_length(a.view()), 1);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn most_common_row_length<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> usize {
    let mut lens: Vec<u32> = row_lengths(a).collect();
    lens.sort_unstable();
    let runs = lens.chunk_by(|a, b| a == b);
    let longest = runs.reduce(|best, next| if next.len() > best.len() { next } else { best });
    longest.map_or(0, |run| run[0] as usize)
}

/// How many times as fast ELL is taken to be as COO, slot by slot: what makes a column of slots worth its padding.
const ELL_OVER_COO: usize = 3;
/// Rows below which ELL is taken to be no faster.
const ROWS_FOR_ELL: usize = 4096;

/// How [`Hyb`](crate::format::Hyb) divides the entries of a matrix.
///
/// The ELL part is as wide as the length that at least a third of the rows, and 4096 of them, have or exceed: padding a
/// column of slots is worth it where ELL is three times as fast as COO (Bell & Garland 2009, section 3.5), which takes as many
/// rows as fill a device. The number of rows is CUSP's, which found it on a GTX 280.
///
/// ```
/// use spmv_core::{Csr, HybShape};
/// let row = |r: u32| if r % 3 == 0 { 2 } else { 1 };
/// let of_rows = |n: u32| {
///     let entries = (0..n).flat_map(|r| (0..row(r)).map(move |c| (r, c, 1.0f32)));
///     Csr::from_coo(n as usize, 2, &entries.collect::<Vec<_>>()).map(|a| HybShape::of(a.view()))
/// };
/// assert_eq!(of_rows(3 * 4096)?, HybShape { width: 2, rest: 0 });
/// assert_eq!(of_rows(3 * 4095)?, HybShape { width: 1, rest: 4095 });
/// assert_eq!(of_rows(3)?, HybShape { width: 0, rest: 4 });
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HybShape {
    /// Slots of each row in the ELL part.
    pub width: usize,
    /// Entries of the COO part.
    pub rest: usize,
}

impl HybShape {
    /// Reads the row offsets. O(rows).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        Self::of_lengths(a, &Lengths::of(a.row_ptr()))
    }

    fn of_lengths<T: Value, O: Offset>(a: CsrView<'_, T, O>, lengths: &Lengths) -> Self {
        let least = a.n_rows().div_ceil(ELL_OVER_COO).max(ROWS_FOR_ELL);
        // The length of the row that is the `least`-th longest.
        let mut longest = lengths.iter().rev().scan(0, |rows, (len, n)| {
            *rows += n;
            Some((len, *rows))
        });
        let width = longest.find(|(_, rows)| *rows >= least).map_or(0, |(len, _)| len);
        let in_ell: usize = lengths.iter().map(|(len, n)| n * len.min(width)).sum();
        Self { width, rest: a.nnz() - in_ell }
    }
}

/// Entries of each row. No row of 2^32 entries or more is told from others that long.
fn row_lengths<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> impl Iterator<Item = u32> + '_ {
    let pairs = a.row_ptr().windows(2);
    pairs.map(|pair| u32::try_from(pair[1].to_usize() - pair[0].to_usize()).unwrap_or(u32::MAX))
}

/// Entries of a window of [`MatrixStats::scatter`], and the most windows that there are.
const WINDOW: usize = 256;
const WINDOWS: usize = 8;
/// Columns of a line: 64 bytes of `f32`.
const LINE: u32 = 16;
/// Slots over entries above which diagonals are not counted.
const MOST_SLOTS: usize = 6;
/// Rows and columns over entries above which diagonals are not counted either: counting takes memory by the former.
const SPARSEST: usize = 64;

/// What planning uses: row lengths, and how entries lie as far as it is found without reading all of them, or
/// worth it.
///
/// ```
/// use spmv_core::{Csr, MatrixStats};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 1, 1.0), (1, 2, 1.0), (2, 2, 1.0)])?;
/// let stats = MatrixStats::of(a.view());
/// assert_eq!((stats.rows.nnz, stats.diagonals, stats.scatter), (4, Some(2), 0.25));
/// assert_eq!(stats.slots.map(|part| (part.width, part.entries)), Some((2, 4)));
/// assert_eq!(stats.band.map(|band| (band.part.width, band.diagonals)), Some((1, 2)));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct MatrixStats {
    /// Row lengths.
    pub rows: RowStats,
    /// Distinct diagonals (column minus row) that hold an entry, if [`Dia`](crate::format::Dia) takes the matrix and
    /// has at most 6 slots for each entry.
    pub diagonals: Option<usize>,
    /// The narrowest band that holds [80%](SHARE) of the entries, where `diagonals` are known.
    pub band: Option<Band>,
    /// The fewest slots of each row that hold as many, as [`slots`](crate::regular::slots) finds them; `None` if only row lengths are known.
    pub slots: Option<Part>,
    /// What [`Hyb`](crate::format::Hyb) makes of the matrix.
    pub hyb: Option<HybShape>,
    /// How many entries follow each other in consecutive columns, if it was sampled.
    pub runs: Option<Runs>,
    /// What part of the entries off the diagonal others [mirror](crate::mirrored_share), if that was sampled.
    pub mirrored: Option<f64>,
    /// How much of `x` consecutive entries read, if that was sampled and there are many columns.
    pub footprint: Option<Footprint>,
    /// Lines of 16 columns that 256 consecutive entries touch, over these entries: 1/256 to 1, the mean of up to 8
    /// samples. How much of `x` each entry moves, as far as entries do not share it. 0 without entries.
    pub scatter: f64,
}

impl MatrixStats {
    /// Reads the row offsets, at a few entries, and at all of them only where there are few diagonals. O(rows), or
    /// O(rows + columns + entries); eight bytes of scratch per row and column, at most 512 per entry.
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        let held = diagonals(a, a.nnz().saturating_mul(MOST_SLOTS));
        let lengths = Lengths::of(a.row_ptr());
        let rows = RowStats::of_lengths(a.n_rows(), a.n_cols(), a.nnz(), &lengths);
        let diagonals = held.as_ref().map(|(_, n_diags)| *n_diags);
        let band = held.map(|(held, _)| band(&held, &rows));
        let slots = Some(slots_of(a, &lengths, SHARE));
        let hyb = Some(HybShape::of_lengths(a, &lengths));
        let (runs, mirrored, scatter) =
            (Some(Runs::of(a.cols())), Some(mirrored_share(a)), scatter(a.cols()));
        let footprint = Footprint::of(a.cols(), a.n_cols());
        Self { rows, diagonals, band, slots, hyb, runs, mirrored, footprint, scatter }
    }

    /// Row lengths, runs, the footprint, and diagonals where they have at most 1.5 slots for each entry. O(rows), or O(rows + entries) where there are
    /// few of them, or O(rows + columns + entries), as [`of`](Self::of).
    ///
    /// ```
    /// use spmv_core::{Csr, MatrixStats};
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (1, 1, 1.0)])?;
    /// assert_eq!(MatrixStats::of_diagonals(a.view()).diagonals, Some(1));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn of_diagonals<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        let rows = RowStats::of(a);
        // Every entry of the longest row is on a diagonal of its own.
        let most = rows.nnz + rows.nnz / 2;
        let is_worth_it = rows.max.saturating_mul(rows.n_rows) <= most;
        let diagonals = || if is_worth_it { n_diagonals(a, most) } else { None };
        let sampled = || (Some(Runs::of(a.cols())), Footprint::of(a.cols(), a.n_cols()));
        let (diagonals, (runs, footprint)) = parts::both(diagonals, sampled);
        Self { diagonals, runs, footprint, ..Self::from(&rows) }
    }
}

/// Of which all else is unknown: times that are predicted by it leave out what gathering costs.
impl From<&RowStats> for MatrixStats {
    fn from(rows: &RowStats) -> Self {
        Self { rows: *rows, ..Self::default() }
    }
}

/// Whether some rows have a stored zero.
fn has_zero<T: Value, O: Offset>(a: CsrView<'_, T, O>, rows: Range<usize>) -> bool {
    let entries = a.row_range(rows.start).start..a.row_range(rows.end - 1).end;
    // All are read: a loop that does not stop is vectorised.
    a.vals()[entries].iter().fold(false, |has, val| has | (*val == T::default()))
}

/// How many diagonals have an entry; `None` if all of them have more than `most` slots.
fn n_diagonals<T: Value, O: Offset>(a: CsrView<'_, T, O>, most: usize) -> Option<usize> {
    let most_diags = most.checked_div(a.n_rows()).unwrap_or(0);
    if most_diags > FEW {
        return diagonals(a, most).map(|(_, n_diags)| n_diags);
    }
    let has_repeated = |cols: &[u32]| {
        let mut cols = cols.to_vec();
        cols.sort_unstable();
        cols.windows(2).any(|cols| cols[0] == cols[1])
    };
    let takes = |alike: Range<usize>| {
        let cols = &a.cols()[a.row_range(alike.start)];
        let is_distinct = cols.is_sorted_by(|col, next| col < next) || !has_repeated(cols);
        is_distinct && !has_zero(a, alike)
    };
    few(a, most_diags, takes).map(|diagonals| diagonals.len())
}

/// Entries of each diagonal, from the last row's first column on to the first row's last, and how many have any; `None` if all of them have more than `most` slots.
fn diagonals<T: Value, O: Offset>(a: CsrView<'_, T, O>, most: usize) -> Option<(Vec<u32>, usize)> {
    let n_rows = a.n_rows();
    if a.nnz() == 0 {
        return Some((Vec::new(), 0));
    }
    if u32::try_from(n_rows).is_err() || n_rows.saturating_add(a.n_cols()) / SPARSEST > a.nnz() {
        return None;
    }
    let rows = parts::cut(n_rows, parts::threads(a.nnz(), OF_A_THREAD));
    let counted = parts::map(rows, |rows| count_diagonals(a, rows, most));
    let mut counted = counted.into_iter();
    let (mut held, mut n_diags) = counted.next()?.map(|(held, diagonals)| (held, diagonals.len()))?;
    for part in counted {
        let (of_part, diagonals) = part?;
        for at in diagonals {
            n_diags += usize::from(held[at] == 0);
            held[at] += of_part[at];
        }
    }
    (n_diags.saturating_mul(n_rows) <= most).then_some((held, n_diags))
}

/// Entries of each diagonal in some rows, and which have any.
fn count_diagonals<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    rows: Range<usize>,
    most: usize,
) -> Option<(Vec<u32>, Vec<usize>)> {
    let n_rows = a.n_rows();
    // The row, and one, that each diagonal was last met in.
    let mut met = vec![0u32; n_rows + a.n_cols()];
    let mut held = vec![0u32; n_rows + a.n_cols()];
    let (mut diagonals, mut first) = (Vec::new(), rows.start);
    while first < rows.end {
        let n = n_alike(a, first..rows.end);
        if has_zero(a, first..first + n) {
            return None;
        }
        for col in &a.cols()[a.row_range(first)] {
            let at = *col as usize + n_rows - 1 - first;
            let last = &mut met[at];
            if *last == 0 {
                diagonals.push(at);
            }
            if *last == first as u32 + 1 || diagonals.len().saturating_mul(n_rows) > most {
                return None;
            }
            *last = first as u32 + 1;
            held[at] += n as u32;
        }
        first += n;
    }
    Some((held, diagonals))
}

/// The narrowest band that holds [`SHARE`] of the entries, by the entries of each diagonal.
fn band(held: &[u32], rows: &RowStats) -> Band {
    let wanted = SHARE * rows.nnz as f64;
    let mut band = Band::default();
    let Some(main) = rows.n_rows.checked_sub(1).filter(|_| rows.nnz > 0) else { return band };
    for distance in 0..held.len() {
        let below = main.checked_sub(distance).filter(|_| distance > 0);
        for n in below.into_iter().chain([main + distance]).filter_map(|at| held.get(at)) {
            band.part.entries += *n as usize;
            band.diagonals += usize::from(*n > 0);
        }
        band.part.width = distance;
        if band.part.entries > 0 && band.part.entries as f64 >= wanted {
            break;
        }
    }
    band
}

/// Mean entries of runs of consecutive columns, if no run may have more than two, three, and so on to eight, of up to 8 samples of 256 entries:
/// how many entries share a column where a layout keeps that of a run alone. 1 without entries.
///
/// ```
/// use spmv_core::Runs;
/// let blocks: Vec<u32> = (0..300).flat_map(|node| (0..3).map(move |i| 30 * node + i)).collect();
/// let runs = Runs::of(&blocks);
/// assert_eq!(runs.mean(1), 1.0);
/// assert!(runs.mean(3) > 2.9 && runs.mean(8) > 2.9 && runs.mean(2) < 1.6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runs([f64; Runs::LONGEST]);

impl Runs {
    /// Entries of the longest run for which slices keep a column.
    pub const MOST: usize = 4;
    /// Bits of the word by which layouts keep a run that say how many entries it has less than [`LONGEST`](Self::LONGEST); the others number
    /// its first column.
    pub const LEN_BITS: u32 = 3;
    /// Entries of the longest run that such a word holds.
    pub const LONGEST: usize = 1 << Self::LEN_BITS;

    /// Reads a few columns, in the order of the entries. O(1).
    pub fn of(cols: &[u32]) -> Self {
        let (mut n_entries, mut n_runs) = (0, [0; Self::LONGEST]);
        for window in windows(cols) {
            n_entries += window.len();
            for run in window.chunk_by(|col, next| col.checked_add(1) == Some(*next)) {
                (1..).zip(&mut n_runs).for_each(|(most, n)| *n += run.len().div_ceil(most));
            }
        }
        Self(n_runs.map(|n| if n > 0 { n_entries as f64 / n as f64 } else { 1.0 }))
    }

    /// Entries of a run, if none may have more than `most`; more than [`LONGEST`](Self::LONGEST) count as that many.
    pub fn mean(&self, most: usize) -> f64 {
        self.0[most.clamp(1, Self::LONGEST) - 1]
    }
}

/// Samples, evenly over the entries, the last one at their end.
fn windows(cols: &[u32]) -> impl Iterator<Item = &[u32]> {
    let windows = cols.len().div_ceil(WINDOW).min(WINDOWS);
    let last = cols.len().saturating_sub(WINDOW);
    (0..windows).map(move |window| {
        let start = if windows > 1 { last / (windows - 1) * window } else { 0 };
        &cols[start..cols.len().min(start + WINDOW)]
    })
}

fn scatter(cols: &[u32]) -> f64 {
    let (mut sum, mut n) = (0.0, 0);
    for entries in windows(cols) {
        let mut lines: Vec<u32> = entries.iter().map(|col| col / LINE).collect();
        lines.sort_unstable();
        lines.dedup();
        (sum, n) = (sum + lines.len() as f64 / entries.len() as f64, n + 1);
    }
    if n > 0 { sum / f64::from(n) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::csr::Csr;
    use crate::format::Dia;
    use crate::regular::{self, slots};

    #[test]
    fn nothing_divides_by_zero() {
        for (m, n) in [(0, 0), (0, 3), (3, 0)] {
            let a = Csr::<f64>::from_coo(m, n, &[]).unwrap();
            let s = MatrixStats::of(a.view());
            assert_eq!((s.rows.n_rows, s.rows.n_cols, s.rows.mean, s.diagonals), (m, n, 0.0, Some(0)));
            assert_eq!((s.rows.empty, s.scatter), (m, 0.0));
        }
    }

    #[test]
    fn hyb_pads_a_column_for_a_third_of_the_rows_and_no_fewer_than_4096() {
        let shape = |lens: &[(usize, usize)]| {
            let lens = lens.iter().flat_map(|(n, len)| std::iter::repeat_n(*len, *n));
            let rows = lens.map(|len| (0..len as u32).map(|col| (col, 1.0f32)));
            HybShape::of(Csr::<f32>::from_rows(100, rows.collect::<Vec<_>>()).unwrap().view())
        };
        let of = |width, rest| HybShape { width, rest };
        assert_eq!(shape(&[(10_000, 5), (5000, 9)]), of(9, 0));
        assert_eq!(shape(&[(10_001, 5), (5000, 9)]), of(5, 20_000));
        assert_eq!(shape(&[(2, 5), (4095, 9)]), of(5, 4 * 4095));
        assert_eq!(shape(&[(4095, 9)]), of(0, 9 * 4095));
        assert_eq!(shape(&[(9000, 0), (4000, 7)]), of(0, 28_000));
        assert_eq!(shape(&[]), of(0, 0));
    }

    #[test]
    fn deviation_is_over_all_rows() {
        let a = Csr::from_coo(2, 4, &[(0, 0, 1.0f32), (0, 1, 1.0), (0, 2, 1.0), (1, 0, 1.0)]).unwrap();
        assert_eq!(RowStats::of(a.view()).std_dev, 1.0);
    }

    proptest! {
        #[test]
        fn few_diagonals_are_counted_as_dia_has_them(
            rows in prop::collection::vec(prop_oneof![
                6 => Just(vec![2u32, 3, 6]),
                2 => Just(vec![0, 3]),
                1 => Just(vec![3, 3]),
                1 => Just(vec![]),
            ], 0..60),
            zero_at in prop::option::of(0usize..300),
        ) {
            let (mut row_ptr, mut cols) = (vec![0u32], Vec::new());
            for (row, of_row) in (0..).zip(&rows) {
                cols.extend(of_row.iter().map(|col| row + col));
                row_ptr.push(cols.len() as u32);
            }
            let val = |at| if Some(at) == zero_at { 0.0 } else { 2.0f64 };
            let vals = (0..cols.len()).map(val).collect();
            let a = Csr::new(rows.len(), 70, row_ptr, cols, vals).unwrap();
            let stats = MatrixStats::of_diagonals(a.view());
            let few = |dia: &Dia<f64>| 2 * dia.vals().len() <= 3 * a.nnz();
            let dia = Dia::from_csr(a.view(), f64::INFINITY).ok().filter(few);
            prop_assert_eq!(stats.diagonals, dia.map(|dia| dia.offsets().len()));
        }
    }

    #[test]
    fn diagonals_are_those_of_dia_or_none() {
        let n = 1000u32;
        let banded: Vec<_> = (0..n).flat_map(|r| [(r, r, 1.0f64), (r, (r + 7) % n, 2.0)]).collect();
        let a = Csr::from_coo(n as usize, n as usize, &banded).unwrap();
        assert_eq!(MatrixStats::of(a.view()).diagonals, Some(3));
        assert_eq!(crate::format::Dia::from_csr(a.view(), 3.0).unwrap().offsets().len(), 3);
        let all_over: Vec<_> = (0..n).map(|r| (r, (r * 37) % n, 1.0f64)).collect();
        let a = Csr::from_coo(n as usize, n as usize, &all_over).unwrap();
        assert_eq!(MatrixStats::of(a.view()).diagonals, None);
        let far = Csr::new(1, u32::MAX as usize, vec![0u32, 1], vec![7], vec![1.0f32]).unwrap();
        assert_eq!(MatrixStats::of(far.view()).diagonals, None, "counting takes memory by columns");
        let zero = Csr::new(1, 1, vec![0u32, 1], vec![0], vec![-0.0f32]).unwrap();
        let twice = Csr::new(1, 2, vec![0u32, 2], vec![1, 1], vec![1.0f32, 2.0]).unwrap();
        assert_eq!([zero, twice].map(|a| MatrixStats::of(a.view()).diagonals), [None, None]);
    }

    #[test]
    fn regular_parts_are_those_that_are_counted_entry_by_entry() {
        let cols = |r: u32| [r, r + 1, r + 5].into_iter().chain(r.is_multiple_of(9).then_some(r + 20));
        let row = |r: u32| cols(r).filter(|c| *c < 100).map(move |c| (r, c, 1.0f64));
        let banded: Vec<_> = (0..120).flat_map(row).collect();
        let far = [(1, 80, 1.0), (1, 81, 1.0)];
        for a in [Csr::from_coo(120, 100, &banded).unwrap(), Csr::from_coo(2, 90, &far).unwrap()] {
            let stats = MatrixStats::of(a.view());
            assert_eq!(stats.slots, Some(slots(a.view(), SHARE)));
            let band = stats.band.expect("few diagonals");
            assert_eq!(band.part, regular::band(a.view(), SHARE));
            assert_eq!(band.diagonals, regular::diagonals(a.view(), 0, band.part.width).len());
        }
    }

    #[test]
    fn runs_are_cut_where_columns_do_not_follow_and_where_they_are_too_long() {
        let means = |cols: &[u32]| [1, 2, 3, 4, 8].map(|most| Runs::of(cols).mean(most));
        assert_eq!(means(&[4, 5, 6, 7, 8, 9]), [1.0, 2.0, 3.0, 3.0, 6.0]);
        assert_eq!(means(&[4, 4, 5, 3, u32::MAX, 0]), [1.0, 1.2, 1.2, 1.2, 1.2]);
        assert_eq!([1, 3, 9].map(|most| Runs::of(&[]).mean(most)), [1.0; 3]);
    }

    #[test]
    fn entries_side_by_side_share_lines_and_those_far_apart_do_not() {
        let scatter_of = |col: fn(u32) -> u32| scatter(&(0..10_000).map(col).collect::<Vec<_>>());
        assert_eq!(scatter_of(|i| i % 16), 1.0 / 256.0);
        assert_eq!(scatter_of(|i| i * 16), 1.0);
        assert!((scatter_of(|i| i) - 1.0 / 16.0).abs() < 0.01);
    }
}
