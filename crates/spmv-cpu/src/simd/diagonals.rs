//! Sums of rows that lie on diagonals: no column is read, and eight rows are next to each other in every array.

use super::loops::Sources;
use super::operand::{LANES, Piece, SimdValue};

/// Body of [`SimdValue::diagonals`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn diagonals<T: SimdValue, L: Sources<T>>(pieces: &[Piece<'_, T>], sums: &mut [T::Accum]) {
    let n = sums.len();
    assert!(pieces.iter().all(|(vals, x)| vals.len() == n && x.len() == n), "pieces of {n} rows");
    let (eights, rest) = sums.as_chunks_mut::<LANES>();
    let after = n - rest.len();
    for (i, eight) in eights.iter_mut().enumerate() {
        // SAFETY: every piece has the eight rows, as was just checked; features by contract.
        unsafe {
            let mut sum = L::read(eight.as_ptr());
            for (vals, x) in pieces {
                let (val, x) = (vals.as_ptr().add(i * LANES), x.as_ptr().add(i * LANES));
                sum = L::mul_add_nonzero(L::load(val), L::load(x), sum);
            }
            L::write(eight.as_mut_ptr(), sum);
        }
    }
    for (at, sum) in (after..n).zip(rest) {
        let products = pieces.iter().filter(|(vals, _)| vals[at] != <T::Val as Default>::default());
        products.for_each(|(vals, x)| *sum += T::of_val(vals[at]) * T::of_x(x[at]));
    }
}
