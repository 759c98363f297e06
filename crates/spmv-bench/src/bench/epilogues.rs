//! `cargo xtask epilogues`: products that add to another vector or clamp in the same pass, next to passes of their own.

use std::cell::RefCell;

use anyhow::ensure;
use spmv::{Csr, Dtype, Epilogue, Real, Scalar, Value, Vector, oracle};

use super::Ending;
use super::races::{Contestant, Race, RaceArgs, mean_line};
use super::report::distinct;

/// `cargo xtask epilogues`. Matrices that are not square are left out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    race: RaceArgs,
    /// Types of values.
    #[arg(long, value_delimiter = ',', default_value = "f64,f32", value_parser = crate::precision::of_sums)]
    precision: Vec<Dtype>,
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
pub(crate) fn run(args: &Args) -> anyhow::Result<Ending> {
    let title = "times of products with an epilogue";
    let each = |race: &Race<'_>, dtype| match dtype {
        Dtype::F32 => of::<f32>(race),
        _ => of::<f64>(race),
    };
    args.race.open()?.run(title, &HEADER, &args.precision, each, means)
}

const HEADER: [&str; 8] = ["matrix", "nonzeros", "type", "on", "epilogue", "us", "over passes", "algorithm"];

/// Each epilogue in the pass of the product, then in passes of its own.
fn of<T: Real + Scalar>(race: &Race<'_>) -> anyhow::Result<Vec<Ratio>> {
    let context = &race.target.context;
    let a: Csr<T> = race.loaded.matrix.map_values(T::from_f64);
    let matrix = context.prepare(&a)?;
    let vector = |shift: usize| -> Vec<T> {
        (0..a.n_rows()).map(|i| T::from_f64(((i + shift) % 7) as f64 - 3.0)).collect()
    };
    let (x, b) = (vector(0), vector(3));
    let (on_x, on_b) = (&context.upload(&x)?, &context.upload(&b)?);
    let ways: Vec<(Kind, bool)> = KINDS.into_iter().flat_map(|kind| [(kind, true), (kind, false)]).collect();
    let result = || Ok(RefCell::new(context.upload(&vec![T::from_f64(f64::NAN); a.n_rows()])?));
    let results = ways.iter().map(|_| result()).collect::<spmv::Result<Vec<_>>>()?;
    let (one, zero) = (T::one(), T::zero());
    let contestants = ways.iter().zip(&results).map(|((kind, in_pass), y)| -> Contestant<'_> {
        let matrix = &matrix;
        match (kind, in_pass) {
            (Kind::Residual, true) => Box::new(move |queue| {
                queue.apply_with(matrix, -one, on_x, one, &mut y.borrow_mut(), Epilogue::new().plus(on_b))
            }),
            (Kind::Residual, false) => Box::new(move |queue| {
                let mut y = y.borrow_mut();
                queue.copy(on_b, &mut y)?;
                queue.apply(matrix, -one, on_x, one, &mut y)
            }),
            (Kind::Clamp, true) => Box::new(move |queue| {
                let bounds = Epilogue::new().clamp(zero, T::infinity());
                queue.apply_with(matrix, one, on_x, zero, &mut y.borrow_mut(), bounds)
            }),
            (Kind::Clamp, false) => Box::new(move |queue| {
                let mut y = y.borrow_mut();
                queue.apply(matrix, one, on_x, zero, &mut y)?;
                queue.clamp(zero, T::infinity(), &mut y)
            }),
        }
    });
    let spreads = race.times(contestants.collect())?;
    check(&a, [&x, &b], &ways, &results)?;
    let mut ratios = Vec::new();
    for ((kind, _), spreads) in ways.iter().step_by(2).zip(spreads.chunks(2)) {
        let of = Ratio {
            device: race.target.label.clone(),
            dtype: <T as Value>::DTYPE,
            kind: *kind,
            matrix: race.loaded.name.clone(),
            over: spreads[1].median / spreads[0].median,
        };
        race.print(&[
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
    a: &Csr<T>,
    [x, b]: [&[T]; 2],
    ways: &[(Kind, bool)],
    results: &[RefCell<Vector<T>>],
) -> anyhow::Result<()> {
    for ((kind, in_pass), y) in ways.iter().zip(results) {
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

/// A line for each device, type and epilogue.
fn means(all: &[Ratio]) -> Vec<String> {
    let group = |one: &Ratio| (one.device.clone(), one.dtype, one.kind);
    let lines = distinct(all.iter().map(group)).into_iter().filter_map(|of| {
        let ratios: Vec<_> =
            all.iter().filter(|one| group(one) == of).map(|one| (one.over, &*one.matrix)).collect();
        let (device, dtype, kind) = &of;
        let what = format!("{device}, {dtype}, {}", kind.name());
        mean_line(&what, "the speed with passes", "", &ratios)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epilogue_is_timed_and_checked() {
        run(&Args { race: RaceArgs::of_a_test(), precision: vec![Dtype::F32] }).unwrap();
    }
}
