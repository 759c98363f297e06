//! Systems that several tests solve.
#![allow(dead_code)] // Each test uses some.

use spmv::hetero::{Split, Steering};
use spmv::{BackendKind, Context, Csr};
use spmv_io::generate;

/// Every device that computes in `f64`, of the backend that `SPMV_BACKEND` names or of all.
pub(crate) fn contexts() -> Vec<Context> {
    let named = std::env::var("SPMV_BACKEND").ok().map(|name| name.parse().expect("a backend"));
    let (mut contexts, _) = named
        .map_or_else(|| Context::every(&BackendKind::ALL), |named: BackendKind| Context::every(&[named]));
    contexts.retain(|context| context.caps().arithmetic.contains(spmv::Dtype::F64));
    assert!(!contexts.is_empty());
    contexts
}

/// These, the first with the host's cores, and three as one: the first ones, taking turns where there are fewer.
pub(crate) fn contexts_and_parts() -> Vec<Context> {
    let mut contexts = contexts();
    let three: Vec<Context> = contexts.iter().cycle().take(3).cloned().collect();
    contexts.push(Context::devices(&three).unwrap());
    // None on a single core.
    if let Ok(both) = contexts[0].with_host_cores() {
        let split = Some(Split::by_rows(100));
        contexts.push(both.steered(Steering { split, ..Steering::default() }));
    }
    contexts
}

/// The Laplacian of a cube of points.
pub(crate) fn poisson(side: usize) -> Csr<f64> {
    generate::laplacian_3d(side).unwrap()
}

/// Numbers between -1 and 1.
pub(crate) fn wave(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.37).sin()).collect()
}

pub(crate) fn multiplied(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    (0..a.n_rows()).map(|row| a.row(row).map(|(col, value)| value * x[col as usize]).sum()).collect()
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Of `b - A*x`, over that of `b`.
pub(crate) fn residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let left: Vec<f64> = multiplied(a, x).iter().zip(b).map(|(ax, b)| b - ax).collect();
    norm(&left) / norm(b)
}

/// Convection and diffusion: the Laplacian, and a stream in one direction.
pub(crate) fn convection(side: usize) -> Csr<f64> {
    let a = poisson(side);
    let streamed = |row: usize, col: u32, value: f64| match col as usize {
        col if col + 1 == row => value - 0.7,
        col if col == row + 1 => value + 0.7,
        _ => value,
    };
    let rows = (0..a.n_rows())
        .map(|row| a.row(row).map(|(col, value)| (col, streamed(row, col, value))).collect::<Vec<_>>());
    Csr::from_rows(a.n_cols(), rows).unwrap()
}

/// A + shift*I.
pub(crate) fn shifted(a: &Csr<f64>, shift: f64) -> Csr<f64> {
    let row = |row: usize| {
        let mut entries: Vec<(u32, f64)> = a.row(row).collect();
        match entries.binary_search_by_key(&row, |(col, _)| *col as usize) {
            Ok(at) => entries[at].1 += shift,
            Err(at) => entries.insert(at, (row as u32, shift)),
        }
        entries
    };
    Csr::from_rows(a.n_cols(), (0..a.n_rows()).map(row)).unwrap()
}

/// A^T*y.
pub(crate) fn transposed_product(a: &Csr<f64>, y: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.n_cols()];
    (0..a.n_rows()).for_each(|row| a.row(row).for_each(|(col, v)| sums[col as usize] += v * y[row]));
    sums
}
