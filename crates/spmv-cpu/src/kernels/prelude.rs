//! What the kernels share: walking groups in parallel without allocating.

use std::ops::Range;

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
