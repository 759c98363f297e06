// kernel: vec_scalars
// params: n_steps program scalars
// steps:  1 the first lane takes the steps in order; 2 read what a step takes; 3 copy, add, subtract, multiply, divide, take a root
//         or an absolute value, the greater or the lesser; 4 store the scalar that the step sets

use num_traits::{Float, Zero};
use spmv_backend::codes::{
    OP_ABS, OP_ADD, OP_DIVIDE, OP_GREATER, OP_LESSER, OP_MULTIPLY, OP_SQRT, OP_SUBTRACT,
};
use spmv_core::Accum;

use crate::device_args::view::VecScalars;
use crate::launch::Launch;
use crate::numbers::Numbers;

pub(crate) fn run<T: Numbers>(_: Launch, args: VecScalars<'_, T>) {
    let VecScalars { n_steps, program, scalars, .. } = args;
    // STEP 1
    for step in program.chunks_exact(4).take(n_steps as usize) {
        // STEP 2
        let (op, a, b) = (step[0], scalars[step[1] as usize], scalars[step[2] as usize]);
        // STEP 3
        let value = match op {
            OP_ADD => a + b,
            OP_SUBTRACT => a - b,
            OP_MULTIPLY => a * b,
            // A quotient with a zero is zero: what has converged stays as it is.
            OP_DIVIDE if a.is_zero() || b.is_zero() => T::Accum::zero(),
            OP_DIVIDE => a / b,
            OP_SQRT => a.root(),
            OP_ABS => T::Accum::from_re(a.modulus()),
            OP_GREATER if b.exceeds(a) => b,
            OP_LESSER if b.re() < a.re() || b.re().is_nan() => b,
            _ => a,
        };
        // STEP 4
        scalars[step[3] as usize] = value;
    }
}
