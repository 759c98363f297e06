//! Patterns of matrices, by what can be counted.

use std::fmt;

use spmv_core::regular::{self, SHARE};
use spmv_core::{CsrView, Offset, Value};

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
    let is_full = |part: regular::Part, width: usize| {
        part.entries > 0 && width as f64 * a.n_rows() as f64 <= FULL * part.entries as f64
    };
    let band = regular::band(a, SHARE);
    if is_full(band, regular::diagonals(a, 0, band.width).len()) {
        return (Pattern::QuasiDiagonal, band.width);
    }
    let slots = regular::slots(a, SHARE);
    (if is_full(slots, slots.width) { Pattern::Tetris } else { Pattern::General }, slots.width)
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
    fn one_entry_far_from_the_diagonal_is_a_band_of_one_diagonal() {
        let wide =
            Csr::<f32>::new(1, u32::MAX as usize, vec![0u32, 1], vec![u32::MAX - 1], vec![1.0]).unwrap();
        assert_eq!(Pattern::of(wide.view()), Pattern::QuasiDiagonal);
    }
}
