//! The same entries in another order: the transpose, and rows that are sorted by column.

use std::ops::Range;

use crate::assemble::{Arrays, merge};
use crate::checks::offset;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::parts;
use crate::value::Value;

impl<T: Value, O: Offset> Csr<T, O> {
    /// The transpose; see [`CsrView::transpose`].
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::from_coo(2, 3, &[(0, 2, 1.0f32), (1, 0, 2.0), (1, 2, 3.0)])?;
    /// let t = a.transpose();
    /// assert_eq!((t.n_rows(), t.n_cols()), (3, 2));
    /// assert_eq!(t.row(2).collect::<Vec<_>>(), [(0, 1.0), (1, 3.0)]);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn transpose(&self) -> Self {
        self.view().transpose()
    }

    /// The same matrix with sorted rows and no column twice in a row; see [`CsrView::to_canonical`].
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::new(1, 3, vec![0u32, 3], vec![2, 0, 2], vec![1.0f32, 2.0, 3.0])?;
    /// let a = a.to_canonical();
    /// assert_eq!((a.cols(), a.vals()), (&[0, 2][..], &[2.0, 4.0][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    #[must_use]
    pub fn to_canonical(&self) -> Self {
        self.view().to_canonical()
    }
}

impl<T: Value, O: Offset> CsrView<'_, T, O> {
    /// The transpose, `n_cols` x `n_rows`: the arrays of the matrix by columns. Its rows are sorted; entries that repeat
    /// a position stay apart, in their order.
    ///
    /// A counting sort: O(rows + columns + entries) time, and a count for each column of scratch memory. Large matrices are sorted by all
    /// threads, each of which reads all columns.
    pub fn transpose(self) -> Csr<T, O> {
        let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
        let arrays =
            transposed(n_rows, n_cols, |r| self.row_range(r), |e| self.cols()[e] as usize, self.vals());
        Csr::from_checked(n_rows, arrays.expect("as many entries as these offsets count"))
    }

    /// The conjugate transpose: the [transpose](Self::transpose) itself where values are real.
    ///
    /// ```
    /// use spmv_core::{Csr, c64};
    /// let a = Csr::from_coo(2, 3, &[(0, 2, c64::new(1.0, 2.0))])?;
    /// assert_eq!(a.view().adjoint(), Csr::from_coo(3, 2, &[(2, 0, c64::new(1.0, -2.0))])?);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn adjoint(self) -> Csr<T, O> {
        let mut adjoint = self.transpose();
        conjugate(adjoint.vals_mut());
        adjoint
    }

    /// The [transpose](Self::transpose), and which entry of the matrix stands at each of its entries: what brings other values there. As much
    /// work, and one more pass over the values.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::from_coo(2, 3, &[(0, 2, 1.0f32), (1, 0, 2.0), (1, 2, 3.0)])?;
    /// let (transpose, entries) = a.view().transpose_with_entries();
    /// assert_eq!((transpose, entries), (a.transpose(), vec![1, 0, 2]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn transpose_with_entries(self) -> (Csr<T, O>, Vec<O>) {
        let counted = |entry| O::try_from_usize(entry).expect("as many entries as these offsets count");
        let entries: Vec<O> = (0..self.nnz()).map(counted).collect();
        let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
        let arrays: Result<Arrays<O, O>, _> =
            transposed(n_rows, n_cols, |r| self.row_range(r), |e| self.cols()[e] as usize, &entries);
        let (row_ptr, cols, entries) = arrays.expect("as many entries as these offsets count");
        let vals = entries.iter().map(|entry| self.vals()[entry.to_usize()]).collect();
        (Csr::from_checked(n_rows, (row_ptr, cols, vals)), entries)
    }

    /// A copy whose rows are sorted by column, with entries of the same column summed in their order, as
    /// [`Csr::from_coo`] sums them. Explicit zeros stay.
    ///
    /// O(rows + entries log(longest row)) time, and a copy of the matrix of scratch memory; a mere copy where the matrix
    /// is canonical.
    pub fn to_canonical(self) -> Csr<T, O> {
        if self.check_canonical().is_ok() {
            return self.to_owned();
        }
        let starts: Vec<usize> = self.row_ptr().iter().map(|o| o.to_usize()).collect();
        let mut entries: Vec<(u32, T)> =
            self.cols().iter().copied().zip(self.vals().iter().copied()).collect();
        let arrays = merge(&starts, &mut entries);
        Csr::from_checked(self.n_cols(), arrays.expect("no more entries than these offsets count"))
    }

    /// Whether the columns of every row increase, as other libraries demand. O(rows + entries).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// let a = Csr::new(1, 3, vec![0u32, 2], vec![2, 0], vec![1.0f32, 2.0])?;
    /// assert_eq!(
    ///     a.view().check_canonical().unwrap_err().to_string(),
    ///     "row 0: column 0 follows column 2; Csr::to_canonical sorts columns and sums repeated ones"
    /// );
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`CsrError::NotCanonical`] for the first that does not.
    pub fn check_canonical(self) -> Result<(), CsrError> {
        for row in 0..self.n_rows() {
            let cols = &self.cols()[self.row_range(row)];
            if let Some(w) = cols.windows(2).find(|w| w[1] <= w[0]) {
                return Err(CsrError::NotCanonical { row, column: w[1], prev: w[0] });
            }
        }
        Ok(())
    }
}

/// Makes each value its [conjugate](Value::conj): of the transpose, the conjugate transpose. O(len).
///
/// ```
/// use spmv_core::{c32, conjugate};
/// let mut vals = [c32::new(1.0, 2.0)];
/// conjugate(&mut vals);
/// assert_eq!(vals, [c32::new(1.0, -2.0)]);
/// ```
pub fn conjugate<T: Value>(vals: &mut [T]) {
    vals.iter_mut().for_each(|val| *val = val.conj());
}

/// Entries of a thread at least.
const OF_A_THREAD: usize = 1 << 18;

/// Counting sort by column of `n_rows` x `n_cols` arrays that were checked. Fails where `O` cannot count the entries.
pub(crate) fn transposed<T: Copy + Default + Send + Sync, O: Offset>(
    n_rows: usize,
    n_cols: usize,
    row: impl Fn(usize) -> Range<usize> + Sync,
    col: impl Fn(usize) -> usize + Sync,
    vals: &[T],
) -> Result<Arrays<T, O>, CsrError> {
    by_threads(parts::threads(vals.len(), OF_A_THREAD), n_rows, n_cols, row, col, vals)
}

/// Each thread reads all columns, and sorts the entries of a range of them: it writes nothing that another one writes.
fn by_threads<T: Copy + Default + Send + Sync, O: Offset>(
    threads: usize,
    n_rows: usize,
    n_cols: usize,
    row: impl Fn(usize) -> Range<usize> + Sync,
    col: impl Fn(usize) -> usize + Sync,
    vals: &[T],
) -> Result<Arrays<T, O>, CsrError> {
    // The first entry of each column, and the end.
    let mut next = vec![0usize; n_cols + 1];
    let columns: Vec<_> = parts::cut(n_cols, threads).collect();
    let counts = parts::split(&mut next[1..], columns.iter().map(ExactSizeIterator::len));
    parts::map(columns.into_iter().zip(counts), |(columns, counts)| {
        for col in (0..vals.len()).map(&col).filter(|col| columns.contains(col)) {
            counts[col - columns.start] += 1;
        }
    });
    for col in 0..n_cols {
        next[col + 1] += next[col];
    }
    let row_ptr = next.iter().map(|n| offset(*n)).collect::<Result<_, _>>()?;
    let (mut rows, mut sorted) = (vec![0; vals.len()], vec![T::default(); vals.len()]);
    // Ranges of columns with about as many entries each.
    let bound = |thread: usize| match thread {
        0 => 0,
        last if last == threads => n_cols,
        thread => next.partition_point(|first| *first < vals.len() / threads * thread).min(n_cols),
    };
    let columns: Vec<Range<usize>> =
        (0..threads).map(|thread| bound(thread)..bound(thread + 1).max(bound(thread))).collect();
    let held = |columns: &Range<usize>| next[columns.end] - next[columns.start];
    let entries: Vec<usize> = columns.iter().map(held).collect();
    let rows_of = parts::split(&mut rows, entries.iter().copied());
    let vals_of = parts::split(&mut sorted, entries.iter().copied());
    let nexts = parts::split(&mut next[..n_cols], columns.iter().map(ExactSizeIterator::len));
    let of_threads = columns.into_iter().zip(nexts).zip(rows_of.into_iter().zip(vals_of));
    parts::map(of_threads, |((columns, next), (rows, sorted))| {
        let Some(base) = next.first().copied() else { return };
        for r in 0..n_rows {
            for entry in row(r) {
                let col = col(entry);
                if columns.contains(&col) {
                    let to = &mut next[col - columns.start];
                    (rows[*to - base], sorted[*to - base]) = (r as u32, vals[entry]);
                    *to += 1;
                }
            }
        }
    });
    Ok((row_ptr, rows, sorted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jumbled() -> Csr<f64> {
        Csr::new(3, 4, vec![0, 3, 3, 5], vec![3, 1, 3, 0, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap()
    }

    #[test]
    fn the_transpose_keeps_repeated_entries_in_their_order() {
        let t = jumbled().transpose();
        assert_eq!((t.n_rows(), t.n_cols(), t.row_ptr()), (4, 3, &[0, 1, 2, 2, 5][..]));
        assert_eq!((t.cols(), t.vals()), (&[2, 0, 0, 0, 2][..], &[4.0, 2.0, 1.0, 3.0, 5.0][..]));
        assert!(CsrView::new(4, 3, t.row_ptr(), t.cols(), t.vals()).is_ok());
    }

    #[test]
    fn twice_transposed_is_sorted() {
        let a = jumbled().transpose().transpose();
        assert_eq!((a.row_ptr(), a.cols()), (&[0, 3, 3, 5][..], &[1, 3, 3, 0, 3][..]));
        assert_eq!(a.vals(), [2.0, 1.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn several_threads_sort_as_one_does() {
        let (m, n) = (50, 40);
        let row =
            |r: usize| (0..r % 7).map(move |i| (((r * 13 + i * i * 5) % n) as u32, (r * 10 + i) as f64));
        let a = Csr::<f64>::from_rows(n, (0..m).map(row)).unwrap();
        let one_column = Csr::<f64>::from_rows(n, (0..m).map(|r| [(7, r as f64)])).unwrap();
        for a in [a, one_column, jumbled()] {
            let by = |threads| {
                let col = |e: usize| a.cols()[e] as usize;
                by_threads::<f64, u32>(
                    threads,
                    a.n_rows(),
                    a.n_cols(),
                    |r| a.view().row_range(r),
                    col,
                    a.vals(),
                )
            };
            let one = by(1).unwrap();
            assert!([2, 3, 5, 64].iter().all(|threads| by(*threads).unwrap() == one));
            assert_eq!(a.transpose().cols(), one.1);
        }
    }

    #[test]
    fn matrices_without_rows_or_columns_have_transposes() {
        for (m, n) in [(0, 0), (0, 5), (5, 0)] {
            let t = Csr::<f32>::from_coo(m, n, &[]).unwrap().transpose();
            assert_eq!((t.n_rows(), t.n_cols(), t.nnz()), (n, m, 0));
        }
    }

    #[test]
    fn canonical_is_what_triplets_give() {
        let a = jumbled();
        let triplets: Vec<_> =
            (0..3u32).flat_map(|r| a.row(r as usize).map(move |(c, v)| (r, c, v))).collect();
        let canonical = a.to_canonical();
        assert_eq!(canonical, Csr::from_coo(3, 4, &triplets).unwrap());
        assert_eq!(canonical.view().check_canonical(), Ok(()));
        assert_eq!(canonical.to_canonical(), canonical);
    }

    #[test]
    fn a_repeated_column_is_not_canonical() {
        let a = Csr::new(2, 2, vec![0u32, 0, 2], vec![1, 1], vec![1.0f32; 2]).unwrap();
        let found = a.view().check_canonical();
        assert_eq!(found, Err(CsrError::NotCanonical { row: 1, column: 1, prev: 1 }));
    }
}
