//! `cargo xtask ci`: everything that must hold before a change is merged, in order.

use std::env::consts::EXE_SUFFIX;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use cargo_metadata::MetadataCommand;
use spmv_backend::env;

use crate::command::{cargo, host, succeed};
use crate::fuzz;
use crate::kernels;
use crate::python;
use crate::release;
use crate::test;
use crate::tidy::{self, Workspace};

/// `cargo xtask ci`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Instead: tests of every crate that contains `unsafe`, with AddressSanitizer.
    #[arg(long)]
    asan: bool,
    /// Every combination of features, the exhaustive conformance suite, fuzzing, and a build of each package besides: as every night.
    #[arg(long, conflicts_with = "asan")]
    full: bool,
}

/// What a run may take on two cores from an empty target folder, without `--full`.
const BUDGET: Duration = Duration::from_secs(15 * 60);

/// Features that are off by default, of the bench and of the facade: both use the same libraries. Tests with the facade's build
/// them for minutes, so they run every night.
const FEATURES: &str = "spmv-bench/train,spmv/fit,spmv/io,spmv/sprs,spmv-solvers/io";

/// Those of libraries that take minutes to check, or are C, for some lines of ours: every night.
const LARGE: &str = "spmv-bench/metis,spmv-bench/peers,spmv-partition/metis,spmv/faer,spmv/nalgebra-sparse";

/// Seconds of fuzzing.
const FUZZ_S: u64 = 300;

/// Runs the sections in order, up to the first that fails.
///
/// # Errors
/// The failing section's.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.asan {
        return asan();
    }
    // Before clippy, which checks what needs it.
    let mpi = test::mpi_feature()?;
    let features_of_libraries = [Some(FEATURES), mpi, args.full.then_some(LARGE)];
    let all_features = features_of_libraries.into_iter().flatten().collect::<Vec<_>>().join(",");
    // While cores check code. Who needs them installs what is missing then, or fails.
    let downloads = thread::spawn(|| {
        kernels::install_compilers();
        python::install_packages();
    });
    let mut sections = Sections::default();
    sections.run("fmt", || succeed(cargo_in_root()?.args(["fmt", "--all", "--check"])))?;
    sections.run("clippy", || {
        let clippy = ["clippy", "--workspace", "--all-targets", "--features", &all_features];
        succeed(cargo_in_root()?.args(clippy).args(["--", "-D", "warnings"]))?;
        // Links the driver, so it is checked and not built.
        let cust =
            ["clippy", "-p", "spmv-cuda", "--features", "cust", "--all-targets", "--", "-D", "warnings"];
        succeed(cargo_in_root()?.args(cust))
    })?;
    sections.run("features", || features(args.full, mpi.is_some()))?;
    sections.run("tidy", || tidy::run(&tidy::Args::default()))?;
    sections.run("deny", deny)?;
    let mut skipped = None;
    // The compiler of kernels takes one core.
    sections.run("doc, kernels", || {
        downloads.join().expect("no panic");
        // With the features of clippy, whose checks of dependencies serve here too.
        let doc = ["doc", "--workspace", "--no-deps", "--features", &all_features];
        let mut doc = cargo_in_root()?.args(doc).env("RUSTDOCFLAGS", "-D warnings").spawn()?;
        let of_kernels = kernels::check_or_skip(args.full);
        ensure!(doc.wait()?.success(), "cargo doc fails");
        skipped = of_kernels?;
        skipped.iter().for_each(|reason| println!("{reason}"));
        Ok(())
    })?;
    sections.run("test", || test::run(&test::Args::of(args.full)))?;
    let full = args.full;
    // Python's tests take one core.
    sections.run("python, reproduce", || {
        let previews = thread::spawn(move || reproduce(full));
        python::test_or_skip(full)?;
        previews.join().expect("no panic")
    })?;
    if args.full {
        sections.run("facade", || {
            let all = FEATURES.split(',').chain(LARGE.split(','));
            let of_facade = all.filter(|feature| feature.starts_with("spmv/"));
            let features = of_facade.collect::<Vec<_>>().join(",");
            let test = ["test", "-p", "spmv", "--no-default-features", "--features", &features];
            succeed(cargo_in_root()?.args(test))
        })?;
        sections.run("metis", || {
            succeed(cargo_in_root()?.args(["test", "-p", "spmv-partition", "--features", "metis"]))
        })?;
        sections.run("fuzz", || fuzz::run(&fuzz::Args::of(FUZZ_S)))?;
    }
    sections.run("package", || {
        let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
        let (root, target) = (metadata.workspace_root.as_std_path(), metadata.target_directory.as_std_path());
        release::package(&Workspace::load()?, root, target, args.full).map(drop)
    })?;
    sections.summary();
    // Once more, below what the tests print.
    skipped.iter().for_each(|reason| println!("\nkernels {reason}"));
    Ok(())
}

/// Checks the published libraries without their features, and the programs; with `alone`, every published crate by itself, without its
/// features and with each of them, as far as the machine can build it.
fn features(alone: bool, has_mpi: bool) -> anyhow::Result<()> {
    let check = |packages: &[&str], feature: Option<&str>| {
        let packages = packages.iter().flat_map(|name| ["--package", name]);
        let features = feature.iter().flat_map(|feature| ["--features", feature]);
        let mut cargo = cargo_in_root()?;
        cargo.args(["clippy", "--quiet", "--no-default-features"]).args(packages).args(features);
        let shown: Vec<_> = cargo.get_args().map(|arg| arg.to_string_lossy()).collect();
        println!("{}", shown.join(" "));
        succeed(cargo.args(["--", "-D", "warnings"]))
    };
    let workspace = Workspace::load()?;
    let packages = workspace.published().filter(|p| !p.features.is_empty());
    if !alone {
        // Programs ask libraries for features, which those are to do without.
        let is_program = |name: &&str| PROGRAMS.contains(name);
        let (programs, libraries): (Vec<_>, Vec<_>) = packages.map(|p| &*p.name).partition(is_program);
        return check(&libraries, None).and_then(|()| check(&programs, None));
    }
    for package in packages {
        check(&[&package.name], None)?;
        for feature in package.features.iter().filter(|feature| has_mpi || *feature != "mpi") {
            check(&[&package.name], Some(feature))?;
        }
    }
    Ok(())
}

/// Published crates that are commands.
const PROGRAMS: [&str; 2] = ["spmv-bench", "spmv-cli"];

/// Previews of every table and figure of the papers on the CPU, with `all` also on the OpenCL device if one is required. Side by side:
/// nothing follows from their times.
fn reproduce(all: bool) -> anyhow::Result<()> {
    // The section `test` built it, for one of its tests. Cargo would build it again, with the features that it has by itself.
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let bench = metadata.target_directory.join("debug").join(format!("spmv-bench{EXE_SUFFIX}"));
    let backends = if all && env::lists("SPMV_REQUIRE", "opencl") { "cpu,opencl" } else { "cpu" };
    let start = |paper: &'static str| {
        let mut bench = Command::new(&bench);
        bench.args(["reproduce", paper, "all", "--quick", "--backend", backends]).stdout(Stdio::null());
        Ok((paper, bench.spawn().with_context(|| format!("cannot start {bench:?}"))?))
    };
    let papers = ["liu-vinter-2015", "gao", "wang-2017", "tan-2019"];
    let running: Vec<_> = papers.into_iter().map(start).collect::<anyhow::Result<_>>()?;
    let mut failed = Vec::new();
    for (paper, mut child) in running {
        if !child.wait()?.success() {
            failed.push(paper);
        }
    }
    ensure!(failed.is_empty(), "cargo xtask reproduce fails: {}", failed.join(", "));
    Ok(())
}

/// Licences and sources of what is locked, where cargo-deny is installed. Advisories are for the workflow: they need the
/// network, and a new one is no fault of a change.
fn deny() -> anyhow::Result<()> {
    let is_installed =
        cargo_in_root()?.args(["deny", "--version"]).output().is_ok_and(|o| o.status.success());
    if !is_installed {
        println!("skipped: cargo install cargo-deny");
        return Ok(());
    }
    succeed(cargo_in_root()?.args(["deny", "--all-features", "check", "licenses", "bans", "sources"]))
}

/// Tests the crates with `unsafe` under AddressSanitizer.
///
/// The stable compiler refuses `-Z` flags unless `RUSTC_BOOTSTRAP` is set. A target is named so that
/// build scripts and macros, which run in the compiler, are built without the sanitizer; a target
/// folder of its own keeps the two builds from evicting each other.
fn asan() -> anyhow::Result<()> {
    let crates = tidy::crates_with_unsafe(&Workspace::load()?);
    if crates.is_empty() {
        bail!("no crate contains `unsafe`");
    }
    println!("AddressSanitizer: {}", crates.join(" "));
    let mut sections = Sections::default();
    sections.run("asan", || {
        let mut cargo = cargo_in_root()?;
        cargo.args(["test", "--target", &host()?, "--target-dir", "target/asan"]);
        cargo.args(crates.iter().flat_map(|name| ["--package", name]));
        for flags in ["RUSTFLAGS", "RUSTDOCFLAGS"] {
            cargo.env(flags, "-Zsanitizer=address");
        }
        // So that reports have lines.
        succeed(cargo.env("RUSTC_BOOTSTRAP", "1").env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only"))
    })?;
    sections.summary();
    Ok(())
}

/// Runs sections, with a line before each and the times at the end.
#[derive(Debug, Default)]
struct Sections {
    done: Vec<(&'static str, Duration)>,
}

impl Sections {
    fn run(&mut self, name: &'static str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        println!("\n=== {name}");
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        let end = if result.is_ok() { "ok" } else { "FAILED" };
        println!("=== {name} {end}, {:.1} s", took.as_secs_f64());
        self.done.push((name, took));
        result.with_context(|| format!("ci: {name}"))
    }

    fn summary(&self) {
        let total: Duration = self.done.iter().map(|(_, took)| *took).sum();
        println!();
        for (name, took) in &self.done {
            println!("{name:<12} {:>7.1} s", took.as_secs_f64());
        }
        let (total_s, budget_s) = (total.as_secs_f64(), BUDGET.as_secs());
        let verdict = if total > BUDGET { "OVER the" } else { "of a" };
        println!("{:<12} {total_s:>7.1} s {verdict} budget of {budget_s} s", "total");
    }
}

fn cargo_in_root() -> anyhow::Result<Command> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let mut command = Command::new(cargo());
    command.current_dir(metadata.workspace_root);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_section_stops_and_says_which() {
        let mut sections = Sections::default();
        assert!(sections.run("first", || Ok(())).is_ok());
        let error = sections.run("second", || bail!("no")).unwrap_err();
        assert_eq!(format!("{error:#}"), "ci: second: no");
        assert_eq!(sections.done.len(), 2);
    }
}
