//! `cargo xtask fit`: generated matrices, their times, and lines through them. The rates are the facade's.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::Context as _;
use spmv::{BackendKind, Dtype, Scalar, by_dtype, plan::Profile};
use spmv_model::{Extent, Format, ProfileError, Spread, write_json};

use super::figures::{self, Samples};
use super::lines::{self, Effort};
use super::scope::{Scope, profile_path, progress};
use crate::bench::devices::{self, Target};
use crate::bench::report::Cache;

/// The profile that is built in.
const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spmv-model/src/cpu.json");

/// `cargo xtask fit`.
#[derive(Debug, clap::Args)]
pub struct FitArgs {
    #[command(flatten)]
    scope: Scope,
    /// Fewer matrices: about half a minute for a spread and type.
    #[arg(long)]
    quick: bool,
    /// Megabytes of the largest matrix in CSR form, beyond which points of the grid are left out; without it, what the
    /// device and the host can hold.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..1_000_000))]
    megabytes: Option<u64>,
    /// Every I with every P for csr_vector too, not only those that its lines are fitted to.
    #[arg(long, conflicts_with = "quick")]
    product: bool,
    /// Entries of a row where T(P) of csr_vector breaks (1024 in the paper); without it, where that leaves the least squares.
    #[arg(long, value_name = "ENTRIES")]
    limit: Option<f64>,
    /// Prints every sample with what the lines give for it.
    #[arg(long)]
    samples: bool,
    /// Only the rates that plans compare, not the lines of the paper.
    #[arg(long)]
    rates_only: bool,
    /// Of the lines of the paper only those that no earlier fit of the device kept: the grid of a large device takes minutes for each
    /// spread, and what is measured is kept for formats with waves of one size at a time.
    #[arg(long, conflicts_with = "rates_only")]
    missing: bool,
    /// Only the lines of the paper, not the rates that plans compare.
    #[arg(long, conflicts_with = "rates_only")]
    lines_only: bool,
    /// Writes the rates of the cpu backend, which is the only one fitted, to the profile that is built in.
    #[arg(long)]
    built_in: bool,
}

/// Fits every device and says where the profiles are; one that fails does not keep the others from it.
pub fn fit(args: &FitArgs) -> anyhow::Result<()> {
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
    let samples_path = Samples::path(&path);
    let mut samples = Samples::kept(&samples_path, caps);
    for &precision in &args.scope.precision {
        if let Some(why) = target.obstacle(precision, Cache::Warm) {
            println!("{why}");
            continue;
        }
        // Each spread takes minutes on a large device: what is measured is kept at once.
        let mut keep = |profile: &Profile, samples: Option<&Samples>| -> anyhow::Result<()> {
            profile.save(&path)?;
            Ok(samples.map_or(Ok(()), |samples| write_json(&samples_path, samples))?)
        };
        by_dtype!(precision, T => of_type::<T>(args, target, &mut profile, &mut samples, &mut keep))?;
    }
    if args.built_in {
        profile.to_built_in().save(BUILT_IN.as_ref())?;
    }
    let (label, seconds) = (&target.label, start.elapsed().as_secs_f64());
    println!("{label}: {}, {seconds:.0} s; {}", caps.name, path.display());
    Ok(())
}

/// One type of values: the paper's lines, and the rates of all algorithms.
fn of_type<T: Scalar>(
    args: &FitArgs,
    target: &Target,
    profile: &mut Profile,
    samples: &mut Samples,
    keep: &mut dyn FnMut(&Profile, Option<&Samples>) -> anyhow::Result<()>,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    if !args.rates_only {
        for (spread, formats) in args.scope.model.iter().flat_map(|of| by_wave(target).map(|f| (*of, f))) {
            let is_kept = |format: &&Format| samples.has(**format, spread, T::DTYPE);
            let formats: Vec<Format> =
                formats.iter().filter(|format| !(args.missing && is_kept(format))).copied().collect();
            if !formats.is_empty() {
                lines::<T>(args, target, (spread, &formats), profile, samples)?;
                keep(profile, Some(samples))?;
            }
        }
    }
    if args.lines_only {
        return Ok(());
    }
    rates(args.quick, target, T::DTYPE, profile)
}

/// The rates of one type, which the facade adds to the profile that is kept, lines included.
fn rates(quick: bool, target: &Target, value: Dtype, profile: &mut Profile) -> anyhow::Result<()> {
    let bar = progress(0, format!("{} {value} rates", target.label));
    let fit = target.context.fit().types(&[value]).quick(quick).progress(|progress| {
        bar.set_length(progress.of as u64);
        bar.set_position(progress.done as u64);
    });
    let fitted = fit.run()?;
    bar.finish_and_clear();
    fitted.accuracy.iter().for_each(|accuracy| println!("{} {accuracy}", target.label));
    let kept = fitted.context.profile(value).filter(|profile| !profile.is_built_in());
    *profile = kept.with_context(|| format!("no algorithm multiplies {value} values"))?.clone();
    Ok(())
}

/// The formats, those with waves of one size together: they share their matrices.
fn by_wave(target: &Target) -> impl Iterator<Item = Vec<Format>> {
    let mut by_wave = BTreeMap::<u64, Vec<Format>>::new();
    for format in Format::ALL {
        by_wave.entry(format.wave_rows(target.context.caps())).or_default().push(format);
    }
    by_wave.into_values()
}

/// Some formats, one spread and type of values: samples, lines and residuals to their file, lines to the profile.
fn lines<T: Scalar>(
    args: &FitArgs,
    target: &Target,
    (spread, formats): (Spread, &[Format]),
    profile: &mut Profile,
    samples: &mut Samples,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let extent = match (args.quick, args.product) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Product,
        _ => Extent::Lines,
    };
    let effort = Effort { extent, csr_bytes: args.megabytes.map(|mb| mb * 1_000_000), limit: args.limit };
    for measured in lines::measure::<T>(target, formats, spread, &effort)? {
        println!("{}", figures::text(&target.label, &measured, args.samples));
        profile.put(measured.model());
        samples.put(measured);
    }
    Ok(())
}
