//! How much of a matrix mirrors at its diagonal.

use std::ops::Range;

use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::value::Value;

/// Rows of a sample, and entries of each.
const SAMPLED: usize = 64;

/// The part of the entries off the diagonal that an entry with the same bits mirrors, of up to 64 entries of each of 64 rows: 1 of a symmetric
/// matrix, 0 where there are none. Columns are to ascend in each row. O(log(entries of a row)).
///
/// ```
/// use spmv_core::{Csr, mirrored_share};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (0, 2, 5.0), (2, 0, 5.0)])?;
/// assert_eq!(mirrored_share(a.view()), 1.0);
/// assert_eq!(mirrored_share(Csr::from_coo(3, 3, &[(0, 2, 5.0f32), (2, 0, 4.0)])?.view()), 0.0);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn mirrored_share<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> f64 {
    let n_rows = a.n_rows();
    let (mut n_mirrored, mut n_off) = (0usize, 0usize);
    let some = |of: Range<usize>| of.clone().step_by(of.len().div_ceil(SAMPLED).max(1));
    for row in some(0..n_rows) {
        for entry in some(a.row_range(row)).filter(|entry| a.cols()[*entry] as usize != row) {
            let mirror = mirror(a, row, a.cols()[entry] as usize);
            n_off += 1;
            n_mirrored += usize::from(mirror.is_some_and(|other| same(a, entry, other)));
        }
    }
    if n_off > 0 { n_mirrored as f64 / n_off as f64 } else { 0.0 }
}

/// The entry in a column's row and a row's column.
fn mirror<T: Value, O: Offset>(a: CsrView<'_, T, O>, row: usize, col: usize) -> Option<usize> {
    let of_row = (col < a.n_rows()).then(|| a.row_range(col))?;
    let at = a.cols()[of_row.clone()].binary_search(&(row as u32)).ok()?;
    Some(of_row.start + at)
}

fn same<T: Value, O: Offset>(a: CsrView<'_, T, O>, entry: usize, other: usize) -> bool {
    bytemuck::bytes_of(&a.vals()[entry]) == bytemuck::bytes_of(&a.vals()[other])
}

impl<T: Value, O: Offset> Csr<T, O> {
    /// The symmetric matrix of which this is the lower or the upper triangle, with the diagonal or without: every entry, and its mirror.
    /// O(entries + rows).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let upper = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0)])?;
    /// assert_eq!(upper.mirrored()?, Csr::from_coo(2, 2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0)])?);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`CsrError::NotSquare`], [`CsrError::NoTriangle`], [`CsrError::OffsetOverflow`].
    pub fn mirrored(&self) -> Result<Self, CsrError> {
        let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
        if n_rows != n_cols {
            return Err(CsrError::NotSquare { n_rows, n_cols });
        }
        let side = |row: usize, col: u32| (col as usize).cmp(&row);
        let sides = (0..n_rows).flat_map(|row| self.row(row).map(move |(col, _)| (side(row, col), row, col)));
        let mut sides = sides.filter(|(side, ..)| side.is_ne());
        let is_lower = match sides.next() {
            None => return Ok(self.clone()),
            Some((first, ..)) => match sides.find(|(other, ..)| *other != first) {
                None => first.is_lt(),
                Some((_, row, col)) => return Err(CsrError::NoTriangle { row, col }),
            },
        };
        let transpose = self.transpose();
        let (lower, upper) = if is_lower { (self, &transpose) } else { (&transpose, self) };
        let rows = (0..n_rows).map(|row| {
            let off = move |(col, _): &(u32, T)| *col as usize != row;
            // The diagonal from the triangle that was given.
            lower
                .row(row)
                .filter(move |entry| is_lower || off(entry))
                .chain(upper.row(row).filter(move |entry| !is_lower || off(entry)))
        });
        Self::from_rows(n_cols, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    #[test]
    fn a_triangle_is_mirrored_and_nothing_else() {
        let lower = [(0, 0, 1.0f64), (1, 0, 2.0), (2, 1, 3.0), (2, 2, 4.0)];
        let upper = lower.map(|(row, col, val)| (col, row, val));
        let all = [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 2, 3.0), (2, 1, 3.0), (2, 2, 4.0)];
        let all = Csr::from_coo(3, 3, &all).unwrap();
        for triangle in [lower, upper] {
            let triangle = Csr::from_coo(3, 3, &triangle).unwrap();
            assert_eq!(triangle.mirrored().unwrap(), all);
        }
        let diagonal = Csr::from_coo(2, 2, &[(1, 1, 1.0f64)]).unwrap();
        assert_eq!(diagonal.mirrored().unwrap(), diagonal);
        assert_eq!(all.mirrored().unwrap_err(), CsrError::NoTriangle { row: 1, col: 0 });
        let wide = Csr::<f64>::from_coo(2, 3, &[]).unwrap();
        assert_eq!(wide.mirrored().unwrap_err(), CsrError::NotSquare { n_rows: 2, n_cols: 3 });
    }

    #[test]
    fn entries_without_a_mirror_count() {
        let a = Csr::from_coo(2, 3, &[(0, 1, 1.0f64), (1, 0, 1.0), (1, 1, 2.0), (0, 2, 3.0)]).unwrap();
        assert_eq!(mirrored_share(a.view()), 2.0 / 3.0);
        assert_eq!(mirrored_share(Csr::from_coo(2, 2, &[(0, 0, 1.0f64)]).unwrap().view()), 0.0);
        assert_eq!(mirrored_share(Csr::<f64>::from_coo(0, 5, &[]).unwrap().view()), 0.0);
        // Bits are compared: zeros of two signs make different products.
        assert_eq!(mirrored_share(Csr::from_coo(2, 2, &[(0, 1, 0.0f64), (1, 0, -0.0)]).unwrap().view()), 0.0);
    }
}
