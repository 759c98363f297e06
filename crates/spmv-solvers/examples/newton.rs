//! Newton's method for `-u'' + u^3 = 1` on a line: each step solves with a matrix of the same pattern and other values.
//!
//! `cargo run --release -p spmv-solvers --example newton`

use spmv::{Context, Csr};
use spmv_solvers::ConjugateGradient;

/// Points between the ends, where u is 0.
const N: usize = 1000;

/// What is left of the equation at each point, and the derivative on the diagonal.
fn residual(u: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let at = |i: Option<usize>| i.and_then(|i| u.get(i)).copied().unwrap_or(0.0);
    let h2 = ((N + 1) as f64).powi(-2);
    let left = |i: usize| h2 * (1.0 - u[i].powi(3)) - (2.0 * u[i] - at(i.checked_sub(1)) - at(Some(i + 1)));
    ((0..N).map(left).collect(), u.iter().map(|u| 2.0 + 3.0 * h2 * u * u).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let neighbours = |i: usize| [i.wrapping_sub(1), i, i + 1].into_iter().filter(|j| *j < N);
    let rows = (0..N).map(|i| neighbours(i).map(move |j| (j as u32, if i == j { 2.0 } else { -1.0 })));
    let mut a: Csr<f64> = Csr::from_rows(N, rows.map(Iterator::collect::<Vec<_>>))?;
    let diagonal: Vec<usize> = (0..N).map(|i| a.row_ptr()[i] as usize + usize::from(i > 0)).collect();

    let context = Context::auto()?;
    let mut on_device = context.prepare(&a)?;
    println!("{}", on_device.explain());
    let mut cg = ConjugateGradient::new(&on_device)?;
    let (mut u, mut step) = (vec![0.0; N], on_device.zeros_x()?);
    for iteration in 0..20 {
        let (left, derivative) = residual(&u);
        let norm = left.iter().map(|r| r * r).sum::<f64>().sqrt();
        println!("step {iteration}: {norm:.1e} left");
        if norm < 1e-12 {
            return Ok(());
        }
        for (at, value) in diagonal.iter().zip(derivative) {
            a.vals_mut()[*at] = value;
        }
        // Plan, structure, buffers and recorded operations stay.
        on_device.set_values(a.vals())?;
        step.fill(0.0)?;
        let mut options = spmv_solvers::Options { max_iterations: 4 * N, ..Default::default() };
        let report = cg.solve(&on_device, &context.upload(&left)?, &mut step, &mut options)?;
        if !report.has_converged() {
            return Err(format!("{:?} after {} iterations", report.stop, report.iterations).into());
        }
        u.iter_mut().zip(step.to_vec()?).for_each(|(u, step)| *u += step);
    }
    Err("no convergence".into())
}
