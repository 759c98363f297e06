//! Rows of `--hetero` and `--regular`.

use serde::{Deserialize, Serialize};

/// One matrix in co-execution. Times are medians in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeteroRow {
    pub(crate) matrix: String,
    pub(crate) twin: bool,
    pub(crate) nnz: usize,
    pub(crate) precision: String,
    /// Label of the device.
    pub(crate) on: String,
    /// `quasi-diagonal`, `tetris` or `general`.
    pub(crate) pattern: String,
    /// What [`together_us`](Self::together_us) is of, in words: a split, or device or host alone.
    pub(crate) chosen: String,
    /// The best split.
    pub(crate) split: Option<String>,
    /// Share of the entries that it gives to the device.
    pub(crate) device_share: Option<f64>,
    /// What models say of it, device and cores.
    pub(crate) predicted_us: Option<[f64; 2]>,
    /// And how long both took.
    pub(crate) shares_us: Option<[f64; 2]>,
    pub(crate) split_us: Option<f64>,
    /// The paper's partition, all of the rest with the cores (figure 6); none of a general matrix.
    #[serde(default)]
    pub(crate) before_split: Option<String>,
    #[serde(default)]
    pub(crate) before_us: Option<f64>,
    /// And with rows of the rest handed back to the device, if that is faster (figure 7).
    #[serde(default)]
    pub(crate) after_split: Option<String>,
    #[serde(default)]
    pub(crate) after_us: Option<f64>,
    /// Why the device's share of these is not in DIA or ELL form, if a layout refused it.
    #[serde(default)]
    pub(crate) regular_refused: Option<String>,
    /// The device alone, vectors on it; by its timestamps if it has them.
    pub(crate) resident_us: Option<f64>,
    /// The device alone, vectors on the host.
    pub(crate) device_us: Option<f64>,
    /// All cores alone.
    pub(crate) cores_us: Option<f64>,
    /// As the hetero context has it.
    pub(crate) together_us: Option<f64>,
    /// To find the split, and to prepare it.
    pub(crate) prepare_us: f64,
    /// What was tried, a sentence each.
    pub(crate) trace: Vec<String>,
    pub(crate) ok: bool,
}

impl HeteroRow {
    /// |T_GPU - T_CPU| over the longer of the two.
    pub(crate) fn imbalance(&self) -> Option<f64> {
        self.shares_us.map(|[device, cores]| (device - cores).abs() / device.max(cores))
    }

    /// Speed over that of the faster one alone.
    pub(crate) fn over_single(&self) -> Option<f64> {
        Some(self.device_us?.min(self.cores_us?) / self.together_us?)
    }

    pub(crate) fn over_device(&self) -> Option<f64> {
        Some(self.device_us? / self.together_us?)
    }

    /// Speed of the paper's partition over that of the device alone, before the cooperative step.
    pub(crate) fn before(&self) -> Option<f64> {
        Some(self.device_us? / self.before_us?)
    }

    /// The same after it.
    pub(crate) fn after(&self) -> Option<f64> {
        Some(self.device_us? / self.after_us?)
    }
}

/// The regular part of one matrix alone on a device, vectors on it. Times are medians in microseconds, by the device's
/// timestamps if it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RegularRow {
    pub(crate) matrix: String,
    pub(crate) twin: bool,
    /// Of the whole matrix.
    pub(crate) nnz: usize,
    pub(crate) precision: String,
    /// Label of the device.
    pub(crate) on: String,
    pub(crate) pattern: String,
    /// What it is, in words.
    pub(crate) regular: String,
    /// Share of the entries that it holds.
    pub(crate) share: f64,
    /// Slots of its layout over these.
    pub(crate) padding: f64,
    /// `dia` or `ell`.
    pub(crate) layout: String,
    /// Absent if the layout refuses it.
    pub(crate) layout_us: Option<f64>,
    /// Why it does.
    pub(crate) refused: Option<String>,
    /// What `auto` takes for it, and how long that takes.
    pub(crate) auto_algorithm: String,
    pub(crate) auto_us: Option<f64>,
    /// By `csr_vector`.
    pub(crate) vector_us: Option<f64>,
    pub(crate) ok: bool,
}

impl RegularRow {
    /// Speed of DIA or ELL over that of CSR as `auto` has it.
    pub(crate) fn over_auto(&self) -> Option<f64> {
        Some(self.auto_us? / self.layout_us?)
    }

    /// And over that of `csr_vector`.
    pub(crate) fn over_vector(&self) -> Option<f64> {
        Some(self.vector_us? / self.layout_us?)
    }
}
