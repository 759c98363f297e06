//! `cargo xtask ci`: everything that must hold before a change is merged, in order.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cargo_metadata::MetadataCommand;
use spmv_backend::env;

use crate::command::{cargo, host, succeed};
use crate::fuzz;
use crate::kernels;
use crate::python;
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
const FEATURES: &str = "spmv-bench/peers,spmv-bench/train,spmv/faer,spmv/fit,spmv/io,spmv/nalgebra-sparse,spmv/sprs,\
    spmv-solvers/io";

/// METIS is C, which is compiled for some lines of ours: every night.
const METIS: &str = "spmv-bench/metis,spmv-partition/metis";

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
    let features_of_libraries = [Some(FEATURES), mpi, args.full.then_some(METIS)];
    let all_features = features_of_libraries.into_iter().flatten().collect::<Vec<_>>().join(",");
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
    sections.run("doc", || {
        // With the features of clippy, whose checks of dependencies serve here too.
        let doc = ["doc", "--workspace", "--no-deps", "--features", &all_features];
        succeed(cargo_in_root()?.args(doc).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    let mut skipped = None;
    sections.run("kernels", || {
        skipped = kernels::check_or_skip(args.full)?;
        skipped.iter().for_each(|reason| println!("{reason}"));
        Ok(())
    })?;
    sections.run("test", || test::run(&test::Args::of(args.full)))?;
    sections.run("python", || python::test_or_skip(args.full))?;
    sections.run("reproduce", || reproduce(args.full))?;
    if args.full {
        sections.run("facade", || {
            let of_facade = FEATURES.split(',').filter(|feature| feature.starts_with("spmv/"));
            let features = of_facade.collect::<Vec<_>>().join(",");
            let test = ["test", "-p", "spmv", "--no-default-features", "--features", &features];
            succeed(cargo_in_root()?.args(test))
        })?;
        sections.run("metis", || {
            succeed(cargo_in_root()?.args(["test", "-p", "spmv-partition", "--features", "metis"]))
        })?;
        sections.run("fuzz", || fuzz::run(&fuzz::Args::of(FUZZ_S)))?;
    }
    sections.run("package", || package(args.full))?;
    sections.summary();
    // Once more, below what the tests print.
    skipped.iter().for_each(|reason| println!("\nkernels {reason}"));
    Ok(())
}

/// Checks every published crate without its features; with `alone`, with each of them by itself too, as far as the machine can build it.
fn features(alone: bool, has_mpi: bool) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    for package in workspace.packages.iter().filter(|p| p.publish && !p.features.is_empty()) {
        let each = package.features.iter().filter(|feature| alone && (has_mpi || *feature != "mpi"));
        let each = each.map(|feature| vec!["--features", feature]);
        for features in std::iter::once(vec![]).chain(each) {
            let check = ["clippy", "--quiet", "--package", &package.name, "--no-default-features"];
            println!("{} {}", check.join(" "), features.join(" "));
            succeed(cargo_in_root()?.args(check).args(features).args(["--", "-D", "warnings"]))?;
        }
    }
    Ok(())
}

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
    anyhow::ensure!(failed.is_empty(), "cargo xtask reproduce fails: {}", failed.join(", "));
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

/// Packages every published crate, those it depends on included; with `build`, builds each from its package, which takes minutes.
fn package(build: bool) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    forget_unpacked(&workspace);
    // What was compiled of earlier packages is taken for that of these, too.
    let mut cargo = cargo_in_root()?;
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let target = metadata.target_directory.join("package-check");
    if target.exists() {
        std::fs::remove_dir_all(&target).with_context(|| target.to_string())?;
    }
    // Uncommitted work is packaged too, so that this runs before a commit as well as after.
    cargo.args(["package", "--quiet", "--allow-dirty", "--target-dir"]).arg(&target);
    cargo.args((!build).then_some("--no-verify"));
    let published = workspace.packages.iter().filter(|p| p.publish);
    cargo.args(published.flat_map(|p| ["--package", &p.name]));
    succeed(&mut cargo)
}

/// Removes what earlier runs unpacked. Cargo keeps packages of its temporary registry by name and version, as if they
/// never changed, and would build a crate against yesterday's text of another.
fn forget_unpacked(workspace: &Workspace) {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))) else { return };
    for kind in ["src", "cache"] {
        // Registries with a name are real ones.
        let registries = std::fs::read_dir(home.join("registry").join(kind)).into_iter().flatten().flatten();
        for registry in registries.filter(|folder| folder.file_name().to_string_lossy().starts_with('-')) {
            for package in workspace.packages.iter().filter(|p| p.publish) {
                let name = format!("{}-{}", package.name, env!("CARGO_PKG_VERSION"));
                // What is not there needs no removal.
                let _ = std::fs::remove_dir_all(registry.path().join(&name));
                let _ = std::fs::remove_file(registry.path().join(format!("{name}.crate")));
            }
        }
    }
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
            println!("{name:<8} {:>7.1} s", took.as_secs_f64());
        }
        let (total_s, budget_s) = (total.as_secs_f64(), BUDGET.as_secs());
        let verdict = if total > BUDGET { "OVER the" } else { "of a" };
        println!("{:<8} {total_s:>7.1} s {verdict} budget of {budget_s} s", "total");
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
