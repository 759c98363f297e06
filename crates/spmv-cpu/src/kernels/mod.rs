//! Every kernel, in safe Rust: what the device kernels do, with the same STEP labels.
//!
//! A *lane* is an iteration here, a *bunch* a call, a *group* a task for rayon. The gathers and sums of
//! `csr_vector` and `merge_path` are in [`crate::simd`].

pub(crate) mod axpby;
pub(crate) mod carry_apply;
pub(crate) mod csr_scalar;
pub(crate) mod csr_vector;
pub(crate) mod dia;
pub(crate) mod ell;
pub(crate) mod fixup_apply;
pub(crate) mod ipcsr;
pub(crate) mod jad;
pub(crate) mod merge_path;
pub(crate) mod pcsr_products;
pub(crate) mod pcsr_sums;
pub(crate) mod prelude;
pub(crate) mod spec_segsum;

/// `alpha*sum + beta*y`, which does not read `y` where beta is zero.
#[inline(always)]
fn store<A: spmv_core::Accum>(alpha: A, sum: A, beta: A, y: A) -> A {
    if beta.is_zero() { alpha * sum } else { alpha * sum + beta * y }
}
