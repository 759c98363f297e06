//! The types of values: which vectors their sums take, and how x86-64 loads those that are narrower than their sums.

use std::ops::Range;

use spmv_core::{bf16, c32, c64, f16};

use super::arrays::Arrays;
use super::diagonals::diagonals;
use super::isa::Isa;
use super::loops::{dot, rows, slots};
use super::mirrored::mirrored;
use super::operand::{
    Entries, LANES, Onto, Operand, PanelRows, Piece, RowRange, RunRows, SimdValue, Slices, Slots, Way,
};
use super::panels::panel;
use super::runs::runs;
use super::slices::eights;
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::numbers::Mixed;

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
    ($($t:ty, $accum:ty, $wide:ident, $gathers:ident;)*) => {$(
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

            fn diagonals(isa: Isa, pieces: &[Piece<'_, Self>], sums: &mut [$accum], onto: Onto) {
                dispatch!(isa, $t, $wide, diagonals, pieces, sums, onto)
            }

            fn runs(isa: Isa, a: &RunRows<'_, Self>, alpha: $accum, beta: $accum, y: &mut [$accum]) {
                dispatch!(isa, $t, $wide, runs, a, alpha, beta, y)
            }

            fn mirrored(isa: Isa, a: &RunRows<'_, Self>, range: RowRange, sums: &mut [$accum]) {
                dispatch!(isa, $t, $wide, mirrored, a, range, sums)
            }

            fn panel(
                isa: Isa,
                a: &PanelRows<'_, Self>,
                row_ptr: &[u32],
                scaling: ($accum, $accum),
                y: &mut [$accum],
                at: (usize, usize),
            ) {
                dispatch!(isa, $t, $wide, panel, a, row_ptr, scaling, y, at)
            }

            unsafe fn eights(
                isa: Isa,
                a: &Slices<'_, Self>,
                way: Way,
                slices: &[Entries<Self>],
                sums: &mut [[$accum; LANES]],
            ) {
                dispatch!(isa, $t, $wide, eights, a, way, slices, sums)
            }

            fn gathered(isa: Isa, a: &Slices<'_, Self>, range: Range<usize>, sums: &mut [$accum]) -> bool {
                $gathers(isa, a, range, sums)
            }
        }
    )*};
}

values! {
    f16, f32, avx2, never;
    bf16, f32, avx2, never;
    f32, f32, avx512, gathered;
    f64, f64, avx512, gathered;
    c32, c32, avx512, never;
    c64, c64, avx512, never;
    Mixed<f16, f32>, f32, avx2, never;
    Mixed<bf16, f32>, f32, avx2, never;
    Mixed<f16, f64>, f64, avx2, never;
    Mixed<bf16, f64>, f64, avx2, never;
    Mixed<f32, f64>, f64, avx512, gathered;
}

/// Of types that nothing gathers.
fn never<T: SimdValue>(_: Isa, _: &Slices<'_, T>, _: Range<usize>, _: &mut [T::Accum]) -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
use never as gathered;

/// Of types that x86-64 gathers.
#[cfg(target_arch = "x86_64")]
fn gathered<T: SimdValue>(isa: Isa, a: &Slices<'_, T>, range: Range<usize>, sums: &mut [T::Accum]) -> bool
where
    x86::Avx512: super::wide::Gather<T>,
    x86::Avx2: super::wide::Gather<T>,
{
    // Indices of gathers have a sign.
    let fits = i32::try_from(a.x.len()).is_ok() && (1..=4).contains(&a.width);
    match isa {
        // SAFETY: `runs_here` found the features, and x and runs are no longer than may be.
        Isa::Avx512 if fits && isa.runs_here() => unsafe { super::x86_gathers::avx512(a, range, sums) },
        // SAFETY: as above.
        Isa::Avx2 if fits && isa.runs_here() => unsafe { super::x86_gathers::avx2(a, range, sums) },
        _ => return false,
    }
    true
}

/// Loads of values that are narrower than their sums; the others are `Lanes` already.
#[cfg(target_arch = "x86_64")]
mod widening {
    use std::arch::x86_64::*;

    use spmv_core::{bf16, f16};

    use super::super::loops::Source;
    use super::super::x86::{Avx2, elements, methods};

    methods! {
        /* zero but for the first n of eight: AVX2 has no masks for 16 bits */
        fn first_halves(from: *const i16, n: usize) -> __m128i {
            let mut all = [0; 8];
            for (i, to) in all.iter_mut().enumerate().take(n) {
                *to = *from.add(i);
            }
            _mm_loadu_si128(all.as_ptr().cast())
        }
    }

    impl Source<f16, f32> for Avx2 {
        methods! {
            fn load(from: *const f16) -> __m256 { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
            fn load_first(from: *const f16, n: usize) -> __m256 { _mm256_cvtph_ps(first_halves(from.cast(), n)) }
            fn load_halves(low: *const f16, high: *const f16) -> __m256 {
                _mm256_cvtph_ps(_mm_unpacklo_epi64(_mm_loadl_epi64(low.cast()), _mm_loadl_epi64(high.cast())))
            }
            fn gather(x: *const f16, cols: *const u32) -> __m256 {
                _mm256_cvtph_ps(elements!(_mm_setr_epi16, x, cols, bits))
            }
        }
    }

    methods! {
        fn widen_bf16(v: __m128i) -> __m256 {
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(v)))
        }
    }

    impl Source<bf16, f32> for Avx2 {
        methods! {
            fn load(from: *const bf16) -> __m256 { widen_bf16(_mm_loadu_si128(from.cast())) }
            fn load_first(from: *const bf16, n: usize) -> __m256 { widen_bf16(first_halves(from.cast(), n)) }
            fn load_halves(low: *const bf16, high: *const bf16) -> __m256 {
                widen_bf16(_mm_unpacklo_epi64(_mm_loadl_epi64(low.cast()), _mm_loadl_epi64(high.cast())))
            }
            fn gather(x: *const bf16, cols: *const u32) -> __m256 {
                widen_bf16(elements!(_mm_setr_epi16, x, cols, bits))
            }
        }
    }
}
