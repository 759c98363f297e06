//! Types of values, vectors and sums.

use std::fmt;

use spmv_core::{Dtype, for_each_mixed};

/// Types of the matrix's values, of `x`, and of sums and `y`.
///
/// ```
/// use spmv_backend::Types;
/// use spmv_core::{Dtype, for_each_mixed};
/// let half = Types::of(Dtype::F16);
/// assert_eq!((half.vector, half.accum), (Dtype::F16, Dtype::F32));
/// assert_eq!(half.to_string(), "f16");
/// assert_eq!(Types::stored_as(Dtype::F16, Dtype::F64).unwrap().to_string(), "f16*f64+f64");
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

    /// Values in a type of their own, with `x` and sums in `vector`; `None` unless the types are the same, or `vector` is wider and
    /// a type of sums.
    ///
    /// ```
    /// use spmv_backend::Types;
    /// use spmv_core::{Dtype, for_each_mixed};
    /// let mixed = Types::stored_as(Dtype::F32, Dtype::F64).unwrap();
    /// assert!(mixed.is_mixed() && mixed.accum == Dtype::F64);
    /// assert_eq!(Types::stored_as(Dtype::F64, Dtype::F32), None);
    /// assert_eq!(Types::stored_as(Dtype::F16, Dtype::F16), Some(Types::of(Dtype::F16)));
    /// ```
    pub fn stored_as(value: Dtype, vector: Dtype) -> Option<Self> {
        let types = Self { value, vector, accum: vector.accum() };
        (value == vector || Self::mixed().contains(&types)).then_some(types)
    }

    /// Every pair of different types that kernels are built for.
    pub fn mixed() -> [Self; 5] {
        macro_rules! mixed {
            ($($value:ident $v:ty, $vector:ident $x:ty;)*) => {
                [$(Self { value: Dtype::$value, vector: Dtype::$vector, accum: Dtype::$vector }),*]
            };
        }
        for_each_mixed!(mixed)
    }

    /// Whether values have another type than `x`.
    pub fn is_mixed(self) -> bool {
        self.value != self.vector
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, vector, accum } = self;
        if *self == Self::of(*value) { f.pad(value.name()) } else { write!(f, "{value}*{vector}+{accum}") }
    }
}
