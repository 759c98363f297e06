//! Patterns of matrices, by what can be counted.

use std::fmt;

use spmv_core::regular::{self, SHARE};
use spmv_core::{CsrView, Offset, Value};

/// Rows, or columns if they are fewer, over WIDTH from which on entries within WIDTH of the diagonal count as near it: a band of
/// at most a sixth of the matrix. The paper has no number here. The widest band of its quasi-diagonal matrices at hand is that of
/// nasa4704, 17 times; cavity14, of finite elements too, has 14 times and the stencil of sherman3 13 times.
const NARROW: usize = 12;
/// Slots over entries up to which a layout counts as full: at least one slot of two holds an entry.
const FULL: f64 = 2.0;

/// Where most entries of a matrix lie: the classes of section 3.1, counted.
///
/// The paper shows them by pictures (its figures 2 and 3). The definitions here have two numbers of our own, for want of any in
/// the text: what is near the diagonal, and how much padding is too much. Under them conf5_4-8x8-05, nasa4704 and xenon1 are
/// quasi-diagonal as in Table 3. The padding of DIA takes no part: by the paper's figure 10, DIA is slower than CSR on three of
/// its quasi-diagonal matrices. Which regular part a search begins with follows from the padding alone
/// ([`Split::of`](crate::Split::of)).
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
    /// 80% of the entries are at most a twelfth of the rows, or of the columns if they are fewer, from the diagonal.
    QuasiDiagonal,
    /// Any other whose least K, with which the first K entries of each row are 80% of all, has at most 2 slots of ELL, K for each
    /// row, for each of them.
    Tetris,
    /// Neither.
    General,
}

impl Pattern {
    /// Counts entries by their distance from the diagonal, then by their position in the row. O(rows + entries log entries).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        Regularity::of(a).pattern()
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

/// What the pattern of a matrix is counted from: its narrowest band and its first slots that hold 80% of the entries.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_hetero::{Pattern, Regularity};
/// let tridiagonal = (0..100u32).flat_map(|r| (r.saturating_sub(1)..(r + 2).min(100)).map(move |c| (r, c, 1.0f32)));
/// let shape = Regularity::of(Csr::<f32>::from_coo(100, 100, &tridiagonal.collect::<Vec<_>>())?.view());
/// assert_eq!((shape.half_width, shape.in_band, shape.diagonals), (1, 298, 3));
/// assert_eq!((shape.k, shape.in_slots), (3, 298));
/// assert_eq!((shape.pattern(), shape.width(), shape.share()), (Pattern::QuasiDiagonal, 1, 1.0));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regularity {
    /// Rows.
    pub n_rows: usize,
    /// Columns.
    pub n_cols: usize,
    /// Entries.
    pub nnz: usize,
    /// WIDTH: the least distance from the diagonal, in columns, within which 80% of the entries lie.
    pub half_width: usize,
    /// Entries within it.
    pub in_band: usize,
    /// Different diagonals that these are on.
    pub diagonals: usize,
    /// The least K whose first K entries of each row are 80% of all.
    pub k: usize,
    /// These entries.
    pub in_slots: usize,
}

impl Regularity {
    /// O(rows + entries log entries), and eight bytes of scratch for each entry.
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        let (band, slots) = (regular::band(a, SHARE), regular::slots(a, SHARE));
        let diagonals = if band.entries > 0 { regular::diagonals(a, 0, band.width).len() } else { 0 };
        let (n_rows, n_cols, nnz) = (a.n_rows(), a.n_cols(), a.nnz());
        let (half_width, in_band, k, in_slots) = (band.width, band.entries, slots.width, slots.entries);
        Self { n_rows, n_cols, nnz, half_width, in_band, diagonals, k, in_slots }
    }

    /// The class of section 3.1.
    pub fn pattern(&self) -> Pattern {
        if self.nnz > 0 && self.half_width <= self.n_rows.min(self.n_cols) / NARROW {
            Pattern::QuasiDiagonal
        } else if self.nnz > 0 && self.ell_padding() <= FULL {
            Pattern::Tetris
        } else {
            Pattern::General
        }
    }

    /// WIDTH of a quasi-diagonal matrix, K of any other.
    pub fn width(&self) -> usize {
        if self.pattern() == Pattern::QuasiDiagonal { self.half_width } else { self.k }
    }

    /// Share of the entries that the regular part of that width holds, 0 to 1; 0 for a general matrix, which has none.
    pub fn share(&self) -> f64 {
        match self.pattern() {
            Pattern::QuasiDiagonal => self.in_band as f64 / self.nnz as f64,
            Pattern::Tetris => self.in_slots as f64 / self.nnz as f64,
            Pattern::General => 0.0,
        }
    }

    /// Slots of the regular part in its layout, DIA or ELL, over its entries; of a general matrix those of ELL.
    pub fn padding(&self) -> f64 {
        if self.pattern() == Pattern::QuasiDiagonal { self.dia_padding() } else { self.ell_padding() }
    }

    fn dia_padding(&self) -> f64 {
        self.diagonals as f64 * self.n_rows as f64 / self.in_band as f64
    }

    fn ell_padding(&self) -> f64 {
        self.k as f64 * self.n_rows as f64 / self.in_slots as f64
    }

    /// Whether the band is nearly full in DIA.
    pub(crate) fn has_full_band(&self) -> bool {
        self.nnz > 0 && self.dia_padding() <= FULL
    }

    /// Whether the slots are nearly full in ELL.
    pub(crate) fn has_full_slots(&self) -> bool {
        self.nnz > 0 && self.ell_padding() <= FULL
    }
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
        // Most entries of a full matrix are far from the diagonal, and its rows are of one length.
        assert_eq!(of(40, (0..1600).map(|e| (e / 40, e % 40))), Pattern::Tetris);
        let even = (0..n).flat_map(|r| (0..6).map(move |k| scattered(r, k)));
        let few_long = (0..4u32).flat_map(|r| (0..n / 3).map(move |c| (r * 70, 3 * c)));
        assert_eq!(of(n, even.chain(few_long)), Pattern::Tetris);
        // Every tenth row holds nearly all.
        let uneven = (0..n / 10).flat_map(|r| (0..100).map(move |k| (r * 10, (k * 3 + r) % n)));
        assert_eq!(of(n, uneven), Pattern::General);
        assert_eq!(of(n, std::iter::empty()), Pattern::General);
    }

    #[test]
    fn a_band_up_to_a_sixth_of_the_matrix_is_quasi_diagonal() {
        // Three diagonals, of which any two hold less than four fifths.
        let within = |n_rows: u32, n_cols: u32, width: u32| {
            let row = |r: u32| [r.checked_sub(width), Some(r), Some(r + width)].into_iter().flatten();
            let entries = (0..n_rows).flat_map(|r| row(r).map(move |c| (r, c, 1.0f32)));
            let entries: Vec<_> = entries.filter(|entry| entry.1 < n_cols).collect();
            Pattern::of(Csr::<f32>::from_coo(n_rows as usize, n_cols as usize, &entries).unwrap().view())
        };
        assert_eq!([within(240, 240, 20), within(240, 240, 21)], [Pattern::QuasiDiagonal, Pattern::Tetris]);
        // The shorter dimension counts.
        assert_eq!([within(240, 990, 20), within(240, 990, 21)], [Pattern::QuasiDiagonal, Pattern::Tetris]);
    }

    #[test]
    fn padding_decides_about_the_layout_and_not_about_a_band() {
        // Three entries of each row anywhere within 20 columns: some thirteen slots of DIA for each.
        let n = 300u32;
        let row = |r: u32| {
            [0, 1, 2].map(|k| (r, (r + (r * 7 + k * 13) % 41).saturating_sub(20).min(n - 1), 1.0f32))
        };
        let a = Csr::<f32>::from_coo(300, 300, &(0..n).flat_map(row).collect::<Vec<_>>()).unwrap();
        let shape = Regularity::of(a.view());
        assert!(shape.pattern() == Pattern::QuasiDiagonal && shape.padding() > 10.0, "{shape:?}");
        assert!(shape.has_full_slots() && !shape.has_full_band(), "{shape:?}");
    }

    #[test]
    fn rows_of_which_half_the_slots_are_padding_are_tetris_still() {
        // All slots of every so many-th row, far from the diagonal.
        let every = |step: u32| {
            let n = 60 * step;
            of(n, (0..60).flat_map(|r| (0..4).map(move |k| (r * step, (r * step + n / 2 + k * 5) % n))))
        };
        assert_eq!([every(1), every(2), every(3)], [Pattern::Tetris, Pattern::Tetris, Pattern::General]);
    }

    #[test]
    fn one_entry_far_from_the_diagonal_is_no_narrow_band() {
        let wide =
            Csr::<f32>::new(1, u32::MAX as usize, vec![0u32, 1], vec![u32::MAX - 1], vec![1.0]).unwrap();
        assert_eq!(Pattern::of(wide.view()), Pattern::Tetris);
    }
}
