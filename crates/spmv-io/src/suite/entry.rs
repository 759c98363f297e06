//! What the table holds of a matrix, and how that becomes one.

use spmv_core::Csr;

use super::exact;
use super::twins::{Extent, Twin};
use crate::generate::GenerateError;

/// Whether a generated matrix equals the original's pattern.
///
/// ```
/// use spmv_io::suite::{ENTRIES, Kind};
/// assert_eq!(ENTRIES.iter().filter(|e| e.kind == Kind::Exact).count(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The pattern follows the original's rule, up to the order of its rows. Values are plausible.
    Exact,
    /// Size and row-length extremes are the original's; all else is of its kind.
    Twin,
}

/// How the paper groups the suite, in section 4.2: "the first 10 matrices are relatively regular", "the other matrices are
/// relatively irregular".
///
/// ```
/// use spmv_io::suite::{Class, ENTRIES};
/// let (regular, irregular) = ENTRIES.split_at(10);
/// assert!(regular.iter().all(|e| e.class == Class::Regular));
/// assert!(irregular.iter().all(|e| e.class == Class::Irregular));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The first 10, whose longest row is not far from the mean.
    Regular,
    /// The other 10, with some very long rows and many very short ones.
    Irregular,
}

/// One matrix of the suite: the facts of the original, and how to make its like.
///
/// ```
/// use spmv_io::suite;
/// let entry = suite::find("webbase-1M").unwrap();
/// assert_eq!((entry.rows, entry.row_max, entry.collection), (1_000_005, 4700, Some("Williams/webbase-1M")));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Name in the paper.
    pub name: &'static str,
    /// Group and name in the SuiteSparse collection, for those who want the original.
    pub collection: Option<&'static str>,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Stored entries, explicit zeros of the original included.
    pub nnz: usize,
    /// Entries of the shortest row.
    pub row_min: u32,
    /// Entries of the longest row.
    pub row_max: u32,
    /// Exact or twin.
    pub kind: Kind,
    /// Regular or irregular.
    pub class: Class,
    /// What the matrix comes from.
    pub description: &'static str,
    /// [`checksum`](super::checksum) of the generated matrix: identifies this generator's output, in caches and reports.
    pub checksum: u64,
    pub(super) recipe: Recipe,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Recipe {
    Dense,
    Wilson,
    Epidemic,
    Twin(Twin),
}

impl Entry {
    /// Generates the matrix: at most seconds, and the same bits everywhere.
    ///
    /// # Errors
    /// [`GenerateError`], if the recipe contradicts itself; the tests see to it that none does.
    pub fn generate(&self) -> Result<Csr<f64>, GenerateError> {
        let seed = self.seed();
        match &self.recipe {
            Recipe::Dense => exact::dense(seed),
            Recipe::Wilson => exact::wilson(seed),
            Recipe::Epidemic => exact::epidemic(),
            Recipe::Twin(twin) => {
                let Self { rows, cols, nnz, row_min, row_max, .. } = *self;
                twin.generate(&Extent { rows, cols, nnz, row_min, row_max }, seed)
            }
        }
    }

    pub(super) fn original_name(&self) -> Option<&'static str> {
        self.collection.and_then(|c| c.rsplit('/').next())
    }

    fn seed(&self) -> u64 {
        spmv_core::fnv1a(self.name.as_bytes())
    }
}
