//! WGSL kernel sources as data, one file for each stem, with the directives that `prelude.wgsl` explains.
//!
//! They are a crate of their own because `include_str!` across crates breaks `cargo package`.
//!
//! ```
//! for (stem, source) in spmv_kernels_wgsl::SOURCES {
//!     assert!(*stem == "prelude" || source.contains(&format!("kernel: {stem}")));
//! }
//! ```
#![forbid(unsafe_code)]

/// Stem and text of every kernel of this language, and of the `prelude` that goes before each: every source in the
/// crate's folder, by stem.
pub const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
