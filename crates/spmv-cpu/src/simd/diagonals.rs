//! Sums of rows that lie on diagonals: no column is read, and eight rows are next to each other in every array.

use super::loops::{INTO_L1, Sources, prefetch_lines};
use super::operand::{LANES, Onto, Piece, SimdValue};

/// Diagonals whose addresses fit the registers of a core.
pub(crate) const AT_ONCE: usize = 5;
/// Values that come later are asked for.
const AHEAD_BYTES: usize = 512;

/// Body of [`SimdValue::diagonals`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn diagonals<T: SimdValue, L: Sources<T>>(
    pieces: &[Piece<'_, T>],
    sums: &mut [T::Accum],
    onto: Onto,
) {
    let n = sums.len();
    assert!(pieces.iter().all(|(vals, x)| vals.len() == n && x.len() == n), "pieces of {n} rows");
    let (eights, rest) = sums.as_chunks_mut();
    // SAFETY: every piece has the rows, as was just checked; features by contract.
    unsafe {
        match onto {
            Onto::Zero => add_some::<T, L, true>(pieces, eights),
            Onto::Sums => add_some::<T, L, false>(pieces, eights),
        }
        add_rest::<T, L>(pieces, n - rest.len(), rest, onto);
    }
}

/// As [`add`], of at most [`AT_ONCE`] diagonals.
///
/// # Safety
///
/// As for [`add`].
#[inline(always)]
unsafe fn add_some<T: SimdValue, L: Sources<T>, const FROM_ZERO: bool>(
    pieces: &[Piece<'_, T>],
    sums: &mut [[T::Accum; LANES]],
) {
    // SAFETY: by contract.
    unsafe {
        match *pieces {
            [] => add::<T, L, 0, FROM_ZERO>(&[], sums),
            [a] => add::<T, L, 1, FROM_ZERO>(&[a], sums),
            [a, b] => add::<T, L, 2, FROM_ZERO>(&[a, b], sums),
            [a, b, c] => add::<T, L, 3, FROM_ZERO>(&[a, b, c], sums),
            [a, b, c, d] => add::<T, L, 4, FROM_ZERO>(&[a, b, c, d], sums),
            [a, b, c, d, e] => add::<T, L, 5, FROM_ZERO>(&[a, b, c, d, e], sums),
            _ => panic!("{} diagonals, of at most {AT_ONCE}", pieces.len()),
        }
    }
}

/// Adds the products of some diagonals to the sums, or to zero.
///
/// # Safety
///
/// As for [`diagonals`], and pieces have as many rows as there are sums.
#[inline(always)]
unsafe fn add<T: SimdValue, L: Sources<T>, const N: usize, const FROM_ZERO: bool>(
    pieces: &[Piece<'_, T>; N],
    sums: &mut [[T::Accum; LANES]],
) {
    let (mut of_vals, mut of_x) = ([std::ptr::null(); N], [std::ptr::null(); N]);
    for (((vals, x), of_vals), of_x) in pieces.iter().zip(&mut of_vals).zip(&mut of_x) {
        (*of_vals, *of_x) = (vals.as_ptr(), x.as_ptr());
    }
    // SAFETY: every piece has the rows; features by contract.
    let n_done = unsafe { L::add_wide::<N, FROM_ZERO, AHEAD_BYTES>(&of_vals, &of_x, sums) };
    for (i, eight) in sums.iter_mut().enumerate().skip(n_done) {
        // SAFETY: every piece has the eight rows; features by contract.
        unsafe {
            for vals in &of_vals {
                let ahead = vals.wrapping_add(i * LANES).wrapping_byte_add(AHEAD_BYTES);
                prefetch_lines::<INTO_L1, _>(ahead, LANES * size_of::<T::Val>());
            }
            let mut sum = if FROM_ZERO { L::splat(T::Accum::default()) } else { L::read(eight.as_ptr()) };
            for (vals, x) in of_vals.iter().zip(&of_x) {
                sum = L::mul_add_nonzero(L::load(vals.add(i * LANES)), L::load(x.add(i * LANES)), sum);
            }
            L::write(eight.as_mut_ptr(), sum);
        }
    }
}

/// The same of fewer rows than a vector has, by the same operations: a row's sum is the same wherever threads cut rows.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn add_rest<T: SimdValue, L: Sources<T>>(
    pieces: &[Piece<'_, T>],
    at: usize,
    sums: &mut [T::Accum],
    onto: Onto,
) {
    for (row, to) in (at..).zip(sums) {
        let mut eight = [T::Accum::default(); LANES];
        // SAFETY: features by contract.
        unsafe {
            let mut sum = L::splat(if onto == Onto::Zero { T::Accum::default() } else { *to });
            for (vals, x) in pieces {
                let (val, x) = (L::splat(T::of_val(vals[row])), L::splat(T::of_x(x[row])));
                sum = L::mul_add_nonzero(val, x, sum);
            }
            L::write(eight.as_mut_ptr(), sum);
        }
        *to = eight[0];
    }
}
