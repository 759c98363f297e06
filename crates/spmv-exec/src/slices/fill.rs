//! Slots and words of a slice, written step by step.

use std::ops::Range;

use spmv_core::{CsrView, Value};

use super::header::{Header, LENGTHS, NARROW_NONE};

/// The word of a run that is not there.
const NONE: u32 = u32::MAX;

/// What the lanes of a slice of `N` take in a step: the first entry of each one's run, and how many it has.
pub(super) struct Step<const N: usize> {
    pub(super) entries: [u32; N],
    pub(super) lens: [u32; N],
}

/// Calls `f` with every step of a slice of `N` lanes, of whose rows those are the entries. `follows` says of an entry whether it goes on with the run of
/// the one before; there are none where runs have one entry.
#[inline(always)]
pub(super) fn for_each_step<const N: usize>(
    header: &Header,
    rows: impl Iterator<Item = Range<u32>>,
    follows: &[bool],
    mut f: impl FnMut(usize, &Step<N>),
) {
    let mut left: [Range<u32>; N] = std::array::from_fn(|_| 0..0);
    left.iter_mut().zip(rows).for_each(|(left, entries)| *left = entries);
    let lanes = header.lanes as usize;
    let mut taken = Step { entries: [0; N], lens: [0; N] };
    for step in 0..header.n_steps as usize {
        let of_rows = taken.entries.chunks_exact_mut(lanes).zip(taken.lens.chunks_exact_mut(lanes));
        for (left, (entries, lens)) in left.iter_mut().zip(of_rows) {
            for (entry, of_run) in entries.iter_mut().zip(lens) {
                let mut len = u32::from(left.start < left.end);
                *entry = if len > 0 { left.start } else { 0 };
                if !follows.is_empty() && len > 0 {
                    let rest = &follows[left.start as usize + 1..left.end as usize];
                    len += rest.iter().take_while(|follows| **follows).count() as u32;
                }
                left.start += len;
                *of_run = len;
            }
        }
        f(step, &taken);
    }
}

/// Writes all slots and words of a slice of `N` lanes, with those words before, if it has a part of a row.
#[inline(always)]
pub(super) fn fill<V: Value, const N: usize>(
    a: CsrView<'_, V, u32>,
    header: &Header,
    width: usize,
    rows: impl Iterator<Item = Range<u32>>,
    follows: &[bool],
    words: &mut [u32],
    vals: &mut [V],
) {
    let lanes = header.lanes as usize;
    let (lengths, columns) = words.split_at_mut(header.words_of_lengths(N));
    lengths.fill(NONE);
    let (cols, of_entries, zero) = (a.cols(), a.vals(), V::from_f64(0.0));
    for_each_step(header, rows, follows, |step, Step::<N> { entries, lens }| {
        let slots = &mut vals[step * width * N..][..width * N];
        for (at, slots) in slots.chunks_exact_mut(N).enumerate() {
            for (lane, slot) in slots.iter_mut().enumerate() {
                let is_there = (at as u32) < lens[lane];
                let val = of_entries[entries[lane] as usize + if is_there { at } else { 0 }];
                *slot = if is_there { val } else { zero };
            }
        }
        if header.is_stepped {
            for (word, entry) in columns[step * lanes..][..lanes].iter_mut().zip(entries) {
                *word = cols[*entry as usize];
            }
            return;
        }
        let mut codes = [NONE; N];
        for (lane, code) in codes.iter_mut().enumerate() {
            let col = cols[entries[lane] as usize].wrapping_sub(header.base);
            *code = if lens[lane] > 0 { col } else { NONE };
        }
        let line = if header.is_narrow { step / 2 } else { step };
        let columns = columns[line * N..][..N].iter_mut().zip(codes);
        match (header.is_narrow, step % 2) {
            (false, _) => columns.for_each(|(word, code)| *word = code),
            (true, 0) => columns.for_each(|(word, code)| *word = code | NARROW_NONE << 16),
            (true, _) => columns.for_each(|(word, code)| *word = *word & NARROW_NONE | code << 16),
        }
        if header.is_ragged {
            let (words, shift) = (&mut lengths[step / LENGTHS * N..][..N], step % LENGTHS * 2);
            for (word, len) in words.iter_mut().zip(lens).filter(|(_, len)| **len > 0) {
                *word = *word & !(3 << shift) | (len - 1) << shift;
            }
        }
    });
}
