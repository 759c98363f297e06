//! `cargo xtask predict`: predicted and measured times of real matrices.

use std::collections::BTreeMap;
use std::path::PathBuf;

use spmv::{Algorithm, Csr, Options, Profile, RowStats, Scalar, by_dtype};
use spmv_model::{Format, Shape, Spread};

use super::scope::{Scope, algorithms};
use super::timing::{self, Runs};
use crate::bench::MatrixCache;
use crate::bench::devices::{self, Target};
use crate::bench::inputs::{self, Input, Loaded};
use crate::bench::report::Cache;
use crate::bench::text::aligned;

/// `cargo xtask predict`.
#[derive(Debug, clap::Args)]
pub(crate) struct PredictArgs {
    /// Matrix Market files; those in tests/data and two of the suite, without it.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    matrix: Vec<PathBuf>,
    /// The 20 matrices of Liu & Vinter's Table 3; 17 of them are twins.
    #[arg(long)]
    suite: bool,
    #[command(flatten)]
    scope: Scope,
}

/// Mean D_r in percent of the paper: fixed, uniform, normal (Wang, Gu & Li 2017, section 4).
const PAPER: [(Format, [f64; 3]); 4] = [
    (Format::CsrVector, [5.05, 2.56, 2.42]),
    (Format::CsrScalar, [5.44, 3.21, 3.52]),
    (Format::Ell, [5.79, 3.53, 3.26]),
    (Format::Jad, [5.97, 4.28, 3.94]),
];

/// D_r of each matrix, by format, spread and whether parts of waves are rounded up; and whether the matrix is as the paper's
/// models see one.
type Errors = BTreeMap<(Format, &'static str, bool), Vec<(f64, bool)>>;

/// Longest row over the mean up to which rows count as of one length.
const EVEN: f64 = 2.0;

/// What is printed of a device and type of values.
#[derive(Default)]
struct Found {
    lines: Vec<Vec<String>>,
    errors: Errors,
    /// Of the models beyond the paper: a line for each matrix, and D_r for each algorithm.
    by_rates: Vec<Vec<String>>,
    off_by_rates: BTreeMap<&'static str, Vec<f64>>,
    /// Matrix and layout.
    refused: Vec<String>,
}

/// Prints, for each device, type and matrix, times and how far they are from each other.
pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<()> {
    let inputs = inputs::select(&args.matrix, args.suite, None)?;
    let mut matrix_cache = MatrixCache::new(MatrixCache::CAPACITY_BYTES);
    for (at, input) in inputs.iter().enumerate() {
        matrix_cache.keep(at, input.load()?);
    }
    let mut n_predicted = 0;
    for target in devices::open(&args.scope.backend)? {
        for &precision in &args.scope.precision {
            if let Some(why) = target.obstacle(precision, Cache::Warm) {
                println!("{why}");
                continue;
            }
            let Some(profile) = target.context.profile(precision) else {
                println!(
                    "{} has no fit of {precision}; run `cargo xtask fit --precision {precision}`",
                    target.label
                );
                continue;
            };
            if profile.is_built_in() {
                println!(
                    "{} has no fit of {precision}; times are predicted by the built-in profile",
                    target.label
                );
            }
            n_predicted += 1;
            by_dtype!(precision, T => of_type::<T>(args, &target, profile, &inputs, &matrix_cache))?;
        }
    }
    anyhow::ensure!(n_predicted > 0, "nothing was predicted; run `cargo xtask fit` first");
    Ok(())
}

fn of_type<T: Scalar>(
    args: &PredictArgs,
    target: &Target,
    profile: &Profile,
    inputs: &[Input],
    matrix_cache: &MatrixCache,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let header = ["matrix", "format", "P0", "us"].map(str::to_owned).into_iter();
    let header =
        header.chain(args.scope.model.iter().map(|spread| format!("{spread} us (D_r %, unrounded)")));
    let mut found = Found::default();
    for (at, input) in inputs.iter().enumerate() {
        matrix_cache
            .with(at, input, |loaded| of_matrix::<T>(args, target, profile, loaded, &mut found))??;
    }
    let Found { lines, errors, by_rates, off_by_rates, refused } = found;
    let name = &target.context.caps().name;
    if !lines.is_empty() {
        println!(
            "{} on {} ({name}): measured and predicted time of one multiplication",
            T::DTYPE,
            target.label
        );
        println!("{}\n", aligned(header.collect(), lines));
        println!(
            "D_r = |predicted - measured| / measured, percent, mean (median) over the matrices, and over those (how many) \
             that fill a wave with rows of up to twice the mean; the paper's too"
        );
        println!("{}\n", averages(&errors));
    }
    if !refused.is_empty() {
        println!("refused by the layout: {}\n", refused.join(", "));
    }
    println!(
        "{} on {} ({name}): measured (predicted) us of every algorithm as planned; * is what auto takes",
        T::DTYPE,
        target.label
    );
    let names = algorithms().map(Algorithm::name);
    let header = std::iter::once("matrix").chain(names.clone()).map(str::to_owned).collect();
    let mut means = vec!["D_r %, mean (median)".to_owned()];
    means.extend(names.map(|name| mean_and_median(off_by_rates.get(name).map_or(&[], Vec::as_slice))));
    println!("{}\n", aligned(header, by_rates.into_iter().chain([means]).collect()));
    Ok(())
}

/// Every algorithm of one matrix, as it is planned.
fn by_rates<T: Scalar>(target: &Target, name: &str, a: &Csr<T>, found: &mut Found) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let auto = target.context.plan(a, &Options::default())?;
    let mut line = vec![name.to_owned()];
    for algorithm in algorithms() {
        let options = Options { algorithm, ..Options::default() };
        let times = timing::of(target, &options, a)?.map(Runs::median).filter(|seconds| *seconds > 0.0);
        let predicted = auto.candidates.iter().find(|c| c.algorithm == algorithm).map(|c| c.seconds);
        let mark = if algorithm == auto.algorithm { "*" } else { "" };
        line.push(match (times, predicted) {
            (Some(measured), Some(predicted)) => {
                let error = 100.0 * (predicted - measured).abs() / measured;
                found.off_by_rates.entry(algorithm.name()).or_default().push(error);
                format!("{mark}{:.1} ({:.1})", measured * 1e6, predicted * 1e6)
            }
            (Some(measured), None) => format!("{mark}{:.1}", measured * 1e6),
            (None, _) => "-".into(),
        });
    }
    found.by_rates.push(line);
    Ok(())
}

/// Every format of one matrix.
fn of_matrix<T: Scalar>(
    args: &PredictArgs,
    target: &Target,
    profile: &Profile,
    loaded: &Loaded,
    found: &mut Found,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let a: Csr<T> = loaded.matrix.map_values(T::from_f64);
    by_rates(target, &loaded.name, &a, found)?;
    let is_fitted =
        |format: &Format| args.scope.model.iter().any(|s| profile.model(*format, *s, T::DTYPE).is_some());
    let rows = RowStats::of(a.view());
    for format in Format::ALL.into_iter().filter(is_fitted) {
        let Some(runs) = timing::of_format(target, format, &a, spmv::format::MAX_BLOW_UP)? else {
            found.refused.push(format!("{} {format}", loaded.name));
            continue;
        };
        let measured = runs.mean();
        // Some timestamps do not see a matrix without entries.
        if measured <= 0.0 {
            continue;
        }
        let shape = Shape::of(format, a.view());
        let fills = shape.n_rows >= format.wave_rows(target.context.caps());
        let is_modelled = fills && rows.max as f64 <= EVEN * rows.mean;
        let mut line = vec![
            loaded.name.clone(),
            format.to_string(),
            format!("{:.0}", shape.per_row),
            format!("{:.1}", measured * 1e6),
        ];
        for &spread in &args.scope.model {
            let Some(model) = profile.model(format, spread, T::DTYPE) else {
                line.push("-".into());
                continue;
            };
            let [up, exact] = [true, false].map(|round_up| {
                let estimated = model.seconds(&shape, round_up);
                let error = 100.0 * (estimated - measured).abs() / measured;
                found.errors.entry((format, spread.name(), round_up)).or_default().push((error, is_modelled));
                (estimated, error)
            });
            line.push(format!("{:.1} ({:.1}, {:.1})", up.0 * 1e6, up.1, exact.1));
        }
        found.lines.push(line);
    }
    Ok(())
}

fn mean_and_median(errors: &[f64]) -> String {
    if errors.is_empty() {
        return "-".into();
    }
    let mut sorted = errors.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    format!("{mean:.2} ({:.2})", sorted[sorted.len() / 2])
}

/// Mean and median for each format and spread, waves rounded up and not, with the paper's.
fn averages(errors: &Errors) -> comfy_table::Table {
    let header = [
        "format",
        "spread",
        "matrices",
        "rounded up",
        "not rounded",
        "even",
        "rounded up",
        "not rounded",
        "paper",
    ];
    let all = |errors: &[(f64, bool)]| mean_and_median(&errors.iter().map(|e| e.0).collect::<Vec<_>>());
    let even = |errors: &[(f64, bool)]| errors.iter().filter(|e| e.1).map(|e| e.0).collect::<Vec<_>>();
    let mut lines = Vec::new();
    for (format, paper) in PAPER {
        for (spread, paper) in Spread::ALL.into_iter().zip(paper) {
            let of = |round_up| errors.get(&(format, spread.name(), round_up));
            let (Some(up), Some(exact)) = (of(true), of(false)) else { continue };
            lines.push(vec![
                format.to_string(),
                spread.to_string(),
                up.len().to_string(),
                all(up),
                all(exact),
                even(up).len().to_string(),
                mean_and_median(&even(up)),
                mean_and_median(&even(exact)),
                format!("{paper:.2}"),
            ]);
        }
    }
    aligned(header.map(str::to_owned).to_vec(), lines)
}
