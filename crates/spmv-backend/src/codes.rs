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

/// A step of `vec_scalars`: a copy of the first scalar.
pub const OP_COPY: u32 = 0;
/// A step of `vec_scalars`: a sum.
pub const OP_ADD: u32 = 1;
/// A step of `vec_scalars`: a difference.
pub const OP_SUBTRACT: u32 = 2;
/// A step of `vec_scalars`: a product.
pub const OP_MULTIPLY: u32 = 3;
/// A step of `vec_scalars`: a quotient, zero if either is zero.
pub const OP_DIVIDE: u32 = 4;
/// A step of `vec_scalars`: the square root of the first scalar.
pub const OP_SQRT: u32 = 5;
/// A step of `vec_scalars`: the absolute value of the first scalar.
pub const OP_ABS: u32 = 6;
/// A step of `vec_scalars`: the greater of two.
pub const OP_GREATER: u32 = 7;
/// A step of `vec_scalars`: the lesser of two.
pub const OP_LESSER: u32 = 8;
