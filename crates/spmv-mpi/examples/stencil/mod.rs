//! The matrix of the examples.

use spmv_partition::LocalRows;

/// Rows of the seven-point stencil of a cube: 6 in the diagonal, -1 for each neighbour.
pub(crate) fn rows(side: u64, own: std::ops::Range<u64>) -> spmv_partition::Result<LocalRows<f64>> {
    let (mut row_ptr, mut cols, mut vals) = (vec![0], vec![], vec![]);
    for point in own {
        let (x, y, z) = (point % side, point / side % side, point / side.pow(2));
        let below = [(z, side.pow(2)), (y, side), (x, 1)].into_iter().filter(|(at, _)| *at > 0);
        let above = [(x, 1), (y, side), (z, side.pow(2))].into_iter().filter(|(at, _)| at + 1 < side);
        let below = below.map(|(_, step)| (point - step, -1.0));
        let above = above.map(|(_, step)| (point + step, -1.0));
        for (col, val) in below.chain([(point, 6.0)]).chain(above) {
            cols.push(col);
            vals.push(val);
        }
        row_ptr.push(cols.len() as u64);
    }
    LocalRows::new(side.pow(3), row_ptr, cols, vals)
}
