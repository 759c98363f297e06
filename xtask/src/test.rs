//! `cargo xtask test`: says which backends this machine can test, then tests the workspace.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand, TargetKind};

/// `cargo xtask test`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Tests optimised code.
    #[arg(long)]
    release: bool,
    /// Runs the exhaustive conformance suite: every combination on every case. It takes about half an hour on two cores.
    #[arg(long)]
    full: bool,
    /// Passed on to `cargo test`, such as a test's name.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// What a backend needs of the machine, or `spmv-mpi`. A new backend is a new row in [`BACKENDS`].
struct Needs {
    backend: &'static str,
    /// What was found, or what is missing.
    probe: fn() -> Result<String, &'static str>,
    /// Debian packages that bring it.
    packages: &'static [&'static str],
    /// The way out where there is no package.
    otherwise: &'static str,
}

const BACKENDS: [Needs; 5] = [
    Needs { backend: "cpu", probe: cpu, packages: &[], otherwise: "" },
    Needs { backend: "cuda", probe: cuda, packages: &[], otherwise: "needs an NVIDIA GPU and its driver" },
    Needs {
        backend: "opencl",
        probe: opencl,
        packages: &["pocl-opencl-icd", "ocl-icd-libopencl1"],
        otherwise: "install an OpenCL driver",
    },
    Needs {
        backend: "wgpu",
        probe: wgpu,
        packages: &["mesa-vulkan-drivers", "libvulkan1"],
        otherwise: "install a Vulkan driver",
    },
    Needs {
        backend: MPI,
        probe: mpi,
        packages: &["libopenmpi-dev", "openmpi-bin", "libclang-dev"],
        otherwise: "install an MPI library with its mpicc and mpiexec, and libclang",
    },
];

/// No backend, but tested where it is found, as they are: the feature of `spmv-mpi` that its tests need.
const MPI: &str = "mpi";
/// The same, for a build of the workspace.
const MPI_FEATURE: &str = "spmv-mpi/mpi";

fn cpu() -> Result<String, &'static str> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(format!("{threads} threads"))
}

fn cuda() -> Result<String, &'static str> {
    match cfg!(windows) {
        true => found(&["C:/Windows/System32/nvcuda.dll"], ".dll"),
        false => found(&LIBRARIES, "libcuda.so.1"),
    }
    .ok_or("no driver (libcuda)")
}

fn opencl() -> Result<String, &'static str> {
    match std::env::consts::OS {
        "macos" => Ok("part of the system".into()),
        "windows" => found(&["C:/Windows/System32/OpenCL.dll"], ".dll").ok_or("no OpenCL.dll"),
        _ => {
            found(&LIBRARIES, "libOpenCL.so.1").ok_or("no loader (libOpenCL)")?;
            found(&["/etc/OpenCL/vendors"], ".icd").ok_or("no driver in /etc/OpenCL/vendors")
        }
    }
}

fn wgpu() -> Result<String, &'static str> {
    match std::env::consts::OS {
        "macos" | "windows" => Ok("part of the system".into()),
        _ => {
            found(&LIBRARIES, "libvulkan.so.1").ok_or("no loader (libvulkan)")?;
            found(&["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"], ".json").ok_or("no Vulkan driver")
        }
    }
}

/// What building against MPI and starting processes take.
fn mpi() -> Result<String, &'static str> {
    if std::env::consts::OS != "linux" {
        return Err("tested on Linux alone");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = |variable: &str, name: &str| {
        let name = std::env::var(variable).unwrap_or_else(|_| name.into());
        std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|path| path.is_file())
    };
    program("MPICC", "mpicc").ok_or("no compiler (mpicc)")?;
    let mpiexec = program("MPIEXEC", "mpiexec").ok_or("no launcher (mpiexec)")?;
    let folders = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from).into_iter();
    let folders = folders.chain(LIBRARIES.iter().map(PathBuf::from)).chain(llvm_folders());
    folders.into_iter().find(|folder| has_libclang(folder)).ok_or("no libclang, which reads mpi.h")?;
    Ok(mpiexec.display().to_string())
}

/// Where Debian has its versions of libclang.
fn llvm_folders() -> impl Iterator<Item = PathBuf> {
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let versions = versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    versions.map(|entry| entry.path().join("lib"))
}

fn has_libclang(folder: &Path) -> bool {
    let mut files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.any(|entry| entry.file_name().to_str().is_some_and(is_libclang))
}

/// `libclang.so`, `libclang-14.so.1` and their like, but not `libclang-cpp.so`.
fn is_libclang(name: &str) -> bool {
    let version = name.strip_prefix("libclang").and_then(|rest| rest.split_once(".so"));
    version.is_some_and(|(version, _)| version.chars().all(|c| c == '-' || c == '.' || c.is_ascii_digit()))
}

/// Where loaders are on Linux.
const LIBRARIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
];

/// The first file whose name ends so: one of the paths, or in it.
fn found(candidates: &[&str], end: &str) -> Option<String> {
    let fits = |path: &Path| path.is_file() && path.to_string_lossy().ends_with(end);
    candidates.iter().map(Path::new).find_map(|candidate| {
        if fits(candidate) {
            return Some(candidate.display().to_string());
        }
        let mut paths: Vec<_> =
            std::fs::read_dir(candidate).ok()?.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().find(|path| fits(path)).map(|path| path.display().to_string())
    })
}

/// A backend on this machine.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Ok(String),
    Absent { reason: &'static str, packages: &'static [&'static str], way_out: String },
}

impl Needs {
    /// The state after what is missing was installed, where that needs no question.
    fn found_or_installed(&self) -> anyhow::Result<State> {
        let state = self.state();
        Ok(if install(&state)? { self.state() } else { state })
    }

    fn state(&self) -> State {
        match (self.probe)() {
            Ok(found) => State::Ok(found),
            Err(reason) => {
                let way_out = match (self.packages, is_debian()) {
                    ([], _) | (_, false) => self.otherwise.to_owned(),
                    (packages, true) => format!("sudo {}", apt(packages).join(" ")),
                };
                State::Absent { reason, packages: self.packages, way_out }
            }
        }
    }
}

fn apt<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    [&["apt-get", "install", "-y", "--no-install-recommends"], packages].concat()
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// A row of the table that is printed before the tests.
fn row(backend: &str, state: &State, used: bool) -> String {
    let text = match state {
        State::Ok(found) => format!("{backend:<7} ok      {found}"),
        State::Absent { reason, way_out, .. } => format!("{backend:<7} absent  {reason}: {way_out}"),
    };
    if used { text } else { format!("{text} (not used by this version yet)") }
}

/// Names in `SPMV_REQUIRE` that are no backends: other commands and tests look for them.
const OTHERS: [&str; 3] = ["browser", "kernels", "python"];

fn names(required: &str) -> impl Iterator<Item = &str> {
    required.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// What stands between the machine and the backends that `SPMV_REQUIRE` names.
fn unmet(required: &str, states: &[(&str, State, bool)]) -> Vec<String> {
    names(required)
        .filter(|name| !OTHERS.contains(name))
        .filter_map(|name| match states.iter().find(|(backend, ..)| *backend == name) {
            None => Some(format!("SPMV_REQUIRE names '{name}', which is no backend")),
            Some((_, _, false)) => {
                Some(format!("SPMV_REQUIRE names '{name}', which this version does not have"))
            }
            Some((_, State::Ok(_), true)) => None,
            Some((_, State::Absent { reason, way_out, .. }, true)) => {
                Some(format!("SPMV_REQUIRE names '{name}', which is absent: {reason}: {way_out}"))
            }
        })
        .collect()
}

/// Runs every test of the workspace. `SPMV_REQUIRE` reaches them through the environment.
///
/// # Errors
/// If a test fails, or a backend of `SPMV_REQUIRE` is absent.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let is_member = |backend: &str| metadata.packages.iter().any(|p| *p.name == format!("spmv-{backend}"));
    let mut states = Vec::new();
    for needs in &BACKENDS {
        let used = is_member(needs.backend);
        let state = if used { needs.found_or_installed()? } else { needs.state() };
        println!("{}", row(needs.backend, &state, used));
        states.push((needs.backend, state, used));
    }
    let unmet = unmet(&std::env::var("SPMV_REQUIRE").unwrap_or_default(), &states);
    if !unmet.is_empty() {
        bail!("{}", unmet.join("; "));
    }
    let root = metadata.workspace_root.as_std_path();
    let is_found =
        |name: &str| states.iter().any(|(n, state, _)| *n == name && matches!(state, State::Ok(_)));
    let is_absent = |suite: &&str| suite.strip_prefix(SUITE).is_some_and(|backend| !is_found(backend));
    let run = Run { args, root, has_mpi: is_found(MPI), is_absent: &is_absent };
    match args.rest[..] {
        [] => run.every(&metadata),
        _ => crate::command::succeed(run.cargo().args(&args.rest)),
    }
}

/// The feature of `spmv-mpi`, where the machine has MPI or it can be installed.
///
/// # Errors
/// If it cannot be installed where that needs no question.
pub(crate) fn mpi_feature() -> anyhow::Result<Option<&'static str>> {
    let needs = BACKENDS.iter().find(|needs| needs.backend == MPI).expect("a row");
    Ok(matches!(needs.found_or_installed()?, State::Ok(_)).then_some(MPI_FEATURE))
}

/// What runs next to all other tests, since it takes longest. Drivers compile kernels on one core: what one leaves idle another uses.
const SUITES: [&str; 3] = ["conformance-cpu", "conformance-opencl", "conformance-wgpu"];

/// How the suite of a backend is called that may be absent. It is not built where it is: every trial of it would be skipped, and each suite
/// takes a minute of a core to build. Clippy sees it all the same.
const SUITE: &str = "conformance-";

/// Tests of the workspace on this machine.
struct Run<'a> {
    args: &'a Args,
    root: &'a Path,
    /// Whether the tests of `spmv-mpi` are built and run. With the others, since a build of that crate by itself would build most of
    /// the workspace again, with the features that it has by itself.
    has_mpi: bool,
    is_absent: &'a dyn Fn(&&str) -> bool,
}

impl Run<'_> {
    /// Builds every test; then runs next to each other the tests of all crates, unit tests with doc-tests, and each of [`SUITES`].
    fn every(&self, metadata: &Metadata) -> anyhow::Result<()> {
        // Not nextest, which starts a process for each of the suites' thousands of cases, and has no doc-tests.
        let tests = metadata.packages.iter().flat_map(|package| &package.targets).filter(|target| {
            // Those of features that are off are not built.
            let is_on = |feature: &String| self.has_mpi && feature == MPI;
            target.kind.contains(&TargetKind::Test) && target.required_features.iter().all(is_on)
        });
        let names = tests.map(|target| &*target.name).filter(|name| !(self.is_absent)(name));
        let (suites, others): (BTreeSet<&str>, BTreeSet<&str>) =
            names.partition(|name| SUITES.contains(name));
        let [suites, others] = [&suites, &others]
            .map(|names| -> Vec<&str> { names.iter().flat_map(|name| ["--test", name]).collect() });
        let units = ["--lib", "--bins"];
        crate::command::succeed(self.cargo().arg("--no-run").args(units).args(&others).args(&suites))?;
        let with = |arguments: &[&str]| {
            let mut cargo = self.cargo();
            cargo.args(arguments);
            cargo
        };
        let of_crates = [vec![with(&others)], vec![with(&units), with(&["--doc"])]];
        at_once(of_crates.into_iter().chain(suites.chunks(2).map(|suite| vec![with(suite)])))
    }

    /// `cargo test` of the workspace.
    fn cargo(&self) -> Command {
        let mut cargo = Command::new(crate::command::cargo());
        cargo.args(["test", "--workspace"]).current_dir(self.root);
        if self.has_mpi {
            cargo.args(["--features", MPI_FEATURE]);
        }
        if self.args.release {
            cargo.arg("--release");
        }
        match self.args.full {
            true => cargo.env("SPMV_FULL", "1"),
            // PoCL takes a third less time for the suite where it has compiled none of it before. Every night it optimises.
            // Lavapipe a tenth, likewise.
            false => cargo.env("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable").env("GALLIVM_PERF", "nopt"),
        };
        cargo
    }
}

/// Runs the commands of each list in turn, next to those of the others, and prints what each says when it has ended; what the first list says,
/// at once.
fn at_once(lists: impl IntoIterator<Item = Vec<Command>>) -> anyhow::Result<()> {
    let mut lists = lists.into_iter();
    let mut first = lists.next().unwrap_or_default();
    let run = |command: &mut Command| {
        let output = command.stderr(Stdio::inherit()).output()?;
        std::io::stdout().write_all(&output.stdout)?;
        ensure!(output.status.success(), "{}: {command:?}", output.status);
        Ok(())
    };
    std::thread::scope(|scope| {
        let others = lists.map(|mut list| scope.spawn(move || list.iter_mut().try_for_each(run)));
        let others: Vec<_> = others.collect();
        let first = first.iter_mut().try_for_each(crate::command::succeed);
        others.into_iter().fold(first, |earlier, of_list| earlier.and(of_list.join().expect("no panic")))
    })
}

impl Args {
    /// All tests, exhaustively or not.
    pub(crate) fn of(full: bool) -> Self {
        Self { full, ..Self::default() }
    }
}

/// Installs what is missing, where that needs no question: as root, on Debian.
fn install(state: &State) -> anyhow::Result<bool> {
    let State::Absent { packages, .. } = state else { return Ok(false) };
    if packages.is_empty() || !is_debian() || !is_root() {
        return Ok(false);
    }
    let command = apt(packages);
    let install = || {
        println!("{}", command.join(" "));
        crate::command::succeed(Command::new(command[0]).args(&command[1..]))
    };
    if install().is_err() {
        // A fresh machine may have no list of packages yet, or one from before the packages moved.
        crate::command::succeed(Command::new("apt-get").arg("update"))?;
        install()?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent() -> State {
        State::Absent { reason: "no loader", packages: &["a"], way_out: "install a".into() }
    }

    #[test]
    fn a_row_names_what_is_missing_and_the_way_out() {
        assert_eq!(row("cpu", &State::Ok("2 threads".into()), true), "cpu     ok      2 threads");
        let text = row("opencl", &absent(), false);
        assert_eq!(text, "opencl  absent  no loader: install a (not used by this version yet)");
    }

    #[test]
    fn a_required_backend_must_be_there_and_used() {
        let states =
            [("cpu", State::Ok(String::new()), true), ("opencl", absent(), true), ("wgpu", absent(), false)];
        assert!(unmet("", &states).is_empty());
        assert!(unmet("cpu,", &states).is_empty());
        assert!(unmet("kernels, cpu", &states).is_empty());
        assert!(unmet("cpu, opencl", &states)[0].contains("absent: no loader: install a"));
        assert!(unmet("wgpu", &states)[0].contains("does not have"));
        assert!(unmet("gpu", &states)[0].contains("no backend"));
    }

    #[test]
    fn the_cpu_needs_nothing() {
        assert!(matches!(BACKENDS[0].state(), State::Ok(_)));
    }

    #[test]
    fn a_file_is_found_by_itself_or_in_a_folder() {
        let root = env!("CARGO_MANIFEST_DIR");
        assert!(found(&["nowhere", root], "Cargo.toml").is_some());
        assert!(found(&[&format!("{root}/Cargo.toml")], ".toml").is_some());
        assert_eq!(found(&[root], "Cargo.nothing"), None);
    }

    #[test]
    fn libclang_is_found_by_its_names() {
        assert!(["libclang.so", "libclang.so.1", "libclang-14.so.14.0.6"].into_iter().all(is_libclang));
        let others = ["libclang-cpp.so.14", "libclang_rt.asan.so", "libclang.a", "clang.so"];
        assert!(!others.into_iter().any(is_libclang));
        assert!(!has_libclang(Path::new("nowhere")));
    }

    #[test]
    fn of_two_commands_either_may_fail() {
        let cargo = |arg: &str| {
            let mut cargo = Command::new(crate::command::cargo());
            cargo.arg(arg).stdout(Stdio::null()).stderr(Stdio::null());
            vec![cargo]
        };
        assert!(at_once([cargo("--version"), cargo("--version")]).is_ok());
        for (first, second) in [("--version", "no-such-verb"), ("no-such-verb", "--version")] {
            assert!(at_once([cargo(first), cargo(second)]).unwrap_err().to_string().contains("no-such-verb"));
        }
    }
}
