//! What was measured, and the bounds that follow from it.

/// A bound of a heuristic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<N> {
    pub(crate) is: N,
    /// What chose it, as [`Row::by`](crate::tilings::Row::by).
    #[allow(dead_code)] // For the reader.
    pub(crate) by: &'static str,
}

/// Runs that several algorithms' rows and bounds go back to.
pub(crate) const AUTO: &str = "cargo xtask bench --suite --matrix FILES --backend cuda --algorithm all: docs/results/2026-11-22-h200-cuda-auto.txt";
pub(crate) const BY_CLASS: &str =
    "cargo run --release -p spmv-cuda --example tilings: docs/results/2026-11-24-h200-cuda-tilings.txt";
pub(crate) const BY_LANES: &str = "cargo xtask bench --matrix lp-tall-t-1e8 power-out-1e8 power-in-1e8 --backend cuda --algorithm sell --tiling T=2,W=1,S=1,B=64: docs/results/2026-11-28-h200-lanes.txt";
pub(crate) const BY_TURN: &str =
    "cargo run --release -p spmv-cuda --example tilings: docs/results/2026-11-25-h200-cuda-tilings.txt";
pub(crate) const STRIPES: &str =
    "cargo run --release -p spmv-cuda --example tilings: docs/results/2026-11-25-h200-cuda-stripes.txt";
pub(crate) const SERIAL: &str = "cargo run --release -p spmv-cpu --example serial";
pub(crate) const TILINGS: &str =
    "cargo run --release -p spmv-cuda --example tilings: docs/results/2026-11-21-h200-cuda-tilings.txt";
pub(crate) const OPENCL: &str =
    "cargo xtask bench --suite --backend opencl: docs/results/2026-11-21-h200-opencl-rows.txt";
pub(crate) const SWEEP: &str =
    "cargo xtask bench --suite --sweep: docs/results/2026-11-21-h200-opencl-sweep.txt";
