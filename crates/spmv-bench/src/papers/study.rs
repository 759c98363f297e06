//! What the figures of Wang, Gu & Li 2017 show.

use crate::model::evaluation::Evaluation;
use crate::model::lines::Measured;

/// The grid, its lines and the predictions of one device.
pub(crate) struct Study {
    /// Label of the device.
    pub(crate) on: String,
    pub(crate) measured: Vec<Measured>,
    /// Spreads whose samples are those that a fit kept.
    pub(crate) n_kept: u32,
    pub(crate) evaluation: Evaluation,
}
