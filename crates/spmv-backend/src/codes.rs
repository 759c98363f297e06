//! Values of kernel arguments that select an operation, the same in every language.
//!
//! ```
//! use spmv_backend::codes;
//! assert_eq!(codes::EPILOGUE_Z | codes::EPILOGUE_CLAMP, 3);
//! ```

/// Bit of `epilogue`: beta scales `z`, not `y`.
pub const EPILOGUE_Z: u32 = 1;
/// Bit of `epilogue`: results are clamped to `lo` and `hi`.
pub const EPILOGUE_CLAMP: u32 = 2;

/// `source` of `vec_update`: u is `x`.
pub const SOURCE_X: u32 = 0;
/// `source` of `vec_update`: u is `d*x`.
pub const SOURCE_WEIGHTED: u32 = 1;
/// `source` of `vec_update`: u is one.
pub const SOURCE_ONE: u32 = 2;

/// `dots` of `vec_update`: the new `y` is multiplied by nothing.
pub const DOTS_NONE: u32 = 0;
/// `dots` of `vec_update`: the new `y` is multiplied by itself.
pub const DOTS_Y: u32 = 1;
/// `dots` of `vec_update`: the new `y` is multiplied by `z`.
pub const DOTS_Z: u32 = 2;

/// `op` of reductions: a sum.
pub const OP_SUM: u32 = 0;
/// `op` of reductions: the greatest absolute value.
pub const OP_GREATEST: u32 = 1;
