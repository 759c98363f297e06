//! `cargo xtask test`: says which backends this machine can test, then tests the workspace.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
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

/// What a backend needs of the machine. A new backend is a new row in [`BACKENDS`].
struct Needs {
    backend: &'static str,
    /// What was found, or what is missing.
    probe: fn() -> Result<String, &'static str>,
    /// Debian packages that bring it.
    packages: &'static [&'static str],
    /// The way out where there is no package.
    otherwise: &'static str,
}

const BACKENDS: [Needs; 4] = [
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
];

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
const OTHERS: [&str; 2] = ["browser", "kernels"];

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
        let mut state = needs.state();
        if used && install(&state)? {
            state = needs.state();
        }
        println!("{}", row(needs.backend, &state, used));
        states.push((needs.backend, state, used));
    }
    let unmet = unmet(&std::env::var("SPMV_REQUIRE").unwrap_or_default(), &states);
    if !unmet.is_empty() {
        bail!("{}", unmet.join("; "));
    }
    let root = metadata.workspace_root.as_std_path();
    match args.rest[..] {
        [] => every(args, root, &metadata),
        _ => crate::command::succeed(args.cargo(root).args(&args.rest)),
    }
}

/// The conformance suites whose drivers compile kernels, each on one core: these two run side by side.
const SUITES: [&str; 2] = ["conformance-opencl", "conformance-wgpu"];

/// Builds every test; then runs all but [`SUITES`], one after the other, then those, then doc-tests.
fn every(args: &Args, root: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    // Not nextest, which starts a process for each of the suites' thousands of cases, and has no doc-tests.
    let tests = metadata.packages.iter().flat_map(|package| &package.targets).filter(|target| {
        // Those of features that are off are not built.
        target.kind.contains(&TargetKind::Test) && target.required_features.is_empty()
    });
    let others: BTreeSet<&str> =
        tests.map(|target| &*target.name).filter(|name| !SUITES.contains(name)).collect();
    let others = ["--lib", "--bins"].into_iter().chain(others.iter().flat_map(|name| ["--test", name]));
    let others: Vec<&str> = others.collect();
    let suites = SUITES.map(|suite| ["--test", suite]);
    crate::command::succeed(args.cargo(root).arg("--no-run").args(&others).args(suites.as_flattened()))?;
    crate::command::succeed(args.cargo(root).args(&others))?;
    let [first, second] = suites.map(|suite| {
        let mut cargo = args.cargo(root);
        cargo.args(suite);
        cargo
    });
    at_once(first, second)?;
    crate::command::succeed(args.cargo(root).arg("--doc"))
}

/// Runs both at once, and prints what the first says when both have ended.
fn at_once(mut first: Command, mut second: Command) -> anyhow::Result<()> {
    let child = first.stdout(Stdio::piped()).spawn()?;
    // The pipe is emptied meanwhile, or a full one would stop the first.
    let said = std::thread::spawn(|| child.wait_with_output());
    let second = crate::command::succeed(&mut second);
    let said = said.join().expect("no panic")?;
    std::io::stdout().write_all(&said.stdout)?;
    ensure!(said.status.success(), "{}: {first:?}", said.status);
    second
}

impl Args {
    /// All tests, exhaustively or not.
    pub(crate) fn of(full: bool) -> Self {
        Self { full, ..Self::default() }
    }

    /// `cargo test` of the workspace.
    fn cargo(&self, root: &Path) -> Command {
        let mut cargo = Command::new(crate::command::cargo());
        cargo.args(["test", "--workspace"]).current_dir(root);
        if self.release {
            cargo.arg("--release");
        }
        if self.full {
            cargo.env("SPMV_FULL", "1");
        }
        cargo
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
    fn of_two_commands_either_may_fail() {
        let cargo = |arg: &str| {
            let mut cargo = Command::new(crate::command::cargo());
            cargo.arg(arg).stdout(Stdio::null()).stderr(Stdio::null());
            cargo
        };
        assert!(at_once(cargo("--version"), cargo("--version")).is_ok());
        for (first, second) in [("--version", "no-such-verb"), ("no-such-verb", "--version")] {
            assert!(at_once(cargo(first), cargo(second)).unwrap_err().to_string().contains("no-such-verb"));
        }
    }
}
