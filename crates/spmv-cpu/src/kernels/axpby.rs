// kernel: axpby
// params: n_rows row_base epilogue alpha beta lo hi t z y
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

use num_traits::Zero;

use super::prelude::{for_sums, output, store};
use crate::device_args::view::Axpby;
use crate::launch::{Groups, Launch};
use crate::numbers::Numbers;

/// Rows that one task combines: long enough to be worth a task, short enough to balance.
const CHUNK: u32 = 16 * 1024;

pub(crate) fn run<T: Numbers>(launch: Launch, args: Axpby<'_, T>) {
    let Axpby { n_rows, alpha, beta, t, .. } = args;
    let y = output!(args);
    // The kernel's groups do not matter: no lane needs another.
    let groups = Groups { n: n_rows.div_ceil(CHUNK), team: launch.groups.team };
    for_sums(groups, y, &|group| (group * CHUNK) as usize, &|y| {
        // STEP 1
        if alpha.is_zero() {
            return y.rows.iter_mut().for_each(|y| *y = store(alpha, T::Accum::zero(), beta, *y));
        }
        let t = &t[y.base..][..y.rows.len()];
        y.rows.iter_mut().zip(t).for_each(|(y, t)| *y = store(alpha, *t, beta, *y));
    });
}
