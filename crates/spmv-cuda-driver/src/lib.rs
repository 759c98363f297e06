//! The CUDA driver library, loaded on first use.
//!
//! `cust` 0.3 calls the driver through the declarations of [`cust_raw`], which link `libcuda` when a program is
//! built and need it when the program starts. This crate defines the same functions and leaves the linker an
//! empty `libcuda`, so that a program
//!
//! - builds without a CUDA toolkit,
//! - starts without a driver, and learns from every call that there is no device,
//! - keeps its footing when a driver newer than the declarations answers with a code that they lack.
//!
//! ```
//! use cust::error::CudaError;
//! match spmv_cuda_driver::available() {
//!     Ok(()) => println!("a driver is there, a device perhaps"),
//!     Err(e) => {
//!         println!("{e}");
//!         assert_eq!(cust::init(cust::CudaFlags::empty()), Err(CudaError::NoDevice));
//!     }
//! }
//! ```
//!
//! # Linking
//!
//! A dependency that is never named is not linked: call [`available`], or write `use spmv_cuda_driver as _;`.
//! The build script of `cust` looks for a toolkit. Where there is none, name a folder that holds an empty
//! `lib64` in `CUDA_LIBRARY_PATH`; on Windows, `CUDA_PATH` names one that holds an empty `include/cuda.h` and an
//! empty `lib/x64`.
//!
//! # Which library
//!
//! `libcuda.so.1`, then `libcuda.so`, where the system's loader finds them; `nvcuda.dll` on Windows. If
//! `SPMV_CUDA_DRIVER` is set and not empty, the file that it names and no other. The choice is made at the first call
//! and lasts: a library is never unloaded, a driver installed later is not seen.
//!
//! # Answers
//!
//! | there is | a call answers |
//! |---|---|
//! | no library | `CUDA_ERROR_NO_DEVICE` |
//! | a library without that function | `CUDA_ERROR_NOT_SUPPORTED` |
//! | a code that `cust_raw` lacks | `CUDA_ERROR_UNKNOWN` |
//! | any other | what the library answered |
//!
//! `cuGetErrorName` and `cuGetErrorString` find a text for every code, with a library or without: `cust` panics in
//! `Display` where they fail.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod forward;
#[allow(unsafe_code)]
mod generated;
#[allow(unsafe_code)]
mod library;
#[allow(unsafe_code)]
mod messages;

use std::ffi::CStr;

pub use library::Function;

/// There is no CUDA driver library.
///
/// ```
/// if let Err(e) = spmv_cuda_driver::available() {
///     assert!(e.tried.iter().all(|(file, reason)| e.to_string().contains(file) && !reason.is_empty()));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no CUDA driver: {}; install NVIDIA's driver, or name its library in SPMV_CUDA_DRIVER",
    attempts(.tried)
)]
#[non_exhaustive]
pub struct NoDriver {
    /// Each file that was tried, and why it did not serve, in the loader's words.
    pub tried: Vec<(String, String)>,
}

fn attempts(tried: &[(String, String)]) -> String {
    let attempt = |(file, reason): &(String, String)| match reason.strip_prefix(file.as_str()) {
        Some(rest) => format!("{file}{rest}"),
        None => format!("{file}: {reason}"),
    };
    tried.iter().map(attempt).collect::<Vec<_>>().join("; ")
}

/// Whether there is a driver library; loads it if nothing did so before.
///
/// `Ok` promises no device: ask `cuInit` and `cuDeviceGetCount`.
///
/// # Errors
/// [`NoDriver`] names the files tried and what the loader said of each.
///
/// ```
/// let driver = spmv_cuda_driver::available();
/// assert_eq!(driver, spmv_cuda_driver::available(), "asked once, answered for good");
/// ```
pub fn available() -> Result<(), NoDriver> {
    library::get().map(drop).map_err(Clone::clone)
}

/// A function that `cust_raw` does not declare, or declares with parameters of another version; `None` without
/// a library, or if the library lacks it.
///
/// The name is that of the library, not of the header: `cuCtxCreate_v4`, where a program in C has `cuCtxCreate`.
/// One look-up in the library a call; keep what it returns.
///
/// ```
/// use std::ffi::c_int;
/// use std::mem::transmute;
///
/// if let Some(function) = spmv_cuda_driver::symbol(c"cuDriverGetVersion") {
///     let mut version = 0;
///     // SAFETY: the CUDA headers declare these parameters and this result.
///     let code = unsafe {
///         let get = transmute::<spmv_cuda_driver::Function, unsafe extern "C" fn(*mut c_int) -> c_int>(function);
///         get(&mut version)
///     };
///     println!("code {code}, CUDA {}.{}", version / 1000, version % 1000 / 10);
/// }
/// assert_eq!(spmv_cuda_driver::symbol(c"cuNoSuchFunction"), None);
/// ```
pub fn symbol(name: &CStr) -> Option<Function> {
    library::function(library::get().ok()?, name)
}
