//! `cargo xtask prepare`: what it costs to hand a matrix over, in products of it.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use spmv::{BackendKind, Csr, Dtype, Matrix, Options, plan::Algorithm};

use super::devices::{self, Target};
use super::inputs::{Class, MILLION};
use super::measure::median;
use super::report::Cache;
use super::stop::Stop;
use super::text::aligned;

/// `cargo xtask prepare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Millions of entries of each matrix, nearly.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=400))]
    millions: u32,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Times that each is done, in turn, after one that does not count.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

/// Products of a measurement.
const PRODUCTS: u32 = 10;

/// A row of the table for each matrix and device.
///
/// # Errors
/// If a device fails, or a product is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    of_entries(args, args.millions as usize * MILLION)
}

fn of_entries(args: &Args, nnz: usize) -> anyhow::Result<()> {
    let stop = Stop::at_interrupt()?;
    let targets = devices::open(&args.backend)?;
    let mut rows = Vec::new();
    for class in Class::ALL {
        let (name, a) = (class.name(), class.generate(nnz)?);
        for target in &targets {
            match target.obstacle(Dtype::F64, Cache::Warm) {
                Some(why) => eprintln!("{why}"),
                None => {
                    let times = (0..=args.repeat).map(|_| {
                        stop.check()?;
                        Times::measure(target, &a).with_context(|| format!("{}, {name}", target.label))
                    });
                    rows.push(row(name, target, &a, times.collect::<anyhow::Result<Vec<_>>>()?));
                }
            }
        }
    }
    let header = [
        "matrix",
        "entries",
        "by",
        "runs",
        "product, ms",
        "prepare",
        "given, runs",
        "product, ms",
        "Csr::new",
        "prepare_owned",
        "set_values",
        "set_values over a copy",
        "again",
    ];
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "f64 matrices; medians of {}; times behind a product are in products of the matrix, but for the last two columns\n",
        args.repeat
    )?;
    writeln!(out, "{}", aligned(header.map(str::to_owned).to_vec(), rows))?;
    writeln!(out, "\n{}", super::machine::lines())?;
    Ok(())
}

/// Seconds, and what multiplies.
struct Times {
    /// By the matrix that is copied, and by the one that is given away.
    runs: [Algorithm; 2],
    products: [f64; 2],
    new: f64,
    prepare: f64,
    prepare_owned: f64,
    /// The first call, which may make a table of where values go, and the second.
    set_values: [f64; 2],
    copy: f64,
}

impl Times {
    fn measure(target: &Target, a: &Csr<f64>) -> anyhow::Result<Self> {
        let (context, options) = (&target.context, Options::default());
        let (n_rows, n_cols) = (a.n_rows(), a.n_cols());
        let (row_ptr, cols, vals) = a.clone().into_parts();
        let (new, owned) = timed(|| Ok(Csr::new(n_rows, n_cols, row_ptr, cols, vals)?))?;
        let (prepare, prepared) = timed(|| Ok(context.prepare(a)?))?;
        let (of_copied, y_of_copied) = product(&prepared)?;
        let copied_runs = prepared.plan().algorithm;
        drop(prepared);
        let (prepare_owned, mut prepared) = timed(|| Ok(context.prepare_owned(owned, &options)?))?;
        let (of_given, y) = product(&prepared)?;
        let (runs, products) = ([copied_runs, prepared.plan().algorithm], [of_copied, of_given]);
        // Sums may be in another order.
        let are_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        ensure!(
            y_of_copied.iter().zip(&y).all(are_close),
            "the products of a matrix that is copied and of one that is given differ"
        );
        let mut to = vec![0.0; a.nnz()];
        let (first, ()) = timed(|| Ok(prepared.set_values(a.vals())?))?;
        let (again, ()) = timed(|| Ok(prepared.set_values(a.vals())?))?;
        to.copy_from_slice(a.vals());
        let (copy, ()) = timed(|| {
            to.copy_from_slice(std::hint::black_box(a.vals()));
            Ok(())
        })?;
        std::hint::black_box(to);
        Ok(Self { runs, products, new, prepare, prepare_owned, set_values: [first, again], copy })
    }
}

fn timed<R>(work: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<(f64, R)> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}

/// Seconds of a product, and its result.
fn product(a: &Matrix<f64>) -> anyhow::Result<(f64, Vec<f64>)> {
    let x: Vec<f64> = (0..a.n_cols()).map(|i| (i % 7) as f64).collect();
    let (x, mut y, mut queue) = (a.context().upload(&x)?, a.zeros_y()?, a.context().queue()?);
    queue.apply(a, 1.0, &x, 0.0, &mut y)?;
    queue.wait()?;
    let start = Instant::now();
    (0..PRODUCTS).try_for_each(|_| queue.apply(a, 1.0, &x, 0.0, &mut y))?;
    queue.wait()?;
    let seconds = start.elapsed().as_secs_f64() / f64::from(PRODUCTS);
    Ok((seconds, y.to_vec()?))
}

fn row(name: &str, target: &Target, a: &Csr<f64>, times: Vec<Times>) -> Vec<String> {
    let median = |of: &dyn Fn(&Times) -> f64| median(times[1..].iter().map(of).collect());
    let [copied, given] = [0, 1].map(|at: usize| {
        let ms = format!("{:.2}", median(&|t| t.products[at]) * 1e3);
        let in_products = move |of: fn(&Times) -> f64| format!("{:.2}", median(&|t| of(t) / t.products[at]));
        (times[0].runs[at].to_string(), ms, in_products)
    });
    vec![
        name.to_owned(),
        a.nnz().to_string(),
        target.label.clone(),
        copied.0,
        copied.1,
        copied.2(|t| t.prepare),
        given.0,
        given.1,
        given.2(|t| t.new),
        given.2(|t| t.prepare_owned),
        given.2(|t| t.set_values[0]),
        format!("{:.2}", median(&|t| t.set_values[0] / t.copy)),
        format!("{:.2}", median(&|t| t.set_values[1] / t.copy)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_that_are_given_multiply_as_copies_do() {
        let args = Args { millions: 1, backend: vec![BackendKind::Cpu], repeat: 1 };
        of_entries(&args, 200_000).unwrap();
    }
}
