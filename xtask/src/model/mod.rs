//! `cargo xtask fit` and `cargo xtask predict`: performance prediction after Wang, Gu & Li 2017.

mod fit;
mod predict;
mod timing;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use spmv_model::Profile;

pub(crate) use fit::{FitArgs, fit};
pub(crate) use predict::{PredictArgs, predict};

use crate::bench::devices::Place;

/// The profile of a device: in a folder, or else in the user's data folder, one file for each backend and device.
fn profile_path(folder: Option<&Path>, place: &Place) -> anyhow::Result<PathBuf> {
    let of_user =
        || directories::ProjectDirs::from("", "", "spmv").map(|dirs| dirs.data_dir().join("profiles"));
    let folder =
        folder.map(Path::to_owned).or_else(of_user).context("no data folder; name one with --folder")?;
    Ok(folder.join(file_name(place.context.backend().name(), &place.context.caps().name)))
}

fn file_name(backend: &str, device: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("{backend}-{device}.json").chars().map(safe).collect()
}

/// What a profile must have been made on: the device with its driver, and the processor that the host is.
fn fingerprint(place: &Place) -> String {
    format!("{}; {}", place.context.caps().fingerprint, crate::bench::machine())
}

fn load(path: &Path, place: &Place) -> Result<Profile, spmv_model::ProfileError> {
    Profile::load(path, &fingerprint(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_make_names_of_files() {
        assert_eq!(file_name("opencl", "cpu/AMD (R) 9"), "opencl-cpu-AMD--R--9.json");
    }
}
