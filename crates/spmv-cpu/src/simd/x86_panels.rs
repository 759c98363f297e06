//! Sums of a panel's columns on x86-64, of real numbers: vectors of four, and lanes that stay as they are.

use std::arch::x86_64::*;

use super::loops::Sums;
use super::x86::{Avx2, Avx512, methods};

/// `Sums` of real numbers, of which `either` and `either_four` choose by `$mask`.
macro_rules! reals {
    ($isa:ident, $a:ty, $four:ty, $read:ident, $write:ident, $splat:ident, $add:ident, $mul_add:ident,
     |$is:ident, $new:ident, $old:ident| $either:expr, $either_four:expr) => {
        impl Sums<$a> for $isa {
            type Four = $four;

            methods! {
                fn either($is: bool, $new: Self::V, $old: Self::V) -> Self::V { $either }
                fn splat_four(a: $a) -> $four { $splat(a) }
                fn read_four(from: *const $a) -> $four { $read(from) }
                fn write_four(to: *mut $a, v: $four) -> () { $write(to, v) }
                fn add_four(a: $four, b: $four) -> $four { $add(a, b) }
                fn mul_add_four(a: $four, b: $four, c: $four) -> $four { $mul_add(a, b, c) }
                fn either_four($is: bool, $new: $four, $old: $four) -> $four { $either_four }
            }
        }
    };
}

macro_rules! f32s {
    ($isa:ident, |$is:ident, $new:ident, $old:ident| $either:expr, $either_four:expr) => {
        reals! {
            $isa, f32, __m128, _mm_loadu_ps, _mm_storeu_ps, _mm_set1_ps, _mm_add_ps, _mm_fmadd_ps,
            |$is, $new, $old| $either, $either_four
        }
    };
}

macro_rules! f64s {
    ($isa:ident, |$is:ident, $new:ident, $old:ident| $either:expr, $either_four:expr) => {
        reals! {
            $isa, f64, __m256d, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_add_pd, _mm256_fmadd_pd,
            |$is, $new, $old| $either, $either_four
        }
    };
}

f32s! {
    Avx2, |is, new, old|
    _mm256_blendv_ps(old, new, _mm256_castsi256_ps(_mm256_set1_epi32(-i32::from(is)))),
    _mm_blendv_ps(old, new, _mm_castsi128_ps(_mm_set1_epi32(-i32::from(is))))
}
f64s! {
    Avx2, |is, new, old|
    [
        <Self as Sums<f64>>::either_four(is, new[0], old[0]),
        <Self as Sums<f64>>::either_four(is, new[1], old[1]),
    ],
    _mm256_blendv_pd(old, new, _mm256_castsi256_pd(_mm256_set1_epi64x(-i64::from(is))))
}
f32s! {
    Avx512, |is, new, old|
    _mm256_mask_blend_ps(mask(is), old, new), _mm_mask_blend_ps(mask(is), old, new)
}
f64s! {
    Avx512, |is, new, old|
    _mm512_mask_blend_pd(mask(is), old, new), _mm256_mask_blend_pd(mask(is), old, new)
}

/// All lanes or none.
#[inline(always)]
fn mask(is: bool) -> u8 {
    u8::from(is).wrapping_neg()
}
