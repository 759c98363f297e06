//! Generated matrices on disk.
//!
//! ```text
//! offset 0   8 bytes  magic "spmv-csr"
//!        8   u64      format version
//!       16   u64 x 3  rows, columns, entries
//!       40   u64      checksum
//!       48   u32 ...  row offsets (rows + 1), then column indices; f64 values. All little-endian
//! ```
//!
//! The checksum covers the whole matrix, and a reader knows the one it wants. So a file from an older
//! generator is as useless as a damaged one, and there is no generator version that one could forget to
//! raise.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use spmv_core::Csr;

const MAGIC: u64 = u64::from_le_bytes(*b"spmv-csr");
const FORMAT: u64 = 1;
const HEADER: usize = 48;

/// A 64-bit checksum of shape, row offsets, columns and the bits of the values.
///
/// Equal matrices have equal checksums on every platform; it finds damage, not malice.
///
/// ```
/// use spmv_io::{generate, suite};
/// let a = generate::diagonal(3, 1)?;
/// assert_eq!(suite::checksum(&a), suite::checksum(&a.clone()));
/// assert_ne!(suite::checksum(&a), suite::checksum(&generate::diagonal(3, 2)?));
/// # Ok::<(), generate::GenerateError>(())
/// ```
pub fn checksum(matrix: &Csr<f64>) -> u64 {
    let shape = [matrix.n_rows() as u64, matrix.n_cols() as u64, matrix.nnz() as u64];
    let mut sum = shape.into_iter().fold(MAGIC, step);
    sum = matrix.row_ptr().iter().fold(sum, |sum, &o| step(sum, o.into()));
    sum = matrix.cols().iter().fold(sum, |sum, &c| step(sum, c.into()));
    matrix.vals().iter().fold(sum, |sum, v| step(sum, v.to_bits()))
}

/// A bijection in `sum` for each `word` and the other way round, so no single change goes unseen.
fn step(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// The matrix in `path` if it is there, whole, and has this checksum.
pub(super) fn read(path: &Path, wanted: u64) -> Option<Csr<f64>> {
    let bytes = fs::read(path).ok()?;
    let header = bytes.get(..HEADER)?;
    let word = |i: usize| header[i * 8..].first_chunk().map(|b| u64::from_le_bytes(*b));
    if (word(0)?, word(1)?, word(5)?) != (MAGIC, FORMAT, wanted) {
        return None;
    }
    let [rows, cols, nnz] = [word(2)?, word(3)?, word(4)?].map(|n| usize::try_from(n).ok());
    let (rows, cols, nnz) = (rows?, cols?, nnz?);
    let offset_bytes = rows.checked_add(1)?.checked_mul(4)?;
    let (offsets, rest) = bytes[HEADER..].split_at_checked(offset_bytes)?;
    let (columns, values) = rest.split_at_checked(nnz.checked_mul(4)?)?;
    if values.len() != nnz.checked_mul(8)? {
        return None;
    }
    let u32s = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let values = values.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let matrix = Csr::new(rows, cols, u32s(offsets), u32s(columns), values).ok()?;
    (checksum(&matrix) == wanted).then_some(matrix)
}

/// Writes a file next to `path` and renames it, so that no reader ever meets half a file.
pub(super) fn write(path: &Path, matrix: &Csr<f64>, checksum: u64) -> io::Result<()> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{serial}.tmp", std::process::id()));
    let written = write_file(&temporary, matrix, checksum).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_file(path: &Path, matrix: &Csr<f64>, checksum: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let shape = [matrix.n_rows() as u64, matrix.n_cols() as u64, matrix.nnz() as u64];
    for word in [MAGIC, FORMAT].into_iter().chain(shape).chain([checksum]) {
        out.write_all(&word.to_le_bytes())?;
    }
    for index in matrix.row_ptr().iter().chain(matrix.cols()) {
        out.write_all(&index.to_le_bytes())?;
    }
    for value in matrix.vals() {
        out.write_all(&value.to_le_bytes())?;
    }
    out.flush()
}
