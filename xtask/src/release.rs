//! `cargo xtask release`: what a release consists of, made, and tried where nothing else is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use cargo_metadata::MetadataCommand;

use crate::command::{cargo, succeed};
use crate::python;
use crate::tidy::Workspace;

/// `cargo xtask release`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Leaves the Python package out.
    #[arg(long)]
    without_python: bool,
    /// Also writes what the crates are made of, by cargo-cyclonedx.
    #[arg(long)]
    sbom: bool,
}

/// Makes packages of every published crate; installs the command and builds a program from them, in a folder outside of the workspace;
/// then does the same with the wheel and the source package of Python.
///
/// # Errors
/// If anything fails, or multiplies wrong.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = metadata.workspace_root.as_std_path();
    let target = metadata.target_directory.as_std_path();
    let workspace = Workspace::load()?;
    let packages = package(&workspace, root, target, false)?;
    let clean = tempfile::tempdir()?;
    unpack(&workspace, &packages, clean.path())?;
    command_works(root, clean.path())?;
    library_works(root, clean.path())?;
    if args.sbom {
        sbom(&workspace, root, &packages)?;
    }
    if !args.without_python {
        python::release()?;
    }
    println!("packages: {}", packages.display());
    Ok(())
}

/// Writes what each published crate is made of to the folder of packages.
fn sbom(workspace: &Workspace, root: &Path, packages: &Path) -> anyhow::Result<()> {
    let mut cyclonedx = Command::new(cargo());
    cyclonedx.args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--manifest-path"]);
    let command = workspace.packages.iter().find(|p| p.name == COMMAND).context("no command")?;
    cyclonedx.arg(root.join(&command.dir).join("Cargo.toml"));
    succeed(&mut cyclonedx).context("cargo install cargo-cyclonedx")?;
    // It writes one for each crate of the workspace, next to its manifest.
    for package in &workspace.packages {
        let name = format!("{}.cdx.json", package.name);
        let written = root.join(&package.dir).join(&name);
        if package.publish {
            std::fs::copy(&written, packages.join(name))?;
        }
        std::fs::remove_file(written)?;
    }
    Ok(())
}

/// The crate that is a command for users.
const COMMAND: &str = "spmv-cli";

/// Packages every published crate, those it depends on included, and says where; with `build`, builds each from its package, which takes
/// minutes.
///
/// # Errors
/// If a crate cannot be packaged.
pub(crate) fn package(
    workspace: &Workspace,
    root: &Path,
    target: &Path,
    build: bool,
) -> anyhow::Result<PathBuf> {
    forget_unpacked(workspace);
    // What was compiled of earlier packages is taken for that of these, too.
    let target = target.join("package-check");
    if target.exists() {
        std::fs::remove_dir_all(&target).with_context(|| target.display().to_string())?;
    }
    let mut command = Command::new(cargo());
    // Uncommitted work is packaged too, so that this runs before a commit as well as after.
    command.args(["package", "--quiet", "--allow-dirty", "--target-dir"]).arg(&target);
    if !build {
        // Offline, or Cargo asks the registry about every crate again, one after another.
        succeed(Command::new(cargo()).args(["fetch", "--quiet", "--locked"]).current_dir(root))?;
        command.args(["--no-verify", "--offline"]);
    }
    command.current_dir(root);
    let published = workspace.published();
    command.args(published.flat_map(|p| ["--package", &p.name]));
    succeed(&mut command)?;
    Ok(target.join("package"))
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
            for package in workspace.published() {
                let name = folder(&package.name);
                // What is not there needs no removal.
                let _ = std::fs::remove_dir_all(registry.path().join(&name));
                let _ = std::fs::remove_file(registry.path().join(format!("{name}.crate")));
            }
        }
    }
}

/// Unpacks every package, and has Cargo take the crates from there, as from the registry once they are published.
fn unpack(workspace: &Workspace, packages: &Path, clean: &Path) -> anyhow::Result<()> {
    let mut config = String::from("[patch.crates-io]\n");
    for package in workspace.published() {
        let folder = folder(&package.name);
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(packages.join(format!("{folder}.crate"))).arg("-C").arg(clean);
        succeed(&mut tar)?;
        let path = clean.join(folder).display().to_string();
        config += &format!("{} = {{ path = {path:?} }}\n", package.name);
    }
    std::fs::create_dir(clean.join(".cargo"))?;
    Ok(std::fs::write(clean.join(".cargo/config.toml"), config)?)
}

/// The folder in a package.
fn folder(name: &str) -> String {
    format!("{name}-{}", env!("CARGO_PKG_VERSION"))
}

/// A cargo that knows nothing of the workspace.
fn cargo_in(clean: &Path, verb: &str) -> Command {
    let mut command = Command::new(cargo());
    command.args([verb, "--quiet"]).current_dir(clean).env("CARGO_TARGET_DIR", clean.join("target"));
    command
}

/// Installs the command, and describes a matrix with it.
fn command_works(root: &Path, clean: &Path) -> anyhow::Result<()> {
    let mut install = cargo_in(clean, "install");
    install.args(["--debug", "--no-default-features", "--path"]).arg(clean.join(folder(COMMAND)));
    succeed(install.arg("--root").arg(clean.join("installed")))?;
    let spmv = clean.join("installed/bin").join(format!("spmv{}", std::env::consts::EXE_SUFFIX));
    let matrix = root.join("tests/data/west0479.mtx.gz");
    let output =
        Command::new(&spmv).arg("info").arg(&matrix).current_dir(clean).output().context("spmv info")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success() && text.contains("479"), "spmv info: {text}");
    println!("{} installed and tried", spmv.display());
    Ok(())
}

/// Builds the first program of the README, which depends on the facade, and runs it.
fn library_works(root: &Path, clean: &Path) -> anyhow::Result<()> {
    let readme = std::fs::read_to_string(root.join("README.md"))?;
    let block = readme.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
    let (code, _) = block.context("README.md has no program")?;
    let program = clean.join("program");
    std::fs::create_dir_all(program.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"program\"\nedition = \"2024\"\n\n[dependencies]\nspmv = \"{}\"\n\n[workspace]\n",
        env!("CARGO_PKG_VERSION")
    );
    std::fs::write(program.join("Cargo.toml"), manifest)?;
    std::fs::write(program.join("src/main.rs"), code)?;
    succeed(cargo_in(clean, "run").arg("--manifest-path").arg(program.join("Cargo.toml")))?;
    println!("the program of README.md built and run");
    Ok(())
}
