//! Where a matrix is cut in two.

use spmv_core::{Csr, CsrView, Offset, Value};
use spmv_exec::Algorithm;

use crate::pattern::{Pattern, SHARE, distance, recognised};

/// Which entries the device multiplies; the other side has the rest.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_hetero::Cut;
/// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let [device, rest] = Cut::Diagonals { half_width: 0 }.parts(a.view());
/// assert_eq!((device.nnz(), rest.nnz()), (2, 1));
/// let [device, rest] = Cut::Rows { n_rows: 1 }.parts(a.view());
/// assert_eq!((device.n_rows(), device.nnz(), rest.n_rows(), rest.nnz()), (1, 2, 1, 1));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// Q1: entries at most so many columns from the diagonal.
    Diagonals {
        /// Columns on either side.
        half_width: usize,
    },
    /// T1: the first K entries of each row.
    Places {
        /// K.
        width: usize,
    },
    /// The first rows, whole.
    Rows {
        /// How many.
        n_rows: usize,
    },
}

impl Cut {
    /// Where the paper's search begins: what is regular, as far as it holds 80% of the entries; of a general matrix the first rows
    /// that do. O(rows + entries log entries).
    pub fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        match recognised(a) {
            (Pattern::QuasiDiagonal, half_width) => Cut::Diagonals { half_width },
            (Pattern::Tetris, width) => Cut::Places { width },
            (Pattern::General, _) => {
                let wanted = SHARE * a.nnz() as f64;
                Cut::Rows {
                    n_rows: a
                        .row_ptr()
                        .partition_point(|entry| (entry.to_usize() as f64) < wanted)
                        .min(a.n_rows()),
                }
            }
        }
    }

    /// The device's part and the other's, which have as many columns as the matrix, and all rows or theirs.
    /// O(rows + entries).
    pub fn parts<T: Value, O: Offset>(&self, a: CsrView<'_, T, O>) -> [Csr<T, O>; 2] {
        let of = |rows: std::ops::Range<usize>, is_in: &dyn Fn(usize, usize, u32) -> bool| {
            let rows = rows.map(|row| {
                let entries = a.row(row).enumerate();
                entries.filter(move |(place, (col, _))| is_in(row, *place, *col)).map(|(_, entry)| entry)
            });
            Csr::from_rows(a.n_cols(), rows).expect("no more entries than the matrix has")
        };
        let all = 0..a.n_rows();
        match *self {
            Cut::Diagonals { half_width } => [
                of(all.clone(), &|row, _, col| distance(row, col) <= half_width),
                of(all, &|row, _, col| distance(row, col) > half_width),
            ],
            Cut::Places { width } => {
                [of(all.clone(), &|_, place, _| place < width), of(all, &|_, place, _| place >= width)]
            }
            Cut::Rows { n_rows } => {
                let n_rows = n_rows.min(a.n_rows());
                [of(0..n_rows, &|_, _, _| true), of(n_rows..a.n_rows(), &|_, _, _| true)]
            }
        }
    }

    /// What the paper multiplies the device's part by: DIA, ELL, or speculative segmented sum.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Cut::Diagonals { .. } => Algorithm::Dia,
            Cut::Places { .. } => Algorithm::Ell,
            Cut::Rows { .. } => Algorithm::SpeculativeSegmentedSum,
        }
    }

    /// Whether each side has rows of its own.
    pub fn is_by_rows(&self) -> bool {
        matches!(self, Cut::Rows { .. })
    }
}
