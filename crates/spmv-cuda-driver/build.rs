//! Writes the library that `-lcuda` finds: one without content, because the crate itself has the functions.

use std::path::PathBuf;
use std::{env, fs, io};

/// What every archive begins with; GNU's linker and LLVM's take it for an empty one.
const MAGIC: &[u8] = b"!<arch>\n";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name: &str| env::var(name).unwrap_or_default();
    let (file, archive) =
        match (set("CARGO_CFG_TARGET_VENDOR").as_str(), set("CARGO_CFG_TARGET_ENV").as_str()) {
            // Microsoft's linker looks for two tables of symbols, Apple's for one, its name before its content.
            (_, "msvc") => ("cuda.lib", [MAGIC, &member("/", &[0; 4]), &member("/", &[0; 8])].concat()),
            ("apple", _) => {
                ("libcuda.a", [MAGIC, &member("#1/12", b"__.SYMDEF\0\0\0\0\0\0\0\0\0\0\0")].concat())
            }
            _ => ("libcuda.a", MAGIC.to_vec()),
        };
    let folder = PathBuf::from(set("OUT_DIR"));
    fs::write(folder.join(file), archive)?;
    println!("cargo:rustc-link-search=native={}", folder.display());
    Ok(())
}

/// A member of an archive: 60 characters of header, then the content. Its zeros count no symbols.
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 0, content.len());
    [header.as_bytes(), content].concat()
}
