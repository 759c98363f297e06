//! The formats whose times are predicted, and what of a matrix their times depend on.

use std::fmt;

use serde::{Deserialize, Serialize};
use spmv_backend::DeviceCaps;
use spmv_core::{CsrView, Offset, Value, most_common_row_length};

/// Lanes of a compute unit where the driver does not report how many it holds; rows of a wave for each thread of a CPU,
/// which holds one at a time, but in a time too short to be measured.
const LANES_OF_A_UNIT: u32 = 1024;
/// Lanes of a half-warp, to which the paper gives a row.
const HALF_WARP: u64 = 16;

/// A format of the paper, and how a kernel reads it. It is named after the algorithm that does so, in tables as in
/// profiles.
///
/// ```
/// use spmv_model::Format;
/// let names = Format::ALL.map(|format| format.to_string());
/// assert_eq!(names, ["csr_vector", "csr_scalar", "ell", "jad"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `csr_vector` with half a warp a row.
    CsrVector,
    /// `csr_scalar`.
    CsrScalar,
    /// `ell`.
    Ell,
    /// `jad`.
    Jad,
}

impl Format {
    /// The four of the paper.
    pub const ALL: [Format; 4] = [Format::CsrVector, Format::CsrScalar, Format::Ell, Format::Jad];

    /// S: rows that the device works on at a time, at least 1. For `csr_vector` half-warps of all compute units, for the
    /// others lanes of all compute units (section 3).
    pub fn wave_rows(self, caps: &DeviceCaps) -> u64 {
        let lanes = caps.sm_limits.map_or(LANES_OF_A_UNIT, |unit| unit.lanes);
        let lanes = u64::from(caps.compute_units) * u64::from(lanes);
        let a_row = if self == Format::CsrVector && !caps.tasks { HALF_WARP } else { 1 };
        (lanes / a_row).max(1)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What of a matrix its predicted time depends on.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_model::{Format, Shape};
/// // Rows of 1, 1 and 3 entries.
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 1, 1.0), (2, 0, 1.0), (2, 1, 1.0), (2, 2, 1.0)])?;
/// assert_eq!(Shape::of(Format::CsrVector, a.view()), Shape { n_rows: 3, per_row: 1.0 });
/// assert_eq!(Shape::of(Format::Ell, a.view()), Shape { n_rows: 3, per_row: 3.0 });
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Rows.
    pub n_rows: u64,
    /// P0, entries: the most common row length for `csr_vector`, the longest for the others.
    pub per_row: f64,
}

impl Shape {
    /// Reads the row offsets. O(rows log rows).
    pub fn of<T: Value, O: Offset>(format: Format, a: CsrView<'_, T, O>) -> Self {
        let per_row = match format {
            Format::CsrVector => most_common_row_length(a),
            _ => spmv_core::RowStats::of(a).max,
        };
        Self { n_rows: a.n_rows() as u64, per_row: per_row as f64 }
    }

    /// I0: how many waves of `wave_rows` rows these are; a part of a wave counts as one where `round_up`, as in the
    /// paper, which blames it for a bias.
    pub fn waves(&self, wave_rows: u64, round_up: bool) -> f64 {
        let wave_rows = wave_rows.max(1);
        if round_up { self.n_rows.div_ceil(wave_rows) as f64 } else { self.n_rows as f64 / wave_rows as f64 }
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel, SmLimits};

    use super::*;

    #[test]
    fn waves_are_what_a_device_holds() {
        let mut caps = DeviceCaps::new("H200", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        caps.compute_units = 132;
        caps.sm_limits = Some(SmLimits { local_bytes: 228 * 1024, lanes: 2048, groups: Some(32) });
        assert_eq!(Format::ALL.map(|f| f.wave_rows(&caps)), [16_896, 270_336, 270_336, 270_336]);
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        caps.compute_units = 2;
        assert_eq!(Format::ALL.map(|f| f.wave_rows(&caps)), [2048; 4]);
        caps.compute_units = 0;
        assert_eq!(Format::Ell.wave_rows(&caps), 1);
    }

    #[test]
    fn a_part_of_a_wave_counts_as_one_or_as_what_it_is() {
        let shape = Shape { n_rows: 5, per_row: 1.0 };
        assert_eq!((shape.waves(2, true), shape.waves(2, false)), (3.0, 2.5));
        assert_eq!(Shape { n_rows: 0, ..shape }.waves(0, true), 0.0);
    }
}
