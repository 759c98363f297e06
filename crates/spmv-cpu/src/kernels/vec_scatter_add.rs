// kernel: vec_scatter_add
// params: n chunk at x y
// steps:  1 a group takes `chunk` entries; 2 y[at[i]] <- y[at[i]] + x[i]

use super::prelude::for_groups;
use crate::device_args::PermutedRows;
use crate::device_args::view::VecScatterAdd;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: VecScatterAdd<'_, T>) {
    let VecScatterAdd { n, chunk, at, x, y, .. } = args;
    let (n, chunk) = (n as usize, chunk as usize);
    let x = &x[..n];
    for_groups(
        launch.groups,
        PermutedRows::new(at.first(n), y, None),
        // STEP 1
        &|y: PermutedRows<'_, T::Accum>, group| y.split_before(group as usize * chunk),
        &|mut y, _| {
            let base = y.base();
            // STEP 2
            y.write(base, &x[base..base + y.len()], |x, y| y + x);
        },
    );
}
