//! Value types: what a matrix stores and what sums are kept in.

use std::fmt::{self, Debug, Display};
use std::ops::{AddAssign, MulAssign, Neg};

use bytemuck::Pod;
use num_traits::{Float, Num};

use types::{bf16, c32, c64, f16};

/// Types of values that Rust itself lacks.
///
/// ```
/// use spmv_core::types::{bf16, c32};
/// assert_eq!((size_of::<bf16>(), size_of::<c32>()), (2, 8));
/// assert_eq!(c32::new(0.0, 1.0) * c32::new(0.0, 1.0), c32::new(-1.0, 0.0));
/// ```
pub mod types {
    pub use half::{bf16, f16};
    /// Complex numbers of two `f32`.
    #[allow(non_camel_case_types)]
    pub type c32 = num_complex::Complex<f32>;
    /// Complex numbers of two `f64`.
    #[allow(non_camel_case_types)]
    pub type c64 = num_complex::Complex<f64>;
}

/// Calls a macro with one row for each value type: variant of [`Dtype`](crate::Dtype), type, name in capitals.
///
/// The one list of value types: what must exist for each is made from it.
///
/// ```
/// macro_rules! names {
///     ($($variant:ident $t:ty, $capitals:literal;)*) => { [$(stringify!($variant)),*] };
/// }
/// assert_eq!(spmv_core::for_each_value!(names), ["F16", "Bf16", "F32", "F64", "C32", "C64"]);
/// ```
#[macro_export]
macro_rules! for_each_value {
    ($then:ident) => {
        $then! {
            F16 $crate::f16, "F16";
            Bf16 $crate::bf16, "BF16";
            F32 f32, "F32";
            F64 f64, "F64";
            C32 $crate::c32, "C32";
            C64 $crate::c64, "C64";
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
/// assert_eq!(Dtype::ALL.map(bytes), [2, 2, 4, 8, 8, 16]);
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
            $crate::Dtype::C32 => {
                type $t = $crate::c32;
                $body
            }
            $crate::Dtype::C64 => {
                type $t = $crate::c64;
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
/// assert_eq!("f8".parse::<Dtype>().unwrap_err().to_string(), "unknown value type 'f8'; use f16, bf16, f32, f64, c32 or c64");
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

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A type that matrices and `x` may hold: one of [`Dtype::ALL`].
///
/// ```
/// use spmv_core::{Value, bf16, c32};
/// fn sum<T: Value>(values: &[T]) -> T::Wide {
///     values.iter().fold(T::default().widen(), |sum, v| sum + v.widen())
/// }
/// assert_eq!(sum(&[bf16::from_f64(1.5), bf16::ONE]), 2.5);
/// assert_eq!(sum(&[c32::new(1.0, 2.0), c32::new(0.5, -1.0)]).im, 1.0);
/// ```
pub trait Value: sealed::Sealed + Pod + PartialEq + Debug + Display + Default + Send + Sync {
    /// Type of sums and of `y`: 32-bit numbers for 16- and 32-bit ones, else 64-bit numbers; complex for complex ones.
    type Accum: Accum;
    /// The type that holds every value exactly: `f64`, or [`c64`] for complex ones.
    type Wide: Wide;
    /// This type as data.
    const DTYPE: Dtype;

    /// The exact value in the type of sums.
    fn to_accum(self) -> Self::Accum;
    /// The exact value with 64 bits.
    fn widen(self) -> Self::Wide;
    /// The nearest value of this type.
    fn from_wide(value: Self::Wide) -> Self;

    /// The value of this type that is nearest to a real number.
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::from_parts([value, 0.0])
    }

    /// The exact real and imaginary part.
    #[inline(always)]
    fn parts(self) -> [f64; 2] {
        self.widen().into_parts()
    }

    /// The nearest value of this type. A real one takes the real part alone.
    #[inline(always)]
    fn from_parts(parts: [f64; 2]) -> Self {
        Self::from_wide(Self::Wide::of_parts(parts))
    }

    /// The complex conjugate: a real value itself.
    #[inline(always)]
    #[must_use]
    fn conj(self) -> Self {
        let [re, im] = self.parts();
        Self::from_parts([re, -im])
    }
}

/// A type that sums are kept in: `f32` or `f64`, real or complex.
///
/// ```
/// use spmv_core::{Accum, c64};
/// assert_eq!(<f32 as Accum>::UNIT_ROUNDOFF, 2f64.powi(-24));
/// assert_eq!(c64::new(0.0, 2.0).times_plus(c64::new(0.0, 1.0), c64::new(3.0, 0.0)), c64::new(1.0, 0.0));
/// ```
pub trait Accum: Value<Accum = Self> + Num + Neg<Output = Self> + AddAssign + MulAssign {
    /// The type of its parts, of which it is itself one if it is real.
    type Part: Real;
    /// u in the error bound gamma_n = n u / (1 - n u): half the distance from 1 to the next value.
    const UNIT_ROUNDOFF: f64;

    /// The real part.
    fn re(self) -> Self::Part;
    /// A real number.
    fn from_re(re: Self::Part) -> Self;
    /// Distance from zero.
    fn modulus(self) -> Self::Part;
    /// The square root; of a complex number that in the right half-plane.
    #[must_use]
    fn root(self) -> Self;
    /// Whether it is greater than another, or not a number. Complex numbers compare as their real parts.
    fn exceeds(self, other: Self) -> bool {
        self.re() > other.re() || self.re().is_nan()
    }
    /// `self * by + plus`. Real numbers are rounded once, complex ones twice in each part.
    #[must_use]
    fn times_plus(self, by: Self, plus: Self) -> Self;
}

/// A type of real sums: `f32` or `f64`.
///
/// ```
/// fn greatest<A: spmv_core::Real>(x: &[A]) -> A {
///     x.iter().fold(A::zero(), |most, x| most.max(x.abs()))
/// }
/// assert_eq!(greatest(&[1.0f32, -2.0]), 2.0);
/// ```
pub trait Real: Accum<Part = Self, Wide = f64> + Float {}

/// A type that holds every value exactly: `f64` or [`c64`].
///
/// ```
/// use spmv_core::{Value, Wide, c32};
/// fn length<W: Wide>(x: &[W]) -> f64 {
///     x.iter().map(|x| x.modulus().powi(2)).sum::<f64>().sqrt()
/// }
/// assert_eq!(length(&[c32::new(3.0, -4.0).widen()]), 5.0);
/// ```
pub trait Wide: Accum<Wide = Self, Part = f64> {
    /// Real and imaginary part.
    fn into_parts(self) -> [f64; 2];
    /// The number of these parts, or the first one where it is real.
    fn of_parts(parts: [f64; 2]) -> Self;
}

macro_rules! values {
    ($(
        $(#[$doc:meta])*
        $dtype:ident $t:ident, sums $accum:ident, wide $wide:ident,
        |$v:ident| $to_accum:expr, $widen:expr,
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
            /// Every value type: real ones, then complex ones, narrowest first.
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
                type Wide = $wide;
                const DTYPE: Dtype = Dtype::$dtype;

                #[inline(always)]
                fn to_accum(self) -> $accum {
                    let $v = self;
                    $to_accum
                }

                #[inline(always)]
                fn widen(self) -> $wide {
                    let $v = self;
                    $widen
                }

                #[inline(always)]
                fn from_wide($w: $wide) -> Self {
                    $from
                }
            }
        )*
    };
}

// A new type is a row here, one in `for_each_value!` and one in `by_dtype!`.
values! {
    /// IEEE 754 binary16.
    F16 f16, sums f32, wide f64, |v| v.to_f32(), v.to_f64(), |w| f16::from_f32(to_odd(w));
    /// bfloat16: the upper half of a binary32.
    Bf16 bf16, sums f32, wide f64, |v| v.to_f32(), v.to_f64(), |w| bf16::from_f32(to_odd(w));
    /// IEEE 754 binary32.
    F32 f32, sums f32, wide f64, |v| v, f64::from(v), |w| w as f32;
    /// IEEE 754 binary64.
    F64 f64, sums f64, wide f64, |v| v, v, |w| w;
    /// Two binary32: real and imaginary part.
    C32 c32, sums c32, wide c64, |v| v, c64::new(v.re.into(), v.im.into()), |w| c32::new(w.re as f32, w.im as f32);
    /// Two binary64: real and imaginary part.
    C64 c64, sums c64, wide c64, |v| v, v, |w| w;
}

impl Dtype {
    /// Whether values have an imaginary part.
    ///
    /// ```
    /// use spmv_core::Dtype;
    /// assert!(Dtype::C32.is_complex() && !Dtype::F64.is_complex());
    /// ```
    pub const fn is_complex(self) -> bool {
        matches!(self, Dtype::C32 | Dtype::C64)
    }

    /// The type of the parts of sums.
    ///
    /// ```
    /// use spmv_core::Dtype;
    /// assert_eq!([Dtype::Bf16, Dtype::C64].map(Dtype::part), [Dtype::F32, Dtype::F64]);
    /// ```
    pub const fn part(self) -> Dtype {
        match self.accum() {
            Dtype::F64 | Dtype::C64 => Dtype::F64,
            _ => Dtype::F32,
        }
    }
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

macro_rules! reals {
    ($($t:ident, $c:ident, unit $unit:literal;)*) => {$(
        impl Real for $t {}

        impl Accum for $t {
            type Part = $t;
            const UNIT_ROUNDOFF: f64 = $unit;

            #[inline(always)]
            fn re(self) -> $t {
                self
            }

            #[inline(always)]
            fn from_re(re: $t) -> Self {
                re
            }

            #[inline(always)]
            fn modulus(self) -> $t {
                self.abs()
            }

            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn times_plus(self, by: Self, plus: Self) -> Self {
                self.mul_add(by, plus)
            }
        }

        impl Accum for $c {
            type Part = $t;
            const UNIT_ROUNDOFF: f64 = $unit;

            #[inline(always)]
            fn re(self) -> $t {
                self.re
            }

            #[inline(always)]
            fn from_re(re: $t) -> Self {
                Self::new(re, 0.0)
            }

            #[inline(always)]
            fn modulus(self) -> $t {
                self.norm()
            }

            #[inline(always)]
            fn root(self) -> Self {
                // As kernels do. Polar coordinates would leave the half-plane by rounding.
                let greater = ((self.norm() + self.re.abs()) / 2.0).sqrt();
                let lesser = if greater > 0.0 { self.im.abs() / greater / 2.0 } else { 0.0 };
                let root = if self.re < 0.0 { [lesser, greater] } else { [greater, lesser] };
                Self::new(root[0], root[1].copysign(self.im))
            }

            #[inline(always)]
            fn times_plus(self, by: Self, plus: Self) -> Self {
                let re = self.re.mul_add(by.re, self.im.mul_add(-by.im, plus.re));
                Self::new(re, self.re.mul_add(by.im, self.im.mul_add(by.re, plus.im)))
            }
        }
    )*};
}

reals! {
    f32, c32, unit 5.960_464_477_539_063e-8; // 2^-24
    f64, c64, unit 1.110_223_024_625_156_5e-16; // 2^-53
}

impl Wide for f64 {
    #[inline(always)]
    fn into_parts(self) -> [f64; 2] {
        [self, 0.0]
    }

    #[inline(always)]
    fn of_parts([re, _]: [f64; 2]) -> Self {
        re
    }
}

impl Wide for c64 {
    #[inline(always)]
    fn into_parts(self) -> [f64; 2] {
        [self.re, self.im]
    }

    #[inline(always)]
    fn of_parts([re, im]: [f64; 2]) -> Self {
        Self::new(re, im)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bit_values_are_rounded_once() {
        // A little above the middle of two values: one rounding goes up, two go down.
        let (f, b) = (2f64.powi(-11), 2f64.powi(-8));
        let tiny = 2f64.powi(-40);
        assert_eq!(<f16 as Value>::from_f64(1.0 + f + tiny).widen(), 1.0 + 2.0 * f);
        assert_eq!(<f16 as Value>::from_f64(1.0 + f - tiny).widen(), 1.0);
        assert_eq!(<f16 as Value>::from_f64(1.0 + f).widen(), 1.0, "a tie goes to even");
        assert_eq!(<bf16 as Value>::from_f64(-1.0 - b - tiny).widen(), -1.0 - 2.0 * b);
        assert_eq!(<bf16 as Value>::from_f64(-1.0 - b).widen(), -1.0);
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
            assert!(f.is_nan() || <f16 as Value>::from_f64(f.widen()) == f);
            assert!(b.is_nan() || <bf16 as Value>::from_f64(b.widen()) == b);
        }
    }
}
