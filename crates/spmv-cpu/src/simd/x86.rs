//! Lanes of x86-64.

use std::arch::x86_64::*;

use spmv_core::Value;

use super::loops::{Lanes, Source, Sources, Sums};
use crate::numbers::{Mixed, Numbers};

/// Functions compiled with a set of features.
macro_rules! compiled {
    ($name:ident, $lanes:ident, $features:literal) => {
        pub(super) mod $name {
            use std::ops::Range;

            use super::super::loops::Sources;
            use super::super::operand::{
                Entries, LANES, Onto, Operand, PanelRows, Piece, RowRange, RunRows, SimdValue, Slices, Slots,
                Way,
            };

            /// Body of [`SimdValue::dot`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn dot<T: SimdValue>(
                a: &Operand<'_, T>,
                range: Range<usize>,
            ) -> T::Accum
            where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::loops::dot::<T, super::$lanes>(a, range) }
            }

            /// Body of [`SimdValue::rows`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn rows<T: SimdValue>(
                a: &Operand<'_, T>,
                row_ptr: &[u32],
                alpha: T::Accum,
                beta: T::Accum,
                y: &mut [T::Accum],
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::loops::rows::<T, super::$lanes>(a, row_ptr, alpha, beta, y) }
            }

            /// Body of [`SimdValue::slots`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn slots<T: SimdValue>(
                a: &Slots<'_, T>,
                first: usize,
                stride: usize,
                n: usize,
                sums: &mut [T::Accum],
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::loops::slots::<T, super::$lanes>(a, first, stride, n, sums) }
            }

            /// Body of [`SimdValue::diagonals`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn diagonals<T: SimdValue>(
                pieces: &[Piece<'_, T>],
                sums: &mut [T::Accum],
                onto: Onto,
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::diagonals::diagonals::<T, super::$lanes>(pieces, sums, onto) }
            }

            /// Body of [`SimdValue::runs`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn runs<T: SimdValue>(
                a: &RunRows<'_, T>,
                alpha: T::Accum,
                beta: T::Accum,
                y: &mut [T::Accum],
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::runs::runs::<T, super::$lanes>(a, alpha, beta, y) }
            }

            /// Body of [`SimdValue::mirrored`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn mirrored<T: SimdValue>(
                a: &RunRows<'_, T>,
                range: RowRange,
                sums: &mut [T::Accum],
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::mirrored::mirrored::<T, super::$lanes>(a, range, sums) }
            }

            /// Body of [`SimdValue::eights`].
            ///
            /// # Safety
            ///
            /// As for that, and the CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn eights<T: SimdValue>(
                a: &Slices<'_, T>,
                way: Way,
                slices: &[Entries<T>],
                sums: &mut [[T::Accum; LANES]],
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's; the rest by contract.
                unsafe { super::super::slices::eights::<T, super::$lanes>(a, way, slices, sums) }
            }

            /// Body of [`SimdValue::panel`].
            ///
            /// # Safety
            ///
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn panel<T: SimdValue>(
                a: &PanelRows<'_, T>,
                row_ptr: &[u32],
                scaling: (T::Accum, T::Accum),
                y: &mut [T::Accum],
                at: (usize, usize),
            ) where
                super::$lanes: Sources<T>,
            {
                // SAFETY: the features are this function's.
                unsafe { super::super::panels::panel::<T, super::$lanes>(a, row_ptr, scaling, y, at) }
            }
        }
    };
}

compiled!(avx2, Avx2, "avx2,fma,f16c,bmi1,bmi2,popcnt");
compiled!(avx512, Avx512, "avx2,fma,f16c,bmi1,bmi2,popcnt,avx512f,avx512vl");

/// Methods of `Lanes` and `Source`.
macro_rules! methods {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty { $($body:tt)* })*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: $ty),*) -> $ret {
            // SAFETY: the CPU has the features and the pointers are valid, by the contract of `Lanes`.
            unsafe { $($body)* }
        }
    )*};
}

/// Methods that depend on lengths only.
macro_rules! lens_methods {
    () => {
        methods! {
            fn long(ptr: *const u32) -> u32 {
                let lens = _mm256_sub_epi32(_mm256_loadu_si256(ptr.add(1).cast()), _mm256_loadu_si256(ptr.cast()));
                let long = _mm256_cmpgt_epi32(lens, _mm256_set1_epi32(8));
                _mm256_movemask_ps(_mm256_castsi256_ps(long)) as u32
            }
        }
    };
}

/// Arguments of `_mm..._setr_...`, from the elements of `x` that eight columns name.
macro_rules! elements {
    ($set:ident, $x:ident, $cols:ident, $($i:literal)*) => {{
        let pairs: *const u64 = $cols.cast();
        $set($(*$x.add((pairs.add($i / 2).read_unaligned() >> (32 * ($i % 2))) as u32 as usize)),*)
    }};
    ($set:ident, $x:ident, $cols:ident, bits) => {
        elements!(@bits $set, $x, $cols, 0 1 2 3 4 5 6 7)
    };
    (@bits $set:ident, $x:ident, $cols:ident, $($i:literal)*) => {
        $set($((*$x.add(*$cols.add($i) as usize)).to_bits() as i16),*)
    };
}

// For types of values whose loads widen (values.rs).
pub(super) use {elements, methods};

/// Masks of the first `n` of eight lanes begin `8 - n` lanes on.
static FIRST_OF_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
static FIRST_OF_64: [i64; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// Vectors of 256 bits.
pub(super) struct Avx2;

impl Avx2 {
    methods! {
        /* pairwise sums within 128 bits */
        fn pairs_ps(a: __m256, b: __m256) -> __m256 {
            _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
        }
        fn fours_ps(a: __m256, b: __m256) -> __m256 {
            _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b))
        }
        fn pairs_pd(a: __m256d, b: __m256d) -> __m256d {
            _mm256_add_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))
        }
        fn fours_pd(a: __m256d, b: __m256d) -> __m256d {
            _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b))
        }
        fn transpose_pd(v: [__m256d; 4]) -> [__m256d; 4] {
            let (a, b) = (_mm256_unpacklo_pd(v[0], v[1]), _mm256_unpacklo_pd(v[2], v[3]));
            let (c, d) = (_mm256_unpackhi_pd(v[0], v[1]), _mm256_unpackhi_pd(v[2], v[3]));
            [
                _mm256_permute2f128_pd::<0x20>(a, b),
                _mm256_permute2f128_pd::<0x20>(c, d),
                _mm256_permute2f128_pd::<0x31>(a, b),
                _mm256_permute2f128_pd::<0x31>(c, d),
            ]
        }
        fn wider(v: __m256) -> [__m256d; 2] {
            [_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v))]
        }
        /* v where the 32-bit lanes of a mask are set */
        fn where_set(v: [__m256d; 2], mask: __m256i) -> [__m256d; 2] {
            let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mask));
            let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(mask));
            [_mm256_and_pd(v[0], _mm256_castsi256_pd(low)), _mm256_and_pd(v[1], _mm256_castsi256_pd(high))]
        }
    }
}

impl Lanes<f32> for Avx2 {
    type V = __m256;

    lens_methods!();

    methods! {
        fn splat(a: f32) -> __m256 { _mm256_set1_ps(a) }
        fn read(from: *const f32) -> __m256 { _mm256_loadu_ps(from) }
        fn read_first(from: *const f32, n: usize) -> __m256 {
            let kept = _mm256_loadu_si256(FIRST_OF_32.as_ptr().add(8 - n.min(8)).cast());
            _mm256_and_ps(_mm256_loadu_ps(from), _mm256_castsi256_ps(kept))
        }
        fn write(to: *mut f32, v: __m256) -> () { _mm256_storeu_ps(to, v) }
        fn write_first(to: *mut f32, n: usize, v: __m256) -> () {
            _mm256_maskstore_ps(to, _mm256_loadu_si256(FIRST_OF_32.as_ptr().add(8 - n).cast()), v)
        }
        fn add(a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
        fn mul(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
        fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }
        fn mul_add_nonzero(a: __m256, b: __m256, c: __m256) -> __m256 {
            let is_entry = _mm256_cmp_ps::<_CMP_NEQ_UQ>(a, _mm256_setzero_ps());
            _mm256_blendv_ps(c, _mm256_fmadd_ps(a, b, c), is_entry)
        }
        fn last(v: __m256, n: usize) -> __m256 {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let kept = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(7 - n as i32));
            _mm256_and_ps(v, _mm256_castsi256_ps(kept))
        }
        fn sum(v: __m256) -> f32 {
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
        fn sum_each(v: [__m256; 8]) -> __m256 {
            // Each has halves of rows 0..4 or 4..8, to be added across.
            let low = Self::fours_ps(Self::pairs_ps(v[0], v[1]), Self::pairs_ps(v[2], v[3]));
            let high = Self::fours_ps(Self::pairs_ps(v[4], v[5]), Self::pairs_ps(v[6], v[7]));
            _mm256_add_ps(
                _mm256_permute2f128_ps::<0x20>(low, high),
                _mm256_permute2f128_ps::<0x31>(low, high),
            )
        }
        fn transpose(v: [__m256; 4]) -> [__m256; 4] {
            let (a, b) = (_mm256_unpacklo_ps(v[0], v[1]), _mm256_unpacklo_ps(v[2], v[3]));
            let (c, d) = (_mm256_unpackhi_ps(v[0], v[1]), _mm256_unpackhi_ps(v[2], v[3]));
            [
                _mm256_shuffle_ps::<0x44>(a, b),
                _mm256_shuffle_ps::<0xee>(a, b),
                _mm256_shuffle_ps::<0x44>(c, d),
                _mm256_shuffle_ps::<0xee>(c, d),
            ]
        }
    }
}

impl Source<f32, f32> for Avx2 {
    methods! {
        fn load(from: *const f32) -> __m256 { _mm256_loadu_ps(from) }
        fn load_first(from: *const f32, n: usize) -> __m256 {
            _mm256_maskload_ps(from, _mm256_loadu_si256(FIRST_OF_32.as_ptr().add(8 - n).cast()))
        }
        fn load_halves(low: *const f32, high: *const f32) -> __m256 {
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high))
        }
        fn gather(x: *const f32, cols: *const u32) -> __m256 {
            elements!(_mm256_setr_ps, x, cols, 0 1 2 3 4 5 6 7)
        }
    }
}

impl Lanes<f64> for Avx2 {
    type V = [__m256d; 2];

    lens_methods!();

    methods! {
        fn splat(a: f64) -> Self::V { [_mm256_set1_pd(a); 2] }
        fn read(from: *const f64) -> Self::V { [_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))] }
        fn read_first(from: *const f64, n: usize) -> Self::V {
            let mask = FIRST_OF_64.as_ptr().add(8 - n.min(8));
            let (low, high) = (_mm256_loadu_si256(mask.cast()), _mm256_loadu_si256(mask.add(4).cast()));
            [
                _mm256_and_pd(_mm256_loadu_pd(from), _mm256_castsi256_pd(low)),
                _mm256_and_pd(_mm256_loadu_pd(from.add(4)), _mm256_castsi256_pd(high)),
            ]
        }
        fn write(to: *mut f64, v: Self::V) -> () {
            _mm256_storeu_pd(to, v[0]);
            _mm256_storeu_pd(to.add(4), v[1])
        }
        fn write_first(to: *mut f64, n: usize, v: Self::V) -> () {
            let mask = FIRST_OF_64.as_ptr().add(8 - n);
            _mm256_maskstore_pd(to, _mm256_loadu_si256(mask.cast()), v[0]);
            _mm256_maskstore_pd(to.wrapping_add(4), _mm256_loadu_si256(mask.add(4).cast()), v[1])
        }
        fn add(a: Self::V, b: Self::V) -> Self::V { [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])] }
        fn mul(a: Self::V, b: Self::V) -> Self::V { [_mm256_mul_pd(a[0], b[0]), _mm256_mul_pd(a[1], b[1])] }
        fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            [_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])]
        }
        fn mul_add_nonzero(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            let low = _mm256_cmp_pd::<_CMP_NEQ_UQ>(a[0], _mm256_setzero_pd());
            let high = _mm256_cmp_pd::<_CMP_NEQ_UQ>(a[1], _mm256_setzero_pd());
            let all = [_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])];
            [_mm256_blendv_pd(c[0], all[0], low), _mm256_blendv_pd(c[1], all[1], high)]
        }
        fn last(v: Self::V, n: usize) -> Self::V {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            Self::where_set(v, _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(7 - n as i32)))
        }
        fn sum(v: Self::V) -> f64 {
            let four = _mm256_add_pd(v[0], v[1]);
            let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        }
        fn sum_each(v: [Self::V; 8]) -> Self::V {
            let mut four = [_mm256_setzero_pd(); 8];
            for i in 0..8 {
                four[i] = _mm256_add_pd(v[i][0], v[i][1]);
            }
            [
                Self::fours_pd(Self::pairs_pd(four[0], four[1]), Self::pairs_pd(four[2], four[3])),
                Self::fours_pd(Self::pairs_pd(four[4], four[5]), Self::pairs_pd(four[6], four[7])),
            ]
        }
        fn transpose(v: [Self::V; 4]) -> [Self::V; 4] {
            let low = Self::transpose_pd([v[0][0], v[1][0], v[2][0], v[3][0]]);
            let high = Self::transpose_pd([v[0][1], v[1][1], v[2][1], v[3][1]]);
            [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]]
        }
    }
}

impl Source<f64, f64> for Avx2 {
    methods! {
        fn load(from: *const f64) -> Self::V { Self::read(from) }
        fn load_first(from: *const f64, n: usize) -> Self::V {
            let mask = FIRST_OF_64.as_ptr().add(8 - n);
            [
                _mm256_maskload_pd(from, _mm256_loadu_si256(mask.cast())),
                _mm256_maskload_pd(from.wrapping_add(4), _mm256_loadu_si256(mask.add(4).cast())),
            ]
        }
        fn load_halves(low: *const f64, high: *const f64) -> Self::V { [_mm256_loadu_pd(low), _mm256_loadu_pd(high)] }
        fn gather(x: *const f64, cols: *const u32) -> Self::V {
            let high = cols.add(4);
            [elements!(_mm256_setr_pd, x, cols, 0 1 2 3), elements!(_mm256_setr_pd, x, high, 0 1 2 3)]
        }
    }
}

/// Numbers whose sums may be kept in `f32`, as factors of sums in `f64`.
impl<E: Value> Source<E, f64> for Avx2
where
    Self: Source<E, f32, V = __m256>,
{
    methods! {
        fn load(from: *const E) -> [__m256d; 2] { Self::wider(<Self as Source<E, f32>>::load(from)) }
        fn load_first(from: *const E, n: usize) -> [__m256d; 2] {
            Self::wider(<Self as Source<E, f32>>::load_first(from, n))
        }
        fn load_halves(low: *const E, high: *const E) -> [__m256d; 2] {
            Self::wider(<Self as Source<E, f32>>::load_halves(low, high))
        }
        fn gather(x: *const E, cols: *const u32) -> [__m256d; 2] {
            Self::wider(<Self as Source<E, f32>>::gather(x, cols))
        }
    }
}

impl<T: Numbers> Sources<T> for Avx2 where
    Self:
        Source<T::Val, T::Accum> + Source<T::Vector, T::Accum> + Source<T::Accum, T::Accum> + Sums<T::Accum>
{
}

/// Vectors of 512 bits.
pub(super) struct Avx512;

impl Avx512 {
    methods! {
        fn pairs(a: __m512d, b: __m512d) -> __m512d {
            _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
        }
        /* sums of neighbours among the eight parts of 128 bits */
        fn parts(a: __m512d, b: __m512d) -> __m512d {
            _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b))
        }
    }
}

/// A mask of the first `n` of eight lanes.
#[inline(always)]
pub(super) fn first_lanes(n: usize) -> u8 {
    (0xff_u32 >> (8 - n)) as u8
}

/// Methods of `Lanes<f32>` as `Avx2` has them: sums in `f32` gain nothing from 512 bits, since loads of x set the pace.
macro_rules! as_avx2 {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        methods! { $(fn $name($($arg: $ty),*) -> $ret { <Avx2 as Lanes<f32>>::$name($($arg),*) })* }
    };
}

impl Lanes<f32> for Avx512 {
    type V = __m256;

    methods! {
        fn read_first(from: *const f32, n: usize) -> __m256 { _mm256_maskz_loadu_ps(_bzhi_u32(0xff, n as u32) as u8, from) }
        fn write_first(to: *mut f32, n: usize, v: __m256) -> () { _mm256_mask_storeu_ps(to, first_lanes(n), v) }
        fn mul_add_nonzero(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_mask3_fmadd_ps(a, b, c, _mm256_cmp_ps_mask::<_CMP_NEQ_UQ>(a, _mm256_setzero_ps())) }
    }

    as_avx2! {
        fn splat(a: f32) -> __m256;
        fn read(from: *const f32) -> __m256;
        fn write(to: *mut f32, v: __m256) -> ();
        fn add(a: __m256, b: __m256) -> __m256;
        fn mul(a: __m256, b: __m256) -> __m256;
        fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256;
        fn last(v: __m256, n: usize) -> __m256;
        fn sum(v: __m256) -> f32;
        fn sum_each(v: [__m256; 8]) -> __m256;
        fn transpose(v: [__m256; 4]) -> [__m256; 4];
        fn long(ptr: *const u32) -> u32;
    }
}

impl Source<f32, f32> for Avx512 {
    methods! {
        fn load(from: *const f32) -> __m256 { _mm256_loadu_ps(from) }
        fn load_halves(low: *const f32, high: *const f32) -> __m256 { <Avx2 as Source<f32, f32>>::load_halves(low, high) }
        fn gather(x: *const f32, cols: *const u32) -> __m256 { <Avx2 as Source<f32, f32>>::gather(x, cols) }
        fn load_first(from: *const f32, n: usize) -> __m256 { _mm256_maskz_loadu_ps(first_lanes(n), from) }
    }
}

impl Lanes<f64> for Avx512 {
    type V = __m512d;

    lens_methods!();

    methods! {
        fn splat(a: f64) -> __m512d { _mm512_set1_pd(a) }
        fn read(from: *const f64) -> __m512d { _mm512_loadu_pd(from) }
        fn read_first(from: *const f64, n: usize) -> __m512d { _mm512_maskz_loadu_pd(_bzhi_u32(0xff, n as u32) as u8, from) }
        fn write(to: *mut f64, v: __m512d) -> () { _mm512_storeu_pd(to, v) }
        fn write_first(to: *mut f64, n: usize, v: __m512d) -> () { _mm512_mask_storeu_pd(to, first_lanes(n), v) }
        fn add(a: __m512d, b: __m512d) -> __m512d { _mm512_add_pd(a, b) }
        fn mul(a: __m512d, b: __m512d) -> __m512d { _mm512_mul_pd(a, b) }
        fn mul_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d { _mm512_fmadd_pd(a, b, c) }
        fn mul_add_nonzero(a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            let is_entry = _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(a, _mm512_setzero_pd());
            _mm512_mask3_fmadd_pd(a, b, c, is_entry)
        }
        fn last(v: __m512d, n: usize) -> __m512d { _mm512_maskz_mov_pd((0xff00_u32 >> n) as u8, v) }
        fn sum(v: __m512d) -> f64 { <Avx2 as Lanes<f64>>::sum([_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v)]) }
        fn sum_each(v: [__m512d; 8]) -> __m512d {
            let low = Self::parts(Self::pairs(v[0], v[1]), Self::pairs(v[2], v[3]));
            let high = Self::parts(Self::pairs(v[4], v[5]), Self::pairs(v[6], v[7]));
            Self::parts(low, high)
        }
        fn transpose(v: [__m512d; 4]) -> [__m512d; 4] {
            let (a, b) = (_mm512_unpacklo_pd(v[0], v[1]), _mm512_unpacklo_pd(v[2], v[3]));
            let (c, d) = (_mm512_unpackhi_pd(v[0], v[1]), _mm512_unpackhi_pd(v[2], v[3]));
            let low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            [
                _mm512_permutex2var_pd(a, low, b),
                _mm512_permutex2var_pd(c, low, d),
                _mm512_permutex2var_pd(a, high, b),
                _mm512_permutex2var_pd(c, high, d),
            ]
        }
    }
}

impl Source<f64, f64> for Avx512 {
    methods! {
        fn load(from: *const f64) -> __m512d { _mm512_loadu_pd(from) }
        fn load_first(from: *const f64, n: usize) -> __m512d { _mm512_maskz_loadu_pd(first_lanes(n), from) }
        fn load_halves(low: *const f64, high: *const f64) -> __m512d {
            _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(_mm256_loadu_pd(low)), _mm256_loadu_pd(high))
        }
        fn gather(x: *const f64, cols: *const u32) -> __m512d {
            elements!(_mm512_setr_pd, x, cols, 0 1 2 3 4 5 6 7)
        }
    }
}

impl Source<f32, f64> for Avx512 {
    methods! {
        fn load(from: *const f32) -> __m512d { _mm512_cvtps_pd(_mm256_loadu_ps(from)) }
        fn load_first(from: *const f32, n: usize) -> __m512d {
            _mm512_cvtps_pd(_mm256_maskz_loadu_ps(first_lanes(n), from))
        }
        fn load_halves(low: *const f32, high: *const f32) -> __m512d {
            _mm512_cvtps_pd(<Avx2 as Source<f32, f32>>::load_halves(low, high))
        }
        fn gather(x: *const f32, cols: *const u32) -> __m512d {
            _mm512_cvtps_pd(<Avx2 as Source<f32, f32>>::gather(x, cols))
        }
    }
}

/// `add_first` of sums in `f64`: values are loaded whole, `x` under a mask.
macro_rules! sources_of_f64 {
    ($($numbers:ty, $val:ty;)*) => {$(
        impl Sources<$numbers> for Avx512 {
            methods! {
                fn add_first(vals: *const $val, x: *const f64, n: usize, sums: __m512d) -> __m512d {
                    let (mask, vals) = (first_lanes(n), <Self as Source<$val, f64>>::load(vals));
                    _mm512_mask3_fmadd_pd(vals, _mm512_maskz_loadu_pd(mask, x), sums, mask)
                }
                fn add_some(vals: *const $val, x: *const f64, cols: &[u32; 8], sums: __m512d) -> __m512d {
                    let cols = _mm256_loadu_si256(cols.as_ptr().cast());
                    let mask = _mm256_cmpneq_epi32_mask(cols, _mm256_set1_epi32(-1));
                    let x = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, cols, x);
                    _mm512_mask3_fmadd_pd(<Self as Source<$val, f64>>::load(vals), x, sums, mask)
                }
            }
        }
    )*};
}

sources_of_f64! {
    f64, f64;
    Mixed<f32, f64>, f32;
}
