//! The banner and the size line.

use super::blocks::Blocks;
use super::error::{Error, ErrorKind};
use super::token::{Words, count, is_blank, quoted};

/// How entries are laid out.
///
/// ```
/// use spmv_io::matrix_market::Format;
/// assert_ne!(Format::Coordinate, Format::Array);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Row, column and value of each entry.
    Coordinate,
    /// Every value, column by column.
    Array,
}

/// What values are.
///
/// ```
/// use spmv_io::matrix_market::Field;
/// assert_eq!(Field::Pattern.words(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Decimal numbers.
    Real,
    /// Whole numbers.
    Integer,
    /// No values: each entry is 1.
    Pattern,
    /// Pairs of real and imaginary part.
    Complex,
}

impl Field {
    /// The word of the banner.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Real => "real",
            Field::Integer => "integer",
            Field::Pattern => "pattern",
            Field::Complex => "complex",
        }
    }

    /// Words that a value takes.
    pub const fn words(self) -> usize {
        match self {
            Field::Pattern => 0,
            Field::Real | Field::Integer => 1,
            Field::Complex => 2,
        }
    }
}

/// What the other triangle is.
///
/// ```
/// use spmv_io::matrix_market::Symmetry;
/// assert_eq!(Symmetry::SkewSymmetric.name(), "skew-symmetric");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// Stored like the rest.
    General,
    /// The transpose.
    Symmetric,
    /// The transpose, negated.
    SkewSymmetric,
    /// The transpose, conjugated.
    Hermitian,
}

impl Symmetry {
    /// The word of the banner.
    pub const fn name(self) -> &'static str {
        match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::SkewSymmetric => "skew-symmetric",
            Symmetry::Hermitian => "hermitian",
        }
    }
}

/// What a file says of itself before its entries.
///
/// ```no_run
/// let header = spmv_io::matrix_market::read_header("matrix.mtx")?;
/// println!("{} x {}, {} stored entries", header.rows, header.cols, header.entries);
/// # Ok::<(), spmv_io::matrix_market::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// How entries are laid out.
    pub format: Format,
    /// What values are.
    pub field: Field,
    /// What the other triangle is.
    pub symmetry: Symmetry,
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub cols: u64,
    /// Entries that the file holds: those of the lower triangle alone, where it is symmetric.
    pub entries: u64,
}

/// Reads up to the size line; also returns how many lines that were.
pub(super) fn read(blocks: &mut Blocks<'_>) -> Result<(Header, u64), Error> {
    let (format, field, symmetry) = banner(blocks.next_line(1)?).map_err(|kind| Error::at(1, kind))?;
    let mut number = 1;
    loop {
        number += 1;
        let line = blocks.next_line(number)?;
        if line.is_empty() {
            return Err(Error::at(number - 1, ErrorKind::NoSize));
        }
        if !is_blank(line) {
            let header = size(line, format, field, symmetry).map_err(|kind| Error::at(number, kind))?;
            return Ok((header, number));
        }
    }
}

fn banner(line: &[u8]) -> Result<(Format, Field, Symmetry), ErrorKind> {
    // A byte order mark is what some editors add; nothing else may come first.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let mut words = Words::of(line);
    let mut next = || words.next().unwrap_or_default().to_ascii_lowercase();
    if next() != b"%%matrixmarket" {
        return Err(ErrorKind::NoBanner);
    }
    let unknown = |what, word: &[u8], known| ErrorKind::Banner { what, word: quoted(word), known };
    match next().as_slice() {
        b"matrix" => {}
        word => return Err(unknown("object", word, "matrix")),
    }
    let format = match next().as_slice() {
        b"coordinate" => Format::Coordinate,
        b"array" => Format::Array,
        word => return Err(unknown("format", word, "coordinate array")),
    };
    let field = match next().as_slice() {
        b"real" | b"double" => Field::Real,
        b"integer" => Field::Integer,
        b"pattern" => Field::Pattern,
        b"complex" => Field::Complex,
        word => return Err(unknown("field", word, "real integer pattern complex")),
    };
    let symmetry = match next().as_slice() {
        b"general" => Symmetry::General,
        b"symmetric" => Symmetry::Symmetric,
        b"skew-symmetric" => Symmetry::SkewSymmetric,
        b"hermitian" => Symmetry::Hermitian,
        word => return Err(unknown("symmetry", word, "general symmetric skew-symmetric hermitian")),
    };
    words.expect_end()?;
    match (format, field, symmetry) {
        (Format::Array, Field::Pattern, _) => Err(ErrorKind::Contradiction("array", "pattern")),
        (_, Field::Pattern, Symmetry::SkewSymmetric) => {
            Err(ErrorKind::Contradiction("pattern", "skew-symmetric"))
        }
        (_, Field::Real | Field::Integer | Field::Pattern, Symmetry::Hermitian) => {
            Err(ErrorKind::Contradiction(field.name(), "hermitian"))
        }
        fine => Ok(fine),
    }
}

fn size(line: &[u8], format: Format, field: Field, symmetry: Symmetry) -> Result<Header, ErrorKind> {
    let what = match format {
        Format::Coordinate => "rows, columns and entries",
        Format::Array => "rows and columns",
    };
    let bad = || ErrorKind::Size(quoted(line.trim_ascii()), what);
    let mut words = Words::of(line);
    let mut next = || words.next().and_then(count).ok_or_else(bad);
    let (rows, cols) = (next()?, next()?);
    for (axis, n) in [("rows", rows), ("columns", cols)] {
        if n > u64::from(u32::MAX) {
            return Err(ErrorKind::TooLarge { axis, n });
        }
    }
    if symmetry != Symmetry::General && rows != cols {
        return Err(ErrorKind::NotSquare { symmetry: symmetry.name(), rows, cols });
    }
    // Below 2^64, since both factors are below 2^32.
    let entries = match (format, symmetry) {
        (Format::Coordinate, _) => next()?,
        (Format::Array, Symmetry::General) => rows * cols,
        (Format::Array, Symmetry::SkewSymmetric) => rows * rows.saturating_sub(1) / 2,
        (Format::Array, _) => rows * (rows + 1) / 2,
    };
    words.expect_end().map_err(|_| bad())?;
    Ok(Header { format, field, symmetry, rows, cols, entries })
}
