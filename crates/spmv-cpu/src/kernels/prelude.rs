//! What the kernels share: walking groups in parallel without allocating, and rows that several parts share.

use std::ops::Range;

use spmv_core::{Accum, Tiling};

use crate::numbers::Numbers;
use crate::simd::{Columns, Isa, Operand, SimdValue};

/// Most entries of a tile: what a lane group's local memory holds of the widest sums.
pub(crate) const MAX_TILE: usize = 4096;

/// `alpha*sum`. As in BLAS, a factor of zero does not read what it scales: a NaN in there must not spread.
#[inline(always)]
pub(crate) fn scaled<A: Accum>(alpha: A, sum: A) -> A {
    if alpha.is_zero() { A::zero() } else { alpha * sum }
}

/// `alpha*sum + beta*y`.
#[inline(always)]
pub(crate) fn store<A: Accum>(alpha: A, sum: A, beta: A, y: A) -> A {
    if beta.is_zero() { scaled(alpha, sum) } else { scaled(alpha, sum) + beta * y }
}

/// `by` times a quotient of scalars. One with a zero is zero: what has converged stays as it is.
pub(crate) fn factor<A: Accum>(scalars: &[A], by: A, num: u32, den: u32) -> A {
    let (num, den) = (scalars[num as usize], scalars[den as usize]);
    if num.is_zero() || den.is_zero() { A::zero() } else { scaled(by, num / den) }
}

/// The sum of the products of two vectors, by sums side by side: each number of a wide register has one of its own.
pub(crate) fn products<A: Accum>(x: &[A], z: &[A]) -> A {
    const SUMS: usize = 32;
    let mut sums = [A::zero(); SUMS];
    let ((xs, x), (zs, z)) = (x.as_chunks::<SUMS>(), z.as_chunks::<SUMS>());
    for (x, z) in xs.iter().zip(zs) {
        for ((sum, x), z) in sums.iter_mut().zip(x).zip(z) {
            *sum += *x * *z;
        }
    }
    let rest = x.iter().zip(z).fold(A::zero(), |sum, (x, z)| sum + *x * *z);
    sums.into_iter().fold(rest, |total, sum| total + sum)
}

/// The greatest number, of which a NaN is one; at least 0.
pub(crate) fn greatest<A: Accum>(all: impl Iterator<Item = A>) -> A {
    all.fold(A::zero(), |most, x| if x > most || x.is_nan() { x } else { most })
}

/// The rows of `y` that a kernel writes.
pub(crate) fn rows_of<A>(y: &mut [A], row_base: u32, n_rows: u32) -> &mut [A] {
    &mut y[row_base as usize..][..n_rows as usize]
}

/// The entries of a matrix in CSR form with these row offsets.
pub(crate) fn operand<'a, T: Numbers>(
    row_ptr: &[u32],
    cols: Columns<'a>,
    vals: &'a [T::Val],
    x: &'a [T::Vector],
) -> Operand<'a, T> {
    let nnz = row_ptr[row_ptr.len() - 1] as usize;
    Operand::new(cols.first(nnz), &vals[..nnz], x)
}

/// Runs `leaf` once for every group, in parallel by halves.
///
/// `split(state, group)` cuts what the groups write into what those before `group` write and the rest,
/// so that each leaf owns its part of every output. Nothing is allocated.
pub(crate) fn for_groups<S: Send>(
    groups: Range<u32>,
    state: S,
    split: &(impl Fn(S, u32) -> (S, S) + Sync),
    leaf: &(impl Fn(S, u32) + Sync),
) {
    match groups.len() {
        0 => {}
        1 => leaf(state, groups.start),
        n => {
            let mid = groups.start + n as u32 / 2;
            let (left, right) = split(state, mid);
            rayon::join(
                || for_groups(groups.start..mid, left, split, leaf),
                || for_groups(mid..groups.end, right, split, leaf),
            );
        }
    }
}

/// Rows of `y` that a run of groups owns: `rows[0]` is row `base` of the kernel's rows.
pub(crate) struct Rows<'a, A> {
    pub(crate) base: usize,
    pub(crate) rows: &'a mut [A],
}

impl<'a, A> Rows<'a, A> {
    /// The rows before `row`, and the rest.
    pub(crate) fn split_before(self, row: usize) -> (Self, Self) {
        let (left, right) = self.rows.split_at_mut(row - self.base);
        (Self { base: self.base, rows: left }, Self { base: row, rows: right })
    }

    /// The rows given by kernel row numbers.
    pub(crate) fn range(&mut self, rows: Range<usize>) -> &mut [A] {
        &mut self.rows[rows.start - self.base..rows.end - self.base]
    }
}

/// Runs `leaf` for the rows of every group, in parallel over groups; those of a group begin at `first_row` of it.
pub(crate) fn for_rows<A: Send>(
    groups: u32,
    y: &mut [A],
    first_row: &(impl Fn(u32) -> u32 + Sync),
    leaf: &(impl Fn(Rows<'_, A>) + Sync),
) {
    for_groups(
        0..groups,
        Rows { base: 0, rows: y },
        &|rows, group| rows.split_before(first_row(group) as usize),
        &|out, _| leaf(out),
    );
}

/// Stores alpha times `sum` of its entries plus beta times `y` for every row, in parallel over groups.
pub(crate) fn for_row_sums<A: Accum>(
    groups: u32,
    first_row: &(impl Fn(u32) -> u32 + Sync),
    (alpha, beta): (A, A),
    row_ptr: &[u32],
    y: &mut [A],
    sum: &(impl Fn(Range<usize>) -> A + Sync),
) {
    for_rows(groups, y, first_row, &|out| {
        let pairs = row_ptr[out.base..].windows(2);
        for (y, pair) in out.rows.iter_mut().zip(pairs) {
            *y = store(alpha, sum(pair[0] as usize..pair[1] as usize), beta, *y);
        }
    });
}

/// Rows summed side by side by kernels whose entries lie so: their sums stay in L1.
pub(crate) const SIDE_BY_SIDE: usize = 1024;

/// Stores alpha times sums plus beta times `y` for all rows, in parallel over groups that take rows as `csr_scalar` does.
/// `add(first, sums)` adds to the sums of the rows from `first` on.
pub(crate) fn for_sums_side_by_side<A: Accum>(
    groups: u32,
    tiling: Tiling,
    (alpha, beta): (A, A),
    y: &mut [A],
    add: &(impl Fn(usize, &mut [A]) + Sync),
) {
    let n_rows = y.len() as u32;
    for_rows(groups, y, &|group| tiling.scalar_rows(group, n_rows).start, &|out| {
        for (chunk, y) in out.rows.chunks_mut(SIDE_BY_SIDE).enumerate() {
            let mut sums = [A::zero(); SIDE_BY_SIDE];
            let sums = &mut sums[..y.len()];
            add(out.base + chunk * SIDE_BY_SIDE, sums);
            for (y, sum) in y.iter_mut().zip(sums) {
                *y = store(alpha, *sum, beta, *y);
            }
        }
    });
}

/// Adds what a regular part of the rows from `first` on leaves of them, in CSR form, to their sums.
pub(crate) fn add_rest<T: SimdValue>(
    isa: Isa,
    rest: &Operand<'_, T>,
    row_ptr: &[u32],
    first: usize,
    sums: &mut [T::Accum],
) {
    let row_ptr = &row_ptr[first..=first + sums.len()];
    if row_ptr[0] < row_ptr[sums.len()] {
        T::rows(isa, rest, row_ptr, num_traits::one(), num_traits::one(), sums);
    }
}

/// Runs `part` for every bunch of every group, in parallel over groups, and keeps what it carries. Bunch `b` writes the
/// rows from `first_row(b)` up to `first_row(b + 1)`.
pub(crate) fn for_carriers<A: Accum>(
    groups: u32,
    bunches: usize,
    first_row: &(impl Fn(usize) -> usize + Sync),
    y: &mut [A],
    carries: &mut [A],
    part: &(impl Fn(usize, &mut Rows<'_, A>) -> A + Sync),
) {
    for_groups(
        0..groups,
        (Rows { base: 0, rows: y }, Rows { base: 0, rows: carries }),
        &|(y, carries): (Rows<'_, A>, Rows<'_, A>), group| {
            let bunch = group as usize * bunches;
            let (y_left, y_right) = y.split_before(first_row(bunch));
            let (carries_left, carries_right) = carries.split_before(bunch);
            ((y_left, carries_left), (y_right, carries_right))
        },
        &|(mut y, carries), _| {
            for (i, carry) in carries.rows.iter_mut().enumerate() {
                *carry = part(carries.base + i, &mut y);
            }
        },
    );
}

/// Sums of rows, the first of which may have begun and the last of which may end elsewhere.
pub(crate) struct RowSums<'a, T: SimdValue> {
    pub(crate) isa: Isa,
    pub(crate) alpha: T::Accum,
    pub(crate) beta: T::Accum,
    pub(crate) row_ptr: &'a [u32],
    pub(crate) a: Operand<'a, T>,
}

impl<T: SimdValue> RowSums<'_, T> {
    /// Stores the rows that end among `entries`; returns the sum of the entries after them.
    pub(crate) fn of(
        &self,
        rows: Range<usize>,
        entries: Range<usize>,
        y: &mut Rows<'_, T::Accum>,
    ) -> T::Accum {
        let Self { isa, alpha, beta, row_ptr, a } = self;
        if rows.is_empty() {
            return T::dot(*isa, a, entries);
        }
        let first = T::dot(*isa, a, entries.start..row_ptr[rows.start + 1] as usize);
        let y = y.range(rows.clone());
        y[0] = store(*alpha, first, *beta, y[0]);
        T::rows(*isa, a, &row_ptr[rows.start + 1..=rows.end], *alpha, *beta, &mut y[1..]);
        T::dot(*isa, a, row_ptr[rows.end] as usize..entries.end)
    }
}
