//! What the command prints, and writes as JSON.

use serde::Serialize;

/// What the command prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) device: String,
    pub(super) machine: String,
    pub(super) commit: String,
    pub(super) by: String,
    pub(super) matrices: Vec<OfMatrix>,
    /// The 3-D Laplacian, of which each device has as much.
    pub(super) weak: OfMatrix,
}

/// A matrix, what was measured with it, and what follows.
#[derive(Debug, Serialize)]
pub(super) struct OfMatrix {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) nonzeros: usize,
    pub(super) rates: Vec<Rate>,
    pub(super) curves: Vec<OfCurve>,
    pub(super) checks: Vec<Check>,
}

/// A number of the model, and where it is from.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Rate {
    pub(super) what: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) from: &'static str,
}

/// Predicted times by numbers of devices.
#[derive(Debug, Serialize)]
pub(super) struct OfCurve {
    pub(super) scaling: String,
    pub(super) points: Vec<Point>,
    /// Devices asked for that there are no rows for.
    pub(super) left_out: Vec<u32>,
    pub(super) product: Bounds,
    pub(super) iteration: Bounds,
}

#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) devices: usize,
    pub(super) imbalance: f64,
    pub(super) most_received: u64,
    pub(super) most_neighbours: u64,
    pub(super) pack_s: f64,
    pub(super) local_s: f64,
    pub(super) exchange_s: f64,
    pub(super) boundary_s: f64,
    pub(super) product: Scaled,
    pub(super) iteration: Scaled,
}

#[derive(Debug, Serialize)]
pub(super) struct Scaled {
    pub(super) seconds: f64,
    pub(super) speed_up: f64,
    pub(super) efficiency: f64,
}

/// Where scaling ends.
#[derive(Debug, Serialize)]
pub(super) struct Bounds {
    /// The next more devices than these are no faster; none if each number is faster than those before.
    pub(super) limit: Option<usize>,
    /// The fastest of all.
    pub(super) fastest: Option<usize>,
    /// The first with an efficiency below half.
    pub(super) below_half: Option<usize>,
}

/// A prediction next to what was measured.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) parts: usize,
    /// Whether each part has a device of its own, or one after another the same.
    pub(super) arrangement: &'static str,
    /// What multiplies in the first part: a small part may take another algorithm than the whole matrix.
    pub(super) algorithm: String,
    pub(super) product: Compared,
    pub(super) iteration: Compared,
}

#[derive(Debug, Serialize)]
pub(super) struct Compared {
    pub(super) measured_s: f64,
    pub(super) predicted_s: f64,
}

impl Compared {
    pub(super) fn ratio(&self) -> f64 {
        self.predicted_s / self.measured_s
    }
}
