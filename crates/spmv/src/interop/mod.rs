//! Matrices of other libraries: features `sprs`, `faer` and `nalgebra-sparse`.
//!
//! A [`CsrView`](crate::CsrView) borrows where the indices have the same bits. Columns here are `u32`, so those of 64 bits are
//! copied; a matrix by columns is sorted anew.
//!
//! | from | borrowed by `view` | copied by `to_csr` |
//! |---|---|---|
//! | sprs | by rows; columns `u32` or `i32`; offsets of 32 bits, 64 bits or `usize` | other indices, by columns, slices of rows |
//! | faer | `SparseRowMatRef<u32, T>`; the transpose of `SparseColMatRef<u32, T>` | other indices, by columns (`csc_to_csr`), rows with slots unused |
//! | nalgebra-sparse | never: all indices are `usize` | always, also by columns (`csc_to_csr`) |
//!
//! | to | borrowed | arrays moved | copied |
//! |---|---|---|---|
//! | sprs | `as_sprs` | `into_sprs` | |
//! | faer | `as_faer`: `u32` offsets | `into_faer`: `u32` offsets | |
//! | nalgebra-sparse | | | `to_nalgebra` |
//!
//! The libraries want the columns of a row to increase. [`Csr::to_canonical`](crate::Csr::to_canonical) makes a matrix so.

mod error;
#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "nalgebra-sparse")]
pub mod nalgebra_sparse;
#[cfg(feature = "sprs")]
pub mod sprs;

pub use error::Error;
