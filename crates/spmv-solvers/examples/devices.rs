//! A cube of heat on all devices of a backend, by conjugate gradients: the matrix is cut by rows, each device solves for its own, and
//! the result is compared with that of one device. Where there is one device, it is named four times: that shows how, and is slower.
//!
//! `cargo run --release -p spmv-solvers --example devices -- cuda` (or `opencl`, `wgpu`, `cpu`; the first that opens, without it)

use std::time::Instant;

use spmv::{BackendKind, Context, Csr};
use spmv_solvers::{ConjugateGradient, Options};

/// Points of an edge of the cube.
const N: usize = 60;

/// Seven points: 6 in the diagonal, -1 for each neighbour in the cube.
fn poisson() -> Result<Csr<f64>, spmv::Error> {
    let row = |point: usize| {
        let neighbour = |step: usize| {
            let at = point / step % N;
            let (before, after) = (at > 0, at + 1 < N);
            [before.then(|| point - step), after.then_some(point + step)]
        };
        let neighbours = [N * N, N, 1].into_iter().flat_map(neighbour).flatten();
        let mut row: Vec<_> =
            neighbours.map(|other| (other as u32, -1.0)).chain([(point as u32, 6.0)]).collect();
        row.sort_unstable_by_key(|(col, _)| *col);
        row
    };
    Ok(Csr::from_rows(N * N * N, (0..N * N * N).map(row))?)
}

/// Heat where the middle is heated, and seconds of the solve.
fn solve(context: &Context, cube: &Csr<f64>) -> Result<(Vec<f64>, f64), spmv_solvers::Error> {
    // Before any vector of its length, so that parts get as many nonzeros, and not as many rows.
    let a = context.prepare(cube)?;
    println!("{}", a.explain());
    let mut heating = vec![0.0; N * N * N];
    heating[N / 2 * (N * N + N + 1)] = 1.0;
    let (heating, mut x) = (context.upload(&heating)?, a.zeros_x()?);
    let mut cg = ConjugateGradient::new(&a)?;
    let mut options = Options { relative: 1e-10, max_iterations: 1000, ..Options::default() };
    let start = Instant::now();
    let report = cg.solve(&a, &heating, &mut x, &mut options)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{:?} after {} iterations, {seconds:.3} s\n", report.stop, report.iterations);
    Ok((x.to_vec()?, seconds))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = match std::env::args().nth(1) {
        Some(name) => name.parse::<BackendKind>()?,
        None => Context::auto()?.backend(),
    };
    let (mut devices, tried) = Context::every(&[backend]);
    let one =
        devices.first().cloned().ok_or_else(|| tried.iter().map(|t| t.reason.clone()).collect::<String>())?;
    if devices.len() == 1 {
        println!("{backend} has one device: named four times, it does the work of four\n");
        devices = vec![one.clone(); 4];
    }
    let cube = poisson()?;
    let (expected, on_one) = solve(&one, &cube)?;
    let (x, on_all) = solve(&Context::devices(&devices)?, &cube)?;

    let greatest = expected.iter().fold(0.0, |greatest, x| x.abs().max(greatest));
    let apart = x.iter().zip(&expected).map(|(x, expected)| (x - expected).abs()).fold(0.0, f64::max);
    println!("the middle has {greatest:.6}; the solutions are {:.1e} of that apart", apart / greatest);
    println!("{} devices are {:.2} times as fast as one", devices.len(), on_one / on_all);
    if apart > 1e-8 * greatest {
        return Err("the solutions differ".into());
    }
    Ok(())
}
