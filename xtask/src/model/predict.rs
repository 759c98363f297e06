//! `cargo xtask predict`: predicted and measured times of real matrices.

use std::collections::BTreeMap;
use std::path::PathBuf;

use spmv::{Csr, Dtype, Scalar, bf16, f16};
use spmv_model::{Format, Profile, Shape, Spread};

use super::{Scope, load, timing};
use crate::bench::Shelf;
use crate::bench::devices::{self, Place};
use crate::bench::inputs::{self, Input, Loaded};
use crate::bench::report::Cache;
use crate::bench::table::aligned;

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

/// D_r of each matrix, by format, spread and whether parts of strips are rounded up.
type Errors = BTreeMap<(&'static str, &'static str, bool), Vec<f64>>;

/// What is printed of a device and type of values.
#[derive(Default)]
struct Found {
    lines: Vec<Vec<String>>,
    errors: Errors,
    /// Matrix and layout.
    refused: Vec<String>,
}

/// Prints, for each device, type and matrix, times and how far they are from each other.
pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<()> {
    let inputs = inputs::select(&args.matrix, args.suite, None)?;
    let mut shelf = Shelf::new(Shelf::ROOM_BYTES);
    for (at, input) in inputs.iter().enumerate() {
        shelf.keep(at, input.load()?);
    }
    let mut n_predicted = 0;
    for place in devices::open(&args.scope.backend)? {
        let profile = match load(&args.scope.profile_path(&place)?, &place) {
            Ok(profile) => profile,
            Err(e) => {
                println!("{} is left out: {e}", place.label);
                continue;
            }
        };
        for &precision in &args.scope.precision {
            if let Some(why) = place.obstacle(precision, Cache::Warm) {
                println!("{why}");
                continue;
            }
            let is_fitted = |format| {
                args.scope.model.iter().any(|spread| profile.model(format, *spread, precision).is_some())
            };
            if !Format::ALL.into_iter().any(is_fitted) {
                println!(
                    "{} has no fit of {precision}; run `cargo xtask fit --precision {precision}`",
                    place.label
                );
                continue;
            }
            n_predicted += 1;
            match precision {
                Dtype::F16 => of_type::<f16>(args, &place, &profile, &inputs, &shelf)?,
                Dtype::Bf16 => of_type::<bf16>(args, &place, &profile, &inputs, &shelf)?,
                Dtype::F32 => of_type::<f32>(args, &place, &profile, &inputs, &shelf)?,
                Dtype::F64 => of_type::<f64>(args, &place, &profile, &inputs, &shelf)?,
            }
        }
    }
    anyhow::ensure!(n_predicted > 0, "nothing was predicted; run `cargo xtask fit` first");
    Ok(())
}

fn of_type<T: Scalar>(
    args: &PredictArgs,
    place: &Place,
    profile: &Profile,
    inputs: &[Input],
    shelf: &Shelf,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let header = ["matrix", "format", "P0", "us"].map(str::to_owned).into_iter();
    let header =
        header.chain(args.scope.model.iter().map(|spread| format!("{spread} us (D_r %, unrounded)")));
    let mut found = Found::default();
    for (at, input) in inputs.iter().enumerate() {
        shelf.with(at, input, |loaded| of_matrix::<T>(args, place, profile, loaded, &mut found))??;
    }
    let Found { lines, errors, refused } = found;
    let name = &place.context.caps().name;
    println!("{} on {} ({name}): measured and predicted time of one multiplication", T::DTYPE, place.label);
    println!("{}\n", aligned(header.collect(), lines));
    if !refused.is_empty() {
        println!("refused by the layout: {}\n", refused.join(", "));
    }
    println!(
        "D_r = |predicted - measured| / measured, percent, mean (median) over the matrices; the paper's beside"
    );
    println!("{}\n", averages(&errors));
    Ok(())
}

/// Every format of one matrix.
fn of_matrix<T: Scalar>(
    args: &PredictArgs,
    place: &Place,
    profile: &Profile,
    loaded: &Loaded,
    found: &mut Found,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let a: Csr<T> = loaded.matrix.map_values(T::from_f64);
    for format in Format::ALL {
        let Some(measured) = timing::seconds(place, format, &a, spmv::format::MAX_BLOW_UP)? else {
            found.refused.push(format!("{} {}", loaded.name, format.name()));
            continue;
        };
        // Some clocks do not see a matrix without entries.
        if measured <= 0.0 {
            continue;
        }
        let shape = Shape::of(format, a.view());
        let mut line = vec![
            loaded.name.clone(),
            format.name().to_owned(),
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
                found.errors.entry((format.name(), spread.name(), round_up)).or_default().push(error);
                (estimated, error)
            });
            line.push(format!("{:.1} ({:.1}, {:.1})", up.0 * 1e6, up.1, exact.1));
        }
        found.lines.push(line);
    }
    Ok(())
}

/// Mean and median for each format and spread, strips rounded up and not, beside the paper's.
fn averages(errors: &Errors) -> comfy_table::Table {
    let header = ["format", "spread", "matrices", "rounded up", "not rounded", "paper"].map(str::to_owned);
    let cell = |errors: &[f64]| {
        let mut sorted = errors.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        format!("{mean:.2} ({:.2})", sorted[sorted.len() / 2])
    };
    let mut lines = Vec::new();
    for (format, paper) in PAPER {
        for (spread, paper) in Spread::ALL.into_iter().zip(paper) {
            let of = |round_up| errors.get(&(format.name(), spread.name(), round_up));
            let (Some(up), Some(exact)) = (of(true), of(false)) else { continue };
            lines.push(vec![
                format.name().to_owned(),
                spread.to_string(),
                up.len().to_string(),
                cell(up),
                cell(exact),
                format!("{paper:.2}"),
            ]);
        }
    }
    aligned(header.to_vec(), lines)
}
