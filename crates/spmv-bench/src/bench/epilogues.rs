//! `cargo xtask epilogues`: products that add to another vector or clamp in the same pass, next to passes of their own.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use spmv::{BackendKind, Csr, DeviceKind, Dtype, Epilogue, Queue, Real, Scalar, Value, Vector, oracle};

use super::block_product::ON_GPU;
use super::devices::{self, Target};
use super::inputs::{self, Loaded};
use super::measure::{Eviction, Run, interleave};
use super::report::{Cache, distinct, mean_and_least};
use super::rows::Rows;
use super::stop::Stop;
use super::suites::SuiteArgs;

/// `cargo xtask epilogues`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Square Matrix Market files to multiply, or names of matrices of the suites.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    matrix: Vec<PathBuf>,
    #[command(flatten)]
    suites: SuiteArgs,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Types of values.
    #[arg(long, value_delimiter = ',', default_value = "f64,f32", value_parser = crate::precision::of_sums)]
    precision: Vec<Dtype>,
    /// Timed runs of each contestant, at least.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
}

/// What is done besides a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `y <- b - A*x`.
    Residual,
    /// `y <- A*x`, no less than 0.
    Clamp,
}

const KINDS: [Kind; 2] = [Kind::Residual, Kind::Clamp];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Residual => "b - A*x",
            Kind::Clamp => "max(A*x, 0)",
        }
    }
}

/// Time with passes over time in one pass.
struct Ratio {
    device: String,
    dtype: Dtype,
    kind: Kind,
    matrix: String,
    over: f64,
}

/// A row for each matrix, type, device and epilogue, then means.
///
/// # Errors
/// If a device fails, or a result is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let stop = Stop::at_interrupt()?;
    let targets = devices::open(&args.backend)?;
    let (inputs, left_out) = inputs::select(&args.matrix, args.suites, None)?;
    left_out.iter().for_each(|what| eprintln!("{what}"));
    println!("times of products with an epilogue, warm; medians\n");
    let devices = targets.iter().map(|target| &*target.label);
    let rows = Rows::begin(&HEADER, inputs.iter().map(inputs::Input::name), devices);
    let mut ratios = Vec::new();
    for input in &inputs {
        let loaded = input.load()?;
        if loaded.matrix.n_rows() != loaded.matrix.n_cols() {
            eprintln!("{}: left out, not square", loaded.name);
            continue;
        }
        for dtype in &args.precision {
            for target in &targets {
                stop.check()?;
                if let Some(why) = target.obstacle(*dtype, Cache::Warm) {
                    eprintln!("{why}");
                    continue;
                }
                let race = Race { args, target, loaded: &loaded, rows: &rows, stop };
                let found = match dtype {
                    Dtype::F32 => race.run::<f32>(),
                    _ => race.run::<f64>(),
                };
                ratios.extend(found.with_context(|| loaded.name.clone())?);
            }
        }
    }
    println!();
    means(&ratios).iter().for_each(|line| println!("{line}"));
    println!("\nmachine: {}\ncommit: {}", super::machine(), super::commit());
    Ok(())
}

const HEADER: [&str; 8] = ["matrix", "nonzeros", "type", "on", "epilogue", "us", "over passes", "algorithm"];

/// Contestants of one device, for one matrix and type.
struct Race<'a> {
    args: &'a Args,
    target: &'a Target,
    loaded: &'a Loaded,
    rows: &'a Rows,
    stop: &'a Stop,
}

impl Race<'_> {
    /// Each epilogue in the pass of the product, then in passes of its own.
    fn run<T: Real + Scalar>(&self) -> anyhow::Result<Vec<Ratio>> {
        let context = &self.target.context;
        let a: Csr<T> = self.loaded.matrix.map_values(T::from_f64);
        let matrix = context.prepare(&a)?;
        let vector = |shift: usize| -> Vec<T> {
            (0..a.n_rows()).map(|i| T::from_f64(((i + shift) % 7) as f64 - 3.0)).collect()
        };
        let (x, b) = (vector(0), vector(3));
        let (on_x, on_b) = (context.upload(&x)?, context.upload(&b)?);
        let together = if context.caps().kind == DeviceKind::Cpu { 1 } else { ON_GPU };
        let contestants: Vec<(Kind, bool)> =
            KINDS.into_iter().flat_map(|kind| [(kind, true), (kind, false)]).collect();
        let result = || Ok(RefCell::new(context.upload(&vec![T::from_f64(f64::NAN); a.n_rows()])?));
        let results = contestants.iter().map(|_| result()).collect::<spmv::Result<Vec<_>>>()?;
        let mut runs = Vec::new();
        for ((kind, in_pass), y) in contestants.iter().zip(&results) {
            let (mut queue, on_x, on_b, matrix) = (context.queue()?, &on_x, &on_b, &matrix);
            let (one, zero) = (T::one(), T::zero());
            let once = move |queue: &mut Queue, y: &mut Vector<T>| match (kind, in_pass) {
                (Kind::Residual, true) => {
                    queue.apply_with(matrix, -one, on_x, one, y, Epilogue::new().plus(on_b))
                }
                (Kind::Residual, false) => {
                    queue.copy(on_b, y)?;
                    queue.apply(matrix, -one, on_x, one, y)
                }
                (Kind::Clamp, true) => {
                    let bounds = Epilogue::new().clamp(zero, T::infinity());
                    queue.apply_with(matrix, one, on_x, zero, y, bounds)
                }
                (Kind::Clamp, false) => {
                    queue.apply(matrix, one, on_x, zero, y)?;
                    queue.clamp(zero, T::infinity(), y)
                }
            };
            let run: Run<'_> = Box::new(move |batch, _| {
                let batch = batch * together;
                let start = Instant::now();
                let mut y = y.borrow_mut();
                (0..batch).try_for_each(|_| once(&mut queue, &mut y))?;
                queue.wait()?;
                Ok(start.elapsed().as_secs_f64() / batch as f64)
            });
            runs.push(run);
        }
        let repeat = Some(usize::from(self.args.repeat));
        let spreads = interleave(&mut runs, Cache::Warm, repeat, &Eviction::none(), self.stop)?;
        drop(runs);
        self.check(&a, [&x, &b], &contestants, &results)?;
        let mut ratios = Vec::new();
        for ((kind, _), spreads) in contestants.iter().step_by(2).zip(spreads.chunks(2)) {
            let of = Ratio {
                device: self.target.label.clone(),
                dtype: <T as Value>::DTYPE,
                kind: *kind,
                matrix: self.loaded.name.clone(),
                over: spreads[1].median / spreads[0].median,
            };
            self.rows.print(&[
                of.matrix.clone(),
                a.nnz().to_string(),
                of.dtype.to_string(),
                of.device.clone(),
                kind.name().to_owned(),
                format!("{:.1}", spreads[0].median),
                format!("{:.2}x", of.over),
                matrix.plan().algorithm.to_string(),
            ]);
            ratios.push(of);
        }
        Ok(ratios)
    }

    /// Compares what each left with the oracle.
    fn check<T: Real + Scalar>(
        &self,
        a: &Csr<T>,
        [x, b]: [&[T]; 2],
        contestants: &[(Kind, bool)],
        results: &[RefCell<Vector<T>>],
    ) -> anyhow::Result<()> {
        for ((kind, in_pass), y) in contestants.iter().zip(results) {
            let (alpha, beta) = if *kind == Kind::Residual { (-1.0, 1.0) } else { (1.0, 0.0) };
            let mut reference = oracle::multiply(a.view(), alpha, x, beta, b);
            if *kind == Kind::Clamp {
                reference.y.iter_mut().for_each(|y| *y = y.max(0.0));
            }
            let over = reference.error_over_bound(&y.borrow().to_vec()?);
            ensure!(
                over <= 1.0,
                "{}, in one pass: {in_pass}: {over} times the bound of rounding errors",
                kind.name()
            );
        }
        Ok(())
    }
}

/// A line for each device, type and epilogue.
fn means(all: &[Ratio]) -> Vec<String> {
    let group = |one: &Ratio| (one.device.clone(), one.dtype, one.kind);
    let lines = distinct(all.iter().map(group)).into_iter().filter_map(|of| {
        let ratios: Vec<_> = all.iter().filter(|one| group(one) == of).map(|one| (one.over, &*one.matrix)).collect();
        let (mean, least, at) = mean_and_least(&ratios)?;
        let (device, dtype, kind) = &of;
        Some(format!(
            "{device}, {dtype}, {}: {mean:.3}x the speed with passes (geometric mean of {}, least {least:.3}x, {at})",
            kind.name(),
            ratios.len()
        ))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epilogue_is_timed_and_checked() {
        run(&Args {
            matrix: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/west0479.mtx.gz").into()],
            suites: SuiteArgs { suite: None, max_nnz: None },
            backend: vec![BackendKind::Cpu],
            precision: vec![Dtype::F32],
            repeat: 1,
        })
        .unwrap();
    }
}
