//! Sums of rows for several right-hand sides at once: an entry is broadcast, and multiplies a row of a panel.

use std::ops::Range;

use super::loops::{LANES, Source, prefetch_lines, store};
use super::operand::{PanelRows, SimdValue};

/// Entries whose row of x is asked for ahead, where the rows that a call reads span more than `CACHE` bytes: neither L3 nor memory is waited for
/// then.
const AHEAD: usize = 16;
const CACHE: usize = 512 << 10;
/// Entries whose columns and values are asked for ahead, as in the loops over CSR: 4 KiB of columns.
const FAR_AHEAD: usize = 1024;
/// Rows whose entries are asked for together.
const ROWS_AHEAD: usize = 8;

/// What all rows of a panel have in common.
#[derive(Clone, Copy)]
struct Shared {
    /// Columns of the last vector.
    n_last: usize,
    /// The greatest column of the matrix whose row of x is there.
    most: usize,
    prefetches: bool,
}

impl Shared {
    /// Of a panel whose last vector has `n_last` columns.
    fn of<T>(a: &PanelRows<'_, T>, row_ptr: &[u32], n_last: usize) -> Self {
        // Without a row of x there is no column, and no entry is allowed.
        assert!(a.columns <= a.x.len() || row_ptr.first() == row_ptr.last(), "entries without an x");
        let most = a.x.len().saturating_sub(a.columns) / a.x_stride.max(1);
        let [first, end] = [row_ptr[0], row_ptr[row_ptr.len() - 1]].map(|e| (e as usize).min(a.cols.len()));
        // One of each line of columns.
        let sample = a.cols[first.min(end)..end].iter().step_by(16);
        let (low, high) = sample.fold((u32::MAX, 0), |(low, high), col| (low.min(*col), high.max(*col)));
        let spanned = high.saturating_sub(low) as usize;
        Self { n_last, most, prefetches: spanned.saturating_mul(a.x_stride * size_of::<T>()) > CACHE }
    }
}

/// Entries that are there.
#[inline(always)]
fn checked<T>(a: &PanelRows<'_, T>, entries: Range<u32>) -> Range<usize> {
    let (start, end) = (entries.start as usize, entries.end as usize);
    let n_entries = a.cols.len().min(a.vals.len());
    assert!(start <= end && end <= n_entries, "entries {start} to {end} of {n_entries}");
    start..end
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
unsafe fn row_of_x<T>(a: &PanelRows<'_, T>, shared: Shared, e: usize, bytes: usize) -> *const T {
    let x = a.x.as_ptr();
    // SAFETY: columns up to `e` are there, and so is the one ahead before the end; the row of x was found to be there.
    unsafe {
        if shared.prefetches && e + AHEAD < a.cols.len() {
            // It may be of the rows that come next, or of none.
            let row = (*a.cols.get_unchecked(e + AHEAD) as usize).wrapping_mul(a.x_stride);
            prefetch_lines(x.wrapping_add(row), bytes);
        }
        let col = *a.cols.get_unchecked(e) as usize;
        if col > shared.most {
            beyond(col, shared.most);
        }
        x.add(col * a.x_stride)
    }
}

/// Asks for as many columns and values as some rows from `row` on have, which come long after those.
#[inline(always)]
fn prefetch_entries<T>(a: &PanelRows<'_, T>, row_ptr: &[u32], row: usize) {
    let start = row_ptr[row] as usize;
    let n =
        (row_ptr[(row + ROWS_AHEAD).min(row_ptr.len() - 1)] as usize).saturating_sub(start).min(FAR_AHEAD);
    prefetch_lines(a.cols.as_ptr().wrapping_add(start + FAR_AHEAD), n * size_of::<u32>());
    prefetch_lines(a.vals.as_ptr().wrapping_add(start + FAR_AHEAD), n * size_of::<T>());
}

/// Adds the products of entry `e` to sums for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `L`, `e` is below the number of entries, `1 <= n_last <= LANES`, of which it is all if `WHOLE`, and x has a row
/// for each column up to `most`.
#[inline(always)]
unsafe fn add<T: SimdValue, L: Source<T>, const N: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    e: usize,
    sums: &mut [L::V; N],
) {
    // SAFETY: by contract.
    unsafe {
        let from = row_of_x(a, shared, e, N * LANES * size_of::<T>());
        let val = L::splat(a.vals.get_unchecked(e).to_accum());
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
unsafe fn row<T: SimdValue, L: Source<T>, const N: usize, const SETS: usize, const WHOLE: bool>(
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

/// Sums of a row for four columns: those of every other entry in the lower half, and those of the rest in the upper one.
///
/// # Safety
///
/// As for [`add`], of all entries of the row.
#[inline(always)]
unsafe fn row_of_halves<T: SimdValue, L: Source<T>>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    entries: Range<usize>,
) -> L::V {
    let bytes = HALF * size_of::<T>();
    let zero = T::Accum::default();
    let mut e = entries.start;
    // SAFETY: by contract.
    unsafe {
        let value = |e: usize| a.vals.get_unchecked(e).to_accum();
        let [mut even, mut odd] = [L::splat(zero); 2];
        while e + 4 <= entries.end {
            let [x0, x1] = [row_of_x(a, shared, e, bytes), row_of_x(a, shared, e + 1, bytes)];
            let [x2, x3] = [row_of_x(a, shared, e + 2, bytes), row_of_x(a, shared, e + 3, bytes)];
            even = L::mul_add(L::splat_halves(value(e), value(e + 1)), L::load_halves(x0, x1), even);
            odd = L::mul_add(L::splat_halves(value(e + 2), value(e + 3)), L::load_halves(x2, x3), odd);
            e += 4;
        }
        if e + 2 <= entries.end {
            let [x0, x1] = [row_of_x(a, shared, e, bytes), row_of_x(a, shared, e + 1, bytes)];
            even = L::mul_add(L::splat_halves(value(e), value(e + 1)), L::load_halves(x0, x1), even);
            e += 2;
        }
        if e < entries.end {
            // The other half of the vector is zero times zero.
            let x = L::load_first(row_of_x(a, shared, e, bytes), HALF);
            odd = L::mul_add(L::splat_halves(value(e), zero), x, odd);
        }
        L::add(even, odd)
    }
}

/// All rows, for four columns.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn rows_of_halves<T: SimdValue, L: Source<T>>(
    a: &PanelRows<'_, T>,
    row_ptr: &[u32],
    (alpha, beta): (T::Accum, T::Accum),
    y: &mut [T::Accum],
    (y_stride, y_at): (usize, usize),
) {
    let shared = Shared::of(a, row_ptr, HALF);
    let n_rows = row_ptr.len() - 1;
    let is_dense = y_stride == HALF && y_at == 0;
    let mut halves = [T::Accum::default(); 2 * LANES];
    for i in (0..n_rows).step_by(2) {
        if i % ROWS_AHEAD == 0 {
            prefetch_entries(a, row_ptr, i);
        }
        let n = (n_rows - i).min(2);
        for k in 0..n {
            let entries = checked(a, row_ptr[i + k]..row_ptr[i + k + 1]);
            // SAFETY: features by contract; the entries are there, as was just checked; there is room for two vectors.
            unsafe {
                L::write(halves.as_mut_ptr().add(k * LANES), row_of_halves::<T, L>(a, shared, entries))
            };
        }
        if n == 2 && is_dense {
            // SAFETY: as above.
            unsafe {
                let from = halves.as_ptr();
                let low = L::read_halves(from, from.add(LANES));
                let high = L::read_halves(from.add(HALF), from.add(LANES + HALF));
                store::<T::Accum, L>(y, i * HALF, L::add(low, high), alpha, beta);
            }
            continue;
        }
        for k in 0..n {
            let of_row = &halves[k * LANES..][..LANES];
            for (c, y) in y[(i + k) * y_stride + y_at..][..HALF].iter_mut().enumerate() {
                *y = crate::kernels::prelude::store(alpha, of_row[c] + of_row[c + HALF], beta, *y);
            }
        }
    }
}

/// All rows, for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
unsafe fn rows<T: SimdValue, L: Source<T>, const N: usize, const SETS: usize, const WHOLE: bool>(
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
        let entries = checked(a, ends[0]..ends[1]);
        let y = &mut y[i * y_stride + y_at..][..a.columns];
        // SAFETY: features by contract; the entries are there, as was just checked.
        unsafe {
            let sums = row::<T, L, N, SETS, WHOLE>(a, shared, entries);
            for (y, sums) in y.chunks_mut(LANES).zip(sums) {
                if y.len() == LANES {
                    store::<T::Accum, L>(y, 0, sums, alpha, beta);
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
            HALF => rows_of_halves::<T, L>(a, row_ptr, scaling, y, at),
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

    use spmv_core::{Value, bf16, f16};

    use super::super::isa::Isa;
    use super::*;

    /// Of small integers, so that no sum is rounded.
    fn check_sums<T: SimdValue>() {
        let of = |n: usize, f: &dyn Fn(usize) -> f64| (0..n).map(|i| T::from_f64(f(i))).collect::<Vec<_>>();
        let row_ptr = [0u32, 3, 3, 10, 11, 40];
        let cols: Vec<u32> = (0..40).map(|i| i * 7 % 9).collect();
        let vals = of(40, &|i| (i % 5) as f64 - 2.0);
        for (columns, x_stride, y_stride) in
            [(1, 1, 1), (3, 5, 4), (4, 4, 4), (4, 6, 5), (8, 8, 8), (13, 13, 20), (24, 24, 24), (32, 40, 33)]
        {
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
