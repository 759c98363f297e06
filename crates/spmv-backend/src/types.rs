//! Types of values, vectors and sums.

use std::fmt;

use spmv_core::Dtype;

/// Types of the matrix's values, of `x`, and of sums and `y`.
///
/// ```
/// use spmv_backend::Types;
/// use spmv_core::Dtype;
/// let half = Types::of(Dtype::F16);
/// assert_eq!((half.vector, half.accum), (Dtype::F16, Dtype::F32));
/// assert_eq!(half.to_string(), "f16");
/// assert_eq!(Types { vector: Dtype::F32, ..half }.to_string(), "f16*f32+f32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Types {
    /// Of the matrix's values.
    pub value: Dtype,
    /// Of `x`.
    pub vector: Dtype,
    /// Of sums, scalars and `y`.
    pub accum: Dtype,
}

impl Types {
    /// `x` has the type of the values, sums have its [`accum`](Dtype::accum).
    pub const fn of(value: Dtype) -> Self {
        Self { value, vector: value, accum: value.accum() }
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, vector, accum } = self;
        if *self == Self::of(*value) { f.pad(value.name()) } else { write!(f, "{value}*{vector}+{accum}") }
    }
}
