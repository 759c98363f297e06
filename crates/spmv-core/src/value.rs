//! Value types: what a matrix stores and what sums are kept in.

use std::fmt::{self, Debug, Display};
use std::ops::{AddAssign, MulAssign};

use bytemuck::Pod;
use num_traits::Float;

use types::{bf16, f16};

/// Types of values that Rust itself lacks.
///
/// ```
/// use spmv_core::types::bf16;
/// assert_eq!(size_of::<bf16>(), 2);
/// ```
pub mod types {
    pub use half::{bf16, f16};
}

/// Calls a macro with one row for each value type: variant of [`Dtype`](crate::Dtype), type, name in capitals.
///
/// The one list of value types: what must exist for each is made from it.
///
/// ```
/// macro_rules! names {
///     ($($variant:ident $t:ty, $capitals:literal;)*) => { [$(stringify!($variant)),*] };
/// }
/// assert_eq!(spmv_core::for_each_value!(names), ["F16", "Bf16", "F32", "F64"]);
/// ```
#[macro_export]
macro_rules! for_each_value {
    ($then:ident) => {
        $then! {
            F16 $crate::f16, "F16";
            Bf16 $crate::bf16, "BF16";
            F32 f32, "F32";
            F64 f64, "F64";
        }
    };
}

/// Calls a macro with one row for each type of values together with a wider type of vectors: both as variants of
/// [`Dtype`](crate::Dtype), and as types. Sums have the type of the vectors.
///
/// The one list of such pairs.
///
/// ```
/// macro_rules! count {
///     ($($value:ident $v:ty, $vector:ident $x:ty;)*) => { [$(stringify!($value)),*].len() };
/// }
/// assert_eq!(spmv_core::for_each_mixed!(count), 5);
/// ```
#[macro_export]
macro_rules! for_each_mixed {
    ($then:ident) => {
        $then! {
            F16 $crate::f16, F32 f32;
            Bf16 $crate::bf16, F32 f32;
            F16 $crate::f16, F64 f64;
            Bf16 $crate::bf16, F64 f64;
            F32 f32, F64 f64;
        }
    };
}

/// Evaluates an expression for the type that a [`Dtype`](crate::Dtype) stands for.
///
/// ```
/// use spmv_core::{Dtype, by_dtype};
/// let bytes = |dtype| by_dtype!(dtype, T => size_of::<T>());
/// assert_eq!(Dtype::ALL.map(bytes), [2, 2, 4, 8]);
/// ```
#[macro_export]
macro_rules! by_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::Dtype::F16 => {
                type $t = $crate::f16;
                $body
            }
            $crate::Dtype::Bf16 => {
                type $t = $crate::bf16;
                $body
            }
            $crate::Dtype::F32 => {
                type $t = f32;
                $body
            }
            $crate::Dtype::F64 => {
                type $t = f64;
                $body
            }
        }
    };
}

impl Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Dtype {
    type Err = UnknownDtype;

    fn from_str(s: &str) -> Result<Self, UnknownDtype> {
        Dtype::ALL.into_iter().find(|d| d.name() == s).ok_or_else(|| UnknownDtype(s.to_owned()))
    }
}

/// A name that is no value type's.
///
/// ```
/// use spmv_core::Dtype;
/// assert_eq!("f8".parse::<Dtype>().unwrap_err().to_string(), "unknown value type 'f8'; use f16, bf16, f32 or f64");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value type '{0}'; use {known}", known = names())]
pub struct UnknownDtype(String);

/// Every name, as a sentence lists them.
fn names() -> String {
    let names = Dtype::ALL.map(Dtype::name);
    let (last, others) = names.split_last().expect("there are value types");
    format!("{} or {last}", others.join(", "))
}

mod sealed {
    pub trait Sealed {}
}

/// A type that matrices and `x` may hold: one of [`Dtype::ALL`].
///
/// ```
/// use spmv_core::Value;
/// fn sum<T: Value>(values: &[T]) -> f64 {
///     values.iter().map(|v| v.as_f64()).sum()
/// }
/// assert_eq!(sum(&[half::bf16::from_f64(1.5), half::bf16::ONE]), 2.5);
/// ```
pub trait Value:
    sealed::Sealed + Pod + PartialEq + PartialOrd + Debug + Display + Default + Send + Sync
{
    /// Type of sums and of `y`: `f32` for 16- and 32-bit values, else `f64`.
    type Accum: Accum;
    /// This type as data.
    const DTYPE: Dtype;

    /// The exact value in the type of sums.
    fn to_accum(self) -> Self::Accum;
    /// The exact value as `f64`.
    fn as_f64(self) -> f64;
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
}

/// A type that sums are kept in: `f32` or `f64`.
///
/// ```
/// use spmv_core::Accum;
/// assert_eq!(<f32 as Accum>::UNIT_ROUNDOFF, 2f64.powi(-24));
/// ```
pub trait Accum: Value<Accum = Self> + Float + AddAssign + MulAssign {
    /// u in the error bound gamma_n = n u / (1 - n u): half the distance from 1 to the next value.
    const UNIT_ROUNDOFF: f64;
}

macro_rules! values {
    ($(
        $(#[$doc:meta])*
        $dtype:ident $t:ident, sums $accum:ident,
        |$v:ident| $to_accum:expr, $to_f64:expr,
        |$w:ident| $from:expr;
    )*) => {
        /// The value types as run-time data, for tables, labels and capability sets.
        ///
        /// ```
        /// use spmv_core::{Dtype, Value};
        /// assert_eq!(<half::f16 as Value>::DTYPE, Dtype::F16);
        /// assert_eq!(Dtype::F16.accum(), Dtype::F32);
        /// assert_eq!("bf16".parse(), Ok(Dtype::Bf16));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Dtype {
            $($(#[$doc])* $dtype,)*
        }

        impl Dtype {
            /// Every value type, narrowest first.
            pub const ALL: [Dtype; [$(stringify!($t)),*].len()] = [$(Dtype::$dtype),*];

            /// Size of one value in bytes.
            pub const fn bytes(self) -> usize {
                match self {
                    $(Dtype::$dtype => size_of::<$t>(),)*
                }
            }

            /// The type in which sums of this type are kept, and which `y` has.
            pub const fn accum(self) -> Dtype {
                match self {
                    $(Dtype::$dtype => <$accum as Value>::DTYPE,)*
                }
            }

            /// Lower-case name as used on the command line and in kernel labels.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Dtype::$dtype => stringify!($t),)*
                }
            }
        }

        $(
            impl sealed::Sealed for $t {}
            impl Value for $t {
                type Accum = $accum;
                const DTYPE: Dtype = Dtype::$dtype;

                #[inline(always)]
                fn to_accum(self) -> $accum {
                    let $v = self;
                    $to_accum
                }

                #[inline(always)]
                fn as_f64(self) -> f64 {
                    let $v = self;
                    $to_f64
                }

                #[inline(always)]
                fn from_f64($w: f64) -> Self {
                    $from
                }
            }
        )*
    };
}

// A new type is a row here, one in `for_each_value!` and one in `by_dtype!`.
values! {
    /// IEEE 754 binary16.
    F16 f16, sums f32, |v| v.to_f32(), v.to_f64(), |w| f16::from_f32(to_odd(w));
    /// bfloat16: the upper half of a binary32.
    Bf16 bf16, sums f32, |v| v.to_f32(), v.to_f64(), |w| bf16::from_f32(to_odd(w));
    /// IEEE 754 binary32.
    F32 f32, sums f32, |v| v, f64::from(v), |w| w as f32;
    /// IEEE 754 binary64.
    F64 f64, sums f64, |v| v, v, |w| w;
}

/// The `f32` next to `w`, with an odd last bit unless it is exact: rounding that to 16 bits gives what rounding
/// `w` itself would (Boldo & Melquiond 2008), where two roundings to nearest may not.
fn to_odd(w: f64) -> f32 {
    let nearest = w as f32;
    if f64::from(nearest) == w || nearest.is_nan() {
        return nearest;
    }
    let away_from_zero = f64::from(nearest).abs() > w.abs();
    f32::from_bits((nearest.to_bits() - u32::from(away_from_zero)) | 1)
}

impl Accum for f32 {
    const UNIT_ROUNDOFF: f64 = 5.960_464_477_539_063e-8; // 2^-24
}

impl Accum for f64 {
    const UNIT_ROUNDOFF: f64 = 1.110_223_024_625_156_5e-16; // 2^-53
}

/// A type that row offsets may have: `u32` or `u64`.
///
/// ```
/// use spmv_core::Offset;
/// assert_eq!(7u64.to_usize(), 7);
/// assert_eq!(u32::try_from_usize(1 << 40), None);
/// ```
pub trait Offset: sealed::Sealed + Pod + Ord + Debug + Display + Default + Send + Sync {
    /// The offset as an index; exact, because offsets are validated against slice lengths first.
    fn to_usize(self) -> usize;
    /// The offset as `u64`.
    fn to_u64(self) -> u64;
    /// The offset, or `None` where this type cannot hold it.
    fn try_from_usize(offset: usize) -> Option<Self>;
}

macro_rules! offset {
    ($t:ty) => {
        impl sealed::Sealed for $t {}
        impl Offset for $t {
            #[inline(always)]
            fn to_usize(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }

            fn try_from_usize(offset: usize) -> Option<Self> {
                offset.try_into().ok()
            }
        }
    };
}

offset!(u32);
offset!(u64);

/// An integer type that other libraries keep row offsets or columns in: `u32`, `u64`, `usize`, `i32` or `i64`.
///
/// ```
/// use spmv_core::Index;
/// assert_eq!((-1i64).to_i128(), -1);
/// assert_eq!(i32::as_offsets(&[0, 7]), [0u32, 7]);
/// ```
pub trait Index: sealed::Sealed + Pod + Ord + Debug + Display + Send + Sync {
    /// The type of row offsets that is as wide as this.
    type Offset: Offset;
    /// The index, exact.
    fn to_i128(self) -> i128;
    /// The same bits as row offsets, not copied. Of `n` bits, what is negative becomes at least 2^(`n` - 1).
    fn as_offsets(indices: &[Self]) -> &[Self::Offset];
}

macro_rules! index {
    ($($t:ty as $offset:ty;)*) => {$(
        impl Index for $t {
            type Offset = $offset;

            #[inline(always)]
            fn to_i128(self) -> i128 {
                self as i128
            }

            fn as_offsets(indices: &[Self]) -> &[$offset] {
                bytemuck::cast_slice(indices)
            }
        }
    )*};
}

index! {
    u32 as u32;
    u64 as u64;
    i32 as u32;
    i64 as u64;
}

#[cfg(target_pointer_width = "64")]
index!(usize as u64;);
#[cfg(target_pointer_width = "32")]
index!(usize as u32;);

impl sealed::Sealed for usize {}
impl sealed::Sealed for i32 {}
impl sealed::Sealed for i64 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bit_values_are_rounded_once() {
        // A little above the middle of two values: one rounding goes up, two go down.
        let (f, b) = (2f64.powi(-11), 2f64.powi(-8));
        let tiny = 2f64.powi(-40);
        assert_eq!(<f16 as Value>::from_f64(1.0 + f + tiny).as_f64(), 1.0 + 2.0 * f);
        assert_eq!(<f16 as Value>::from_f64(1.0 + f - tiny).as_f64(), 1.0);
        assert_eq!(<f16 as Value>::from_f64(1.0 + f).as_f64(), 1.0, "a tie goes to even");
        assert_eq!(<bf16 as Value>::from_f64(-1.0 - b - tiny).as_f64(), -1.0 - 2.0 * b);
        assert_eq!(<bf16 as Value>::from_f64(-1.0 - b).as_f64(), -1.0);
    }

    #[test]
    fn sixteen_bit_values_keep_extremes() {
        assert_eq!(<f16 as Value>::from_f64(1e300), f16::INFINITY);
        assert_eq!(<bf16 as Value>::from_f64(-1e300), bf16::NEG_INFINITY);
        assert_eq!(<f16 as Value>::from_f64(f64::INFINITY), f16::INFINITY);
        assert_eq!(<f16 as Value>::from_f64(1e-300), f16::ZERO);
        assert!(<bf16 as Value>::from_f64(f64::NAN).is_nan());
        for bits in 0..=u16::MAX {
            let (f, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(f.is_nan() || <f16 as Value>::from_f64(f.as_f64()) == f);
            assert!(b.is_nan() || <bf16 as Value>::from_f64(b.as_f64()) == b);
        }
    }
}
