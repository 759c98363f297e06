//! A suite of generated matrices: classes of structures, each in sizes from 10^5 to 10^9 nonzeros.
//!
//! The [twins](crate::suite) have the sizes of their originals, at most 1.2 * 10^7 nonzeros. Here each kind of matrix comes in 10^5, 10^6,
//! 10^7 and 10^8 nonzeros, three also in 10^9, so that speed can be followed from what stays in cache to what streams from memory. Equal
//! names are equal bits on every platform.
//!
//! ```
//! use spmv_io::classes;
//!
//! let entry = classes::find("stencil27-1e5").unwrap();
//! let a = entry.generate()?;
//! assert!(entry.class.is_streaming() && a.nnz().abs_diff(entry.nnz) < entry.nnz / 10);
//! # Ok::<(), spmv_io::generate::GenerateError>(())
//! ```

mod entry;
mod recipe;
mod table;
#[cfg(test)]
mod tests;

pub use entry::{Class, Entry};
pub use table::ENTRIES;

/// The entry with this name.
///
/// ```
/// use spmv_io::classes::find;
/// assert_eq!(find("fem3-1e6").unwrap().nnz, 1_000_000);
/// assert!(find("no such matrix").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}
