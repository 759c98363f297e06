//! The heat of a square plate whose edges are cold, by conjugate gradients: no vector comes to the host before the end.
//!
//! `cargo run --release -p spmv-solvers --example conjugate_gradient`

use std::ops::ControlFlow;

use spmv::{Context, Csr};
use spmv_solvers::{ConjugateGradient, Jacobi, Options};

/// Points of an edge of the plate.
const N: usize = 200;

fn main() -> Result<(), spmv_solvers::Error> {
    // Five points: 4 in the diagonal, -1 for each neighbour on the plate.
    let row = |point: usize| {
        let (i, j) = (point / N, point % N);
        let neighbour = |at: usize, exists: bool| exists.then_some((at as u32, -1.0));
        let (above, left) =
            (neighbour(point.wrapping_sub(N), i > 0), neighbour(point.wrapping_sub(1), j > 0));
        let (right, below) = (neighbour(point + 1, j + 1 < N), neighbour(point + N, i + 1 < N));
        [above, left, Some((point as u32, 4.0)), right, below].into_iter().flatten()
    };
    let plate = Csr::<f64>::from_rows(N * N, (0..N * N).map(row))?;

    let context = Context::auto()?;
    let a = context.prepare(&plate)?;
    println!("on {} with {}", context.caps().name, a.explain());

    // Copied once: from here on the device has all it needs.
    let heat = context.upload(&vec![1.0 / (N * N) as f64; N * N])?;
    let mut x = a.zeros_x()?;
    let jacobi = Jacobi::new(&context, &plate)?;
    let mut options =
        Options { relative: 1e-8, max_iterations: 2000, check_every: 100, ..Options::default() };
    options.on_check(|progress| {
        println!("{:>5} iterations: residual {:.1e}", progress.iteration, progress.residual);
        ControlFlow::Continue(())
    });
    // Keeps its vectors for later solves with plates of the same size.
    let mut cg = ConjugateGradient::new(&a)?;
    let report = cg.solve_with(&a, &jacobi, &heat, &mut x, &mut options)?;
    println!("{:?} after {} iterations", report.stop, report.iterations);

    let x = x.to_vec()?;
    println!("heat in the centre: {:.6}", x[(N / 2) * N + N / 2]);
    Ok(())
}
