// kernel: dia
// params: n_rows row_base n_cols n_diags tiles alpha beta offsets vals x y
// steps:  1 a lane takes S whole rows; 2 sum the row's products, one of each diagonal that has an entry there;
//         3 store alpha*sum + beta*y

use std::ops::Range;

use spmv_core::Value;

use super::prelude::{for_sums_side_by_side, rows_of};
use crate::device_args::view::Dia;
use crate::launch::Launch;

pub(crate) fn run<T: Value>(launch: Launch, args: Dia<'_, T>) {
    let Dia { n_rows, row_base, n_cols, n_diags, tiles, alpha, beta, offsets, vals, x, y, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (offsets, x) = (&offsets[..n_diags as usize], &x[..n_cols as usize]);
    let diagonals = Diagonals { n_rows: n_rows as usize, offsets, vals, x };
    let y = rows_of(y, row_base, n_rows);
    // STEP 1, STEP 3
    for_sums_side_by_side(launch.groups, tiling, (alpha, beta), y, &|first, sums| {
        // STEP 2
        diagonals.add(first, sums);
    });
}

/// Diagonals of `n_rows` slots each, by their offsets in 32 bits.
pub(super) struct Diagonals<'a, T> {
    pub(super) n_rows: usize,
    pub(super) offsets: &'a [u32],
    pub(super) vals: &'a [T],
    pub(super) x: &'a [T],
}

/// Diagonals that are read side by side: as many streams as a core fetches ahead of their use.
const AT_ONCE: usize = 8;

impl<T: Value> Diagonals<'_, T> {
    /// Adds to the sums of the rows from `first` on, in the order of the diagonals.
    pub(super) fn add(&self, first: usize, sums: &mut [T::Accum]) {
        let mut parts = [Part { start: 0, vals: &[], x: &[] }; AT_ONCE];
        let mut n = 0;
        for (diagonal, offset) in self.offsets.iter().enumerate() {
            let Inside { rows, cols } = inside((first as u32).wrapping_add(*offset), self.x.len(), sums.len());
            if rows.is_empty() {
                continue;
            }
            let slot = diagonal * self.n_rows + first + rows.start;
            parts[n] = Part { start: rows.start, vals: &self.vals[slot..slot + rows.len()], x: &self.x[cols] };
            n += 1;
            if n == AT_ONCE {
                add_some::<T, AT_ONCE>(parts, sums);
                n = 0;
            }
        }
        match parts {
            [a, b, c, d, e, f, g, ..] if n == 7 => add_some([a, b, c, d, e, f, g], sums),
            [a, b, c, d, e, f, ..] if n == 6 => add_some([a, b, c, d, e, f], sums),
            [a, b, c, d, e, ..] if n == 5 => add_some([a, b, c, d, e], sums),
            [a, b, c, d, ..] if n == 4 => add_some([a, b, c, d], sums),
            [a, b, c, ..] if n == 3 => add_some([a, b, c], sums),
            [a, b, ..] if n == 2 => add_some([a, b], sums),
            [a, ..] if n == 1 => add_some([a], sums),
            _ => {}
        }
    }
}

/// The part of a diagonal that is inside of the matrix, of the rows from `start` on.
#[derive(Clone, Copy)]
struct Part<'a, T> {
    start: usize,
    vals: &'a [T],
    x: &'a [T],
}

impl<T: Value> Part<'_, T> {
    fn end(&self) -> usize {
        self.start + self.vals.len()
    }

    /// Adds those of some rows.
    fn add(&self, rows: Range<usize>, sums: &mut [T::Accum]) {
        let (start, end) = (rows.start.max(self.start), rows.end.min(self.end()));
        if start < end {
            let own = start - self.start..end - self.start;
            let entries = self.vals[own.clone()].iter().zip(&self.x[own]);
            sums[start..end].iter_mut().zip(entries).for_each(|(sum, (val, x))| *sum += product(*val, *x));
        }
    }
}

fn add_some<T: Value, const D: usize>(parts: [Part<'_, T>; D], sums: &mut [T::Accum]) {
    // Rows that all have: they are near no border of the matrix.
    let start = parts.iter().fold(0, |start, part| start.max(part.start));
    let end = parts.iter().fold(sums.len(), |end, part| end.min(part.end())).max(start);
    for part in &parts {
        part.add(0..start, sums);
        part.add(end..sums.len(), sums);
    }
    let n = end - start;
    if n == 0 {
        return;
    }
    let all = parts.map(|part| (&part.vals[start - part.start..][..n], &part.x[start - part.start..][..n]));
    for (row, sum) in sums[start..end].iter_mut().enumerate() {
        *sum = all.iter().fold(*sum, |sum, (vals, x)| sum + product(vals[row], x[row]));
    }
}

/// Zero for a slot without an entry, whatever `x` is there.
#[inline(always)]
fn product<T: Value>(val: T, x: T) -> T::Accum {
    if val == T::from_f64(0.0) { num_traits::zero() } else { val.to_accum() * x.to_accum() }
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
