//! `spmv solve`.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{bail, ensure};
use clap::ValueEnum;
use spmv::{Context, Csr, Dtype, Matrix, Number, Scalar, Value, Vector, c32, c64, io};
use spmv_solvers::{
    BiCgStab, BlockJacobi, ConjugateGradient, Gmres, Jacobi, Minres, Options, PipelinedConjugateGradient,
    Preconditioner, Report, Stop, lsmr,
};

use crate::{device, files};

/// `spmv solve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The matrix: a Matrix Market file, plain or gzipped.
    #[arg(value_name = "FILE")]
    matrix: PathBuf,
    /// A file with the right-hand side, of one column. Without it, the product of the matrix and a vector of ones, which is then
    /// the solution.
    #[arg(short = 'b', long, value_name = "FILE")]
    rhs: Option<PathBuf>,
    /// A file with the x to begin with, of one column; zeros, without it.
    #[arg(long, value_name = "FILE")]
    x0: Option<PathBuf>,
    /// How to solve.
    #[arg(short, long, default_value = "cg")]
    method: Method,
    /// An approximation of the inverse.
    #[arg(short, long, default_value = "none")]
    precondition: Precondition,
    /// Rows of a block of block-jacobi.
    #[arg(long, value_name = "ROWS", default_value_t = 8)]
    block: usize,
    /// Iterations after which gmres starts anew.
    #[arg(long, value_name = "N", default_value_t = 30)]
    restart: usize,
    /// Stops when the norm of the residual is at most this times that of the right-hand side; about 1.5e-8 without it (3.5e-4 in f32).
    #[arg(short, long, value_name = "TOLERANCE")]
    relative: Option<f64>,
    /// Or at most this.
    #[arg(long, value_name = "TOLERANCE", default_value_t = 0.0)]
    absolute: f64,
    /// Stops after so many iterations.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_iterations: usize,
    /// Iterations between two checks of the residual, each of which waits for the device.
    #[arg(long, value_name = "N", default_value_t = 10)]
    check_every: usize,
    /// Where x is written, gzipped if the name ends in .gz; nowhere, without it. It is written too if the residual is not small enough.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Type of the values: f32, f64, c32 or c64.
    #[arg(long, value_parser = spmv_bench::precision())]
    precision: Option<Dtype>,
    #[command(flatten)]
    device: device::DeviceArgs,
}

/// A method of `spmv_solvers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Conjugate gradients: positive definite matrices, symmetric or Hermitian.
    Cg,
    /// The same with one reduction an iteration.
    PipelinedCg,
    /// Symmetric real or Hermitian matrices.
    Minres,
    /// Square matrices; short recurrences.
    Bicgstab,
    /// Square matrices; the least residual, in as many vectors as iterations until it restarts.
    Gmres,
    /// Matrices of any shape: least squares.
    Lsmr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Precondition {
    None,
    /// The inverse of the diagonal.
    Jacobi,
    /// The inverses of blocks of the diagonal.
    BlockJacobi,
}

/// A preconditioner that was asked for.
type Inverse<A> = Box<dyn Preconditioner<A>>;

fn inverse<A: Number + Scalar<Accum = A>>(
    args: &Args,
    context: &Context,
    a: &Csr<A>,
) -> anyhow::Result<Option<Inverse<A>>> {
    Ok(match args.precondition {
        Precondition::None => None,
        Precondition::Jacobi => Some(Box::new(Jacobi::new(context, a)?)),
        Precondition::BlockJacobi => Some(Box::new(BlockJacobi::new(context, a, args.block)?)),
    })
}

/// Reads, solves, writes; a residual that is not small enough is a failure.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let read = [&args.matrix].into_iter().chain(&args.rhs).chain(&args.x0);
    match files::precision(args.precision, read)? {
        Dtype::F32 => solve::<f32>(args),
        Dtype::F64 => solve::<f64>(args),
        Dtype::C32 => solve::<c32>(args),
        Dtype::C64 => solve::<c64>(args),
        other => bail!("--precision {other}: solvers compute in f32, f64, c32 or c64"),
    }
}

fn solve<A: Number + Scalar<Accum = A>>(args: &Args) -> anyhow::Result<ExitCode> {
    let a = io::read::<A>(&args.matrix)?;
    let is_lsmr = args.method == Method::Lsmr;
    ensure!(
        is_lsmr || a.n_rows() == a.n_cols(),
        "{} rows and {} columns: only --method lsmr takes a matrix that is not square",
        a.n_rows(),
        a.n_cols()
    );
    ensure!(!(is_lsmr && args.precondition != Precondition::None), "lsmr takes no preconditioner");
    let context = args.device.open()?;
    let inverse = inverse(args, &context, &a)?;
    let matrix = match is_lsmr {
        true => context.prepare_with_adjoint(&a, &spmv::Options::default())?,
        false => context.prepare(&a)?,
    };
    let b = match &args.rhs {
        Some(file) => io::read_vector(file)?,
        None => matrix.multiply(&vec![A::one(); a.n_cols()])?,
    };
    let x0 = match &args.x0 {
        Some(file) => io::read_vector(file)?,
        None => vec![A::zero(); a.n_cols()],
    };
    files::expect_length("the right-hand side", b.len(), a.n_rows(), "rows")?;
    files::expect_length("x", x0.len(), a.n_cols(), "columns")?;
    let (b, mut x) = (context.upload(&b)?, context.upload(&x0)?);

    let mut options = options::<A>(args);
    let start = Instant::now();
    let report = with(args, &matrix, inverse.as_ref(), &b, &mut x, &mut options)?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(file) = &args.output {
        files::write(Some(file), &x.to_vec()?)?;
    }
    said(&context, &matrix, (&b, &x), &report, seconds)?;
    Ok(if report.has_converged() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// When to stop; a line for each check of the residual, where somebody sees it.
fn options<A: Number>(args: &Args) -> Options<'static, A::Part> {
    let default = Options::<A::Part>::default();
    let mut options = Options {
        relative: args.relative.map_or(default.relative, A::Part::from_f64),
        absolute: A::Part::from_f64(args.absolute),
        max_iterations: args.max_iterations,
        check_every: args.check_every,
        monitor: None,
    };
    if std::io::stderr().is_terminal() {
        options.on_check(|progress| {
            let (found, target) = (progress.residual.widen(), progress.target.widen());
            eprintln!("{:>8} iterations: residual {found:.3e}, to be {target:.3e}", progress.iteration);
            ControlFlow::Continue(())
        });
    }
    options
}

fn with<A: Number + Scalar<Accum = A>>(
    args: &Args,
    a: &Matrix<A>,
    inverse: Option<&Inverse<A>>,
    b: &Vector<A>,
    x: &mut Vector<A>,
    options: &mut Options<'_, A::Part>,
) -> anyhow::Result<Report<A::Part>> {
    macro_rules! by {
        ($method:expr) => {{
            let mut method = $method;
            match inverse {
                None => method.solve(a, b, x, options)?,
                Some(inverse) => method.solve_with(a, inverse, b, x, options)?,
            }
        }};
    }
    Ok(match args.method {
        Method::Cg => by!(ConjugateGradient::new(a)?),
        Method::PipelinedCg => by!(PipelinedConjugateGradient::new(a)?),
        Method::Minres => by!(Minres::new(a)?),
        Method::Bicgstab => by!(BiCgStab::new(a)?),
        Method::Gmres => by!(Gmres::new(a, args.restart)?),
        Method::Lsmr => lsmr(a, a.adjoint()?, b, x, options)?,
    })
}

/// What came of it, with the residual of `x` itself.
fn said<A: Number + Scalar<Accum = A>>(
    context: &Context,
    a: &Matrix<A>,
    (b, x): (&Vector<A>, &Vector<A>),
    report: &Report<A::Part>,
    seconds: f64,
) -> anyhow::Result<()> {
    let mut residual = b.try_clone()?;
    a.apply(-A::one(), x, A::one(), &mut residual)?;
    let [norm, of_b] = [residual.norm2()?.widen(), b.norm2()?.widen()];
    let ended = match report.stop {
        Stop::Converged => "converged",
        _ => "not converged",
    };
    let relative = if of_b > 0.0 { norm / of_b } else { norm };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{ended} after {} iterations in {seconds:.3} s on {}",
        report.iterations,
        device::named(context)
    )?;
    writeln!(out, "norm of b - A*x: {norm:.3e}, {relative:.3e} times that of b")?;
    Ok(())
}
