//! What `f32` has of its own with AVX-512: masks, and sums on diagonals in 512 bits.

use std::arch::x86_64::*;

use super::loops::{INTO_L1, Sources, prefetch_lines};
use super::operand::LANES;
use super::x86::{Avx512, first_lanes, methods};

/// Sums in a vector of 512 bits.
const WIDE: usize = 2 * LANES;

impl Sources<f32> for Avx512 {
    methods! {
        fn add_first(vals: *const f32, x: *const f32, n: usize, sums: __m256) -> __m256 {
            let mask = first_lanes(n);
            _mm256_mask3_fmadd_ps(_mm256_loadu_ps(vals), _mm256_maskz_loadu_ps(mask, x), sums, mask)
        }
        fn add_some(vals: *const f32, x: *const f32, cols: &[u32; 8], sums: __m256) -> __m256 {
            let cols = _mm256_loadu_si256(cols.as_ptr().cast());
            let mask = _mm256_cmpneq_epi32_mask(cols, _mm256_set1_epi32(-1));
            let x = _mm256_mmask_i32gather_ps::<4>(_mm256_setzero_ps(), mask, cols, x);
            _mm256_mask3_fmadd_ps(_mm256_loadu_ps(vals), x, sums, mask)
        }
    }

    #[inline(always)]
    unsafe fn add_wide<const N: usize, const FROM_ZERO: bool, const AHEAD_BYTES: usize>(
        vals: &[*const f32; N],
        x: &[*const f32; N],
        sums: &mut [[f32; LANES]],
    ) -> usize {
        let (pairs, _) = sums.as_chunks_mut::<2>();
        for (i, pair) in pairs.iter_mut().enumerate() {
            let to = pair.as_mut_ptr().cast::<f32>();
            // SAFETY: there are so many values, elements of x and sums, by contract; features by contract.
            unsafe {
                let mut sum = if FROM_ZERO { _mm512_setzero_ps() } else { _mm512_loadu_ps(to) };
                for (vals, x) in vals.iter().zip(x) {
                    let (at, x) = (vals.add(i * WIDE), _mm512_loadu_ps(x.add(i * WIDE)));
                    prefetch_lines::<INTO_L1, _>(at.wrapping_byte_add(AHEAD_BYTES), WIDE * size_of::<f32>());
                    let val = _mm512_loadu_ps(at);
                    let held = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(val, _mm512_setzero_ps());
                    sum = _mm512_mask3_fmadd_ps(val, x, sum, held);
                }
                _mm512_storeu_ps(to, sum);
            }
        }
        2 * pairs.len()
    }
}
