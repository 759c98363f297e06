//! What the kernels share: walking groups in parallel without allocating, and rows that several parts share.

use std::ops::Range;

use spmv_backend::codes::EPILOGUE_CLAMP;
use spmv_core::{Accum, Tiling};

use crate::device_args::PermutedRows;
use crate::device_team::{Parts, Team};
use crate::launch::Groups;
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
            *sum += x.conj() * *z;
        }
    }
    let rest = x.iter().zip(z).fold(A::zero(), |sum, (x, z)| sum + x.conj() * *z);
    sums.into_iter().fold(rest, |total, sum| total + sum)
}

/// The greatest number, of which a NaN is one; at least 0.
pub(crate) fn greatest<A: Accum>(all: impl Iterator<Item = A>) -> A {
    all.fold(A::zero(), |most, x| if x.exceeds(most) { x } else { most })
}

/// No less than `lo` and no more than `hi`. What is no number stays so.
#[inline(always)]
pub(crate) fn clamped<A: Accum>(v: A, [lo, hi]: [A; 2]) -> A {
    // Selections, no branches: nobody foretells which results are out of bounds.
    let at_most = if v.re() > hi.re() { hi } else { v };
    if v.re() < lo.re() { lo } else { at_most }
}

/// The rows that a kernel writes, by its arguments, with what becomes of their sums besides factors.
macro_rules! output {
    ($args:ident) => {{
        let rows = $args.row_base as usize..$args.row_base as usize + $args.n_rows as usize;
        let z = ($args.epilogue & spmv_backend::codes::EPILOGUE_Z != 0).then(|| &$args.z[rows.clone()]);
        let bounds = $crate::kernels::prelude::bounds($args.epilogue, $args.lo, $args.hi);
        $crate::kernels::prelude::Rows { base: 0, rows: &mut $args.y[rows], z, bounds }
    }};
}
pub(crate) use output;

/// What rows are clamped to, if they are.
pub(crate) fn bounds<A>(epilogue: u32, lo: A, hi: A) -> Option<[A; 2]> {
    (epilogue & EPILOGUE_CLAMP != 0).then_some([lo, hi])
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

/// Parts for each thread, if there are as many groups: enough that a thread which comes late leaves others something to do.
const PARTS_OF_A_THREAD: usize = 8;
/// Entries of a part at least, where they are known: to begin one takes some hundred nanoseconds.
const ENTRIES_OF_A_PART: usize = 1 << 12;

/// The fraction of its share by which a part may begin early or late: to find where exactly would take longer, at every product.
const MISSED: usize = 16;

/// Runs `leaf` once for every group, in parallel by runs of groups.
///
/// `split(state, group)` cuts what the groups write into what those before `group` write and the rest,
/// so that each leaf owns its part of every output. Nothing is allocated but for what calls threads from outside their pool.
pub(crate) fn for_groups<S: Send>(
    groups: Groups<'_>,
    state: S,
    split: &(impl Fn(S, u32) -> (S, S) + Sync),
    leaf: &(impl Fn(S, u32) + Sync),
) {
    let n = u64::from(groups.n);
    let n_parts = groups.team.threads * PARTS_OF_A_THREAD;
    let equal = |part: usize, n_parts: usize| (part as u64 * n / n_parts as u64) as u32;
    let parts = Parts { n: n_parts, members: groups.team.threads, are_equal: false };
    for_parts(groups, parts, &equal, state, split, &|mut state, groups| {
        for group in groups.start + 1..groups.end {
            let (first, others) = split(state, group);
            leaf(first, group - 1);
            state = others;
        }
        leaf(state, groups.end - 1);
    });
}

/// As [`for_groups`], for groups that take about so many entries, where `leaf` takes all groups of a part at once, and `first(part, n_parts)` says
/// with which group each part but the first begins.
pub(crate) fn for_groups_cut<S: Send>(
    groups: Groups<'_>,
    n_entries: usize,
    first: &(impl Fn(usize, usize) -> u32 + Sync),
    state: S,
    split: &(impl Fn(S, u32) -> (S, S) + Sync),
    leaf: &(impl Fn(S, Range<u32>) + Sync),
) {
    let members = n_entries.div_ceil(Tiling::ENTRIES_OF_A_CORE).clamp(2, groups.team.threads.max(2));
    let n = (n_entries / ENTRIES_OF_A_PART).clamp(2 * members, PARTS_OF_A_THREAD * members);
    let parts = Parts { n, members, are_equal: true };
    for_parts(groups, parts, first, state, split, leaf);
}

fn for_parts<S: Send>(
    groups: Groups<'_>,
    mut parts: Parts,
    first: &(dyn Fn(usize, usize) -> u32 + Sync),
    state: S,
    split: &(dyn Fn(S, u32) -> (S, S) + Sync),
    leaf: &(dyn Fn(S, Range<u32>) + Sync),
) {
    let Groups { n, team } = groups;
    parts.n = parts.n.min(n as usize);
    // Who comes last should find something still.
    parts.members = parts.members.min(parts.n.div_ceil(2));
    // Groups of which a state is, if there are any.
    let cut = |(groups, state): (Range<u32>, Option<S>), part: usize| {
        let at = first(part, parts.n).clamp(groups.start, groups.end);
        let (own, others) = match state {
            Some(state) if at == groups.start => (None, Some(state)),
            Some(state) if at < groups.end => {
                let (own, others) = split(state, at);
                (Some(own), Some(others))
            }
            state => (state, None),
        };
        ((groups.start..at, own), (at..groups.end, others))
    };
    let work = |(groups, state): (Range<u32>, Option<S>)| {
        state.into_iter().for_each(|state| leaf(state, groups.clone()))
    };
    if n > 0 {
        team.share((0..n, Some(state)), parts, &cut, &work);
    }
}

/// Where parts of `n` groups begin that take about equal shares of the work, for [`for_groups_cut`]. `work(group)` is that of all groups before
/// one, in any unit.
pub(crate) fn equal_shares(
    n: u32,
    work: impl Fn(u32) -> usize + Sync,
) -> impl Fn(usize, usize) -> u32 + Sync {
    let all = work(n);
    move |part, n_parts| {
        let share = (all as u128 * part as u128 / n_parts as u128) as usize;
        let about = all / n_parts / MISSED;
        let ((mut low, mut before), (mut high, mut after)) = ((0, 0), (n, all));
        let mut interpolates = true;
        while high - low > 1 {
            // Work is even in most matrices, and in stretches of most others.
            let guess = match interpolates {
                true => (share - before) as f64 / (after - before) as f64 * f64::from(high - low),
                false => f64::from(high - low) / 2.0,
            };
            interpolates = !interpolates;
            let group = (low + guess as u32).clamp(low + 1, high - 1);
            let done = work(group);
            if done.abs_diff(share) <= about {
                return group;
            }
            if done < share { (low, before) = (group, done) } else { (high, after) = (group, done) }
        }
        high
    }
}

/// Rows of `y` that a run of groups owns: `rows[0]` is row `base` of the kernel's rows.
pub(crate) struct Rows<'a, A> {
    pub(crate) base: usize,
    pub(crate) rows: &'a mut [A],
    /// As many rows of `z`, if `beta` scales those.
    pub(crate) z: Option<&'a [A]>,
    pub(crate) bounds: Option<[A; 2]>,
}

impl<'a, A> From<&'a mut [A]> for Rows<'a, A> {
    fn from(rows: &'a mut [A]) -> Self {
        Self { base: 0, rows, z: None, bounds: None }
    }
}

impl<'a, A: Copy> Rows<'a, A> {
    /// The rows before `row`, and the rest.
    pub(crate) fn split_before(self, row: usize) -> (Self, Self) {
        let n = row - self.base;
        let (left, right) = self.rows.split_at_mut(n);
        let (z_left, z_right) = self.z.map(|z| z.split_at(n)).unzip();
        let bounds = self.bounds;
        (
            Self { base: self.base, rows: left, z: z_left, bounds },
            Self { base: row, rows: right, z: z_right, bounds: self.bounds },
        )
    }

    /// The rows given by kernel row numbers.
    pub(crate) fn range(&mut self, rows: Range<usize>) -> &mut [A] {
        &mut self.rows[rows.start - self.base..rows.end - self.base]
    }
}

impl<A: Accum> Rows<'_, A> {
    /// Brings what `beta` scales to where the sums go, before the first of them: a part of `y` that a group writes stays in a cache.
    fn bring_z(&mut self) {
        if let Some(z) = self.z {
            self.rows.copy_from_slice(z);
        }
    }

    /// Has `leaf` store sums, between what comes before and after them.
    fn finish(mut self, leaf: &impl Fn(Rows<'_, A>)) {
        self.bring_z();
        leaf(Rows { base: self.base, ..Rows::from(&mut *self.rows) });
        self.clamp(self.base..self.base + self.rows.len());
    }

    /// Clamps the rows from kernel row `first` on, up to `end`, when nothing will be added to them.
    pub(crate) fn clamp(&mut self, rows: Range<usize>) {
        if let Some(bounds) = self.bounds {
            self.range(rows).iter_mut().for_each(|y| *y = clamped(*y, bounds));
        }
    }
}

/// Runs `leaf` for the rows of every group, in parallel over groups; those of a group begin at `first_row` of it.
pub(crate) fn for_rows<A: Copy + Send + Sync>(
    groups: Groups<'_>,
    y: &mut [A],
    first_row: &(impl Fn(u32) -> usize + Sync),
    leaf: &(impl Fn(Rows<'_, A>) + Sync),
) {
    for_groups(groups, Rows::from(y), &|rows, group| rows.split_before(first_row(group)), &|out, _| {
        leaf(out)
    });
}

/// As [`for_rows`], for rows of sums, with what becomes of them.
pub(crate) fn for_sums<A: Accum>(
    groups: Groups<'_>,
    y: Rows<'_, A>,
    first_row: &(impl Fn(u32) -> usize + Sync),
    leaf: &(impl Fn(Rows<'_, A>) + Sync),
) {
    for_groups(groups, y, &|rows, group| rows.split_before(first_row(group)), &|out, _| out.finish(leaf));
}

/// As [`for_sums`], of `n_rows` rows that threads take equal shares of, wherever groups begin; with one group, one thread takes all. `work(row)` is that of all
/// rows before one, in entries.
pub(crate) fn for_equal_sums<'a, A: Accum>(
    groups: Groups<'_>,
    n_rows: u32,
    y: Rows<'a, A>,
    work: &(impl Fn(u32) -> usize + Sync),
    leaf: &(impl Fn(Rows<'_, A>) + Sync),
) {
    let rows = Groups { n: if groups.n > 1 { n_rows } else { groups.n }, ..groups };
    let split = |out: Rows<'a, A>, row: u32| out.split_before(row as usize);
    for_groups_cut(rows, work(n_rows), &equal_shares(rows.n, work), y, &split, &|out, _| out.finish(leaf));
}

/// As [`for_rows`], for the rows of two outputs.
pub(crate) fn for_both_rows<'a, A: Copy + Send + Sync>(
    groups: Groups<'_>,
    y: impl Into<Rows<'a, A>>,
    z: &'a mut [A],
    first_rows: &(impl Fn(u32) -> [usize; 2] + Sync),
    leaf: &(impl Fn([Rows<'_, A>; 2], u32) + Sync),
) {
    for_groups(
        groups,
        [y.into(), z.into()],
        &|[y, z]: [Rows<'_, A>; 2], group| {
            let [of_y, of_z] = first_rows(group);
            let ((y_left, y_right), (z_left, z_right)) = (y.split_before(of_y), z.split_before(of_z));
            ([y_left, z_left], [y_right, z_right])
        },
        leaf,
    );
}

/// Stores alpha times `sum` of its entries plus beta times `y` for every row, in parallel over groups.
pub(crate) fn for_row_sums<A: Accum>(
    groups: Groups<'_>,
    first_row: &(impl Fn(u32) -> u32 + Sync),
    (alpha, beta): (A, A),
    row_ptr: &[u32],
    y: Rows<'_, A>,
    sum: &(impl Fn(Range<usize>) -> A + Sync),
) {
    for_sums(groups, y, &|group| first_row(group) as usize, &|out| {
        let pairs = row_ptr[out.base..].windows(2);
        for (y, pair) in out.rows.iter_mut().zip(pairs) {
            *y = store(alpha, sum(pair[0] as usize..pair[1] as usize), beta, *y);
        }
    });
}

/// Stores alpha times `sums` plus beta times what stands there, in the rows from position `first` on, and clamps them.
// A sum is scaled before its row is looked up: together they take longer where rows are short.
#[inline(always)]
pub(crate) fn finish_rows<A: Accum>(
    out: &mut PermutedRows<'_, A>,
    first: usize,
    sums: &mut [A],
    (alpha, beta): (A, A),
    bounds: Option<[A; 2]>,
) {
    if !alpha.is_one() {
        sums.iter_mut().for_each(|sum| *sum = scaled(alpha, *sum));
    }
    if beta.is_zero() || out.plus_z(first, sums, beta) {
        if let Some(bounds) = bounds {
            sums.iter_mut().for_each(|sum| *sum = clamped(*sum, bounds));
        }
        return out.write(first, sums, |sum, _| sum);
    }
    out.write(first, sums, |sum, y| sum + beta * y);
    if let Some(bounds) = bounds {
        out.write(first, sums, |_, y| clamped(y, bounds));
    }
}

/// Runs `leaf` for `chunk` rows at a time, in parallel. The kernel's groups do not matter: no lane needs another.
pub(crate) fn for_chunks<A: Copy + Send + Sync>(
    team: Team<'_>,
    chunk: usize,
    y: &mut [A],
    leaf: &(impl Fn(Rows<'_, A>) + Sync),
) {
    let groups = Groups { n: y.len().div_ceil(chunk) as u32, team };
    for_rows(groups, y, &|group| group as usize * chunk, leaf);
}

/// Rows summed side by side by kernels whose entries lie so: their sums stay in L1.
pub(crate) const SIDE_BY_SIDE: usize = 1024;
/// Rows that stay together where threads share rows summed side by side.
const UNIT: usize = 32;

/// Stores alpha times sums plus beta times `y` for all rows, in parallel, as much work as `n_entries` entries whose columns are
/// read. `sum(first, sums)` writes the sums of the rows from `first` on.
pub(crate) fn for_sums_side_by_side<'a, A: Accum>(
    groups: Groups<'_>,
    n_entries: usize,
    (alpha, beta): (A, A),
    y: Rows<'a, A>,
    sum: &(impl Fn(usize, &mut [A]) + Sync),
) {
    let n_rows = y.rows.len();
    // Parts of whole vectors: rows before and behind them are read one by one.
    let row_of = |unit: u32| (unit as usize * UNIT).min(n_rows);
    let units = Groups { n: if groups.n > 1 { n_rows.div_ceil(UNIT) as u32 } else { groups.n }, ..groups };
    let split = |out: Rows<'a, A>, unit: u32| out.split_before(row_of(unit));
    let first = equal_shares(units.n, |unit| unit as usize);
    let sums = |out: Rows<'_, A>| {
        for (chunk, y) in out.rows.chunks_mut(SIDE_BY_SIDE).enumerate() {
            let first = out.base + chunk * SIDE_BY_SIDE;
            if beta.is_zero() {
                // Where they will stay.
                sum(first, y);
                if !alpha.is_one() {
                    y.iter_mut().for_each(|y| *y = scaled(alpha, *y));
                }
            } else {
                let mut sums = [A::zero(); SIDE_BY_SIDE];
                let sums = &mut sums[..y.len()];
                sum(first, sums);
                y.iter_mut().zip(sums).for_each(|(y, sum)| *y = store(alpha, *sum, beta, *y));
            }
        }
    };
    for_groups_cut(units, n_entries, &first, y, &split, &|out, _| out.finish(&sums));
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
    groups: Groups<'_>,
    bunches: usize,
    first_row: &(impl Fn(usize) -> usize + Sync),
    y: Rows<'_, A>,
    carries: &mut [A],
    part: &(impl Fn(usize, &mut Rows<'_, A>) -> A + Sync),
) {
    let first_rows = |group: u32| {
        let bunch = group as usize * bunches;
        [first_row(bunch), bunch]
    };
    for_both_rows(groups, y, carries, &first_rows, &|[mut y, carries], _| {
        y.bring_z();
        for (bunch, carry) in (carries.base..).zip(carries.rows) {
            *carry = part(bunch, &mut y);
        }
    });
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
        let out = y.range(rows.clone());
        out[0] = store(*alpha, first, *beta, out[0]);
        T::rows(*isa, a, &row_ptr[rows.start + 1..=rows.end], *alpha, *beta, &mut out[1..]);
        // A row that began before is whole when carry_apply has added to it.
        let has_begun = entries.start > row_ptr[rows.start] as usize;
        y.clamp(rows.start + usize::from(has_begun)..rows.end);
        T::dot(*isa, a, row_ptr[rows.end] as usize..entries.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_about_equal_shares_of_uneven_work() {
        let even = vec![3; 1000];
        let growing: Vec<usize> = (0..1000).map(|group| group * group).collect();
        let alone: Vec<usize> = (0..1000).map(|group| if group == 700 { 50_000 } else { 1 }).collect();
        let stretches: Vec<usize> =
            (0..1000).map(|group| if group / 100 % 2 == 0 { 0 } else { 40 }).collect();
        for works in [even, growing, alone, stretches, vec![5], vec![0; 9], vec![1, 1]] {
            let n = works.len() as u32;
            let before = |group: u32| works[..group as usize].iter().sum::<usize>();
            let (all, most) = (before(n), works.iter().copied().max().unwrap_or(0));
            for n_parts in [1, 2, 3, 16] {
                let first = equal_shares(n, before);
                for part in 1..n_parts {
                    let at = first(part, n_parts);
                    let apart = before(at).abs_diff(all * part / n_parts);
                    assert!(
                        at <= n && apart <= most + all / n_parts / MISSED,
                        "{part} of {n_parts}: {apart}"
                    );
                }
            }
        }
    }
}
