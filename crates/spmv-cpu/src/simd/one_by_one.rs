//! Rows one after another, each in a loop of its own length.
//!
//! What other loops do to avoid branches on the lengths of rows costs more than the branches, where a core remembers from product to product how each
//! of them goes.

use super::operand::{Operand, SimdValue};

/// Entries that a step of a row takes.
const STEP: usize = 4;

/// Gives `store` the sum of each row and its element of `y`, which becomes what that returns.
///
/// # Panics
///
/// Unless there is one more end than rows, and ends never decrease and stay within the entries.
// By itself it has the registers that it needs.
#[inline(never)]
pub(crate) fn one_by_one<T: SimdValue>(
    a: &Operand<'_, T>,
    row_ptr: &[u32],
    y: &mut [T::Accum],
    store: impl Fn(T::Accum, T::Accum) -> T::Accum,
) {
    assert_eq!(row_ptr.len(), y.len() + 1, "one row more than ends");
    let a = *a;
    let mut e = row_ptr[0] as usize;
    for (y, end) in y.iter_mut().zip(&row_ptr[1..]) {
        let end = *end as usize;
        assert!(e <= end && end <= a.cols.len(), "row pointers out of order or range");
        let (mut even, mut odd) = (T::Accum::default(), T::Accum::default());
        // SAFETY: all are before `end`, which was just checked.
        unsafe {
            while end - e >= STEP {
                even += product(a, e);
                odd += product(a, e + 1);
                even += product(a, e + 2);
                odd += product(a, e + 3);
                e += STEP;
            }
            // Branches rather than a jump by a table, of which less is remembered.
            if end - e >= 2 {
                even += product(a, e);
                odd += product(a, e + 1);
                e += 2;
            }
            if e < end {
                even += product(a, e);
                e += 1;
            }
        }
        *y = store(even + odd, *y);
    }
}

/// The product of an entry with its `x`.
///
/// # Safety
///
/// `e < a.cols.len()`.
// Not a closure, which may stay a call.
#[inline(always)]
unsafe fn product<T: SimdValue>(a: Operand<'_, T>, e: usize) -> T::Accum {
    // SAFETY: there are as many values as columns, which are in range by the operand's contract.
    unsafe {
        let col = *a.cols.get_unchecked(e) as usize;
        T::of_val(*a.vals.get_unchecked(e)) * T::of_x(*a.x.get_unchecked(col))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::super::operand::Columns;
    use super::*;

    const COLS: [u32; 12] = [2, 0, 1, 2, 1, 0, 0, 2, 1, 1, 2, 0];
    const VALS: [f64; 12] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
    const X: [f64; 3] = [1.0, 100.0, 10000.0];

    fn sums(row_ptr: &[u32]) -> Vec<f64> {
        // SAFETY: all are less than 3.
        let cols = unsafe { Columns::new_unchecked(&COLS, X.len()) };
        let a = Operand::<f64>::new(cols, &VALS, &X);
        let mut y = vec![0.5; row_ptr.len() - 1];
        one_by_one(&a, row_ptr, &mut y, |sum, y| sum + y);
        y
    }

    #[test]
    fn each_row_is_summed_whatever_its_length() {
        for (start, end) in (0..=12).flat_map(|start| (start..=12).map(move |end| (start, end))) {
            let of = |rows: std::ops::Range<usize>| -> f64 {
                0.5 + rows.map(|e| VALS[e] * X[COLS[e] as usize]).sum::<f64>()
            };
            let ends = [0, start as u32, end as u32, end as u32, 12];
            assert_eq!(sums(&ends), [of(0..start), of(start..end), 0.5, of(end..12)], "{ends:?}");
        }
    }

    #[test]
    fn ends_that_decrease_or_lie_beyond_are_refused() {
        for ends in [&[0, 5, 4][..], &[0, 13], &[0, 13, 12], &[13, 12], &[5, 4]] {
            assert!(catch_unwind(|| sums(ends)).is_err(), "{ends:?}");
        }
        assert_eq!(sums(&[12, 12]), [0.5]);
    }
}
