//! Lanes of complex sums on x86-64: a vector of real parts and one of imaginary parts, so that products need no shuffles.

// Loops over vectors index several arrays at once.
#![allow(clippy::needless_range_loop)]

use std::arch::x86_64::*;

use spmv_core::{c32, c64};

use super::loops::{Lanes, Source, Sources, Sums};
use super::x86::{Avx2, Avx512, methods};

/// Vectors of eight parts, and how they come from pairs in memory. Methods are unsafe as those of [`Lanes`] are.
trait Parts<P>: Lanes<P> {
    /// Real and imaginary parts of eight pairs that follow each other.
    unsafe fn read_pairs(from: *const P) -> [Self::V; 2];
    unsafe fn write_pairs(to: *mut P, v: [Self::V; 2]);
    /// Of four pairs from `low` and four from `high`.
    unsafe fn read_halves(low: *const P, high: *const P) -> [Self::V; 2];
    /// Of the pairs that eight columns name.
    unsafe fn gather_pairs(x: *const [P; 2], cols: *const u32) -> [Self::V; 2];
    /// `c - a * b`.
    unsafe fn sub_product(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `then` in lanes where one of two numbers is not zero, else `other`.
    unsafe fn where_any(numbers: [Self::V; 2], then: Self::V, other: Self::V) -> Self::V;
    /// Zero but for the first `n` lanes, all of them if `n` is more than eight.
    unsafe fn first(v: Self::V, n: usize) -> Self::V;
}

/// An element of `x`, which need not be aligned as its bits are.
macro_rules! pair {
    ($x:ident, $cols:ident, $i:literal, $as:ty) => {
        $x.add(*$cols.add($i) as usize).cast::<$as>().read_unaligned()
    };
}

macro_rules! parts_of_f32 {
    ($($isa:ident)*) => {$(
        impl Parts<f32> for $isa {
            methods! {
                fn read_pairs(from: *const f32) -> [__m256; 2] {
                    let (low, high) = (_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8)));
                    split_ps(_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high))
                }
                fn write_pairs(to: *mut f32, v: [__m256; 2]) -> () {
                    let (even, odd) = (_mm256_unpacklo_ps(v[0], v[1]), _mm256_unpackhi_ps(v[0], v[1]));
                    _mm256_storeu_ps(to, _mm256_permute2f128_ps::<0x20>(even, odd));
                    _mm256_storeu_ps(to.add(8), _mm256_permute2f128_ps::<0x31>(even, odd))
                }
                fn read_halves(low: *const f32, high: *const f32) -> [__m256; 2] {
                    let (low, high) = (_mm256_loadu_ps(low), _mm256_loadu_ps(high));
                    split_ps(_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high))
                }
                fn gather_pairs(x: *const [f32; 2], cols: *const u32) -> [__m256; 2] {
                    let even = _mm256_setr_pd(
                        pair!(x, cols, 0, f64), pair!(x, cols, 1, f64), pair!(x, cols, 4, f64), pair!(x, cols, 5, f64)
                    );
                    let odd = _mm256_setr_pd(
                        pair!(x, cols, 2, f64), pair!(x, cols, 3, f64), pair!(x, cols, 6, f64), pair!(x, cols, 7, f64)
                    );
                    split_ps(_mm256_castpd_ps(even), _mm256_castpd_ps(odd))
                }
                fn sub_product(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fnmadd_ps(a, b, c) }
                fn where_any(numbers: [__m256; 2], then: __m256, other: __m256) -> __m256 {
                    let zero = _mm256_setzero_ps();
                    let re = _mm256_cmp_ps::<_CMP_EQ_OQ>(numbers[0], zero);
                    let im = _mm256_cmp_ps::<_CMP_EQ_OQ>(numbers[1], zero);
                    _mm256_blendv_ps(then, other, _mm256_and_ps(re, im))
                }
                fn first(v: __m256, n: usize) -> __m256 {
                    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                    let kept = _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lanes);
                    _mm256_and_ps(v, _mm256_castsi256_ps(kept))
                }
            }
        }
    )*};
}

parts_of_f32!(Avx2 Avx512);

/// Parts of the pairs 0, 1, 4, 5 and 2, 3, 6, 7.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn split_ps(even: __m256, odd: __m256) -> [__m256; 2] {
    // SAFETY: by contract.
    unsafe { [_mm256_shuffle_ps::<0x88>(even, odd), _mm256_shuffle_ps::<0xdd>(even, odd)] }
}

impl Parts<f64> for Avx2 {
    methods! {
        fn read_pairs(from: *const f64) -> [[__m256d; 2]; 2] { <Self as Parts<f64>>::read_halves(from, from.add(8)) }
        fn write_pairs(to: *mut f64, v: [[__m256d; 2]; 2]) -> () {
            for i in 0..2 {
                let (even, odd) = (_mm256_unpacklo_pd(v[0][i], v[1][i]), _mm256_unpackhi_pd(v[0][i], v[1][i]));
                _mm256_storeu_pd(to.add(8 * i), _mm256_permute2f128_pd::<0x20>(even, odd));
                _mm256_storeu_pd(to.add(8 * i + 4), _mm256_permute2f128_pd::<0x31>(even, odd))
            }
        }
        fn read_halves(low: *const f64, high: *const f64) -> [[__m256d; 2]; 2] {
            let low = split_pd(_mm256_loadu_pd(low), _mm256_loadu_pd(low.add(4)));
            let high = split_pd(_mm256_loadu_pd(high), _mm256_loadu_pd(high.add(4)));
            [[low[0], high[0]], [low[1], high[1]]]
        }
        fn gather_pairs(x: *const [f64; 2], cols: *const u32) -> [[__m256d; 2]; 2] {
            let low = split_pd(two(x, cols), two(x, cols.add(2)));
            let high = split_pd(two(x, cols.add(4)), two(x, cols.add(6)));
            [[low[0], high[0]], [low[1], high[1]]]
        }
        fn sub_product(a: [__m256d; 2], b: [__m256d; 2], c: [__m256d; 2]) -> [__m256d; 2] {
            [_mm256_fnmadd_pd(a[0], b[0], c[0]), _mm256_fnmadd_pd(a[1], b[1], c[1])]
        }
        fn where_any(numbers: [[__m256d; 2]; 2], then: [__m256d; 2], other: [__m256d; 2]) -> [__m256d; 2] {
            let zero = _mm256_setzero_pd();
            let mut to = then;
            for i in 0..2 {
                let re = _mm256_cmp_pd::<_CMP_EQ_OQ>(numbers[0][i], zero);
                let im = _mm256_cmp_pd::<_CMP_EQ_OQ>(numbers[1][i], zero);
                to[i] = _mm256_blendv_pd(then[i], other[i], _mm256_and_pd(re, im));
            }
            to
        }
        fn first(v: [__m256d; 2], n: usize) -> [__m256d; 2] {
            let n = _mm256_set1_epi64x(n as i64);
            let low = _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(0, 1, 2, 3));
            let high = _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(4, 5, 6, 7));
            [_mm256_and_pd(v[0], _mm256_castsi256_pd(low)), _mm256_and_pd(v[1], _mm256_castsi256_pd(high))]
        }
    }
}

/// Parts of four pairs.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn split_pd(low: __m256d, high: __m256d) -> [__m256d; 2] {
    // SAFETY: by contract.
    unsafe {
        let (even, odd) =
            (_mm256_permute2f128_pd::<0x20>(low, high), _mm256_permute2f128_pd::<0x31>(low, high));
        [_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd)]
    }
}

/// The pairs that two columns name.
///
/// # Safety
///
/// The CPU has AVX2, and `x` has them.
#[inline(always)]
unsafe fn two(x: *const [f64; 2], cols: *const u32) -> __m256d {
    // SAFETY: by contract.
    unsafe {
        let low = _mm_loadu_pd(x.add(*cols as usize).cast());
        let high = _mm_loadu_pd(x.add(*cols.add(1) as usize).cast());
        _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high)
    }
}

impl Parts<f64> for Avx512 {
    methods! {
        fn read_pairs(from: *const f64) -> [__m512d; 2] { split_512(_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(8))) }
        fn write_pairs(to: *mut f64, v: [__m512d; 2]) -> () {
            let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            _mm512_storeu_pd(to, _mm512_permutex2var_pd(v[0], low, v[1]));
            _mm512_storeu_pd(to.add(8), _mm512_permutex2var_pd(v[0], high, v[1]))
        }
        fn read_halves(low: *const f64, high: *const f64) -> [__m512d; 2] {
            split_512(_mm512_loadu_pd(low), _mm512_loadu_pd(high))
        }
        fn gather_pairs(x: *const [f64; 2], cols: *const u32) -> [__m512d; 2] {
            let low = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(two(x, cols)), two(x, cols.add(2)));
            let high = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(two(x, cols.add(4))), two(x, cols.add(6)));
            split_512(low, high)
        }
        fn sub_product(a: __m512d, b: __m512d, c: __m512d) -> __m512d { _mm512_fnmadd_pd(a, b, c) }
        fn where_any(numbers: [__m512d; 2], then: __m512d, other: __m512d) -> __m512d {
            let re = _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(numbers[0], _mm512_setzero_pd());
            let im = _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(numbers[1], _mm512_setzero_pd());
            _mm512_mask_blend_pd(re & im, then, other)
        }
        fn first(v: __m512d, n: usize) -> __m512d { _mm512_maskz_mov_pd(_bzhi_u32(0xff, n as u32) as u8, v) }
    }
}

/// Parts of eight pairs.
///
/// # Safety
///
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn split_512(low: __m512d, high: __m512d) -> [__m512d; 2] {
    // SAFETY: by contract.
    unsafe {
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        [_mm512_permutex2var_pd(low, even, high), _mm512_permutex2var_pd(low, odd, high)]
    }
}

macro_rules! complex {
    ($($isa:ident, $c:ident, $p:ident;)*) => {$(
        impl Lanes<$c> for $isa {
            /// Real and imaginary parts.
            type V = [<$isa as Lanes<$p>>::V; 2];

            methods! {
                fn splat(a: $c) -> Self::V { [<Self as Lanes<$p>>::splat(a.re), <Self as Lanes<$p>>::splat(a.im)] }
                fn read(from: *const $c) -> Self::V { <Self as Parts<$p>>::read_pairs(from.cast()) }
                fn read_first(from: *const $c, n: usize) -> Self::V {
                    let all = <Self as Parts<$p>>::read_pairs(from.cast());
                    [<Self as Parts<$p>>::first(all[0], n), <Self as Parts<$p>>::first(all[1], n)]
                }
                fn write(to: *mut $c, v: Self::V) -> () { <Self as Parts<$p>>::write_pairs(to.cast(), v) }
                fn write_first(to: *mut $c, n: usize, v: Self::V) -> () {
                    let mut all = [<$c>::default(); 8];
                    <Self as Lanes<$c>>::write(all.as_mut_ptr(), v);
                    to.copy_from_nonoverlapping(all.as_ptr(), n)
                }
                fn add(a: Self::V, b: Self::V) -> Self::V {
                    [<Self as Lanes<$p>>::add(a[0], b[0]), <Self as Lanes<$p>>::add(a[1], b[1])]
                }
                fn mul(a: Self::V, b: Self::V) -> Self::V {
                    let re = <Self as Lanes<$p>>::mul(a[0], b[0]);
                    let im = <Self as Lanes<$p>>::mul(a[0], b[1]);
                    [<Self as Parts<$p>>::sub_product(a[1], b[1], re), <Self as Lanes<$p>>::mul_add(a[1], b[0], im)]
                }
                fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                    let re = <Self as Lanes<$p>>::mul_add(a[0], b[0], c[0]);
                    let im = <Self as Lanes<$p>>::mul_add(a[0], b[1], c[1]);
                    [<Self as Parts<$p>>::sub_product(a[1], b[1], re), <Self as Lanes<$p>>::mul_add(a[1], b[0], im)]
                }
                fn mul_add_nonzero(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                    let all = <Self as Lanes<$c>>::mul_add(a, b, c);
                    [
                        <Self as Parts<$p>>::where_any(a, all[0], c[0]),
                        <Self as Parts<$p>>::where_any(a, all[1], c[1]),
                    ]
                }
                fn last(v: Self::V, n: usize) -> Self::V {
                    [<Self as Lanes<$p>>::last(v[0], n), <Self as Lanes<$p>>::last(v[1], n)]
                }
                fn sum(v: Self::V) -> $c { $c::new(<Self as Lanes<$p>>::sum(v[0]), <Self as Lanes<$p>>::sum(v[1])) }
                fn sum_each(v: [Self::V; 8]) -> Self::V {
                    [<Self as Lanes<$p>>::sum_each(v.map(|v| v[0])), <Self as Lanes<$p>>::sum_each(v.map(|v| v[1]))]
                }
                fn transpose(v: [Self::V; 4]) -> [Self::V; 4] {
                    let re = <Self as Lanes<$p>>::transpose(v.map(|v| v[0]));
                    let im = <Self as Lanes<$p>>::transpose(v.map(|v| v[1]));
                    [[re[0], im[0]], [re[1], im[1]], [re[2], im[2]], [re[3], im[3]]]
                }
                fn long(ptr: *const u32) -> u32 { <Self as Lanes<$p>>::long(ptr) }
            }
        }

        impl Source<$c, $c> for $isa {
            methods! {
                fn load(from: *const $c) -> Self::V { <Self as Parts<$p>>::read_pairs(from.cast()) }
                fn load_first(from: *const $c, n: usize) -> Self::V {
                    let mut all = [$c::default(); 8];
                    from.copy_to_nonoverlapping(all.as_mut_ptr(), n);
                    <Self as Parts<$p>>::read_pairs(all.as_ptr().cast())
                }
                fn load_halves(low: *const $c, high: *const $c) -> Self::V {
                    <Self as Parts<$p>>::read_halves(low.cast(), high.cast())
                }
                fn gather(x: *const $c, cols: *const u32) -> Self::V { <Self as Parts<$p>>::gather_pairs(x.cast(), cols) }
            }
        }

        // Four columns fill half of a vector; what the other half has is not stored.
        impl Sums<$c> for $isa {
            type Four = Self::V;

            methods! {
                fn either(is: bool, new: Self::V, old: Self::V) -> Self::V {
                    [<Self as Sums<$p>>::either(is, new[0], old[0]), <Self as Sums<$p>>::either(is, new[1], old[1])]
                }
                fn splat_four(a: $c) -> Self::V { Self::splat(a) }
                fn read_four(from: *const $c) -> Self::V { <Self as Source<$c, $c>>::load_halves(from, from) }
                fn write_four(to: *mut $c, v: Self::V) -> () {
                    <Self as Lanes<$c>>::write_first(to, 4, v)
                }
                fn add_four(a: Self::V, b: Self::V) -> Self::V { <Self as Lanes<$c>>::add(a, b) }
                fn mul_add_four(a: Self::V, b: Self::V, c: Self::V) -> Self::V { <Self as Lanes<$c>>::mul_add(a, b, c) }
                fn either_four(is: bool, new: Self::V, old: Self::V) -> Self::V { <Self as Sums<$c>>::either(is, new, old) }
            }
        }
    )*};
}

complex! {
    Avx2, c32, f32;
    Avx2, c64, f64;
    Avx512, c32, f32;
    Avx512, c64, f64;
}

impl Sources<c32> for Avx512 {}
impl Sources<c64> for Avx512 {}
