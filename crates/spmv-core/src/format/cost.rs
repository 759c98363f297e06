//! What layouts take compared with CSR.

use super::error::{FormatError, ratio};
use crate::diagonals;
use crate::stats::{HybShape, RowStats};
use crate::value::{Dtype, Value};

/// How many times the bytes of CSR a layout may take, unless one says otherwise: padding then costs at most what it can
/// win by loads in order (Bell & Garland 2009 take the same bound for the ELL part of HYB).
pub const MAX_BLOW_UP: f64 = 3.0;

/// What a layout takes, known before it is built.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Ell;
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (0, 1, 2.0), (1, 0, 3.0)])?;
/// let cost = Ell::<f64>::cost(a.view());
/// assert_eq!((cost.slots, cost.padding), (4, 1));
/// assert_eq!(cost.blow_up(), 1.0, "the padding takes what the row offsets would");
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes of its arrays.
    pub bytes: u64,
    /// Bytes of the CSR arrays with 32-bit offsets.
    pub csr_bytes: u64,
    /// Slots for values.
    pub slots: u64,
    /// Slots that hold no entry.
    pub padding: u64,
}

impl Cost {
    /// What arrays of so many bytes, with so many slots for values, take next to CSR.
    ///
    /// ```
    /// use spmv_core::{Dtype, format::Cost};
    /// let cost = Cost::of(2, 3, Dtype::F32, 40, 4);
    /// assert_eq!((cost.csr_bytes, cost.padding), (3 * 4 + 3 * 8, 1));
    /// ```
    pub fn of(n_rows: usize, nnz: usize, value: Dtype, bytes: u64, slots: u64) -> Self {
        let (nnz, entry) = (nnz as u64, 4 + value.bytes() as u64);
        let csr_bytes = numbers(&[n_rows, 1]).saturating_add(nnz.saturating_mul(entry));
        // Diagonals of a matrix with repeated entries may be fewer than its entries.
        Self { bytes, csr_bytes, slots, padding: slots.saturating_sub(nnz) }
    }

    /// What [`Ell`](super::Ell) takes of a matrix with these rows.
    pub fn ell(rows: &RowStats, value: Dtype) -> Self {
        let slots = (rows.max as u64).saturating_mul(rows.n_rows as u64);
        let bytes = slots.saturating_mul(4 + value.bytes() as u64);
        Self::of(rows.n_rows, rows.nnz, value, bytes, slots)
    }

    /// What [`Coo`](super::Coo) takes of a matrix with these rows: an entry has four bytes more than in CSR.
    pub fn coo(rows: &RowStats, value: Dtype) -> Self {
        let nnz = rows.nnz as u64;
        Self::of(rows.n_rows, rows.nnz, value, nnz.saturating_mul(8 + value.bytes() as u64), nnz)
    }

    /// What [`Hyb`](super::Hyb) takes of a matrix with these rows and of that shape.
    pub fn hyb(rows: &RowStats, shape: &HybShape, value: Dtype) -> Self {
        let (rest, entry) = (shape.rest as u64, 4 + value.bytes() as u64);
        let of_ell = (shape.width as u64).saturating_mul(rows.n_rows as u64);
        let bytes = of_ell.saturating_mul(entry).saturating_add(rest.saturating_mul(entry + 4));
        Self::of(rows.n_rows, rows.nnz, value, bytes, of_ell.saturating_add(rest))
    }

    /// What [`Jad`](super::Jad) takes of a matrix with these rows: an entry is as large as in CSR, a row number and a diagonal's offset
    /// have four bytes.
    pub fn jad(rows: &RowStats, value: Dtype) -> Self {
        let nnz = rows.nnz as u64;
        let entries = nnz.saturating_mul(4 + value.bytes() as u64);
        let bytes = entries.saturating_add(numbers(&[rows.n_rows, rows.max, 1]));
        Self::of(rows.n_rows, rows.nnz, value, bytes, nnz)
    }

    /// What [`Dia`](super::Dia) takes of a matrix with these rows and so many diagonals: an offset has four bytes.
    pub fn dia(rows: &RowStats, n_diags: usize, value: Dtype) -> Self {
        let slots = (n_diags as u64).saturating_mul(diagonals::stride(rows.n_rows) as u64);
        let bytes = slots.saturating_mul(value.bytes() as u64).saturating_add(numbers(&[n_diags]));
        Self::of(rows.n_rows, rows.nnz, value, bytes, slots)
    }

    /// What an [`Ell`](super::Ell) of the first `width` entries of each row takes together with the rest of the rows in CSR form
    /// ([`Ell::split`](super::Ell::split)). Its slots are those of both, so that each row has as many as `width` or more.
    ///
    /// ```
    /// use spmv_core::format::{Cost, Ell};
    /// use spmv_core::{Csr, Dtype, RowStats};
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// let (regular, rest) = Ell::split(a.view(), 1);
    /// let cost = Cost::ell_csr(&RowStats::of(a.view()), regular.width(), rest.nnz(), Dtype::F64);
    /// assert_eq!((cost.slots, cost.padding, cost.bytes), (3, 0, 3 * 12 + 3 * 4));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn ell_csr(rows: &RowStats, width: usize, rest: usize, value: Dtype) -> Self {
        let regular = (width as u64).saturating_mul(rows.n_rows as u64);
        Self::with_rest(rows, regular, 4 + value.bytes() as u64, rest, value)
    }

    /// What a [`Dia`](super::Dia) of so many diagonals takes together with the rest of the rows in CSR form
    /// ([`Dia::split`](super::Dia::split)). Its slots are those of both, so that each row has as many as there are diagonals or
    /// more.
    ///
    /// ```
    /// use spmv_core::format::{Cost, Dia};
    /// use spmv_core::{Csr, Dtype, RowStats};
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f64), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// let (regular, rest) = Dia::split(a.view(), 0, 0);
    /// let cost = Cost::dia_csr(&RowStats::of(a.view()), regular.offsets().len(), rest.nnz(), Dtype::F64);
    /// assert_eq!((cost.slots, cost.padding, cost.bytes), (3, 0, 4 + 2 * 8 + 3 * 4 + 12));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn dia_csr(rows: &RowStats, n_diags: usize, rest: usize, value: Dtype) -> Self {
        let regular = (n_diags as u64).saturating_mul(rows.n_rows as u64);
        let mut cost = Self::with_rest(rows, regular, value.bytes() as u64, rest, value);
        cost.bytes = cost.bytes.saturating_add(numbers(&[n_diags]));
        cost
    }

    /// `regular` slots of so many bytes each, and `rest` entries in CSR form.
    fn with_rest(rows: &RowStats, regular: u64, slot_bytes: u64, rest: usize, value: Dtype) -> Self {
        let entries = (rest as u64).saturating_mul(4 + value.bytes() as u64);
        let bytes = regular.saturating_mul(slot_bytes).saturating_add(entries);
        let bytes = bytes.saturating_add(numbers(&[rows.n_rows, 1]));
        Self::of(rows.n_rows, rows.nnz, value, bytes, regular.saturating_add(rest as u64))
    }

    /// Bytes over those of CSR.
    pub fn blow_up(&self) -> f64 {
        ratio(self.bytes, self.csr_bytes)
    }

    /// Refuses what takes more than `max_blow_up` times the bytes of CSR, and everything if that is no number.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Ell;
    /// let a = Csr::from_coo(1000, 9, &[(0, 0, 1.0f64), (0, 1, 2.0)])?;
    /// let cost = Ell::<f64>::cost(a.view());
    /// assert!(cost.check("ell", 3.0).is_err() && cost.check("ell", 6.0).is_ok());
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::TooLarge`].
    pub fn check(&self, format: &'static str, max_blow_up: f64) -> Result<(), FormatError> {
        if self.blow_up() <= max_blow_up {
            return Ok(());
        }
        Err(FormatError::TooLarge { format, bytes: self.bytes, csr_bytes: self.csr_bytes, max_blow_up })
    }
}

/// Bytes of arrays of so many 32-bit numbers. Saturating, as is all arithmetic here: statistics may be of no matrix.
fn numbers(lens: &[usize]) -> u64 {
    lens.iter().fold(0u64, |n, len| n.saturating_add(*len as u64)).saturating_mul(4)
}

/// What stands in slots without an entry.
pub(super) fn zero<T: Value>() -> T {
    T::from_f64(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_no_matrix_cost_too_much_and_do_not_overflow() {
        let most = usize::MAX;
        let rows = RowStats { n_rows: most, n_cols: most, nnz: most, max: most, ..RowStats::default() };
        let shape = HybShape { width: most, rest: most };
        let costs = [
            Cost::ell(&rows, Dtype::F64),
            Cost::coo(&rows, Dtype::F64),
            Cost::hyb(&rows, &shape, Dtype::F64),
            Cost::jad(&rows, Dtype::F64),
            Cost::dia(&rows, most, Dtype::F64),
            Cost::ell_csr(&rows, most, most, Dtype::F64),
            Cost::dia_csr(&rows, most, most, Dtype::F64),
        ];
        assert!(costs.iter().all(|cost| (cost.bytes, cost.csr_bytes) == (u64::MAX, u64::MAX)), "{costs:?}");
    }
}
