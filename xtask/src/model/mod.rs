//! `cargo xtask fit` and `cargo xtask predict`: performance prediction after Wang, Gu & Li 2017.

mod fit;
mod predict;
mod timing;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use spmv::{BackendKind, Dtype};
use spmv_model::{Format, Profile, Spread};

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
    /// Folder of profiles; the user's data folder, without it.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Scope {
    /// The profile of a device: one file for each backend and device.
    fn profile_path(&self, place: &Place) -> anyhow::Result<PathBuf> {
        let of_user =
            || directories::ProjectDirs::from("", "", "spmv").map(|dirs| dirs.data_dir().join("profiles"));
        let folder =
            self.folder.clone().or_else(of_user).context("no data folder; name one with --folder")?;
        Ok(folder.join(file_name(place.context.backend().name(), &place.context.caps().name)))
    }
}

fn file_name(backend: &str, device: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("{backend}-{device}.json").chars().map(safe).collect()
}

/// What a profile must have been made on: the device with its driver and its strips, and the processor that the host is.
fn fingerprint(place: &Place) -> String {
    let caps = place.context.caps();
    let strips = Format::ALL.map(|format| format.strip_rows(caps));
    format!("{}; strips {strips:?}; {}", caps.fingerprint, crate::bench::machine())
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
