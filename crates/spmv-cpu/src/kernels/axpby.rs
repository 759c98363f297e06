// kernel: axpby
// params: n_rows row_base alpha beta t y
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

use spmv_core::Accum;

use super::prelude::{for_chunks, rows_of};
use crate::device_args::view::Axpby;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Rows that one task combines: long enough to be worth a task, short enough to balance.
const CHUNK: usize = 16 * 1024;

pub(crate) fn run<T: Numbers>(launch: Launch, args: Axpby<'_, T>) {
    let Axpby { n_rows, row_base, alpha, beta, t, y, .. } = args;
    let (t, y) = (&t[..n_rows as usize], rows_of(y, row_base, n_rows));
    for_chunks(launch.groups.team, CHUNK, y, &|y| combine(alpha, beta, &t[y.base..], y.rows));
}

fn combine<A: Accum>(alpha: A, beta: A, t: &[A], y: &mut [A]) {
    // STEP 1
    let (no_t, no_y) = (alpha.is_zero(), beta.is_zero());
    for (y, t) in y.iter_mut().zip(t) {
        *y = match (no_t, no_y) {
            (true, true) => A::zero(),
            (true, false) => beta * *y,
            (false, true) => alpha * *t,
            (false, false) => alpha * *t + beta * *y,
        };
    }
}
