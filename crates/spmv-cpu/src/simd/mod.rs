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
mod loops;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use arrays::Arrays;
use loops::{dot, rows};
use spmv_core::{Value, bf16, f16};

/// Instruction set of the sums, found at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust; what the compiler makes of arrays of eight.
    Scalar,
    /// 128-bit vectors of aarch64.
    Neon,
    /// 256-bit vectors of x86-64, with FMA and F16C.
    Avx2,
    /// As `Avx2`, with 512-bit vectors for f64.
    Avx512,
}

impl Isa {
    /// The best set this CPU runs.
    pub fn detect() -> Self {
        *Self::available().last().expect("Scalar runs everywhere")
    }

    /// Every set this CPU runs, `Scalar` first and the best last.
    pub fn available() -> Vec<Isa> {
        [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.runs_here()).collect()
    }

    /// Name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether this CPU has every feature that the set's functions are compiled with. The standard library
    /// caches the answer, so that this is a load and a test.
    fn runs_here(self) -> bool {
        match self {
            Isa::Scalar => true,
            Isa::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.runs_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => false,
        }
    }
}

/// Entries of a matrix together with the x they gather from; every column index is known to be less
/// than `x.len()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'a, T> {
    cols: &'a [u32],
    vals: &'a [T],
    x: &'a [T],
}

impl<'a, T> Operand<'a, T> {
    /// Joins the arrays. Panics unless there are as many columns as values.
    ///
    /// # Safety
    ///
    /// Every element of `cols` is less than `x.len()`.
    pub(crate) unsafe fn new_unchecked(cols: &'a [u32], vals: &'a [T], x: &'a [T]) -> Self {
        assert_eq!(cols.len(), vals.len(), "one column per value");
        Self { cols, vals, x }
    }

    /// The product of entry `e` with its `x`: what the readable kernels use.
    pub(crate) fn product(&self, e: usize) -> T::Accum
    where
        T: Value,
    {
        self.vals[e].to_accum() * self.x[self.cols[e] as usize].to_accum()
    }
}
/// A type of stored values, with its loops.
pub(crate) trait SimdValue: Value {
    /// Sum of products over entries `range`: one row or a piece of one.
    ///
    /// Panics unless `range` lies within the operand's entries. An `isa` this CPU lacks counts as `Scalar`.
    fn dot(isa: Isa, a: &Operand<'_, Self>, range: Range<usize>) -> Self::Accum;

    /// Whole rows: `y[i] = alpha * sum(row_ptr[i]..row_ptr[i + 1]) + beta * y[i]`. A zero `beta` leaves
    /// the old `y` unread.
    ///
    /// Panics unless `row_ptr` has one element more than `y`, never decreases and stays within the
    /// operand's entries. That is checked eight rows at a time before they are read, so that a panic may
    /// come after earlier rows were written. An `isa` this CPU lacks counts as `Scalar`.
    fn rows(
        isa: Isa,
        a: &Operand<'_, Self>,
        row_ptr: &[u32],
        alpha: Self::Accum,
        beta: Self::Accum,
        y: &mut [Self::Accum],
    );
}
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
