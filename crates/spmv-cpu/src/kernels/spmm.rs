// kernel: spmm
// params: row_base columns x_stride x_at y_stride y_at alpha beta row_ptr block_rows block_entries cols vals x carries y
// steps:  1 a group takes a block of rows, or a piece of a long one, and a row its share of the lanes; 2 a lane sums the
//         products of its entries with four columns; 3 add the sums of a row's lanes; 4 store alpha*sums + beta*y, or leave
//         a piece's sums in carries[block]

use super::prelude::for_both_rows;
use crate::device_args::view::Spmm;
use crate::launch::Launch;
use crate::simd::{PanelRows, SimdValue};

/// A lane has four columns elsewhere.
const COLUMNS_OF_A_BUNCH: usize = 4;

/// A row has the vector unit to itself, and all columns are summed at once.
pub(crate) fn run<T: SimdValue>(launch: Launch, args: Spmm<'_, T>) {
    let Spmm { row_base, columns, x_stride, x_at, y_stride, y_at, alpha, beta, .. } = args;
    let Spmm { row_ptr, block_rows, block_entries, cols, vals, x, carries, y, .. } = args;
    let (n_blocks, columns) = (launch.groups.n as usize, columns as usize);
    let width = launch.tiling.bunches() as usize * COLUMNS_OF_A_BUNCH;
    let (y_stride, y_at) = (y_stride as usize, y_at as usize);
    let (block_rows, block_entries) = (&block_rows[..=n_blocks], &block_entries[..=n_blocks]);
    let a =
        PanelRows { cols, vals, x: &x[(x_at as usize).min(x.len())..], x_stride: x_stride as usize, columns };
    let y = &mut y[row_base as usize * y_stride..];
    let n_carries = carries.len();
    // Without pieces there are no carries.
    let first = |group: u32| {
        [block_rows[group as usize] as usize * y_stride, (group as usize * width).min(n_carries)]
    };
    for_both_rows(launch.groups, y, carries, &first, &|[y, carries], group| {
        // STEP 1
        let block = group as usize;
        let first = block_rows[block] as usize;
        let entries = [block_entries[block], block_entries[block + 1]];
        let last = (block_rows[block + 1] as usize).max(first + 1);
        // STEP 2, STEP 3, STEP 4
        if entries == [row_ptr[first], row_ptr[last]] {
            let rows = &row_ptr[first..=last];
            T::panel(launch.isa, &a, rows, (alpha, beta), y.rows, (y_stride, y_at));
        } else {
            let scaling = (num_traits::one(), num_traits::zero());
            T::panel(launch.isa, &a, &entries, scaling, carries.rows, (width, 0));
        }
    });
}
