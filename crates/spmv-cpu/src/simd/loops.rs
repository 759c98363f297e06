//! The loops, written once over [`Lanes`].

// Loops over lanes index several arrays at once.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use spmv_core::Accum;

use super::operand::{Operand, SimdValue, Slots};
use crate::numbers::Numbers;

/// Sums in a vector, and rows taken together.
pub(super) const LANES: usize = 8;
/// Most entries of eight rows that count as short.
const SHORT: usize = LANES * 12;
/// Most products in the buffer: 8 KiB of f64, which leaves most of L1 to x.
const BLOCK: usize = 1024;
/// Most groups of eight rows to a block.
const BLOCK_GROUPS: usize = 64;

/// Products of a block, and room for reads past its end: the last row starts at most at `BLOCK`, and is
/// read up to two vectors on.
type Buffer<A> = [A; BLOCK + 2 * LANES];

/// Vectors of eight sums.
///
/// Every method is unsafe: the CPU must have the implementor's features, and pointers must be valid for
/// the elements read or written. Methods are to be inlined into functions that enable the features,
/// which closures are not: a closure inherits no features and may stay a call.
pub(super) trait Lanes<A> {
    /// Eight lanes.
    type V: Copy;
    /// Lengths of eight rows.
    type Lens: Copy;

    unsafe fn splat(a: A) -> Self::V;
    unsafe fn read(from: *const A) -> Self::V;
    /// Four lanes from `low` and four from `high`.
    unsafe fn read_halves(low: *const A, high: *const A) -> Self::V;
    unsafe fn write(to: *mut A, v: Self::V);
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
    /// Differences of the nine elements at `ptr`.
    unsafe fn lens(ptr: *const u32) -> Self::Lens;
    /// Lengths less eight.
    unsafe fn beyond_eight(lens: Self::Lens) -> Self::Lens;
    /// A bit for each length above `limit`.
    unsafe fn longer(lens: Self::Lens, limit: i32) -> u32;
    /// Zero but for the first `lens[i]` lanes.
    unsafe fn first(v: Self::V, lens: Self::Lens, i: usize) -> Self::V;
    /// Zero but for the first `lens[i]` lanes of the low half and the first `lens[i + 4]` of the high one.
    unsafe fn first_halves(v: Self::V, lens: Self::Lens, i: usize) -> Self::V;
}

/// Asks for the cache lines of `bytes` from an address on, which may be any, also past an end.
#[inline(always)]
pub(super) fn prefetch_lines<T>(from: *const T, bytes: usize) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for line in 0..bytes.div_ceil(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(line * LINE)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes, LINE);
}

/// Asks for the 32 entries that come `AHEAD` after `e`. The hardware alone keeps up with neither L3 nor memory
/// here: this is worth 10 to 60 percent on matrices that L2 does not hold.
#[inline(always)]
fn prefetch<T: Numbers>(a: &Operand<'_, T>, e: usize) {
    const ENTRIES: usize = 4 * LANES;
    /// 4 KiB of columns.
    const AHEAD: usize = 1024;
    prefetch_lines(a.cols.as_ptr().wrapping_add(e + AHEAD), ENTRIES * size_of::<u32>());
    prefetch_lines(a.vals.as_ptr().wrapping_add(e + AHEAD), ENTRIES * size_of::<T::Val>());
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
pub(super) trait Sources<T: Numbers>: Source<T::Val, T::Accum> + Source<T::Vector, T::Accum> {
    /// Adds the products of the first `n` of eight values with as many elements of `x`, of which no other is read.
    #[inline(always)]
    unsafe fn add_first(vals: *const T::Val, x: *const T::Vector, n: usize, sums: Self::V) -> Self::V {
        // SAFETY: by contract.
        unsafe { Self::mul_add(Self::load_first(vals, n), Self::load_first(x, n), sums) }
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
    // which is not negative, and drops the entries before `e`.
    unsafe {
        let zero = L::splat(T::Accum::default());
        let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
        let mut e = start;
        // Four sums hide the latency of the additions.
        while end - e >= 4 * LANES {
            prefetch(a, e);
            s0 = add_products::<T, L>(a, e, s0);
            s1 = add_products::<T, L>(a, e + LANES, s1);
            s2 = add_products::<T, L>(a, e + 2 * LANES, s2);
            s3 = add_products::<T, L>(a, e + 3 * LANES, s3);
            e += 4 * LANES;
        }
        if e < end {
            prefetch(a, e);
        }
        while end - e >= LANES {
            s0 = add_products::<T, L>(a, e, s0);
            e += LANES;
        }
        if e < end {
            s1 = L::add(s1, L::last(products::<T, L>(a, end - LANES), end - e));
        }
        L::add(L::add(s0, s1), L::add(s2, s3))
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

/// Sums eight rows whose products are in `buffer`, which begins with entry `base`.
///
/// # Safety
///
/// `ptr` is valid for nine elements, which do not decrease, and lie in `base..=base + BLOCK`. The CPU has
/// the features of `L`.
#[inline(always)]
unsafe fn short_rows<T: SimdValue, L: Sources<T>>(
    ptr: *const u32,
    base: usize,
    buffer: &Buffer<T::Accum>,
) -> L::V {
    // SAFETY: rows begin within `BLOCK`, where the buffer goes on for two vectors; `buffered` is given rows
    // that have more than eight elements.
    unsafe {
        let start = |i: usize| buffer.as_ptr().add(*ptr.add(i) as usize - base);
        let zero = L::splat(T::Accum::default());
        let lens = L::lens(ptr);
        if L::longer(lens, 4) == 0 {
            let mut sums = [zero; LANES / 2];
            for i in 0..LANES / 2 {
                sums[i] = L::first_halves(L::read_halves(start(i), start(i + 4)), lens, i);
            }
            let [s0, s1, s2, s3] = L::transpose(sums);
            return L::add(L::add(s0, s1), L::add(s2, s3));
        }
        let mut sums = [zero; LANES];
        for i in 0..LANES {
            sums[i] = L::first(L::read(start(i)), lens, i);
        }
        let mut long = L::longer(lens, LANES as i32);
        if long == 0 {
            return L::sum_each(sums);
        }
        let mut done = LANES;
        // For one or two rows, going through all eight again would cost more than the branches.
        if long.count_ones() > 2 {
            let lens = L::beyond_eight(lens);
            for i in 0..LANES {
                sums[i] = L::add(sums[i], L::first(L::read(start(i).add(LANES)), lens, i));
            }
            long = L::longer(lens, LANES as i32);
            done = 2 * LANES;
        }
        let mut rest = [T::Accum::default(); LANES];
        while long != 0 {
            let i = long.trailing_zeros() as usize % LANES;
            rest[i] = L::sum(buffered::<T::Accum, L>(start(i).add(done), start(i + 1)));
            long &= long - 1;
        }
        L::add(L::sum_each(sums), L::read(rest.as_ptr()))
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
        while end.offset_from(from) >= LANES as isize {
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
    let to = buffer.as_mut_ptr();
    let mut e = start;
    // SAFETY: steps end at or before `end`. The last one may overlap the one before, and writes the same
    // products again.
    unsafe {
        while end - e > LANES {
            if (e - start).is_multiple_of(4 * LANES) {
                prefetch(a, e);
            }
            L::write(to.add(e - start), products::<T, L>(a, e));
            e += LANES;
        }
        e = end - LANES;
        L::write(to.add(e - start), products::<T, L>(a, e));
    }
}

/// Number of entries of eight rows. Panics unless their ends never decrease and stay within `entries`.
#[inline(always)]
pub(super) fn check(row_ptr: &[u32], row: usize, entries: usize) -> usize {
    let ptr: &[u32; LANES + 1] = row_ptr[row..][..LANES + 1].try_into().expect("nine ends");
    // All eight comparisons at once rather than up to the first failure.
    let mut ordered = true;
    for i in 0..LANES {
        ordered &= ptr[i] <= ptr[i + 1];
    }
    assert!(ordered && ptr[LANES] as usize <= entries, "row pointers out of order or range");
    (ptr[LANES] - ptr[0]) as usize
}

/// Why a block of short rows ends.
enum Stop {
    /// The buffer is, or there are no more rows.
    Full,
    /// The next group is long.
    Long,
    /// The next group is a stencil.
    Stencil,
}

/// Sums eight rows, each by itself.
///
/// # Safety
///
/// The nine elements of `ptr` do not decrease and stay within the entries, and the CPU has the features of `L`.
#[inline(always)]
unsafe fn long_rows<T: SimdValue, L: Sources<T>>(a: &Operand<'_, T>, ptr: &[u32]) -> L::V {
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
fn is_stencil<T: Numbers>(a: &Operand<'_, T>, row_ptr: &[u32], row: usize) -> bool {
    let ptr: &[u32; LANES + 1] = row_ptr[row..][..LANES + 1].try_into().expect("nine ends");
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
        prefetch(a, start);
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
pub(super) unsafe fn store<A: Accum, L: Lanes<A>>(y: &mut [A], row: usize, sums: L::V, alpha: A, beta: A) {
    let y = &mut y[row..][..LANES];
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
    let mut buffer = [T::Accum::default(); BLOCK + 2 * LANES];
    let whole = y.len() - y.len() % LANES;
    let mut row = 0;
    while row < whole {
        let mut stop = Stop::Full;
        // As many short rows as the buffer takes.
        let (mut next, mut entries) = (row, 0);
        while next < whole && next - row < BLOCK_GROUPS * LANES {
            let more = check(row_ptr, next, a.cols.len());
            if more > SHORT {
                stop = Stop::Long;
                break;
            }
            if is_stencil(a, row_ptr, next) {
                stop = Stop::Stencil;
                break;
            }
            if entries + more > BLOCK {
                break;
            }
            entries += more;
            next += LANES;
        }
        let start = row_ptr[row] as usize;
        if entries >= LANES {
            // SAFETY: each group of `row..next` was checked, and together they have `entries` entries.
            unsafe { fill::<T, L>(a, start, start + entries, &mut buffer) };
        }
        while row < next {
            let group = &row_ptr[row..][..LANES + 1];
            // SAFETY: as above; the buffer was filled if there are entries enough.
            let sums = unsafe {
                if entries >= LANES {
                    short_rows::<T, L>(group.as_ptr(), start, &buffer)
                } else {
                    long_rows::<T, L>(a, group)
                }
            };
            // SAFETY: features by contract.
            unsafe { store::<T::Accum, L>(y, row, sums, alpha, beta) };
            row += LANES;
        }
        match stop {
            Stop::Full => {}
            Stop::Long => {
                // SAFETY: the group at `row` was checked.
                let sums = unsafe { long_rows::<T, L>(a, &row_ptr[row..][..LANES + 1]) };
                // SAFETY: features by contract.
                unsafe { store::<T::Accum, L>(y, row, sums, alpha, beta) };
                row += LANES;
            }
            Stop::Stencil => {
                while row < whole && is_stencil(a, row_ptr, row) {
                    // SAFETY: just found to be one.
                    let sums = unsafe { stencil_rows::<T, L>(a, row_ptr[row] as usize) };
                    // SAFETY: features by contract.
                    unsafe { store::<T::Accum, L>(y, row, sums, alpha, beta) };
                    row += LANES;
                }
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
    cols.iter().fold(true, |full, col| full & (*col != Slots::<T>::PADDING))
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
