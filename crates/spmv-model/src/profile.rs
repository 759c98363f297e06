//! The fits of a device, kept on disk.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use spmv_core::Dtype;

use crate::fit::Fitted;
use crate::format::{Format, Shape};
use crate::grid::Spread;

/// Raised whenever what a profile holds, or what it means, changes.
const VERSION: u32 = 1;

/// What was fitted for one format, spread and type of values.
///
/// ```
/// use spmv_core::Dtype;
/// use spmv_model::{Fitted, Format, Line, Model, Shape, Spread};
/// let line = Line { slope: 1e-6, intercept: 0.0 };
/// let fitted = Fitted::ByLane { per_entry: Line { slope: 0.0, intercept: 0.0 }, by_strips: line, per_row: 4.0 };
/// let model = Model { format: Format::Ell, spread: Spread::Fixed, value: Dtype::F32.name().into(), strip_rows: 100, fitted };
/// assert_eq!(model.seconds(&Shape { n_rows: 250, per_row: 9.0 }, true), 3e-6);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Whose times.
    pub format: Format,
    /// Of the generated matrices.
    pub spread: Spread,
    /// Name of the type of values.
    pub value: String,
    /// S, rows of a strip.
    pub strip_rows: u64,
    /// The lines that give seconds.
    pub fitted: Fitted,
}

impl Model {
    /// Predicted time of a matrix of this shape.
    pub fn seconds(&self, shape: &Shape, round_up: bool) -> f64 {
        self.fitted.seconds(shape.strips(self.strip_rows, round_up), shape.per_row)
    }
}

/// All fits of a device.
///
/// ```
/// use spmv_model::Profile;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("profile.json");
/// let profile = Profile::new("some device, driver 1");
/// profile.save(&path)?;
/// assert_eq!(Profile::load(&path, "some device, driver 1")?, profile);
/// let e = Profile::load(&path, "some device, driver 2").unwrap_err();
/// assert!(e.to_string().ends_with("is of another device, driver or version; fit it anew"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    version: u32,
    /// Version of this crate, whose kernels and rules were measured.
    build: String,
    fingerprint: String,
    /// The fits.
    pub models: Vec<Model>,
}

/// A profile that cannot be used.
///
/// ```
/// use spmv_model::Profile;
/// let e = Profile::load("no/such/file".as_ref(), "").unwrap_err();
/// assert!(e.to_string().starts_with("no/such/file: "));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No file, or none that can be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// Not a profile of this version.
    #[error("{path} is damaged or of another version ({why}); fit it anew")]
    Damaged {
        /// The file.
        path: String,
        /// Where, or which version.
        why: String,
    },
    /// Made on another device, with another driver or by another version.
    #[error("{path} is of another device, driver or version; fit it anew")]
    Stale {
        /// The file.
        path: String,
    },
}

impl Profile {
    /// Without fits, for the device of this [fingerprint](spmv_backend::DeviceCaps::fingerprint).
    pub fn new(fingerprint: impl Into<String>) -> Self {
        let build = env!("CARGO_PKG_VERSION").to_owned();
        Self { version: VERSION, build, fingerprint: fingerprint.into(), models: vec![] }
    }

    /// The fit for a format, spread and type of values, if there is one.
    pub fn model(&self, format: Format, spread: Spread, value: Dtype) -> Option<&Model> {
        let is_it = |m: &&Model| (m.format, m.spread, &*m.value) == (format, spread, value.name());
        self.models.iter().find(is_it)
    }

    /// Puts a fit in the place of the one before.
    pub fn put(&mut self, model: Model) {
        let key = |m: &Model| (m.format, m.spread, m.value.clone());
        self.models.retain(|old| key(old) != key(&model));
        self.models.push(model);
    }

    /// Reads a profile and compares its device.
    ///
    /// # Errors
    /// [`ProfileError`].
    pub fn load(path: &Path, fingerprint: &str) -> Result<Self, ProfileError> {
        let name = || path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| ProfileError::Io { path: name(), error })?;
        let damaged = |why: String| ProfileError::Damaged { path: name(), why };
        let profile: Self = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if profile.version != VERSION {
            return Err(damaged(format!("version {}, not {VERSION}", profile.version)));
        }
        let is_of_it = profile.fingerprint == fingerprint && profile.build == env!("CARGO_PKG_VERSION");
        if is_of_it { Ok(profile) } else { Err(ProfileError::Stale { path: name() }) }
    }

    /// Writes the profile, and the folder that it is in.
    ///
    /// # Errors
    /// [`ProfileError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        let text = serde_json::to_string_pretty(self).expect("names, numbers and lists");
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            std::fs::write(path, text + "\n")
        };
        write().map_err(|error| ProfileError::Io { path: path.display().to_string(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Line;

    fn model(slope: f64) -> Model {
        let by_strips = Line { slope, intercept: 0.1 };
        let fitted =
            Fitted::ByBunch { short: by_strips, long: None, limit: 1024.0, by_strips, t0: 1.0 / 3.0 };
        Model {
            format: Format::CsrVector,
            spread: Spread::Normal,
            value: "f64".into(),
            strip_rows: 7,
            fitted,
        }
    }

    #[test]
    fn a_profile_comes_back_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/profile.json");
        let mut profile = Profile::new("x");
        profile.put(model(0.3));
        // Which a reader that rounds twice takes for its neighbour.
        profile.put(model(9.171434708015689e-10));
        profile.save(&path).unwrap();
        let loaded = Profile::load(&path, "x").unwrap();
        assert_eq!(loaded, profile);
        assert_eq!(loaded.models.len(), 1);
        assert!(loaded.model(Format::CsrVector, Spread::Normal, Dtype::F64).is_some());
        assert!(loaded.model(Format::CsrVector, Spread::Fixed, Dtype::F64).is_none());
    }

    #[test]
    fn damaged_and_other_versions_are_told_apart_from_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        Profile::new("x").save(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let other_build = text.replace(env!("CARGO_PKG_VERSION"), "0.0.0");
        std::fs::write(&path, other_build).unwrap();
        assert!(matches!(Profile::load(&path, "x"), Err(ProfileError::Stale { .. })));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(Profile::load(&path, "x"), Err(ProfileError::Damaged { .. })));
        for wrong in [text.replace("\"version\": 1", "\"version\": 2"), text[..text.len() / 2].to_owned()] {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(Profile::load(&path, "x"), Err(ProfileError::Damaged { .. })));
        }
    }
}
