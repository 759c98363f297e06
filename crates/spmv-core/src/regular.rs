//! How wide the regular part of a matrix is: a band about the diagonal, or the first entries of each row.
//!
//! Tan et al. 2019, section 3.2, split a matrix so: the regular part in DIA or ELL form, the rest of the rows in CSR.
//!
//! ```
//! use spmv_core::{Csr, regular};
//! // Four entries about the diagonal, and one far away.
//! let a = Csr::from_coo(4, 9, &[(0, 0, 1.0f32), (0, 8, 2.0), (1, 1, 3.0), (2, 2, 4.0), (3, 3, 5.0)])?;
//! let band = regular::band(a.view(), regular::SHARE);
//! assert_eq!((band.width, band.entries), (0, 4));
//! let slots = regular::slots(a.view(), regular::SHARE);
//! assert_eq!((slots.width, slots.entries), (1, 4));
//! # Ok::<(), spmv_core::CsrError>(())
//! ```

use crate::csr::CsrView;
use crate::lengths::Lengths;
use crate::offset::Offset;
use crate::value::Value;

/// Share of the stored entries that a regular part holds (Tan et al. 2019, section 3.2: K is where 80% do).
pub const SHARE: f64 = 0.8;

/// A regular part of a matrix.
///
/// ```
/// use spmv_core::regular::Part;
/// assert_eq!(Part::default().entries, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Part {
    /// Columns on either side of the diagonal, or slots of each row.
    pub width: usize,
    /// Stored entries that it holds.
    pub entries: usize,
}

/// A band about the diagonal.
///
/// ```
/// use spmv_core::regular::{Band, Part};
/// assert_eq!(Band::default(), Band { part: Part { width: 0, entries: 0 }, diagonals: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Band {
    /// Its width, and what it holds.
    pub part: Part,
    /// Its diagonals that hold an entry.
    pub diagonals: usize,
}

/// Columns between an entry and the diagonal.
///
/// ```
/// assert_eq!(spmv_core::regular::distance(7, 3), 4);
/// ```
pub fn distance(row: usize, col: u32) -> usize {
    row.abs_diff(col as usize)
}

/// The narrowest band about the diagonal that holds a share of the entries: its width is the columns on either side.
/// O(entries), eight bytes of scratch for each.
///
/// ```
/// use spmv_core::{Csr, regular};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!(regular::band(a.view(), 0.5).width, 0);
/// assert_eq!(regular::band(a.view(), 1.0).width, 1);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn band<T: Value, O: Offset>(a: CsrView<'_, T, O>, share: f64) -> Part {
    let of_row = |row: usize| a.cols()[a.row_range(row)].iter().map(move |col| distance(row, *col));
    let mut distances: Vec<usize> = (0..a.n_rows()).flat_map(of_row).collect();
    let wanted = (share * distances.len() as f64).ceil() as usize;
    if wanted == 0 {
        return Part::default();
    }
    let last = wanted.min(distances.len()) - 1;
    let width = *distances.select_nth_unstable(last).1;
    Part { width, entries: distances.iter().filter(|distance| **distance <= width).count() }
}

/// How many entries are at most so many columns from the diagonal. O(entries).
///
/// ```
/// use spmv_core::{Csr, regular};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!(regular::in_band(a.view(), 0), 2);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn in_band<T: Value, O: Offset>(a: CsrView<'_, T, O>, half_width: usize) -> usize {
    let is_inside = |row: usize, col: u32| distance(row, col) <= half_width;
    let of_row = |row| a.cols()[a.row_range(row)].iter().filter(|col| is_inside(row, **col)).count();
    (0..a.n_rows()).map(of_row).sum()
}

/// The fewest slots of each row that hold a share of the entries, if the first entries of each row fill them.
/// O(rows + longest row).
///
/// ```
/// use spmv_core::{Csr, regular};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!(regular::slots(a.view(), 0.6), regular::Part { width: 1, entries: 2 });
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn slots<T: Value, O: Offset>(a: CsrView<'_, T, O>, share: f64) -> Part {
    slots_of(a, &Lengths::of(a.row_ptr()), share)
}

/// [`slots`] of rows of known lengths.
pub(crate) fn slots_of<T: Value, O: Offset>(a: CsrView<'_, T, O>, lengths: &Lengths, share: f64) -> Part {
    let wanted = share * a.nnz() as f64;
    let mut part = Part::default();
    // Rows that have an entry at the next position.
    let mut rows = a.n_rows();
    for (len, n) in lengths.iter() {
        while part.width < len {
            if part.entries > 0 && part.entries as f64 >= wanted {
                return part;
            }
            part = Part { width: part.width + 1, entries: part.entries + rows };
        }
        rows -= n;
    }
    part
}

/// How many entries the first `width` of each row are. O(rows).
///
/// ```
/// use spmv_core::{Csr, regular};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
/// assert_eq!(regular::in_slots(a.view(), 1), 2);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn in_slots<T: Value, O: Offset>(a: CsrView<'_, T, O>, width: usize) -> usize {
    (0..a.n_rows()).map(|row| a.row_range(row).len().min(width)).sum()
}

/// The diagonals (column minus row) that hold an entry at most so many columns from the main one, ascending. The rows begin
/// with row `first_row` of the matrix whose main diagonal that is; offsets are from rows of `a`. O(entries + half width), a byte
/// of scratch for each diagonal; or O(entries log entries), eight bytes for each, where the band is wide and few are in it.
///
/// ```
/// use spmv_core::{Csr, regular};
/// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 0, 3.0)])?;
/// assert_eq!(regular::diagonals(a.view(), 0, 1), [-1, 0]);
/// assert_eq!(regular::diagonals(a.view(), 1, 1), [0, 2], "one below the diagonal, one above");
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn diagonals<T: Value, O: Offset>(a: CsrView<'_, T, O>, first_row: usize, half_width: usize) -> Vec<i64> {
    let in_band = |row: usize| {
        let cols = a.cols()[a.row_range(row)].iter();
        let cols = cols.filter(move |col| distance(first_row + row, **col) <= half_width);
        cols.map(move |col| i64::from(*col) - row as i64)
    };
    let all = || (0..a.n_rows()).flat_map(in_band);
    let width = half_width.saturating_mul(2).saturating_add(1);
    // A band wider than its entries must not cost what lies between them.
    if width / 4 > a.nnz() {
        let mut diagonals: Vec<i64> = all().collect();
        diagonals.sort_unstable();
        diagonals.dedup();
        return diagonals;
    }
    let first = first_row as i64 - half_width as i64;
    let mut holds = vec![false; width];
    for diagonal in all() {
        holds[(diagonal - first) as usize] = true;
    }
    let held = holds.iter().enumerate().filter(|(_, holds)| **holds);
    held.map(|(at, _)| at as i64 + first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    fn widths(a: &Csr<f32>) -> [(usize, usize); 2] {
        [band(a.view(), SHARE), slots(a.view(), SHARE)].map(|part| (part.width, part.entries))
    }

    #[test]
    fn a_band_and_slots_hold_four_fifths() {
        let row = |r: u32| [r, r + 1, r + 2, r + 3, r + 9].map(|c| (r, c, 1.0f32));
        let a = Csr::<f32>::from_coo(20, 40, &(0..20).flat_map(row).collect::<Vec<_>>()).unwrap();
        assert_eq!(widths(&a), [(3, 80), (4, 80)]);
        assert_eq!(diagonals(a.view(), 0, 3), [0, 1, 2, 3]);
        assert_eq!((in_slots(a.view(), 4), in_slots(a.view(), usize::MAX)), (80, 100));
        assert_eq!((in_band(a.view(), 3), in_band(a.view(), usize::MAX)), (80, 100));
    }

    #[test]
    fn a_claim_of_columns_alone_takes_no_memory() {
        let wide =
            Csr::<f32>::new(1, u32::MAX as usize, vec![0u32, 1], vec![u32::MAX - 1], vec![1.0]).unwrap();
        assert_eq!(widths(&wide), [(u32::MAX as usize - 1, 1), (1, 1)]);
        assert_eq!(diagonals(wide.view(), 0, usize::MAX), [i64::from(u32::MAX) - 1]);
    }

    #[test]
    fn no_entries_have_no_width_and_no_share_has_none_either() {
        for n_rows in [0, 3] {
            assert_eq!(widths(&Csr::from_coo(n_rows, 3, &[]).unwrap()), [(0, 0), (0, 0)]);
        }
        let a = Csr::<f32>::from_coo(1, 1, &[(0, 0, 1.0)]).unwrap();
        assert_eq!(band(a.view(), 0.0), Part::default());
        assert_eq!(band(a.view(), 9.0), Part { width: 0, entries: 1 }, "a share of more than all is all");
    }
}
