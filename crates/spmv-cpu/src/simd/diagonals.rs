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
    // SAFETY: every piece has the rows, as was just checked; features by contract.
    unsafe {
        match onto {
            Onto::Zero => add_some::<T, L, true>(pieces, sums),
            Onto::Sums => add_some::<T, L, false>(pieces, sums),
        }
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
    sums: &mut [T::Accum],
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
    sums: &mut [T::Accum],
) {
    let after = sums.len() / LANES * LANES;
    let of_vals = pieces.map(|(vals, _)| vals.as_ptr());
    let of_x = pieces.map(|(_, x)| x.as_ptr());
    let (eights, rest) = sums.as_chunks_mut::<LANES>();
    for (i, eight) in eights.iter_mut().enumerate() {
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
    for (at, sum) in (after..).zip(rest) {
        if FROM_ZERO {
            *sum = T::Accum::default();
        }
        let products = pieces.iter().filter(|(vals, _)| vals[at] != <T::Val as Default>::default());
        products.for_each(|(vals, x)| *sum += T::of_val(vals[at]) * T::of_x(x[at]));
    }
}
