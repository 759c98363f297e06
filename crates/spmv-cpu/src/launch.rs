//! What every kernel is told besides its arguments.

use spmv_core::Tiling;

use crate::simd::Isa;

/// A launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// The kernel's own, with S = 1: kernels that walk take S as the argument `tiles`.
    pub(crate) tiling: Tiling,
    pub(crate) isa: Isa,
    pub(crate) groups: u32,
}
