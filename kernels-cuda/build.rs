//! Writes the lists of what is in this folder (kernel sources, their tilings, types of values, archives of PTX), so that
//! a new kernel is a file and no more.

#[path = "src/header.rs"]
mod header;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

/// What the names of sources and archives end with.
const SOURCE: &str = ".cu";
const ARCHIVE: &str = ".ptx.lz";

/// The source that goes before each kernel.
const PRELUDE: &str = "prelude";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=.");
    match written() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("cargo::error={problem}");
            ExitCode::FAILURE
        }
    }
}

/// Writes each list as an expression that the crate includes.
fn written() -> Result<(), String> {
    let stems = names(".", SOURCE)?;
    write(
        "sources.rs",
        stems.iter().map(|stem| format!("({stem:?}, include_str!({}))", path(stem, SOURCE))),
    )?;
    let targets = names("ptx", ARCHIVE)?;
    let archive = |target: &String| path(&format!("ptx/{target}"), ARCHIVE);
    write("archives.rs", targets.iter().map(|of| format!("({of:?}, include_bytes!({}))", archive(of))))?;

    let prelude = format!("{PRELUDE}{SOURCE}");
    let text = read(&prelude)?;
    for (list, key) in [("values.rs", "values:"), ("mixed.rs", "mixed:")] {
        write(list, header::values(&prelude, &text, key)?.iter().map(|value| format!("{value:?}")))?;
    }
    let kernels = stems.iter().filter(|stem| *stem != PRELUDE);
    let variants: Vec<String> = kernels.map(|stem| variants(stem)).collect::<Result<_, _>>()?;
    write("variants.rs", variants.into_iter())
}

/// The row of a kernel.
fn variants(stem: &str) -> Result<String, String> {
    let file = format!("{stem}{SOURCE}");
    let text = read(&file)?;
    let (header::Built { lanes, widths }, multiplies) =
        (header::built(&file, &text)?, header::multiplies(&text));
    let widths = if widths.is_empty() { "ANY".to_owned() } else { format!("&{widths:?}") };
    Ok(format!(
        "Variants {{ stem: {stem:?}, lanes: &{lanes:?}, widths: {widths}, multiplies: {multiplies} }}"
    ))
}

/// Names of the folder's files that end so, without the end. A folder that is not there has none.
fn names(folder: &str, end: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let name = entry.map_err(|e| format!("{folder}: {e}"))?.file_name();
        names.extend(name.to_string_lossy().strip_suffix(end).map(str::to_owned));
    }
    // The order of a folder is that of its file system.
    names.sort_unstable();
    for name in &names {
        println!("cargo::rerun-if-changed={folder}/{name}{end}");
    }
    Ok(names)
}

/// An expression for the path of a file of the crate.
fn path(name: &str, end: &str) -> String {
    format!(r#"concat!(env!("CARGO_MANIFEST_DIR"), "/{name}{end}")"#)
}

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))
}

/// Writes a slice of these items.
fn write(file: &str, items: impl Iterator<Item = String>) -> Result<(), String> {
    let mut list = String::from("&[\n");
    for item in items {
        // Writing to a `String` does not fail.
        let _ = writeln!(list, "{item},");
    }
    let folder = env::var_os("OUT_DIR").ok_or("cargo gives no OUT_DIR")?;
    fs::write(Path::new(&folder).join(file), list + "]\n").map_err(|e| format!("{file}: {e}"))
}
