//! Dense vectors, which are matrices of one column.

use std::io::{self, Write};
use std::path::Path;

use spmv_core::{Csr, Value};

use super::error::{Error, ErrorKind};
use super::write::{number, parts, to_file};

/// The values of a matrix of one column.
pub(super) fn of_column<T: Value>(a: &Csr<T>) -> Result<Vec<T>, Error> {
    if a.n_cols() != 1 {
        return Err(ErrorKind::NotAVector { rows: a.n_rows(), cols: a.n_cols() }.into());
    }
    // The reader has summed the entries of a row.
    Ok((0..a.n_rows()).map(|row| a.row(row).next().map_or_else(T::default, |(_, value)| value)).collect())
}

/// Writes a vector as an array file of one column, gzipped if the name ends in `.gz`. Every number reads back as it was.
///
/// # Errors
/// Whatever the file system says.
pub fn write_vector<T: Value>(path: impl AsRef<Path>, x: &[T]) -> Result<(), Error> {
    to_file(path.as_ref(), |sink| emit(sink, x))
}

fn emit<T: Value>(mut sink: &mut dyn Write, x: &[T]) -> io::Result<()> {
    let field = if T::DTYPE.is_complex() { "complex" } else { "real" };
    writeln!(sink, "%%MatrixMarket matrix array {field} general\n{} 1", x.len())?;
    for value in x {
        for (at, part) in parts(*value).enumerate() {
            write!(sink, "{}", if at == 0 { "" } else { " " })?;
            number::<T>(&mut sink, part)?;
        }
        writeln!(sink)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use spmv_core::c64;

    use super::super::Reader;
    use super::*;

    fn there_and_back<T: Value>(x: &[T]) -> Vec<T> {
        let mut text = Vec::new();
        emit(&mut text, x).unwrap();
        of_column(&Reader::new().parse(&text).unwrap()).unwrap()
    }

    #[test]
    fn vectors_are_read_as_they_were_written() {
        let x = [0.1, 0.0, -1e300, 5e-324];
        assert_eq!(there_and_back(&x), x);
        assert_eq!(there_and_back(&x.map(|x| x as f32)), x.map(|x| x as f32));
        let z = [c64::new(1.0, -2.0), c64::new(0.0, 0.5)];
        assert_eq!(there_and_back(&z), z);
        assert_eq!(there_and_back::<f64>(&[]), [0.0; 0]);
    }

    #[test]
    fn coordinate_files_leave_zeros_out() {
        let text = b"%%MatrixMarket matrix coordinate real general\n4 1 3\n3 1 2.0\n1 1 1.0\n3 1 0.5\n";
        assert_eq!(of_column(&Reader::new().parse::<f64>(text).unwrap()).unwrap(), [1.0, 0.0, 2.5, 0.0]);
    }

    #[test]
    fn a_matrix_of_two_columns_is_no_vector() {
        let text = b"%%MatrixMarket matrix array real general\n1 2\n1.0\n2.0\n";
        let e = of_column(&Reader::new().parse::<f64>(text).unwrap()).unwrap_err();
        assert_eq!(e.to_string(), "a vector has one column; this matrix is 1 x 2");
    }
}
