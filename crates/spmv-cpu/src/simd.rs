//! SIMD sums of products over CSR entries: the inner loops of every CPU kernel.

use std::ops::Range;

use half::{bf16, f16};
use spmv_core::Value;

/// Instruction set used for gathers and sums, found at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust, eight lanes as an array.
    Scalar,
    /// 128-bit vectors of aarch64.
    Neon,
    /// 256-bit vectors of x86-64, with FMA and F16C.
    Avx2,
    /// As `Avx2`, with 512-bit vectors for f64.
    Avx512,
}

impl Isa {
    const ALL: [Isa; 4] = [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// The best set this CPU runs.
    pub fn detect() -> Self {
        *Self::available().last().expect("Scalar runs everywhere")
    }

    /// Every set this CPU runs, `Scalar` first, the best last.
    pub fn available() -> Vec<Isa> {
        Self::ALL.into_iter().filter(|isa| isa.runs_here()).collect()
    }

    /// Lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether this CPU has every feature the set's functions are compiled with. The standard library
    /// caches the answer, so this is a load and a test.
    fn runs_here(self) -> bool {
        match self {
            Isa::Scalar => true,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Isa::Avx2.runs_here() && is_x86_feature_detected!("avx512f"),
            _ => false,
        }
    }
}

/// Entries of a matrix together with the x they gather from; every column index is known to be less
/// than `x.len()`.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, T> {
    cols: &'a [u32],
    vals: &'a [T],
    x: &'a [T],
}

impl<'a, T> Operand<'a, T> {
    /// Joins the arrays, which panics unless there are as many columns as values.
    ///
    /// # Safety
    ///
    /// Every element of `cols` is less than `x.len()`.
    pub unsafe fn new_unchecked(cols: &'a [u32], vals: &'a [T], x: &'a [T]) -> Self {
        assert_eq!(cols.len(), vals.len(), "one column per value");
        Self { cols, vals, x }
    }

    /// The product of entry `e` with its `x`, in the type of sums.
    pub fn product(&self, e: usize) -> T::Accum
    where
        T: Value,
    {
        self.vals[e].to_accum() * self.x[self.cols[e] as usize].to_accum()
    }
}

/// A stored value type and its SIMD loops.
pub trait SimdValue: Value {
    /// Sum of products over entries `range`, one row or a piece of one.
    ///
    /// Panics unless `range` lies within the operand's entries.
    fn dot(isa: Isa, a: &Operand<'_, Self>, range: Range<usize>) -> Self::Accum;

    /// Whole rows: `y[i] = alpha * sum(row_ptr[i]..row_ptr[i + 1]) + beta * y[i]`; a zero `beta` leaves
    /// the old `y` unread.
    ///
    /// Panics unless `row_ptr` has one element more than `y`, never decreases and stays within the
    /// operand's entries; checked a block of rows at a time, so earlier rows may be written by then.
    fn rows(
        isa: Isa,
        a: &Operand<'_, Self>,
        row_ptr: &[u32],
        alpha: Self::Accum,
        beta: Self::Accum,
        y: &mut [Self::Accum],
    );
}

/// Entries and rows taken together.
const LANES: usize = 8;
/// Rows checked together.
const BLOCK_ROWS: usize = 64;
/// Most entries of a block whose products go through the buffer.
const BLOCK_ENTRIES: usize = BLOCK_ROWS * 12;
/// Most entries of eight rows whose products go through the buffer.
const GROUP_ENTRIES: usize = LANES * 12;

/// Eight sums of type `A`.
trait Lanes<A> {
    type V: Copy;
    unsafe fn splat(a: A) -> Self::V;
    unsafe fn read(from: *const A) -> Self::V;
    unsafe fn write(to: *mut A, v: Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Zero but for the lanes whose mask, MASK[from + lane], is set
    unsafe fn mask(v: Self::V, from: usize) -> Self::V;
    unsafe fn sum(v: Self::V) -> A;
    unsafe fn sum_each(v: [Self::V; LANES]) -> Self::V;
}

trait Source<T: SimdValue>: Lanes<T::Accum> {
    unsafe fn load(from: *const T) -> Self::V;
    unsafe fn gather(x: *const T, cols: *const u32) -> Self::V;
}

trait Number: SimdValue {
    const ZERO: Self::Accum;
    fn product(self, x: Self) -> Self::Accum;
    fn plus(a: Self::Accum, b: Self::Accum) -> Self::Accum;
    fn times(a: Self::Accum, b: Self::Accum) -> Self::Accum;
    fn is_zero(a: Self::Accum) -> bool;
}

macro_rules! number {
    ($($t:ty, $a:ty, |$v:ident| $wide:expr;)*) => {$(
        impl Number for $t {
            const ZERO: $a = 0.0;
            #[inline(always)]
            fn product(self, x: Self) -> $a {
                let wide = |$v: $t| -> $a { $wide };
                wide(self) * wide(x)
            }
            #[inline(always)]
            fn plus(a: $a, b: $a) -> $a { a + b }
            #[inline(always)]
            fn times(a: $a, b: $a) -> $a { a * b }
            #[inline(always)]
            fn is_zero(a: $a) -> bool { a == 0.0 }
        }
        impl SimdValue for $t {
            fn dot(isa: Isa, a: &Operand<'_, Self>, range: Range<usize>) -> $a {
                assert!(range.start <= range.end && range.end <= a.cols.len());
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 if isa.runs_here() => unsafe { x86::dot_avx512::<$t>(a, range.start, range.end) },
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 if isa.runs_here() => unsafe { x86::dot_avx2::<$t>(a, range.start, range.end) },
                    _ => { let mut s: $a = 0.0; for e in range { s += a.vals[e].product(a.x[a.cols[e] as usize]); } s }
                }
            }
            fn rows(isa: Isa, a: &Operand<'_, Self>, row_ptr: &[u32], alpha: $a, beta: $a, y: &mut [$a]) {
                assert_eq!(row_ptr.len(), y.len() + 1);
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 if isa.runs_here() => unsafe { x86::rows_avx512::<$t>(a, row_ptr, alpha, beta, y) },
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 if isa.runs_here() => unsafe { x86::rows_avx2::<$t>(a, row_ptr, alpha, beta, y) },
                    _ => for (y, p) in y.iter_mut().zip(row_ptr.windows(2)) {
                        let s = Self::dot(isa, a, p[0] as usize..p[1] as usize);
                        *y = if beta == 0.0 { alpha * s } else { alpha * s + beta * *y };
                    }
                }
            }
        }
    )*};
}

number! {
    f16, f32, |v| v.to_f32();
    bf16, f32, |v| v.to_f32();
    f32, f32, |v| v;
    f64, f64, |v| v;
}

#[inline(always)]
unsafe fn dot<T: Number, L: Source<T>>(a: &Operand<'_, T>, start: usize, end: usize) -> T::Accum {
    unsafe {
        let (cols, vals, x) = (a.cols.as_ptr(), a.vals.as_ptr(), a.x.as_ptr());
        if end - start < LANES {
            let mut s = T::ZERO;
            for e in start..end {
                s = T::plus(s, (*vals.add(e)).product(*x.add(*cols.add(e) as usize)));
            }
            return s;
        }
        let zero = L::splat(T::ZERO);
        let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
        let step = |s: L::V, e: usize| L::mul_add(L::load(vals.add(e)), L::gather(x, cols.add(e)), s);
        let mut e = start;
        while end - e >= 4 * LANES {
            s0 = step(s0, e);
            s1 = step(s1, e + LANES);
            s2 = step(s2, e + 2 * LANES);
            s3 = step(s3, e + 3 * LANES);
            e += 4 * LANES;
        }
        if end - e >= 2 * LANES {
            s0 = step(s0, e);
            s1 = step(s1, e + LANES);
            e += 2 * LANES;
        }
        if end - e >= LANES {
            s2 = step(s2, e);
            e += LANES;
        }
        if e < end {
            let last = end - LANES;
            let p = L::mul(L::load(vals.add(last)), L::gather(x, cols.add(last)));
            s3 = L::add(s3, L::mask(p, 2 * LANES - LANES + (end - e)));
        }
        L::sum(L::add(L::add(s0, s1), L::add(s2, s3)))
    }
}

#[inline(always)]
unsafe fn rows<T: Number, L: Source<T>>(
    a: &Operand<'_, T>,
    row_ptr: &[u32],
    alpha: T::Accum,
    beta: T::Accum,
    y: &mut [T::Accum],
) {
    let mut buffer = [T::ZERO; BLOCK_ENTRIES + LANES];
    for (block, y) in y.chunks_mut(BLOCK_ROWS).enumerate() {
        let ptr = &row_ptr[block * BLOCK_ROWS..][..y.len() + 1];
        let ok = ptr.windows(2).fold(true, |ok, p| ok & (p[0] <= p[1]));
        assert!(ok && ptr[y.len()] as usize <= a.cols.len());
        let (start, end) = (ptr[0] as usize, ptr[y.len()] as usize);
        let whole = end - start <= BLOCK_ENTRIES && end - start >= LANES;
        unsafe {
            if whole {
                products::<T, L>(a, start, end, &mut buffer);
            }
            let mut groups = y.chunks_exact_mut(LANES);
            let mut r = 0;
            for y in &mut groups {
                let (first, last) = (ptr[r] as usize, ptr[r + LANES] as usize);
                let sums = if whole {
                    group::<T, L>(&ptr[r..r + LANES + 1], start, &buffer)
                } else if last - first <= GROUP_ENTRIES && last - first >= LANES {
                    products::<T, L>(a, first, last, &mut buffer);
                    group::<T, L>(&ptr[r..r + LANES + 1], first, &buffer)
                } else {
                    let mut s = [T::ZERO; LANES];
                    for i in 0..LANES {
                        s[i] = dot::<T, L>(a, ptr[r + i] as usize, ptr[r + i + 1] as usize);
                    }
                    L::read(s.as_ptr())
                };
                let mut s = L::mul(sums, L::splat(alpha));
                if !T::is_zero(beta) {
                    s = L::mul_add(L::read(y.as_ptr()), L::splat(beta), s);
                }
                L::write(y.as_mut_ptr(), s);
                r += LANES;
            }
            for y in groups.into_remainder() {
                let s = T::times(alpha, dot::<T, L>(a, ptr[r] as usize, ptr[r + 1] as usize));
                *y = if T::is_zero(beta) { s } else { T::plus(s, T::times(beta, *y)) };
                r += 1;
            }
        }
    }
}

#[inline(always)]
unsafe fn products<T: Number, L: Source<T>>(
    a: &Operand<'_, T>,
    start: usize,
    end: usize,
    buffer: &mut [T::Accum; BLOCK_ENTRIES + LANES],
) {
    unsafe {
        let (cols, vals, x) = (a.cols.as_ptr(), a.vals.as_ptr(), a.x.as_ptr());
        let mut e = start;
        loop {
            L::write(
                buffer.as_mut_ptr().add(e - start),
                L::mul(L::load(vals.add(e)), L::gather(x, cols.add(e))),
            );
            if e + LANES >= end {
                break;
            }
            e = (e + LANES).min(end - LANES);
        }
    }
}

#[inline(always)]
unsafe fn group<T: Number, L: Source<T>>(
    ptr: &[u32],
    base: usize,
    buffer: &[T::Accum; BLOCK_ENTRIES + LANES],
) -> L::V {
    unsafe {
        let mut s = [L::splat(T::ZERO); LANES];
        let mut long = false;
        for i in 0..LANES {
            let (b, len) = (ptr[i] as usize - base, (ptr[i + 1] - ptr[i]) as usize);
            s[i] = L::mask(L::read(buffer.as_ptr().add(b)), LANES - len.min(LANES));
            long |= len > LANES;
        }
        if long {
            for i in 0..LANES {
                let (mut b, end) = (ptr[i] as usize - base + LANES, ptr[i + 1] as usize - base);
                while b < end {
                    s[i] =
                        L::add(s[i], L::mask(L::read(buffer.as_ptr().add(b)), LANES - (end - b).min(LANES)));
                    b += LANES;
                }
            }
        }
        L::sum_each(s)
    }
}

/// Eight set, eight clear, eight set
static MASK64: [u64; 24] = {
    let mut m = [0; 24];
    let mut i = 0;
    while i < 8 {
        m[i] = !0;
        m[i + 16] = !0;
        i += 1;
    }
    m
};
static MASK32: [u32; 24] = {
    let mut m = [0; 24];
    let mut i = 0;
    while i < 8 {
        m[i] = !0;
        m[i + 16] = !0;
        i += 1;
    }
    m
};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use half::{bf16, f16};
    use std::arch::x86_64::*;

    pub(super) struct Avx2;
    pub(super) struct Avx512;

    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
    pub(super) unsafe fn dot_avx2<T: Number>(a: &Operand<'_, T>, s: usize, e: usize) -> T::Accum
    where
        Avx2: Source<T>,
    {
        unsafe { dot::<T, Avx2>(a, s, e) }
    }
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
    pub(super) unsafe fn rows_avx2<T: Number>(
        a: &Operand<'_, T>,
        p: &[u32],
        alpha: T::Accum,
        beta: T::Accum,
        y: &mut [T::Accum],
    ) where
        Avx2: Source<T>,
    {
        unsafe { rows::<T, Avx2>(a, p, alpha, beta, y) }
    }
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,avx512f,avx512vl")]
    pub(super) unsafe fn dot_avx512<T: Number>(a: &Operand<'_, T>, s: usize, e: usize) -> T::Accum
    where
        Avx512: Source<T>,
    {
        unsafe { dot::<T, Avx512>(a, s, e) }
    }
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,avx512f,avx512vl")]
    pub(super) unsafe fn rows_avx512<T: Number>(
        a: &Operand<'_, T>,
        p: &[u32],
        alpha: T::Accum,
        beta: T::Accum,
        y: &mut [T::Accum],
    ) where
        Avx512: Source<T>,
    {
        unsafe { rows::<T, Avx512>(a, p, alpha, beta, y) }
    }

    macro_rules! f32_lanes {
        ($($isa:ty),*) => {$(
    impl Lanes<f32> for $isa {
        type V = __m256;
        #[inline(always)]
        unsafe fn splat(a: f32) -> __m256 {
            unsafe { _mm256_set1_ps(a) }
        }
        #[inline(always)]
        unsafe fn read(from: *const f32) -> __m256 {
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn write(to: *mut f32, v: __m256) {
            unsafe { _mm256_storeu_ps(to, v) }
        }
        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_add_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_mul_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 {
            unsafe { _mm256_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn mask(v: __m256, from: usize) -> __m256 {
            unsafe { _mm256_and_ps(v, _mm256_loadu_ps(MASK32.as_ptr().add(from).cast())) }
        }
        #[inline(always)]
        unsafe fn sum(v: __m256) -> f32 {
            unsafe {
                let q = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
                let d = _mm_add_ps(q, _mm_movehl_ps(q, q));
                _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)))
            }
        }
        #[inline(always)]
        unsafe fn sum_each(v: [__m256; 8]) -> __m256 {
            unsafe {
                let pair = |a, b| _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let quad = |a, b, c, d| {
                    let (p, q) = (pair(a, b), pair(c, d));
                    _mm256_add_ps(
                        _mm256_shuffle_ps::<0x44>(p, q),
                        _mm256_shuffle_ps::<0xee>(p, q),
                    )
                };
                let (p, q) = (quad(v[0], v[1], v[2], v[3]), quad(v[4], v[5], v[6], v[7]));
                _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(p, q), _mm256_permute2f128_ps::<0x31>(p, q))
            }
        }
    }
    impl Source<f32> for $isa {
        #[inline(always)]
        unsafe fn load(from: *const f32) -> __m256 {
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn gather(x: *const f32, c: *const u32) -> __m256 {
            unsafe {
                if HW { return _mm256_i32gather_ps::<4>(x, _mm256_loadu_si256(c.cast())); }
                let g = |i: usize| *x.add(*c.add(i) as usize);
                _mm256_setr_ps(g(0), g(1), g(2), g(3), g(4), g(5), g(6), g(7))
            }
        }
    }
    impl Source<f16> for $isa {
        #[inline(always)]
        unsafe fn load(from: *const f16) -> __m256 {
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
        }
        #[inline(always)]
        unsafe fn gather(x: *const f16, c: *const u32) -> __m256 {
            unsafe {
                let g = |i: usize| (*x.add(*c.add(i) as usize)).to_bits() as i16;
                _mm256_cvtph_ps(_mm_setr_epi16(g(0), g(1), g(2), g(3), g(4), g(5), g(6), g(7)))
            }
        }
    }
    impl Source<bf16> for $isa {
        #[inline(always)]
        unsafe fn load(from: *const bf16) -> __m256 {
            unsafe {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            }
        }
        #[inline(always)]
        unsafe fn gather(x: *const bf16, c: *const u32) -> __m256 {
            unsafe {
                let g = |i: usize| (*x.add(*c.add(i) as usize)).to_bits() as i16;
                let v = _mm_setr_epi16(g(0), g(1), g(2), g(3), g(4), g(5), g(6), g(7));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(v)))
            }
        }
    }
        )*};
    }
    f32_lanes!(Avx2, Avx512);
    const HW: bool = false;

    impl Lanes<f64> for Avx2 {
        type V = [__m256d; 2];
        #[inline(always)]
        unsafe fn splat(a: f64) -> Self::V {
            unsafe { [_mm256_set1_pd(a); 2] }
        }
        #[inline(always)]
        unsafe fn read(from: *const f64) -> Self::V {
            unsafe { [_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))] }
        }
        #[inline(always)]
        unsafe fn write(to: *mut f64, v: Self::V) {
            unsafe {
                _mm256_storeu_pd(to, v[0]);
                _mm256_storeu_pd(to.add(4), v[1])
            }
        }
        #[inline(always)]
        unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
            unsafe { [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])] }
        }
        #[inline(always)]
        unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
            unsafe { [_mm256_mul_pd(a[0], b[0]), _mm256_mul_pd(a[1], b[1])] }
        }
        #[inline(always)]
        unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            unsafe { [_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])] }
        }
        #[inline(always)]
        unsafe fn mask(v: Self::V, from: usize) -> Self::V {
            unsafe {
                let m: *const f64 = MASK64.as_ptr().add(from).cast();
                [_mm256_and_pd(v[0], _mm256_loadu_pd(m)), _mm256_and_pd(v[1], _mm256_loadu_pd(m.add(4)))]
            }
        }
        #[inline(always)]
        unsafe fn sum(v: Self::V) -> f64 {
            unsafe {
                let q = _mm256_add_pd(v[0], v[1]);
                let d = _mm_add_pd(_mm256_castpd256_pd128(q), _mm256_extractf128_pd::<1>(q));
                _mm_cvtsd_f64(_mm_add_sd(d, _mm_unpackhi_pd(d, d)))
            }
        }
        #[inline(always)]
        unsafe fn sum_each(v: [Self::V; 8]) -> Self::V {
            unsafe {
                let half = |v: Self::V| _mm256_add_pd(v[0], v[1]);
                let pair = |a, b| {
                    let (a, b) = (half(a), half(b));
                    _mm256_add_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))
                };
                let quad = |p, q| {
                    _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(p, q), _mm256_permute2f128_pd::<0x31>(p, q))
                };
                [quad(pair(v[0], v[1]), pair(v[2], v[3])), quad(pair(v[4], v[5]), pair(v[6], v[7]))]
            }
        }
    }
    impl Source<f64> for Avx2 {
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self::V {
            unsafe { Self::read(from) }
        }
        #[inline(always)]
        unsafe fn gather(x: *const f64, c: *const u32) -> Self::V {
            unsafe {
                if HW {
                    return [
                        _mm256_i32gather_pd::<8>(x, _mm_loadu_si128(c.cast())),
                        _mm256_i32gather_pd::<8>(x, _mm_loadu_si128(c.add(4).cast())),
                    ];
                }
                let g = |i: usize| *x.add(*c.add(i) as usize);
                [_mm256_setr_pd(g(0), g(1), g(2), g(3)), _mm256_setr_pd(g(4), g(5), g(6), g(7))]
            }
        }
    }
    impl Lanes<f64> for Avx512 {
        type V = __m512d;
        #[inline(always)]
        unsafe fn splat(a: f64) -> Self::V {
            unsafe { _mm512_set1_pd(a) }
        }
        #[inline(always)]
        unsafe fn read(from: *const f64) -> Self::V {
            unsafe { _mm512_loadu_pd(from) }
        }
        #[inline(always)]
        unsafe fn write(to: *mut f64, v: Self::V) {
            unsafe { _mm512_storeu_pd(to, v) }
        }
        #[inline(always)]
        unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
            unsafe { _mm512_add_pd(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
            unsafe { _mm512_mul_pd(a, b) }
        }
        #[inline(always)]
        unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            unsafe { _mm512_fmadd_pd(a, b, c) }
        }
        #[inline(always)]
        unsafe fn mask(v: Self::V, from: usize) -> Self::V {
            unsafe {
                let m = (0xff00ffu32 >> from) as u8;
                _mm512_maskz_mov_pd(m, v)
            }
        }
        #[inline(always)]
        unsafe fn sum(v: Self::V) -> f64 {
            unsafe { <Avx2 as Lanes<f64>>::sum([_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v)]) }
        }
        #[inline(always)]
        unsafe fn sum_each(v: [Self::V; 8]) -> Self::V {
            unsafe {
                let pair = |a, b| _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
                let quad = |p, q| {
                    // 128-bit parts: p0+p1, p2+p3, q0+q1, q2+q3
                    _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(p, q), _mm512_shuffle_f64x2::<0xdd>(p, q))
                };
                let p = quad(pair(v[0], v[1]), pair(v[2], v[3]));
                let q = quad(pair(v[4], v[5]), pair(v[6], v[7]));
                quad(p, q)
            }
        }
    }
    impl Source<f64> for Avx512 {
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self::V {
            unsafe { Self::read(from) }
        }
        #[inline(always)]
        unsafe fn gather(x: *const f64, c: *const u32) -> Self::V {
            unsafe {
                if HW {
                    return _mm512_i32gather_pd::<8>(_mm256_loadu_si256(c.cast()), x);
                }
                let g = |i: usize| *x.add(*c.add(i) as usize);
                _mm512_setr_pd(g(0), g(1), g(2), g(3), g(4), g(5), g(6), g(7))
            }
        }
    }
}
