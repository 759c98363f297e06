//! Sums of rows for several right-hand sides at once: an entry is broadcast, and multiplies a row of a panel.

use super::loops::{LANES, Source, prefetch_lines};
use super::operand::{PanelRows, SimdValue};
use crate::kernels::prelude::store;

/// Vectors of a panel at most: as many sums as leave registers for what is loaded.
const MOST: usize = PanelRows::<f32>::MOST_COLUMNS / LANES;
/// Entries whose row of the panel is asked for ahead: neither L2 nor memory is waited for then.
const AHEAD: usize = 16;

#[cold]
#[inline(never)]
fn beyond(at: usize, columns: usize, len: usize) -> ! {
    panic!("{columns} columns from value {at} on, of {len}");
}

/// Sums of a row for the columns of `N` vectors, of which the last has `n_last`, each in `SETS` sums side by side.
///
/// # Safety
///
/// The CPU has the features of `L`, and `1 <= n_last <= LANES`.
#[inline(always)]
unsafe fn row<T: SimdValue, L: Source<T>, const N: usize, const SETS: usize>(
    a: &PanelRows<'_, T>,
    n_last: usize,
    (start, stop): (usize, usize),
) -> [L::V; N] {
    let (cols, vals) = (&a.cols[start..stop], &a.vals[start..stop]);
    let (x, len) = (a.x.as_ptr(), a.x.len());
    // SAFETY: features by contract; each row of x was found to end before x does.
    unsafe {
        let zero = L::splat(T::Accum::default());
        let mut sums = [[zero; N]; SETS];
        for (i, (col, val)) in cols.iter().zip(vals).enumerate() {
            // What is prefetched may be of the rows that come next, or nothing.
            let ahead = a.cols.get(start + i + AHEAD).copied().unwrap_or(0) as usize * a.x_stride;
            prefetch_lines(x.wrapping_add(ahead), N * LANES * size_of::<T>());
            let at = *col as usize * a.x_stride;
            if at + (N - 1) * LANES + n_last > len {
                beyond(at, (N - 1) * LANES + n_last, len);
            }
            let val = L::splat(val.to_accum());
            let of_set = &mut sums[i % SETS];
            for (k, sum) in of_set.iter_mut().enumerate() {
                let from = x.add(at + k * LANES);
                let is_whole = k + 1 < N || n_last == LANES;
                let of_x = if is_whole { L::load(from) } else { L::load_first(from, n_last) };
                *sum = L::mul_add(val, of_x, *sum);
            }
        }
        let mut total = sums[0];
        for set in &sums[1..] {
            for (total, sum) in total.iter_mut().zip(set) {
                *total = L::add(*total, *sum);
            }
        }
        total
    }
}

/// All rows, for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn rows<T: SimdValue, L: Source<T>, const N: usize, const SETS: usize>(
    a: &PanelRows<'_, T>,
    row_ptr: &[u32],
    (alpha, beta): (T::Accum, T::Accum),
    y: &mut [T::Accum],
    (y_stride, y_at): (usize, usize),
) {
    let n_last = a.columns - (N - 1) * LANES;
    for (i, ends) in row_ptr.windows(2).enumerate() {
        let mut sums = [T::Accum::default(); MOST * LANES];
        // SAFETY: features by contract; there is room for `MOST` vectors, and `N` is no more.
        unsafe {
            let of_row = row::<T, L, N, SETS>(a, n_last, (ends[0] as usize, ends[1] as usize));
            for (k, of_row) in of_row.into_iter().enumerate() {
                L::write(sums.as_mut_ptr().add(k * LANES), of_row);
            }
        }
        let y = &mut y[i * y_stride + y_at..][..a.columns];
        for (y, sum) in y.iter_mut().zip(sums) {
            *y = store(alpha, sum, beta, *y);
        }
    }
}

/// Body of [`SimdValue::panel`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn panel<T: SimdValue, L: Source<T>>(
    a: &PanelRows<'_, T>,
    row_ptr: &[u32],
    scaling: (T::Accum, T::Accum),
    y: &mut [T::Accum],
    at: (usize, usize),
) {
    // SAFETY: features by contract.
    unsafe {
        match a.columns {
            0 => {}
            1..=8 => rows::<T, L, 1, 4>(a, row_ptr, scaling, y, at),
            9..=16 => rows::<T, L, 2, 2>(a, row_ptr, scaling, y, at),
            17..=24 => rows::<T, L, 3, 1>(a, row_ptr, scaling, y, at),
            25..=32 => rows::<T, L, 4, 1>(a, row_ptr, scaling, y, at),
            columns => panic!("{columns} columns in a panel of {}", PanelRows::<T>::MOST_COLUMNS),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use spmv_core::{Value, bf16, f16};

    use super::super::isa::Isa;
    use super::*;

    /// Of small integers, so that no sum is rounded.
    fn check_sums<T: SimdValue>() {
        let of = |n: usize, f: &dyn Fn(usize) -> f64| (0..n).map(|i| T::from_f64(f(i))).collect::<Vec<_>>();
        let row_ptr = [0u32, 3, 3, 10, 11, 40];
        let cols: Vec<u32> = (0..40).map(|i| i * 7 % 9).collect();
        let vals = of(40, &|i| (i % 5) as f64 - 2.0);
        for (columns, x_stride, y_stride) in [(1, 1, 1), (3, 5, 4), (8, 8, 8), (13, 13, 20), (32, 40, 33)] {
            let x = of(8 * x_stride + columns, &|i| (i % 7) as f64 - 3.0);
            for isa in Isa::available() {
                let mut y = vec![<T::Accum as Value>::from_f64(2.0); 4 * y_stride + columns + 1];
                let a = PanelRows { cols: &cols, vals: &vals, x: &x, x_stride, columns };
                let half = <T::Accum as Value>::from_f64(0.5);
                T::panel(
                    isa,
                    &a,
                    &row_ptr,
                    (<T::Accum as Value>::from_f64(2.0), half),
                    &mut y,
                    (y_stride, 1),
                );
                let mut wanted = vec![2.0; y.len()];
                for (row, ends) in row_ptr.windows(2).enumerate() {
                    for column in 0..columns {
                        let products = (ends[0] as usize..ends[1] as usize).map(|e| {
                            let x = x[cols[e] as usize * x_stride + column];
                            vals[e].to_accum().as_f64() * x.to_accum().as_f64()
                        });
                        wanted[row * y_stride + 1 + column] = 2.0 * products.sum::<f64>() + 1.0;
                    }
                }
                let found: Vec<f64> = y.iter().map(|y| y.as_f64()).collect();
                assert_eq!(found, wanted, "{isa:?}, {columns} columns");
            }
        }
    }

    #[test]
    fn each_column_has_sums_of_its_own_and_nothing_else_is_written() {
        check_sums::<f64>();
        check_sums::<f32>();
        check_sums::<f16>();
        check_sums::<bf16>();
    }

    #[test]
    fn rows_beyond_x_or_the_entries_are_refused() {
        let (cols, vals, x) = ([0, 2], [1.0f64, 1.0], [0.0; 9]);
        for isa in Isa::available() {
            let a = PanelRows { cols: &cols, vals: &vals, x: &x, x_stride: 3, columns: 3 };
            let refuses = |a: PanelRows<'_, f64>, row_ptr: &[u32]| {
                catch_unwind(|| f64::panel(isa, &a, row_ptr, (1.0, 0.0), &mut [0.0; 3], (3, 0))).is_err()
            };
            assert!(!refuses(a, &[0, 2]));
            assert!(refuses(PanelRows { x: &x[..8], ..a }, &[0, 2]), "{isa:?}");
            assert!(refuses(PanelRows { vals: &vals[..1], ..a }, &[0, 2]), "{isa:?}");
            assert!(refuses(a, &[0, 3]), "{isa:?}");
            assert!(refuses(a, &[0, 1, 2]), "{isa:?}");
            assert!(refuses(PanelRows { columns: 33, x_stride: 0, ..a }, &[0, 2]), "{isa:?}");
        }
    }
}
