//! `cargo xtask fuzz`: builds the fuzz targets as `cargo fuzz` does, and runs all of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use cargo_metadata::MetadataCommand;

use crate::command::{cargo, host, succeed};

/// `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds that all targets run, side by side.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Instead: so many executions of all targets together, one target after the other, each on all cores.
    #[arg(long)]
    runs: Option<u64>,
}

impl Args {
    /// All targets for so many seconds.
    pub(crate) fn of(seconds: u64) -> Self {
        Self { seconds, runs: None }
    }
}

/// What `cargo fuzz` passes: counters and comparisons of every edge for libFuzzer, and AddressSanitizer.
const FLAGS: &str = "--cfg fuzzing -Zsanitizer=address -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Lines of a failed target's output that are printed, from the panic on: the stack, the input and where it was written.
const MOST_LINES: usize = 80;

/// Builds every target and runs all of them.
///
/// # Errors
/// If one does not build, or crashes, with the end of its output.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = PathBuf::from(metadata.workspace_root);
    // Of its own: it is no member of the workspace.
    let folder = PathBuf::from(metadata.target_directory).join("fuzz");
    let binaries = build(&root, &folder)?;
    let targets = targets(&root)?;
    println!("{:<15} {:>12} {:>10} {:>8}", "target", "executions", "a second", "seconds");
    let mut total = 0;
    match args.runs {
        None => {
            let limit = format!("-max_total_time={}", args.seconds);
            let all = targets.iter().map(|target| Process::start(&binaries, &folder, target, 0, &limit));
            total += finish(all.collect::<anyhow::Result<_>>()?)?;
        }
        Some(runs) => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let limit = format!("-runs={}", runs.div_ceil((targets.len() * cores) as u64));
            for target in &targets {
                let all = (0..cores).map(|i| Process::start(&binaries, &folder, target, i, &limit));
                total += finish(all.collect::<anyhow::Result<_>>()?)?;
            }
        }
    }
    println!("{total} executions in all");
    Ok(())
}

/// Names of the targets: those of their files.
fn targets(root: &Path) -> anyhow::Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let paths = files.flatten().map(|file| file.path());
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut targets: Vec<String> = paths.filter_map(stem).collect();
    targets.sort();
    Ok(targets)
}

/// Builds all targets, and says where they are. As for AddressSanitizer alone, a target is named so that build scripts and
/// macros have no part in it.
fn build(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let host = host()?;
    let mut build = Command::new(cargo());
    build.current_dir(root).args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    build.arg("--target-dir").arg(folder).args(["--target", &host]);
    succeed(build.env("RUSTFLAGS", FLAGS).env("RUSTC_BOOTSTRAP", "1"))?;
    Ok(folder.join(host).join("release"))
}

/// A running target.
struct Process {
    child: Child,
    target: String,
    /// Where its output goes.
    log: PathBuf,
    start: Instant,
}

impl Process {
    /// Starts a target on the corpus of earlier runs, up to a limit.
    fn start(
        binaries: &Path,
        folder: &Path,
        target: &str,
        index: usize,
        limit: &str,
    ) -> anyhow::Result<Self> {
        let [corpus, crashes] = ["corpus", "crashes"].map(|kind| folder.join(kind).join(target));
        for folder in [&corpus, &crashes] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let log = folder.join(format!("{target}-{index}.log"));
        let output = File::create(&log).with_context(|| log.display().to_string())?;
        let mut command = Command::new(binaries.join(target));
        command.args([limit, "-print_final_stats=1"]);
        // With a slash at the end: a prefix.
        command.arg(format!("-artifact_prefix={}/", crashes.display())).arg(&corpus);
        // Targets are run side by side already.
        command.env("RAYON_NUM_THREADS", "2");
        // AddressSanitizer prints the stack.
        command.env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { child, target: target.to_owned(), log, start: Instant::now() })
    }
}

/// Waits for all, and returns how many executions they made.
fn finish(all: Vec<Process>) -> anyhow::Result<u64> {
    let (mut total, mut failed) = (0, Vec::new());
    for Process { mut child, target, log, start } in all {
        let status = child.wait().with_context(|| target.clone())?;
        let seconds = start.elapsed().as_secs_f64();
        // An input is quoted byte by byte.
        let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let runs = executions(&output).unwrap_or(0);
        println!("{target:<15} {runs:>12} {:>10.0} {seconds:>8.1}", runs as f64 / seconds);
        total += runs;
        if !status.success() || runs == 0 {
            failure(&output).iter().for_each(|line| println!("{line}"));
            failed.push(format!("{target} ({status})"));
        }
    }
    if failed.is_empty() { Ok(total) } else { bail!("failed: {}", failed.join(", ")) }
}

/// What a failed target says of it: from the panic on, or from the end back where there is none.
fn failure(output: &str) -> Vec<&str> {
    let lines: Vec<&str> = output.lines().collect();
    let is_it = |line: &str| line.contains(" panicked at ") || line.contains("ERROR: ");
    let first = lines.iter().position(|line| is_it(line)).unwrap_or(lines.len().saturating_sub(MOST_LINES));
    lines[first..].iter().copied().take(MOST_LINES).collect()
}

/// The number of executions in libFuzzer's statistics.
fn executions(output: &str) -> Option<u64> {
    let number = |line: &str| line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok();
    output.lines().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_those_that_libfuzzer_reports() {
        let output =
            "Done 7 runs in 1 second(s)\nstat::number_of_executed_units: 216157\nstat::peak_rss_mb: 9\n";
        assert_eq!(executions(output), Some(216_157));
        assert_eq!(executions("thread 'main' panicked"), None);
    }

    #[test]
    fn a_failure_is_printed_from_the_panic_on() {
        let before = "#7 NEW cov: 1\n".repeat(1000);
        let after = "a frame\n".repeat(1000);
        let panic = "thread 'main' panicked at a.rs:1:2:";
        let printed = |output: &str| failure(output).join("\n");
        assert!(printed(&format!("{before}{panic}\n{after}")).starts_with(panic));
        let told = "libFuzzer: out-of-memory (malloc(2147483648))";
        assert!(printed(&format!("{before}{told}")).ends_with(told));
    }
}
