//! HYB: the first entries of every row as ELL, the others as COO.
//!
//! ```text
//!        0  1  2  3          width = 1        k = 0
//!   0  [ a  .  b  . ]        ELL: cols  =  0 1 * 0      COO: rows  = 0 3 3     (* is PADDING)
//!   1  [ .  c  .  . ]             vals  =  a c 0 d           cols  = 2 2 3
//!   2  [ .  .  .  . ]                  row 0 1 2 3           vals  = b e f
//!   3  [ d  .  e  f ]
//! ```
//!
//! A few long rows do not pad all the others. How wide the ELL part is: [`HybShape`]. Bell & Garland 2009, section 3.5.

use super::coo::Coo;
use super::cost::Cost;
use super::ell::Ell;
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::stats::{HybShape, RowStats};
use crate::value::Value;

/// A matrix in HYB form.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Hyb;
/// // Rows of two entries, and one of six.
/// let mut entries: Vec<_> = (0..5000).flat_map(|r| [(r, r, 1.0f32), (r, (r + 1) % 5000, 2.0)]).collect();
/// entries.extend((0..4).map(|c| (70, c, 3.0)));
/// let a = Csr::from_coo(5000, 5000, &entries)?;
/// let hyb = Hyb::from_csr(a.view(), 3.0)?;
/// assert_eq!((hyb.ell().width(), hyb.coo().rows()), (2, &[70, 70, 70, 70][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hyb<T> {
    ell: Ell<T>,
    coo: Coo<T>,
}

impl<T: Value> Hyb<T> {
    /// What the layout takes. O(rows), four bytes of scratch per row.
    pub fn cost<O: Offset>(a: CsrView<'_, T, O>) -> Cost {
        Cost::hyb(&RowStats::of(a), &HybShape::of(a), T::DTYPE)
    }

    /// Lays out a matrix; entries of a row keep their order. O(slots + entries), four bytes of scratch per row.
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] above `max_blow_up` times the bytes of CSR, which takes a bound of less than 3: at least a third
    /// of the slots of the ELL part hold entries.
    pub fn from_csr<O: Offset>(a: CsrView<'_, T, O>, max_blow_up: f64) -> Result<Self, FormatError> {
        let shape = HybShape::of(a);
        Cost::hyb(&RowStats::of(a), &shape, T::DTYPE).check("hyb", max_blow_up)?;
        Ok(Self { ell: Ell::of_first(a, shape.width), coo: Coo::beyond(a, shape.width) })
    }

    /// The first entries of every row.
    pub fn ell(&self) -> &Ell<T> {
        &self.ell
    }

    /// The entries that follow them.
    pub fn coo(&self) -> &Coo<T> {
        &self.coo
    }

    /// The same matrix in CSR form. O(rows log entries + slots).
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`].
    pub fn to_csr<O: Offset>(&self) -> Result<Csr<T, O>, CsrError> {
        let row = |row| self.ell.row(row).chain(self.coo.row(row));
        Csr::from_rows(self.ell.n_cols(), (0..self.ell.n_rows()).map(row))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cases;
    use super::*;

    /// The rows of a small matrix, over and over.
    fn repeated(a: &Csr<f64>, times: usize) -> Csr<f64> {
        let rows = (0..times * a.n_rows()).map(|row| a.row(row % a.n_rows()));
        Csr::from_rows(a.n_cols(), rows).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn csr_comes_back_and_the_cost_was_right(a in cases::any(), times in prop_oneof![Just(1usize), Just(2000)]) {
            let a = repeated(&a, times);
            let hyb = Hyb::from_csr(a.view(), f64::INFINITY).unwrap();
            prop_assert_eq!(hyb.to_csr::<u32>().unwrap(), a.clone());
            let (ell, coo) = (hyb.ell(), hyb.coo());
            let of_ell = [size_of_val(ell.cols()), size_of_val(ell.vals())];
            let of_coo = [size_of_val(coo.rows()), size_of_val(coo.cols()), size_of_val(coo.vals())];
            let cost = Hyb::cost(a.view());
            prop_assert_eq!(cost.bytes, cases::bytes(&of_ell) + cases::bytes(&of_coo));
            let padding = ell.cols().iter().filter(|col| **col == crate::format::PADDING).count();
            prop_assert_eq!(cost.padding, padding as u64);
            prop_assert!(3 * (ell.vals().len() - padding) >= ell.vals().len(), "a third of the slots hold entries");
        }
    }

    #[test]
    fn a_bound_below_what_the_layout_takes_refuses_it() {
        let a = Csr::new(1, 100, vec![0u32, 100], (0..100).collect(), vec![1.0f32; 100]).unwrap();
        let e = Hyb::from_csr(a.view(), 1.2).unwrap_err();
        assert!(e.to_string().starts_with("hyb would take 1200 bytes, 1.5 times the 808 of csr"), "{e}");
    }
}
