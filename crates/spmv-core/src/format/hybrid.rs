//! Pairs: what a layout holds well, and the rest in CSR.
//!
//! ```text
//!        0  1  2  3          EllCsr, width 1:                  DiaCsr, diagonal 0:
//!   0  [ a  .  b  . ]          ell  cols = 0 1 * 0               dia  a c * f
//!   1  [ .  c  .  . ]               vals = a c 0 d
//!   2  [ .  .  .  . ]          rest row 0: b; row 3: e f         rest row 0: b; row 3: d e
//!   3  [ d  .  e  f ]
//! ```
//!
//! `y <- A*x` is the one part's product plus the other's. Bell & Garland 2009, section 3.5 (HYB, with COO for the rest).

use super::cost::Cost;
use super::dia::{Dia, cost_of, offset, offsets};
use super::ell::Ell;
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::stats::RowStats;
use crate::value::{Offset, Value};

/// The first entries of each row in ELL, the rest in CSR.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::EllCsr;
/// let long = (0..100).map(|c| (0, c, 1.0f32)).chain((1..100).map(|r| (r, r, 2.0)));
/// let a = Csr::from_coo(100, 100, &long.collect::<Vec<_>>())?;
/// let hybrid = EllCsr::from_csr(a.view());
/// assert_eq!((hybrid.ell().width(), hybrid.rest().nnz()), (1, 99));
/// assert_eq!(hybrid.to_csr()?, a);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EllCsr<T, O = u32> {
    ell: Ell<T>,
    rest: Csr<T, O>,
}

impl<T: Value, O: Offset> EllCsr<T, O> {
    /// The width that takes the fewest bytes: a place more for every row pays as long as enough rows have an entry for it.
    /// O(rows + longest row).
    pub fn best_width(a: CsrView<'_, T, O>) -> usize {
        let longest = RowStats::of(a).max;
        // Rows that have an entry k, for each k.
        let mut rows_with = vec![0usize; longest + 1];
        for row in 0..a.n_rows() {
            rows_with[a.row_range(row).len()] += 1;
        }
        let mut n = 0;
        for count in rows_with.iter_mut().rev() {
            n += *count;
            *count = n;
        }
        // An entry takes as many bytes in either part, so a column of places pays if it is full for the most part: CSR
        // reads a row offset more, and its lanes wait for the longest row. Bell & Garland take a third.
        let pays = |k: &usize| 3 * rows_with[*k] >= a.n_rows() && rows_with[*k] > 0;
        (1..=longest).take_while(pays).last().unwrap_or(0)
    }

    /// What the pair takes at a width. O(rows).
    pub fn cost(a: CsrView<'_, T, O>, width: usize) -> Cost {
        let (value, n_rows) = (T::DTYPE.bytes() as u64, a.n_rows() as u64);
        let rest: u64 = (0..a.n_rows()).map(|r| a.row_range(r).len().saturating_sub(width) as u64).sum();
        let slots = (width as u64).saturating_mul(n_rows);
        let bytes = slots.saturating_add(rest).saturating_mul(4 + value).saturating_add((n_rows + 1) * 4);
        Cost::of(a, bytes, slots.saturating_add(rest))
    }

    /// Lays out a matrix at the [`best_width`](Self::best_width), which takes at most three times the places of its
    /// entries. O(rows + entries).
    pub fn from_csr(a: CsrView<'_, T, O>) -> Self {
        let width = Self::best_width(a);
        let rest = (0..a.n_rows()).map(|row| a.row(row).skip(width));
        let rest = Csr::from_rows(a.n_cols(), rest).expect("fewer entries than the matrix has");
        Self { ell: Ell::of_first(a, width), rest }
    }

    /// The first entries of each row.
    pub fn ell(&self) -> &Ell<T> {
        &self.ell
    }

    /// The others.
    pub fn rest(&self) -> &Csr<T, O> {
        &self.rest
    }

    /// The same matrix in CSR form. O(places + entries).
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`].
    pub fn to_csr(&self) -> Result<Csr<T, O>, CsrError> {
        let rows = (0..self.ell.n_rows()).map(|row| self.ell.row(row).chain(self.rest.row(row)));
        Csr::from_rows(self.ell.n_cols(), rows)
    }
}

/// Full diagonals in DIA, the rest in CSR.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::DiaCsr;
/// let stencil = (0..50).map(|r| (r, r, 2.0f32)).chain([(3, 40, 1.0)]);
/// let a = Csr::from_coo(50, 50, &stencil.collect::<Vec<_>>())?;
/// let hybrid = DiaCsr::from_csr(a.view())?;
/// assert_eq!((hybrid.dia().offsets(), hybrid.rest().nnz()), (&[0][..], 1));
/// assert_eq!(hybrid.to_csr()?, a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DiaCsr<T, O = u32> {
    dia: Dia<T>,
    rest: Csr<T, O>,
}

impl<T: Value, O: Offset> DiaCsr<T, O> {
    /// The diagonals that take fewer bytes whole than their entries do in CSR, which needs a column for each. O(rows +
    /// columns + entries).
    pub fn full_diagonals(a: CsrView<'_, T, O>) -> Vec<i64> {
        let (value, n_rows) = (T::DTYPE.bytes() as u64, a.n_rows() as u64);
        let least = (n_rows * value + 4) / (4 + value);
        offsets(a, u32::try_from(least).unwrap_or(u32::MAX))
    }

    /// What the pair takes with [`full_diagonals`](Self::full_diagonals): never more than CSR.
    /// O(rows + columns + entries).
    pub fn cost(a: CsrView<'_, T, O>) -> Cost {
        let diagonals = Self::full_diagonals(a);
        let rest: usize = (0..a.n_rows()).map(|row| rest_of(a, row, &diagonals).count()).sum();
        let (dia, value) = (cost_of(a, diagonals.len()), T::DTYPE.bytes() as u64);
        let rest_bytes = rest as u64 * (4 + value) + (a.n_rows() as u64 + 1) * 4;
        Cost::of(a, dia.bytes + rest_bytes, dia.slots + rest as u64)
    }

    /// Lays out a matrix. O(entries * log(diagonals) + places).
    ///
    /// # Errors
    /// [`FormatError::Repeated`] and [`FormatError::StoredZero`], for entries on full diagonals.
    pub fn from_csr(a: CsrView<'_, T, O>) -> Result<Self, FormatError> {
        let diagonals = Self::full_diagonals(a);
        let rest = (0..a.n_rows()).map(|row| rest_of(a, row, &diagonals));
        let rest = Csr::from_rows(a.n_cols(), rest).expect("no more entries than the matrix has");
        Ok(Self { dia: Dia::of_diagonals(a, diagonals)?, rest })
    }

    /// The full diagonals.
    pub fn dia(&self) -> &Dia<T> {
        &self.dia
    }

    /// The entries elsewhere.
    pub fn rest(&self) -> &Csr<T, O> {
        &self.rest
    }

    /// The same matrix in CSR form, rows sorted by column. O(places + entries log(longest row)).
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`].
    pub fn to_csr(&self) -> Result<Csr<T, O>, CsrError> {
        let rows = (0..self.dia.n_rows()).map(|row| {
            let mut entries: Vec<_> = self.dia.row(row).chain(self.rest.row(row)).collect();
            entries.sort_by_key(|(col, _)| *col);
            entries
        });
        Csr::from_rows(self.dia.n_cols(), rows)
    }
}

/// The entries of a row that lie on none of the diagonals.
fn rest_of<'a, T: Value, O: Offset>(
    a: CsrView<'a, T, O>,
    row: usize,
    diagonals: &'a [i64],
) -> impl Iterator<Item = (u32, T)> + 'a {
    a.row(row).filter(move |(col, _)| diagonals.binary_search(&offset(row, *col)).is_err())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cases;
    use super::*;

    proptest! {
        #[test]
        fn csr_comes_back_and_the_cost_was_right(a in cases::any()) {
            let pair = EllCsr::from_csr(a.view());
            prop_assert_eq!(pair.to_csr().unwrap(), a.clone());
            let bytes = |rest: &Csr<f64>| {
                [size_of_val(rest.row_ptr()), size_of_val(rest.cols()), size_of_val(rest.vals())]
            };
            let ell = [size_of_val(pair.ell().cols()), size_of_val(pair.ell().vals())];
            let cost = EllCsr::cost(a.view(), pair.ell().width());
            prop_assert_eq!(cost.bytes, cases::bytes(&ell) + cases::bytes(&bytes(pair.rest())));
            prop_assert!(cost.slots <= 3 * a.nnz() as u64);

            let pair = DiaCsr::from_csr(a.view()).unwrap();
            prop_assert_eq!(pair.to_csr().unwrap(), a.clone());
            let dia = [4 * pair.dia().offsets().len(), size_of_val(pair.dia().vals())];
            let cost = DiaCsr::cost(a.view());
            prop_assert_eq!(cost.bytes, cases::bytes(&dia) + cases::bytes(&bytes(pair.rest())));
            prop_assert!(cost.bytes <= cost.csr_bytes);
        }
    }
}
