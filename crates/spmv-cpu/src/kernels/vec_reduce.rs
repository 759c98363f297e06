// kernel: vec_reduce
// params: n op at partials scalars
// steps:  1 a lane takes each partial result that many lanes further; 2 add them, or take the greatest; 3 join what the lanes
//         have by halves; 4 store the scalar

use spmv_backend::codes::OP_SUM;

use super::prelude::greatest;
use crate::device_args::view::VecReduce;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(_: Launch, args: VecReduce<'_, T>) {
    let VecReduce { n, op, at, partials, scalars, .. } = args;
    // STEP 1
    let partials = partials[..n as usize].iter().copied();
    // STEP 2, STEP 3, STEP 4
    scalars[at as usize] = match op {
        OP_SUM => partials.fold(num_traits::zero(), |sum: T::Accum, partial| sum + partial),
        _ => greatest(partials),
    };
}
