//! OpenCL C 1.2 kernel sources as data, one file for each stem.
//!
//! They are a crate of their own because `include_str!` across crates breaks `cargo package`.
//!
//! ```
//! for (stem, source) in spmv_kernels_opencl::SOURCES {
//!     assert!(*stem == "prelude" || source.contains(&format!("kernel: {stem}")));
//! }
//! ```
#![forbid(unsafe_code)]

macro_rules! sources {
    ($($stem:literal)*) => {
        &[$(($stem, include_str!(concat!("../", $stem, ".cl")))),*]
    };
}

/// Stem and text of every kernel of this language, and of the `prelude` that goes before each.
pub const SOURCES: &[(&str, &str)] = sources!(
    "prelude" "spec_segsum" "fixup_apply" "csr_scalar" "csr_vector" "merge_path" "ipcsr" "pcsr_products" "pcsr_sums" "ell"
    "jad" "dia" "carry_apply" "axpby"
);
