// kernel: ipcsr
// params: n_rows row_base epilogue alpha beta lo hi row_ptr block_rows block_entries cols vals x carries arrivals z y
// steps:  1 a group takes a block of rows, or a piece of a long one; 2 gather its products; 3 sum each row, with as
//         many lanes as there are for it, then rows too long for those; 4 store alpha*sum + beta*y; 5 leave a piece's
//         sum in carries[block]; where groups can join, the last to arrive adds its row's, else carry_apply

use super::prelude::{RowSums, for_carriers, operand, output};
use crate::device_args::view::Ipcsr;
use crate::launch::Launch;
use crate::simd::SimdValue;

/// Products need no memory of their own here: the vector unit sums them as it gathers them.
pub(crate) fn run<T: SimdValue>(launch: Launch, args: Ipcsr<'_, T>) {
    let Ipcsr { n_rows, alpha, beta, row_ptr, block_rows, block_entries, cols, vals, x, carries, .. } = args;
    let n_blocks = launch.groups.n as usize;
    let (block_rows, block_entries) = (&block_rows[..=n_blocks], &block_entries[..=n_blocks]);
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    let sums = RowSums { isa: launch.isa, alpha, beta, row_ptr, a: operand::<T>(row_ptr, cols, vals, x) };
    let first_row = |block: usize| block_rows[block] as usize;
    for_carriers(launch.groups, 1, &first_row, y, &mut carries[..n_blocks], &|block, y| {
        // STEP 1
        let rows = block_rows[block] as usize..block_rows[block + 1] as usize;
        let entries = block_entries[block] as usize..block_entries[block + 1] as usize;
        // STEP 2, STEP 3, STEP 4, STEP 5: after whole rows no entry is left to carry.
        sums.of(rows, entries, y)
    });
}
