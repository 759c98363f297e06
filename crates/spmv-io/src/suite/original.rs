//! Originals on disk, as Matrix Market files.

use std::path::{Path, PathBuf};

use spmv_core::Csr;

use super::entry::Entry;
use super::error::SuiteError;
use crate::matrix_market;

pub(super) fn find(entry: &Entry, dir: &Path) -> Option<PathBuf> {
    let names = std::iter::once(entry.name).chain(entry.original_name());
    names
        .flat_map(|n| [format!("{n}.mtx"), format!("{n}.mtx.gz"), format!("{n}/{n}.mtx")])
        .map(|file| dir.join(file))
        .find(|path| path.is_file())
}

pub(super) fn load(entry: &Entry, path: &Path) -> Result<Csr<f64>, SuiteError> {
    let matrix =
        matrix_market::read(path).map_err(|source| SuiteError::Original { path: path.to_owned(), source })?;
    if (matrix.n_rows(), matrix.n_cols()) != (entry.rows, entry.cols) {
        return Err(SuiteError::Shape {
            path: path.to_owned(),
            name: entry.name,
            found_rows: matrix.n_rows(),
            found_cols: matrix.n_cols(),
            rows: entry.rows,
            cols: entry.cols,
        });
    }
    Ok(matrix)
}
