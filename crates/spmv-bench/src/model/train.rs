//! `cargo xtask train`: times of device and host over many splits, and support vector regressions of them (Tan et al. 2019).

mod published;
mod regression;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use published::Sets;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use regression::{Samples, errors, fit, split};
use spmv::{
    BackendKind, Context, Csr, Dtype, Options, Scalar, Value, by_dtype,
    fit::Runs,
    hetero::{Models, Regular, Regularity, Split, Steering},
    plan::Algorithm,
};
use spmv_hetero::{SplitModels, features};
use spmv_io::generate::Family;

use super::scope::progress;
use crate::bench::devices::{self, Target};
use crate::bench::inputs::{self, Input};
use crate::bench::measure::median;
use crate::bench::report::Cache;

/// `cargo xtask train`.
#[derive(Debug, clap::Args)]
pub(crate) struct TrainArgs {
    /// Backends, with all their devices; all that open but the cpu, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Value types.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = crate::precision::parser())]
    precision: Vec<Dtype>,
    /// Matrix Market files besides generated matrices; those in tests/data and two of the suite, without it.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    matrix: Vec<PathBuf>,
    /// Fewer and smaller generated matrices: a preview, not models to keep.
    #[arg(long)]
    quick: bool,
    /// Which matrices are held out follows from it.
    #[arg(long, default_value_t = 2019)]
    seed: u64,
}

/// Rows and mean entries of a row of generated matrices.
const ROWS: [usize; 6] = [1_000, 5_000, 25_000, 100_000, 400_000, 1_000_000];
const MEANS: [u32; 4] = [4, 15, 60, 250];
/// Entries of the largest one, and where it is to be quick.
const MOST_ENTRIES: usize = 4_000_000;
const FEW_ENTRIES: usize = 400_000;

/// Every generated matrix comes from it.
const SEED: u64 = 2019;

/// Timed runs of a split.
const RUNS: usize = 11;

/// What was measured of one matrix.
struct Measured {
    /// Of the device and of the cores, every split.
    all: [Samples; 2],
    /// Of these the paper's.
    published: Sets,
}

/// Trains the models of every device with the host's cores.
pub(crate) fn train(args: &TrainArgs) -> anyhow::Result<()> {
    let mut n_trained = 0;
    for target in devices::open(&args.backend)?.iter().filter(|p| p.context.backend() != BackendKind::Cpu) {
        of_device(args, target)?;
        n_trained += 1;
    }
    anyhow::ensure!(n_trained > 0, "there is no device but the cores");
    Ok(())
}

fn of_device(args: &TrainArgs, target: &Target) -> anyhow::Result<()> {
    let start = Instant::now();
    let context = target.context.with_host_cores()?;
    let cores = context.cores().expect("that it was given");
    let path = Models::path(context.backend().name(), context.caps());
    let path = path.ok_or_else(|| anyhow::anyhow!("no data folder; name one with SPMV_PROFILES"))?;
    let kept = Models::kept(context.backend().name(), context.caps(), cores);
    let mut models = kept.ok().flatten().unwrap_or_else(|| Models::new(context.caps(), cores));
    for &precision in &args.precision {
        if let Some(why) = target.obstacle(precision, Cache::Warm) {
            println!("{why}");
            continue;
        }
        models.put(by_dtype!(precision, T => of_type::<T>(args, target, &context))?);
        models.save(&path)?;
    }
    let (label, name, seconds) = (&target.label, &context.caps().name, start.elapsed().as_secs_f64());
    println!("{label}: {name}, host {}, {seconds:.0} s; {}", cores.name, path.display());
    Ok(())
}

/// A matrix to be made or read when its turn comes.
enum Source {
    Generated(Family, usize, u32),
    File(Input),
}

impl Source {
    fn all(args: &TrainArgs) -> anyhow::Result<Vec<Self>> {
        let most = if args.quick { FEW_ENTRIES } else { MOST_ENTRIES };
        let sizes = ROWS.into_iter().flat_map(|n| MEANS.map(|mean| (n, mean)));
        let fits = |(n, mean): &(usize, u32)| n * *mean as usize <= most && 2 * *mean as usize <= *n;
        let families = |(n, mean)| Family::ALL.map(|family| Source::Generated(family, n, mean));
        let files = inputs::files_or_default(&args.matrix)?.into_iter().map(Source::File);
        Ok(sizes.filter(fits).flat_map(families).chain(files).collect())
    }

    fn matrix(&self) -> anyhow::Result<Csr<f64>> {
        match self {
            Source::Generated(family, n, mean) => Ok(family.matrix(*n, *mean, SEED)?),
            Source::File(input) => Ok(input.load()?.matrix),
        }
    }
}

/// One type of values: measures every split of every matrix, and fits four fifths of the matrices.
fn of_type<T: Scalar>(args: &TrainArgs, target: &Target, context: &Context) -> anyhow::Result<SplitModels>
where
    T::Accum: Scalar,
{
    let sources = Source::all(args)?;
    let bar = progress(sources.len(), format!("{} {} splits", target.label, T::DTYPE));
    let mut matrices = Vec::new();
    for source in &sources {
        let a: Csr<T> = source.matrix()?.map_values(T::from_f64);
        if a.nnz() > 0 {
            matrices.push(of_matrix(context, &a)?);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    matrices.shuffle(&mut Pcg64Mcg::seed_from_u64(args.seed));
    let fitted = |name: &str, of: fn(&Measured) -> &Samples| {
        let matrices: Vec<&Samples> = matrices.iter().map(of).collect();
        let [held, kept] = split(&matrices);
        let svr = fit(&kept)?;
        let errors = errors(&svr, &held);
        let n = |matrices: &[&Samples]| matrices.iter().map(|samples| samples.len()).sum::<usize>();
        println!(
            "{} {} {name}: {} support vectors of {} splits of {} matrices; {} splits of {} held out: off by {:.1}% at the median, \
             {:.1}% in the mean",
            target.label,
            T::DTYPE,
            svr.vectors.len(),
            n(&kept),
            kept.len(),
            n(&held),
            held.len(),
            100.0 * errors[errors.len() / 2],
            100.0 * errors.iter().sum::<f64>() / errors.len() as f64,
        );
        anyhow::Ok(svr)
    };
    let (device, cores) = (fitted("M_GPU", |m| &m.all[0])?, fitted("M_CPU", |m| &m.all[1])?);
    let sets: Vec<&Sets> = matrices.iter().map(|measured| &measured.published).collect();
    let heading = format!("{} {}", target.label, T::DTYPE);
    print!("{}", published::report(&heading, &sets, [&device, &cores])?);
    Ok(SplitModels { value: T::DTYPE.name().into(), device, cores })
}

/// Times of the device and of the cores for many splits of a matrix.
fn of_matrix<T: Scalar>(context: &Context, a: &Csr<T>) -> anyhow::Result<Measured>
where
    T::Accum: Scalar,
{
    let (mut samples, mut published) = ([vec![], vec![]], Sets::default());
    for split in splits(a) {
        let steering = Steering { split: Some(split), ..Steering::default() };
        let (layout, [device_s, cores_s]) = seconds_of_shares(&context.steered(steering), a)?;
        let (device, cores) = features(a.view(), &split);
        published.add(&split, layout, [(&device, device_s), (&cores, cores_s)]);
        for (samples, (features, seconds)) in
            samples.iter_mut().zip([(device.to_vec(), device_s), (cores.to_vec(), cores_s)])
        {
            if seconds > 0.0 {
                samples.push((features, seconds));
            }
        }
    }
    Ok(Measured { all: samples, published })
}

/// Split at several rows, and with a regular part of several widths, with and without rows of the rest.
fn splits<T: Value>(a: &Csr<T>) -> Vec<Split> {
    let by_share = |share| Split::by_share(a.view(), share);
    let mut splits: Vec<Split> = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0].map(by_share).to_vec();
    let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
    splits.extend([0.4, 0.8].map(|share| Split { options, ..by_share(share) }));
    // What the search begins with, and the paper.
    for start in [Split::of(a.view()).regular, Regular::published(&Regularity::of(a.view()))] {
        if let Regular::Diagonals { half_width: width } | Regular::Slots { width } = start {
            for width in [width, width.div_ceil(2), width.div_ceil(4), width + width.div_ceil(2)] {
                let regular = start.with_width(width);
                splits.extend([0.0, 0.4].map(|share| Split { regular, ..by_share(share) }));
            }
        }
    }
    let mut unlike: Vec<Split> = Vec::new();
    for split in splits {
        if !unlike.contains(&split) {
            unlike.push(split);
        }
    }
    unlike
}

/// How the device multiplies its share, and seconds of the device and of the host's cores at once: medians of runs on the
/// host's vectors.
fn seconds_of_shares<T: Scalar>(context: &Context, a: &Csr<T>) -> anyhow::Result<(Algorithm, [f64; 2])>
where
    T::Accum: Scalar,
{
    let matrix = context.prepare(a)?;
    let (x, mut y) = (vec![T::from_f64(1.0); a.n_cols()], vec![T::Accum::default(); a.n_rows()]);
    let one = <T::Accum as Value>::from_f64(1.0);
    let mut times = [vec![], vec![]];
    for (least, time) in [Runs::FIRST, (RUNS, Runs::COUNTED.1)] {
        times.iter_mut().for_each(Vec::clear);
        let start = Instant::now();
        while times[0].len() < least || start.elapsed() < time {
            let stats = matrix.apply_slices(one, &x, T::Accum::default(), &mut y)?;
            let shares = stats.shares_s.context("the host has no share")?;
            times.iter_mut().zip(shares).for_each(|(times, seconds)| times.push(seconds));
        }
    }
    Ok((matrix.plan().algorithm, times.map(median)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_of_every_kind_are_trained_with() {
        let diagonals = (0..200u32).flat_map(|r| (0..4).map(move |k| (r, (r + k).min(199), 1.0f32)));
        let a = Csr::from_coo(200, 200, &diagonals.collect::<Vec<_>>()).unwrap();
        let splits = splits(&a);
        assert!(splits.iter().any(|split| split.rows == 0) && splits.iter().any(|split| split.rows == 200));
        assert!(splits.iter().any(|split| split.regular != Regular::None && split.rows > 0));
        assert!(splits.iter().any(|split| split.options.algorithm == Algorithm::SpeculativeSegmentedSum));
    }
}
