//! Patterns of matrices, by what can be counted.

use std::fmt;

use spmv_core::{CsrView, Offset, RowStats, Value};

/// Share of the entries that the regular part must hold (section 4: K starts where it does).
pub(crate) const SHARE: f64 = 0.8;
/// Slots over entries up to which the regular part counts as full.
const FULL: f64 = 1.5;

/// Where most entries of a matrix lie.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_hetero::Pattern;
/// // Rows of three entries anywhere, and one of thirty.
/// let even = (0..60u32).flat_map(|r| [0, 1, 2].map(|k| (r, (r * 7 + k * k * 17) % 60, 1.0f32)));
/// let long = (0..30u32).map(|c| (60, 2 * c, 1.0));
/// let a = Csr::from_coo(61, 60, &even.chain(long).collect::<Vec<_>>())?;
/// assert_eq!(Pattern::of(a.view()), Pattern::Tetris);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// The narrowest band about the diagonal that holds 80% of the entries has at most 1.5 slots of DIA for each of them.
    QuasiDiagonal,
    /// The least K whose first K entries of each row are 80% of all has at most 1.5 slots of ELL, K for each row, for each of them.
    Tetris,
    /// Neither.
    General,
}

impl Pattern {
    /// Counts entries by their distance from the diagonal, then by their position in the row. O(rows + entries log entries).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        recognised(a).0
    }

    /// As in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::QuasiDiagonal => "quasi-diagonal",
            Pattern::Tetris => "tetris",
            Pattern::General => "general",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The pattern, and how wide its regular part is: columns before and after the diagonal, or K.
pub(crate) fn recognised<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> (Pattern, usize) {
    let is_full = |slots: f64, entries: usize| entries > 0 && slots <= FULL * entries as f64;
    let (half_width, in_band) = band(a);
    if is_full(diagonals_within(a, half_width) as f64 * a.n_rows() as f64, in_band) {
        return (Pattern::QuasiDiagonal, half_width);
    }
    let (k, first) = first_slots(a);
    let pattern =
        if is_full(k as f64 * a.n_rows() as f64, first) { Pattern::Tetris } else { Pattern::General };
    (pattern, k)
}

/// Columns between an entry and the diagonal.
pub(crate) fn distance(row: usize, col: u32) -> usize {
    row.abs_diff(col as usize)
}

/// The least distance from the diagonal within which [`SHARE`] of the entries lie, and how many do. O(entries), eight bytes
/// of scratch for each.
fn band<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> (usize, usize) {
    let of_row = |row: usize| a.cols()[a.row_range(row)].iter().map(move |col| distance(row, *col));
    let mut distances: Vec<usize> = (0..a.n_rows()).flat_map(of_row).collect();
    let wanted = (SHARE * distances.len() as f64).ceil() as usize;
    if wanted == 0 {
        return (0, 0);
    }
    let half_width = *distances.select_nth_unstable(wanted - 1).1;
    (half_width, distances.iter().filter(|distance| **distance <= half_width).count())
}

/// Different diagonals with an entry at most so far from the main one. O(entries log entries), and eight bytes of scratch
/// for each.
fn diagonals_within<T: Value, O: Offset>(a: CsrView<'_, T, O>, half_width: usize) -> usize {
    let in_band = |row: usize| {
        let cols = a.cols()[a.row_range(row)].iter().filter(move |col| distance(row, **col) <= half_width);
        cols.map(move |col| i64::from(*col) - row as i64)
    };
    let mut diagonals: Vec<i64> = (0..a.n_rows()).flat_map(in_band).collect();
    diagonals.sort_unstable();
    diagonals.dedup();
    diagonals.len()
}

/// The least K whose first K entries of each row are [`SHARE`] of all, and how many those are.
fn first_slots<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> (usize, usize) {
    let longest = RowStats::of(a).max;
    // Rows with an entry at each position.
    let mut at = vec![0usize; longest + 1];
    for row in 0..a.n_rows() {
        at[a.row_range(row).len()] += 1;
    }
    for slot in (0..longest).rev() {
        at[slot] += at[slot + 1];
    }
    let (last, held) = reached(&at[1..], a.nnz());
    (if held > 0 { last + 1 } else { 0 }, held)
}

/// The first index up to which the counts are [`SHARE`] of all, and their sum.
fn reached(counts: &[usize], all: usize) -> (usize, usize) {
    let mut sum = 0;
    for (at, count) in counts.iter().enumerate() {
        sum += count;
        if sum as f64 >= SHARE * all as f64 && sum > 0 {
            return (at, sum);
        }
    }
    (0, sum)
}

#[cfg(test)]
mod tests {
    use spmv_core::Csr;

    use super::*;

    fn of(n: u32, entries: impl Iterator<Item = (u32, u32)>) -> Pattern {
        let entries: Vec<_> = entries.map(|(row, col)| (row, col, 1.0f32)).collect();
        Pattern::of(Csr::<f32>::from_coo(n as usize, n as usize, &entries).unwrap().view())
    }

    #[test]
    fn labelled_matrices_are_recognised() {
        let n = 300u32;
        let scattered = |r: u32, k: u32| (r, (r * 131 + k * k * 37 + k) % n);
        let diagonals = (0..n).flat_map(|r| (0..5).map(move |k| (r, (r + k).min(n - 1))));
        let some_far = (0..n).map(|r| scattered(r, 1));
        assert_eq!(of(n, diagonals.clone().chain(some_far)), Pattern::QuasiDiagonal);
        // A full matrix is a band of full diagonals.
        assert_eq!(of(40, (0..1600).map(|e| (e / 40, e % 40))), Pattern::QuasiDiagonal);
        let even = (0..n).flat_map(|r| (0..6).map(move |k| scattered(r, k)));
        let few_long = (0..4u32).flat_map(|r| (0..n / 3).map(move |c| (r * 70, 3 * c)));
        assert_eq!(of(n, even.chain(few_long)), Pattern::Tetris);
        // Every tenth row holds nearly all.
        let uneven = (0..n / 10).flat_map(|r| (0..100).map(move |k| (r * 10, (k * 3 + r) % n)));
        assert_eq!(of(n, uneven), Pattern::General);
        assert_eq!(of(n, std::iter::empty()), Pattern::General);
    }

    #[test]
    fn a_band_and_slots_hold_four_fifths() {
        let row = |r: u32| [r, r + 1, r + 2, r + 3, r + 9].map(|c| (r, c, 1.0f32));
        let a = Csr::<f32>::from_coo(20, 40, &(0..20).flat_map(row).collect::<Vec<_>>()).unwrap();
        assert_eq!((band(a.view()), first_slots(a.view())), ((3, 80), (4, 80)));
        // Of which a claim alone must not take memory.
        let wide =
            Csr::<f32>::new(1, u32::MAX as usize, vec![0u32, 1], vec![u32::MAX - 1], vec![1.0]).unwrap();
        assert_eq!(band(wide.view()), (u32::MAX as usize - 1, 1));
        assert_eq!(Pattern::of(wide.view()), Pattern::QuasiDiagonal, "one diagonal");
        let none = Csr::<f32>::from_coo(3, 3, &[]).unwrap();
        assert_eq!((band(none.view()), first_slots(none.view())), ((0, 0), (0, 0)));
    }
}
