//! Matrices and vectors in files.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use spmv::io::matrix_market::{Field, read_header};
use spmv::{Dtype, Value, io};

/// The type to compute in: the one that was asked for, or else double precision, complex if a file is.
pub(crate) fn precision<'a>(
    asked: Option<Dtype>,
    files: impl IntoIterator<Item = &'a PathBuf>,
) -> anyhow::Result<Dtype> {
    let mut complex = None;
    for file in files {
        let header = read_header(file).with_context(|| file.display().to_string())?;
        complex = complex.or((header.field == Field::Complex).then_some(file));
    }
    let precision = asked.unwrap_or(if complex.is_some() { Dtype::C64 } else { Dtype::F64 });
    if let Some(file) = complex {
        ensure!(
            precision.is_complex(),
            "{}: the values are complex; --precision c64 or c32 keeps their imaginary parts",
            file.display()
        );
    }
    Ok(precision)
}

/// Refuses a vector of the wrong length.
pub(crate) fn expect_length(what: &str, found: usize, expected: usize, of: &str) -> anyhow::Result<()> {
    ensure!(found == expected, "{what} has {found} values; the matrix has {expected} {of}");
    Ok(())
}

/// Writes a vector to a file, or its values to standard output, a line each.
pub(crate) fn write<T: Value>(file: Option<&Path>, x: &[T]) -> anyhow::Result<()> {
    if let Some(file) = file {
        return Ok(io::write_vector(file, x)?);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for value in x {
        writeln!(out, "{value}")?;
    }
    Ok(out.flush()?)
}
