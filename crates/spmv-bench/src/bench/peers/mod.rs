//! Other libraries on the same matrix: what a user would have instead.
//!
//! Each gets its fastest documented product of a CSR matrix with a dense vector, in parallel where it has
//! one, on arrays that are aligned and first touched as ours are, where it can borrow them. None is part of the library.

mod arrays;
#[allow(unsafe_code)]
mod eigen;
pub(super) mod environment;
mod factor;
#[allow(unsafe_code)]
pub(crate) mod mkl;
#[allow(unsafe_code)]
mod mkl_blocks;
#[allow(unsafe_code)]
mod petsc;
mod python;
#[cfg_attr(not(feature = "peers"), path = "without_rust.rs")]
mod rust;
mod scipy;

use std::ffi::c_int;
use std::time::Instant;

use ::spmv::CsrView;
use anyhow::{Context as _, ensure};

use super::block_product::{Contestant, Problem};

pub(crate) use arrays::Arrays;
pub(crate) use factor::Factor;

pub(crate) use scipy::{Product, SciPy};

/// Names of the peers written in Rust.
const RUST_PEERS: [&str; 3] = ["sprs", "faer", "nalgebra"];
/// Name of MKL.
pub(crate) const MKL: &str = "mkl";
/// Name of SciPy, which multiplies in a process of its own.
pub(crate) const SCIPY: &str = "scipy";

/// Every peer: its name, and what sentences call it.
pub(crate) const PEERS: [(&str, &str); 7] = [
    (MKL, "MKL inspector-executor"),
    ("eigen", "Eigen"),
    ("petsc", "PETSc"),
    (SCIPY, "SciPy"),
    ("sprs", "sprs"),
    ("faer", "faer"),
    ("nalgebra", "nalgebra-sparse"),
];

/// A library prepared for one matrix.
pub(crate) trait Peer<T> {
    /// The library's product alone, `y <- A*x` or `y <- y + A*x`, or the same by the transpose. Nothing else is in here, since this is
    /// what is timed.
    ///
    /// # Errors
    /// What the library says.
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()>;

    /// What every value of `y` must be before the first product, so that it is `A*x`. NaN, which would show in rows that are
    /// not written, where the library does not read `y`.
    fn y_before(&self) -> T;

    /// What it is, for readers of a report: the library, its version where it says one, the function, the number of threads.
    fn about(&self) -> String;
}

/// Other libraries' products with several right-hand sides, or why there is none, for each.
pub(crate) fn blocks<'a, T: PeerValue>(problem: &Problem<'a, T>) -> [anyhow::Result<Contestant<'a, T>>; 2] {
    [mkl_blocks::contestant(problem).context(MKL), scipy::contestant(problem).context(SCIPY)]
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
pub(crate) trait PeerValue: mkl::MklValue + rust::RustValue {}

impl PeerValue for f32 {}
impl PeerValue for f64 {}

/// Peers that took the matrix, and those that did not, each with the reason.
type All<'a, T> = (Vec<Prepared<'a, T>>, Vec<(&'static str, String)>);

/// Prepares a peer.
fn prepared<'a, T>(
    name: &'static str,
    prepare: &dyn Fn() -> anyhow::Result<Box<dyn Peer<T> + 'a>>,
) -> Result<Prepared<'a, T>, (&'static str, String)> {
    let start = Instant::now();
    let peer = prepare().map_err(|e| (name, format!("{e:#}")))?;
    Ok(Prepared { name, prepare_s: start.elapsed().as_secs_f64(), peer })
}

/// Prepares what knows complex values: MKL, alone. Why it does not, otherwise.
pub(crate) fn prepare_complex<'a, T: mkl::MklValue>(
    factor: Factor<'a, T>,
) -> Result<Prepared<'a, T>, (&'static str, String)> {
    // As below.
    let _ = mkl::library().is_ok();
    prepared(MKL, &|| Ok(Box::new(mkl::InspectorExecutor::new(factor)?)))
}

/// Prepares every peer that this machine has for the matrix.
pub(crate) fn prepare_all<'a, T: PeerValue>(factor: Factor<'a, T>) -> All<'a, T> {
    let (mut ready, mut absent) = (Vec::new(), Vec::new());
    let mut add =
        |name, prepare: &dyn Fn() -> anyhow::Result<Box<dyn Peer<T> + 'a>>| match prepared(name, prepare) {
            Ok(peer) => ready.push(peer),
            Err(why) => absent.push(why),
        };
    // Loading takes far longer than preparing a matrix and happens once per process, so it is not timed; a failure comes back
    // below, as the reason. MKL is the last: its OpenMP runtime has the functions of others under their names.
    let _ = (eigen::library().is_ok(), petsc::library().is_ok(), mkl::library().is_ok());
    for name in RUST_PEERS {
        add(name, &|| rust::prepare(name, factor));
    }
    add("eigen", &|| Ok(Box::new(eigen::Mapped::new(factor)?)));
    add("petsc", &|| Ok(Box::new(petsc::SeqAij::new(factor)?)));
    add(MKL, &|| Ok(Box::new(mkl::InspectorExecutor::new(factor)?)));
    (ready, absent)
}

/// # Errors
/// A count that `c_int`, the index of libraries in C, cannot hold.
fn fits_c_int<T: mkl::MklValue>(a: CsrView<'_, T>) -> anyhow::Result<()> {
    let limit = c_int::MAX as usize;
    ensure!(
        a.nnz() <= limit && a.n_rows() <= limit && a.n_cols() <= limit,
        "{} x {} with {} entries exceeds the {limit} of 32-bit indices",
        a.n_rows(),
        a.n_cols(),
        a.nnz()
    );
    Ok(())
}

/// A number of threads, in words.
fn threads(n: usize) -> String {
    if n == 1 { "1 thread".into() } else { format!("{n} threads") }
}

#[cfg(test)]
mod tests {
    use ::spmv::{Csr, Value};

    use super::*;

    /// What a peer leaves after one product and then another, for a matrix with rows that sum to 6, 0 and 3; or for its transpose, with
    /// rows that sum to 2 and 7.
    pub(super) fn first_and_second_product<T: PeerValue>(
        transposed: bool,
        prepare: impl for<'a> Fn(Factor<'a, T>) -> anyhow::Result<Box<dyn Peer<T> + 'a>>,
    ) -> Vec<T> {
        let [two, three, four] = [2.0, 3.0, 4.0].map(<T as Value>::from_f64);
        let a = Csr::from_coo(3, 2, &[(0, 0, two), (0, 1, four), (2, 1, three)]).unwrap();
        let ones = vec![<T as Value>::from_f64(1.0); if transposed { 3 } else { 2 }];
        let arrays = Arrays::of(a.view(), &ones, transposed);
        let mut peer = prepare(arrays.factor()).unwrap();
        let mut y = arrays.y(peer.y_before());
        let mut products = Vec::new();
        for _ in 0..2 {
            peer.run(arrays.x(), &mut y).unwrap();
            products.extend_from_slice(&y);
        }
        products
    }

    #[test]
    fn every_peer_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = PEERS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), PEERS.len());
        assert!(RUST_PEERS.iter().all(|name| names.contains(name)));
    }
}
