//! Where the compiler and the assembler come from: two packages of PyPI, in a virtual environment of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use spmv_kernels_cuda::recipe::COMPILER;

/// The packages, and the file that is wanted of each.
const COMPILER_PACKAGE: (&str, &str) = ("nvidia-cuda-nvrtc-cu12", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
const ASSEMBLER_PACKAGE: (&str, &str) = ("nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/bin/ptxas");

/// Paths of what turns CUDA C++ into PTX, and PTX into machine code.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) nvrtc: PathBuf,
    pub(super) ptxas: PathBuf,
}

impl Tools {
    /// Those of the folder that pip installed the packages into, in the version of the recipe.
    pub(super) fn in_site_packages(folder: &Path) -> anyhow::Result<Self> {
        let path = |(package, file): (&str, &str)| {
            let info = format!("{}-{COMPILER}.dist-info", package.replace('-', "_"));
            ensure!(folder.join(info).is_dir(), "{}: no {package} {COMPILER} in it", folder.display());
            let path = folder.join(file);
            ensure!(path.is_file(), "{}: no {file} in it; packages for Linux have one", folder.display());
            Ok(path)
        };
        Ok(Self { nvrtc: path(COMPILER_PACKAGE)?, ptxas: path(ASSEMBLER_PACKAGE)? })
    }

    /// Those of a virtual environment in `folder`, which is made if it is not there.
    pub(super) fn installed(folder: &Path) -> anyhow::Result<Self> {
        ensure!(
            cfg!(target_os = "linux"),
            "the compilers are known as Linux has them; build the PTX on Linux"
        );
        if let Some(tools) = in_environment(folder) {
            return Ok(tools);
        }
        run(
            Command::new("python3").args(["-m", "venv"]).arg(folder),
            "it needs Python 3 with its module venv (on Debian: apt-get install python3-venv)",
        )?;
        let packages = [COMPILER_PACKAGE, ASSEMBLER_PACKAGE].map(|(name, _)| format!("{name}=={COMPILER}"));
        run(
            Command::new(folder.join("bin/python"))
                .args(["-m", "pip", "install", "--no-deps", "--disable-pip-version-check", "--quiet"])
                .args(packages),
            "it needs a package index that pip can reach; --wheels names a folder that holds the packages",
        )?;
        in_environment(folder).with_context(|| {
            format!("{}: pip installed no compilers; remove the folder and try again", folder.display())
        })
    }
}

/// The tools of any Python in the environment, if it is complete.
fn in_environment(folder: &Path) -> Option<Tools> {
    let pythons = std::fs::read_dir(folder.join("lib")).ok()?.flatten();
    pythons.map(|python| python.path().join("site-packages")).find_map(|p| Tools::in_site_packages(&p).ok())
}

/// Runs a command to its end, which is printed beforehand, because it may take a minute.
fn run(command: &mut Command, way_out: &str) -> anyhow::Result<()> {
    println!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{status}: {command:?}: {way_out}"),
        Err(e) => bail!("cannot start {command:?}: {e}: {way_out}"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_folder_without_the_packages_is_named_with_what_it_lacks() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = Tools::in_site_packages(folder).unwrap_err().to_string();
        assert!(error.contains("xtask: no nvidia-cuda-nvrtc-cu12 12.9"), "{error}");
        assert!(in_environment(folder).is_none());
    }

    #[test]
    fn a_command_that_fails_or_does_not_exist_says_the_way_out() {
        let cargo = crate::command::cargo();
        for name in [cargo.as_os_str(), "no-such-command".as_ref()] {
            let mut command = Command::new(name);
            let error = run(command.arg("no-such-verb").stderr(Stdio::null()), "it needs luck").unwrap_err();
            let error = error.to_string();
            assert!(error.contains("no-such-verb") && error.ends_with(": it needs luck"), "{error}");
        }
    }
}
