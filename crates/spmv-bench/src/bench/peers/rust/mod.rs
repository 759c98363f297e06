//! Libraries written in Rust.

mod faer;
mod nalgebra;
mod sprs;

use ::spmv::CsrView;

use super::{Peer, PeerValue};

/// A value type of all of them.
pub(crate) trait RustValue:
    ::faer::traits::ComplexField
    + nalgebra_sparse::na::Scalar
    + nalgebra_sparse::na::ClosedAddAssign
    + nalgebra_sparse::na::ClosedMulAssign
    + ::sprs::MulAcc
    + num_traits::Zero
    + num_traits::One
{
}

impl RustValue for f32 {}
impl RustValue for f64 {}

/// Prepares the matrix for the library of that name, one of [`RUST_PEERS`](super::RUST_PEERS).
///
/// # Errors
/// What the library says.
pub(super) fn prepare<'a, T: PeerValue>(
    name: &str,
    a: CsrView<'a, T>,
) -> anyhow::Result<Box<dyn Peer<T> + 'a>> {
    Ok(match name {
        "sprs" => Box::new(sprs::Sprs::new(a)?),
        "faer" => Box::new(faer::Faer::new(a)?),
        _ => Box::new(nalgebra::Nalgebra::new(a)?),
    })
}
