//! What stands for the libraries written in Rust in a build without the feature `peers`.

use ::spmv::CsrView;
use anyhow::bail;

use super::{Factor, Peer, PeerValue};

/// Any value type.
pub(crate) trait RustValue {}

impl RustValue for f32 {}
impl RustValue for f64 {}

/// # Errors
/// Always: the library is not part of this build.
pub(super) fn prepare<'a, T: PeerValue>(_: &str, _: Factor<'a, T>) -> anyhow::Result<Box<dyn Peer<T> + 'a>> {
    bail!("spmv-bench was built without its feature `peers`")
}

/// # Errors
/// Always, as above.
pub(crate) fn conjugate_gradient<'a>(
    _: CsrView<'a, f64>,
    _: &'a [f64],
    _: bool,
) -> anyhow::Result<super::Solve<'a>> {
    bail!("spmv-bench was built without its feature `peers`")
}
