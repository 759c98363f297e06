// kernel: pcsr_sums
// params: n_rows row_base tiles epilogue alpha beta lo hi row_ptr products z y
// steps:  1 a group takes S times as many rows as it has lanes; 2 bring their products to local memory, W*T at a time;
//         3 a lane sums those of its row; 4 store alpha*sum + beta*y

use num_traits::Zero;

use super::prelude::{for_row_sums, output};
use crate::device_args::view::PcsrSums;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: PcsrSums<'_, T>) {
    let PcsrSums { n_rows, tiles, alpha, beta, row_ptr, products, .. } = args;
    let tiling = launch.tiling.with_tiles(tiles);
    let (row_ptr, y) = (&row_ptr[..=n_rows as usize], output!(args));
    // STEP 1
    let first_row = |group| tiling.scalar_rows(group, n_rows).start;
    // STEP 4
    for_row_sums(launch.groups, &first_row, (alpha, beta), row_ptr, y, &|entries| {
        // STEP 2, STEP 3: caches bring products nearer here.
        products[entries].iter().fold(T::Accum::zero(), |sum, product| sum + *product)
    });
}
