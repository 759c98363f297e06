//! ELLPACK: every row padded to the longest, entry k of all rows side by side.
//!
//! ```text
//!        0  1  2  3                    k = 0    k = 1    k = 2
//!   0  [ a  .  b  . ]        cols  = 0 1 * 0   2 * * 2   * * * 3     (width x n_rows, * is PADDING)
//!   1  [ .  c  .  . ]        vals  = a c 0 d   b 0 0 e   0 0 0 f
//!   2  [ .  .  .  . ]                row 0 1 2 3
//!   3  [ d  .  e  f ]
//! ```
//!
//! Lanes that take a row each read neighbouring slots at the same time. Bell & Garland 2009, section 3.2.

use super::by_slot::{BySlot, PADDING};
use super::cost::{Cost, zero};
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::stats::RowStats;
use crate::value::Value;

/// A matrix in ELL form.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::{Ell, PADDING};
/// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let ell = Ell::from_csr(a.view(), 3.0)?;
/// assert_eq!(ell.width(), 2);
/// assert_eq!(ell.cols(), [0, 1, 2, PADDING]);
/// assert_eq!(ell.vals(), [1.0, 3.0, 2.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ell<T> {
    n_rows: usize,
    n_cols: usize,
    width: usize,
    cols: Vec<u32>,
    vals: Vec<T>,
}

impl<T: Value> Ell<T> {
    /// What the layout takes. O(rows).
    pub fn cost<O: Offset>(a: CsrView<'_, T, O>) -> Cost {
        Cost::ell(&RowStats::of(a), T::DTYPE)
    }

    /// Lays out a matrix; entries of a row keep their order. O(rows * longest row).
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] above `max_blow_up` times the bytes of CSR.
    pub fn from_csr<O: Offset>(a: CsrView<'_, T, O>, max_blow_up: f64) -> Result<Self, FormatError> {
        Self::cost(a).check("ell", max_blow_up)?;
        Ok(Self::of_first(a, RowStats::of(a).max))
    }

    /// The first `width` entries of each row (all of them, if there are not as many), and the rest of the rows (Tan et al. 2019,
    /// section 3.2). O(rows * width + entries).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Ell;
    /// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let (regular, rest) = Ell::split(a.view(), 1);
    /// assert_eq!((regular.cols(), regular.vals()), (&[0, 1][..], &[1.0, 3.0][..]));
    /// assert_eq!((rest.row_ptr(), rest.cols()), (&[0, 1, 1][..], &[2][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn split<O: Offset>(a: CsrView<'_, T, O>, width: usize) -> (Self, Csr<T, O>) {
        let width = width.min(RowStats::of(a).max);
        let rest = Csr::from_rows(a.n_cols(), (0..a.n_rows()).map(|row| a.row(row).skip(width)));
        (Self::of_first(a, width), rest.expect("some entries of a valid matrix"))
    }

    /// The first `width` entries of each row.
    pub(super) fn of_first<O: Offset>(a: CsrView<'_, T, O>, width: usize) -> Self {
        let n_rows = a.n_rows();
        let (mut cols, mut vals) = (vec![0; width * n_rows], vec![zero::<T>(); width * n_rows]);
        BySlot::padded(n_rows, width).fill(a, 0..width, &mut cols, &mut vals);
        Self { n_rows, n_cols: a.n_cols(), width, cols, vals }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Slots of each row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Columns: slot k of row r at `k * n_rows + r`.
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// Values, in the same slots.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// The `(column, value)` pairs of one row, in order.
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        let slots = (0..self.width).map(move |k| k * self.n_rows + row);
        slots.map(|at| (self.cols[at], self.vals[at])).take_while(|(col, _)| *col != PADDING)
    }

    /// The same matrix in CSR form. O(slots).
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`].
    pub fn to_csr<O: Offset>(&self) -> Result<Csr<T, O>, CsrError> {
        Csr::from_rows(self.n_cols, (0..self.n_rows).map(|row| self.row(row)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cases;
    use super::*;
    use crate::regular::in_slots;

    proptest! {
        #[test]
        fn both_parts_of_a_split_have_every_entry_once_in_its_order(a in cases::any(), width in 0usize..12) {
            let (regular, rest) = Ell::split(a.view(), width);
            let rows = (0..a.n_rows()).map(|row| regular.row(row).chain(rest.row(row)).collect::<Vec<_>>());
            prop_assert_eq!(Csr::<f64>::from_rows(a.n_cols(), rows).unwrap(), a.clone());
            let most = RowStats::of(a.view()).max.min(width);
            prop_assert_eq!(regular.width(), most);
            prop_assert!((0..a.n_rows()).all(|row| regular.row(row).count() == a.row(row).count().min(width)));
            prop_assert_eq!(rest.nnz(), a.nnz() - in_slots(a.view(), width));
            let cost = Cost::ell_csr(&RowStats::of(a.view()), most, rest.nnz(), crate::Dtype::F64);
            let slices = [size_of_val(regular.cols()), size_of_val(regular.vals())];
            let slices_of_rest = [size_of_val(rest.row_ptr()), size_of_val(rest.cols()), size_of_val(rest.vals())];
            prop_assert_eq!(cost.bytes, cases::bytes(&slices) + cases::bytes(&slices_of_rest));
            prop_assert_eq!(cost.slots, cost.padding + a.nnz() as u64);
        }

        #[test]
        fn csr_comes_back_and_the_cost_was_right(a in cases::any()) {
            let ell = Ell::from_csr(a.view(), f64::INFINITY).unwrap();
            prop_assert_eq!(ell.to_csr::<u32>().unwrap(), a.clone());
            let cost = Ell::cost(a.view());
            prop_assert_eq!(cost.bytes, cases::bytes(&[size_of_val(ell.cols()), size_of_val(ell.vals())]));
            let padding = ell.cols().iter().filter(|col| **col == PADDING).count();
            prop_assert_eq!(cost.padding, padding as u64);
        }
    }

    #[test]
    fn a_long_row_among_many_is_refused_before_anything_is_allocated() {
        let n = 1 << 20;
        let mut row_ptr = vec![n as u32; n + 1];
        row_ptr[0] = 0;
        let a = Csr::new(n, n, row_ptr, (0..n as u32).collect(), vec![1.0f32; n]).unwrap();
        assert_eq!(Ell::cost(a.view()).bytes, 8 << 40);
        let e = Ell::from_csr(a.view(), 3.0).unwrap_err();
        assert!(e.to_string().starts_with("ell would take 8796093022208 bytes, "), "{e}");
    }

    #[test]
    fn no_rows_and_empty_rows_take_nothing() {
        for n_rows in [0, 5] {
            let a = Csr::<f32>::new(n_rows, 3, vec![0u32; n_rows + 1], vec![], vec![]).unwrap();
            let ell = Ell::from_csr(a.view(), 3.0).unwrap();
            assert_eq!((ell.width(), ell.vals().len(), ell.to_csr()), (0, 0, Ok(a)));
        }
    }
}
