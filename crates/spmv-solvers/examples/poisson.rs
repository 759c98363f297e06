//! Conjugate gradients on the Laplacian of a cube: time of an iteration on every device, next to that of a product.
//!
//! ```sh
//! cargo run --release -p spmv-solvers --example poisson -- 100        # a million unknowns
//! SPMV_BACKEND=cpu cargo run --release -p spmv-solvers --example poisson -- 50
//! ```

use std::time::Instant;

use spmv::{BackendKind, Context, Csr};
use spmv_solvers::{ConjugateGradient, Options};

/// Iterations of each run, none of which waits.
const ITERATIONS: usize = 50;
/// Runs, of which the fastest counts: the machine has other work too.
const RUNS: usize = 7;

fn main() -> anyhow::Result<()> {
    let side: usize = std::env::args().nth(1).map_or(Ok(100), |side| side.parse())?;
    let a = poisson(side)?;
    println!(
        "{} unknowns, {} nonzeros; best of {RUNS} runs of {ITERATIONS} iterations in f64",
        a.n_rows(),
        a.nnz()
    );
    println!("| backend | product, ms | iteration, ms | iteration over product |\n|---|---|---|---|");
    let kinds = match std::env::var("SPMV_BACKEND") {
        Ok(name) => vec![name.parse()?],
        Err(_) => BackendKind::ALL.to_vec(),
    };
    for context in Context::every(&kinds).0 {
        let prepared = match context.prepare(&a) {
            Ok(prepared) => prepared,
            Err(e) => {
                println!("{}: {e}", context.backend());
                continue;
            }
        };
        let b = context.upload(&vec![1.0; a.n_rows()])?;
        let (mut x, mut y) = (prepared.zeros_x()?, prepared.zeros_y()?);
        let mut queue = context.queue()?;
        let mut product = || -> spmv::Result<()> {
            (0..ITERATIONS).try_for_each(|_| queue.apply(&prepared, 1.0, &b, 0.0, &mut y))?;
            queue.wait()
        };
        let product = best(|| Ok(product()?))?;
        let mut cg = ConjugateGradient::new(&prepared)?;
        let iteration = best(|| {
            x.fill(0.0)?;
            let mut options = Options {
                relative: 0.0,
                max_iterations: ITERATIONS,
                check_every: ITERATIONS,
                ..Options::default()
            };
            cg.solve(&prepared, &b, &mut x, &mut options)?;
            Ok(())
        })?;
        println!("| {} | {product:.3} | {iteration:.3} | {:.2} |", context.backend(), iteration / product);
    }
    Ok(())
}

/// Milliseconds of an iteration.
fn best(mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best * 1e3 / ITERATIONS as f64)
}

/// 6 for a point, -1 for each of its neighbours.
fn poisson(side: usize) -> Result<Csr<f64>, spmv::CsrError> {
    let row = |row: usize| {
        let at = [row / (side * side), row / side % side, row % side];
        let step = [side * side, side, 1];
        let before = (0..3).filter(move |d| at[*d] > 0).map(move |d| (row - step[d], -1.0));
        let after = (0..3).rev().filter(move |d| at[*d] + 1 < side).map(move |d| (row + step[d], -1.0));
        before.chain([(row, 6.0)]).chain(after).map(|(col, value)| (col as u32, value))
    };
    Csr::from_rows(side.pow(3), (0..side.pow(3)).map(row))
}
