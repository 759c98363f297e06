//! Diagonals: each that holds an entry is stored whole.
//!
//! ```text
//!        0  1  2  3          offsets = -2       0        1            (column minus row, ascending)
//!   0  [ a  b  .  . ]        vals    = 0 0 e 0  a c 0 h  b d 0 0      (n_diags x n_rows, by row)
//!   1  [ .  c  d  . ]                  row 0 1 2 3
//!   2  [ e  .  .  . ]
//!   3  [ .  .  .  h ]        h stands at row 3 of diagonal 0; slots outside of the matrix hold zero
//! ```
//!
//! Columns need no memory. A zero means that there is no entry, so a matrix with stored zeros is refused: zero times an
//! infinity of `x` would be lost. Bell & Garland 2009, section 3.1.

use std::ops::Range;

use super::cost::{Cost, zero};
use super::error::FormatError;
use crate::csr::{Csr, CsrView};
use crate::error::CsrError;
use crate::offset::Offset;
use crate::parts;
use crate::regular::diagonals;
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
    vals: Vec<T>,
}

impl<T: Value> Dia<T> {
    /// What the layout takes. O(rows + entries), sixteen bytes of scratch per entry at most; or O(entries log entries)
    /// where entries are far apart.
    pub fn cost<O: Offset>(a: CsrView<'_, T, O>) -> Cost {
        cost_of(a, offsets(a).len())
    }

    /// Lays out a matrix. O(entries * log(diagonals) + slots).
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] above `max_blow_up` times the bytes of CSR, [`FormatError::Repeated`],
    /// [`FormatError::StoredZero`].
    pub fn from_csr<O: Offset>(a: CsrView<'_, T, O>, max_blow_up: f64) -> Result<Self, FormatError> {
        let offsets = offsets(a);
        cost_of(a, offsets.len()).check("dia", max_blow_up)?;
        Self::of_diagonals(a, offsets)
    }

    /// The entries on these diagonals, which ascend, by several threads where there are many.
    pub(super) fn of_diagonals<O: Offset>(
        a: CsrView<'_, T, O>,
        offsets: Vec<i64>,
    ) -> Result<Self, FormatError> {
        let mut dia = Self::without_entries(a, offsets);
        let rows: Vec<_> = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD)).collect();
        // The slots of each part of the rows, by diagonal.
        let mut slots: Vec<Vec<&mut [T]>> = rows.iter().map(|_| Vec::new()).collect();
        if let Some(first) = rows.first() {
            for diagonal in dia.vals.chunks_mut(a.n_rows()) {
                let of_parts = diagonal.chunks_mut(first.len());
                slots.iter_mut().zip(of_parts).for_each(|(slots, of_part)| slots.push(of_part));
            }
        }
        let offsets = &dia.offsets;
        let fill = |(rows, mut slots): (_, Vec<_>)| fill(a, rows, offsets, &mut slots);
        parts::map(rows.into_iter().zip(slots), fill).into_iter().collect::<Result<(), _>>()?;
        Ok(dia)
    }

    /// The entries at most `half_width` columns from the diagonal, and all other entries of the rows (Tan et al. 2019,
    /// section 3.2), in their order. The rows begin with row `first_row` of the matrix whose diagonal that is. Among the others
    /// are stored zeros, and repeated entries but for the first: a slot cannot hold them.
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
        let mut dia = Self::without_entries(a, diagonals(a, first_row, half_width));
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
    /// zeros, and repeated entries but for the first have [`NO_DIAGONAL`](Self::NO_DIAGONAL). `None` if there are more diagonals than
    /// numbers. O(entries * log(diagonals)), by all threads.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// assert_eq!(Dia::diagonals_of_entries(a.view(), &[-1, 0]), Some(vec![1, Dia::<f32>::NO_DIAGONAL, 1]));
    /// # Ok::<(), spmv_core::CsrError>(())
    /// ```
    pub fn diagonals_of_entries<O: Offset>(a: CsrView<'_, T, O>, offsets: &[i64]) -> Option<Vec<u16>> {
        if offsets.len() >= usize::from(Self::NO_DIAGONAL) {
            return None;
        }
        let mut of_entries = vec![0; a.nnz()];
        let rows: Vec<_> = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD)).collect();
        let n_entries =
            |rows: &Range<usize>| a.row_ptr()[rows.end].to_usize() - a.row_ptr()[rows.start].to_usize();
        let of_parts = parts::split(&mut of_entries, rows.iter().map(n_entries));
        parts::map(rows.into_iter().zip(of_parts), |(rows, of_entries)| {
            let (mut known, mut met) = (Positions::default(), vec![usize::MAX; offsets.len()]);
            let mut slots = of_entries.iter_mut();
            for row in rows {
                known.next_row();
                for ((col, val), of_entry) in a.row(row).zip(&mut slots) {
                    let is_first = |at: &usize| std::mem::replace(&mut met[*at], row) != row;
                    let at = known.find(offsets, offset(row, col)).ok().filter(|_| val != zero::<T>());
                    *of_entry = at.filter(is_first).map_or(Self::NO_DIAGONAL, |at| at as u16);
                }
            }
        });
        Some(of_entries)
    }

    /// What [`diagonals_of_entries`](Self::diagonals_of_entries) gives to an entry on none.
    pub const NO_DIAGONAL: u16 = u16::MAX;

    fn without_entries<O: Offset>(a: CsrView<'_, T, O>, offsets: Vec<i64>) -> Self {
        let vals = vec![zero::<T>(); offsets.len() * a.n_rows()];
        Self { n_rows: a.n_rows(), n_cols: a.n_cols(), offsets, vals }
    }

    /// Where an entry stands, if that is on one of the diagonals.
    fn slot(&mut self, row: usize, col: u32) -> Option<&mut T> {
        let diagonal = self.offsets.binary_search(&offset(row, col)).ok()?;
        Some(&mut self.vals[diagonal * self.n_rows + row])
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

    /// Values: row r of diagonal d at `d * n_rows + r`; zero where there is no entry.
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// Of each diagonal below the main one, that above whose values it mirrors, as in a symmetric matrix: row r holds what row
    /// r + offset of the other does, to the last bit. O(slots), by all threads.
    ///
    /// ```
    /// use spmv_core::Csr;
    /// use spmv_core::format::Dia;
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 4.0f32), (0, 1, -1.0), (1, 0, -1.0)])?;
    /// assert_eq!(Dia::from_csr(a.view(), 3.0)?.mirrors(), [Some(2), None, None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mirrors(&self) -> Vec<Option<usize>> {
        let of_diagonal = |at: usize| &self.vals[at * self.n_rows..][..self.n_rows];
        let mirror = |(at, offset): (usize, &i64)| {
            let distance = usize::try_from(offset.checked_neg()?).ok().filter(|distance| *distance > 0)?;
            let other = self.offsets.binary_search(&-offset).ok()?;
            let (below, above) = (of_diagonal(at).get(distance..)?, of_diagonal(other));
            let rows = parts::cut(below.len(), parts::threads(below.len(), OF_A_THREAD));
            let bytes = bytemuck::cast_slice::<T, u8>;
            let are_same = parts::map(rows, |rows| bytes(&below[rows.clone()]) == bytes(&above[rows]));
            are_same.into_iter().all(|is_same| is_same).then_some(other)
        };
        self.offsets.iter().enumerate().map(mirror).collect()
    }

    /// The `(column, value)` pairs of one row, by column.
    ///
    /// # Panics
    /// If `row >= n_rows`.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        let slots = self.offsets.iter().zip(self.vals.chunks(self.n_rows));
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

pub(super) fn offset(row: usize, col: u32) -> i64 {
    i64::from(col) - row as i64
}

/// Entries of a thread, below which its start would take longer than its work.
const OF_A_THREAD: usize = 1 << 18;

/// Writes the entries of some rows to their slots, which are given by diagonal.
fn fill<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    rows: Range<usize>,
    offsets: &[i64],
    slots: &mut [&mut [T]],
) -> Result<(), FormatError> {
    let format = "dia";
    let mut known = Positions::default();
    // A page that is read before it was written is mapped twice, and all threads wait for that.
    slots.iter_mut().for_each(|slots| slots.fill(zero::<T>()));
    for row in rows.clone() {
        known.next_row();
        for (col, val) in a.row(row) {
            let Ok(diagonal) = known.find(offsets, offset(row, col)) else { continue };
            let slot = &mut slots[diagonal][row - rows.start];
            if val == zero::<T>() {
                return Err(FormatError::StoredZero { format, row, col });
            }
            if *slot != zero::<T>() {
                return Err(FormatError::Repeated { format, row, col });
            }
            *slot = val;
        }
    }
    Ok(())
}

/// Where the entries of a row stand among ascending offsets: mostly where those of the row before did.
#[derive(Debug, Default)]
struct Positions {
    /// Offset and position of each entry of the last rows, and the next entry.
    found: Vec<(i64, usize)>,
    entry: usize,
}

impl Positions {
    fn next_row(&mut self) {
        self.entry = 0;
    }

    /// As a binary search among offsets that stay the same, or become more: what is found may then stand behind where it stood. O(1) where
    /// the rows are alike.
    #[inline]
    fn find(&mut self, offsets: &[i64], offset: i64) -> Result<usize, usize> {
        let entry = self.entry;
        self.entry += 1;
        match self.found.get(entry) {
            Some((known, at)) if *known == offset => Ok(*at),
            _ => self.search(entry, offsets, offset),
        }
    }

    #[cold]
    fn search(&mut self, entry: usize, offsets: &[i64], offset: i64) -> Result<usize, usize> {
        let found = offsets.binary_search(&offset);
        if let Ok(at) = found {
            if entry == self.found.len() {
                self.found.push((offset, at));
            } else if let Some(known) = self.found.get_mut(entry) {
                *known = (offset, at);
            }
        }
        found
    }
}

/// Diagonals up to which those of each thread are kept in order, as they are met.
const FEW: usize = 256;

/// The diagonals that hold an entry, ascending. O(rows + entries) for a few of them; else also O(diagonals between the first and
/// the last), or O(entries log entries).
fn offsets<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Vec<i64> {
    let rows = parts::cut(a.n_rows(), parts::threads(a.nnz(), OF_A_THREAD));
    let few: Option<Vec<_>> = parts::map(rows, |rows| few_offsets(a, rows)).into_iter().collect();
    if let Some(few) = few {
        let mut all = few.concat();
        all.sort_unstable();
        all.dedup();
        return all;
    }
    let of_row = |row: usize| a.cols()[a.row_range(row)].iter().map(move |col| offset(row, *col));
    let all = || (0..a.n_rows()).flat_map(of_row);
    let (first, last) = all().fold((i64::MAX, i64::MIN), |(first, last), at| (first.min(at), last.max(at)));
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

/// Those of some rows; `None` if they are not few.
fn few_offsets<T: Value, O: Offset>(a: CsrView<'_, T, O>, rows: Range<usize>) -> Option<Vec<i64>> {
    let (mut met, mut known) = (Vec::new(), Positions::default());
    for row in rows {
        known.next_row();
        for col in &a.cols()[a.row_range(row)] {
            let offset = offset(row, *col);
            if let Err(at) = known.find(&met, offset) {
                if met.len() == FEW {
                    return None;
                }
                met.insert(at, offset);
            }
        }
    }
    Some(met)
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
            for ((at, offset), mirrored) in dia.offsets().iter().enumerate().zip(dia.mirrors()) {
                let Some(other) = mirrored else { continue };
                prop_assert!(*offset < 0 && dia.offsets()[other] == -offset);
                for row in offset.unsigned_abs() as usize..n {
                    let mirror = (row as i64 + offset) as usize;
                    prop_assert_eq!(dia.vals()[at * n + row], dia.vals()[other * n + mirror]);
                }
            }
            let is_below = |offset: &&i64| **offset < 0;
            let n_mirrored = dia.mirrors().iter().flatten().count();
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
