//! Types of the numbers that a kernel works on.

use std::fmt::Debug;
use std::marker::PhantomData;

use spmv_core::{Accum, Value, for_each_mixed};

/// Types of the matrix's values, of `x`, and of sums. A [`Value`] stands for a matrix and an `x` of that type.
pub(crate) trait Numbers: Copy + Debug + Send + Sync + 'static {
    /// Of the matrix's values.
    type Val: Value;
    /// Of `x`.
    type Vector: Value;
    /// Of sums and `y`.
    type Accum: Accum;
    /// Whether values have another type than `x`.
    const IS_MIXED: bool;

    /// A value as a factor of sums.
    fn of_val(val: Self::Val) -> Self::Accum;
    /// An element of `x` as a factor of sums.
    fn of_x(x: Self::Vector) -> Self::Accum;
}

impl<T: Value> Numbers for T {
    type Val = T;
    type Vector = T;
    type Accum = T::Accum;
    const IS_MIXED: bool = false;

    #[inline(always)]
    fn of_val(val: T) -> T::Accum {
        val.to_accum()
    }

    #[inline(always)]
    fn of_x(x: T) -> T::Accum {
        x.to_accum()
    }
}

/// Values of type `V`, with `x` and sums of the wider type `X`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixed<V, X>(PhantomData<(V, X)>);

macro_rules! mixed {
    ($($value:ident $v:ty, $vector:ident $x:ty;)*) => {$(
        impl Numbers for Mixed<$v, $x> {
            type Val = $v;
            type Vector = $x;
            type Accum = $x;
            const IS_MIXED: bool = true;

            #[inline(always)]
            fn of_val(val: $v) -> $x {
                val.to_accum().into()
            }

            #[inline(always)]
            fn of_x(x: $x) -> $x {
                x
            }
        }
    )*};
}

for_each_mixed!(mixed);

/// Calls a check for all of them.
#[cfg(test)]
macro_rules! for_all_numbers {
    ($check:ident) => {
        $check::<f64>();
        $check::<f32>();
        $check::<spmv_core::f16>();
        $check::<spmv_core::bf16>();
        $check::<spmv_core::c32>();
        $check::<spmv_core::c64>();
        $check::<crate::numbers::Mixed<spmv_core::f16, f32>>();
        $check::<crate::numbers::Mixed<spmv_core::bf16, f32>>();
        $check::<crate::numbers::Mixed<spmv_core::f16, f64>>();
        $check::<crate::numbers::Mixed<spmv_core::bf16, f64>>();
        $check::<crate::numbers::Mixed<f32, f64>>();
    };
}
#[cfg(test)]
pub(crate) use for_all_numbers;
