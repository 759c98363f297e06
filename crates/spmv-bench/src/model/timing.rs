//! Times of formats, as the paper takes them.

use spmv::{
    Csr, Options, Scalar,
    fit::Runs,
    plan::{Algorithm, Tiling},
};
use spmv_model::Format;

use crate::bench::devices::Target;

/// The algorithm of a format, and the tiling that the paper gives it: half a warp a row, where lanes run together.
fn options(target: &Target, format: Format, max_blow_up: f64) -> Options {
    let algorithm: Algorithm = format.to_string().parse().expect("formats are named after algorithms");
    let half_warps = Tiling::new(16, 1, 1, 8).expect("a valid tiling");
    let tiling = (format == Format::CsrVector && !target.context.caps().tasks).then_some(half_warps);
    Options { algorithm, tiling, max_blow_up, ..Options::default() }
}

/// Multiplies with a format as the paper does; `None` as for [`Runs::of`].
pub(super) fn of_format<T: Scalar>(
    target: &Target,
    format: Format,
    a: &Csr<T>,
    max_blow_up: f64,
) -> spmv::Result<Option<Runs>> {
    Runs::of(&target.context, a, &options(target, format, max_blow_up))
}
