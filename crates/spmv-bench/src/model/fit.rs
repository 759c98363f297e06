//! `cargo xtask fit`: generated matrices, their times, and lines through them.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::Context as _;
use spmv::{BackendKind, Csr, Profile, Scalar, Value, by_dtype};
use spmv_io::generate::{ColumnModel, RowLengths};
use spmv_model::{Fitted, Format, Grid, Model, Point, ProfileError, Sample, Spread};

use super::scope::{Scope, profile_path, progress, square};
use super::{rates, timing};
use crate::bench::devices::{self, Target};
use crate::bench::report::Cache;

/// The profile that is built in.
const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spmv-model/src/cpu.json");

/// Every generated matrix comes from it, its position in the grid and its spread.
const SEED: u64 = 2017;

/// I times P of the largest matrix, unless one says otherwise: several row lengths for up to ten waves; and where it is to
/// be quick.
const ENTRIES_OF_A_LANE: u64 = 80;
const FEW_ENTRIES_OF_A_LANE: u64 = 40;

/// `cargo xtask fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    scope: Scope,
    /// Fewer matrices: under 30 seconds.
    #[arg(long)]
    quick: bool,
    /// Megabytes of the largest matrix in CSR form, beyond which points of the grid are left out; without it, what the
    /// device's waves need, and 64 at least.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..1_000_000))]
    megabytes: Option<u64>,
    /// Only the rates that plans compare, not the lines of the paper.
    #[arg(long)]
    rates_only: bool,
    /// Writes the rates of the cpu backend, which is the only one fitted, to the profile that is built in.
    #[arg(long)]
    built_in: bool,
}

/// Fits every device and says where the profiles are; one that fails does not keep the others from it.
pub(crate) fn fit(args: &FitArgs) -> anyhow::Result<()> {
    let backends = if args.built_in { &[BackendKind::Cpu][..] } else { &args.scope.backend };
    let mut failed = Vec::new();
    for target in devices::open(backends)? {
        if let Err(e) = of_device(args, &target) {
            eprintln!("{}: {e:#}", target.label);
            failed.push(target.label);
        }
    }
    anyhow::ensure!(failed.is_empty(), "not fitted: {}", failed.join(", "));
    Ok(())
}

fn of_device(args: &FitArgs, target: &Target) -> anyhow::Result<()> {
    let start = Instant::now();
    let path = profile_path(target)?;
    let caps = target.context.caps();
    let mut profile = match Profile::kept(target.context.backend().name(), caps) {
        Ok(kept) => kept.unwrap_or_else(|| Profile::new(caps)),
        Err(e @ ProfileError::Io { .. }) => return Err(e.into()),
        Err(e) => {
            eprintln!("{e}; nothing of it is kept");
            Profile::new(caps)
        }
    };
    for &precision in &args.scope.precision {
        if let Some(why) = target.obstacle(precision, Cache::Warm) {
            println!("{why}");
            continue;
        }
        by_dtype!(precision, T => of_type::<T>(args, target, &mut profile))?;
        profile.save(&path)?;
    }
    if args.built_in {
        profile.to_built_in().save(BUILT_IN.as_ref())?;
    }
    let (label, seconds) = (&target.label, start.elapsed().as_secs_f64());
    println!("{label}: {}, {seconds:.0} s; {}", caps.name, path.display());
    Ok(())
}

/// One type of values: the paper's lines, and the rates of all algorithms.
fn of_type<T: Scalar>(args: &FitArgs, target: &Target, profile: &mut Profile) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    if !args.rates_only {
        args.scope.model.iter().try_for_each(|spread| lines::<T>(args, target, *spread, profile))?;
    }
    for rates in rates::of_type::<T>(target, args.quick)? {
        profile.put_rates(rates);
    }
    Ok(())
}

/// One spread and type of values: formats with waves of the same size share their matrices.
fn lines<T: Scalar>(
    args: &FitArgs,
    target: &Target,
    spread: Spread,
    profile: &mut Profile,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let caps = target.context.caps();
    let entry_bytes = 4 + T::DTYPE.bytes() as u64;
    let of_a_lane = if args.quick { FEW_ENTRIES_OF_A_LANE } else { ENTRIES_OF_A_LANE };
    let needed = of_a_lane * Format::CsrScalar.wave_rows(caps) * entry_bytes / 1_000_000;
    let megabytes = args.megabytes.unwrap_or(needed.max(64));
    let grid = |format: Format| {
        let wave_rows = format.wave_rows(caps);
        (wave_rows, Grid::of(format, wave_rows, megabytes * 1_000_000 / entry_bytes, args.quick))
    };
    let grids = Format::ALL.map(|format| (format, grid(format)));
    // What matrices there are, by size: (rows of a wave, point).
    let sizes = grids.iter().flat_map(|(_, (rows, grid))| grid.points.iter().map(|p| (*rows, *p)));
    let sizes: BTreeSet<(u64, Point)> = sizes.collect();
    let bar = progress(sizes.len(), format!("{} {} {spread}", target.label, T::DTYPE));
    let mut samples: Vec<(Format, Sample)> = Vec::new();
    for (wave_rows, point) in sizes {
        let a = generated::<T>(wave_rows, point, spread)?;
        for (format, _) in
            grids.iter().filter(|(_, (rows, grid))| *rows == wave_rows && grid.points.contains(&point))
        {
            // The paper's layouts refuse nothing.
            let Some(runs) = timing::of_format(target, *format, &a, f64::INFINITY)? else { continue };
            let (waves, per_row) = (f64::from(point.waves), f64::from(point.per_row));
            samples.push((*format, Sample { waves, per_row, seconds: runs.mean() }));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    for (format, (wave_rows, grid)) in grids {
        let of_it: Vec<Sample> = samples.iter().filter(|(f, _)| *f == format).map(|(_, s)| *s).collect();
        let fitted = Fitted::of(format, &of_it, f64::from(caps.max_group)).with_context(|| {
            format!("{megabytes} MB are too few for {}; give more with --megabytes", target.label)
        })?;
        let most = |of: fn(&Point) -> u32| grid.points.iter().map(of).max().unwrap_or(0);
        println!(
            "{} {} {spread} {}: {} matrices of up to {} waves of {wave_rows} rows, of up to {} entries each; {} of more \
             than {megabytes} MB, or of rows longer than half of them, left out",
            target.label,
            T::DTYPE,
            format,
            of_it.len(),
            most(|p| p.waves),
            most(|p| p.per_row),
            grid.left_out.len(),
        );
        profile.put(Model { format, spread, value: T::DTYPE.name().into(), wave_rows, fitted });
    }
    Ok(())
}

/// A square matrix of so many rows, its columns at random.
fn generated<T: Value>(wave_rows: u64, point: Point, spread: Spread) -> anyhow::Result<Csr<T>> {
    let n = usize::try_from(wave_rows * u64::from(point.waves))?;
    let (mean, seed) = (point.per_row, SEED ^ (u64::from(point.waves) << 32 | u64::from(point.per_row)));
    let lengths = match spread {
        Spread::Fixed => RowLengths::Uniform { min: mean, max: mean },
        Spread::Uniform => RowLengths::Uniform { min: 1, max: 2 * mean - 1 },
        Spread::Normal => RowLengths::Normal { mean: f64::from(mean), dev: f64::from(mean) / 4.0 },
    };
    Ok(square(lengths.draw(n, seed)?, ColumnModel::Uniform, seed)?.map_values(T::from_f64))
}
