//! Every kernel, in safe Rust: what the device kernels do, with the same STEP labels.
//!
//! A *lane* is an iteration here, a *bunch* a call, a *group* a part that one thread takes. The gathers and sums of
//! `csr_vector` and `merge_path` are in [`crate::simd`].

pub(crate) mod prelude;

macro_rules! modules {
    ($($(#[$doc:meta])* $id:ident $stem:ident ($($name:ident: $kind:tt),* $(,)?) local $local:expr;)*) => {
        $(pub(crate) mod $stem;)*
    };
}

spmv_backend::for_each_kernel!(modules);
