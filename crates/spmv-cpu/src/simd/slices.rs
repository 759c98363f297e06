//! Sums of a slice of `sell`: lanes side by side, each with a run of entries a step.
//!
//! x is gathered by instructions here, under masks: runs end after different numbers of entries, and some lanes have none left. Columns
//! are compared with the length of x in the same masks, so nothing is taken on trust.

// Loops over vectors index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::isa::Isa;
#[cfg(target_arch = "x86_64")]
use super::loops::{INTO_L1, prefetch_lines};
use super::operand::{LENGTHS, NARROW_COLS, NARROW_NONE, NONE, SLICE_LANES, SimdValue, Slice};

/// Sums of the lanes, read one after another.
pub(super) fn scalar<T: SimdValue>(_: Isa, a: &Slice<'_, T>) -> [T::Accum; SLICE_LANES] {
    let mut sums = [T::Accum::default(); SLICE_LANES];
    for step in 0..a.n_steps {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let col = match a.is_narrow {
                true => match a.cols[step / NARROW_COLS * SLICE_LANES + lane] >> (step % NARROW_COLS * 16)
                    & NARROW_NONE
                {
                    NARROW_NONE => NONE,
                    col => col,
                },
                false => a.cols[step * SLICE_LANES + lane],
            };
            if col == NONE {
                continue;
            }
            let last = match a.lengths {
                Some(lengths) => {
                    (lengths[step / LENGTHS * SLICE_LANES + lane] >> (step % LENGTHS * 2) & 3) as usize
                }
                None => a.width - 1,
            };
            for j in 0..=last {
                let val = a.vals[(step * a.width + j) * SLICE_LANES + lane];
                *sum += T::of_val(val) * T::of_x(a.x[(a.base + col) as usize + j]);
            }
        }
    }
    sums
}

/// Vectors of sums and of as many columns.
///
/// Every method is unsafe, as those of [`Lanes`](super::loops::Lanes) are.
#[cfg(target_arch = "x86_64")]
pub(super) trait Gather<T: SimdValue> {
    /// Lanes of a vector.
    const N: usize;
    type Sums: Copy;
    type Words: Copy;
    type Mask: Copy;

    unsafe fn zero() -> Self::Sums;
    unsafe fn store(to: *mut T::Accum, sums: Self::Sums);
    unsafe fn splat_word(word: u32) -> Self::Words;
    /// Words shifted right, of which the bits in `kept` are left.
    unsafe fn bits(from: *const u32, shift: u32, kept: Self::Words) -> Self::Words;
    unsafe fn add(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn max(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn differ(a: Self::Words, b: Self::Words) -> Self::Mask;
    /// Lanes of a mask where `a`, without a sign, is at most `b`.
    unsafe fn at_most(mask: Self::Mask, a: Self::Words, b: Self::Words) -> Self::Mask;
    /// Whether masks are the same.
    unsafe fn same(a: Self::Mask, b: Self::Mask) -> bool;
    /// Adds products of values with the elements of x that columns name, in the lanes of a mask, and reads no others of x.
    unsafe fn mul_add(
        mask: Self::Mask,
        vals: *const T::Val,
        x: *const T::Vector,
        cols: Self::Words,
        sums: Self::Sums,
    ) -> Self::Sums;
}

/// Body of [`SimdValue::slice`].
///
/// # Safety
///
/// The CPU has the features of `G`; there is an x, no longer than signed 32 bits count, and runs have one to four entries.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn sums<T: SimdValue, G: Gather<T>>(a: &Slice<'_, T>) -> [T::Accum; SLICE_LANES] {
    // SAFETY: by contract.
    unsafe {
        match (a.width, a.lengths) {
            (1, _) => sums_of::<T, G, 1, false>(a, &[]),
            (2, None) => sums_of::<T, G, 2, false>(a, &[]),
            (3, None) => sums_of::<T, G, 3, false>(a, &[]),
            (_, None) => sums_of::<T, G, 4, false>(a, &[]),
            (2, Some(lengths)) => sums_of::<T, G, 2, true>(a, lengths),
            (3, Some(lengths)) => sums_of::<T, G, 3, true>(a, lengths),
            (_, Some(lengths)) => sums_of::<T, G, 4, true>(a, lengths),
        }
    }
}

/// As [`sums`] for runs of at most `W` entries.
///
/// # Safety
///
/// As for [`sums`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn sums_of<T: SimdValue, G: Gather<T>, const W: usize, const RAGGED: bool>(
    a: &Slice<'_, T>,
    lengths: &[u32],
) -> [T::Accum; SLICE_LANES] {
    let n_vectors = SLICE_LANES / G::N;
    let halves = usize::from(a.is_narrow);
    assert!(a.vals.len() >= a.n_steps * W * SLICE_LANES, "values of each step");
    assert!(a.cols.len() >= ((a.n_steps + halves) >> halves) * SLICE_LANES, "columns of each step");
    assert!(!RAGGED || lengths.len() >= a.n_steps.div_ceil(LENGTHS) * SLICE_LANES, "lengths of each step");
    let mut to = [T::Accum::default(); SLICE_LANES];
    // SAFETY: words and values of each step are there, as was just checked; only such elements of x are read as have been found to be
    // before its end; features by contract.
    unsafe {
        let none = G::splat_word(if a.is_narrow { NARROW_NONE } else { NONE });
        let (base, end) = (G::splat_word(a.base), G::splat_word(a.x.len() as u32 - 1));
        let (ones, most) = (G::splat_word(3), G::splat_word(W as u32 - 1));
        let counts: [G::Words; 4] = [G::splat_word(0), G::splat_word(1), G::splat_word(2), G::splat_word(3)];
        // At most eight vectors.
        let mut sums = [G::zero(); 8];
        for step in 0..a.n_steps {
            let cols = a.cols.as_ptr().add((step >> halves) * SLICE_LANES);
            let vals = a.vals.as_ptr().add(step * W * SLICE_LANES);
            prefetch::<T::Val, W>(cols, vals);
            for v in 0..n_vectors {
                let codes = G::bits(cols.add(v * G::N), ((step & halves) * 16) as u32, none);
                let is_run = G::differ(codes, none);
                let cols = G::add(codes, base);
                let last = match RAGGED {
                    true => {
                        let word = lengths.as_ptr().add(step / LENGTHS * SLICE_LANES + v * G::N);
                        G::bits(word, (step % LENGTHS * 2) as u32, ones)
                    }
                    false => most,
                };
                // The sum may wrap around, but then the column itself is beyond the end.
                let inside = G::at_most(is_run, G::max(cols, G::add(cols, last)), end);
                assert!(G::same(inside, is_run), "columns beyond an x of {}", a.x.len());
                for j in 0..W {
                    let mask = if RAGGED && j > 0 { G::at_most(inside, counts[j], last) } else { inside };
                    let vals = vals.add(j * SLICE_LANES + v * G::N);
                    sums[v] = G::mul_add(mask, vals, a.x.as_ptr().wrapping_add(j), cols, sums[v]);
                }
            }
        }
        for v in 0..n_vectors {
            G::store(to.as_mut_ptr().add(v * G::N), sums[v]);
        }
    }
    to
}

/// Asks for what comes some steps after: the hardware alone does not keep up, as in the loops over CSR.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch<T, const W: usize>(cols: *const u32, vals: *const T) {
    const AHEAD_BYTES: usize = 4096;
    prefetch_lines::<INTO_L1, _>(cols.wrapping_byte_add(AHEAD_BYTES), SLICE_LANES * size_of::<u32>());
    prefetch_lines::<INTO_L1, _>(vals.wrapping_byte_add(AHEAD_BYTES), W * SLICE_LANES * size_of::<T>());
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use spmv_core::Value;

    use super::super::operand::Form;
    use super::*;
    use crate::numbers::for_all_numbers;

    /// Of x, all of whose elements some run reads, but for the first, which is NaN.
    const N_COLS: u32 = 120;
    const BASE: u32 = 7;

    struct Case<T: SimdValue> {
        form: Form,
        words: Vec<u32>,
        vals: Vec<T::Val>,
        x: Vec<T::Vector>,
        /// Of each lane.
        sums: Vec<f64>,
    }

    impl<T: SimdValue> Case<T> {
        fn new(form: Form) -> Self {
            let mut seed = 1_u32;
            let mut next = |below: u32| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 8) % below
            };
            let Form { n_steps, width, is_narrow, is_ragged } = form;
            let x: Vec<f64> =
                (0..N_COLS).map(|i| if i < BASE { f64::NAN } else { f64::from(next(64)) / 16.0 }).collect();
            let n_lengths = if is_ragged { n_steps.div_ceil(LENGTHS) * SLICE_LANES } else { 0 };
            let mut words = vec![NONE; n_lengths + n_steps * SLICE_LANES];
            // What is read of a slot without an entry shows.
            let mut vals = vec![f64::NAN; n_steps * width * SLICE_LANES];
            let mut sums = vec![0.0; SLICE_LANES];
            for lane in 0..SLICE_LANES {
                for step in 0..next(n_steps as u32 + 1) as usize {
                    let len = if is_ragged { 1 + next(width as u32) } else { width as u32 };
                    let code = next(N_COLS - BASE - len + 1);
                    let (bits, of_word) = if is_narrow { (16, 2) } else { (32, 1) };
                    let mut put = |word: usize, shift: usize, mask: u32, bits: u32| {
                        words[word] = words[word] & !(mask << shift) | bits << shift;
                    };
                    let mask = u32::MAX >> (32 - bits);
                    put(n_lengths + step / of_word * SLICE_LANES + lane, step % of_word * bits, mask, code);
                    if is_ragged {
                        put(step / LENGTHS * SLICE_LANES + lane, step % LENGTHS * 2, 3, len - 1);
                    }
                    for j in 0..len {
                        let val = f64::from(next(64)) / 16.0 - 2.0;
                        vals[(step * width + j as usize) * SLICE_LANES + lane] = val;
                        sums[lane] += val * x[(BASE + code + j) as usize];
                    }
                }
            }
            Self {
                form,
                words,
                vals: vals.into_iter().map(Value::from_f64).collect(),
                x: x.into_iter().map(Value::from_f64).collect(),
                sums,
            }
        }

        fn slice(&self) -> Slice<'_, T> {
            Slice::<T>::new(self.form, BASE, &self.words, &self.vals, &self.x)
        }
    }

    fn forms() -> impl Iterator<Item = Form> {
        (1..=4).flat_map(|width| {
            [0, 1, 2, 15, 16, 17, 40].into_iter().flat_map(move |n_steps| {
                [false, true].into_iter().flat_map(move |is_narrow| {
                    [false, true].map(|is_ragged| Form { n_steps, width, is_narrow, is_ragged })
                })
            })
        })
    }

    fn sums_are_right<T: SimdValue>() {
        for (isa, form) in forms().flat_map(|form| Isa::available().into_iter().map(move |isa| (isa, form))) {
            let case = Case::<T>::new(form);
            // Numbers are so short that no sum is rounded.
            assert_eq!(
                T::slice(isa, &case.slice()).map(Value::as_f64).to_vec(),
                case.sums,
                "{isa:?} {form:?}"
            );
        }
    }

    #[test]
    fn each_lane_sums_its_own_runs() {
        for_all_numbers!(sums_are_right);
    }

    #[test]
    fn a_run_that_ends_beyond_x_is_not_read() {
        let form = Form { n_steps: 1, width: 2, is_narrow: false, is_ragged: false };
        for (isa, col) in
            Isa::available().into_iter().flat_map(|isa| [3, 4, 1 << 31, u32::MAX - 1].map(|col| (isa, col)))
        {
            let mut words = [NONE; SLICE_LANES];
            words[5] = col;
            let read = || f64::slice(isa, &Slice::new(form, 0, &words, &[1.0; 2 * SLICE_LANES], &[1.0; 4]));
            assert!(catch_unwind(read).is_err(), "{isa:?} reads column {col} and the next of 4");
        }
    }
}
