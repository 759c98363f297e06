//! What fits, predictions and training have in common: their devices, matrices and progress.

use std::path::PathBuf;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use spmv::{
    BackendKind, Csr, Dtype,
    plan::{Algorithm, Profile},
};
use spmv_io::generate::{self, ColumnModel};
use spmv_model::Spread;

use crate::bench::devices::Target;

/// Which fits, of which devices.
#[derive(Debug, clap::Args)]
pub(super) struct Scope {
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    pub(super) backend: Vec<BackendKind>,
    /// Value types.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = crate::precision::parser())]
    pub(super) precision: Vec<Dtype>,
    /// How row lengths of the generated matrices spread: fixed, uniform, normal.
    #[arg(long, value_delimiter = ',', default_value = "fixed,uniform,normal")]
    pub(super) model: Vec<Spread>,
}

/// Where the profile of a device is: one file for each backend, device and kind of memory.
pub(super) fn profile_path(target: &Target) -> anyhow::Result<PathBuf> {
    let path = Profile::path(target.context.backend().name(), target.context.caps());
    path.context("no data folder; name one with SPMV_PROFILES")
}

/// Those that can be planned and timed.
pub(super) fn algorithms() -> impl Iterator<Item = Algorithm> + Clone {
    Algorithm::ALL.iter().copied().filter(|algorithm| *algorithm != Algorithm::Auto)
}

/// A matrix of as many columns as rows, none of which is longer than that.
pub(super) fn square(mut lens: Vec<u32>, columns: ColumnModel, seed: u64) -> anyhow::Result<Csr<f64>> {
    let n = lens.len();
    lens.iter_mut().for_each(|len| *len = (*len).min(n as u32));
    Ok(generate::from_row_lengths(&lens, n, columns, seed)?)
}

pub(super) fn progress(n_matrices: usize, of: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} matrices, {eta} left");
    let bar = ProgressBar::new(n_matrices as u64).with_style(style.expect("a valid template"));
    bar.set_prefix(of);
    bar
}
