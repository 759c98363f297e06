// kernel: dia
// params: n_rows row_base n_cols n_diags tiles stride epilogue alpha beta lo hi diags vals x z y
// steps:  1 a lane takes S whole rows, `stride` apart; 2 sum the row's products, one of each diagonal that has an entry
//         there; 3 store alpha*sum + beta*y

use std::ops::Range;

use num_traits::Zero;

use super::prelude::{for_sums_side_by_side, output};
use crate::device_args::view::Dia;
use crate::launch::Launch;
use crate::numbers::Numbers;
use crate::simd::{DIAGONALS, Isa, Onto, Piece, SimdValue};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Dia<'_, T>) {
    let Dia { n_cols, n_diags, alpha, beta, diags, vals, x, .. } = args;
    let (diags, _) = diags[..2 * n_diags as usize].as_chunks();
    let (x, table) = (&x[..n_cols as usize], diags.iter().map(|[col, slot]| (*col, *slot)));
    let y = output!(args);
    // STEP 1, STEP 3
    for_sums_side_by_side(launch.groups, entries(y.rows.len(), n_diags), (alpha, beta), y, &|first, sums| {
        // STEP 2
        sum::<T>(launch.isa, table.clone(), vals, x, first, sums);
    });
}

/// Entries whose columns are read that take as long as all slots. Four slots take as long as one; of few slots every second counts, so that more
/// threads have some.
pub(super) fn entries(n_rows: usize, n_diags: u32) -> usize {
    const FEW: usize = 1 << 17;
    let slots = n_rows * n_diags as usize;
    (slots / 2).min(FEW).max(slots / 4)
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Diagonals of which the rows that all have are found together, and read side by side.
const AT_ONCE: usize = DIAGONALS;

/// Writes the sums of the rows from `first` on, which are added in the order of the diagonals. `table` has of each what makes a row its column and its
/// slot, in 32 bits.
pub(super) fn sum<T: SimdValue>(
    isa: Isa,
    table: impl Iterator<Item = (u32, u32)>,
    vals: &[T::Val],
    x: &[T::Vector],
    first: usize,
    sums: &mut [T::Accum],
) {
    let mut parts = [Part::<T> { start: 0, vals: &[], x: &[] }; AT_ONCE];
    let (mut n, mut onto) = (0, Onto::Zero);
    for (to_col, to_slot) in table {
        let Inside { rows, cols } = inside((first as u32).wrapping_add(to_col), x.len(), sums.len());
        if rows.is_empty() {
            continue;
        }
        let slot = ((first + rows.start) as u32).wrapping_add(to_slot) as usize;
        parts[n] = Part { start: rows.start, vals: &vals[slot..slot + rows.len()], x: &x[cols] };
        n += 1;
        if n == AT_ONCE {
            add_some(isa, &parts, sums, onto);
            (n, onto) = (0, Onto::Sums);
        }
    }
    if n > 0 || onto == Onto::Zero {
        add_some(isa, &parts[..n], sums, onto);
    }
}

/// The part of a diagonal that is inside of the matrix, of the rows from `start` on.
#[derive(Clone, Copy)]
struct Part<'a, T: Numbers> {
    start: usize,
    vals: &'a [T::Val],
    x: &'a [T::Vector],
}

impl<'a, T: Numbers> Part<'a, T> {
    fn end(&self) -> usize {
        self.start + self.vals.len()
    }

    /// Of some rows, all of which it has.
    fn piece(&self, rows: &Range<usize>) -> Piece<'a, T> {
        let own = rows.start - self.start..rows.end - self.start;
        (&self.vals[own.clone()], &self.x[own])
    }
}

fn add_some<T: SimdValue>(isa: Isa, parts: &[Part<'_, T>], sums: &mut [T::Accum], onto: Onto) {
    // Rows that all have: they are near no border of the matrix.
    let start = parts.iter().fold(0, |start, part| start.max(part.start));
    let end = parts.iter().fold(sums.len(), |end, part| end.min(part.end()));
    // Where the slots of rows begin with a cache line, so do the first of these.
    let start = start.next_multiple_of(LINE / size_of::<T::Val>()).min(end.max(start));
    let end = end.max(start);
    let borders = [0..start, end..sums.len()];
    if onto == Onto::Zero {
        borders.iter().for_each(|rows| sums[rows.clone()].fill(T::Accum::zero()));
    }
    for (part, rows) in parts.iter().flat_map(|part| borders.iter().map(move |rows| (part, rows))) {
        let rows = rows.start.max(part.start)..rows.end.min(part.end());
        if !rows.is_empty() {
            T::diagonals(isa, &[part.piece(&rows)], &mut sums[rows], Onto::Sums);
        }
    }
    if start == end {
        return;
    }
    let mut pieces = [(&[][..], &[][..]); AT_ONCE];
    pieces.iter_mut().zip(parts).for_each(|(piece, part)| *piece = part.piece(&(start..end)));
    T::diagonals(isa, &pieces[..parts.len()], &mut sums[start..end], onto);
}

/// The part of some rows where a diagonal is inside of the matrix.
struct Inside {
    rows: Range<usize>,
    cols: Range<usize>,
}

/// Of `n` rows, whose first has column `first_col` in 32 bits: below 0 it is beyond `n_cols` (`rows_of_a_part` in
/// `algorithms/dia.rs` of `spmv-exec` sees to that).
fn inside(first_col: u32, n_cols: usize, n: usize) -> Inside {
    let start = if (first_col as usize) < n_cols { 0 } else { first_col.wrapping_neg() as usize };
    let start = start.min(n);
    let col = first_col.wrapping_add(start as u32) as usize;
    let end = n.min(start + n_cols.saturating_sub(col));
    Inside { rows: start..end, cols: if start < end { col..col + (end - start) } else { 0..0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_inside_is_found_before_and_behind_the_matrix() {
        let of = |first_col: i64, n_cols, n| {
            let Inside { rows, cols } = inside(first_col as u32, n_cols, n);
            assert_eq!(rows.len(), cols.len());
            (rows, cols)
        };
        assert_eq!(of(0, 5, 3), (0..3, 0..3));
        assert_eq!(of(3, 5, 3), (0..2, 3..5));
        assert_eq!(of(-2, 5, 3), (2..3, 0..1));
        assert_eq!(of(-2, 5, 9), (2..7, 0..5));
        assert_eq!(of(-3, 5, 3), (3..3, 0..0));
        assert_eq!(of(7, 5, 3).0.len(), 0);
        assert_eq!(of(0, 0, 3).0.len(), 0);
    }
}
