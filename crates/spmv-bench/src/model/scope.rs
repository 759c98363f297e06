//! What fits, predictions and training have in common: their devices, matrices and progress.

use std::path::PathBuf;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use spmv::{BackendKind, Dtype, plan::Algorithm};
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
    target.context.profile_path().context("no data folder; name one with SPMV_PROFILES")
}

/// Those that can be planned and timed.
pub(super) fn algorithms() -> impl Iterator<Item = Algorithm> + Clone {
    Algorithm::ALL.iter().copied().filter(|algorithm| *algorithm != Algorithm::Auto)
}

pub(super) fn progress(n_matrices: usize, of: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} matrices, {eta} left");
    let bar = ProgressBar::new(n_matrices as u64).with_style(style.expect("a valid template"));
    bar.set_prefix(of);
    bar
}
