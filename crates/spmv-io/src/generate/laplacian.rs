//! Laplacians: stencils with constant coefficients on squares and cubes.

use spmv_core::Csr;

use super::GenerateError;
use super::patterns::{Stencil, by_rules, neighbours};

/// The Laplacian of a square of `side` x `side` points, 5 of them in a row: 4 for a point, -1 for each of its neighbours. Symmetric and
/// positive definite. O(points), in parallel.
///
/// ```
/// let a = spmv_io::generate::laplacian_2d(3)?;
/// assert_eq!((a.n_rows(), a.nnz()), (9, 9 + 4 * 6));
/// assert_eq!(a.row(4).collect::<Vec<_>>(), [(1, -1.0), (3, -1.0), (4, 4.0), (5, -1.0), (7, -1.0)]);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn laplacian_2d(side: usize) -> Result<Csr<f64>, GenerateError> {
    laplacian([side, side, 1], Stencil::Star, 4.0)
}

/// The Laplacian of a cube of `side` x `side` x `side` points, 7 of them in a row: 6 for a point, -1 for each of its neighbours along an
/// axis. Symmetric and positive definite. O(points), in parallel.
///
/// ```
/// let a = spmv_io::generate::laplacian_3d(3)?;
/// let sum = |row: usize| a.row(row).map(|(_, value)| value).sum::<f64>();
/// assert_eq!((a.n_rows(), a.nnz(), sum(0), sum(13)), (27, 27 + 2 * 54, 3.0, 0.0));
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn laplacian_3d(side: usize) -> Result<Csr<f64>, GenerateError> {
    laplacian([side; 3], Stencil::Star, 6.0)
}

/// As [`laplacian_3d`] with neighbours along diagonals too, 27 points in a row: 26 for a point, -1 for each of its neighbours, as in the
/// HPCG benchmark.
///
/// ```
/// let a = spmv_io::generate::laplacian_3d_box(3)?;
/// let sum = |row: usize| a.row(row).map(|(_, value)| value).sum::<f64>();
/// assert_eq!((a.n_rows(), a.nnz(), sum(0), sum(13)), (27, 7 * 7 * 7, 19.0, 0.0));
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::TooManyEntries`], [`GenerateError::TooLarge`].
pub fn laplacian_3d_box(side: usize) -> Result<Csr<f64>, GenerateError> {
    laplacian([side; 3], Stencil::Box, 26.0)
}

fn laplacian(sides: [usize; 3], stencil: Stencil, diagonal: f64) -> Result<Csr<f64>, GenerateError> {
    let n = sides.into_iter().fold(1, usize::saturating_mul);
    by_rules(n, n, neighbours(sides, stencil), |row, cols, vals| {
        for (col, val) in cols.iter().zip(vals) {
            *val = if *col as usize == row { diagonal } else { -1.0 };
        }
    })
}
