// kernel: vec_axpy_aypx
// params: n chunk alpha alpha_num alpha_den beta beta_num beta_den scalars z x d
// steps:  1 a group takes `chunk` entries; 2 x <- a*d + x, where a is alpha times a quotient of scalars; a = 0 leaves x as it is;
//         3 d <- z + b*d, by the old d and b as a; b = 0 does not read d

use num_traits::Zero;

use super::prelude::{factor, for_both_rows};
use crate::device_args::view::VecAxpyAypx;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(launch: Launch, args: VecAxpyAypx<'_, T>) {
    let VecAxpyAypx { n, chunk, alpha, alpha_num, alpha_den, beta, .. } = args;
    let VecAxpyAypx { beta_num, beta_den, scalars, z, x, d, .. } = args;
    let a = factor(scalars, alpha, alpha_num, alpha_den);
    let b = factor(scalars, beta, beta_num, beta_den);
    let part = |z: &[T::Accum], x: &mut [T::Accum], d: &mut [T::Accum]| {
        let all = x.iter_mut().zip(d).zip(z);
        // STEP 2, STEP 3
        match (a.is_zero(), b.is_zero()) {
            (false, false) => all.for_each(|((x, d), z)| {
                *x = a * *d + *x;
                *d = *z + b * *d;
            }),
            (false, true) => all.for_each(|((x, d), z)| {
                *x = a * *d + *x;
                *d = *z;
            }),
            (true, false) => all.for_each(|((_, d), z)| *d = *z + b * *d),
            (true, true) => all.for_each(|((_, d), z)| *d = *z),
        }
    };
    let (n, chunk) = (n as usize, chunk as usize);
    // STEP 1
    let first = |group: u32| [(group as usize * chunk).min(n); 2];
    for_both_rows(launch.groups, &mut x[..n], &mut d[..n], &first, &|[x, d], _| {
        part(&z[x.base..], x.rows, d.rows)
    });
}
