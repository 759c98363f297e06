//! Other libraries on the same matrix: what a user would have instead.
//!
//! Each gets its fastest documented product of a CSR matrix with a dense vector, in parallel where it has
//! one, on arrays that are aligned and first touched as ours are, where it can borrow them. None is part of the library.

mod arrays;
#[allow(unsafe_code)]
mod mkl;
#[cfg_attr(not(feature = "peers"), path = "without_rust.rs")]
mod rust;
mod scipy;

use std::time::Instant;

use ::spmv::{CsrView, Scalar};

pub(crate) use arrays::Arrays;
pub(crate) use scipy::SciPy;

/// Names of the peers written in Rust.
pub(crate) const RUST_PEERS: [&str; 3] = ["sprs", "faer", "nalgebra"];
/// Name of the vendor's library.
pub(crate) const MKL: &str = "mkl";

/// A library prepared for one matrix.
pub(crate) trait Peer<T> {
    /// The library's product alone, `y <- A*x` or `y <- y + A*x`. Nothing else is in here, since this is what is timed.
    ///
    /// # Errors
    /// What the library says.
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()>;

    /// What every value of `y` must be before the first product, so that it is `A*x`. NaN, which would show in rows that are
    /// not written, where the library does not read `y`.
    fn y_before(&self) -> T;
}

/// Another library's solver: makes a number of iterations from what `x` holds on.
pub(crate) type Solve<'a> = Box<dyn FnMut(usize, &mut [f64]) -> anyhow::Result<()> + 'a>;

/// faer's conjugate gradients on a symmetric matrix, by rows or by columns.
///
/// # Errors
/// What the library says, or that it is not part of this build.
pub(crate) fn conjugate_gradient<'a>(
    a: &'a ::spmv::Csr<f64>,
    b: &'a [f64],
    by_columns: bool,
) -> anyhow::Result<Solve<'a>> {
    rust::conjugate_gradient(a.view(), b, by_columns)
}

/// A peer, and how long it took to prepare.
pub(crate) struct Prepared<'a, T> {
    pub(crate) name: &'static str,
    pub(crate) prepare_s: f64,
    pub(crate) peer: Box<dyn Peer<T> + 'a>,
}

/// A value type that every peer knows: `f32` or `f64`.
pub(crate) trait PeerValue: Scalar<Accum = Self> + mkl::MklValue + rust::RustValue {}

impl PeerValue for f32 {}
impl PeerValue for f64 {}

/// Peers that took the matrix, and those that did not, each with the reason.
type All<'a, T> = (Vec<Prepared<'a, T>>, Vec<(&'static str, String)>);

/// Prepares every peer that this machine has for the matrix.
pub(crate) fn prepare_all<'a, T: PeerValue>(a: CsrView<'a, T>) -> All<'a, T> {
    let (mut ready, mut absent) = (Vec::new(), Vec::new());
    let mut add = |name, prepare: &dyn Fn() -> anyhow::Result<Box<dyn Peer<T> + 'a>>| {
        let start = Instant::now();
        match prepare() {
            Ok(peer) => ready.push(Prepared { name, prepare_s: start.elapsed().as_secs_f64(), peer }),
            Err(e) => absent.push((name, format!("{e:#}"))),
        }
    };
    for name in RUST_PEERS {
        add(name, &|| rust::prepare(name, a));
    }
    // Loading takes far longer than preparing a matrix and happens once per process, so it is not timed; a
    // failure comes back below, as the reason.
    let _ = mkl::library();
    add(MKL, &|| Ok(Box::new(mkl::InspectorExecutor::new(a)?)));
    (ready, absent)
}
