//! Writing coordinate files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use spmv_core::{Csr, CsrView, Dtype, Offset, Value};

use super::error::{Error, ErrorKind};
use super::header::Symmetry;

/// Writes a matrix as a general coordinate file of real or complex values, gzipped if the name ends in `.gz`.
///
/// ```no_run
/// # let a = spmv_core::Csr::from_coo(1, 1, &[(0, 0, 1.0f32)])?;
/// spmv_io::matrix_market::write("matrix.mtx.gz", a.view())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Whatever the file system says.
pub fn write<T: Value, O: Offset>(path: impl AsRef<Path>, a: CsrView<'_, T, O>) -> Result<(), Error> {
    Writer::new().write(path, a)
}

/// How to write.
///
/// Values are written with the fewest digits that read back as the same value of the same type.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_io::matrix_market::Writer;
/// let a = Csr::from_coo(2, 2, &[(0, 0, 0.1f32), (1, 0, 3.0), (0, 1, 3.0)])?;
/// let mut text = Vec::new();
/// Writer::new().symmetric(true).comment("two by two").write_to(&mut text, a.view())?;
/// assert_eq!(
///     String::from_utf8_lossy(&text),
///     "%%MatrixMarket matrix coordinate real symmetric\n% two by two\n2 2 2\n1 1 0.1\n2 1 3.0\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    comment: String,
    pattern: bool,
    triangle: Option<Symmetry>,
}

impl Writer {
    /// Writes values and both triangles.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text to stand below the banner, each line behind a `%`.
    #[must_use]
    pub fn comment(mut self, text: impl Into<String>) -> Self {
        self.comment = text.into();
        self
    }

    /// Whether to leave the values out.
    #[must_use]
    pub fn pattern(mut self, yes: bool) -> Self {
        self.pattern = yes;
        self
    }

    /// Whether to write the lower triangle alone, of a matrix that equals its transpose; without values, of
    /// one whose pattern does.
    #[must_use]
    pub fn symmetric(mut self, yes: bool) -> Self {
        self.triangle = yes.then_some(Symmetry::Symmetric);
        self
    }

    /// Whether to write the lower triangle alone, of a matrix that equals its conjugate transpose. A real one is written as symmetric.
    ///
    /// ```
    /// use spmv_core::{Csr, c64};
    /// use spmv_io::matrix_market::Writer;
    /// let [above, below] = [c64::new(0.0, -2.0), c64::new(0.0, 2.0)];
    /// let a = Csr::from_coo(2, 2, &[(0, 1, above), (1, 0, below)])?;
    /// let mut text = Vec::new();
    /// Writer::new().hermitian(true).write_to(&mut text, a.view())?;
    /// assert!(text.ends_with(b" complex hermitian\n2 2 1\n2 1 0.0 2.0\n"));
    /// assert!(Writer::new().symmetric(true).write_to(&mut text, a.view()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn hermitian(mut self, yes: bool) -> Self {
        self.triangle = yes.then_some(Symmetry::Hermitian);
        self
    }

    /// Writes a file, gzipped if the name ends in `.gz`.
    ///
    /// # Errors
    /// Whatever the file system says; [`ErrorKind::NotSymmetric`].
    pub fn write<T: Value, O: Offset>(
        &self,
        path: impl AsRef<Path>,
        a: CsrView<'_, T, O>,
    ) -> Result<(), Error> {
        // Before the file is touched: what it held is not lost to a matrix that cannot be written.
        self.check(a)?;
        to_file(path.as_ref(), |mut sink| self.emit(&mut sink, a))
    }

    /// Writes to anything that takes bytes.
    ///
    /// # Errors
    /// Whatever the sink says; [`ErrorKind::NotSymmetric`].
    pub fn write_to<T: Value, O: Offset>(
        &self,
        sink: &mut impl Write,
        a: CsrView<'_, T, O>,
    ) -> Result<(), Error> {
        self.check(a)?;
        Ok(self.emit(sink, a)?)
    }

    fn check<T: Value, O: Offset>(&self, a: CsrView<'_, T, O>) -> Result<(), Error> {
        self.symmetry::<T>().map_or(Ok(()), |symmetry| check_symmetric(a, symmetry, self.pattern))
    }

    /// Of the triangle that is written, if it is one alone.
    fn symmetry<T: Value>(&self) -> Option<Symmetry> {
        let symmetric = self.pattern || !T::DTYPE.is_complex();
        self.triangle.map(|symmetry| if symmetric { Symmetry::Symmetric } else { symmetry })
    }

    fn emit<T: Value, O: Offset>(&self, sink: &mut impl Write, a: CsrView<'_, T, O>) -> io::Result<()> {
        let symmetry = self.symmetry::<T>();
        let kept = |row: usize, col: u32| symmetry.is_none() || col as usize <= row;
        let entries = match symmetry {
            None => a.nnz(),
            Some(_) => (0..a.n_rows()).map(|row| a.row(row).filter(|e| kept(row, e.0)).count()).sum(),
        };
        let field = match (self.pattern, T::DTYPE.is_complex()) {
            (true, _) => "pattern",
            (_, true) => "complex",
            (_, false) => "real",
        };
        let symmetry = symmetry.unwrap_or(Symmetry::General);
        writeln!(sink, "%%MatrixMarket matrix coordinate {field} {}", symmetry.name())?;
        for line in self.comment.lines() {
            writeln!(sink, "% {line}")?;
        }
        writeln!(sink, "{} {} {entries}", a.n_rows(), a.n_cols())?;
        for row in 0..a.n_rows() {
            for (col, value) in a.row(row).filter(|e| kept(row, e.0)) {
                self.line(sink, row, col, value)?;
            }
        }
        Ok(())
    }

    fn line<T: Value>(&self, sink: &mut impl Write, row: usize, col: u32, value: T) -> io::Result<()> {
        let col = u64::from(col) + 1;
        write!(sink, "{} {col}", row + 1)?;
        if !self.pattern {
            for part in parts(value) {
                write!(sink, " ")?;
                number::<T>(sink, part)?;
            }
        }
        writeln!(sink)
    }
}

/// Creates a file and writes to it, gzipped if the name ends in `.gz`.
pub(super) fn to_file(path: &Path, emit: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let mut file = BufWriter::new(File::create(path)?);
    if gzip {
        let mut encoder = GzEncoder::new(file, Compression::default());
        emit(&mut encoder)?;
        file = encoder.finish()?;
    } else {
        emit(&mut file)?;
    }
    Ok(file.flush()?)
}

/// The parts of a value that a file holds.
pub(super) fn parts<T: Value>(value: T) -> impl Iterator<Item = f64> {
    value.parts().into_iter().take(if T::DTYPE.is_complex() { 2 } else { 1 })
}

/// Writes a value, or a part of one.
pub(super) fn number<T: Value>(sink: &mut impl Write, part: f64) -> io::Result<()> {
    // Debug is the shortest form that reads back, with an exponent where that is shorter.
    match (T::DTYPE.part(), short::<T>(part)) {
        (_, Some(short)) => write!(sink, "{short:?}"),
        (Dtype::F32, None) => write!(sink, "{:?}", part as f32),
        (_, None) => write!(sink, "{part:?}"),
    }
}

/// The decimal of fewest digits that reads back as a 16-bit value, whose own Debug is that of an `f32`.
/// None where Debug does as well: wider types, NaN and infinities.
fn short<T: Value>(value: f64) -> Option<f64> {
    /// Significant digits that distinguish any two values of 16 bits.
    const DIGITS: usize = 5;
    if T::DTYPE.bytes() > 2 || !value.is_finite() {
        return None;
    }
    let decimal = |digits: usize| format!("{:.*e}", digits - 1, value).parse::<f64>().ok();
    (1..=DIGITS).filter_map(decimal).find(|d| T::from_f64(*d) == T::from_f64(value))
}

/// A matrix, or its pattern, must be its transpose, or its conjugate transpose. O(entries log(longest row)) time, two copies of it.
fn check_symmetric<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    symmetry: Symmetry,
    pattern: bool,
) -> Result<(), Error> {
    let n = a.n_rows();
    if n != a.n_cols() {
        let (rows, cols) = (n as u64, a.n_cols() as u64);
        return Err(ErrorKind::NotSquare { symmetry: symmetry.name(), rows, cols }.into());
    }
    let rows: Vec<u32> = (0..n).flat_map(|row| a.row_range(row).map(move |_| row as u32)).collect();
    // Assembly sorts rows and sums what repeats, so that equal matrices have equal arrays.
    let here = Csr::<T, O>::from_triplets(n, n, &rows, a.cols(), a.vals())?;
    let there = Csr::<T, O>::from_triplets(n, n, a.cols(), &rows, a.vals())?;
    let same_part = |(x, y): (f64, f64)| x == y || (x.is_nan() && y.is_nan());
    let same = |x: T, y: T| {
        let y = if symmetry == Symmetry::Hermitian { y.conj() } else { y };
        pattern || x.parts().into_iter().zip(y.parts()).all(same_part)
    };
    for row in 0..n {
        let (mut ours, mut theirs) = (here.row(row), there.row(row));
        loop {
            let (row, column) = match (ours.next(), theirs.next()) {
                (None, None) => break,
                (Some((c, x)), Some((d, y))) if c == d && same(x, y) => continue,
                (Some((c, _)), other) if other.is_none_or(|(d, _)| c <= d) => (row, c),
                // The transpose has one more: the entry itself lies across the diagonal.
                (_, Some((d, _))) => (d as usize, row as u32),
                (Some((c, _)), None) => (row, c),
            };
            return Err(ErrorKind::NotSymmetric { row, column }.into());
        }
    }
    Ok(())
}
