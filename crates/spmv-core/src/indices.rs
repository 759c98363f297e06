//! Matrices from arrays whose indices are of other types: those of other libraries.

use crate::checks::{check_dims, offset};
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::{Index, Offset};
use crate::order::transposed;
use crate::value::Value;

impl<T: Value, O: Offset> Csr<T, O> {
    /// Copies CSR arrays whose row offsets and columns are of any [`Index`] type. A `Vec` of values is taken over, a slice
    /// is copied. Entries stay in their order, as in [`new`](Self::new).
    ///
    /// One pass over each array, O(rows + entries); allocates the arrays of the matrix and nothing else. Arrays of `u32`
    /// columns need no copy: [`new`](Self::new) takes them over. [`CsrView::from_indices`] borrows some others.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let (row_ptr, cols, vals) = (vec![0usize, 1, 3], vec![0i64, 0, 2], vec![1.0f64, 2.0, 3.0]);
    /// let a = Csr::<f64>::from_indices(2, 3, &row_ptr, &cols, vals)?;
    /// assert_eq!(a.row(1).collect::<Vec<_>>(), [(0, 2.0), (2, 3.0)]);
    /// let e = Csr::<f64>::from_indices(2, 3, &row_ptr, &[0, -1, 2], [1.0, 2.0, 3.0]).unwrap_err();
    /// assert_eq!(e.to_string(), "row 1, entry 1: column -1 is out of range; the matrix has 3 columns");
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// Any [`CsrError`] that [`CsrView::new`] names, [`CsrError::NegativeOffset`], [`CsrError::OffsetOverflow`].
    pub fn from_indices<P: Index, C: Index>(
        n_rows: usize,
        n_cols: usize,
        row_ptr: &[P],
        cols: &[C],
        vals: impl Into<Vec<T>>,
    ) -> Result<Self, CsrError> {
        let vals = vals.into();
        check_dims(n_rows, n_cols)?;
        offset::<O>(cols.len())?;
        let row_ptr = offsets(n_rows, row_ptr, cols.len())?;
        check_values(cols.len(), vals.len())?;
        let mut highest = 0;
        let narrow = |c: &C| {
            let col = unsigned(*c);
            highest = highest.max(col);
            col as u32
        };
        let narrowed = cols.iter().map(narrow).collect();
        check_highest(highest, &row_ptr, cols, n_cols)?;
        Ok(Self::from_checked(n_cols, (row_ptr, narrowed, vals)))
    }

    /// Copies CSC arrays, by columns: offsets of columns, and a row for each entry, of any [`Index`] type. Rows come out
    /// sorted; entries that repeat a position stay apart, in their order.
    ///
    /// A counting sort, O(rows + columns + entries); scratch memory of 8 bytes for each row and column. Where the product
    /// with the transpose is wanted, the same arrays are those by rows of it: [`from_indices`](Self::from_indices) with
    /// rows and columns exchanged.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let (col_ptr, rows, vals) = ([0usize, 2, 2, 3], [0usize, 1, 1], [1.0f32, 2.0, 3.0]);
    /// let a = Csr::<f32>::from_csc_indices(2, 3, &col_ptr, &rows, &vals)?;
    /// assert_eq!((a.row_ptr(), a.cols(), a.vals()), (&[0, 1, 3][..], &[0, 0, 2][..], &[1.0, 2.0, 3.0][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_indices`](Self::from_indices), within [`CsrError::ByColumns`] what is wrong with an array.
    pub fn from_csc_indices<P: Index, R: Index>(
        n_rows: usize,
        n_cols: usize,
        col_ptr: &[P],
        rows: &[R],
        vals: &[T],
    ) -> Result<Self, CsrError> {
        check_dims(n_rows, n_cols)?;
        offset::<O>(rows.len())?;
        let by_columns = |e| CsrError::ByColumns(Box::new(e));
        let col_ptr: Vec<u64> = offsets(n_cols, col_ptr, rows.len()).map_err(by_columns)?;
        check_values(rows.len(), vals.len()).map_err(by_columns)?;
        let highest = rows.iter().copied().map(unsigned).fold(0, u64::max);
        check_highest(highest, &col_ptr, rows, n_rows).map_err(by_columns)?;
        let col = |c: usize| col_ptr[c].to_usize()..col_ptr[c + 1].to_usize();
        let arrays = transposed(n_cols, n_rows, col, |entry| unsigned(rows[entry]) as usize, vals)?;
        Ok(Self::from_checked(n_cols, arrays))
    }
}

impl<'a, T: Value, O: Offset> CsrView<'a, T, O> {
    /// Borrows CSR arrays whose indices have the same bits as a matrix's: `u32` or `i32` columns; row offsets of `u32`,
    /// `i32`, `u64` or `i64`, or of `usize` as `u64` where that has 64 bits. O(rows + entries).
    ///
    /// ```
    /// use spmv_core::CsrView;
    /// let (row_ptr, cols, vals) = ([0usize, 1, 2], [1i32, 0], [2.0f64, 3.0]);
    /// let a = CsrView::from_indices(2, 2, &row_ptr, &cols, &vals)?;
    /// assert_eq!(a.row(1).collect::<Vec<_>>(), [(0, 3.0)]);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// Any [`CsrError`] that [`new`](Self::new) names, and [`CsrError::NegativeOffset`].
    pub fn from_indices<P: Index<Offset = O>, C: Index<Offset = u32>>(
        n_rows: usize,
        n_cols: usize,
        row_ptr: &'a [P],
        cols: &'a [C],
        vals: &'a [T],
    ) -> Result<Self, CsrError> {
        check_dims(n_rows, n_cols)?;
        check_offsets(n_rows, row_ptr, cols.len())?;
        check_values(cols.len(), vals.len())?;
        let highest = cols.iter().copied().map(unsigned).fold(0, u64::max);
        let row_ptr = P::as_offsets(row_ptr);
        check_highest(highest, row_ptr, cols, n_cols)?;
        Ok(Self::from_checked(n_cols, row_ptr, C::as_offsets(cols), vals))
    }
}

/// The index as a number; a negative one as at least 2^63, which is never in range.
fn unsigned<C: Index>(index: C) -> u64 {
    index.to_i128() as u64
}

/// What [`check_row_ptr`](crate::checks::check_row_ptr) checks, of any index type.
fn check_offsets<P: Index>(n_rows: usize, row_ptr: &[P], n_entries: usize) -> Result<(), CsrError> {
    offsets_with(n_rows, row_ptr, n_entries, |_| Ok(()))
}

/// Checked row offsets in another type.
fn offsets<P: Index, O: Offset>(n_rows: usize, row_ptr: &[P], n_entries: usize) -> Result<Vec<O>, CsrError> {
    let mut converted = Vec::with_capacity(row_ptr.len());
    offsets_with(n_rows, row_ptr, n_entries, |at| {
        converted.push(offset(at)?);
        Ok(())
    })?;
    Ok(converted)
}

/// Passes each offset to `each` as a number of entries; what is more than all is an error by the end.
fn offsets_with<P: Index>(
    n_rows: usize,
    row_ptr: &[P],
    n_entries: usize,
    mut each: impl FnMut(usize) -> Result<(), CsrError>,
) -> Result<(), CsrError> {
    if row_ptr.len() != n_rows + 1 {
        return Err(CsrError::RowPtrLength { n_rows, found: row_ptr.len() });
    }
    let mut prev = 0;
    for (row, found) in row_ptr.iter().enumerate() {
        let found = found.to_i128();
        let offset = u64::try_from(found).map_err(|_| CsrError::NegativeOffset { row, offset: found })?;
        if row == 0 && offset != 0 {
            return Err(CsrError::FirstOffset { found: offset });
        }
        if offset < prev {
            return Err(CsrError::Decreasing { row, offset, prev });
        }
        each(offset.min(n_entries as u64) as usize)?;
        prev = offset;
    }
    if prev != n_entries as u64 {
        return Err(CsrError::LastOffset { last: prev, entries: n_entries });
    }
    Ok(())
}

fn check_values(columns: usize, values: usize) -> Result<(), CsrError> {
    if values != columns {
        return Err(CsrError::ValuesLength { columns, values });
    }
    Ok(())
}

/// Looks for the culprit only once the highest column is out of range.
fn check_highest<O: Offset, C: Index>(
    highest: u64,
    row_ptr: &[O],
    cols: &[C],
    n_cols: usize,
) -> Result<(), CsrError> {
    if cols.is_empty() || highest < n_cols as u64 {
        return Ok(());
    }
    let entry = cols.iter().position(|c| unsigned(*c) >= n_cols as u64).unwrap_or_default();
    let row = row_ptr.partition_point(|o| o.to_usize() <= entry) - 1;
    Err(CsrError::ColumnOutOfRange { row, entry, column: cols[entry].to_i128(), n_cols })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALS: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

    /// Row 1 is empty, row 2 unsorted, with a column twice.
    fn same() -> Csr<f64> {
        Csr::new(3, 4, vec![0, 1, 1, 4], vec![3, 2, 0, 2], VALS.to_vec()).unwrap()
    }

    fn check<P: Index + TryFrom<u32>, C: Index + TryFrom<u32>>() {
        let row_ptr = same().row_ptr().iter().map(|o| P::try_from(*o).ok().unwrap()).collect::<Vec<_>>();
        let cols = same().cols().iter().map(|c| C::try_from(*c).ok().unwrap()).collect::<Vec<_>>();
        assert_eq!(Csr::from_indices(3, 4, &row_ptr, &cols, VALS), Ok(same()));
        assert_eq!(Csr::from_indices(3, 4, &row_ptr, &cols, &VALS[..]), Ok(same()));
        assert_eq!(Csr::from_indices(3, 4, &row_ptr, &cols, VALS.to_vec()), same().with_offsets::<u64>());
        assert_eq!(Csr::from_csc_indices(4, 3, &row_ptr, &cols, &VALS), Ok(same().transpose()));
    }

    #[test]
    fn every_type_of_indices_gives_the_same_matrix() {
        macro_rules! each {
            ($($p:ty)*) => {$(
                check::<$p, u32>();
                check::<$p, u64>();
                check::<$p, usize>();
                check::<$p, i32>();
                check::<$p, i64>();
            )*};
        }
        each!(u32 u64 usize i32 i64);
    }

    #[test]
    fn indices_of_the_same_width_are_borrowed() {
        let (row_ptr, cols) = ([0i32, 1, 1, 4], [3i32, 2, 0, 2]);
        let a = CsrView::from_indices(3, 4, &row_ptr, &cols, &VALS).unwrap();
        assert_eq!(a.to_owned(), same());
        assert_eq!(a.cols().as_ptr().cast(), cols.as_ptr());
    }

    #[test]
    fn each_wrong_index_is_named_with_its_position() {
        let of = |row_ptr: &[i64], cols: &[i64]| {
            let copied = Csr::<f32>::from_indices(2, 2, row_ptr, cols, vec![1.0; 2]).unwrap_err();
            let narrow: Vec<i32> = cols.iter().map(|c| *c as i32).collect();
            let borrowed = CsrView::from_indices(2, 2, row_ptr, &narrow, &[1.0f32; 2]).unwrap_err();
            assert_eq!(copied, borrowed);
            copied.to_string()
        };
        assert_eq!(of(&[0, 2], &[0, 1]), "2 row offsets for 2 rows; there must be one more offset than rows");
        assert_eq!(of(&[0, -7, 2], &[0, 1]), "row 1: offset -7 is negative");
        assert_eq!(
            of(&[1, 2, 3], &[0, 1]),
            "row 0: offset 1 is not 0; slice the arrays or subtract the first offset"
        );
        assert_eq!(
            of(&[0, 9, 2], &[0, 1]),
            "row 2: offset 2 is before row 1's offset 9; row offsets must not decrease"
        );
        assert_eq!(of(&[0, 1, 9], &[0, 1]), "the last row offset is 9, but there are 2 column indices");
        assert_eq!(of(&[0, 0, 2], &[0, 1, 1]), "the last row offset is 2, but there are 3 column indices");
        assert_eq!(of(&[0, 1, 3], &[0, 1, 1]), "2 values for 3 column indices; each entry needs one of both");
        assert_eq!(
            of(&[0, 1, 2], &[0, -1]),
            "row 1, entry 1: column -1 is out of range; the matrix has 2 columns"
        );
        let far = Csr::<f32>::from_indices(1, 2, &[0u64, 1], &[u64::MAX], [1.0]).unwrap_err();
        assert!(far.to_string().contains("column 18446744073709551615 is out of range"), "{far}");
    }

    #[test]
    fn a_negative_column_is_out_of_range_of_the_widest_matrix() {
        let a = CsrView::from_indices(1, u32::MAX as usize, &[0i32, 1], &[-2i32], &[1.0f32]);
        assert!(matches!(a, Err(CsrError::ColumnOutOfRange { row: 0, entry: 0, column: -2, .. })), "{a:?}");
        let wraps = Csr::<f32>::from_indices(1, 8, &[0u32, 1], &[1u64 << 32], [1.0]);
        assert!(matches!(wraps, Err(CsrError::ColumnOutOfRange { .. })), "{wraps:?}");
    }

    #[test]
    fn what_is_wrong_by_columns_is_said_of_the_transpose() {
        let e = Csr::<f32>::from_csc_indices(2, 3, &[0u32, 1, 2, 2], &[0u32, 7], &[1.0; 2]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "of the transpose, whose rows are the columns given: \
             row 1, entry 1: column 7 is out of range; the matrix has 2 columns"
        );
        let e = Csr::<f32>::from_csc_indices(1 << 33, 1, &[0u32, 0], &[0u32; 0], &[]).unwrap_err();
        assert!(matches!(e, CsrError::TooLarge { axis: "rows", .. }), "{e}");
    }
}
