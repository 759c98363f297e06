// kernel: merge_path
// params: n_rows row_base nnz tiles epilogue alpha beta lo hi row_ptr bunch_rows cols vals x carries z y
// steps:  1 a bunch takes S*W*T steps of the merge of row ends with entries, from bunch_rows[bunch] on;
//         2 finish the row that began before; 3 sum and store whole rows; 4 leave the last row's
//         beginning in carries[bunch]

use super::prelude::{RowSums, for_carriers, operand, output};
use crate::device_args::view::MergePath;
use crate::launch::Launch;
use crate::simd::SimdValue;

pub(crate) fn run<T: SimdValue>(launch: Launch, args: MergePath<'_, T>) {
    let MergePath { n_rows, nnz, tiles, alpha, beta, row_ptr, bunch_rows, cols, vals, x, carries, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let total = n_rows + nnz;
    let n_bunches = tiling.n_bunches(total) as usize;
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    let (bunch_rows, carries) = (&bunch_rows[..=n_bunches], &mut carries[..n_bunches]);
    let sums = RowSums { isa: launch.isa, alpha, beta, row_ptr, a: operand::<T>(row_ptr, cols, vals, x) };
    let first_row = |bunch: usize| bunch_rows[bunch] as usize;
    for_carriers(launch.groups, tiling.bunches() as usize, &first_row, y, carries, &|bunch, y| {
        // STEP 1
        let steps = tiling.bunch_range(bunch as u32, total);
        let rows = bunch_rows[bunch] as usize..bunch_rows[bunch + 1] as usize;
        let entries = steps.start as usize - rows.start..steps.end as usize - rows.end;
        // STEP 2, STEP 3, STEP 4
        sums.of(rows, entries, y)
    });
}
