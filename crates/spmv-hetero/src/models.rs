//! M_GPU and M_CPU: times of device and host by support vector regression.

use std::path::Path;

use serde::{Deserialize, Serialize};
use spmv_backend::DeviceCaps;
use spmv_core::{CsrView, Dtype, MatrixStats, Offset, RowStats, Value};
use spmv_model::{Profile, ProfileError, fingerprint};

use crate::split::{Parts, Regular, Rows, SPECULATIVE, Split};

/// Raised whenever what the file holds, or what it means, changes.
const VERSION: u32 = 3;

/// Names of the features of M_GPU, in order.
pub const DEVICE_FEATURES: [&str; 11] = [
    "ln(1 + slots of DIA)",
    "ln(1 + slots of ELL)",
    "ln(1 + rows of the regular part)",
    "ln(1 + entries in rows)",
    "ln(1 + rows)",
    "ln(1 + longest row)",
    "deviation of row lengths over their mean",
    "lines of x for each entry in rows",
    "1 for speculative segmented sum",
    "ln(1 + columns of the matrix)",
    "ln(1 + sums)",
];

/// Names of the features of M_CPU, in order.
pub const CORES_FEATURES: [&str; 7] = [
    "ln(1 + entries)",
    "ln(1 + rows)",
    "ln(1 + longest row)",
    "deviation of row lengths over their mean",
    "lines of x for each entry",
    "ln(1 + columns)",
    "1 for all cores, without the device",
];

/// Features of the models: of the device's part, and of the cores'. O(rows + entries).
///
/// ```
/// use spmv_core::Csr;
/// use spmv_hetero::{Split, features};
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?;
/// let (device, cores) = features(a.view(), &Split::by_rows(1));
/// assert_eq!((device[4], cores[0]), (2f64.ln(), 2f64.ln()));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn features<T: Value, O: Offset>(
    a: CsrView<'_, T, O>,
    split: &Split,
) -> ([f64; DEVICE_FEATURES.len()], [f64; CORES_FEATURES.len()]) {
    features_of(&Parts::of(a, split.regular), split)
}

pub(crate) fn features_of<T: Value, O: Offset>(
    parts: &Parts<'_, T, O>,
    split: &Split,
) -> ([f64; DEVICE_FEATURES.len()], [f64; CORES_FEATURES.len()]) {
    let ln = |n: usize| (n as f64).ln_1p();
    let rest = parts.rest();
    let split_at = split.rows.min(rest.n_rows());
    let [rows, cores] =
        [0..split_at, split_at..rest.n_rows()].map(|rows| MatrixStats::of(Rows::of(rest, rows).view()));
    let uneven = |rows: &RowStats| if rows.mean > 0.0 { rows.std_dev / rows.mean } else { 0.0 };
    let (mut dia, mut ell, mut regular_rows) = (0, 0, 0);
    if let Some(regular) = parts.regular() {
        let stats = MatrixStats::of(regular);
        regular_rows = stats.rows.n_rows;
        match split.regular {
            // Where there are too many to count, or nearly so, the layout is refused.
            Regular::Diagonals { .. } => {
                dia = stats.diagonals.map_or(stats.rows.nnz, |n| n * stats.rows.n_rows);
            }
            _ => ell = stats.rows.max * stats.rows.n_rows,
        }
    }
    let has_regular = parts.regular().is_some();
    let speculates = !has_regular && split.options.algorithm == SPECULATIVE && rows.rows.nnz > 0;
    let device = [
        ln(dia),
        ln(ell),
        ln(regular_rows),
        ln(rows.rows.nnz),
        ln(rows.rows.n_rows),
        ln(rows.rows.max),
        uneven(&rows.rows),
        rows.scatter,
        if speculates { 1.0 } else { 0.0 },
        ln(rest.n_cols()),
        ln(regular_rows.max(rows.rows.n_rows)),
    ];
    let of_cores = &cores.rows;
    let are_alone = !has_regular && split_at == 0;
    let cores = [
        ln(of_cores.nnz),
        ln(of_cores.n_rows),
        ln(of_cores.max),
        uneven(of_cores),
        cores.scatter,
        ln(of_cores.n_cols),
        if are_alone { 1.0 } else { 0.0 },
    ];
    (device, cores)
}

/// A support vector regression with Gaussian kernel, as it was trained: `seconds` is `exp` of its sum.
///
/// ```
/// use spmv_hetero::Svr;
/// // One vector, at the mean of its only feature.
/// let svr = Svr { means: vec![4.0], deviations: vec![2.0], width: 1.0, vectors: vec![vec![0.0]], weights: vec![3.0], bias: -10.0 };
/// assert_eq!(svr.seconds(&[4.0]), (-7.0f64).exp());
/// assert!((svr.seconds(&[400.0]) - (-10.0f64).exp()).abs() < 1e-18);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Svr {
    /// Of each feature, over the training set.
    pub means: Vec<f64>,
    /// Of each feature; what is looked at are features less their mean, over this.
    pub deviations: Vec<f64>,
    /// The kernel is `exp(-|u - v|^2 / width)`.
    pub width: f64,
    /// Support vectors.
    pub vectors: Vec<Vec<f64>>,
    /// Of each vector.
    pub weights: Vec<f64>,
    /// Added to the sum.
    pub bias: f64,
}

impl Svr {
    /// The predicted time. O(support vectors).
    ///
    /// # Panics
    /// If there are not as many features as the regression was trained with.
    pub fn seconds(&self, features: &[f64]) -> f64 {
        assert_eq!(features.len(), self.means.len(), "as many features as were trained with");
        let scaled = self.scaled(features);
        let kernel = |vector: &[f64]| {
            let square: f64 = vector.iter().zip(&scaled).map(|(u, v)| (u - v).powi(2)).sum();
            (-square / self.width).exp()
        };
        let sum: f64 =
            self.vectors.iter().zip(&self.weights).map(|(vector, weight)| weight * kernel(vector)).sum();
        (sum + self.bias).exp()
    }

    /// Features less their mean, over their deviation.
    pub fn scaled(&self, features: &[f64]) -> Vec<f64> {
        features
            .iter()
            .zip(&self.means)
            .zip(&self.deviations)
            .map(|((f, mean), dev)| (f - mean) / dev)
            .collect()
    }

    fn is_valid(&self, n_features: usize) -> bool {
        let all_finite = |list: &[f64]| list.iter().all(|n| n.is_finite());
        let vectors = &self.vectors;
        self.means.len() == n_features
            && self.deviations.len() == n_features
            && vectors.len() == self.weights.len()
            && vectors.iter().all(|v| v.len() == n_features && all_finite(v))
            && [&self.means, &self.deviations, &self.weights].iter().all(|list| all_finite(list))
            && self.deviations.iter().all(|dev| *dev > 0.0)
            && self.width.is_finite()
            && self.width > 0.0
            && self.bias.is_finite()
    }
}

/// M_GPU and M_CPU for one type of values.
///
/// ```
/// use spmv_hetero::{SplitModels, Svr};
/// let constant = |n| Svr { means: vec![0.0; n], deviations: vec![1.0; n], width: 1.0, vectors: vec![], weights: vec![], bias: -9.0 };
/// let models_of_value = SplitModels { value: "f32".into(), device: constant(11), cores: constant(7) };
/// assert_eq!(models_of_value.device.seconds(&[0.0; 11]), models_of_value.cores.seconds(&[0.0; 7]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitModels {
    /// Name of the type of values.
    pub value: String,
    /// M_GPU.
    pub device: Svr,
    /// M_CPU.
    pub cores: Svr,
}

/// The models of a device and the host's cores, for the types of values they were trained for.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// use spmv_hetero::Models;
/// let caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
/// let cores = DeviceCaps::new("3 CPU threads", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("models.json");
/// let models = Models::new(&caps, &cores);
/// models.save(&path)?;
/// assert_eq!(Models::load(&path, &caps, &cores)?, models);
/// assert!(Models::load(&path, &cores, &cores).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Models {
    version: u32,
    /// Version of this crate, whose kernels were measured.
    build: String,
    fingerprint: String,
    /// For each type of values.
    pub values: Vec<SplitModels>,
}

impl Models {
    /// Without models, for a device and the host's cores.
    pub fn new(device: &DeviceCaps, cores: &DeviceCaps) -> Self {
        let build = env!("CARGO_PKG_VERSION").to_owned();
        Self { version: VERSION, build, fingerprint: both(device, cores), values: vec![] }
    }

    /// Where the models of a device are kept: in the folder of its [profile](Profile::path).
    pub fn path(backend: &str, device: &DeviceCaps) -> Option<std::path::PathBuf> {
        Profile::path(&format!("hetero-{backend}"), device)
    }

    /// Those of a type of values, if there are any.
    pub fn of(&self, value: Dtype) -> Option<&SplitModels> {
        self.values.iter().find(|models_of_value| models_of_value.value == value.name())
    }

    /// Replaces the models of that value type.
    pub fn put(&mut self, models_of_value: SplitModels) {
        self.values.retain(|old| old.value != models_of_value.value);
        self.values.push(models_of_value);
    }

    /// Reads models and compares device and cores.
    ///
    /// # Errors
    /// As [`Profile::load`].
    pub fn load(path: &Path, device: &DeviceCaps, cores: &DeviceCaps) -> Result<Self, ProfileError> {
        let name = || path.display().to_string();
        let models: Self = spmv_model::read_json(path)?;
        let damaged = |why: String| Err(ProfileError::Damaged { path: name(), why });
        if models.version != VERSION {
            return damaged(format!("version {}, not {VERSION}", models.version));
        }
        let is_valid = |models_of_value: &SplitModels| {
            models_of_value.device.is_valid(DEVICE_FEATURES.len())
                && models_of_value.cores.is_valid(CORES_FEATURES.len())
        };
        if let Some(wrong) = models.values.iter().find(|models_of_value| !is_valid(models_of_value)) {
            return damaged(format!("the models of {}", wrong.value));
        }
        let is_of_them =
            models.fingerprint == both(device, cores) && models.build == env!("CARGO_PKG_VERSION");
        if is_of_them { Ok(models) } else { Err(ProfileError::Stale { path: name() }) }
    }

    /// The models that are kept for a device and the host's cores, if there are any.
    ///
    /// # Errors
    /// As [`load`](Self::load), but for a file that is not there.
    pub fn kept(
        backend: &str,
        device: &DeviceCaps,
        cores: &DeviceCaps,
    ) -> Result<Option<Self>, ProfileError> {
        spmv_model::kept(Self::path(backend, device), |path| Self::load(path, device, cores))
    }

    /// Writes the models, and the folder that they are in. A reader finds the old models or the new ones.
    ///
    /// # Errors
    /// [`ProfileError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        spmv_model::write_json(path, self)
    }
}

fn both(device: &DeviceCaps, cores: &DeviceCaps) -> String {
    format!("{}; host {}", fingerprint(device), fingerprint(cores))
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel};
    use spmv_core::Csr;
    use spmv_exec::Options;

    use super::*;

    fn caps(name: &str) -> DeviceCaps {
        DeviceCaps::new(name, DeviceKind::Other, MemoryModel::Discrete)
    }

    #[test]
    fn damaged_models_are_told_apart_from_absent_and_foreign_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.json");
        let load = || Models::load(&path, &caps("gpu"), &caps("cores"));
        assert!(matches!(load(), Err(ProfileError::Io { .. })));
        let svr = |n: usize| Svr {
            means: vec![0.5; n],
            deviations: vec![1.0; n],
            width: 2.0,
            vectors: vec![vec![0.1; n]],
            weights: vec![1.0],
            bias: -9.0,
        };
        let good = SplitModels { value: "f64".into(), device: svr(11), cores: svr(7) };
        let mut models = Models::new(&caps("gpu"), &caps("cores"));
        models.put(good.clone());
        models.put(good.clone());
        models.save(&path).unwrap();
        assert_eq!(load().unwrap(), models);
        assert_eq!((models.of(Dtype::F64), models.of(Dtype::F32)), (Some(&good), None));
        assert!(matches!(
            Models::load(&path, &caps("gpu"), &caps("others")),
            Err(ProfileError::Stale { .. })
        ));
        let wrong: [fn(&mut Svr); 4] = [
            |svr| svr.deviations[0] = 0.0,
            |svr| svr.vectors[0].clear(),
            |svr| svr.weights.clear(),
            |svr| svr.width = -1.0,
        ];
        for damage in wrong {
            let mut models_of_value = good.clone();
            damage(&mut models_of_value.cores);
            models.put(models_of_value);
            models.save(&path).unwrap();
            assert!(matches!(load(), Err(ProfileError::Damaged { .. })));
        }
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(load(), Err(ProfileError::Damaged { .. })));
    }

    #[test]
    fn features_count_what_each_share_has() {
        let rows = [vec![(0, 1.0), (1, 1.0)], vec![(1, 1.0)], vec![(0, 1.0), (2, 1.0)], vec![]];
        let a = Csr::<f64>::from_rows(5, rows).unwrap();
        let ln = |n: f64| n.ln_1p();
        let t1 = Split { regular: Regular::Slots { width: 1 }, ..Split::by_rows(1) };
        let (device, cores) = features(a.view(), &t1);
        assert_eq!(&device[..5], [0.0, ln(4.0), ln(4.0), ln(1.0), ln(1.0)]);
        assert_eq!((device[9], device[10]), (ln(5.0), ln(4.0)));
        assert_eq!((cores[0], cores[1], cores[2]), (ln(1.0), ln(3.0), ln(1.0)));
        let q1 = Split { regular: Regular::Diagonals { half_width: 0 }, ..Split::by_rows(0) };
        let (device, cores) = features(a.view(), &q1);
        assert_eq!((device[0], device[1], device[3], cores[0]), (ln(4.0), 0.0, 0.0, ln(2.0)));
        let options = Options { algorithm: SPECULATIVE, ..Options::default() };
        let spec = Split { options, ..Split::by_rows(9) };
        assert_eq!(features(a.view(), &spec).0[8], 1.0);
        let regular = Split { regular: t1.regular, ..spec };
        assert_eq!(features(a.view(), &regular).0[8], 0.0, "the rest goes by the launch of the regular part");
    }
}
