//! Writes the list of the kernel sources in this folder, so that a new one is a file and no more.

use std::fmt::Write as _;
use std::{env, fs, io};

/// What the names of the sources end with.
const EXTENSION: &str = ".cl";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=.");
    let mut stems = Vec::new();
    for entry in fs::read_dir(".")? {
        let name = entry?.file_name();
        stems.extend(name.to_string_lossy().strip_suffix(EXTENSION).map(str::to_owned));
    }
    // The order of a folder is that of its file system.
    stems.sort_unstable();
    let mut list = String::from("&[\n");
    for stem in stems {
        println!("cargo::rerun-if-changed={stem}{EXTENSION}");
        let path = format!(r#"concat!(env!("CARGO_MANIFEST_DIR"), "/{stem}{EXTENSION}")"#);
        // Writing to a `String` does not fail.
        let _ = writeln!(list, r#"("{stem}", include_str!({path})),"#);
    }
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo gives no OUT_DIR"))?;
    fs::write(std::path::Path::new(&folder).join("sources.rs"), list + "]\n")
}
