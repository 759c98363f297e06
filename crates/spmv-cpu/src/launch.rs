//! What every kernel is told besides its arguments.

use spmv_core::Tiling;

use crate::device_team::Team;
use crate::simd::Isa;

/// A launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    /// The kernel's own, with S = 1: kernels that walk take S as the argument `tiles`.
    pub(crate) tiling: Tiling,
    pub(crate) isa: Isa,
    pub(crate) groups: Groups<'a>,
}

/// The groups of a launch, and who works on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a> {
    pub(crate) n: u32,
    pub(crate) team: Team<'a>,
}
