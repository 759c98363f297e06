// kernel: vec_update
// params: n chunk source dots alpha alpha_num alpha_den beta beta_num beta_den scalars d x z y partials
// steps:  1 a group takes `chunk` entries; 2 y <- a*u + b*y, where a is alpha times a quotient of scalars, b as well, and u is
//         x, d*x or 1; a = 0 does not read u, b = 0 does not read y; 3 sum the products of the new y and of y or z;
//         4 add the sums of the lanes by halves; 5 store the sum of the group

use num_traits::Zero;
use spmv_backend::codes::{DOTS_NONE, DOTS_Y, DOTS_Z, SOURCE_ONE, SOURCE_WEIGHTED};
use spmv_core::Accum;

use super::prelude::{factor, for_both_rows, products};
use crate::device_args::view::VecUpdate;
use crate::launch::Launch;
use crate::numbers::Numbers;

/// Entries that stay in the first cache between two steps.
const BLOCK: usize = 512;

pub(crate) fn run<T: Numbers>(launch: Launch, args: VecUpdate<'_, T>) {
    let VecUpdate { n, chunk, source, dots, alpha, alpha_num, alpha_den, beta, .. } = args;
    let VecUpdate { beta_num, beta_den, scalars, d, x, z, y, partials, .. } = args;
    let a = factor(scalars, alpha, alpha_num, alpha_den);
    let by = Factors { a, b: factor(scalars, beta, beta_num, beta_den) };
    let part = |start: usize, y: &mut [T::Accum], partial: &mut T::Accum| {
        let mut sum = num_traits::zero();
        let reads_u = !by.a.is_zero();
        // Ones, or what each block makes of d and x.
        let mut own = [num_traits::one(); BLOCK];
        for (at, y) in y.chunks_mut(BLOCK).enumerate() {
            let range = start + at * BLOCK..start + at * BLOCK + y.len();
            if source == SOURCE_WEIGHTED && reads_u {
                for (u, (d, x)) in own.iter_mut().zip(d[range.clone()].iter().zip(&x[range.clone()])) {
                    *u = *d * *x;
                }
            }
            let is_x = reads_u && source != SOURCE_WEIGHTED && source != SOURCE_ONE;
            let u = if is_x { &x[range.clone()] } else { &own[..y.len()] };
            by.combine(u, y);
            // STEP 3
            sum += match dots {
                DOTS_Y => products(y, y),
                DOTS_Z => products(y, &z[range]),
                _ => num_traits::zero(),
            };
        }
        // STEP 4, STEP 5
        if dots != DOTS_NONE {
            *partial = sum;
        }
    };
    let (n, chunk) = (n as usize, chunk as usize);
    let partials = &mut partials[..launch.groups.n as usize];
    // STEP 1
    let first = |group: u32| [(group as usize * chunk).min(n), group as usize];
    for_both_rows(launch.groups, &mut y[..n], partials, &first, &|[y, partials], _| {
        part(y.base, y.rows, &mut partials.rows[0]);
    });
}

struct Factors<A> {
    a: A,
    b: A,
}

impl<A: Accum> Factors<A> {
    fn combine(&self, u: &[A], y: &mut [A]) {
        // STEP 2
        let Self { a, b } = *self;
        let both = y.iter_mut().zip(u);
        match (a.is_zero(), b.is_zero()) {
            (true, true) => y.fill(A::zero()),
            (true, false) => y.iter_mut().for_each(|y| *y = b * *y),
            (false, true) => both.for_each(|(y, u)| *y = a * *u),
            (false, false) => both.for_each(|(y, u)| *y = a * *u + b * *y),
        }
    }
}
