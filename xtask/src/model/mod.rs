//! `cargo xtask fit` and `cargo xtask predict`: performance prediction after Wang, Gu & Li 2017.

mod fit;
mod predict;
mod rates;
mod timing;

use std::path::PathBuf;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use spmv::{BackendKind, Dtype, Profile};
use spmv_model::Spread;

pub(crate) use fit::{FitArgs, fit};
pub(crate) use predict::{PredictArgs, predict};

use crate::bench::devices::Place;

/// Which fits, of which devices.
#[derive(Debug, clap::Args)]
struct Scope {
    /// Backends, with all their devices; all that open, without it.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<BackendKind>,
    /// Value types: f16, bf16, f32, f64.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64")]
    precision: Vec<Dtype>,
    /// How row lengths of the generated matrices spread: fixed, uniform, normal.
    #[arg(long, value_delimiter = ',', default_value = "fixed,uniform,normal")]
    model: Vec<Spread>,
}

/// Where the profile of a device is: one file for each backend and device.
fn profile_path(place: &Place) -> anyhow::Result<PathBuf> {
    let path = Profile::path(place.context.backend().name(), place.context.caps());
    path.context("no data folder; name one with SPMV_PROFILES")
}

fn progress(n_matrices: usize, of: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} matrices, {eta} left");
    let bar = ProgressBar::new(n_matrices as u64).with_style(style.expect("a valid template"));
    bar.set_prefix(of);
    bar
}
