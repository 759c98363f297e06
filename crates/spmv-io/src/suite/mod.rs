//! The 20 benchmark matrices of Liu & Vinter 2015, Table 3, without a download.
//!
//! Three of them follow an exact rule and are generated entry by entry. The other 17 are *twins*: rows,
//! columns, entries, shortest and longest row are those of the original; the distribution of row lengths
//! and the places of the entries are only of its kind. Where originals lie on disk as Matrix Market
//! files, [`Entry::load_from`] prefers them and says so.
//!
//! ```
//! use spmv_io::suite;
//!
//! let entry = suite::find("dense2").unwrap();
//! let matrix = entry.generate()?;
//! assert_eq!((matrix.n_rows(), matrix.nnz()), (entry.rows, entry.nnz));
//! # Ok::<(), spmv_io::generate::GenerateError>(())
//! ```

mod cache;
mod exact;
mod original;
mod table;
#[cfg(test)]
mod tests;
mod twins;

use std::io;
use std::path::{Path, PathBuf};

use spmv_core::Csr;

use crate::generate::GenerateError;
pub use cache::checksum;
pub use table::ENTRIES;

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

/// How the paper groups the suite.
///
/// ```
/// use spmv_io::suite::{Class, ENTRIES};
/// assert_eq!(ENTRIES.iter().filter(|e| e.class == Class::Irregular).count(), 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The 14 matrices that most SpMV papers share.
    Regular,
    /// The 6 whose few giant rows defeat a division of labour by rows.
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
    /// [`checksum`] of the generated matrix: identifies this generator's output, in caches and reports.
    pub checksum: u64,
    recipe: Recipe,
}

#[derive(Clone, Copy, Debug)]
enum Recipe {
    Dense,
    Wilson,
    Epidemic,
    Twin(twins::Twin),
}

/// The entry with this name, or with this name in the collection.
///
/// ```
/// use spmv_io::suite::find;
/// assert_eq!(find("conf5_4-8x8-05").unwrap().name, "qcd5_4");
/// assert!(find("no such matrix").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|e| e.name == name || e.original_name() == Some(name))
}

/// A matrix of the suite and where it came from.
///
/// ```
/// use spmv_io::suite::{self, Source};
/// let loaded = suite::find("dense2").unwrap().load_from(None, None)?;
/// assert!(!loaded.twin && loaded.source == Source::Generated);
/// # Ok::<(), suite::SuiteError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The matrix.
    pub matrix: Csr<f64>,
    /// Whether it only resembles the original; reports must say so.
    pub twin: bool,
    /// Where it came from.
    pub source: Source,
}

/// Where a matrix came from.
///
/// ```
/// use spmv_io::suite::Source;
/// assert_eq!(Source::File("m/cant.mtx".into()).to_string(), "m/cant.mtx");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The original, from this Matrix Market file.
    File(PathBuf),
    /// An earlier generation, from this file.
    Cache(PathBuf),
    /// Generated just now.
    Generated,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) | Self::Cache(path) => path.display().fmt(f),
            Self::Generated => f.pad("generated"),
        }
    }
}

/// Why a matrix of the suite could not be had.
///
/// ```
/// use spmv_io::suite::find;
/// let file = std::env::current_exe().unwrap(); // a file, where a directory is wanted
/// let error = find("dense2").unwrap().load(Some(&file)).unwrap_err();
/// assert!(error.to_string().starts_with("cannot write the cache file "));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// The recipe describes no matrix.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The cache directory takes no file.
    #[error("cannot write the cache file {}; choose another cache directory or none", path.display())]
    Cache {
        /// File that could not be written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A Matrix Market file cannot be read.
    #[error("cannot read {}", path.display())]
    Original {
        /// The file.
        path: PathBuf,
        /// Why.
        source: crate::matrix_market::Error,
    },
    /// A Matrix Market file holds another matrix.
    #[error(
        "{} is {found_rows} x {found_cols}, but {name} is {rows} x {cols}; remove the file or get the original",
        path.display()
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// Name of the entry.
        name: &'static str,
        /// Rows in the file.
        found_rows: usize,
        /// Columns in the file.
        found_cols: usize,
        /// Rows of the original.
        rows: usize,
        /// Columns of the original.
        cols: usize,
    },
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
            Recipe::Twin(twin) => twin.generate(self, seed),
        }
    }

    /// The generated matrix, from `<cache_dir>/<name>.csr` if that file holds it, else generated and
    /// written there. A stale, truncated or damaged file is replaced.
    ///
    /// # Errors
    /// [`SuiteError::Cache`] if the file cannot be written, [`SuiteError::Generate`].
    pub fn load(&self, cache_dir: Option<&Path>) -> Result<Csr<f64>, SuiteError> {
        Ok(self.load_from(None, cache_dir)?.matrix)
    }

    /// The original from `suite_dir` if it is there, else as [`load`](Self::load).
    ///
    /// Looks for `<name>.mtx`, `<name>.mtx.gz` and `<name>/<name>.mtx` (as SuiteSparse packs it), under
    /// the name in the paper and the name in the collection. Explicit zeros may make a file's entries
    /// differ from [`nnz`](Self::nnz), so only rows and columns are compared.
    ///
    /// # Errors
    /// [`SuiteError::Original`], [`SuiteError::Shape`]: a file that is there is never passed over;
    /// [`SuiteError::Cache`], [`SuiteError::Generate`].
    pub fn load_from(
        &self,
        suite_dir: Option<&Path>,
        cache_dir: Option<&Path>,
    ) -> Result<Loaded, SuiteError> {
        if let Some(path) = suite_dir.and_then(|dir| original::find(self, dir)) {
            let matrix = original::load(self, &path)?;
            return Ok(Loaded { matrix, twin: false, source: Source::File(path) });
        }
        let twin = self.kind == Kind::Twin;
        let Some(path) = cache_dir.map(|dir| dir.join(self.name).with_extension("csr")) else {
            return Ok(Loaded { matrix: self.generate()?, twin, source: Source::Generated });
        };
        if let Some(matrix) = cache::read(&path, self.checksum) {
            return Ok(Loaded { matrix, twin, source: Source::Cache(path) });
        }
        let matrix = self.generate()?;
        cache::write(&path, &matrix, checksum(&matrix))
            .map_err(|source| SuiteError::Cache { path, source })?;
        Ok(Loaded { matrix, twin, source: Source::Generated })
    }

    fn original_name(&self) -> Option<&'static str> {
        self.collection.and_then(|c| c.rsplit('/').next())
    }

    /// FNV-1a of the name.
    fn seed(&self) -> u64 {
        self.name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    }
}
