//! The loops, written once over [`Lanes`].

// Loops over lanes index several arrays at once.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use spmv_core::Accum;

use super::operand::{LANES, Operand, SimdValue, Slots};
use crate::kernels::prelude::scaled;
use crate::numbers::Numbers;

/// Most entries of eight rows that count as short: from here on, rows by themselves waste less than their way through a buffer.
const SHORT: usize = LANES * 8;
/// Most products in the buffer: 8 KiB of f64, which leaves most of L1 to x.
const BLOCK: usize = 1024;
/// Most groups of eight rows to a block.
const BLOCK_GROUPS: usize = 64;

/// Products of a block, and room for reads past its end: the last row starts at most at `BLOCK`, and is
/// read up to two vectors on. Aligned, so that no vector is written across two cache lines.
#[repr(align(64))]
struct Buffer<A>([A; BLOCK + 2 * LANES]);

/// Vectors of eight sums.
///
/// Every method is unsafe: the CPU must have the implementor's features, and pointers must be valid for
/// the elements read or written. Methods are to be inlined into functions that enable the features,
/// which closures are not: a closure inherits no features and may stay a call.
pub(super) trait Lanes<A> {
    /// Eight lanes.
    type V: Copy;

    unsafe fn splat(a: A) -> Self::V;
    unsafe fn read(from: *const A) -> Self::V;
    /// The first `n` of eight elements, all of them if `n` is 9 to 255, and zeros. All are read.
    unsafe fn read_first(from: *const A, n: usize) -> Self::V;
    unsafe fn write(to: *mut A, v: Self::V);
    /// The first `n` of one to eight lanes; no other element is written.
    unsafe fn write_first(to: *mut A, n: usize, v: Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The same in lanes where `a` is not zero, else `c`.
    unsafe fn mul_add_nonzero(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Zero but for the last `n` lanes.
    unsafe fn last(v: Self::V, n: usize) -> Self::V;
    unsafe fn sum(v: Self::V) -> A;
    /// Lane `i` is the sum of `v[i]`.
    unsafe fn sum_each(v: [Self::V; 8]) -> Self::V;
    /// Lanes `i` and `i + 4` of vector `k` are lanes `k` and `k + 4` of `v[i]`.
    unsafe fn transpose(v: [Self::V; 4]) -> [Self::V; 4];
    /// A bit for each of eight rows that has more than eight entries; `ptr` has their nine ends.
    unsafe fn long(ptr: *const u32) -> u32;
}

/// Lanes that sum columns: also four at a time, and some that stay as they are. Methods are unsafe as those of [`Lanes`] are.
pub(super) trait Sums<A>: Lanes<A> {
    /// Four lanes.
    type Four: Copy;

    /// `new` if `is`, else `old`, without a branch.
    unsafe fn either(is: bool, new: Self::V, old: Self::V) -> Self::V;
    unsafe fn splat_four(a: A) -> Self::Four;
    unsafe fn read_four(from: *const A) -> Self::Four;
    unsafe fn write_four(to: *mut A, v: Self::Four);
    unsafe fn add_four(a: Self::Four, b: Self::Four) -> Self::Four;
    unsafe fn mul_add_four(a: Self::Four, b: Self::Four, c: Self::Four) -> Self::Four;
    /// As [`either`](Self::either).
    unsafe fn either_four(is: bool, new: Self::Four, old: Self::Four) -> Self::Four;
}

/// Caches that [`prefetch_lines`] fills.
pub(super) const INTO_L1: bool = true;
pub(super) const INTO_L2: bool = false;

/// Asks for the cache lines of `bytes` from an address on, which may be any, also past an end.
#[inline(always)]
pub(super) fn prefetch_lines<const CACHE: bool, T>(from: *const T, bytes: usize) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for line in 0..bytes.div_ceil(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let at = from.cast::<i8>().wrapping_add(line * LINE);
        // SAFETY: a prefetch may name any address.
        unsafe {
            if CACHE == INTO_L1 { _mm_prefetch::<_MM_HINT_T0>(at) } else { _mm_prefetch::<_MM_HINT_T1>(at) }
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes, LINE);
}

/// Asks for the eight entries that come `AHEAD` after `e`, if they come from memory: it saves a tenth to a third of the time
/// there, and costs a tenth where a cache holds the matrix. Into L2, since L1 has `x`.
#[inline(always)]
fn prefetch<T: Numbers>(a: &Operand<'_, T>, e: usize) {
    /// 4 KiB of columns.
    const AHEAD: usize = 1024;
    if a.streams {
        prefetch_lines::<INTO_L2, _>(a.cols.as_ptr().wrapping_add(e + AHEAD), LANES * size_of::<u32>());
        prefetch_lines::<INTO_L2, _>(a.vals.as_ptr().wrapping_add(e + AHEAD), LANES * size_of::<T::Val>());
    }
}

/// Lanes of sums loaded from stored numbers of type `E`.
pub(super) trait Source<E, A>: Lanes<A> {
    unsafe fn load(from: *const E) -> Self::V;
    /// The first `n` of one to eight, of which no other is read, and zeros.
    unsafe fn load_first(from: *const E, n: usize) -> Self::V;
    /// Four lanes from `low` and four from `high`.
    unsafe fn load_halves(low: *const E, high: *const E) -> Self::V;
    /// The elements of `x` that eight columns name.
    unsafe fn gather(x: *const E, cols: *const u32) -> Self::V;
}

/// Lanes of sums loaded from values and from `x`.
pub(super) trait Sources<T: Numbers>:
    Source<T::Val, T::Accum> + Source<T::Vector, T::Accum> + Source<T::Accum, T::Accum> + Sums<T::Accum>
{
    /// Adds the products of the first `n` of eight values with as many elements of `x`, of which no other is read.
    #[inline(always)]
    unsafe fn add_first(vals: *const T::Val, x: *const T::Vector, n: usize, sums: Self::V) -> Self::V {
        // SAFETY: by contract.
        unsafe { Self::mul_add(Self::load_first(vals, n), Self::load_first(x, n), sums) }
    }

    /// Sums of rows on `N` diagonals, or to be added to these, in vectors of more than eight lanes where there are such: of how many vectors of
    /// eight, from the first on. Values that are zero are no entries; those so many bytes ahead are asked for.
    #[inline(always)]
    unsafe fn add_wide<const N: usize, const FROM_ZERO: bool, const AHEAD_BYTES: usize>(
        _vals: &[*const T::Val; N],
        _x: &[*const T::Vector; N],
        _sums: &mut [[T::Accum; LANES]],
    ) -> usize {
        0
    }

    /// Adds the products of eight values with the elements of `x` that columns name, but for lanes whose column is the greatest number:
    /// those read none. Columns have a sign.
    #[inline(always)]
    unsafe fn add_some(
        vals: *const T::Val,
        x: *const T::Vector,
        cols: &[u32; LANES],
        sums: Self::V,
    ) -> Self::V {
        let mut all = [T::Accum::default(); LANES];
        // SAFETY: by contract.
        unsafe {
            Self::write(all.as_mut_ptr(), sums);
            for (lane, (sum, col)) in
                all.iter_mut().zip(cols).enumerate().filter(|(_, (_, col))| **col != u32::MAX)
            {
                *sum += T::of_val(*vals.add(lane)) * T::of_x(*x.add(*col as usize));
            }
            Self::read(all.as_ptr())
        }
    }
}

/// Products of the eight entries from `e` on, added to `sums`.
///
/// # Safety
///
/// `e + LANES <= a.cols.len()`, and the CPU has the features of `L`. The columns are in range by the
/// operand's contract.
#[inline(always)]
unsafe fn add_products<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, e: usize, sums: L::V) -> L::V {
    // SAFETY: `vals` is as long as `cols`, by `new_unchecked`; the rest by this function's contract.
    unsafe {
        let x = L::gather(a.x.as_ptr(), a.cols.as_ptr().add(e));
        L::mul_add(L::load(a.vals.as_ptr().add(e)), x, sums)
    }
}

/// As `add_products` with nothing to add to.
///
/// # Safety
///
/// As for `add_products`.
#[inline(always)]
unsafe fn products<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, e: usize) -> L::V {
    // SAFETY: as in `add_products`.
    unsafe {
        let x = L::gather(a.x.as_ptr(), a.cols.as_ptr().add(e));
        L::mul(L::load(a.vals.as_ptr().add(e)), x)
    }
}

/// Eight partial sums of the products of entries `start..end`.
///
/// # Safety
///
/// `start <= end <= a.cols.len()`, and the CPU has the features of `L`.
#[inline(always)]
unsafe fn row_sums<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, start: usize, end: usize) -> L::V {
    if end < LANES {
        // SAFETY: the array has eight elements.
        return unsafe { L::read(first_products(a, start, end).as_ptr()) };
    }
    // SAFETY: every step takes eight entries before `end`; the last one reaches back to `end - LANES`,
    // which is not negative, and drops the entries before `e`, of which there are up to eight after it.
    unsafe {
        let (mut sums, mut e) = (L::splat(T::Accum::default()), start);
        while end - e > LANES {
            prefetch(a, e);
            sums = add_products::<T, L>(a, e, sums);
            e += LANES;
        }
        prefetch(a, e);
        // Always, so that which rows are a multiple of eight need not be foretold.
        L::add(sums, L::last(products::<T, L>(a, end - LANES), end - e))
    }
}

/// The products of a row among the first entries of a matrix, before which nothing can be read.
#[cold]
#[inline(never)]
fn first_products<T: SimdValue>(a: &Operand<'_, T>, start: usize, end: usize) -> [T::Accum; LANES] {
    let mut products = [T::Accum::default(); LANES];
    for (product, e) in products.iter_mut().zip(start..end) {
        *product = a.product(e);
    }
    products
}

/// Stores eight elements of y, for rows whose products are in `buffer`, which begins with entry `base`.
///
/// # Safety
///
/// `ptr` has nine ends, which do not decrease, and lie in `base..=base + BLOCK`; no row has more than `SHORT` entries. The CPU
/// has the features of `L`.
#[inline(always)]
unsafe fn short_rows<T: SimdValue, L: Sources<T>>(
    ptr: &[u32; LANES + 1],
    base: usize,
    buffer: &Buffer<T::Accum>,
    (alpha, beta): (T::Accum, T::Accum),
    y: &mut [T::Accum; LANES],
) {
    let at = |end: u32| end as usize - base;
    // SAFETY: rows begin within `BLOCK`, where the buffer goes on for two vectors; `buffered` is given rows
    // that have more than eight elements.
    unsafe {
        let buffer = buffer.0.as_ptr();
        let mut sums = [L::splat(T::Accum::default()); LANES];
        for i in 0..LANES {
            sums[i] = L::read_first(buffer.add(at(ptr[i])), (ptr[i + 1] - ptr[i]) as usize);
        }
        store::<T::Accum, L>(y, L::sum_each(sums), alpha, beta);
        // Into y rather than into vectors, which stay in registers unless they are indexed.
        let mut long = L::long(ptr.as_ptr());
        while long != 0 {
            let i = long.trailing_zeros() as usize % LANES;
            let rest = buffered::<T::Accum, L>(buffer.add(at(ptr[i]) + LANES), buffer.add(at(ptr[i + 1])));
            y[i] += scaled(alpha, L::sum(rest));
            long &= long - 1;
        }
    }
}

/// Eight partial sums of what lies between two positions of a buffer.
///
/// # Safety
///
/// `from < end`, both in one buffer, and at least eight elements before `end` are in it. The CPU has the
/// features of `L`.
#[inline(always)]
unsafe fn buffered<A: Accum, L: Lanes<A>>(mut from: *const A, end: *const A) -> L::V {
    // SAFETY: reads end at or before `end`, and begin at most eight elements before it.
    unsafe {
        let mut sums = L::splat(A::default());
        while end.offset_from(from) > LANES as isize {
            sums = L::add(sums, L::read(from));
            from = from.add(LANES);
        }
        L::add(sums, L::last(L::read(end.sub(LANES)), end.offset_from(from) as usize))
    }
}

/// Fills `buffer` with the products of entries `start..end`.
///
/// # Safety
///
/// `start + LANES <= end <= start + BLOCK`, `end <= a.cols.len()`, and the CPU has the features of `L`.
#[inline(always)]
unsafe fn fill<T: SimdValue, L: Sources<T>>(
    a: &Operand<'_, T>,
    start: usize,
    end: usize,
    buffer: &mut Buffer<T::Accum>,
) {
    let to = buffer.0.as_mut_ptr();
    let mut e = start;
    // SAFETY: steps end at or before `end`. The last one may overlap the one before, and writes the same
    // products again.
    unsafe {
        while end - e > LANES {
            prefetch(a, e);
            L::write(to.add(e - start), products::<T, L>(a, e));
            e += LANES;
        }
        e = end - LANES;
        L::write(to.add(e - start), products::<T, L>(a, e));
    }
}

/// The nine ends of eight rows.
#[inline(always)]
pub(super) fn eight(row_ptr: &[u32], row: usize) -> &[u32; LANES + 1] {
    row_ptr[row..][..LANES + 1].try_into().expect("nine ends")
}

/// The eight elements of y from `row` on.
#[inline(always)]
pub(super) fn eight_mut<A>(y: &mut [A], row: usize) -> &mut [A; LANES] {
    (&mut y[row..][..LANES]).try_into().expect("eight rows")
}

/// Number of entries of eight rows. Panics unless their ends never decrease and stay within `entries`.
#[inline(always)]
pub(super) fn check(ptr: &[u32; LANES + 1], entries: usize) -> usize {
    // All eight comparisons at once rather than up to the first failure.
    let mut ordered = true;
    for i in 0..LANES {
        ordered &= ptr[i] <= ptr[i + 1];
    }
    assert!(ordered && ptr[LANES] as usize <= entries, "row pointers out of order or range");
    (ptr[LANES] - ptr[0]) as usize
}

/// Sums eight rows, each by itself.
///
/// # Safety
///
/// The nine elements of `ptr` do not decrease and stay within the entries, and the CPU has the features of `L`.
#[inline(always)]
unsafe fn long_rows<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, ptr: &[u32; LANES + 1]) -> L::V {
    // SAFETY: by contract.
    unsafe {
        let mut sums = [L::splat(T::Accum::default()); LANES];
        for (sum, ends) in sums.iter_mut().zip(ptr.windows(2)) {
            *sum = row_sums::<T, L>(a, ends[0] as usize, ends[1] as usize);
        }
        L::sum_each(sums)
    }
}

/// Whether eight rows have four entries each, and each row's columns are those of the row before plus one:
/// what the inside of a grid gives. Nothing need be known of `row_ptr`.
#[inline(always)]
fn is_stencil<T: Numbers>(a: &Operand<'_, T>, ptr: &[u32; LANES + 1]) -> bool {
    let (start, end) = (ptr[0] as usize, ptr[LANES] as usize);
    if end.wrapping_sub(start) != 4 * LANES || end > a.cols.len() {
        return false;
    }
    let cols: &[u32; 4 * LANES] = a.cols[start..end].try_into().expect("32 columns");
    // Most other matrices are told by one entry.
    if cols[4].wrapping_sub(cols[0]) != 1 {
        return false;
    }
    let mut holds = true;
    for i in 0..LANES {
        holds &= ptr[i + 1].wrapping_sub(ptr[i]) == 4;
    }
    for i in 4..4 * LANES {
        holds &= cols[i].wrapping_sub(cols[i - 4]) == 1;
    }
    for i in 0..4 {
        // Did not wrap around on the way to the eighth row.
        holds &= cols[i] < cols[i + 4 * LANES - 4];
    }
    holds
}

/// Sums eight rows for which `is_stencil` holds, whose entries begin at `start`. x is read in whole vectors.
///
/// # Safety
///
/// `is_stencil` holds, and the CPU has the features of `L`.
#[inline(always)]
unsafe fn stencil_rows<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, start: usize) -> L::V {
    // SAFETY: there are 32 entries from `start` on. The eighth row's columns are below `x.len()`, by the
    // operand's contract, and are the last of the eight elements read at the first row's.
    unsafe {
        for i in 0..4 {
            prefetch(a, start + i * LANES);
        }
        let (cols, vals) = (a.cols.as_ptr().add(start), a.vals.as_ptr().add(start));
        let mut v = [L::splat(T::Accum::default()); 4];
        for i in 0..4 {
            v[i] = L::load_halves(vals.add(4 * i), vals.add(4 * i + 16));
        }
        v = L::transpose(v);
        let mut sums = L::splat(T::Accum::default());
        for i in 0..4 {
            sums = L::mul_add(v[i], L::load(a.x.as_ptr().add(*cols.add(i) as usize)), sums);
        }
        sums
    }
}

/// Writes eight elements of y.
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn store<A: Accum, L: Lanes<A>>(y: &mut [A; LANES], sums: L::V, alpha: A, beta: A) {
    // SAFETY: `y` has eight elements.
    unsafe {
        // A factor of zero does not read what it scales.
        let mut new =
            if alpha == A::default() { L::splat(A::default()) } else { L::mul(sums, L::splat(alpha)) };
        if beta != A::default() {
            new = L::mul_add(L::read(y.as_ptr()), L::splat(beta), new);
        }
        L::write(y.as_mut_ptr(), new);
    }
}

/// Body of [`SimdValue::dot`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn dot<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, range: Range<usize>) -> T::Accum {
    assert!(range.start <= range.end && range.end <= a.cols.len(), "entries out of range");
    // SAFETY: just checked.
    unsafe { L::sum(row_sums::<T, L>(a, range.start, range.end)) }
}

/// Body of [`SimdValue::rows`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn rows<T: SimdValue, L: Sources<T>>(
    a: &Operand<'_, T>,
    row_ptr: &[u32],
    alpha: T::Accum,
    beta: T::Accum,
    y: &mut [T::Accum],
) {
    assert_eq!(row_ptr.len(), y.len() + 1, "one row more than ends");
    let mut buffer = Buffer([T::Accum::default(); BLOCK + 2 * LANES]);
    let whole = y.len() - y.len() % LANES;
    let mut row = 0;
    while row < whole {
        // As many short rows as the buffer takes.
        let (mut next, mut entries) = (row, 0);
        while next < whole && next - row < BLOCK_GROUPS * LANES {
            let more = check(eight(row_ptr, next), a.cols.len());
            if more > SHORT || entries + more > BLOCK || is_stencil(a, eight(row_ptr, next)) {
                break;
            }
            entries += more;
            next += LANES;
        }
        let start = row_ptr[row] as usize;
        let is_long = |row| row < whole && check(eight(row_ptr, row), a.cols.len()) > SHORT;
        // SAFETY: each group of `row..next` was checked, and together they have `entries` entries; long ones and stencils are
        // found to be such first. Features by contract.
        unsafe {
            if entries >= LANES {
                fill::<T, L>(a, start, start + entries, &mut buffer);
                while row < next {
                    short_rows::<T, L>(eight(row_ptr, row), start, &buffer, (alpha, beta), eight_mut(y, row));
                    row += LANES;
                }
            }
            while row < next || is_long(row) {
                let sums = long_rows::<T, L>(a, eight(row_ptr, row));
                store::<T::Accum, L>(eight_mut(y, row), sums, alpha, beta);
                row += LANES;
            }
            while row < whole && is_stencil(a, eight(row_ptr, row)) {
                let sums = stencil_rows::<T, L>(a, row_ptr[row] as usize);
                store::<T::Accum, L>(eight_mut(y, row), sums, alpha, beta);
                row += LANES;
            }
        }
    }
    for (y, ptr) in y[whole..].iter_mut().zip(row_ptr[whole..].windows(2)) {
        // SAFETY: features by contract.
        let sum = unsafe { dot::<T, L>(a, ptr[0] as usize..ptr[1] as usize) };
        *y = crate::kernels::prelude::store(alpha, sum, beta, *y);
    }
}

/// Body of [`SimdValue::slots`].
///
/// # Safety
///
/// The CPU has the features of `L`.
#[inline(always)]
pub(super) unsafe fn slots<T: SimdValue, L: Sources<T>>(
    a: &Slots<'_, T>,
    first: usize,
    stride: usize,
    n: usize,
    sums: &mut [T::Accum],
) {
    if let (Some(last), false) = (n.checked_sub(1), sums.is_empty()) {
        let end = last.checked_mul(stride).and_then(|at| at.checked_add(first + sums.len()));
        assert!(end.is_some_and(|end| end <= a.cols.len()), "rows beyond {} slots", a.cols.len());
    }
    let (eights, rest) = sums.as_chunks_mut::<LANES>();
    let after = first + eights.len() * LANES;
    for (i, sums) in eights.iter_mut().enumerate() {
        // SAFETY: slots of the last of the rows lie within `a`, as was just checked; features by contract.
        *sums = unsafe { eight_rows::<T, L>(a, first + i * LANES, stride, n) };
    }
    for (i, sum) in rest.iter_mut().enumerate() {
        *sum = a.row(after + i, stride, n);
    }
}

/// Sums eight rows side by side, of which slot `k` is at `at + k * stride`.
///
/// # Safety
///
/// `at + k * stride + LANES <= a.cols.len()` for every `k < n`, and the CPU has the features of `L`. Columns are in range
/// or padding by the contract of [`Slots`].
#[inline(always)]
unsafe fn eight_rows<T: SimdValue, L: Sources<T>>(
    a: &Slots<'_, T>,
    at: usize,
    stride: usize,
    n: usize,
) -> [T::Accum; LANES] {
    let mut sums = [T::Accum::default(); LANES];
    let mut k = 0;
    // SAFETY: this function's contract; only slots with entries are gathered.
    unsafe {
        let zero = L::splat(T::Accum::default());
        let (mut even, mut odd) = (zero, zero);
        while k + 1 < n && is_full(a, at + k * stride) && is_full(a, at + (k + 1) * stride) {
            even = add_slots::<T, L>(a, at + k * stride, even);
            odd = add_slots::<T, L>(a, at + (k + 1) * stride, odd);
            k += 2;
        }
        if k < n && is_full(a, at + k * stride) {
            even = add_slots::<T, L>(a, at + k * stride, even);
            k += 1;
        }
        L::write(sums.as_mut_ptr(), L::add(even, odd));
    }
    if k < n {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += a.row(at + k * stride + lane, stride, n - k);
        }
    }
    sums
}

/// Whether the eight slots from `at` on have entries.
///
/// # Safety
///
/// `at + LANES <= a.cols.len()`.
#[inline(always)]
unsafe fn is_full<T: Numbers>(a: &Slots<'_, T>, at: usize) -> bool {
    // SAFETY: this function's contract.
    let cols = unsafe { a.cols.as_ptr().add(at).cast::<[u32; LANES]>().read_unaligned() };
    // Without a branch for each, so that it is one comparison.
    cols.iter().fold(true, |full, col| full & (*col != spmv_core::format::PADDING))
}

/// Products of the eight slots from `at` on, added to `sums`.
///
/// # Safety
///
/// `at + LANES <= a.cols.len()`, the slots have entries, and the CPU has the features of `L`.
#[inline(always)]
unsafe fn add_slots<T: SimdValue, L: Sources<T>>(a: &Slots<'_, T>, at: usize, sums: L::V) -> L::V {
    // SAFETY: `vals` is as long as `cols`, by `Slots::new`; the rest by this function's contract.
    unsafe {
        let x = L::gather(a.x.as_ptr(), a.cols.as_ptr().add(at));
        L::mul_add(L::load(a.vals.as_ptr().add(at)), x, sums)
    }
}
