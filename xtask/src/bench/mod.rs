//! `cargo xtask bench`: what to multiply, where and how; the rest is in the modules.

mod html;
mod inputs;
mod measure;
mod peers;
mod report;
mod runner;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use spmv::{Algorithm, BackendKind, Context, Dtype, Tiling};

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
    /// Backends; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Algorithms, or `all`.
    #[arg(long, value_delimiter = ',', default_value = "auto")]
    algorithm: Vec<String>,
    /// Value types: f16, bf16, f32, f64.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64")]
    precision: Vec<Dtype>,
    /// Tiling to force, such as T=32,W=8,S=7,B=5.
    #[arg(long)]
    tiling: Option<Tiling>,
    /// Times with the matrix in cache, if it fits (the default).
    #[arg(long)]
    warm: bool,
    /// Times with caches emptied before every run.
    #[arg(long)]
    cold: bool,
    /// Timed runs; as many as a fraction of a second holds, without it.
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    /// Times sprs, faer, nalgebra-sparse and MKL (if it is found) in the same run.
    #[arg(long)]
    peers: bool,
    /// Writes the report as JSON (docs/bench-schema.md).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Takes the first matrices and few runs: a look, not a measurement.
    #[arg(long)]
    quick: bool,
}

/// Matrices and runs of `--quick`.
const QUICK_MATRICES: usize = 3;
const QUICK_REPEAT: usize = 5;

/// Measures, prints, writes.
///
/// # Errors
/// If nothing can be measured, or any result is wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let algorithms = algorithms(&args.algorithm)?;
    let contexts = contexts(&args.backend)?;
    let mut inputs = inputs::select(&args.matrix, args.suite, args.suite_dir.as_deref())?;
    let repeat = if args.quick { Some(args.repeat.unwrap_or(QUICK_REPEAT)) } else { args.repeat };
    if args.quick {
        inputs.truncate(QUICK_MATRICES);
    }
    let caches: &[Cache] = match (args.warm, args.cold) {
        (true, true) => &[Cache::Warm, Cache::Cold],
        (false, true) => &[Cache::Cold],
        _ => &[Cache::Warm],
    };

    let bar = progress(inputs.len() * args.precision.len() * caches.len());
    bar.set_message("measuring the read bandwidth of memory");
    let eviction = Eviction::new();
    let read_gbs = eviction.read_gbs();
    let mut report = Report {
        schema: SCHEMA.into(),
        machine: machine(),
        commit: commit(),
        read_gbs,
        absent: BTreeMap::new(),
        rows: vec![],
    };
    let mut pictures = Vec::new();
    for input in &inputs {
        bar.set_message(format!("{}: reading", input.name()));
        let loaded = input.load().with_context(|| input.name().to_owned())?;
        if args.html.is_some() {
            pictures.push(html::Picture::of(&loaded.name, loaded.matrix.view()));
        }
        for &precision in &args.precision {
            for &cache in caches {
                bar.set_message(format!("{} {precision} {cache:?}", loaded.name).to_lowercase());
                let way = Way {
                    contexts: &contexts,
                    algorithms: &algorithms,
                    tiling: args.tiling,
                    cache,
                    repeat,
                    peers: args.peers,
                    eviction: &eviction,
                    read_gbs,
                };
                runner::measure(&way, &loaded, precision, &mut report)
                    .with_context(|| format!("{} in {precision}", loaded.name))?;
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    publish(args, &report, &pictures)
}

fn publish(args: &Args, report: &Report, pictures: &[html::Picture]) -> anyhow::Result<()> {
    print!("{}", table::text(report));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(report)? + "\n";
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = &args.html {
        std::fs::write(path, html::page(report, pictures)).with_context(|| path.display().to_string())?;
    }
    let failed = report.rows.iter().filter(|r| !r.ok).count();
    if failed > 0 {
        bail!("{failed} of {} results are wrong", report.rows.len());
    }
    Ok(())
}

fn algorithms(names: &[String]) -> anyhow::Result<Vec<Algorithm>> {
    if names.iter().any(|n| n == "all") {
        return Ok(Algorithm::ALL.into_iter().filter(|a| *a != Algorithm::Auto).collect());
    }
    names.iter().map(|n| Ok(n.parse()?)).collect()
}

/// Every backend that opens, or those asked for; one that was asked for and does not open is an error.
fn contexts(asked: &[BackendKind]) -> anyhow::Result<Vec<Context>> {
    if !asked.is_empty() {
        return asked.iter().map(|b| Ok(Context::with(*b)?)).collect();
    }
    let mut contexts = Vec::new();
    for backend in BackendKind::ALL {
        match Context::with(backend) {
            Ok(context) => contexts.push(context),
            Err(e) => eprintln!("{backend} is left out: {e}"),
        }
    }
    Ok(contexts)
}

fn progress(steps: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}").expect("a valid template");
    let bar = ProgressBar::new(steps as u64).with_style(style);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// Processor, cores and system; no names of hosts or users.
fn machine() -> String {
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

fn commit() -> String {
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
