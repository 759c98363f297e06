//! Coordinates: each entry with its row and column.
//!
//! ```text
//!        0  1  2  3
//!   0  [ a  .  b  . ]        rows  = 0 0 1 3 3 3
//!   1  [ .  c  .  . ]        cols  = 0 2 1 0 2 3
//!   2  [ .  .  .  . ]        vals  = a b c d e f
//!   3  [ d  .  e  f ]
//! ```
//!
//! Entries of a row stand side by side, rows in order. Lanes that take as many entries each have equal work, whatever the
//! row lengths. Bell & Garland 2009, section 3.3.

use super::cost::Cost;
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::stats::RowStats;
use crate::value::Value;

/// A matrix in COO form, in the order of its rows.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Coo;
/// let a = Csr::from_coo(3, 3, &[(2, 1, 3.0f32), (0, 0, 1.0), (0, 2, 2.0)])?;
/// let coo = Coo::from_csr(a.view(), 3.0)?;
/// assert_eq!((coo.rows(), coo.cols()), (&[0, 0, 2][..], &[0, 2, 1][..]));
/// assert_eq!(coo.vals(), [1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coo<T> {
    n_rows: usize,
    n_cols: usize,
    rows: Vec<u32>,
    cols: Vec<u32>,
    vals: Vec<T>,
}

impl<T: Value> Coo<T> {
    /// What the layout takes. O(rows).
    pub fn cost<O: Offset>(a: CsrView<'_, T, O>) -> Cost {
        Cost::coo(&RowStats::of(a), T::DTYPE)
    }

    /// Lays out a matrix; entries of a row keep their order. O(rows + entries).
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] above `max_blow_up` times the bytes of CSR, which takes a bound of less than 5 / 3.
    pub fn from_csr<O: Offset>(a: CsrView<'_, T, O>, max_blow_up: f64) -> Result<Self, FormatError> {
        Self::cost(a).check("coo", max_blow_up)?;
        Ok(Self::beyond(a, 0))
    }

    /// What follows the first `width` entries of each row.
    pub(super) fn beyond<O: Offset>(a: CsrView<'_, T, O>, width: usize) -> Self {
        let (mut rows, mut cols, mut vals) = (vec![], vec![], vec![]);
        for row in 0..a.n_rows() {
            let entries = a.row_range(row);
            let rest = entries.end.min(entries.start + width)..entries.end;
            rows.extend(std::iter::repeat_n(row as u32, rest.len()));
            cols.extend_from_slice(&a.cols()[rest.clone()]);
            vals.extend_from_slice(&a.vals()[rest]);
        }
        Self { n_rows: a.n_rows(), n_cols: a.n_cols(), rows, cols, vals }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Rows, one per entry; they never decrease.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Columns, one per entry.
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// Values, one per entry.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// The `(column, value)` pairs of one row, in order. Finding them takes O(log entries).
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        let start = self.rows.partition_point(|r| (*r as usize) < row);
        let entries = (start..self.rows.len()).take_while(move |at| self.rows[*at] as usize == row);
        entries.map(|at| (self.cols[at], self.vals[at]))
    }

    /// The same matrix in CSR form. O(rows log entries + entries).
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

    proptest! {
        #[test]
        fn csr_comes_back_and_the_cost_was_right(a in cases::any()) {
            let coo = Coo::from_csr(a.view(), f64::INFINITY).unwrap();
            prop_assert_eq!(coo.to_csr::<u32>().unwrap(), a.clone());
            prop_assert!(coo.rows().is_sorted());
            let arrays = [size_of_val(coo.rows()), size_of_val(coo.cols()), size_of_val(coo.vals())];
            let cost = Coo::cost(a.view());
            prop_assert_eq!((cost.bytes, cost.padding), (cases::bytes(&arrays), 0));
        }
    }

    #[test]
    fn one_long_row_costs_a_row_number_for_each_entry() {
        let a = Csr::new(1, 100, vec![0u32, 100], (0..100).collect(), vec![1.0f32; 100]).unwrap();
        let e = Coo::from_csr(a.view(), 1.2).unwrap_err();
        assert!(e.to_string().starts_with("coo would take 1200 bytes, 1.5 times the 808 of csr"), "{e}");
    }
}
