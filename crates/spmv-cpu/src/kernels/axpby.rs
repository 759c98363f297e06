// kernel: axpby
// params: n_rows row_base epilogue alpha beta lo hi t z y
// steps:  1 y <- alpha*t + beta*y; alpha = 0 does not read t, beta = 0 does not read y

use num_traits::Zero;
use spmv_core::Accum;

use super::prelude::{Epilogue, for_sums, store};
use crate::device_args::view::Axpby;
use crate::launch::{Groups, Launch};
use crate::numbers::Numbers;

/// Rows that one task combines: long enough to be worth a task, short enough to balance.
const CHUNK: u32 = 16 * 1024;

pub(crate) fn run<T: Numbers>(launch: Launch, args: Axpby<'_, T>) {
    let Axpby { n_rows, row_base, epilogue: bits, alpha, beta, lo, hi, t, z, y, .. } = args;
    let y = Epilogue { bits, z, lo, hi }.rows(y, row_base, n_rows);
    // The kernel's groups do not matter: no lane needs another.
    let groups = Groups { n: n_rows.div_ceil(CHUNK), team: launch.groups.team };
    for_sums(groups, y, &|group| (group * CHUNK) as usize, &|y| {
        // STEP 1
        match alpha.is_zero() {
            true => y.rows.iter_mut().for_each(|y| *y = store(alpha, T::Accum::zero(), beta, *y)),
            false => combine(alpha, beta, &t[y.base..][..y.rows.len()], y.rows),
        }
    });
}

fn combine<A: Accum>(alpha: A, beta: A, t: &[A], y: &mut [A]) {
    let both = y.iter_mut().zip(t);
    match beta.is_zero() {
        true => both.for_each(|(y, t)| *y = alpha * *t),
        false => both.for_each(|(y, t)| *y = alpha * *t + beta * *y),
    }
}
