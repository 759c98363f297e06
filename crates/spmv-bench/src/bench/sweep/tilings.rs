//! The numbers of tilings that a sweep tries.

/// Values of W, with T, S and B of the plan.
pub(super) const WIDTHS: [u32; 8] = [2, 4, 8, 12, 16, 20, 24, 32];
/// Values of S, with T, W and B of the plan.
pub(super) const TILES: [u32; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16];
