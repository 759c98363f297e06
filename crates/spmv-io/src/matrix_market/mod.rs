//! Matrix Market files, from trusted and untrusted sources alike.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general     the banner: format, field, symmetry
//! % comments and blank lines may stand anywhere below it
//! 3 4 2                                             rows, columns, entries
//! 1 1 0.5                                           row, column, value; both from 1 on
//! 3 4 -2e3
//! ```
//!
//! The [reader](Reader) takes coordinate and array files, plain or gzipped, in blocks: a block's lines are
//! parsed by all threads, the next block is read when they are done. So pipes can be read as well as files. The file is
//! not mapped: a mapped file that shrinks ends the process (SIGBUS), and a mapping cannot be made in safe Rust.
//! Gzip is told by its first bytes, whatever the name; a byte order mark before the banner is skipped.
//!
//! Memory is bounded by the bytes of the file, whatever its header claims and whatever it inflates to:
//!
//! | file of B bytes | rows at most | entries at most, of both triangles | memory at most |
//! |---|---|---|---|
//! | plain | 2^20 + B | B, as an entry takes so many bytes | 32 MiB + 64 B |
//! | gzipped | 2^20 + B | 2^20 + 4 B, and those of a block | 128 MiB + 256 B |
//!
//! It is the peak while a matrix is read, and holds the matrix. More is an error, unless [`Reader::max_rows`] or
//! [`Reader::max_entries`] allows it: up to 24 bytes for each row more, 64 for each entry.
//!
//! Entries of the same row and column are summed; explicit zeros are kept in coordinate files, and dropped from array
//! files. A symmetric, skew-symmetric or hermitian file holds the lower triangle alone and is expanded to
//! both; an entry above its diagonal is an error, because a file with both triangles would be summed twice.
//!
//! The format: Boisvert, Pozo & Remington, *The Matrix Market Exchange Formats: Initial Design*, NISTIR
//! 5935, 1996.
//!
//! ```
//! use spmv_io::matrix_market::Reader;
//! let text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4.0\n2 1 0.5\n";
//! let a = Reader::new().parse::<f64>(text)?;
//! assert_eq!(a.nnz(), 3);
//! # Ok::<(), spmv_io::matrix_market::Error>(())
//! ```

mod blocks;
mod body;
mod entries;
mod error;
mod header;
mod options;
mod part;
mod token;
mod vector;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use entries::Entries;
pub use error::{Error, ErrorKind};
pub use header::{Field, Format, Header, Symmetry};
pub use part::{Part, Summary};
use spmv_core::{Csr, Offset, Value};
pub use vector::write_vector;
pub use write::{Writer, write};

/// Reads a matrix from a file, plain or gzipped, with 32-bit row offsets.
///
/// ```no_run
/// let a = spmv_io::matrix_market::read::<f64>("matrix.mtx.gz")?;
/// println!("{} x {} with {} entries", a.n_rows(), a.n_cols(), a.nnz());
/// # Ok::<(), spmv_io::matrix_market::Error>(())
/// ```
///
/// # Errors
/// [`Error`], with the line where there is one.
pub fn read<T: Value>(path: impl AsRef<Path>) -> Result<Csr<T>, Error> {
    Reader::new().read(path)
}

/// Reads a vector: a matrix of one column, in a coordinate or array file, plain or gzipped. What a file does not hold is zero.
///
/// O(bytes / threads + length) time; memory as [above](self).
///
/// ```
/// use spmv_io::matrix_market::{read_vector, write_vector};
/// let path = std::env::temp_dir().join(format!("vector-{}.mtx", std::process::id()));
/// write_vector(&path, &[1.0f64, 0.0, -2.5])?;
/// assert_eq!(read_vector::<f64>(&path)?, [1.0, 0.0, -2.5]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), spmv_io::matrix_market::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::NotAVector`] of a matrix with more columns or none, and those of [`read`].
pub fn read_vector<T: Value>(path: impl AsRef<Path>) -> Result<Vec<T>, Error> {
    vector::of_column(&read(path)?)
}

/// Reads the banner and the size line of a file, plain or gzipped.
///
/// # Errors
/// [`Error`], with the line where there is one.
pub fn read_header(path: impl AsRef<Path>) -> Result<Header, Error> {
    let mut blocks = blocks::Blocks::open(File::open(path)?, blocks::HEADER_BYTES)?;
    Ok(header::read(&mut blocks)?.0)
}

/// How to read.
///
/// ```
/// use spmv_io::matrix_market::Reader;
/// let text = b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.0 -3.0\n";
/// let e = Reader::new().parse::<f32>(text).unwrap_err();
/// assert_eq!(e.to_string(), "line 1: the matrix is complex; ask for its real part (Reader::real_part)");
/// let real = Reader::new().real_part(true).parse::<f32>(text)?;
/// assert_eq!(real.vals(), [2.0]);
/// use spmv_core::c64;
/// assert_eq!(Reader::new().parse::<c64>(text)?.vals(), [c64::new(2.0, -3.0)]);
/// # Ok::<(), spmv_io::matrix_market::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    options: options::Options,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// Refuses complex matrices where values are real, and implausibly many rows and entries.
    pub const fn new() -> Self {
        Self { options: options::Options::new() }
    }

    /// Whether to take the real part of a complex matrix where values are real. [`read_with_header`](Self::read_with_header) says whether one was.
    #[must_use]
    pub const fn real_part(mut self, yes: bool) -> Self {
        self.options.real_part = yes;
        self
    }

    /// Most entries that the header may claim. Without it, any number, of which so many may be read: 2^20 and 4 more for
    /// each byte of the file as stored (compressed, if it is), both triangles counted. Few compressed files of matrices
    /// have even one.
    #[must_use]
    pub const fn max_entries(mut self, entries: u64) -> Self {
        self.options.max_entries = Some(entries);
        self
    }

    /// Most rows to accept. Without it, 2^20 and 1 more for each byte of the file as stored (compressed, if
    /// it is): row offsets take memory that a header of a few bytes does not justify.
    #[must_use]
    pub const fn max_rows(mut self, rows: u64) -> Self {
        self.options.max_rows = Some(rows);
        self
    }

    /// Reads a matrix from a file, plain or gzipped.
    ///
    /// O(bytes / threads + rows + entries log(longest row)) time; memory as [above](self).
    ///
    /// # Errors
    /// [`Error`], with the line where there is one.
    pub fn read<T: Value, O: Offset>(&self, path: impl AsRef<Path>) -> Result<Csr<T, O>, Error> {
        self.read_from(File::open(path)?)
    }

    /// Reads a matrix from a file, as [`read`](Self::read) does, and what the file says of itself: whether it is complex,
    /// for example, so that the real part alone was read.
    ///
    /// ```
    /// use spmv_io::matrix_market::{Field, Reader};
    /// let path = std::env::temp_dir().join(format!("complex-{}.mtx", std::process::id()));
    /// std::fs::write(&path, "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.0 -3.0\n")?;
    /// let (header, a) = Reader::new().real_part(true).read_with_header::<f32, u32>(&path)?;
    /// assert_eq!((header.field, a.vals()), (Field::Complex, &[2.0][..]));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error`], with the line where there is one.
    pub fn read_with_header<T: Value, O: Offset>(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<(Header, Csr<T, O>), Error> {
        self.read_all(File::open(path)?)
    }

    /// Reads a matrix from anything that gives bytes, plain or gzipped.
    ///
    /// # Errors
    /// [`Error`], with the line where there is one.
    pub fn read_from<T: Value, O: Offset>(&self, source: impl Read) -> Result<Csr<T, O>, Error> {
        Ok(self.read_all(source)?.1)
    }

    /// Reads a matrix from text in memory, plain or gzipped, with 32-bit row offsets.
    ///
    /// # Errors
    /// [`Error`], with the line where there is one.
    pub fn parse<T: Value>(&self, text: &[u8]) -> Result<Csr<T>, Error> {
        self.read_from(text)
    }

    /// Reads one of several parts of a file: about as many bytes in each, with ends between lines. Together they are the file, in the
    /// order of their indices, so that several processes can read it at once. Of a gzipped file, which can be inflated from its
    /// beginning alone, part 0 has everything.
    ///
    /// What is wrong in the lines of the part is not an error yet: [`Part::check`] says it, with line numbers of the whole file.
    ///
    /// ```
    /// use spmv_io::matrix_market::{Part, Reader};
    /// let path = std::env::temp_dir().join(format!("parts-{}.mtx", std::process::id()));
    /// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4.0\n2 1 0.5\n2 2 4.0\n")?;
    /// let parts = [0, 1].map(|part| Reader::new().read_part::<f64>(&path, part, 2));
    /// let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let summaries: Vec<_> = parts.iter().map(Part::summary).collect();
    /// let mut nnz = 0;
    /// for (i, part) in parts.into_iter().enumerate() {
    ///     part.check(i, &summaries)?;
    ///     nnz += part.into_entries(i, &summaries).vals.len();
    /// }
    /// assert_eq!(nnz, 3);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// O(bytes / (parts * threads)) time; memory of the part's entries, and of a block. Panics if there is no such part.
    ///
    /// # Errors
    /// [`Error`] of the header, of limits, and of reading.
    pub fn read_part<T: Value>(
        &self,
        path: impl AsRef<Path>,
        part: usize,
        parts: usize,
    ) -> Result<Part<T>, Error> {
        part::read(&self.options, path.as_ref(), part, parts)
    }

    fn read_all<T: Value, O: Offset>(&self, source: impl Read) -> Result<(Header, Csr<T, O>), Error> {
        let mut blocks = blocks::Blocks::open(source, self.options.block_bytes)?;
        let (header, line) = header::read(&mut blocks)?;
        let matrix = body::read(&self.options, &header, blocks, line)?;
        Ok((header, matrix))
    }

    /// Bytes of a block, to put its end anywhere in tests.
    #[cfg(test)]
    const fn block_bytes(mut self, bytes: usize) -> Self {
        self.options.block_bytes = bytes;
        self
    }

    /// Least bytes of a chunk, to put its end anywhere in tests.
    #[cfg(test)]
    const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.options.chunk_bytes = bytes;
        self
    }
}

#[cfg(test)]
mod parts_tests;
#[cfg(test)]
mod tests;
