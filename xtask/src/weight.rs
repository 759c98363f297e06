//! `cargo xtask weight`: what the facade costs a program, by features.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use cargo_metadata::MetadataCommand;

use crate::command::{cargo, succeed};

/// Features, and what the table calls them; `None` is the default.
const SETS: [(&str, Option<&str>); 5] = [
    ("none", Some("")),
    ("opencl", Some("opencl")),
    ("cuda", Some("cuda")),
    ("wgpu", Some("wgpu")),
    ("default", None),
];

/// One product, on whatever there is.
const PROGRAM: &str = "\
use spmv::{Context, Csr};

fn main() -> Result<(), spmv::Error> {
    let a = Context::auto()?.prepare(&Csr::from_coo(2, 3, &[(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?)?;
    println!(\"{:?}\", a.multiply(&[1.0, 10.0, 100.0])?);
    Ok(())
}
";

/// What a set of features costs.
#[derive(Debug)]
struct Weight {
    features: &'static str,
    crates: usize,
    build_s: f64,
    bytes: u64,
}

/// Builds a program of one product with each set of features, and prints the table that the README has.
///
/// # Errors
/// If one does not build.
pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = PathBuf::from(metadata.workspace_root);
    let folder = PathBuf::from(metadata.target_directory).join("weight");
    let measured = SETS.iter().map(|(name, features)| weigh(&root, &folder, name, *features));
    let weights = measured.collect::<anyhow::Result<Vec<_>>>()?;
    print!("{}", table(&weights));
    Ok(())
}

fn weigh(root: &Path, folder: &Path, features: &'static str, named: Option<&str>) -> anyhow::Result<Weight> {
    let package = folder.join(features);
    let target = package.join("target");
    if target.exists() {
        fs::remove_dir_all(&target).with_context(|| target.display().to_string())?;
    }
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("Cargo.toml"), manifest(&root.join("crates/spmv"), named))?;
    fs::write(package.join("src/main.rs"), PROGRAM)?;
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).context("Cargo.lock")?;
    let cargo_there = || {
        let mut command = Command::new(cargo());
        command.current_dir(&package).env("CARGO_TARGET_DIR", &target);
        command
    };
    // Which also fetches what is not there yet, so that the build does not.
    let tree = cargo_there()
        .args(["tree", "--quiet", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"])
        .output()
        .context("cargo tree")?;
    anyhow::ensure!(tree.status.success(), "cargo tree: {}", String::from_utf8_lossy(&tree.stderr));
    let start = Instant::now();
    succeed(cargo_there().args(["build", "--quiet", "--release"]))?;
    let build_s = start.elapsed().as_secs_f64();
    let binary = target.join("release").join(format!("weight{}", std::env::consts::EXE_SUFFIX));
    let bytes = fs::metadata(&binary).with_context(|| binary.display().to_string())?.len();
    Ok(Weight { features, crates: crates(&String::from_utf8_lossy(&tree.stdout)), build_s, bytes })
}

/// A package of its own, with the profile that a user's would have.
fn manifest(facade: &Path, features: Option<&str>) -> String {
    let path = facade.display().to_string().replace('\\', "/");
    let chosen = match features {
        None => String::new(),
        Some("") => ", default-features = false".to_owned(),
        Some(feature) => format!(", default-features = false, features = [\"{feature}\"]"),
    };
    format!(
        "[package]\nname = \"weight\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\nspmv = {{ path = \"{path}\"{chosen} }}\n\n[profile.release]\nstrip = true\n"
    )
}

/// Crates in what `cargo tree` prints, but for the program: those listed again are marked.
fn crates(tree: &str) -> usize {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let names: std::collections::BTreeSet<&str> = lines.filter(|line| !line.is_empty()).collect();
    names.len().saturating_sub(1)
}

fn table(weights: &[Weight]) -> String {
    let line = |w: &Weight| {
        let mib = w.bytes as f64 / f64::from(1 << 20);
        format!("{:<8} {:>7} {:>16.1} {:>13.2}\n", w.features, w.crates, w.build_s, mib)
    };
    let head =
        format!("{:<8} {:>7} {:>16} {:>13}\n", "features", "crates", "release build, s", "program, MiB");
    head + &weights.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_counts_once_and_the_program_does_not() {
        assert_eq!(crates("weight v0.0.0 (a)\nspmv v0.1.0 (b)\nlibc v0.2.1\n\nlibc v0.2.1 (*)\n"), 2);
        assert_eq!(crates(""), 0);
    }

    #[test]
    fn features_are_named_in_the_manifest() {
        let of = |features| manifest("crates/spmv".as_ref(), features);
        assert!(of(None).contains("spmv = { path = \"crates/spmv\" }\n"));
        assert!(of(Some("")).contains("default-features = false }\n"));
        assert!(of(Some("cuda")).contains("default-features = false, features = [\"cuda\"] }\n"));
    }

    #[test]
    fn a_line_of_the_table_is_a_set_of_features() {
        let weight = Weight { features: "none", crates: 30, build_s: 12.34, bytes: 3 << 19 };
        let text = table(&[weight]);
        assert!(text.ends_with("\nnone          30             12.3          1.50\n"), "{text}");
    }
}
