//! What contestants of `cargo xtask blocks` have in common.

use spmv::{BlockShape, Csr};

use super::measure::Run;

/// Products that a GPU is given before it is waited for, so that waits do not count.
pub(crate) const ON_GPU: usize = 20;

/// A contestant, and how its result is read once its runs are over.
pub(crate) struct Contestant<'a, T> {
    pub(crate) name: String,
    pub(crate) run: Run<'a>,
    pub(crate) result: Result<'a, T>,
}

/// Y after the last run.
pub(crate) type Result<'a, T> = Box<dyn FnOnce() -> anyhow::Result<Vec<T>> + 'a>;

/// What is multiplied, in one precision.
#[derive(Clone, Copy)]
pub(crate) struct Problem<'a, T> {
    pub(crate) a: &'a Csr<T>,
    pub(crate) x: &'a [T],
    pub(crate) of_x: BlockShape,
    pub(crate) of_y: BlockShape,
}
