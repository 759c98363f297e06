//! What planning looks at: row lengths, diagonals, bandwidth.

use crate::csr::CsrView;
use crate::value::{Offset, Value};

/// Facts about row lengths; O(rows) to find, so every plan starts from them.
///
/// ```
/// use spmv_core::{Csr, RowStats};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (0, 1, 1.0), (2, 2, 1.0)])?;
/// let rows = RowStats::of(a.view());
/// assert_eq!((rows.min, rows.mean, rows.max, rows.empty), (0, 1.0, 2, 1));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RowStats {
    /// Rows of the matrix.
    pub n_rows: usize,
    /// Columns of the matrix.
    pub n_cols: usize,
    /// Stored entries.
    pub nnz: usize,
    /// Entries of the shortest row (0 without rows).
    pub min: usize,
    /// Mean entries of a row (0 without rows).
    pub mean: f64,
    /// Entries of the longest row.
    pub max: usize,
    /// Standard deviation of row lengths over all rows.
    pub std_dev: f64,
    /// Rows without entries.
    pub empty: usize,
}

impl RowStats {
    /// Looks at the row offsets. O(rows).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        let n_rows = a.n_rows();
        if n_rows == 0 {
            return Self { n_cols: a.n_cols(), ..Self::default() };
        }
        let mean = a.nnz() as f64 / n_rows as f64;
        let (mut min, mut max, mut empty, mut squares) = (usize::MAX, 0, 0, 0.0);
        for pair in a.row_ptr().windows(2) {
            let len = pair[1].to_usize() - pair[0].to_usize();
            min = min.min(len);
            max = max.max(len);
            empty += usize::from(len == 0);
            squares += (len as f64 - mean).powi(2);
        }
        let std_dev = (squares / n_rows as f64).sqrt();
        Self { n_rows, n_cols: a.n_cols(), nnz: a.nnz(), min, mean, max, std_dev, empty }
    }
}

/// The row length that most rows have, the shortest of those that are equally common; 0 without rows. O(rows log rows), four
/// bytes of scratch per row.
///
/// ```
/// use spmv_core::{Csr, most_common_row_length};
/// let a = Csr::from_coo(4, 2, &[(0, 0, 1.0f32), (0, 1, 1.0), (1, 0, 1.0), (3, 0, 1.0)])?;
/// assert_eq!(most_common_row_length(a.view()), 1);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn most_common_row_length<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> usize {
    // No row of 2^32 entries or more is common enough to be told from others that long.
    let len = |pair: &[O]| u32::try_from(pair[1].to_usize() - pair[0].to_usize()).unwrap_or(u32::MAX);
    let mut lens: Vec<u32> = a.row_ptr().windows(2).map(len).collect();
    lens.sort_unstable();
    let runs = lens.chunk_by(|a, b| a == b);
    let longest = runs.reduce(|best, next| if next.len() > best.len() { next } else { best });
    longest.map_or(0, |run| run[0] as usize)
}

/// Row lengths, and how the entries lie about the diagonal; O(rows + columns + entries) to find.
///
/// ```
/// use spmv_core::{Csr, MatrixStats};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (0, 2, 1.0), (2, 1, 1.0)])?;
/// let stats = MatrixStats::of(a.view());
/// assert_eq!((stats.diagonals, stats.lower_bandwidth, stats.upper_bandwidth), (3, 1, 2));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct MatrixStats {
    /// Row lengths.
    pub rows: RowStats,
    /// Distinct diagonals (column minus row) that hold an entry.
    pub diagonals: usize,
    /// Greatest row minus column of an entry; 0 if none lies below the diagonal.
    pub lower_bandwidth: usize,
    /// Greatest column minus row of an entry; 0 if none lies above the diagonal.
    pub upper_bandwidth: usize,
}

impl MatrixStats {
    /// Looks at every entry; one byte of scratch per row and column.
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        let n_rows = a.n_rows();
        let mut seen = vec![false; n_rows + a.n_cols()];
        let (mut lower, mut upper) = (0, 0);
        for row in 0..n_rows {
            for &col in &a.cols()[a.row_range(row)] {
                let col = col as usize;
                lower = lower.max(row.saturating_sub(col));
                upper = upper.max(col.saturating_sub(row));
                seen[col + n_rows - 1 - row] = true;
            }
        }
        Self {
            rows: RowStats::of(a),
            diagonals: seen.iter().filter(|&&s| s).count(),
            lower_bandwidth: lower,
            upper_bandwidth: upper,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    #[test]
    fn nothing_divides_by_zero() {
        for (m, n) in [(0, 0), (0, 3), (3, 0)] {
            let a = Csr::<f64>::from_coo(m, n, &[]).unwrap();
            let s = MatrixStats::of(a.view());
            assert_eq!((s.rows.n_rows, s.rows.n_cols, s.rows.mean, s.diagonals), (m, n, 0.0, 0));
            assert_eq!(s.rows.empty, m);
        }
    }

    #[test]
    fn deviation_is_over_all_rows() {
        let a = Csr::from_coo(2, 4, &[(0, 0, 1.0f32), (0, 1, 1.0), (0, 2, 1.0), (1, 0, 1.0)]).unwrap();
        assert_eq!(RowStats::of(a.view()).std_dev, 1.0);
    }
}
