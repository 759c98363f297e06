//! `cargo xtask fit` and `cargo xtask predict`: performance prediction after Wang, Gu & Li 2017.

mod fit;
mod predict;
mod timing;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use spmv::DeviceCaps;

pub(crate) use fit::{FitArgs, fit};
pub(crate) use predict::{PredictArgs, predict};

/// The profile of a device in a folder, or else in the user's data folder.
fn profile_path(folder: Option<&Path>, caps: &DeviceCaps) -> anyhow::Result<PathBuf> {
    let of_user =
        || directories::ProjectDirs::from("", "", "spmv").map(|dirs| dirs.data_dir().join("profiles"));
    let folder =
        folder.map(Path::to_owned).or_else(of_user).context("no data folder; name one with --folder")?;
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    Ok(folder.join(format!("{}.json", caps.fingerprint.chars().map(safe).collect::<String>())))
}
