//! Sums of products over CSR entries with SIMD: the inner loops of every CPU kernel.
//!
//! Everything works on eight lanes. A row of many entries is summed in eight lanes by itself. Short rows
//! would spend their time on loop ends, so the products of a whole block of them go to a buffer in L1,
//! from which eight rows at a time are read under masks and summed by one transpose. No step branches on
//! the length of a single short row.
//!
//! x is read by scalar loads put together in a vector: on Zen 5 that beats the gather instructions by 20 to
//! 40 percent, and on Intel those are slow where the gather data sampling mitigation is on.

mod arrays;
mod isa;
mod loops;
mod operand;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use isa::Isa;
pub(crate) use operand::{Columns, Operand, PaddedColumns, SimdValue, Slots};

use std::ops::Range;

use arrays::Arrays;
use loops::{dot, rows, slots};
use spmv_core::{bf16, f16};

/// Calls `$body` in the widest way that `$isa` allows and the CPU has.
macro_rules! dispatch {
    ($isa:ident, $t:ty, $wide:ident, $body:ident, $($arg:expr),*) => {
        match $isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `runs_here` found the features.
            Isa::Avx512 if $isa.runs_here() => unsafe { x86::$wide::$body::<$t>($($arg),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `runs_here` found the features.
            Isa::Avx2 if $isa.runs_here() => unsafe { x86::avx2::$body::<$t>($($arg),*) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: arrays need no features.
            Isa::Neon => unsafe { $body::<$t, Arrays<true>>($($arg),*) },
            // SAFETY: arrays need no features.
            _ => unsafe { $body::<$t, Arrays<false>>($($arg),*) },
        }
    };
}

macro_rules! values {
    ($($t:ty, $accum:ty, $wide:ident;)*) => {$(
        impl SimdValue for $t {
            fn dot(isa: Isa, a: &Operand<'_, Self>, range: Range<usize>) -> $accum {
                dispatch!(isa, $t, $wide, dot, a, range)
            }

            fn rows(isa: Isa, a: &Operand<'_, Self>, row_ptr: &[u32], alpha: $accum, beta: $accum, y: &mut [$accum]) {
                dispatch!(isa, $t, $wide, rows, a, row_ptr, alpha, beta, y)
            }

            fn slots(isa: Isa, a: &Slots<'_, Self>, first: usize, stride: usize, n: usize, sums: &mut [$accum]) {
                dispatch!(isa, $t, $wide, slots, a, first, stride, n, sums)
            }
        }
    )*};
}

// f32 sums gain nothing from 512 bits: the loads of x set the pace.
values! {
    f16, f32, avx2;
    bf16, f32, avx2;
    f32, f32, avx2;
    f64, f64, avx512;
}
