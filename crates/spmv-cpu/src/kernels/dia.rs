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

impl<T: Value> Diagonals<'_, T> {
    /// Adds to the sums of the rows from `first` on.
    pub(super) fn add(&self, first: usize, sums: &mut [T::Accum]) {
        let none = T::from_f64(0.0);
        for (diagonal, offset) in self.offsets.iter().enumerate() {
            let Inside { rows, cols } =
                inside((first as u32).wrapping_add(*offset), self.x.len(), sums.len());
            let slot = diagonal * self.n_rows + first + rows.start;
            let entries = self.vals[slot..slot + rows.len()].iter().zip(&self.x[cols]);
            for (sum, (val, x)) in sums[rows].iter_mut().zip(entries) {
                let product = val.to_accum() * x.to_accum();
                *sum += if *val == none { num_traits::zero() } else { product };
            }
        }
    }
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
