//! Sums of rows for several right-hand sides at once: an entry is broadcast, and multiplies a row of a panel.

use std::ops::Range;

use spmv_core::Value;

use super::loops::{INTO_L1, Sources, eight_mut, prefetch_lines, store};
use super::operand::{LANES, PanelRows, SimdValue};
use crate::numbers::Numbers;

/// Entries whose row of x is asked for ahead, where the rows that a call reads span more than `CACHE` bytes: neither L3 nor memory is waited for
/// then.
const AHEAD: usize = 16;
const CACHE: usize = 2 << 20;
/// Entries whose columns and values are asked for ahead, as in the loops over CSR: 4 KiB of columns.
const FAR_AHEAD: usize = 1024;
/// Rows whose entries are asked for together.
const ROWS_AHEAD: usize = 8;

/// What all rows of a panel have in common.
#[derive(Clone, Copy)]
struct Shared {
    /// Columns of the last vector.
    n_last: usize,
    /// The first entry and the end, between which every column has a row of x.
    first: usize,
    end: usize,
    prefetches: bool,
}

impl Shared {
    /// Of a panel whose last vector has `n_last` columns.
    #[inline(always)]
    fn of<T: Numbers>(a: &PanelRows<'_, T>, row_ptr: &[u32], n_last: usize) -> Self {
        // Without a row of x there is no column, and no entry is allowed.
        assert!(a.columns <= a.x.len() || row_ptr.first() == row_ptr.last(), "entries without an x");
        let most = a.x.len().saturating_sub(a.columns) / a.x_stride.max(1);
        let [first, end] = [row_ptr[0], row_ptr[row_ptr.len() - 1]].map(|e| e as usize);
        let n_entries = a.cols.len().min(a.vals.len());
        assert!(first <= end && end <= n_entries, "entries {first} to {end} of {n_entries}");
        let (mut low, mut high) = (u32::MAX, 0);
        for col in &a.cols[first..end] {
            low = low.min(*col);
            high = high.max(*col);
        }
        if first < end && high as usize > most {
            beyond(high as usize, most);
        }
        let spanned = high.saturating_sub(low) as usize;
        Self {
            n_last,
            first,
            end,
            prefetches: spanned.saturating_mul(a.x_stride * size_of::<T::Vector>()) > CACHE,
        }
    }

    /// The entries of a row, which are among those that were checked.
    #[inline(always)]
    fn row(&self, start: u32, end: u32) -> Range<usize> {
        let (start, end) = (start as usize, end as usize);
        assert!(self.first <= start && start <= end && end <= self.end, "entries {start} to {end}");
        start..end
    }
}

#[cold]
#[inline(never)]
fn beyond(col: usize, most: usize) -> ! {
    panic!("column {col}, of which x has no row: the last is {most}");
}

/// Where the row of x for entry `e` is; that of an entry ahead is asked for.
///
/// # Safety
///
/// As for [`add`].
#[inline(always)]
unsafe fn row_of_x<T: Numbers>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    e: usize,
    bytes: usize,
) -> *const T::Vector {
    let x = a.x.as_ptr();
    // SAFETY: columns up to `e` are there, and so is the one ahead before the end; the row of x was found to be there.
    unsafe {
        if shared.prefetches && e + AHEAD < a.cols.len() {
            // It may be of the rows that come next, or of none.
            let row = (*a.cols.get_unchecked(e + AHEAD) as usize).wrapping_mul(a.x_stride);
            prefetch_lines::<INTO_L1, _>(x.wrapping_add(row), bytes);
        }
        x.add(*a.cols.get_unchecked(e) as usize * a.x_stride)
    }
}

/// Asks for as many columns and values as some rows from `row` on have, which come long after those.
#[inline(always)]
fn prefetch_entries<T: Numbers>(a: &PanelRows<'_, T>, row_ptr: &[u32], row: usize) {
    let start = row_ptr[row] as usize;
    let n =
        (row_ptr[(row + ROWS_AHEAD).min(row_ptr.len() - 1)] as usize).saturating_sub(start).min(FAR_AHEAD);
    prefetch_lines::<INTO_L1, _>(a.cols.as_ptr().wrapping_add(start + FAR_AHEAD), n * size_of::<u32>());
    prefetch_lines::<INTO_L1, _>(a.vals.as_ptr().wrapping_add(start + FAR_AHEAD), n * size_of::<T::Val>());
}

/// Adds the products of entry `e` to sums for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `L`, `e` is among the entries that `shared` is of, and `1 <= n_last <= LANES`, of which it is all if `WHOLE`.
#[inline(always)]
unsafe fn add<T: SimdValue, L: Sources<T>, const N: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    e: usize,
    sums: &mut [L::V; N],
) {
    // SAFETY: by contract.
    unsafe {
        let from = row_of_x(a, shared, e, N * LANES * size_of::<T::Vector>());
        let val = L::splat(T::of_val(*a.vals.get_unchecked(e)));
        for (k, sum) in sums.iter_mut().enumerate() {
            let from = from.add(k * LANES);
            let is_whole = WHOLE || k + 1 < N;
            let of_x = if is_whole { L::load(from) } else { L::load_first(from, shared.n_last) };
            *sum = L::mul_add(val, of_x, *sum);
        }
    }
}

/// Sums of a row for the columns of `N` vectors, each in `SETS` sums side by side.
///
/// # Safety
///
/// As for [`add`], of all entries of the row.
#[inline(always)]
unsafe fn row<T: SimdValue, L: Sources<T>, const N: usize, const SETS: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    entries: Range<usize>,
) -> [L::V; N] {
    let whole = entries.start + entries.len() / SETS * SETS;
    // SAFETY: by contract.
    unsafe {
        let zero = L::splat(T::Accum::default());
        let mut sums = [[zero; N]; SETS];
        for e in (entries.start..whole).step_by(SETS) {
            for (i, sums) in sums.iter_mut().enumerate() {
                add::<T, L, N, WHOLE>(a, shared, e + i, sums);
            }
        }
        for e in whole..entries.end {
            add::<T, L, N, WHOLE>(a, shared, e, &mut sums[0]);
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

/// Columns of half a vector.
const HALF: usize = LANES / 2;

/// Sums of a row for four columns, of entries that take turns: vectors of half the size, which compilers make of such arrays.
///
/// # Safety
///
/// As for [`add`], of all entries of the row.
#[inline(always)]
unsafe fn row_of_four<T: SimdValue>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    entries: Range<usize>,
) -> [T::Accum; HALF] {
    const TURNS: usize = 4;
    let mut sums = [[T::Accum::default(); HALF]; TURNS];
    let whole = entries.start + entries.len() / TURNS * TURNS;
    // SAFETY: by contract.
    unsafe {
        let mut e = entries.start;
        while e < whole {
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = row_of_x(a, shared, e + i, HALF * size_of::<T::Vector>())
                    .cast::<[T::Vector; HALF]>()
                    .read_unaligned();
                let val = T::of_val(*a.vals.get_unchecked(e + i));
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum += val * T::of_x(x);
                }
            }
            e += TURNS;
        }
        while e < entries.end {
            let x = row_of_x(a, shared, e, HALF * size_of::<T::Vector>())
                .cast::<[T::Vector; HALF]>()
                .read_unaligned();
            let val = T::of_val(*a.vals.get_unchecked(e));
            for (sum, x) in sums[0].iter_mut().zip(x) {
                *sum += val * T::of_x(x);
            }
            e += 1;
        }
    }
    std::array::from_fn(|k| (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]))
}

/// All rows, for four columns of values that are sums too.
///
/// # Safety
///
/// As for [`rows`].
#[inline(always)]
unsafe fn rows_of_four<T: SimdValue>(
    a: &PanelRows<'_, T>,
    row_ptr: &[u32],
    (alpha, beta): (T::Accum, T::Accum),
    y: &mut [T::Accum],
    (y_stride, y_at): (usize, usize),
) {
    let shared = Shared::of(a, row_ptr, HALF);
    for (i, ends) in row_ptr.windows(2).enumerate() {
        if i % ROWS_AHEAD == 0 {
            prefetch_entries(a, row_ptr, i);
        }
        // SAFETY: by contract; the entries are there.
        let sums = unsafe { row_of_four(a, shared, shared.row(ends[0], ends[1])) };
        let y = &mut y[i * y_stride + y_at..][..HALF];
        for (y, sum) in y.iter_mut().zip(sums) {
            *y = crate::kernels::prelude::store(alpha, sum, beta, *y);
        }
    }
}

/// All rows, for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn rows<T: SimdValue, L: Sources<T>, const N: usize, const SETS: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    row_ptr: &[u32],
    (alpha, beta): (T::Accum, T::Accum),
    y: &mut [T::Accum],
    (y_stride, y_at): (usize, usize),
) {
    let shared = Shared::of(a, row_ptr, a.columns - (N - 1) * LANES);
    for (i, ends) in row_ptr.windows(2).enumerate() {
        if i % ROWS_AHEAD == 0 {
            prefetch_entries(a, row_ptr, i);
        }
        let entries = shared.row(ends[0], ends[1]);
        let y = &mut y[i * y_stride + y_at..][..a.columns];
        // SAFETY: features by contract; the entries are there, as was just checked.
        unsafe {
            let sums = row::<T, L, N, SETS, WHOLE>(a, shared, entries);
            for (y, sums) in y.chunks_mut(LANES).zip(sums) {
                if y.len() == LANES {
                    store::<T::Accum, L>(eight_mut(y, 0), sums, alpha, beta);
                    continue;
                }
                let mut each = [T::Accum::default(); LANES];
                L::write(each.as_mut_ptr(), sums);
                for (y, sum) in y.iter_mut().zip(each) {
                    *y = crate::kernels::prelude::store(alpha, sum, beta, *y);
                }
            }
        }
    }
}

/// Body of [`SimdValue::panel`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn panel<T: SimdValue, L: Sources<T>>(
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
            HALF if T::Vector::DTYPE == T::Accum::DTYPE => rows_of_four(a, row_ptr, scaling, y, at),
            8 => rows::<T, L, 1, 4, true>(a, row_ptr, scaling, y, at),
            16 => rows::<T, L, 2, 2, true>(a, row_ptr, scaling, y, at),
            24 => rows::<T, L, 3, 1, true>(a, row_ptr, scaling, y, at),
            32 => rows::<T, L, 4, 1, true>(a, row_ptr, scaling, y, at),
            1..8 => rows::<T, L, 1, 4, false>(a, row_ptr, scaling, y, at),
            9..16 => rows::<T, L, 2, 2, false>(a, row_ptr, scaling, y, at),
            17..24 => rows::<T, L, 3, 1, false>(a, row_ptr, scaling, y, at),
            25..32 => rows::<T, L, 4, 1, false>(a, row_ptr, scaling, y, at),
            columns => panic!("{columns} columns in a panel of {}", PanelRows::<T>::MOST_COLUMNS),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::super::isa::Isa;
    use super::*;
    use crate::numbers::for_all_numbers;

    /// Of small integers, so that no sum is rounded.
    fn check_sums<T: SimdValue>() {
        fn of<E: Value>(n: usize, f: impl Fn(usize) -> f64) -> Vec<E> {
            (0..n).map(|i| E::from_f64(f(i))).collect()
        }
        let row_ptr = [0u32, 3, 3, 10, 11, 40];
        let cols: Vec<u32> = (0..40).map(|i| i * 7 % 9).collect();
        let vals: Vec<T::Val> = of(40, |i| (i % 5) as f64 - 2.0);
        for (columns, x_stride, y_stride) in
            [(1, 1, 1), (3, 5, 4), (4, 4, 4), (4, 6, 5), (8, 8, 8), (13, 13, 20), (24, 24, 24), (32, 40, 33)]
        {
            let x: Vec<T::Vector> = of(8 * x_stride + columns, |i| (i % 7) as f64 - 3.0);
            for isa in Isa::available() {
                let mut y = vec![<T::Accum as Value>::from_f64(2.0); 4 * y_stride + columns + 1];
                let a = PanelRows::<T> { cols: &cols, vals: &vals, x: &x, x_stride, columns };
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
                            vals[e].parts()[0] * x.parts()[0]
                        });
                        wanted[row * y_stride + 1 + column] = 2.0 * products.sum::<f64>() + 1.0;
                    }
                }
                let found: Vec<f64> = y.iter().map(|y| y.parts()[0]).collect();
                assert_eq!(found, wanted, "{isa:?}, {columns} columns");
            }
        }
    }

    #[test]
    fn each_column_has_sums_of_its_own_and_nothing_else_is_written() {
        for_all_numbers!(check_sums);
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
