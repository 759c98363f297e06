//! Other layouts of the same matrix: columns of entries side by side, for lanes that take a row each.
//!
//! | layout | what it keeps | made for |
//! |---|---|---|
//! | [`Ell`] | every row padded to the longest | rows of nearly equal lengths |
//! | [`Jad`] | rows sorted by length, entry k of all of them together | rows of any lengths, no padding |
//! | [`Dia`] | whole diagonals | stencils |
//! | [`EllCsr`] | the first entries of each row in ELL, the rest in CSR | few rows longer than most |
//! | [`DiaCsr`] | full diagonals in DIA, the rest in CSR | stencils with a few entries elsewhere |
//!
//! What a layout takes is known before it is built ([`Cost`]), and one that takes more than a given multiple of CSR is
//! refused, because the memory that padding needs may be any multiple of what the entries do.
//!
//! ```
//! use spmv_core::Csr;
//! use spmv_core::format::{Ell, FormatError, MAX_BLOW_UP};
//! let even = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 1, 2.0), (2, 2, 3.0)])?;
//! let ell = Ell::from_csr(even.view(), MAX_BLOW_UP)?;
//! assert_eq!(ell.to_csr::<u32>()?, even);
//!
//! let uneven = Csr::from_coo(1000, 1000, &(0..1000).map(|c| (0, c, 1.0f32)).collect::<Vec<_>>())?;
//! let e = Ell::from_csr(uneven.view(), MAX_BLOW_UP).unwrap_err();
//! assert!(matches!(e, FormatError::TooLarge { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dia;
mod ell;
mod hybrid;
mod jad;

pub use dia::Dia;
pub use ell::Ell;
pub use hybrid::{DiaCsr, EllCsr};
pub use jad::Jad;

use crate::csr::CsrView;
use crate::stats::RowStats;
use crate::value::{Dtype, Offset, Value};

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
    /// Places for values.
    pub slots: u64,
    /// Places that hold no entry.
    pub padding: u64,
}

impl Cost {
    fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>, bytes: u64, slots: u64) -> Self {
        Self::of_size(a.n_rows(), a.nnz(), T::DTYPE, bytes, slots)
    }

    fn of_size(n_rows: usize, nnz: usize, value: Dtype, bytes: u64, slots: u64) -> Self {
        let (nnz, value) = (nnz as u64, value.bytes() as u64);
        let csr_bytes = (n_rows as u64 + 1) * 4 + nnz * (4 + value);
        // Diagonals of a matrix with repeated places may be fewer than its entries.
        Self { bytes, csr_bytes, slots, padding: slots.saturating_sub(nnz) }
    }

    /// What [`Ell`] takes of a matrix with these rows.
    pub fn ell(rows: &RowStats, value: Dtype) -> Self {
        let slots = (rows.max as u64).saturating_mul(rows.n_rows as u64);
        let bytes = slots.saturating_mul(4 + value.bytes() as u64);
        Self::of_size(rows.n_rows, rows.nnz, value, bytes, slots)
    }

    /// What [`Jad`] takes of a matrix with these rows: an entry is as large as in CSR, a row number and a diagonal's offset
    /// have four bytes.
    pub fn jad(rows: &RowStats, value: Dtype) -> Self {
        let nnz = rows.nnz as u64;
        let bytes = nnz * (4 + value.bytes() as u64) + (rows.n_rows as u64 + rows.max as u64 + 1) * 4;
        Self::of_size(rows.n_rows, rows.nnz, value, bytes, nnz)
    }

    /// What [`Dia`] takes of a matrix with these rows and so many diagonals: an offset has four bytes.
    pub fn dia(rows: &RowStats, n_diags: usize, value: Dtype) -> Self {
        let slots = (n_diags as u64).saturating_mul(rows.n_rows as u64);
        let bytes = slots.saturating_mul(value.bytes() as u64).saturating_add(n_diags as u64 * 4);
        Self::of_size(rows.n_rows, rows.nnz, value, bytes, slots)
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

/// What stands in places without an entry.
fn zero<T: Value>() -> T {
    T::from_f64(0.0)
}

fn ratio(bytes: u64, csr_bytes: u64) -> f64 {
    bytes as f64 / csr_bytes as f64
}

/// A matrix that a layout does not take.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Dia;
/// let a = Csr::new(1, 1, vec![0u32, 1], vec![0], vec![0.0f32])?;
/// let e = Dia::from_csr(a.view(), 3.0).unwrap_err();
/// assert_eq!(
///     e.to_string(),
///     "row 0, column 0: dia cannot tell a stored zero from no entry; drop stored zeros, or use another format"
/// );
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// More bytes than the caller allows.
    #[error("{format} would take {bytes} bytes, {:.1} times the {csr_bytes} of csr (at most {max_blow_up}); use csr, or allow more", ratio(*.bytes, *.csr_bytes))]
    TooLarge {
        /// The layout.
        format: &'static str,
        /// Bytes that it would take.
        bytes: u64,
        /// Bytes of the CSR arrays.
        csr_bytes: u64,
        /// Bytes over those of CSR at most.
        max_blow_up: f64,
    },
    /// Two entries at one place, where there is room for one.
    #[error(
        "row {row}, column {col}: {format} has room for one entry at a place; sum repeated entries, or use another format"
    )]
    Repeated {
        /// The layout.
        format: &'static str,
        /// Row of the entries.
        row: usize,
        /// Their column.
        col: u32,
    },
    /// An entry whose value means that there is none.
    #[error(
        "row {row}, column {col}: {format} cannot tell a stored zero from no entry; drop stored zeros, or use another format"
    )]
    StoredZero {
        /// The layout.
        format: &'static str,
        /// Row of the entry.
        row: usize,
        /// Its column.
        col: u32,
    },
}

impl FormatError {
    /// The same of a matrix whose rows begin with row `first` of another, in that other's numbers.
    ///
    /// ```
    /// use spmv_core::format::FormatError;
    /// let e = FormatError::StoredZero { format: "dia", row: 2, col: 7 }.in_rows_from(100);
    /// assert_eq!(e, FormatError::StoredZero { format: "dia", row: 102, col: 7 });
    /// ```
    #[must_use]
    pub fn in_rows_from(mut self, first: usize) -> Self {
        if let Self::Repeated { row, .. } | Self::StoredZero { row, .. } = &mut self {
            *row += first;
        }
        self
    }
}

#[cfg(test)]
pub(crate) mod cases {
    //! Matrices that every layout is tried on.

    use proptest::prelude::*;

    use crate::Csr;

    /// Up to 12 x 9, rows of any lengths, columns in order and each once, no zeros.
    pub(crate) fn any() -> impl Strategy<Value = Csr<f64>> {
        let row = prop::collection::btree_map(0u32..9, 1i32..9, 0..9);
        prop::collection::vec(row, 0..12).prop_map(|rows| {
            let mut row_ptr = vec![0u32];
            let (mut cols, mut vals) = (vec![], vec![]);
            for row in &rows {
                cols.extend(row.keys());
                vals.extend(row.values().map(|v| f64::from(*v)));
                row_ptr.push(cols.len() as u32);
            }
            Csr::new(rows.len(), 9, row_ptr, cols, vals).expect("valid")
        })
    }

    /// Bytes of slices.
    pub(crate) fn bytes(slices: &[usize]) -> u64 {
        slices.iter().sum::<usize>() as u64
    }
}
