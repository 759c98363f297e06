//! Diagonals: each that holds an entry is stored whole.
//!
//! ```text
//!        0  1  2  3          offsets = -2       0        1            (column minus row, ascending)
//!   0  [ a  b  .  . ]        vals    = 0 0 e 0  a c 0 h  b d 0 0      (n_diags x stride, by row; here stride = n_rows)
//!   1  [ .  c  d  . ]                  row 0 1 2 3
//!   2  [ e  .  .  . ]
//!   3  [ .  .  .  h ]        h stands at row 3 of diagonal 0; slots outside of the matrix hold zero
//! ```
//!
//! Columns need no memory. Of many rows each diagonal begins with a cache line of its own, and is followed by slots without a row. A zero means that there is no entry, so a matrix with stored zeros is refused: zero times an
//! infinity of `x` would be lost. Bell & Garland 2009, section 3.1.

use std::ops::Range;

use super::cost::{Cost, zero};
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::diagonals::{self, FEW, OF_A_THREAD, n_alike, offset};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::parts;
use crate::regular;
use crate::stats::RowStats;
use crate::value::Value;

/// A matrix in DIA form.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::Dia;
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
/// let dia = Dia::from_csr(a.view(), 3.0)?;
/// assert_eq!(dia.offsets(), [0, 1]);
/// assert_eq!(dia.vals(), [1.0, 3.0, 2.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dia<T> {
    n_rows: usize,
    n_cols: usize,
    offsets: Vec<i64>,
    stride: usize,
    vals: Vec<T>,
}

impl<T: Value> Dia<T> {
    /// Slots from one diagonal to the next: one for each row, and for 1024 rows or more so many others that every diagonal begins where a
    /// cache line does, and not all where a page does.
    ///
    /// ```
    /// use spmv_core::format::Dia;
    /// assert_eq!([7, 1023, 1025, 4096].map(Dia::<f32>::stride), [7, 1023, 1056, 4128]);
    /// ```
    pub fn stride(n_rows: usize) -> usize {
        diagonals::stride(n_rows)
    }

    /// The most rows of which a diagonal takes no more than so many slots.
    ///
    /// ```
    /// use spmv_core::format::Dia;
    /// assert_eq!([7, 1030, 1056, 5000].map(Dia::<f32>::rows_of), [7, 1023, 1056, 4992]);
    /// ```
    pub fn rows_of(slots: usize) -> usize {
        diagonals::rows_of(slots)
    }

    /// What the layout takes. O(rows + entries), sixteen bytes of scratch per entry at most; or O(entries log entries)
    /// where entries are far apart.
    pub fn cost<O: Offset>(a: CsrView<'_, T, O>) -> Cost {
        cost_of(a, Self::held(a).len())
    }

    /// Lays out a matrix. O(entries * log(diagonals) + slots).
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] above `max_blow_up` times the bytes of CSR, [`FormatError::Repeated`],
    /// [`FormatError::StoredZero`].
    pub fn from_csr<O: Offset>(a: CsrView<'_, T, O>, max_blow_up: f64) -> Result<Self, FormatError> {
        let offsets = Self::held(a);
        cost_of(a, offsets.len()).check("dia", max_blow_up)?;
        let mut dia = Self::without_entries(a, offsets, Self::stride(a.n_rows()));
        Self::fill(a, &dia.offsets, &mut dia.vals, &mut [])?;
        Ok(dia)
    }

    /// The diagonals that hold an entry, by column minus row, ascending. O(rows + entries), by several threads, for a few of them; else also
    /// O(diagonals between the first and the last), or O(entries log entries).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// assert_eq!(Dia::held(a.view()), [0, 1]);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn held<O: Offset>(a: CsrView<'_, T, O>) -> Vec<i64> {
        if let Some(few) = diagonals::few(a, FEW, |_| true) {
            return few;
        }
        let of_row = |row: usize| a.cols()[a.row_range(row)].iter().map(move |col| offset(row, *col));
        let all = || (0..a.n_rows()).flat_map(of_row);
        let (first, last) =
            all().fold((i64::MAX, i64::MIN), |(first, last), at| (first.min(at), last.max(at)));
        let width = (last - first) as usize + 1;
        // Entries far apart from each other must not cost what lies between them.
        if width > 4 * a.nnz() {
            let mut sorted: Vec<i64> = all().collect();
            sorted.sort_unstable();
            sorted.dedup();
            return sorted;
        }
        let mut held = vec![false; width];
        all().for_each(|offset| held[(offset - first) as usize] = true);
        (first..).zip(held).filter(|(_, held)| *held).map(|(offset, _)| offset).collect()
    }

    /// Writes what [`vals`](Self::vals) has of the entries on these diagonals, which ascend, to memory of as many slots for each diagonal, a slot
    /// for each row at least, and which diagonal each entry is on, by its position, to that of a number for each entry; the second may be empty. Others are left out: they have
    /// [`NO_DIAGONAL`](Self::NO_DIAGONAL). O(entries * log(diagonals) + slots), by several threads.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0), (1, 1, 3.0)])?;
    /// let (mut vals, mut of_entries) = ([7.0; 4], [0; 3]);
    /// Dia::fill(a.view(), &[0, 1], &mut vals, &mut of_entries)?;
    /// assert_eq!((vals, of_entries), ([1.0, 3.0, 2.0, 0.0], [0, 1, 0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Repeated`] and [`FormatError::StoredZero`]; what is written then is unspecified.
    ///
    /// # Panics
    /// If memory is not as long as said, or there are more diagonals than numbers.
    pub fn fill<O: Offset>(
        a: CsrView<'_, T, O>,
        offsets: &[i64],
        vals: &mut [T],
        of_entries: &mut [u16],
    ) -> Result<(), FormatError> {
        let stride = vals.len() / offsets.len().max(1);
        let is_long = stride >= a.n_rows() || offsets.is_empty();
        assert!(is_long && vals.len() == offsets.len() * stride, "a slot for each row and diagonal");
        assert!(of_entries.is_empty() || offsets.len() <= usize::from(Self::NO_DIAGONAL));
        assert!(of_entries.is_empty() || of_entries.len() == a.nnz(), "a number for each entry");
        let rows: Vec<_> = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD)).collect();
        // The slots of each part of the rows, by diagonal.
        let mut slots: Vec<Vec<&mut [T]>> = rows.iter().map(|_| Vec::new()).collect();
        if let Some(first) = rows.first() {
            for diagonal in vals.chunks_mut(stride.max(1)) {
                let (of_rows, of_none) = diagonal.split_at_mut(a.n_rows());
                of_none.fill(zero::<T>());
                let of_parts = of_rows.chunks_mut(first.len());
                slots.iter_mut().zip(of_parts).for_each(|(slots, of_part)| slots.push(of_part));
            }
        }
        let n_entries = |rows: &Range<usize>| match of_entries.is_empty() {
            true => 0,
            false => a.row_ptr()[rows.end].to_usize() - a.row_ptr()[rows.start].to_usize(),
        };
        let n_entries: Vec<_> = rows.iter().map(n_entries).collect();
        let to = slots.into_iter().zip(parts::split(of_entries, n_entries));
        let fill = |(rows, (mut slots, of_entries)): (_, (Vec<_>, _))| {
            fill(a, rows, offsets, &mut slots, of_entries)
        };
        parts::map(rows.into_iter().zip(to), fill).into_iter().collect()
    }

    /// The entries at most `half_width` columns from the diagonal, and all other entries of the rows (Tan et al. 2019,
    /// section 3.2), in their order. The rows begin with row `first_row` of the matrix whose diagonal that is. Among the others
    /// are stored zeros, and repeated entries but for the first: a slot cannot hold them. Diagonals have a slot for each row and no other.
    /// O(entries * log(entries) + slots).
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let (regular, rest) = Dia::split(a.view(), 0, 1);
    /// assert_eq!((regular.offsets(), regular.vals()), (&[0][..], &[1.0, 3.0][..]));
    /// assert_eq!((rest.row_ptr(), rest.cols()), (&[0, 1, 1][..], &[2][..]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn split<O: Offset>(a: CsrView<'_, T, O>, first_row: usize, half_width: usize) -> (Self, Csr<T, O>) {
        let mut dia = Self::without_entries(a, regular::diagonals(a, first_row, half_width), a.n_rows());
        let rows = (0..a.n_rows()).map(|row| {
            let is_left = |(col, val): &(u32, T)| match dia.slot(row, *col) {
                Some(slot) if *slot == zero::<T>() && *val != zero::<T>() => {
                    *slot = *val;
                    false
                }
                _ => true,
            };
            a.row(row).filter(is_left).collect::<Vec<_>>()
        });
        let rest = Csr::from_rows(a.n_cols(), rows).expect("some entries of a valid matrix");
        (dia, rest)
    }

    /// The diagonal of each entry, by its position among `offsets`, which ascend, as [`split`](Self::split) finds them: other entries,
    /// zeros, and repeated entries but for the first have [`NO_DIAGONAL`](Self::NO_DIAGONAL). O(entries * log(diagonals)), by all threads.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let mut of_entries = [0; 3];
    /// Dia::diagonals_of_entries(a.view(), &[-1, 0], &mut of_entries);
    /// assert_eq!(of_entries, [1, Dia::<f32>::NO_DIAGONAL, 1]);
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    ///
    /// # Panics
    /// If there is not a number for each entry, or there are more diagonals than numbers.
    pub fn diagonals_of_entries<O: Offset>(a: CsrView<'_, T, O>, offsets: &[i64], of_entries: &mut [u16]) {
        assert!(offsets.len() <= usize::from(Self::NO_DIAGONAL));
        assert_eq!(of_entries.len(), a.nnz(), "a number for each entry");
        let rows: Vec<_> = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD)).collect();
        let n_entries =
            |rows: &Range<usize>| a.row_ptr()[rows.end].to_usize() - a.row_ptr()[rows.start].to_usize();
        let of_parts = parts::split(of_entries, rows.iter().map(n_entries));
        parts::map(rows.into_iter().zip(of_parts), |(rows, of_entries)| {
            let mut met = vec![usize::MAX; offsets.len()];
            let mut slots = of_entries.iter_mut();
            for row in rows {
                for ((col, val), of_entry) in a.row(row).zip(&mut slots) {
                    let is_first = |at: &usize| std::mem::replace(&mut met[*at], row) != row;
                    let at = offsets.binary_search(&offset(row, col)).ok().filter(|_| val != zero::<T>());
                    *of_entry = at.filter(is_first).map_or(Self::NO_DIAGONAL, |at| at as u16);
                }
            }
        });
    }

    /// What [`fill`](Self::fill) and [`diagonals_of_entries`](Self::diagonals_of_entries) give to an entry on none: so many diagonals can be told apart.
    pub const NO_DIAGONAL: u16 = u16::MAX;

    fn without_entries<O: Offset>(a: CsrView<'_, T, O>, offsets: Vec<i64>, stride: usize) -> Self {
        let vals = vec![zero::<T>(); offsets.len() * stride];
        Self { n_rows: a.n_rows(), n_cols: a.n_cols(), offsets, stride, vals }
    }

    /// Where an entry stands, if that is on one of the diagonals.
    fn slot(&mut self, row: usize, col: u32) -> Option<&mut T> {
        let diagonal = self.offsets.binary_search(&offset(row, col)).ok()?;
        Some(&mut self.vals[diagonal * self.stride + row])
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Column minus row of each diagonal, ascending.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// Values: row r of diagonal d at `d * stride + r`, where the [`stride`](Self::stride) is that of the rows, or their number after a
    /// [`split`](Self::split); zero where there is no entry.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// Of each diagonal below the main one, that above whose values it mirrors, as in a symmetric matrix: row r holds what row
    /// r + offset of the other does, to the last bit. The offsets ascend, and values are as [`vals`](Self::vals) has them. O(slots), by all threads.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 4.0f32), (0, 1, -1.0), (1, 0, -1.0)])?;
    /// let dia = Dia::from_csr(a.view(), 3.0)?;
    /// assert_eq!(Dia::mirrors(dia.n_rows(), dia.offsets(), dia.vals()), [Some(2), None, None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mirrors(n_rows: usize, offsets: &[i64], vals: &[T]) -> Vec<Option<usize>> {
        let stride = vals.len() / offsets.len().max(1);
        let of_diagonal = |at: usize| &vals[at * stride..][..n_rows];
        let mirror = |(at, offset): (usize, &i64)| {
            let distance = usize::try_from(offset.checked_neg()?).ok().filter(|distance| *distance > 0)?;
            let other = offsets.binary_search(&-offset).ok()?;
            let (below, above) = (of_diagonal(at).get(distance..)?, of_diagonal(other));
            let rows = parts::cut(below.len(), parts::threads(below.len(), OF_A_THREAD));
            let bytes = bytemuck::cast_slice::<T, u8>;
            let are_same = parts::map(rows, |rows| bytes(&below[rows.clone()]) == bytes(&above[rows]));
            are_same.into_iter().all(|is_same| is_same).then_some(other)
        };
        offsets.iter().enumerate().map(mirror).collect()
    }

    /// The `(column, value)` pairs of one row, by column.
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        let slots = self.offsets.iter().zip(self.vals.chunks(self.stride));
        slots
            .map(move |(offset, vals)| ((row as i64 + offset) as u32, vals[row]))
            .filter(|(_, val)| *val != zero::<T>())
    }

    /// The same matrix in CSR form, rows sorted by column. O(slots).
    ///
    /// # Errors
    /// [`CsrError::OffsetOverflow`].
    pub fn to_csr<O: Offset>(&self) -> Result<Csr<T, O>, CsrError> {
        Csr::from_rows(self.n_cols, (0..self.n_rows).map(|row| self.row(row)))
    }
}

/// Rows whose slots a thread clears, and then fills from its cache.
const CLEARED: usize = 1 << 10;

/// Writes the entries of some rows to their slots, which are given by diagonal, and the diagonals of entries, unless there is no memory for them.
fn fill<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    rows: Range<usize>,
    offsets: &[i64],
    slots: &mut [&mut [T]],
    mut of_entries: &mut [u16],
) -> Result<(), FormatError> {
    let (format, none) = ("dia", usize::MAX);
    let (mut on, mut first) = (Vec::new(), rows.start);
    while first < rows.end {
        let cleared = first..rows.end.min(first + CLEARED);
        // A page that is read before it was written is mapped twice, and all threads wait for that.
        let of_cleared = cleared.start - rows.start..cleared.end - rows.start;
        slots.iter_mut().for_each(|slots| slots[of_cleared.clone()].fill(zero::<T>()));
        while first < cleared.end {
            let n = n_alike(a, first..cleared.end);
            let cols = &a.cols()[a.row_range(first)];
            on.clear();
            on.extend(cols.iter().map(|col| offsets.binary_search(&offset(first, *col)).unwrap_or(none)));
            let entries = a.row_range(first).start..a.row_range(first + n - 1).end;
            for (at, diagonal) in on.iter().enumerate().filter(|(_, diagonal)| **diagonal != none) {
                let slots = &mut slots[*diagonal][first - rows.start..][..n];
                if slots[0] != zero::<T>() {
                    return Err(FormatError::Repeated { format, row: first, col: cols[at] });
                }
                let vals = a.vals()[entries.clone()][at..].iter().step_by(cols.len());
                let mut is_zero = false;
                for (slot, val) in slots.iter_mut().zip(vals) {
                    *slot = *val;
                    is_zero |= *val == zero::<T>();
                }
                if is_zero {
                    let row = slots.iter().position(|slot| *slot == zero::<T>()).unwrap_or(0);
                    let col = cols[at] + row as u32;
                    return Err(FormatError::StoredZero { format, row: first + row, col });
                }
            }
            if !of_entries.is_empty() {
                let of_rows;
                (of_rows, of_entries) = std::mem::take(&mut of_entries).split_at_mut(entries.len());
                for of_row in of_rows.chunks_exact_mut(on.len().max(1)) {
                    of_row.iter_mut().zip(&on).for_each(|(of_entry, diagonal)| {
                        *of_entry = u16::try_from(*diagonal).unwrap_or(Dia::<T>::NO_DIAGONAL);
                    });
                }
            }
            first += n;
        }
    }
    Ok(())
}

pub(super) fn cost_of<T: Value, O: Offset>(a: CsrView<'_, T, O>, n_diags: usize) -> Cost {
    Cost::dia(&RowStats::of(a), n_diags, T::DTYPE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cases;
    use super::*;
    use crate::regular::distance;

    proptest! {
        #[test]
        fn csr_comes_back_and_the_cost_was_right(a in cases::any()) {
            let dia = Dia::from_csr(a.view(), f64::INFINITY).unwrap();
            prop_assert_eq!(dia.to_csr::<u32>().unwrap(), a.clone());
            let cost = Dia::cost(a.view());
            prop_assert_eq!(cost.bytes, cases::bytes(&[4 * dia.offsets().len(), size_of_val(dia.vals())]));
            prop_assert_eq!(cost.slots, cost.padding + a.nnz() as u64);
        }
    }

    proptest! {
        #[test]
        fn both_parts_of_a_split_have_every_entry_once(
            a in cases::any(),
            half_width in 0usize..12,
            first_row in 0usize..3,
        ) {
            let (regular, rest) = Dia::split(a.view(), first_row, half_width);
            let is_inside = |row: usize, col: u32| distance(first_row + row, col) <= half_width;
            for row in 0..a.n_rows() {
                prop_assert!(regular.row(row).all(|(col, _)| is_inside(row, col)));
                prop_assert!(!rest.row(row).any(|(col, _)| is_inside(row, col)));
                let mut all: Vec<_> = regular.row(row).chain(rest.row(row)).collect();
                all.sort_by_key(|(col, _)| *col);
                prop_assert!(all.into_iter().eq(a.row(row)));
            }
            let held = |diagonal: &[f64]| diagonal.iter().any(|val| *val != 0.0);
            prop_assert!(a.n_rows() == 0 || regular.vals().chunks(a.n_rows()).all(held), "no empty diagonals");
            let (rows, n_diags) = (RowStats::of(a.view()), regular.offsets().len());
            let cost = Cost::dia_csr(&rows, n_diags, rest.nnz(), crate::Dtype::F64);
            let slices = [4 * n_diags, size_of_val(regular.vals()), size_of_val(rest.row_ptr())];
            let entries = [size_of_val(rest.cols()), size_of_val(rest.vals())];
            prop_assert_eq!(cost.bytes, cases::bytes(&slices) + cases::bytes(&entries));
        }
    }

    #[test]
    fn what_a_slot_cannot_hold_is_among_the_rest_of_a_split() {
        let cols = vec![1, 1, 0, 0];
        let a = Csr::new(2, 2, vec![0u32, 2, 4], cols, vec![1.0f32, 2.0, 0.0, 3.0]).unwrap();
        let (regular, rest) = Dia::split(a.view(), 0, 1);
        assert_eq!((regular.offsets(), regular.vals()), (&[-1, 1][..], &[0.0, 3.0, 1.0, 0.0][..]));
        assert_eq!(
            (rest.row_ptr(), rest.cols(), rest.vals()),
            (&[0, 1, 2][..], &[1, 0][..], &[2.0, 0.0][..])
        );
    }

    #[test]
    fn a_cell_holds_one_entry_and_no_zero() {
        let twice = Csr::new(2, 2, vec![0u32, 0, 2], vec![1, 1], vec![1.0f32, 2.0]).unwrap();
        let e = Dia::from_csr(twice.view(), 9.0).unwrap_err();
        assert_eq!(e, FormatError::Repeated { format: "dia", row: 1, col: 1 });
        let zero = Csr::new(2, 2, vec![0u32, 0, 1], vec![0], vec![-0.0f32]).unwrap();
        let e = Dia::from_csr(zero.view(), 9.0).unwrap_err();
        assert_eq!(e, FormatError::StoredZero { format: "dia", row: 1, col: 0 });
    }

    /// More rows than are cleared at a time, most of them alike; row 1500 ends with that value.
    fn band(last: f64) -> Csr<f64> {
        let row = |row: u32| {
            let cols = if row.is_multiple_of(700) { vec![row, row + 2] } else { vec![row, row + 1, row + 5] };
            let val =
                move |col: u32| if (row, col) == (1500, 1505) { last } else { f64::from(row + 3 * col + 1) };
            cols.into_iter().map(move |col| (col, val(col)))
        };
        Csr::from_rows(3005, (0..3000).map(row)).unwrap()
    }

    #[test]
    fn rows_that_are_alike_are_laid_out_together() {
        let a = band(7.0);
        let stride = Dia::<f64>::stride(3000);
        let (offsets, mut vals, mut of_entries) =
            (Dia::held(a.view()), vec![7.0; 4 * stride], vec![9; a.nnz()]);
        assert_eq!(offsets, [0, 1, 2, 5]);
        Dia::fill(a.view(), &offsets, &mut vals, &mut of_entries).unwrap();
        let mut filled = vec![0.0; 4 * stride];
        let mut diagonals = of_entries.iter();
        for row in 0..3000 {
            for ((col, val), diagonal) in a.row(row).zip(&mut diagonals) {
                assert_eq!(offsets[usize::from(*diagonal)], offset(row, col));
                filled[usize::from(*diagonal) * stride + row] = val;
            }
        }
        assert_eq!((diagonals.next(), vals), (None, filled));
        let mut of_some = vec![9; a.nnz()];
        Dia::fill(a.view(), &[0, 5], &mut [0.0; 2 * 3000], &mut of_some).unwrap();
        let is_left_out = |(of_all, of_some): (&u16, &u16)| match of_all {
            0 => *of_some == 0,
            3 => *of_some == 1,
            _ => *of_some == Dia::<f64>::NO_DIAGONAL,
        };
        assert!(of_entries.iter().zip(&of_some).all(is_left_out));
    }

    #[test]
    fn slots_behind_long_diagonals_are_no_entries() {
        let a = band(7.0);
        let dia = Dia::from_csr(a.view(), 9.0).unwrap();
        assert_eq!((dia.vals().len(), dia.to_csr::<u32>().unwrap()), (4 * 3008, a));
    }

    #[test]
    fn a_zero_among_rows_that_are_alike_is_named_by_its_own() {
        let e = Dia::from_csr(band(0.0).view(), 9.0).unwrap_err();
        assert_eq!(e, FormatError::StoredZero { format: "dia", row: 1500, col: 1505 });
    }

    proptest! {
        #[test]
        fn a_mirrored_diagonal_can_be_read_from_the_other(a in cases::any(), is_symmetric: bool) {
            let a: Csr<f64> = if is_symmetric {
                let value = |row: u32, col: u32| f64::from(row.min(col) * 7 + row.max(col) + 1);
                let both = |(row, col): (u32, u32)| [(row, col, value(row, col)), (col, row, value(row, col))];
                let of = |row: usize| a.row(row).map(move |(col, _)| (row as u32, col));
                let mut entries: Vec<_> = (0..a.n_rows()).flat_map(of).flat_map(both).collect();
                entries.sort_by_key(|(row, col, _)| (*row, *col));
                entries.dedup();
                let n = a.n_rows().max(a.n_cols());
                Csr::from_coo(n, n, &entries).unwrap()
            } else {
                a
            };
            let n = a.n_rows();
            let dia = Dia::from_csr(a.view(), f64::INFINITY).unwrap();
            let mirrors = Dia::mirrors(n, dia.offsets(), dia.vals());
            for ((at, offset), mirrored) in dia.offsets().iter().enumerate().zip(&mirrors) {
                let Some(other) = *mirrored else { continue };
                prop_assert!(*offset < 0 && dia.offsets()[other] == -offset);
                for row in offset.unsigned_abs() as usize..n {
                    let mirror = (row as i64 + offset) as usize;
                    prop_assert_eq!(dia.vals()[at * n + row], dia.vals()[other * n + mirror]);
                }
            }
            let is_below = |offset: &&i64| **offset < 0;
            let n_mirrored = mirrors.iter().flatten().count();
            prop_assert!(!is_symmetric || n_mirrored == dia.offsets().iter().filter(is_below).count());
        }
    }

    #[test]
    fn scattered_entries_are_refused() {
        let n = 4096u32;
        let entries: Vec<_> = (0..n).map(|r| (r, (r * 1021) % n, 1.0f32)).collect();
        let a = Csr::from_coo(n as usize, n as usize, &entries).unwrap();
        assert!(matches!(Dia::from_csr(a.view(), 3.0), Err(FormatError::TooLarge { format: "dia", .. })));
    }
}
