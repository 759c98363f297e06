//! Compressed sparse rows.
//!
//! ```text
//!        0  1  2  3            row_ptr = 0  2     3  3        6      (n_rows + 1 offsets)
//!   0  [ a  .  b  . ]                    |  |     |           |
//!   1  [ .  c  .  . ]          cols    = 0  2  |  1  |     |  0  2  3    (nnz)
//!   2  [ .  .  .  . ]          vals    = a  b  |  c  |     |  d  e  f    (nnz)
//!   3  [ d  .  e  f ]                    row 0   row 1  row 2  row 3
//! ```
//!
//! Columns of a row may stand in any order and may repeat (repeats are summed by every kernel).

use crate::assemble::{Arrays, assemble};
use crate::checks::{check_dims, check_row_ptr, highest, offset};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::tiling::Piece;
use crate::value::Value;

/// An owned matrix in CSR form, validated at construction.
///
/// `T` is the value type, `O` the type of row offsets; columns are `u32`.
///
/// ```
/// use spmv_core::Csr;
/// let a = Csr::new(2, 3, vec![0u32, 1, 3], vec![0, 0, 2], vec![1.0f64, 2.0, 3.0])?;
/// assert_eq!((a.n_rows(), a.n_cols(), a.nnz()), (2, 3, 3));
/// assert_eq!(a.row(1).collect::<Vec<_>>(), [(0, 2.0), (2, 3.0)]);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T, O = u32> {
    n_cols: usize,
    row_ptr: Vec<O>,
    cols: Vec<u32>,
    vals: Vec<T>,
}

/// A borrowed matrix in CSR form, validated at construction. `Copy`, so it is passed by value.
///
/// ```
/// use spmv_core::CsrView;
/// let a = CsrView::new(1, 2, &[0u64, 2], &[0, 1], &[1.0f32, 2.0])?;
/// assert_eq!(a.row_range(0), 0..2);
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CsrView<'a, T, O = u32> {
    n_cols: usize,
    row_ptr: &'a [O],
    cols: &'a [u32],
    vals: &'a [T],
}

impl<T: Value, O: Offset> Csr<T, O> {
    /// Takes over the three arrays of an `n_rows` x `n_cols` matrix. O(rows + entries).
    ///
    /// # Errors
    /// Any [`CsrError`] that [`CsrView::new`] names.
    pub fn new(
        n_rows: usize,
        n_cols: usize,
        row_ptr: Vec<O>,
        cols: Vec<u32>,
        vals: Vec<T>,
    ) -> Result<Self, CsrError> {
        CsrView::new(n_rows, n_cols, &row_ptr, &cols, &vals)?;
        Ok(Self { n_cols, row_ptr, cols, vals })
    }

    /// Assembles a matrix from coordinate arrays in any order; entries of the same row and column are summed
    /// in the order given. Rows come out sorted by column.
    ///
    /// O(rows + entries log(longest row)) time, 16 bytes and two values of scratch per entry.
    ///
    /// # Errors
    /// [`CsrError::TooLarge`], [`CsrError::RowOutOfRange`], [`CsrError::ColumnOutOfRange`],
    /// [`CsrError::ValuesLength`], [`CsrError::OffsetOverflow`].
    pub fn from_triplets(
        n_rows: usize,
        n_cols: usize,
        rows: &[u32],
        cols: &[u32],
        vals: &[T],
    ) -> Result<Self, CsrError> {
        if rows.len() != cols.len() || vals.len() != cols.len() {
            return Err(CsrError::ValuesLength { columns: cols.len(), values: vals.len().min(rows.len()) });
        }
        let arrays = assemble(n_rows, n_cols, rows.len(), |i| (rows[i], cols[i], vals[i]))?;
        Ok(Self::from_checked(n_cols, arrays))
    }

    /// Assembles a matrix from its rows, whose entries stay as they are. O(rows + entries).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::<f32>::from_rows(3, [vec![(0, 1.0), (2, 2.0)], vec![]])?;
    /// assert_eq!((a.n_rows(), a.row_ptr()), (2, &[0, 2, 2][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`CsrError::TooLarge`], [`CsrError::ColumnOutOfRange`], [`CsrError::OffsetOverflow`].
    pub fn from_rows<R: IntoIterator<Item = (u32, T)>>(
        n_cols: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Self, CsrError> {
        let (mut row_ptr, mut cols, mut vals) = (vec![offset(0)?], Vec::new(), Vec::new());
        for row in rows {
            for (col, val) in row {
                cols.push(col);
                vals.push(val);
            }
            row_ptr.push(offset(cols.len())?);
        }
        Self::new(row_ptr.len() - 1, n_cols, row_ptr, cols, vals)
    }

    /// Arrays that are known to be a matrix of so many columns.
    pub(crate) fn from_checked(n_cols: usize, (row_ptr, cols, vals): Arrays<T, O>) -> Self {
        Self { n_cols, row_ptr, cols, vals }
    }

    /// Row offsets, columns and values, to be taken elsewhere.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let (row_ptr, cols, vals) = Csr::from_coo(2, 2, &[(1, 0, 3.0f32)])?.into_parts();
    /// assert_eq!((row_ptr, cols, vals), (vec![0, 0, 1], vec![0], vec![3.0]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn into_parts(self) -> (Vec<O>, Vec<u32>, Vec<T>) {
        (self.row_ptr, self.cols, self.vals)
    }

    /// The matrix, borrowed.
    pub fn view(&self) -> CsrView<'_, T, O> {
        CsrView { n_cols: self.n_cols, row_ptr: &self.row_ptr, cols: &self.cols, vals: &self.vals }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.cols.len()
    }

    /// Row offsets, `n_rows + 1` of them.
    pub fn row_ptr(&self) -> &[O] {
        &self.row_ptr
    }

    /// Column indices, one per entry.
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// Values, one per entry.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// Values, to be changed in place; the pattern stays.
    pub fn vals_mut(&mut self) -> &mut [T] {
        &mut self.vals
    }

    /// The `(column, value)` pairs of one row.
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        self.view().row(row)
    }

    /// The same pattern with every value passed through `f`.
    ///
    /// ```
    /// use spmv_core::{Csr, Value, f16};
    /// let a = Csr::from_coo(1, 1, &[(0, 0, 0.1f64)])?;
    /// let half = a.map_values(|v| f16::from_f64(v));
    /// assert_eq!(half.vals()[0].widen(), 0.0999755859375);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn map_values<U: Value>(&self, f: impl FnMut(T) -> U) -> Csr<U, O> {
        Csr {
            n_cols: self.n_cols,
            row_ptr: self.row_ptr.clone(),
            cols: self.cols.clone(),
            vals: self.vals.iter().copied().map(f).collect(),
        }
    }

    /// The same matrix with row offsets of another type.
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`] if `P` cannot count the entries.
    pub fn with_offsets<P: Offset>(&self) -> Result<Csr<T, P>, CsrError> {
        let row_ptr = self.row_ptr.iter().map(|o| offset::<P>(o.to_usize())).collect::<Result<_, _>>()?;
        Ok(Csr { n_cols: self.n_cols, row_ptr, cols: self.cols.clone(), vals: self.vals.clone() })
    }
}

impl<T: Value> Csr<T, u32> {
    /// Assembles a matrix from `(row, column, value)` triplets in any order; entries of the same row and
    /// column are summed in the order given.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::from_coo(2, 2, &[(1, 1, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// assert_eq!(a.vals(), [2.0, 4.0]);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Csr::from_triplets`].
    pub fn from_coo(n_rows: usize, n_cols: usize, triplets: &[(u32, u32, T)]) -> Result<Self, CsrError> {
        let arrays = assemble(n_rows, n_cols, triplets.len(), |i| triplets[i])?;
        Ok(Self::from_checked(n_cols, arrays))
    }

    /// Keeps the values of a row-major dense array that are not zero (NaN is not zero).
    ///
    /// # Errors
    /// [`CsrError::DenseLength`], [`CsrError::TooLarge`], [`CsrError::OffsetOverflow`].
    pub fn from_dense(n_rows: usize, n_cols: usize, dense: &[T]) -> Result<Self, CsrError> {
        if n_rows.checked_mul(n_cols) != Some(dense.len()) {
            return Err(CsrError::DenseLength { n_rows, n_cols, found: dense.len() });
        }
        check_dims(n_rows, n_cols)?;
        let (mut row_ptr, mut cols, mut vals) = (vec![0u32], Vec::new(), Vec::new());
        for row in 0..n_rows {
            for (col, &v) in dense[row * n_cols..(row + 1) * n_cols].iter().enumerate() {
                if v != T::default() {
                    cols.push(col as u32);
                    vals.push(v);
                }
            }
            row_ptr.push(offset(cols.len())?);
        }
        Ok(Self { n_cols, row_ptr, cols, vals })
    }
}

/// A borrowed matrix whose offset type is known at run time only.
///
/// ```
/// use spmv_core::{AnyCsr, Csr};
/// let a = Csr::from_coo(1, 1, &[(0, 0, 1.0f32)])?;
/// assert!(matches!(a.view().erase(), AnyCsr::U32(_)));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum AnyCsr<'a, T> {
    /// 32-bit row offsets.
    U32(CsrView<'a, T, u32>),
    /// 64-bit row offsets.
    U64(CsrView<'a, T, u64>),
}

impl<'a, T: Value, O: Offset> CsrView<'a, T, O> {
    /// The same matrix with its offset type as data. O(1).
    pub fn erase(self) -> AnyCsr<'a, T> {
        let Self { n_cols, row_ptr, cols, vals } = self;
        if size_of::<O>() == 4 {
            AnyCsr::U32(CsrView { n_cols, row_ptr: bytemuck::cast_slice(row_ptr), cols, vals })
        } else {
            AnyCsr::U64(CsrView { n_cols, row_ptr: bytemuck::cast_slice(row_ptr), cols, vals })
        }
    }

    /// Borrows the three arrays of an `n_rows` x `n_cols` matrix. O(rows + entries).
    ///
    /// # Errors
    /// [`CsrError::TooLarge`], [`CsrError::RowPtrLength`], [`CsrError::FirstOffset`],
    /// [`CsrError::Decreasing`], [`CsrError::LastOffset`], [`CsrError::ValuesLength`],
    /// [`CsrError::ColumnOutOfRange`].
    pub fn new(
        n_rows: usize,
        n_cols: usize,
        row_ptr: &'a [O],
        cols: &'a [u32],
        vals: &'a [T],
    ) -> Result<Self, CsrError> {
        check_dims(n_rows, n_cols)?;
        check_row_ptr(n_rows, row_ptr, cols.len())?;
        if vals.len() != cols.len() {
            return Err(CsrError::ValuesLength { columns: cols.len(), values: vals.len() });
        }
        // The culprit is looked for only once there is one.
        if !cols.is_empty() && highest(cols) as usize >= n_cols {
            let entry = cols.iter().position(|&c| c as usize >= n_cols).unwrap_or_default();
            let row = row_ptr.partition_point(|o| o.to_usize() <= entry) - 1;
            return Err(CsrError::ColumnOutOfRange { row, entry, column: cols[entry].into(), n_cols });
        }
        Ok(Self { n_cols, row_ptr, cols, vals })
    }

    /// Arrays that are known to be a matrix of so many columns.
    pub(crate) fn from_checked(n_cols: usize, row_ptr: &'a [O], cols: &'a [u32], vals: &'a [T]) -> Self {
        Self { n_cols, row_ptr, cols, vals }
    }

    /// A piece of the matrix, whose row offsets begin with 0. O(rows): columns were checked with the matrix.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::tiling::split_rows;
    /// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 1, 2.0), (2, 0, 3.0), (2, 2, 4.0)])?;
    /// let pieces = split_rows(a.row_ptr(), 2, 2);
    /// let last = a.view().piece(&pieces[1], &[0, 2])?;
    /// assert_eq!((last.n_rows(), last.n_cols(), last.vals()), (1, 3, &[3.0, 4.0][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// What [`new`](Self::new) says of offsets that do not fit the piece.
    pub fn piece<'b>(self, piece: &Piece, row_ptr: &'b [u32]) -> Result<CsrView<'b, T, u32>, CsrError>
    where
        'a: 'b,
    {
        let (cols, vals) = (&self.cols[piece.entries.clone()], &self.vals[piece.entries.clone()]);
        check_row_ptr(piece.rows.len(), row_ptr, cols.len())?;
        Ok(CsrView { n_cols: self.n_cols, row_ptr, cols, vals })
    }

    /// The same structure with other values, of any type. O(1).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::from_coo(1, 2, &[(0, 0, 1.5f32), (0, 1, 2.0)])?;
    /// let vals: Vec<f64> = a.vals().iter().map(|val| f64::from(*val)).collect();
    /// let wide = a.view().with_vals(&vals)?;
    /// assert_eq!((wide.cols(), wide.vals()), (&[0, 1][..], &[1.5, 2.0][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`CsrError::ValuesLength`].
    pub fn with_vals<'b, V: Value>(self, vals: &'b [V]) -> Result<CsrView<'b, V, O>, CsrError>
    where
        'a: 'b,
    {
        if vals.len() != self.cols.len() {
            return Err(CsrError::ValuesLength { columns: self.cols.len(), values: vals.len() });
        }
        Ok(CsrView { n_cols: self.n_cols, row_ptr: self.row_ptr, cols: self.cols, vals })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.cols.len()
    }

    /// Row offsets, `n_rows + 1` of them.
    pub fn row_ptr(&self) -> &'a [O] {
        self.row_ptr
    }

    /// Column indices, one per entry; every one is smaller than [`n_cols`](Self::n_cols).
    pub fn cols(&self) -> &'a [u32] {
        self.cols
    }

    /// Values, one per entry.
    pub fn vals(&self) -> &'a [T] {
        self.vals
    }

    /// Entries of one row, as a range into [`cols`](Self::cols) and [`vals`](Self::vals).
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row_range(&self, row: usize) -> std::ops::Range<usize> {
        self.row_ptr[row].to_usize()..self.row_ptr[row + 1].to_usize()
    }

    /// The `(column, value)` pairs of one row.
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + use<'a, T, O> {
        let range = self.row_range(row);
        self.cols[range.clone()].iter().copied().zip(self.vals[range].iter().copied())
    }

    /// A copy that owns its arrays.
    pub fn to_owned(&self) -> Csr<T, O> {
        Csr {
            n_cols: self.n_cols,
            row_ptr: self.row_ptr.to_vec(),
            cols: self.cols.to_vec(),
            vals: self.vals.to_vec(),
        }
    }
}

impl<'a, T: Value, O: Offset> From<&'a Csr<T, O>> for CsrView<'a, T, O> {
    fn from(matrix: &'a Csr<T, O>) -> Self {
        matrix.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsorted_duplicates_are_summed_and_rows_sorted() {
        let a =
            Csr::from_coo(3, 4, &[(2, 3, 1.0), (0, 1, 2.0), (2, 0, 5.0), (2, 3, 0.5), (0, 1, -2.0)]).unwrap();
        assert_eq!(a.row_ptr(), [0, 1, 1, 3]);
        assert_eq!(a.cols(), [1, 0, 3]);
        assert_eq!(a.vals(), [0.0, 5.0, 1.5]);
    }

    #[test]
    fn sixteen_bit_duplicates_are_summed_in_the_wider_type() {
        let one = half::f16::ONE;
        let tiny = half::f16::from_f64(2f64.powi(-11));
        let a = Csr::from_coo(1, 1, &[(0, 0, one), (0, 0, tiny), (0, 0, tiny)]).unwrap();
        assert_eq!(a.vals()[0].widen(), 1.0 + 2f64.powi(-10));
    }

    #[test]
    fn dense_keeps_nan_and_drops_both_zeros() {
        let a = Csr::from_dense(2, 2, &[0.0, -0.0, f64::NAN, 1.0]).unwrap();
        assert_eq!(a.row_ptr(), [0, 0, 2]);
    }

    #[test]
    fn each_broken_array_is_named_with_its_numbers() {
        let message = |r: Result<Csr<f64, u32>, CsrError>| r.unwrap_err().to_string();
        assert_eq!(
            message(Csr::new(2, 2, vec![0, 1], vec![0], vec![1.0])),
            "2 row offsets for 2 rows; there must be one more offset than rows"
        );
        assert_eq!(
            message(Csr::new(1, 2, vec![1, 1], vec![0], vec![1.0])),
            "row 0: offset 1 is not 0; slice the arrays or subtract the first offset"
        );
        assert_eq!(
            message(Csr::new(1, 2, vec![0, 2], vec![0], vec![1.0])),
            "the last row offset is 2, but there are 1 column indices"
        );
        assert_eq!(
            message(Csr::new(1, 2, vec![0, 1], vec![0], vec![])),
            "0 values for 1 column indices; each entry needs one of both"
        );
        assert_eq!(
            message(Csr::new(3, 2, vec![0, 1, 1, 3], vec![0, 1, 2], vec![1.0; 3])),
            "row 2, entry 2: column 2 is out of range; the matrix has 2 columns"
        );
        assert_eq!(
            message(Csr::from_coo(1, 2, &[(0, 0, 1.0), (1, 0, 1.0)])),
            "triplet 1: row 1 is out of range; the matrix has 1 rows"
        );
        assert_eq!(message(Csr::from_dense(2, 2, &[1.0])), "1 dense values for 2 x 2");
    }

    #[test]
    fn a_matrix_without_rows_or_columns_is_a_matrix() {
        for (m, n) in [(0, 0), (0, 5), (5, 0)] {
            let a = Csr::<f32>::from_coo(m, n, &[]).unwrap();
            assert_eq!((a.n_rows(), a.n_cols(), a.nnz()), (m, n, 0));
        }
        assert!(Csr::from_coo(5, 0, &[(0, 0, 1.0f32)]).is_err());
    }

    #[test]
    fn offsets_convert_both_ways_and_overflow_is_an_error() {
        let a = Csr::from_coo(2, 2, &[(1, 1, 1.0f32)]).unwrap();
        let wide = a.with_offsets::<u64>().unwrap();
        assert_eq!(wide.row_ptr(), [0u64, 0, 1]);
        assert_eq!(wide.with_offsets::<u32>().unwrap(), a);
        assert!(matches!(offset::<u32>(1 << 33), Err(CsrError::OffsetOverflow { .. })));
    }

    #[test]
    fn views_come_from_references() {
        fn nnz<'a, T: Value, O: Offset>(a: impl Into<CsrView<'a, T, O>>) -> usize {
            a.into().nnz()
        }
        let a = Csr::from_coo(1, 1, &[(0, 0, 1.0f32)]).unwrap();
        assert_eq!(nnz(&a), 1);
        assert_eq!(nnz(a.view()), 1);
    }
}
