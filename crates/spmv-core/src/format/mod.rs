//! Other layouts of the same matrix: columns of entries side by side, for lanes that take a row each, and entries with their
//! rows, for lanes that take as many each.
//!
//! | layout | what it keeps | made for |
//! |---|---|---|
//! | [`Ell`] | every row padded to the longest | rows of nearly equal lengths |
//! | [`Coo`] | each entry with its row and column | rows of any lengths, equal shares of entries |
//! | [`Hyb`] | the first entries of every row as ELL, the others as COO | rows of nearly equal lengths, but for some |
//! | [`Jad`] | rows sorted by length, entry k of all of them together | rows of any lengths, no padding |
//! | [`Dia`] | whole diagonals | stencils |
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

mod by_slot;
mod coo;
mod cost;
mod dia;
mod ell;
mod error;
mod hyb;
mod jad;
mod slice_header;

pub use by_slot::{BySlot, PADDING};
pub use coo::Coo;
pub use cost::{Cost, MAX_BLOW_UP};
pub use dia::Dia;
pub use ell::Ell;
pub use error::FormatError;
pub use hyb::Hyb;
pub use jad::Jad;
pub use slice_header::SliceHeader;

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
