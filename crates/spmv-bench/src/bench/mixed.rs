//! `cargo xtask mixed`: values in narrower types than vectors, next to values in the type of the vectors.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use spmv::{BackendKind, Csr, DeviceKind, Dtype, Options, Real, Scalar, Types, Value, by_dtype, oracle};

use super::block_product::ON_GPU;
use super::devices::{self, Target};
use super::inputs::{self, Loaded};
use super::measure::{Eviction, Run, interleave};
use super::report::{Cache, distinct, mean_and_least};
use super::rows::Rows;
use super::stop::Stop;
use super::suites::SuiteArgs;

/// `cargo xtask mixed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Matrix Market files to multiply, or names of matrices of the suites.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    matrix: Vec<PathBuf>,
    #[command(flatten)]
    suites: SuiteArgs,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Types of vectors.
    #[arg(long, value_delimiter = ',', default_value = "f64,f32", value_parser = crate::precision::of_sums)]
    vectors: Vec<Dtype>,
    /// Timed runs of each contestant, at least.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
}

/// Nonzeros from which a matrix has a part in means of its own: no cache holds it.
const LARGE: usize = 20_000_000;

/// The time with values in the type of the vectors, over that with narrower values.
struct Ratio {
    device: String,
    value: Dtype,
    vector: Dtype,
    matrix: String,
    is_large: bool,
    over: f64,
}

/// A row for each matrix, pair of types and device, then means.
///
/// # Errors
/// If a device fails, or a result is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let stop = Stop::at_interrupt()?;
    let targets = devices::open(&args.backend)?;
    let (inputs, left_out) = inputs::select(&args.matrix, args.suites, None)?;
    left_out.iter().for_each(|what| eprintln!("{what}"));
    println!("times of products, warm; medians\n");
    let devices = targets.iter().map(|target| &*target.label);
    let rows = Rows::begin(&HEADER, inputs.iter().map(inputs::Input::name), devices);
    let mut ratios = Vec::new();
    for input in &inputs {
        let loaded = input.load()?;
        for vector in &args.vectors {
            for target in &targets {
                stop.check()?;
                if let Some(why) = target.obstacle(*vector, Cache::Warm) {
                    eprintln!("{why}");
                    continue;
                }
                let race = Race { args, target, loaded: &loaded, rows: &rows, stop };
                let found = match vector {
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

const HEADER: [&str; 8] = ["matrix", "nonzeros", "values", "vectors", "on", "us", "over them", "algorithm"];

/// Contestants of one device, for one matrix and one type of vectors.
struct Race<'a> {
    args: &'a Args,
    target: &'a Target,
    loaded: &'a Loaded,
    rows: &'a Rows,
    stop: &'a Stop,
}

impl Race<'_> {
    /// Values in the type of the vectors last.
    fn run<T: Real + Scalar>(&self) -> anyhow::Result<Vec<Ratio>> {
        let vector = <T as Value>::DTYPE;
        let pairs = Types::mixed().into_iter().filter(|types| types.vector == vector);
        let values = pairs.rev().map(|types| types.value).chain([vector]);
        let context = &self.target.context;
        let a: Csr<T> = self.loaded.matrix.map_values(T::from_f64);
        let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64((i % 7) as f64 - 3.0)).collect();
        let on_x = context.upload(&x)?;
        let together = if context.caps().kind == DeviceKind::Cpu { 1 } else { ON_GPU };
        let mut prepared = Vec::new();
        for value in values {
            match context.prepare_with(&a, &Options { values: Some(value), ..Options::default() }) {
                Ok(matrix) => prepared.push((value, matrix)),
                Err(e) => eprintln!("{}: {e}", self.loaded.name),
            }
        }
        let result = || Ok(RefCell::new(context.upload(&vec![T::from_f64(f64::NAN); a.n_rows()])?));
        let results = prepared.iter().map(|_| result()).collect::<spmv::Result<Vec<_>>>()?;
        let mut runs = Vec::new();
        for ((_, matrix), y) in prepared.iter().zip(&results) {
            let (mut queue, on_x) = (context.queue()?, &on_x);
            let run: Run<'_> = Box::new(move |batch, _| {
                let batch = batch * together;
                let start = Instant::now();
                let mut y = y.borrow_mut();
                (0..batch).try_for_each(|_| queue.apply(matrix, T::one(), on_x, T::zero(), &mut y))?;
                queue.wait()?;
                Ok(start.elapsed().as_secs_f64() / batch as f64)
            });
            runs.push(run);
        }
        let repeat = Some(usize::from(self.args.repeat));
        let spreads = interleave(&mut runs, Cache::Warm, repeat, &Eviction::none(), self.stop)?;
        drop(runs);
        let plain = prepared.iter().position(|(value, _)| *value == vector).map(|at| spreads[at].median);
        let plain = plain.context("no values in the type of the vectors")?;
        let mut ratios = Vec::new();
        for (((value, matrix), y), spread) in prepared.iter().zip(&results).zip(&spreads) {
            let kept = a.map_values(
                |val: T| by_dtype!(*value, V => T::from_parts(<V as Value>::from_parts(val.parts()).parts())),
            );
            let reference = oracle::multiply(kept.view(), 1.0, &x, 0.0, &vec![T::zero(); a.n_rows()]);
            let over = reference.error_over_bound(&y.borrow().to_vec()?);
            ensure!(over <= 1.0, "values in {value}: {over} times the bound of rounding errors");
            let of = Ratio {
                device: self.target.label.clone(),
                value: *value,
                vector,
                matrix: self.loaded.name.clone(),
                is_large: a.nnz() >= LARGE,
                over: plain / spread.median,
            };
            self.rows.print(&[
                of.matrix.clone(),
                a.nnz().to_string(),
                value.to_string(),
                vector.to_string(),
                of.device.clone(),
                format!("{:.1}", spread.median),
                format!("{:.2}x", of.over),
                matrix.plan().algorithm.to_string(),
            ]);
            ratios.extend(Some(of).filter(|of| of.value != vector));
        }
        Ok(ratios)
    }
}

/// Lines for each device and pair of types.
fn means(all: &[Ratio]) -> Vec<String> {
    let group = |one: &Ratio| (one.device.clone(), one.value, one.vector);
    let mut lines = Vec::new();
    for of in distinct(all.iter().map(group)) {
        let of_group = || all.iter().filter(|one| group(one) == of);
        // Of large matrices alone, one line says it.
        let both = if of_group().all(|one| one.is_large) { &[false][..] } else { &[false, true] };
        for large_only in both {
            let counts = of_group().filter(|one| one.is_large || !large_only);
            let ratios: Vec<_> = counts.map(|one| (one.over, &*one.matrix)).collect();
            let Some((mean, least, at)) = mean_and_least(&ratios) else { continue };
            let ((device, value, vector), n) = (&of, ratios.len());
            let which = if *large_only { " of 20 million nonzeros and more" } else { "" };
            lines.push(format!(
                "{device}, values in {value} with vectors in {vector}: {mean:.3}x values in {vector} (geometric mean of {n}{which}, least {least:.3}x, {at})"
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_timed_and_checked() {
        run(&Args {
            matrix: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/west0479.mtx.gz").into()],
            suites: SuiteArgs { suite: None, max_nnz: None },
            backend: vec![BackendKind::Cpu],
            vectors: vec![Dtype::F64, Dtype::F32],
            repeat: 1,
        })
        .unwrap();
    }

    #[test]
    fn means_are_of_a_pair_on_a_device_and_of_large_matrices_alone() {
        let ratio = |value, matrix: &str, is_large, over| {
            let (device, vector) = ("cpu".to_owned(), Dtype::F64);
            Ratio { device, value, vector, matrix: matrix.to_owned(), is_large, over }
        };
        let all = [
            ratio(Dtype::F32, "a", false, 1.0),
            ratio(Dtype::F32, "b", true, 4.0),
            ratio(Dtype::F16, "a", false, 3.0),
        ];
        let lines = means(&all);
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[0],
            "cpu, values in f32 with vectors in f64: 2.000x values in f64 (geometric mean of 2, least 1.000x, a)"
        );
        assert!(
            lines[1].contains("4.000x") && lines[1].contains("mean of 1 of 20 million nonzeros and more")
        );
        assert!(lines[2].contains("values in f16"), "{lines:?}");
    }
}
