//! `cargo xtask solve`: time of an iteration of conjugate gradients, on every device and by other libraries.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use spmv::{BackendKind, Csr, Dtype, Matrix, Queue, Vector, plan::Algorithm};
use spmv_io::generate;
use spmv_solvers::{ConjugateGradient, Options};

use super::comparison;
use super::devices::{self, Target};
use super::measure::spread;
use super::peers;
use super::report::{Cache, Device, Spread};
use super::stop::Stop;
use super::text::aligned;

/// `cargo xtask solve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Points on a side of the cube, whose Laplacian is the matrix.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1024))]
    side: u32,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// What multiplies; what users get, without it.
    #[arg(long, value_delimiter = ',', default_value = "auto")]
    algorithm: Vec<Algorithm>,
    /// Iterations of a run, none of which waits.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Solves on so many devices of each backend together, too, as `bench --devices` multiplies.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    devices: Option<u32>,
    /// Runs of each contestant, in turn.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Times conjugate gradients of faer, of SciPy, and of cuSPARSE with cuBLAS in the same run.
    #[arg(long)]
    peers: bool,
}

/// Who solves.
struct Contestant<'a> {
    name: String,
    /// Whether it runs on the cores of the host.
    on_cores: bool,
    /// Of ours: the backend and the algorithm that was asked for, and whether it is several devices.
    ours: Option<(BackendKind, Algorithm, bool)>,
    /// One run: seconds of an iteration, and the norm of the residual after all of them.
    run: Box<dyn FnMut() -> anyhow::Result<(f64, f64)> + 'a>,
    /// Seconds of what an iteration is made of when that runs alone, if it is one of ours.
    parts: Option<Box<dyn FnMut() -> anyhow::Result<Parts> + 'a>>,
}

/// Seconds of what runs by itself.
#[derive(Clone, Copy, Debug)]
struct Parts {
    /// A product.
    product: f64,
    /// `y <- alpha*x + beta*y`: three passes over a vector.
    update: f64,
}

/// Passes over vectors in an iteration, besides the product: two of the scalar product of p and A*p, three of the update of r and its
/// norm, five of that of x and p.
const PASSES: f64 = 10.0;

/// Everyone, in turn: the same system, the same number of iterations in double precision, from zero on.
///
/// # Errors
/// If a device fails, or residuals differ.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let a = generate::laplacian_3d(args.side as usize)?;
    let b: Vec<f64> = (0..a.n_rows()).map(|i| (i as f64 * 0.37).sin()).collect();
    let n = args.iterations as usize;
    let stop = Stop::at_interrupt()?;
    let mut targets = devices::open(&args.backend)?;
    let several = args.devices.map(|n| devices::several(&targets, n as usize)).transpose()?;
    targets.extend(several.into_iter().flatten());
    let mut contestants = Vec::new();
    for target in &targets {
        match target.obstacle(Dtype::F64, Cache::Warm) {
            Some(why) => eprintln!("{why}"),
            None => {
                for algorithm in &args.algorithm {
                    let ours = ours(target, *algorithm, (&a, &b), n);
                    contestants.push(ours.with_context(|| format!("{}, {algorithm}", target.label))?);
                }
            }
        }
    }
    // Others are timed where one of ours is.
    let [on_cores, on_gpu] =
        [true, false].map(|cores| args.peers && contestants.iter().any(|c| c.on_cores == cores));
    let mut others = Vec::new();
    if on_cores {
        let faer = |name, by_columns| (name, faer(name, by_columns, (&a, &b), n));
        others.extend([faer("faer, by rows", false), faer("faer, by columns", true)]);
        others.push(("SciPy", peers::SciPy::start(&a, &b).map(|scipy| self::scipy(scipy, (&a, &b), n))));
    }
    if on_gpu {
        let solver = comparison::Gpu::open(&args.backend, &targets).and_then(|gpu| gpu.solver(&a, &b));
        others.push(("cuSPARSE and cuBLAS", solver.map(|solver| cuda(solver, (&a, &b), n))));
    }
    for (name, other) in others {
        match other {
            Ok(other) => contestants.push(other),
            Err(e) => eprintln!("{name} is left out: {e:#}"),
        }
    }
    let mut times = Times {
        iterations: vec![Vec::new(); contestants.len()],
        parts: vec![Vec::new(); contestants.len()],
        residuals: vec![0.0; contestants.len()],
        of_b: b.iter().map(|b| b * b).sum::<f64>().sqrt(),
    };
    for _ in 0..=args.repeat {
        for (at, contestant) in contestants.iter_mut().enumerate() {
            stop.check()?;
            let (seconds, residual) = (contestant.run)().with_context(|| contestant.name.clone())?;
            times.iterations[at].push(seconds);
            times.residuals[at] = residual;
            if let Some(parts) = &mut contestant.parts {
                times.parts[at].push(parts()?);
            }
        }
    }
    print(args, &a, &contestants, &times)?;
    let mut out = std::io::stdout().lock();
    for Device { label, name, .. } in targets.iter().filter(|target| target.is_several()).map(Target::device)
    {
        writeln!(out, "{label}: {name}")?;
    }
    Ok(())
}

/// Seconds of each contestant's runs, the first of which warms up, and residuals.
struct Times {
    iterations: Vec<Vec<f64>>,
    parts: Vec<Vec<Parts>>,
    residuals: Vec<f64>,
    /// Norm of the right-hand side.
    of_b: f64,
}

/// A row for each contestant.
///
/// # Errors
/// If residuals differ.
fn print(args: &Args, a: &Csr<f64>, contestants: &[Contestant<'_>], times: &Times) -> anyhow::Result<()> {
    let summed = |seconds: &[f64]| (seconds.len() > 1).then(|| spread(seconds[1..].to_vec()));
    let iterations: Vec<Spread> = times.iterations.iter().filter_map(|s| summed(s)).collect();
    let all = || contestants.iter().zip(&iterations);
    let fastest_other = |on_cores: bool| {
        let others = all().filter(|(c, _)| c.parts.is_none() && c.on_cores == on_cores);
        others.map(|(_, iteration)| iteration.median).min_by(f64::total_cmp)
    };
    let ratio = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.2}"));
    let over_one = |several: &Contestant<'_>, iteration: &Spread| {
        let (backend, algorithm, _) = several.ours.filter(|(.., is_several)| *is_several)?;
        let ones = all().filter(|(c, _)| c.ours == Some((backend, algorithm, false)));
        Some(ones.map(|(_, one)| one.median).min_by(f64::total_cmp)? / iteration.median)
    };
    let mut rows = Vec::new();
    for (at, (contestant, iteration)) in all().enumerate() {
        let (found, first) = (times.residuals[at], times.residuals[0]);
        // What is left near the end is rounding.
        ensure!(
            (found - first).abs() < 1e-6 * first + 1e-10 * times.of_b,
            "{}: the residual is {found}, not {first}",
            contestant.name
        );
        let part = |of: fn(&Parts) -> f64| {
            let seconds: Vec<f64> = times.parts[at].iter().map(of).collect();
            summed(&seconds).map(|part| part.median / 1e3)
        };
        let (product, update) = (part(|p| p.product), part(|p| p.update));
        let passes = product.zip(update).map(|(product, update)| product + PASSES / 3.0 * update);
        let iteration_ms = iteration.median / 1e3;
        let in_ms = |ms: Option<f64>| ms.map_or_else(|| "-".into(), |ms| format!("{ms:.4}"));
        rows.push(vec![
            contestant.name.clone(),
            in_ms(product),
            in_ms(update),
            format!("{iteration_ms:.4}"),
            format!("{:.4} to {:.4}", iteration.min / 1e3, iteration.max / 1e3),
            ratio(passes.map(|passes| iteration_ms / passes)),
            ratio(fastest_other(contestant.on_cores).map(|other| other / iteration.median)),
        ]);
        if args.devices.is_some() {
            rows[at].push(ratio(over_one(contestant, iteration)));
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "conjugate gradients in f64 on the Laplacian of {0} x {0} x {0} points: {1} unknowns, {2} nonzeros; medians of {3} runs of {4} \
         iterations\n",
        args.side,
        a.n_rows(),
        a.nnz(),
        args.repeat,
        args.iterations,
    )?;
    let header = [
        "by",
        "product, ms",
        "update, ms",
        "iteration, ms",
        "least to most",
        "over its parts",
        "times as fast as the fastest other there",
    ];
    let over_one = args.devices.map(|_| "times as fast as one device of the backend");
    let header = header.into_iter().chain(over_one).map(str::to_owned).collect();
    writeln!(out, "{}", aligned(header, rows))?;
    writeln!(
        out,
        "\nits parts: a product and the {PASSES} passes over vectors, each as long as it takes alone; an update, y <- alpha*x + beta*y, \
         is three passes"
    )?;
    writeln!(out, "{}", super::machine::lines())?;
    Ok(())
}

/// Norm of `b - A*x`.
fn residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let row = |row: usize| b[row] - a.row(row).map(|(col, value)| value * x[col as usize]).sum::<f64>();
    (0..b.len()).map(|i| row(i).powi(2)).sum::<f64>().sqrt()
}

/// A matrix and a right-hand side.
type System<'a> = (&'a Csr<f64>, &'a [f64]);

/// faer, with all threads.
fn faer<'a>(name: &str, by_columns: bool, (a, b): System<'a>, n: usize) -> anyhow::Result<Contestant<'a>> {
    let mut solve = peers::conjugate_gradient(a, b, by_columns)?;
    let mut x = vec![0.0; b.len()];
    let run = move || {
        x.fill(0.0);
        let start = Instant::now();
        solve(n, &mut x)?;
        let seconds = start.elapsed().as_secs_f64() / n as f64;
        Ok((seconds, residual(a, &x, b)))
    };
    Ok(Contestant { name: name.into(), on_cores: true, ours: None, run: Box::new(run), parts: None })
}

fn scipy<'a>(mut scipy: peers::SciPy, (a, b): System<'a>, n: usize) -> Contestant<'a> {
    let name = format!("SciPy {}", scipy.version());
    let run = move || scipy.run(n).map(|(seconds, x)| (seconds, residual(a, &x, b)));
    Contestant { name, on_cores: true, ours: None, run: Box::new(run), parts: None }
}

/// cuSPARSE, by the variant that is fastest, and cuBLAS.
fn cuda<'a>(solver: comparison::CudaSolver, (a, b): System<'a>, n: usize) -> Contestant<'a> {
    let run = move || solver.run(n).map(|(seconds, x)| (seconds, residual(a, &x, b)));
    let name = "cuSPARSE and cuBLAS".into();
    Contestant { name, on_cores: false, ours: None, run: Box::new(run), parts: None }
}

/// On a device.
fn ours<'a>(
    target: &'a Target,
    algorithm: Algorithm,
    (a, of_b): System<'a>,
    n: usize,
) -> anyhow::Result<Contestant<'a>> {
    let context = &target.context;
    let options = spmv::Options { algorithm, ..spmv::Options::default() };
    let prepared = context.prepare_with(a, &options)?;
    let prepared_as = prepared.plan().algorithm;
    let b = context.upload(of_b)?;
    let mut x = prepared.zeros_x()?;
    let mut cg = ConjugateGradient::new(&prepared)?;
    let (of_product, on_b): (Matrix<f64>, Vector<f64>) = (context.prepare_with(a, &options)?, b.try_clone()?);
    let (mut y, mut queue): (Vector<f64>, Queue) = (prepared.zeros_y()?, context.queue()?);
    let run = move || {
        x.fill(0.0)?;
        let mut options = Options { relative: 0.0, max_iterations: n, check_every: n, ..Options::default() };
        let start = Instant::now();
        cg.solve(&prepared, &b, &mut x, &mut options)?;
        let seconds = start.elapsed().as_secs_f64() / n as f64;
        Ok((seconds, residual(a, &x.to_vec()?, of_b)))
    };
    let parts = move || {
        let mut timed = |work: &mut dyn FnMut(&mut Queue) -> spmv::Result<()>| -> anyhow::Result<f64> {
            let start = Instant::now();
            (0..n).try_for_each(|_| work(&mut queue))?;
            queue.wait()?;
            Ok(start.elapsed().as_secs_f64() / n as f64)
        };
        let product = timed(&mut |queue| queue.apply(&of_product, 1.0, &on_b, 0.0, &mut y))?;
        let update = timed(&mut |queue| queue.axpby(0.5, &on_b, 0.5, &mut y))?;
        Ok(Parts { product, update })
    };
    Ok(Contestant {
        name: format!("{}, {}", target.label, prepared_as),
        on_cores: target.is_in_host_memory(),
        ours: Some((context.backend(), algorithm, target.is_several())),
        run: Box::new(run),
        parts: Some(Box::new(parts)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_and_residuals_agree() {
        let (backend, algorithm) = (vec![BackendKind::Cpu], vec![Algorithm::Auto]);
        let devices = Some(2);
        let args = Args { side: 6, backend, algorithm, devices, iterations: 5, repeat: 1, peers: false };
        run(&args).unwrap();
    }
}
