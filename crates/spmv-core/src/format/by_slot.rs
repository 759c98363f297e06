//! Entry k of all rows side by side: the order of ELL and JAD, written a cache line at a time.

use std::ops::Range;

use super::cost::zero;
use crate::csr::CsrView;
use crate::offset::Offset;
use crate::value::Value;

/// What stands for the column of a slot that holds no entry, or for the entry. No matrix has it: columns are below `n_cols`, which 32 bits can
/// name.
pub const PADDING: u32 = 0xffff_ffff;

/// Rows and slots that are transposed together: a cache line of columns on either side.
const LINE: usize = 16;

/// Where [`Ell`](super::Ell) and [`Jad`](super::Jad) store the entries of a matrix, slot by slot.
///
/// Slot k holds entry k of the rows that have one; for ELL it also holds padding for the others. Slots can be filled a few
/// at a time, so the whole layout need not be in memory.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_core::format::{BySlot, PADDING};
/// let a = Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let order = BySlot::padded(a.n_rows(), 2);
/// assert_eq!(order.ptr(), [0, 2, 4]);
/// let (mut cols, mut vals) = ([0; 2], [0.0; 2]);
/// order.fill(a.view(), 1..2, &mut cols, &mut vals);
/// assert_eq!((cols, vals), ([2, PADDING], [2.0, 0.0]));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BySlot {
    /// Where each slot begins, and the number of entries and padding.
    ptr: Vec<usize>,
    /// The row at each position of a slot; empty where row r is at position r.
    perm: Vec<u32>,
}

impl BySlot {
    /// `width` slots of all rows, padded. O(width).
    pub fn padded(n_rows: usize, width: usize) -> Self {
        Self { ptr: (0..=width).map(|k| k * n_rows).collect(), perm: vec![] }
    }

    /// As many slots as the longest row has entries, of the rows that have one, longest first; rows of one length keep their
    /// order. O(rows log rows).
    pub fn jagged<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Self {
        let len = |row: u32| a.row_range(row as usize).len();
        let mut perm: Vec<u32> = (0..a.n_rows() as u32).collect();
        perm.sort_by_key(|row| std::cmp::Reverse(len(*row)));
        let width = perm.first().map_or(0, |row| len(*row));
        let mut ptr = Vec::with_capacity(width + 1);
        ptr.push(0);
        let (mut n_rows, mut end) = (perm.len(), 0);
        for k in 0..width {
            // Rows are sorted, so those with an entry k come first.
            while len(perm[n_rows - 1]) <= k {
                n_rows -= 1;
            }
            end += n_rows;
            ptr.push(end);
        }
        Self { ptr, perm }
    }

    /// Number of slots.
    pub fn width(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Where each slot begins, and where the last one ends.
    pub fn ptr(&self) -> &[usize] {
        &self.ptr
    }

    /// The row at each position, longest first; empty for padded slots, where row r is at position r.
    pub fn perm(&self) -> &[u32] {
        &self.perm
    }

    /// [`ptr`](Self::ptr) and [`perm`](Self::perm).
    pub(super) fn into_parts(self) -> (Vec<usize>, Vec<u32>) {
        (self.ptr, self.perm)
    }

    /// Writes columns and values of some slots of `a`, whose first stands at the beginning of both slices. O(what they hold).
    ///
    /// # Panics
    /// If there are no such slots, the slices are not as long as they are, or the order is of another matrix.
    pub fn fill<T: Value, O: Offset>(
        &self,
        a: CsrView<'_, T, O>,
        slots: Range<usize>,
        cols: &mut [u32],
        vals: &mut [T],
    ) {
        let base = self.ptr[slots.start];
        let held = self.ptr[slots.end] - base;
        assert!(cols.len() == held && vals.len() == held, "{held} entries of {slots:?}");
        let row_at = |position: usize| self.perm.get(position).map_or(position, |row| *row as usize);
        for first in slots.clone().step_by(LINE) {
            let together = first..slots.end.min(first + LINE);
            // Slots get shorter, none longer.
            let positions = self.ptr[first + 1] - self.ptr[first];
            for start in (0..positions).step_by(LINE) {
                // By way of the stack: slots may be a multiple of 4096 bytes apart, whose lines evict each other.
                let (mut tile_cols, mut tile_vals) = ([[PADDING; LINE]; LINE], [[zero::<T>(); LINE]; LINE]);
                for (i, position) in (start..positions.min(start + LINE)).enumerate() {
                    let row = a.row_range(row_at(position));
                    let entries = row.start + first..row.end.min(row.start + together.end);
                    for (k, entry) in entries.enumerate() {
                        (tile_cols[k][i], tile_vals[k][i]) = (a.cols()[entry], a.vals()[entry]);
                    }
                }
                for (k, slot) in together.clone().enumerate() {
                    let n = (self.ptr[slot + 1] - self.ptr[slot]).saturating_sub(start).min(LINE);
                    let to = self.ptr[slot] - base + start;
                    if n > 0 {
                        cols[to..to + n].copy_from_slice(&tile_cols[k][..n]);
                        vals[to..to + n].copy_from_slice(&tile_vals[k][..n]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ell, Jad};
    use super::*;
    use crate::Csr;

    /// Lengths on either side of a line, more rows than one.
    fn uneven() -> Csr<f64> {
        let len = |row: u32| row * 7 % 41;
        let entries =
            (0..100u32).flat_map(|row| (0..len(row)).map(move |k| (row, 2 * k, f64::from(row * 64 + k))));
        Csr::from_coo(100, 100, &entries.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_entry_stands_in_its_slot() {
        let a = uneven();
        assert_eq!(Ell::from_csr(a.view(), f64::INFINITY).unwrap().to_csr(), Ok(a.clone()));
        assert_eq!(Jad::from_csr(a.view(), f64::INFINITY).unwrap().to_csr(), Ok(a));
    }

    #[test]
    fn slots_that_are_filled_apart_are_those_that_are_filled_together() {
        let a = uneven();
        for order in [BySlot::padded(100, 40), BySlot::jagged(a.view())] {
            let n = order.ptr()[order.width()];
            let (mut cols, mut vals) = (vec![0; n], vec![0.0; n]);
            order.fill(a.view(), 0..order.width(), &mut cols, &mut vals);
            let (mut apart_cols, mut apart_vals) = (vec![], vec![]);
            for slots in [0..5, 5..5, 5..23, 23..order.width()] {
                let n = order.ptr()[slots.end] - order.ptr()[slots.start];
                let (mut of_cols, mut of_vals) = (vec![0; n], vec![0.0; n]);
                order.fill(a.view(), slots, &mut of_cols, &mut of_vals);
                apart_cols.append(&mut of_cols);
                apart_vals.append(&mut of_vals);
            }
            assert_eq!((apart_cols, apart_vals), (cols, vals));
        }
    }
}
