// kernel: vec_dot
// params: n chunk op x z partials
// steps:  1 a group takes `chunk` entries; 2 sum the products of x and z, or find the greatest absolute value of x; 3 join
//         what the lanes have by halves; 4 store what the group has

use spmv_backend::codes::OP_SUM;

use spmv_core::Accum;

use super::prelude::{for_rows, greatest, products};
use crate::device_args::view::VecDot;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: VecDot<'_, T>) {
    let VecDot { n, chunk, op, x, z, partials, .. } = args;
    let part = |group: usize, partial: &mut T::Accum| {
        // STEP 1
        let start = (group * chunk as usize).min(n as usize);
        let range = start..(start + chunk as usize).min(n as usize);
        // STEP 2, STEP 3, STEP 4
        *partial = match op {
            OP_SUM => products(&x[range.clone()], &z[range]),
            _ => greatest(x[range].iter().map(|x| T::Accum::from_re(x.modulus()))),
        };
    };
    let partials = &mut partials[..launch.groups.n as usize];
    for_rows(launch.groups, partials, &|group| group as usize, &|partials| {
        part(partials.base, &mut partials.rows[0])
    });
}
