//! The one library of a process.

use std::env;
use std::error::Error;
use std::ffi::{CStr, OsString};
use std::sync::OnceLock;

use libloading::Library;

use crate::NoDriver;

/// A function of the driver, of unknown parameters: to be cast to what the CUDA headers declare.
pub type Function = unsafe extern "C" fn();

/// Names a library file other than the system's.
const VARIABLE: &str = "SPMV_CUDA_DRIVER";

const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_vendor = "apple") {
    &["libcuda.dylib"]
} else {
    // The second comes with development packages, and may be a toolkit's stub.
    &["libcuda.so.1", "libcuda.so"]
};

/// The library, loaded at the first call and never unloaded.
pub(crate) fn get() -> Result<&'static Library, &'static NoDriver> {
    static LIBRARY: OnceLock<Result<Library, NoDriver>> = OnceLock::new();
    LIBRARY.get_or_init(load).as_ref()
}

/// A function of the library, if it has it.
pub(crate) fn function(library: &Library, name: &CStr) -> Option<Function> {
    // SAFETY: an address or null, which is what `Option<Function>` is; whoever calls it casts it to its real type.
    let found = unsafe { library.get::<Option<Function>>(name) };
    found.ok().and_then(|function| *function)
}

fn load() -> Result<Library, NoDriver> {
    let files: Vec<OsString> = match env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        Some(file) => vec![file],
        None => NAMES.iter().map(OsString::from).collect(),
    };
    let mut tried = Vec::new();
    for file in files {
        match open(&file) {
            Ok(library) => return Ok(library),
            Err(reason) => tried.push((file.to_string_lossy().into_owned(), reason)),
        }
    }
    Err(NoDriver { tried })
}

fn open(file: &OsString) -> Result<Library, String> {
    // SAFETY: what runs on loading is the driver's, made for any moment, or that of a file which the user named.
    let library = unsafe { Library::new(file) };
    // The error alone says "dlopen failed"; the loader's words are its source.
    let library = library.map_err(|e| e.source().map_or_else(|| e.to_string(), ToString::to_string))?;
    match function(&library, c"cuInit") {
        Some(_) => Ok(library),
        None => Err("it has no function cuInit".into()),
    }
}
