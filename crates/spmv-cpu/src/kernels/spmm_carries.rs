// kernel: spmm_carries
// params: row_base n_cut width columns y_stride y_at alpha beta cut_rows cut_blocks carries y
// steps:  1 a lane takes a column of a row that was cut; 2 add the sums of its pieces, in order; 3 store alpha*sum + beta*y

use spmv_core::Accum;

use super::prelude::store;
use crate::device_args::view::SpmmCarries;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(_: Launch, args: SpmmCarries<'_, T>) {
    let SpmmCarries { row_base, n_cut, width, columns, y_stride, y_at, alpha, beta, .. } = args;
    let SpmmCarries { cut_rows, cut_blocks, carries, y, .. } = args;
    let (n_cut, width) = (n_cut as usize, width as usize);
    // STEP 1
    for (row, blocks) in cut_rows[..n_cut].iter().zip(cut_blocks.as_chunks::<2>().0) {
        let y = &mut y[(row_base + row) as usize * y_stride as usize + y_at as usize..][..columns as usize];
        for (column, y) in y.iter_mut().enumerate() {
            // STEP 2
            let pieces = blocks[0] as usize..blocks[1] as usize;
            let sum = sum(pieces.map(|block| carries[block * width + column]));
            // STEP 3
            *y = store(alpha, sum, beta, *y);
        }
    }
}

fn sum<A: Accum>(all: impl Iterator<Item = A>) -> A {
    all.fold(A::zero(), |sum, one| sum + one)
}
