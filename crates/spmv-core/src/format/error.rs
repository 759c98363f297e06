//! What a layout does not take.

/// A matrix that a layout does not take.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Dia;
/// let a = Csr::new(1, 1, vec![0u32, 1], vec![0], vec![0.0f32])?;
/// let e = Dia::from_csr(a.view(), 3.0).unwrap_err();
/// assert_eq!(
///     e.to_string(),
///     "row 0, column 0: dia cannot distinguish a stored zero from no entry; drop stored zeros, or use another format"
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
    /// Two entries of the same row and column, where the layout stores one.
    #[error(
        "row {row}, column {col}: {format} stores one entry for a row and column; sum repeated entries, or use another format"
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
        "row {row}, column {col}: {format} cannot distinguish a stored zero from no entry; drop stored zeros, or use another format"
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

/// Bytes over those of CSR.
pub(super) fn ratio(bytes: u64, csr_bytes: u64) -> f64 {
    bytes as f64 / csr_bytes as f64
}
