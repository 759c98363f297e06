//! Gathers of x86-64, for slices.

use std::arch::x86_64::*;
use std::ops::Range;

use spmv_core::Runs;

use super::loops::Source;
use super::operand::{SimdValue, Slices};
use super::slices::WIDE;
use super::wide::{Gather, wide};
use super::x86::{Avx2, Avx512, methods};
use crate::numbers::Mixed;

/// Sums of slices with 512 bits.
///
/// # Safety
///
/// The CPU has the features; else as for [`wide`].
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,avx512f,avx512vl")]
pub(super) unsafe fn avx512<T: SimdValue>(a: &Slices<'_, T>, range: Range<usize>, sums: &mut [T::Accum])
where
    Avx512: Gather<T>,
{
    // SAFETY: the features are this function's; the rest by contract.
    unsafe { each::<T, Avx512>(a, range, sums) }
}

/// Sums of slices with 256 bits.
///
/// # Safety
///
/// The CPU has the features; else as for [`wide`].
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt")]
pub(super) unsafe fn avx2<T: SimdValue>(a: &Slices<'_, T>, range: Range<usize>, sums: &mut [T::Accum])
where
    Avx2: Gather<T>,
{
    // SAFETY: the features are this function's; the rest by contract.
    unsafe { each::<T, Avx2>(a, range, sums) }
}

/// Sums of slices.
///
/// # Safety
///
/// As for [`wide`].
#[inline(always)]
unsafe fn each<T: SimdValue, G: Gather<T>>(a: &Slices<'_, T>, range: Range<usize>, sums: &mut [T::Accum]) {
    for (slice, sums) in range.zip(sums.as_chunks_mut::<WIDE>().0) {
        // SAFETY: by contract.
        *sums = unsafe { wide::<T, G>(&a.slice(slice)) };
    }
}

/// Words of eight lanes: those of `f64` in 512 bits and of `f32` in 256.
macro_rules! eight_words {
    () => {
        methods! {
            fn splat_word(word: u32) -> __m256i { _mm256_set1_epi32(word as i32) }
            fn bits(from: *const u32, shift: u32, kept: __m256i) -> __m256i {
                let words = _mm256_loadu_si256(from.cast());
                _mm256_and_si256(_mm256_srl_epi32(words, _mm_cvtsi32_si128(shift as i32)), kept)
            }
            fn add(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
        }
    };
}

methods! {
    /* a mask of four lanes of 64 bits, from one of 32 */
    fn four_lanes(mask: __m128i) -> __m256d { _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask)) }
}

/// Masks of a bit for each lane.
macro_rules! masks_of_bits {
    () => {
        #[inline(always)]
        unsafe fn all() -> Self::Mask {
            Self::Mask::MAX
        }
        #[inline(always)]
        unsafe fn are_same(a: Self::Mask, b: Self::Mask) -> bool {
            a == b
        }
    };
}

methods! {
    /* four elements from each of two addresses on */
    fn two_fours(a: *const f64, b: *const f64) -> __m512d {
        _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(_mm256_loadu_pd(a)), _mm256_loadu_pd(b))
    }
}

impl Gather<f32> for Avx512 {
    const N: usize = 16;
    const PAIRS: bool = true;
    type Sums = __m512;
    type Words = __m512i;
    type Mask = __mmask16;

    masks_of_bits! {}

    methods! {
        fn zero() -> __m512 { _mm512_setzero_ps() }
        fn store(to: *mut f32, sums: __m512) -> () { _mm512_storeu_ps(to, sums) }
        fn splat_word(word: u32) -> __m512i { _mm512_set1_epi32(word as i32) }
        fn bits(from: *const u32, shift: u32, kept: __m512i) -> __m512i {
            let words = _mm512_loadu_si512(from.cast());
            _mm512_and_si512(_mm512_srl_epi32(words, _mm_cvtsi32_si128(shift as i32)), kept)
        }
        fn add(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        fn differ(a: __m512i, b: __m512i) -> __mmask16 { _mm512_cmpneq_epi32_mask(a, b) }
        fn at_most(mask: __mmask16, a: __m512i, b: __m512i) -> __mmask16 { _mm512_mask_cmple_epu32_mask(mask, a, b) }
        fn load(x: *const f32) -> __m512 { _mm512_loadu_ps(x) }
        fn gather(mask: __mmask16, x: *const f32, cols: __m512i) -> __m512 {
            _mm512_mask_i32gather_ps::<4>(_mm512_setzero_ps(), mask, cols, x)
        }
        fn gather_pairs(mask: __mmask16, x: *const f32, cols: __m512i) -> [__m512; 2] {
            let (low, high) = (_mm512_castsi512_si256(cols), _mm512_extracti64x4_epi64::<1>(cols));
            let zero = _mm512_setzero_pd();
            let low = _mm512_castpd_ps(_mm512_mask_i32gather_pd::<4>(zero, mask as u8, low, x.cast()));
            let high = _mm512_castpd_ps(_mm512_mask_i32gather_pd::<4>(zero, (mask >> 8) as u8, high, x.cast()));
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            [_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)]
        }
        fn mul_add(mask: __mmask16, vals: *const f32, x: __m512, sums: __m512) -> __m512 {
            _mm512_mask3_fmadd_ps(_mm512_loadu_ps(vals), x, sums, mask)
        }
    }
}

impl Gather<f32> for Avx2 {
    const N: usize = 8;
    const PAIRS: bool = true;
    type Sums = __m256;
    type Words = __m256i;
    type Mask = __m256i;

    eight_words! {}

    methods! {
        fn zero() -> __m256 { _mm256_setzero_ps() }
        fn store(to: *mut f32, sums: __m256) -> () { _mm256_storeu_ps(to, sums) }
        fn differ(a: __m256i, b: __m256i) -> __m256i {
            _mm256_andnot_si256(_mm256_cmpeq_epi32(a, b), _mm256_set1_epi32(-1))
        }
        fn at_most(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
            _mm256_and_si256(mask, _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), b))
        }
        fn all() -> __m256i { _mm256_set1_epi32(-1) }
        fn are_same(a: __m256i, b: __m256i) -> bool { _mm256_movemask_epi8(_mm256_cmpeq_epi32(a, b)) == -1 }
        fn load(x: *const f32) -> __m256 { _mm256_loadu_ps(x) }
        fn gather(mask: __m256i, x: *const f32, cols: __m256i) -> __m256 {
            _mm256_mask_i32gather_ps::<4>(_mm256_setzero_ps(), x, cols, _mm256_castsi256_ps(mask))
        }
        fn gather_pairs(mask: __m256i, x: *const f32, cols: __m256i) -> [__m256; 2] {
            let (low, high) = (_mm256_castsi256_si128(cols), _mm256_extracti128_si256::<1>(cols));
            let in_low = four_lanes(_mm256_castsi256_si128(mask));
            let in_high = four_lanes(_mm256_extracti128_si256::<1>(mask));
            let zero = _mm256_setzero_pd();
            let low = _mm256_castpd_ps(_mm256_mask_i32gather_pd::<4>(zero, x.cast(), low, in_low));
            let high = _mm256_castpd_ps(_mm256_mask_i32gather_pd::<4>(zero, x.cast(), high, in_high));
            let (even, odd) = (_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xdd>(low, high));
            // Halves of both stand in turn.
            let in_order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
            [_mm256_permutevar8x32_ps(even, in_order), _mm256_permutevar8x32_ps(odd, in_order)]
        }
        fn mul_add(mask: __m256i, vals: *const f32, x: __m256, sums: __m256) -> __m256 {
            _mm256_blendv_ps(sums, _mm256_fmadd_ps(_mm256_loadu_ps(vals), x, sums), _mm256_castsi256_ps(mask))
        }
    }
}

/// Four values as factors of sums in `f64`.
trait Four {
    /// # Safety
    /// There are four, and the CPU has AVX2.
    unsafe fn four(from: *const Self) -> __m256d;
}

impl Four for f64 {
    methods! {
        fn four(from: *const f64) -> __m256d { _mm256_loadu_pd(from) }
    }
}

impl Four for f32 {
    methods! {
        fn four(from: *const f32) -> __m256d { _mm256_cvtps_pd(_mm_loadu_ps(from)) }
    }
}

/// Sums in `f64`.
macro_rules! gathers_of_f64 {
    ($($numbers:ty, $val:ty;)*) => {$(
        impl Gather<$numbers> for Avx512 {
            const N: usize = 8;
            const REACH: [Option<usize>; Runs::MOST + 1] = [None, None, None, Some(4), Some(4)];
            type Sums = __m512d;
            type Words = __m256i;
            type Mask = __mmask8;

            masks_of_bits! {}

            eight_words! {}

            #[inline(always)]
            unsafe fn load_runs(at: [*const f64; 8]) -> [__m512d; Runs::MOST] {
                // SAFETY: as many elements are there, and the CPU has the features, by contract.
                unsafe {
                    let (a, b) = (two_fours(at[0], at[2]), two_fours(at[1], at[3]));
                    let (c, d) = (two_fours(at[4], at[6]), two_fours(at[5], at[7]));
                    let (low_ab, low_cd) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
                    let (high_ab, high_cd) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
                    [
                        _mm512_shuffle_f64x2::<0x88>(low_ab, low_cd),
                        _mm512_shuffle_f64x2::<0x88>(high_ab, high_cd),
                        _mm512_shuffle_f64x2::<0xdd>(low_ab, low_cd),
                        _mm512_shuffle_f64x2::<0xdd>(high_ab, high_cd),
                    ]
                }
            }

            methods! {
                fn zero() -> __m512d { _mm512_setzero_pd() }
                fn store(to: *mut f64, sums: __m512d) -> () { _mm512_storeu_pd(to, sums) }
                fn differ(a: __m256i, b: __m256i) -> __mmask8 { _mm256_cmpneq_epi32_mask(a, b) }
                fn at_most(mask: __mmask8, a: __m256i, b: __m256i) -> __mmask8 { _mm256_mask_cmple_epu32_mask(mask, a, b) }
                fn load(x: *const f64) -> __m512d { _mm512_loadu_pd(x) }
                fn gather(mask: __mmask8, x: *const f64, cols: __m256i) -> __m512d {
                    _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, cols, x)
                }
                fn mul_add(mask: __mmask8, vals: *const $val, x: __m512d, sums: __m512d) -> __m512d {
                    _mm512_mask3_fmadd_pd(<Self as Source<$val, f64>>::load(vals), x, sums, mask)
                }
            }
        }

        impl Gather<$numbers> for Avx2 {
            const N: usize = 4;
            type Sums = __m256d;
            type Words = __m128i;
            type Mask = __m128i;

            methods! {
                fn zero() -> __m256d { _mm256_setzero_pd() }
                fn store(to: *mut f64, sums: __m256d) -> () { _mm256_storeu_pd(to, sums) }
                fn splat_word(word: u32) -> __m128i { _mm_set1_epi32(word as i32) }
                fn bits(from: *const u32, shift: u32, kept: __m128i) -> __m128i {
                    let words = _mm_loadu_si128(from.cast());
                    _mm_and_si128(_mm_srl_epi32(words, _mm_cvtsi32_si128(shift as i32)), kept)
                }
                fn add(a: __m128i, b: __m128i) -> __m128i { _mm_add_epi32(a, b) }
                fn differ(a: __m128i, b: __m128i) -> __m128i { _mm_andnot_si128(_mm_cmpeq_epi32(a, b), _mm_set1_epi32(-1)) }
                fn at_most(mask: __m128i, a: __m128i, b: __m128i) -> __m128i {
                    _mm_and_si128(mask, _mm_cmpeq_epi32(_mm_max_epu32(a, b), b))
                }
                fn all() -> __m128i { _mm_set1_epi32(-1) }
                fn are_same(a: __m128i, b: __m128i) -> bool { _mm_movemask_epi8(_mm_cmpeq_epi32(a, b)) == 0xffff }
                fn load(x: *const f64) -> __m256d { _mm256_loadu_pd(x) }
                fn gather(mask: __m128i, x: *const f64, cols: __m128i) -> __m256d {
                    let mask = four_lanes(mask);
                    _mm256_mask_i32gather_pd::<8>(_mm256_setzero_pd(), x, cols, mask)
                }
                fn mul_add(mask: __m128i, vals: *const $val, x: __m256d, sums: __m256d) -> __m256d {
                    let mask = four_lanes(mask);
                    _mm256_blendv_pd(sums, _mm256_fmadd_pd(<$val as Four>::four(vals), x, sums), mask)
                }
            }
        }
    )*};
}

gathers_of_f64! {
    f64, f64;
    Mixed<f32, f64>, f32;
}
