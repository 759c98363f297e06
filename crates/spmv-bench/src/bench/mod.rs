//! `cargo xtask bench`: what to multiply, where and how; the rest is in the modules.

mod compare;
mod comparison;
pub(crate) mod devices;
mod entrant;
mod hetero;
mod html;
pub(crate) mod inputs;
mod measure;
mod peers;
pub(crate) mod report;
mod runner;
mod sweep;
mod table;
pub(crate) mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use spmv::{Algorithm, BackendKind, Dtype, Tiling};

pub(crate) use comparison::MatrixCache;
use comparison::{Comparison, Gpu};
use devices::Target;
use inputs::{Input, Loaded};
use measure::Eviction;
use report::{Cache, Report, SCHEMA};
use runner::Way;

/// `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Matrix Market files to multiply.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    matrix: Vec<PathBuf>,
    /// The 20 matrices of Liu & Vinter's Table 3; 17 of them are twins.
    #[arg(long)]
    suite: bool,
    /// A folder of .mtx files that replace suite matrices of the same name; implies --suite.
    #[arg(long, value_name = "DIR")]
    suite_dir: Option<PathBuf>,
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Algorithms, or `all`.
    #[arg(long, value_delimiter = ',', default_value = "auto")]
    algorithm: Vec<String>,
    /// Value types.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = crate::precision::parser())]
    precision: Vec<Dtype>,
    /// Tiling to force, such as T=32,W=8,S=7,B=5.
    #[arg(long)]
    tiling: Option<Tiling>,
    /// Times with the matrix in cache, if it fits (the default; against cuSPARSE both are).
    #[arg(long)]
    warm: bool,
    /// Times with caches emptied before every run, on devices that share the host's, and against cuSPARSE.
    #[arg(long)]
    cold: bool,
    /// Timed runs; as many as a fraction of a second holds, without it (20 with --sweep).
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    /// Times sprs, faer, nalgebra-sparse and MKL (if it is found) in the same run; then ours against cuSPARSE, if there
    /// is a CUDA device.
    #[arg(long)]
    peers: bool,
    /// Times spec_segsum under many tilings instead: W and S varied around the planned one.
    #[arg(long, conflicts_with_all = ["algorithm", "tiling", "peers", "html"])]
    sweep: bool,
    /// Times co-execution instead: each device with the host's cores, against either alone.
    #[arg(long, conflicts_with_all = ["sweep", "peers", "html", "cold"])]
    hetero: bool,
    /// Prints every split that was tried.
    #[arg(long, requires = "hetero")]
    trace: bool,
    /// Writes the report as JSON (docs/bench-schema.md).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Takes the first matrices and few runs: a preview, not a measurement.
    #[arg(long)]
    quick: bool,
}

/// Matrices and runs of `--quick`.
const QUICK_MATRICES: usize = 3;
const QUICK_REPEAT: usize = 5;
/// Runs of each cell of `--sweep`.
const SWEEP_REPEAT: usize = 20;

/// Measures, prints, writes.
///
/// # Errors
/// If nothing can be measured, or any result is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let algorithms = algorithms(&args.algorithm)?;
    let targets = devices::open(&args.backend)?;
    let mut inputs = inputs::select(&args.matrix, args.suite, args.suite_dir.as_deref())?;
    if args.quick {
        inputs.truncate(QUICK_MATRICES);
    }
    let caches = args.caches();
    let gpu = args.peers.then(|| Gpu::open(&args.backend));
    let mut matrix_cache =
        MatrixCache::new(if matches!(gpu, Some(Ok(_))) { MatrixCache::CAPACITY_BYTES } else { 0 });

    let bar = progress(inputs.len() * args.precision.len() * caches.len());
    bar.set_message("measuring the read bandwidth of memory");
    let eviction = Eviction::new();
    let mut report = empty(&targets, args, eviction.read_gbs());
    let bench = Bench { args, targets: &targets, algorithms: &algorithms, eviction: &eviction, bar: &bar };
    let mut pictures = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        bar.set_message(format!("{}: reading", input.name()));
        let loaded = input.load().with_context(|| input.name().to_owned())?;
        if args.html.is_some() {
            pictures.push(html::Picture::of(&loaded.name, loaded.matrix.view()));
        }
        bench.measure(&loaded, &mut report)?;
        matrix_cache.keep(at, loaded);
    }
    // Last of all, because it empties the device's caches.
    match &gpu {
        None => {}
        Some(Err(e)) => {
            report.absent.insert(comparison::CUSPARSE.into(), format!("{e:#}"));
        }
        Some(Ok(gpu)) => bench.compare(gpu, &inputs, &matrix_cache, &mut report)?,
    }
    bar.finish_and_clear();
    publish(args, &report, &pictures)
}

/// A report without results.
fn empty(targets: &[Target], args: &Args, read_gbs: f64) -> Report {
    Report {
        schema: SCHEMA.into(),
        machine: machine(),
        commit: commit(),
        read_gbs,
        devices: targets.iter().map(Target::device).collect(),
        left_out: left_out(targets, &args.precision, args.caches()),
        absent: BTreeMap::new(),
        rows: vec![],
        sweep: vec![],
        comparison: None,
        comparisons: vec![],
        hetero: vec![],
    }
}

/// What all measurements of a run have in common.
struct Bench<'a> {
    args: &'a Args,
    targets: &'a [Target],
    algorithms: &'a [Algorithm],
    eviction: &'a Eviction,
    bar: &'a ProgressBar,
}

impl Bench<'_> {
    /// Adds the results of one matrix in every precision and state of the caches.
    fn measure(&self, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()> {
        let args = self.args;
        for &precision in &args.precision {
            for &cache in args.caches() {
                self.bar.set_message(format!("{} {precision} {cache:?}", loaded.name).to_lowercase());
                let able: Vec<&Target> =
                    self.targets.iter().filter(|p| p.obstacle(precision, cache).is_none()).collect();
                if able.is_empty() {
                    self.bar.inc(1);
                    continue;
                }
                let way = Way {
                    targets: &able,
                    algorithms: self.algorithms,
                    tiling: args.tiling,
                    cache,
                    repeat: args.repeat(),
                    peers: args.peers,
                    eviction: self.eviction,
                    read_gbs: report.read_gbs,
                };
                let measure = match (args.sweep, args.hetero) {
                    (true, _) => sweep::measure,
                    (_, true) => hetero::measure,
                    _ => runner::measure,
                };
                measure(&way, loaded, precision, report)
                    .with_context(|| format!("{} in {precision}", loaded.name))?;
                self.bar.inc(1);
            }
        }
        Ok(())
    }

    /// Adds the comparison on a CUDA device.
    fn compare(
        &self,
        gpu: &Gpu,
        inputs: &[Input],
        matrix_cache: &MatrixCache,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let comparison = Comparison {
            inputs,
            matrix_cache,
            algorithms: self.algorithms,
            tiling: self.args.tiling,
            precisions: &self.args.precision,
            caches: self.args.comparison_caches(),
            repeat: self.args.repeat(),
            bar: self.bar,
        };
        self.bar.inc_length(comparison.steps());
        gpu.compare(&comparison, report)
    }
}

impl Args {
    fn caches(&self) -> &'static [Cache] {
        match (self.warm, self.cold) {
            (true, true) => &[Cache::Warm, Cache::Cold],
            (false, true) => &[Cache::Cold],
            _ => &[Cache::Warm],
        }
    }

    /// Those of the comparison on a CUDA device: both, unless one is asked for.
    fn comparison_caches(&self) -> &'static [Cache] {
        if self.warm || self.cold { self.caches() } else { &[Cache::Warm, Cache::Cold] }
    }

    /// Timed runs, if their number is fixed.
    fn repeat(&self) -> Option<usize> {
        let default = if self.quick { Some(QUICK_REPEAT) } else { self.sweep.then_some(SWEEP_REPEAT) };
        self.repeat.or(default)
    }
}

/// A sentence for every device and what it cannot do of what was asked for.
fn left_out(targets: &[Target], precisions: &[Dtype], caches: &[Cache]) -> Vec<String> {
    let mut lines = Vec::new();
    for target in targets {
        for line in caches.iter().flat_map(|c| precisions.iter().filter_map(|p| target.obstacle(*p, *c))) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn publish(args: &Args, report: &Report, pictures: &[html::Picture]) -> anyhow::Result<()> {
    print!(
        "{}",
        match (args.sweep, args.hetero) {
            (true, _) => sweep::text(report),
            (_, true) => hetero::text(report, args.trace),
            _ => table::text(report),
        }
    );
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(report)? + "\n";
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = &args.html {
        std::fs::write(path, html::page(report, pictures)).with_context(|| path.display().to_string())?;
    }
    let results = report.n_results();
    match report.n_failed() {
        0 if results == 0 => bail!("nothing was measured: everything was left out"),
        0 => Ok(()),
        failed => bail!("{failed} of {results} results are wrong or missing"),
    }
}

fn algorithms(names: &[String]) -> anyhow::Result<Vec<Algorithm>> {
    if names.iter().any(|n| n == "all") {
        return Ok(Algorithm::ALL.iter().copied().filter(|a| *a != Algorithm::Auto).collect());
    }
    names.iter().map(|n| Ok(n.parse()?)).collect()
}

fn progress(steps: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}").expect("a valid template");
    let bar = ProgressBar::new(steps as u64).with_style(style);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// Processor, cores and system; no names of hosts or users.
pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cpu = cpu.or_else(|| output("sysctl", &["-n", "machdep.cpu.brand_string"]));
    format!(
        "{}, {} threads, {} {}",
        cpu.unwrap_or_else(|| "unknown processor".into()),
        rayon::current_num_threads(),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// `SPMV_COMMIT` names it where the program was carried to a machine without the repository.
fn commit() -> String {
    if let Ok(commit) = std::env::var("SPMV_COMMIT") {
        return commit;
    }
    let Some(hash) = output("git", &["rev-parse", "--short=10", "HEAD"]) else { return "unknown".into() };
    let clean =
        output("git", &["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| s.is_empty());
    if clean { hash } else { format!("{hash}-dirty") }
}

/// What a command prints, if it succeeds.
fn output(command: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(command).args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Args, Cache};

    #[derive(Parser)]
    struct Bench {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Bench::try_parse_from(line.split(' ')).map(|bench| bench.args)
    }

    #[test]
    fn a_sweep_chooses_algorithm_and_tiling_itself() {
        for other in ["--algorithm all", "--tiling T=8,W=4,S=2,B=1", "--peers", "--html page.html"] {
            let e = parse(&format!("bench --sweep {other}")).unwrap_err();
            assert_eq!(e.kind(), clap::error::ErrorKind::ArgumentConflict, "{other}");
        }
        assert!(parse("bench --sweep --suite --precision f64 --backend cpu --json cells.json").is_ok());
    }

    #[test]
    fn against_cusparse_both_cache_states_are_measured_unless_one_is_asked_for() {
        let caches = |line| parse(line).unwrap().comparison_caches().to_vec();
        assert_eq!(caches("bench --peers"), [Cache::Warm, Cache::Cold]);
        assert_eq!([caches("bench --warm"), caches("bench --cold")], [[Cache::Warm], [Cache::Cold]]);
        assert_eq!(parse("bench --peers").unwrap().caches(), [Cache::Warm]);
    }

    #[test]
    fn an_explicit_number_of_runs_comes_before_the_defaults() {
        let repeat = |line| parse(line).unwrap().repeat();
        assert_eq!(
            [repeat("bench"), repeat("bench --quick"), repeat("bench --sweep")],
            [None, Some(5), Some(20)]
        );
        assert_eq!([repeat("bench --sweep --quick"), repeat("bench --sweep --repeat 3")], [Some(5), Some(3)]);
    }
}
