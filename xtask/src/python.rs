//! `cargo xtask python`: builds the Python package, into an environment of its own, and tests it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use cargo_metadata::MetadataCommand;
use spmv_backend::env;

use crate::command::succeed;

/// `cargo xtask python`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Every backend. Without it the package is built for the CPU alone, which takes a minute instead of several.
    #[arg(long)]
    full: bool,
    /// Instead: compares products and conjugate gradients with SciPy's, by optimised code.
    #[arg(long)]
    bench: bool,
    /// Instead: writes the wheel for releases, which runs on every Linux since 2014, to `target/wheels`.
    #[arg(long, conflicts_with = "bench")]
    wheel: bool,
    /// Passed on to pytest, or to the comparison.
    #[arg(last = true)]
    rest: Vec<String>,
}

impl Args {
    /// Tests of the CPU, or of every backend.
    pub(crate) fn of(full: bool) -> Self {
        Self { full, ..Self::default() }
    }
}

/// What tests and comparisons need of others.
const PACKAGES: [&str; 5] = ["maturin>=1.9,<2", "mypy", "numpy", "scipy", "pytest"];
/// What links against the C library of 2014.
const ZIG: &str = "ziglang";

/// The folders of a run.
struct Workshop {
    /// That of `pyproject.toml`.
    package: PathBuf,
    target: PathBuf,
    venv: PathBuf,
}

/// Builds and tests, compares, or writes the wheel.
///
/// # Errors
/// Without Python, and if anything fails.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let workshop = Workshop::open()?;
    if args.wheel {
        return workshop.wheel();
    }
    workshop.install(args.full, args.bench)?;
    let python = workshop.python();
    let mut command = Command::new(&python);
    match args.bench {
        true => command.arg("benchmarks/compare.py"),
        false => command.args(["-m", "pytest", "-q"]),
    };
    succeed(command.args(&args.rest).current_dir(&workshop.package))
}

/// Tests of the CPU, or of every backend; says why where the machine has no Python, unless `SPMV_REQUIRE` names it.
///
/// # Errors
/// As [`run`].
pub(crate) fn test_or_skip(full: bool) -> anyhow::Result<()> {
    if !has_venv() && !env::lists("SPMV_REQUIRE", "python") {
        println!("skipped: no {} with venv; on Debian, install python3-venv", interpreter());
        return Ok(());
    }
    let workshop = Workshop::open()?;
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(crate::command::cargo());
        cargo.args(arguments).current_dir(&workshop.package).env("CARGO_TARGET_DIR", &workshop.target);
        succeed(&mut cargo)
    };
    cargo(&["fmt", "--check"])?;
    run(&Args::of(full))?;
    match full {
        true => cargo(&["clippy", "--", "-D", "warnings"]),
        false => Ok(()),
    }
}

/// Installs what [`test_or_skip`] needs, which says why it is not there.
pub(crate) fn install_packages() {
    if has_venv() {
        let _ = Workshop::open().and_then(|workshop| workshop.make(&PACKAGES));
    }
}

fn has_venv() -> bool {
    let output = Command::new(interpreter()).args(["-c", "import venv, ensurepip"]).output();
    output.is_ok_and(|output| output.status.success())
}

fn interpreter() -> String {
    std::env::var("PYTHON").unwrap_or_else(|_| "python3".into())
}

impl Workshop {
    fn open() -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
        let target = metadata.target_directory.into_std_path_buf().join("python");
        let venv = target.join("venv");
        Ok(Self { package: metadata.workspace_root.into_std_path_buf().join("python"), target, venv })
    }

    fn bin(&self, name: &str) -> PathBuf {
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        self.venv.join(folder).join(name)
    }

    fn python(&self) -> PathBuf {
        self.bin("python")
    }

    /// The environment with packages.
    fn make(&self, packages: &[&str]) -> anyhow::Result<()> {
        if !self.python().exists() {
            succeed(Command::new(interpreter()).args(["-m", "venv"]).arg(&self.venv))?;
        }
        let mut pip = Command::new(self.python());
        // Most modules are never imported here.
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
        // How a source package is built.
        pip.env("MATURIN_PEP517_ARGS", "--profile dev --no-default-features --features abi3");
        succeed(pip.args(packages))
    }

    fn maturin(&self, verb: &str) -> Command {
        let mut maturin = Command::new(self.bin("maturin"));
        maturin.arg(verb).current_dir(&self.package);
        maturin.env("VIRTUAL_ENV", &self.venv).env("CARGO_TARGET_DIR", &self.target);
        // Zig is a package of Python's here.
        maturin.env("CARGO_ZIGBUILD_PYTHON_PATH", self.python());
        maturin
    }

    /// Builds the package into the environment.
    fn install(&self, full: bool, is_optimised: bool) -> anyhow::Result<()> {
        self.make(&PACKAGES)?;
        let mut maturin = self.maturin("develop");
        maturin.arg("--quiet");
        if is_optimised {
            maturin.arg("--release");
        }
        if !full {
            maturin.args(["--no-default-features", "--features", "abi3"]);
        }
        succeed(&mut maturin)
    }

    /// Where wheels and source packages go.
    fn wheels(&self) -> anyhow::Result<PathBuf> {
        Ok(self.target.parent().context("a folder of Cargo")?.join("wheels"))
    }

    fn wheel(&self) -> anyhow::Result<()> {
        self.make(&[&PACKAGES[..], &[ZIG]].concat())?;
        let wheels = self.wheels()?;
        let mut maturin = self.maturin("build");
        maturin.args(["--release", "--out"]).arg(&wheels);
        if cfg!(target_os = "linux") {
            maturin.args(["--zig", "--compatibility", "manylinux2014"]);
        }
        succeed(&mut maturin)?;
        self.tried(&newest(&wheels, "whl")?)
    }

    /// The source package. The trial builds it for the CPU, not optimised.
    fn sources(&self) -> anyhow::Result<()> {
        self.make(&PACKAGES)?;
        let wheels = self.wheels()?;
        succeed(self.maturin("sdist").arg("--out").arg(&wheels))?;
        self.tried(&newest(&wheels, "gz")?)
    }

    /// Installs a package where nothing else is, and multiplies by it.
    fn tried(&self, file: &Path) -> anyhow::Result<()> {
        let fresh = self.target.join("fresh");
        if fresh.exists() {
            std::fs::remove_dir_all(&fresh)?;
        }
        let alone = Workshop { venv: fresh, package: self.package.clone(), target: self.target.clone() };
        alone.make(&[file.to_str().context("a path of text")?])?;
        let output =
            Command::new(alone.python()).args(["-c", PROGRAM]).current_dir(&alone.target).output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        ensure!(printed.trim() == "[20.0, 3.0]", "{printed}{}", String::from_utf8_lossy(&output.stderr));
        println!("{}, {:.1} MiB", file.display(), file.metadata()?.len() as f64 / f64::from(1 << 20));
        Ok(())
    }
}

/// What a package is tried by.
const PROGRAM: &str =
    "import spmv; print((spmv.matrix(([2.0, 3.0], [1, 0], [0, 1, 2]), (2, 2)) @ [1.0, 10.0]).tolist())";

/// The newest file of a folder with this extension.
fn newest(folder: &Path, extension: &str) -> anyhow::Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == extension));
    let newest = files.max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    newest.with_context(|| format!("no .{extension} was written"))
}

/// The wheel and the source package of a release, each tried.
///
/// # Errors
/// If either cannot be built, or multiplies wrong.
pub(crate) fn release() -> anyhow::Result<()> {
    let workshop = Workshop::open()?;
    workshop.wheel().and_then(|()| workshop.sources())
}

/// What executes notebooks and writes them as pages.
const NOTEBOOKS: [&str; 2] = ["nbconvert", "ipykernel"];

/// Executes the example's notebook by an optimised package, and writes it as a page to a folder.
///
/// # Errors
/// Without Python, and if anything fails.
pub(crate) fn page_of_notebook(folder: &Path) -> anyhow::Result<PathBuf> {
    let workshop = Workshop::open()?;
    workshop.make(&NOTEBOOKS)?;
    workshop.install(false, true)?;
    let mut jupyter = Command::new(workshop.python());
    jupyter.args(["-m", "nbconvert", "--to", "html", "--execute", "--output-dir"]).arg(folder);
    succeed(jupyter.arg("examples/plane.ipynb").current_dir(&workshop.package))?;
    Ok(folder.join("plane.html"))
}
