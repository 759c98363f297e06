//! The fits of a device, kept on disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use spmv_backend::DeviceCaps;
use spmv_core::Dtype;

use crate::fit::Fitted;
use crate::format::{Format, Shape};
use crate::grid::Spread;
use crate::rates::Rates;

/// Raised whenever what a profile holds, or what it means, changes.
const VERSION: u32 = 4;

/// Instead of a fingerprint.
const BUILT_IN: &str = "built in";

/// What was fitted for one format, spread and type of values.
///
/// ```
/// use spmv_core::Dtype;
/// use spmv_model::{Fitted, Format, Line, Model, Shape, Spread};
/// let line = Line { slope: 1e-6, intercept: 0.0 };
/// let fitted = Fitted::ByLane { per_entry: Line { slope: 0.0, intercept: 0.0 }, by_waves: line, per_row: 4.0 };
/// let model = Model { format: Format::Ell, spread: Spread::Fixed, value: Dtype::F32.name().into(), wave_rows: 100, fitted };
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
    /// S, rows of a wave.
    pub wave_rows: u64,
    /// The lines that give seconds.
    pub fitted: Fitted,
}

impl Model {
    /// Predicted time of a matrix of this shape.
    pub fn seconds(&self, shape: &Shape, round_up: bool) -> f64 {
        self.fitted.seconds(shape.waves(self.wave_rows, round_up), shape.per_row)
    }
}

/// What was fitted for one kernel, as it is planned, and type of values.
///
/// ```
/// use spmv_model::{KernelRates, Rates};
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// use spmv_core::Dtype;
/// let rates = KernelRates { kernel: "ipcsr".into(), value: "f32".into(), rates: Rates::fit(&[]) };
/// let caps = DeviceCaps::new("some device", DeviceKind::Other, MemoryModel::Discrete);
/// let mut profile = spmv_model::Profile::new(&caps);
/// profile.put_rates(rates);
/// assert!(profile.rates("ipcsr", Dtype::F32).is_some() && !profile.knows(Dtype::F64));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRates {
    /// Stem of the kernel; the algorithm's name where several have the same main kernel.
    pub kernel: String,
    /// Name of the type of values.
    pub value: String,
    /// Seconds for what it does.
    pub rates: Rates,
}

/// All fits of a device.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// use spmv_model::Profile;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("profile.json");
/// let mut caps = DeviceCaps::new("some device", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
/// let profile = Profile::new(&caps);
/// profile.save(&path)?;
/// assert_eq!(Profile::load(&path, &caps)?, profile);
/// caps.fingerprint = "some device, another driver".into();
/// let e = Profile::load(&path, &caps).unwrap_err();
/// assert!(e.to_string().ends_with("is of another device, driver or version; make it anew"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    version: u32,
    /// Version of this crate, whose kernels and rules were measured.
    build: String,
    fingerprint: String,
    /// The fits of the paper.
    pub models: Vec<Model>,
    /// The fits that plans compare.
    pub rates: Vec<KernelRates>,
}

/// A profile that cannot be used.
///
/// ```
/// use spmv_model::Profile;
/// # use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// # let caps = DeviceCaps::new("some device", DeviceKind::Other, MemoryModel::Discrete);
/// let e = Profile::load("no/such/file".as_ref(), &caps).unwrap_err();
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
    #[error("{path} is damaged or of another version ({why}); make it anew")]
    Damaged {
        /// The file.
        path: String,
        /// Where, or which version.
        why: String,
    },
    /// Made on another device, with another driver or by another version.
    #[error("{path} is of another device, driver or version; make it anew")]
    Stale {
        /// The file.
        path: String,
    },
}

impl Profile {
    /// Without fits, for a device.
    pub fn new(caps: &DeviceCaps) -> Self {
        let build = env!("CARGO_PKG_VERSION").to_owned();
        Self { version: VERSION, build, fingerprint: fingerprint(caps), models: vec![], rates: vec![] }
    }

    /// The profile that is built in for CPUs: rates of the cpu backend on two threads of an AMD EPYC with AVX-512. On
    /// other processors its times are a guess, and say which algorithms are out of the question.
    pub fn cpu() -> &'static Self {
        static CPU: LazyLock<Profile> = LazyLock::new(|| {
            serde_json::from_str(include_str!("cpu.json")).expect("a profile, as a test checks")
        });
        &CPU
    }

    /// Whether it is [the one that is built in](Self::cpu), not one of the device it is used for.
    pub fn is_built_in(&self) -> bool {
        self.fingerprint == BUILT_IN
    }

    /// The same, to be [built in](Self::cpu): its rates alone.
    #[must_use]
    pub fn to_built_in(&self) -> Self {
        Self { fingerprint: BUILT_IN.into(), models: vec![], ..self.clone() }
    }

    /// Where the profile of a device is kept: in the folder that `SPMV_PROFILES` names, or else in the user's data folder;
    /// `None` if there is none.
    pub fn path(backend: &str, caps: &DeviceCaps) -> Option<PathBuf> {
        let named = std::env::var_os("SPMV_PROFILES").filter(|name| !name.is_empty()).map(PathBuf::from);
        let of_user =
            || directories::ProjectDirs::from("", "", "spmv").map(|dirs| dirs.data_dir().join("profiles"));
        Some(Self::path_in(&named.or_else(of_user)?, backend, caps))
    }

    /// Where the profile of a device is kept in a folder.
    pub fn path_in(folder: &Path, backend: &str, caps: &DeviceCaps) -> PathBuf {
        folder.join(file_name(backend, caps))
    }

    /// The rates of a kernel, by its name in profiles, and type of values, if they were fitted.
    pub fn rates(&self, kernel: &str, value: Dtype) -> Option<&Rates> {
        let is_it = |r: &&KernelRates| (&*r.kernel, &*r.value) == (kernel, value.name());
        self.rates.iter().find(is_it).map(|r| &r.rates)
    }

    /// Whether there are rates for this type of values.
    pub fn knows(&self, value: Dtype) -> bool {
        self.rates.iter().any(|r| r.value == value.name())
    }

    /// Replaces the rates of that kernel and value type.
    pub fn put_rates(&mut self, rates: KernelRates) {
        self.rates.retain(|old| (&old.kernel, &old.value) != (&rates.kernel, &rates.value));
        self.rates.push(rates);
    }

    /// The fit for a format, spread and type of values, if there is one.
    pub fn model(&self, format: Format, spread: Spread, value: Dtype) -> Option<&Model> {
        let is_it = |m: &&Model| (m.format, m.spread, &*m.value) == (format, spread, value.name());
        self.models.iter().find(is_it)
    }

    /// Replaces the fit of that format, spread and value type.
    pub fn put(&mut self, model: Model) {
        let key = |m: &Model| (m.format, m.spread, m.value.clone());
        self.models.retain(|old| key(old) != key(&model));
        self.models.push(model);
    }

    /// Reads a profile and compares its device.
    ///
    /// # Errors
    /// [`ProfileError`].
    pub fn load(path: &Path, caps: &DeviceCaps) -> Result<Self, ProfileError> {
        let name = || path.display().to_string();
        let damaged = |why: String| ProfileError::Damaged { path: name(), why };
        let profile: Self = read_json(path)?;
        if profile.version != VERSION {
            return Err(damaged(format!("version {}, not {VERSION}", profile.version)));
        }
        if let Some(wrong) = profile.rates.iter().find(|r| !r.rates.is_valid()) {
            return Err(damaged(format!("negative rates of {} {}", wrong.kernel, wrong.value)));
        }
        let is_of_it = profile.fingerprint == fingerprint(caps) && profile.build == env!("CARGO_PKG_VERSION");
        if is_of_it { Ok(profile) } else { Err(ProfileError::Stale { path: name() }) }
    }

    /// The profile that is kept for a device, if there is one.
    ///
    /// # Errors
    /// As [`load`](Self::load), but for a file that is not there.
    pub fn kept(backend: &str, caps: &DeviceCaps) -> Result<Option<Self>, ProfileError> {
        kept(Self::path(backend, caps), |path| Self::load(path, caps))
    }

    /// The profile that is kept for a device in a folder, if there is one.
    ///
    /// ```
    /// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
    /// use spmv_model::Profile;
    /// let folder = tempfile::tempdir()?;
    /// let caps = DeviceCaps::new("some device", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
    /// assert_eq!(Profile::kept_in(folder.path(), "cuda", &caps)?, None);
    /// Profile::new(&caps).save(&Profile::path_in(folder.path(), "cuda", &caps))?;
    /// assert!(Profile::kept_in(folder.path(), "cuda", &caps)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`kept`](Self::kept).
    pub fn kept_in(folder: &Path, backend: &str, caps: &DeviceCaps) -> Result<Option<Self>, ProfileError> {
        kept(Some(Self::path_in(folder, backend, caps)), |path| Self::load(path, caps))
    }

    /// Writes the profile, and the folder that it is in. A reader finds the old profile or the new one.
    ///
    /// # Errors
    /// [`ProfileError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        write_json(path, self)
    }
}

/// Loads what is kept in a file, if there is one.
///
/// ```
/// let load = |path: &std::path::Path| spmv_model::read_json::<u32>(path);
/// assert_eq!(spmv_model::kept(Some("no/such/file".into()), load)?, None);
/// # Ok::<(), spmv_model::ProfileError>(())
/// ```
///
/// # Errors
/// As `load`, but for a file that is not there.
pub fn kept<T>(
    path: Option<PathBuf>,
    load: impl FnOnce(&Path) -> Result<T, ProfileError>,
) -> Result<Option<T>, ProfileError> {
    match path.map(|path| load(&path)) {
        Some(Err(ProfileError::Io { error, .. })) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        kept => kept.transpose(),
    }
}

/// Reads what [`write_json`] wrote.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new/numbers.json");
/// spmv_model::write_json(&path, &[0.1, 0.2])?;
/// assert_eq!(spmv_model::read_json::<Vec<f64>>(&path)?, [0.1, 0.2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ProfileError::Io`], [`ProfileError::Damaged`].
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ProfileError> {
    let name = || path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| ProfileError::Io { path: name(), error })?;
    serde_json::from_slice(&bytes).map_err(|e| ProfileError::Damaged { path: name(), why: e.to_string() })
}

/// Writes names, numbers and lists as JSON, and the folder that the file is in, by [`spmv_backend::files::replace`]: a reader
/// finds the old file or the new one, and on Unix the file is its owner's alone.
///
/// # Errors
/// [`ProfileError::Io`].
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ProfileError> {
    let text = serde_json::to_string_pretty(value).expect("names, numbers and lists");
    let replaced = spmv_backend::files::replace(path, (text + "\n").as_bytes());
    replaced.map_err(|error| ProfileError::Io { path: path.display().to_string(), error })
}

/// What a profile must have been made on: the device with its driver, the kind of memory, and its waves.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// let caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
/// assert!(spmv_model::fingerprint(&caps).contains("; memory Discrete; waves ["));
/// ```
pub fn fingerprint(caps: &DeviceCaps) -> String {
    let waves = Format::ALL.map(|format| format.wave_rows(caps));
    format!("{}; memory {:?}; waves {waves:?}", caps.fingerprint, caps.memory)
}

/// One for each backend, device and kind of memory.
fn file_name(backend: &str, caps: &DeviceCaps) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let memory = format!("{:?}", caps.memory).to_lowercase();
    format!("{backend}-{}-{memory}.json", caps.name).chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, KernelId, MemoryModel};

    use super::*;
    use crate::fit::{Line, Piece};

    fn caps() -> DeviceCaps {
        DeviceCaps::new("x", DeviceKind::Other, MemoryModel::Discrete)
    }

    #[test]
    fn names_of_devices_make_names_of_files() {
        let named = DeviceCaps::new("cpu/AMD (R) 9", DeviceKind::Cpu, MemoryModel::UnifiedMapped);
        assert_eq!(file_name("opencl", &named), "opencl-cpu-AMD--R--9-unifiedmapped.json");
    }

    #[test]
    fn the_built_in_profile_knows_every_algorithm_and_real_type() {
        let profile = Profile::cpu();
        assert!(profile.is_built_in() && profile.version == VERSION);
        for value in Dtype::ALL.into_iter().filter(|value| !value.is_complex()) {
            let known = KernelId::ALL.iter().copied().filter(|id| profile.rates(id.stem(), value).is_some());
            assert_eq!(known.count(), 9, "{value}");
        }
    }

    fn model(slope: f64) -> Model {
        let by_waves = Line { slope, intercept: 0.1 };
        let short = Piece { by_length: by_waves, by_waves, t0: 1.0 / 3.0 };
        let fitted = Fitted::ByBunch { short, long: None, limit: 1024.0 };
        Model { format: Format::CsrVector, spread: Spread::Normal, value: "f64".into(), wave_rows: 7, fitted }
    }

    #[test]
    fn a_profile_comes_back_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/profile.json");
        let mut profile = Profile::new(&caps());
        profile.put(model(0.3));
        // Which a reader that rounds twice takes for its neighbour.
        profile.put(model(9.171434708015689e-10));
        profile.save(&path).unwrap();
        let loaded = Profile::load(&path, &caps()).unwrap();
        assert_eq!(loaded, profile);
        assert_eq!(loaded.models.len(), 1);
        assert!(loaded.model(Format::CsrVector, Spread::Normal, Dtype::F64).is_some());
        assert!(loaded.model(Format::CsrVector, Spread::Fixed, Dtype::F64).is_none());
    }

    #[test]
    fn a_file_that_is_being_replaced_is_always_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.json");
        let numbers = [vec![0.5; 20_000], vec![0.25; 10]];
        write_json(&path, &numbers[0]).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                (0..60).for_each(|i| write_json(&path, &numbers[i % 2]).unwrap());
            });
            while !writer.is_finished() {
                match read_json::<Vec<f64>>(&path) {
                    Ok(found) => assert!(numbers.contains(&found), "{} numbers", found.len()),
                    // Windows refuses to open a file while it is being replaced.
                    Err(e) => assert!(cfg!(windows) && matches!(e, ProfileError::Io { .. }), "{e}"),
                }
            }
        });
    }

    #[test]
    fn damaged_and_other_versions_are_told_apart_from_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        Profile::new(&caps()).save(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let other_build = text.replace(env!("CARGO_PKG_VERSION"), "0.0.0");
        std::fs::write(&path, other_build).unwrap();
        assert!(matches!(Profile::load(&path, &caps()), Err(ProfileError::Stale { .. })));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(Profile::load(&path, &caps()), Err(ProfileError::Damaged { .. })));
        let mut negative = Profile::new(&caps());
        negative.rates = Profile::cpu().rates.clone();
        let negative = serde_json::to_string(&negative).unwrap().replacen("\"row\":", "\"row\":-", 1);
        let other_version = text.replace(&format!("\"version\": {VERSION}"), "\"version\": 0");
        for wrong in [other_version, text[..text.len() / 2].to_owned(), negative] {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(Profile::load(&path, &caps()), Err(ProfileError::Damaged { .. })));
        }
    }
}
