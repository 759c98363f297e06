//! Jagged diagonals: rows sorted by length, entry k of all of them together, no padding.
//!
//! ```text
//!        0  1  2  3          rows by length: 3 (3), 0 (2), 1 (1), 2 (0)     perm = 3 0 1 2
//!   0  [ a  .  b  . ]
//!   1  [ .  c  .  . ]        jag_ptr = 0        3     5  6                  (width + 1)
//!   2  [ .  .  .  . ]        cols    = 0  0  1  2  2  3
//!   3  [ d  .  e  f ]        vals    = d  a  c  e  b  f
//!                                     3  0  1  3  0  3   rows
//! ```
//!
//! Jagged diagonal k holds entry k of the rows that have one, which are the first of `perm`. Saad 1989; Wang, Gu & Li 2017,
//! section 2.

use super::by_slot::BySlot;
use super::cost::{Cost, zero};
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::stats::RowStats;
use crate::value::Value;

/// A matrix in JAD form.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Jad;
/// let a = Csr::from_coo(2, 3, &[(0, 1, 3.0f32), (1, 0, 1.0), (1, 2, 2.0)])?;
/// let jad = Jad::from_csr(a.view(), 3.0)?;
/// assert_eq!(jad.perm(), [1, 0]);
/// assert_eq!(jad.jag_ptr(), [0, 2, 3]);
/// assert_eq!(jad.vals(), [1.0, 3.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Jad<T> {
    n_cols: usize,
    perm: Vec<u32>,
    jag_ptr: Vec<usize>,
    cols: Vec<u32>,
    vals: Vec<T>,
}

impl<T: Value> Jad<T> {
    /// What the layout takes. O(rows).
    pub fn cost<O: Offset>(a: CsrView<'_, T, O>) -> Cost {
        Cost::jad(&RowStats::of(a), T::DTYPE)
    }

    /// Lays out a matrix; entries of a row keep their order, rows of one length too. O(rows + entries).
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] above `max_blow_up` times the bytes of CSR, which takes one long row and little else.
    pub fn from_csr<O: Offset>(a: CsrView<'_, T, O>, max_blow_up: f64) -> Result<Self, FormatError> {
        Self::cost(a).check("jad", max_blow_up)?;
        let order = BySlot::jagged(a);
        let (mut cols, mut vals) = (vec![0; a.nnz()], vec![zero::<T>(); a.nnz()]);
        order.fill(a, 0..order.width(), &mut cols, &mut vals);
        let (jag_ptr, perm) = order.into_parts();
        Ok(Self { n_cols: a.n_cols(), perm, jag_ptr, cols, vals })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.perm.len()
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The matrix's row at each position of a jagged diagonal, longest first.
    pub fn perm(&self) -> &[u32] {
        &self.perm
    }

    /// Where each jagged diagonal begins, and the number of entries.
    pub fn jag_ptr(&self) -> &[usize] {
        &self.jag_ptr
    }

    /// Columns, one per entry.
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// Values, one per entry.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// The `(column, value)` pairs at one position of [`perm`](Self::perm), in order.
    ///
    /// # Panics
    /// If `position >= n_rows`.
    pub fn row_at(&self, position: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        assert!(position < self.n_rows(), "position {position} of {}", self.n_rows());
        let diagonals = self.jag_ptr.windows(2).take_while(move |d| d[1] - d[0] > position);
        diagonals.map(move |d| (self.cols[d[0] + position], self.vals[d[0] + position]))
    }

    /// The same matrix in CSR form. O(rows + entries).
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`].
    pub fn to_csr<O: Offset>(&self) -> Result<Csr<T, O>, CsrError> {
        let mut position_of = vec![0; self.n_rows()];
        for (position, row) in self.perm.iter().enumerate() {
            position_of[*row as usize] = position;
        }
        Csr::from_rows(self.n_cols, position_of.into_iter().map(|position| self.row_at(position)))
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
            let jad = Jad::from_csr(a.view(), f64::INFINITY).unwrap();
            prop_assert_eq!(jad.to_csr::<u32>().unwrap(), a.clone());
            let of_32_bits = 4 * jad.jag_ptr().len();
            let arrays = [size_of_val(jad.cols()), size_of_val(jad.vals()), size_of_val(jad.perm()), of_32_bits];
            prop_assert_eq!(Jad::cost(a.view()).bytes, cases::bytes(&arrays));
            prop_assert_eq!(Jad::cost(a.view()).padding, 0);
            let lens: Vec<usize> = jad.perm().iter().map(|row| a.row(*row as usize).count()).collect();
            prop_assert!(lens.is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn repeated_entries_and_stored_zeros_are_kept() {
        let a = Csr::new(2, 2, vec![0u32, 1, 4], vec![0, 1, 0, 1], vec![0.0f32, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(Jad::from_csr(a.view(), 3.0).unwrap().to_csr(), Ok(a));
    }
}
