//! Random columns at the speed of memory: for matrices of billions of entries.

use spmv_core::{Csr, Value};

use super::random::Draw;
use super::{GenerateError, fill_rows};

/// Bits of a gap behind its point.
const FRACTION: u32 = 20;

/// Draws a matrix with these row lengths, in entries, and columns that are equally likely, in the type of values asked for.
///
/// As [`from_row_lengths`](super::from_row_lengths) with [`ColumnModel::Uniform`](super::ColumnModel::Uniform), but
/// without sorting: gaps between the columns of a row are drawn, nearly exponential, and scaled to fill it. So columns lie
/// about as sorted uniform ones do. O(entries), in parallel; no scratch.
///
/// ```
/// use spmv_io::generate;
/// let a = generate::scattered::<f32>(&[0, 3, 1], 4, 42)?;
/// assert_eq!((a.n_rows(), a.row_ptr()), (3, &[0, 0, 3, 4][..]));
/// assert_eq!(a, generate::scattered(&[0, 3, 1], 4, 42)?);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::RowTooLong`], [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn scattered<T: Value>(lens: &[u32], n_cols: usize, seed: u64) -> Result<Csr<T>, GenerateError> {
    fill_rows(lens, n_cols, |row, cols, vals: &mut [T], _| {
        let mut draw = Draw::new(seed, row as u64);
        let mut total = 0;
        for (col, val) in cols.iter_mut().zip(vals) {
            let bits = draw.bits();
            *col = gap(bits as u32);
            *val = T::from_f64(value((bits >> 32) as u32));
            total += i64::from(*col);
        }
        // To the end of the row.
        total += i64::from(gap(draw.bits() as u32));
        // Columns less the number of those before them: these may repeat.
        let scale = (n_cols - cols.len() + 1) as f64 / total as f64;
        let mut sum = 0;
        for (before, col) in cols.iter_mut().enumerate() {
            sum += i64::from(*col);
            *col = (sum as f64 * scale) as i64 as u32 + before as u32;
        }
    })
}

/// -log2 of a uniform number, linear within each octave; at least one unit of `FRACTION` bits.
fn gap(bits: u32) -> u32 {
    let bits = bits | 1;
    let octave = bits.leading_zeros();
    let within = ((bits << octave) & (u32::MAX >> 1)) >> (31 - FRACTION);
    ((octave + 1) << FRACTION) - within
}

/// Magnitude uniform in [0.1, 1), either sign.
fn value(bits: u32) -> f64 {
    let magnitude = 0.1 + 0.9 * (f64::from(bits >> 1) / f64::from(1u32 << 31));
    if bits & 1 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{ColumnModel, from_row_lengths};

    #[test]
    fn columns_rise_and_full_rows_are_full() {
        for n in [1usize, 2, 5, 40] {
            let lens: Vec<u32> = (0..=n as u32).collect();
            for seed in 0..20 {
                let a = scattered::<f64>(&lens, n, seed).unwrap();
                for row in 0..=n {
                    let cols: Vec<u32> = a.row(row).map(|(col, _)| col).collect();
                    assert!(cols.is_sorted_by(|a, b| a < b), "{cols:?}");
                }
                let full: Vec<u32> = a.row(n).map(|(col, _)| col).collect();
                assert_eq!(full, (0..n as u32).collect::<Vec<_>>());
                assert!(a.vals().iter().all(|v| (0.1..1.0).contains(&v.abs())));
            }
        }
    }

    /// Mean and variance of column k of rows of `len`, as shares of all columns.
    fn moments(a: &Csr<f64>, len: usize, k: usize) -> (f64, f64) {
        let n = a.n_rows() as f64;
        let at = |row: usize| f64::from(a.cols()[row * len + k]) / a.n_cols() as f64;
        let mean = (0..a.n_rows()).map(at).sum::<f64>() / n;
        (mean, (0..a.n_rows()).map(|row| (at(row) - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn columns_lie_as_sorted_uniform_ones_do() {
        const LEN: usize = 32;
        let lens = vec![LEN as u32; 20_000];
        let ours = scattered::<f64>(&lens, 100_000, 1).unwrap();
        let sorted = from_row_lengths(&lens, 100_000, ColumnModel::Uniform, 1).unwrap();
        for k in [0, 7, 15, 31] {
            let [(mean, variance), (of_sorted, variance_of_sorted)] =
                [&ours, &sorted].map(|a| moments(a, LEN, k));
            assert!((mean - of_sorted).abs() < 0.01, "{k}: {mean} {of_sorted}");
            // Within an octave gaps are uniform, which takes a little of their variance.
            let ratio = variance / variance_of_sorted;
            assert!((0.8..1.2).contains(&ratio), "{k}: {ratio}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(
            scattered::<f32>(&[1, 5], 4, 0),
            Err(GenerateError::RowTooLong { row: 1, len: 5, n_cols: 4 })
        );
    }
}
