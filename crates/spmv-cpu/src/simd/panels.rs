//! Sums of rows for several right-hand sides at once: an entry is broadcast, and multiplies a row of a panel.

use std::marker::PhantomData;
use std::ops::Range;

use spmv_core::{Accum, Value};

use super::loops::{INTO_L1, INTO_L2, Sources, eight_mut, prefetch_lines, store};
use super::operand::{LANES, PanelRows, SimdValue, stream};
use crate::numbers::Numbers;

/// Rows of x are asked for ahead where those that a call reads span more bytes than this: a core's own cache does not hold them.
const CACHE: usize = 2 << 20;
/// They are too where x has more bytes than this, which the last cache does not hold, and rows of the matrix have fewer entries than `FEW`: on
/// grids many of these are the first to read a row of x.
const LAST_CACHE: usize = 8 << 20;
const FEW: usize = 16;
/// How many entries ahead at most, and bytes of their rows of x: neither L3 nor memory is waited for then, and L1 holds more.
const MOST_AHEAD: usize = 128;
const BYTES_AHEAD: usize = 16 << 10;
/// Entries whose columns and values are asked for ahead, as in the loops over CSR: 4 KiB of columns.
const FAR_AHEAD: usize = 1024;
/// Rows whose entries are asked for together.
const ROWS_AHEAD: usize = 8;
/// Columns of half a vector.
const FOUR: usize = LANES / 2;

/// What all rows of a panel have in common.
#[derive(Clone, Copy)]
struct Shared {
    /// Columns of the last vector.
    n_last: usize,
    /// The first entry and the end, between which every column has a row of x.
    first: usize,
    end: usize,
    /// Entries whose rows of x are asked for ahead.
    ahead: usize,
    /// Whether entries come from memory.
    streams: bool,
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
        let spanned = high.saturating_sub(low) as usize * a.x_stride;
        let is_far = spanned.saturating_mul(size_of::<T::Vector>()) > CACHE;
        let is_new = size_of_val(a.x) > LAST_CACHE && end - first < FEW * row_ptr.len();
        let ahead = BYTES_AHEAD / (a.columns * size_of::<T::Vector>()).max(1);
        Self {
            n_last,
            first,
            end,
            streams: stream(a.cols, a.vals),
            ahead: if is_far || is_new { ahead.min(MOST_AHEAD) } else { 0 },
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

/// Asks for `bytes` of the rows of x that come some entries later.
#[inline(always)]
fn prefetch_x<T: Numbers>(a: &PanelRows<'_, T>, shared: Shared, entries: Range<usize>, bytes: usize) {
    let ahead = shared.ahead;
    if ahead > 0 && entries.end + ahead <= a.cols.len() {
        for col in &a.cols[entries.start + ahead..entries.end + ahead] {
            // It may be of the rows that come next, or of none.
            let row = (*col as usize).wrapping_mul(a.x_stride);
            prefetch_lines::<INTO_L1, _>(a.x.as_ptr().wrapping_add(row), bytes);
        }
    }
}

/// Asks for as many columns and values as some rows from `row` on have, which come long after those.
#[inline(always)]
fn prefetch_entries<T: Numbers>(a: &PanelRows<'_, T>, row_ptr: &[u32], row: usize) {
    let start = row_ptr[row] as usize;
    let n =
        (row_ptr[(row + ROWS_AHEAD).min(row_ptr.len() - 1)] as usize).saturating_sub(start).min(FAR_AHEAD);
    prefetch_lines::<INTO_L2, _>(a.cols.as_ptr().wrapping_add(start + FAR_AHEAD), n * size_of::<u32>());
    prefetch_lines::<INTO_L2, _>(a.vals.as_ptr().wrapping_add(start + FAR_AHEAD), n * size_of::<T::Val>());
}

/// A vector of columns next to each other. Methods are unsafe as those of `Lanes` are.
trait Columns<T: Numbers> {
    type V: Copy;
    /// How many columns.
    const N: usize;

    unsafe fn splat(a: T::Accum) -> Self::V;
    /// The first `n`, of which no other is read.
    unsafe fn load(from: *const T::Vector, n: usize) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c` if `is`, else `c`, without a branch.
    unsafe fn mul_add_if(is: bool, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `y <- alpha * sums + beta * y`, of up to `N`.
    unsafe fn store(y: &mut [T::Accum], sums: Self::V, alpha: T::Accum, beta: T::Accum);
}

/// Eight columns.
struct Eight<L>(PhantomData<L>);

impl<T: SimdValue, L: Sources<T>> Columns<T> for Eight<L> {
    type V = L::V;
    const N: usize = LANES;

    #[inline(always)]
    unsafe fn splat(a: T::Accum) -> L::V {
        // SAFETY: by contract.
        unsafe { L::splat(a) }
    }
    #[inline(always)]
    unsafe fn load(from: *const T::Vector, n: usize) -> L::V {
        // SAFETY: by contract.
        unsafe { if n == LANES { L::load(from) } else { L::load_first(from, n) } }
    }
    #[inline(always)]
    unsafe fn add(a: L::V, b: L::V) -> L::V {
        // SAFETY: by contract.
        unsafe { L::add(a, b) }
    }
    #[inline(always)]
    unsafe fn mul_add_if(is: bool, a: L::V, b: L::V, c: L::V) -> L::V {
        // SAFETY: by contract.
        unsafe { L::either(is, L::mul_add(a, b, c), c) }
    }
    #[inline(always)]
    unsafe fn store(y: &mut [T::Accum], sums: L::V, alpha: T::Accum, beta: T::Accum) {
        // SAFETY: by contract; the array has eight elements.
        unsafe {
            if y.len() == LANES {
                return store::<T::Accum, L>(eight_mut(y, 0), sums, alpha, beta);
            }
            let mut each = [T::Accum::default(); LANES];
            L::write(each.as_mut_ptr(), sums);
            store_each(y, each, alpha, beta);
        }
    }
}

/// Four columns, whose numbers are of the type of the sums.
struct Four<L>(PhantomData<L>);

impl<T: SimdValue, L: Sources<T>> Columns<T> for Four<L> {
    type V = L::Four;
    const N: usize = FOUR;

    #[inline(always)]
    unsafe fn splat(a: T::Accum) -> L::Four {
        // SAFETY: by contract.
        unsafe { L::splat_four(a) }
    }
    #[inline(always)]
    unsafe fn load(from: *const T::Vector, n: usize) -> L::Four {
        debug_assert!(n == FOUR && T::Vector::DTYPE == T::Accum::DTYPE);
        // SAFETY: by contract, and of the same type.
        unsafe { L::read_four(from.cast()) }
    }
    #[inline(always)]
    unsafe fn add(a: L::Four, b: L::Four) -> L::Four {
        // SAFETY: by contract.
        unsafe { L::add_four(a, b) }
    }
    #[inline(always)]
    unsafe fn mul_add_if(is: bool, a: L::Four, b: L::Four, c: L::Four) -> L::Four {
        // SAFETY: by contract.
        unsafe { L::either_four(is, L::mul_add_four(a, b, c), c) }
    }
    #[inline(always)]
    unsafe fn store(y: &mut [T::Accum], sums: L::Four, alpha: T::Accum, beta: T::Accum) {
        let mut each = [T::Accum::default(); FOUR];
        // SAFETY: the array has four elements.
        unsafe { L::write_four(each.as_mut_ptr(), sums) };
        store_each(&mut y[..FOUR], each, alpha, beta);
    }
}

#[inline(always)]
fn store_each<A: Accum, const N: usize>(y: &mut [A], sums: [A; N], alpha: A, beta: A) {
    for (y, sum) in y.iter_mut().zip(sums) {
        *y = crate::kernels::prelude::store(alpha, sum, beta, *y);
    }
}

/// Adds the products of entry `e`, if `is`, to sums for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `C`, `e` is among the entries that `shared` is of, and `1 <= n_last <= C::N`, of which it is all if `WHOLE`.
#[inline(always)]
unsafe fn add<T: SimdValue, C: Columns<T>, const N: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    e: usize,
    is: bool,
    sums: &mut [C::V; N],
) {
    // SAFETY: by contract.
    unsafe {
        let from = a.x.as_ptr().add(*a.cols.get_unchecked(e) as usize * a.x_stride);
        let val = C::splat(T::of_val(*a.vals.get_unchecked(e)));
        for (k, sum) in sums.iter_mut().enumerate() {
            let from = from.add(k * C::N);
            let n = if WHOLE || k + 1 < N { C::N } else { shared.n_last };
            *sum = C::mul_add_if(is, val, C::load(from, n), *sum);
        }
    }
}

/// Sums of a row for the columns of `N` vectors, each in `SETS` sums side by side.
///
/// # Safety
///
/// As for [`add`], of all entries of the row.
#[inline(always)]
unsafe fn row<T: SimdValue, C: Columns<T>, const N: usize, const SETS: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    shared: Shared,
    entries: Range<usize>,
) -> [C::V; N] {
    // SAFETY: by contract.
    unsafe {
        let zero = C::splat(T::Accum::default());
        let mut sums = [[zero; N]; SETS];
        if entries.is_empty() {
            return sums[0];
        }
        let (mut first, of_x) = (entries.start, N * C::N * size_of::<T::Vector>());
        while first + SETS < entries.end {
            prefetch_x(a, shared, first..first + SETS, of_x);
            for (i, sums) in sums.iter_mut().enumerate() {
                add::<T, C, N, WHOLE>(a, shared, first + i, true, sums);
            }
            first += SETS;
        }
        prefetch_x(a, shared, first..first + SETS, of_x);
        // No CPU foretells how many are left: each is taken, the last one again in place of those that are not there.
        for (i, sums) in sums.iter_mut().enumerate() {
            let e = first + i;
            add::<T, C, N, WHOLE>(a, shared, e.min(entries.end - 1), e < entries.end, sums);
        }
        let mut total = sums[0];
        for set in &sums[1..] {
            for (total, sum) in total.iter_mut().zip(set) {
                *total = C::add(*total, *sum);
            }
        }
        total
    }
}

/// All rows, for the columns of `N` vectors.
///
/// # Safety
///
/// The CPU has the features of `C`.
#[inline(always)]
unsafe fn rows<T: SimdValue, C: Columns<T>, const N: usize, const SETS: usize, const WHOLE: bool>(
    a: &PanelRows<'_, T>,
    row_ptr: &[u32],
    (alpha, beta): (T::Accum, T::Accum),
    y: &mut [T::Accum],
    (y_stride, y_at): (usize, usize),
) {
    let shared = Shared::of(a, row_ptr, a.columns - (N - 1) * C::N);
    for (i, ends) in row_ptr.windows(2).enumerate() {
        if shared.streams && i % ROWS_AHEAD == 0 {
            prefetch_entries(a, row_ptr, i);
        }
        let entries = shared.row(ends[0], ends[1]);
        let y = &mut y[i * y_stride + y_at..][..a.columns];
        // SAFETY: features by contract; the entries are there, as was just checked.
        unsafe {
            let sums = row::<T, C, N, SETS, WHOLE>(a, shared, entries);
            for (y, sums) in y.chunks_mut(C::N).zip(sums) {
                C::store(y, sums, alpha, beta);
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
            FOUR if T::Vector::DTYPE == T::Accum::DTYPE => {
                rows::<T, Four<L>, 1, 4, true>(a, row_ptr, scaling, y, at)
            }
            8 => rows::<T, Eight<L>, 1, 4, true>(a, row_ptr, scaling, y, at),
            16 => rows::<T, Eight<L>, 2, 2, true>(a, row_ptr, scaling, y, at),
            24 => rows::<T, Eight<L>, 3, 1, true>(a, row_ptr, scaling, y, at),
            32 => rows::<T, Eight<L>, 4, 1, true>(a, row_ptr, scaling, y, at),
            1..8 => rows::<T, Eight<L>, 1, 4, false>(a, row_ptr, scaling, y, at),
            9..16 => rows::<T, Eight<L>, 2, 2, false>(a, row_ptr, scaling, y, at),
            17..24 => rows::<T, Eight<L>, 3, 1, false>(a, row_ptr, scaling, y, at),
            25..32 => rows::<T, Eight<L>, 4, 1, false>(a, row_ptr, scaling, y, at),
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
