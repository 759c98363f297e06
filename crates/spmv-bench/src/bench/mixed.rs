//! `cargo xtask mixed`: values in narrower types than vectors, next to values in the type of the vectors.

use std::cell::RefCell;

use anyhow::{Context as _, ensure};
use spmv::{Csr, Dtype, Options, Real, Scalar, Types, Value, by_dtype, oracle};

use super::Ending;
use super::races::{Contestant, Race, RaceArgs, mean_line};
use super::report::distinct;

/// `cargo xtask mixed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    race: RaceArgs,
    /// Types of vectors.
    #[arg(long, value_delimiter = ',', default_value = "f64,f32", value_parser = crate::precision::of_sums)]
    vectors: Vec<Dtype>,
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
pub(crate) fn run(args: &Args) -> anyhow::Result<Ending> {
    let each = |race: &Race<'_>, vector| match vector {
        Dtype::F32 => of::<f32>(race),
        _ => of::<f64>(race),
    };
    args.race.open()?.run("times of products", &HEADER, &args.vectors, each, means)
}

const HEADER: [&str; 8] = ["matrix", "nonzeros", "values", "vectors", "on", "us", "over them", "algorithm"];

/// Each narrower type of values, then the type of the vectors.
fn of<T: Real + Scalar>(race: &Race<'_>) -> anyhow::Result<Vec<Ratio>> {
    let vector = <T as Value>::DTYPE;
    let pairs = Types::mixed().into_iter().filter(|types| types.vector == vector);
    let values = pairs.rev().map(|types| types.value).chain([vector]);
    let context = &race.target.context;
    let a: Csr<T> = race.loaded.matrix.map_values(T::from_f64);
    let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64((i % 7) as f64 - 3.0)).collect();
    let on_x = &context.upload(&x)?;
    let mut prepared = Vec::new();
    for value in values {
        match context.prepare_with(&a, &Options { values: Some(value), ..Options::default() }) {
            Ok(matrix) => prepared.push((value, matrix)),
            Err(e) => eprintln!("{}: {e}", race.loaded.name),
        }
    }
    let result = || Ok(RefCell::new(context.upload(&vec![T::from_f64(f64::NAN); a.n_rows()])?));
    let results = prepared.iter().map(|_| result()).collect::<spmv::Result<Vec<_>>>()?;
    let contestants = prepared.iter().zip(&results).map(|((_, matrix), y)| -> Contestant<'_> {
        Box::new(move |queue| queue.apply(matrix, T::one(), on_x, T::zero(), &mut y.borrow_mut()))
    });
    let spreads = race.times(contestants.collect())?;
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
            device: race.target.label.clone(),
            value: *value,
            vector,
            matrix: race.loaded.name.clone(),
            is_large: a.nnz() >= LARGE,
            over: plain / spread.median,
        };
        race.print(&[
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
            let (device, value, vector) = &of;
            let what = format!("{device}, values in {value} with vectors in {vector}");
            let which = if *large_only { " of 20 million nonzeros and more" } else { "" };
            lines.extend(mean_line(&what, &format!("values in {vector}"), which, &ratios));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_timed_and_checked() {
        run(&Args { race: RaceArgs::of_a_test(), vectors: vec![Dtype::F64, Dtype::F32] }).unwrap();
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
