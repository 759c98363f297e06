//! CUDA C++ kernel sources as data, one file for each stem.
//!
//! They are a crate of their own because `include_str!` across crates breaks `cargo package`.
//!
//! ```
//! for (stem, source) in spmv_kernels_cuda::SOURCES {
//!     assert!(source.contains(&format!("kernel: {stem}")));
//! }
//! ```
#![forbid(unsafe_code)]

/// Stem and text of every kernel of this language. Empty until its backend exists: a kernel that nothing
/// runs would be a kernel that nothing tests.
pub const SOURCES: &[(&str, &str)] = &[];
