//! The 20 benchmark matrices of Liu & Vinter 2015, Table 3, without a download.
//!
//! Three of them follow an exact rule and are generated entry by entry. The other 17 are *twins*: rows,
//! columns, entries, shortest and longest row are those of the original; the distribution of row lengths
//! and the positions of the entries are only of its kind. Where originals lie on disk as Matrix Market
//! files, [`Entry::load_from`] prefers them and says so.
//!
//! [`TAN_2019_QUASI_DIAGONAL`] and [`TAN_2019_TETRIS`] are those of Tables 3 and 4 of Tan et al. 2019, by the same mechanism,
//! and [`GAO_2016`] is what is known of Table 1 of Gao et al. 2016.
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
mod entry;
mod error;
mod exact;
mod gao_2016;
mod original;
mod table;
mod tan_2019;
#[cfg(test)]
mod tests;
mod twins;

use std::path::{Path, PathBuf};

use spmv_core::Csr;

pub use cache::checksum;
pub use entry::{Class, Entry, Kind};
pub use error::SuiteError;
pub use gao_2016::GAO_2016;
pub use table::ENTRIES;
pub use tan_2019::{TAN_2019_QUASI_DIAGONAL, TAN_2019_TETRIS};

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

impl Entry {
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
}
