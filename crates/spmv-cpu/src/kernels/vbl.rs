// kernel: vbl
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr run_ptr runs vals x z y
// steps:  1 a lane takes S whole rows; 2 sum the row's runs one after another; 3 store alpha*sum + beta*y

use super::prelude::{for_sums, output};
use crate::device_args::view::Vbl;
use crate::launch::Launch;
use crate::simd::{RunRows, SimdValue};

pub(crate) fn run<T: SimdValue>(launch: Launch, args: Vbl<'_, T>) {
    let Vbl { n_rows, tiles, alpha, beta, row_ptr, run_ptr, runs, vals, x, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let y = output!(args);
    // STEP 1
    let first_row = |group| tiling.scalar_rows(group, n_rows).start as usize;
    for_sums(launch.groups, y, &first_row, &|out| {
        let run_ptr = &run_ptr[out.base..=out.base + out.rows.len()];
        let a = RunRows { run_ptr, first_entry: row_ptr[out.base] as usize, runs, vals, x };
        // STEP 2, STEP 3
        T::runs(launch.isa, &a, alpha, beta, out.rows);
    });
}
