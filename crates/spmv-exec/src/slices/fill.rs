//! Slots and words of a slice.

use std::ops::Range;

use spmv_core::format::SliceHeader;
use spmv_core::{CsrView, Value};

/// The word of a run that is not there.
const NONE: u32 = SliceHeader::NONE;

/// A run of a row, and where it is taken.
pub(super) struct Taken {
    pub(super) step: usize,
    /// Of the slice.
    pub(super) lane: usize,
    pub(super) first: usize,
    pub(super) len: usize,
}

/// The runs of a row with those lanes of a slice. `follows` says of an entry whether it goes on with the run of the one before; there are none
/// where runs have one entry.
#[inline]
pub(super) fn runs(
    entries: Range<u32>,
    follows: &[bool],
    lanes: Range<usize>,
) -> impl Iterator<Item = Taken> {
    let (mut first, end) = (entries.start as usize, entries.end as usize);
    let (mut step, mut lane) = (0, lanes.start);
    std::iter::from_fn(move || {
        if first == end {
            return None;
        }
        let rest = follows.get(first + 1..end).unwrap_or_default();
        let len = 1 + rest.iter().take_while(|follows| **follows).count();
        let taken = Taken { step, lane, first, len };
        first += len;
        lane += 1;
        if lane == lanes.end {
            (step, lane) = (step + 1, lanes.start);
        }
        Some(taken)
    })
}

/// Writes all slots and words of a slice of `N` lanes, but for those before, if it has a part of a row.
#[inline]
pub(super) fn fill<V: Value, const N: usize>(
    a: CsrView<'_, V, u32>,
    header: &SliceHeader,
    width: usize,
    rows: [Range<u32>; N],
    follows: &[bool],
    words: &mut [u32],
    vals: &mut [V],
) {
    let (lanes, zero) = (header.lanes, V::from_f64(0.0));
    if width == 1 {
        let (mut of_vals, mut of_cols) = ([[].as_slice(); N], [[].as_slice(); N]);
        for (lane, (of_vals, of_cols)) in of_vals.iter_mut().zip(&mut of_cols).enumerate() {
            let Range { start, end } = rows[lane >> header.lanes.ilog2()];
            let entries = (start as usize + lane % lanes).min(end as usize)..end as usize;
            (*of_vals, *of_cols) = (&a.vals()[entries.clone()], &a.cols()[entries]);
        }
        deal(vals, &of_vals, lanes, zero);
        return match (header.is_stepped, header.is_narrow) {
            (true, _) => words.copy_from_slice(&of_cols[0][..words.len()]),
            (false, true) => deal_halves(words, &of_cols, lanes, header.base),
            (false, false) => deal(words, &of_cols, lanes, NONE),
        };
    }
    words.fill(NONE);
    vals.fill(zero);
    let (lengths, columns) = words.split_at_mut(header.words_of_lengths(N));
    for (row, entries) in rows.into_iter().enumerate().take(N / lanes) {
        for Taken { step, lane, first, len } in runs(entries, follows, row * lanes..(row + 1) * lanes) {
            let slots = vals[step * width * N + lane..].iter_mut().step_by(N);
            slots.zip(&a.vals()[first..first + len]).for_each(|(slot, val)| *slot = *val);
            let col = a.cols()[first];
            if header.is_narrow {
                columns[step / 2 * N + lane] ^=
                    ((col - header.base) ^ SliceHeader::NARROW_NONE) << (step % 2 * 16);
            } else if !header.is_stepped {
                columns[step * N + lane] = col;
            } else if row == 0 {
                columns[step * lanes + lane] = col;
            }
            if header.is_ragged {
                lengths[step / SliceHeader::LENGTHS * N + lane] ^=
                    (3 ^ (len as u32 - 1)) << (step % SliceHeader::LENGTHS * 2);
            }
        }
    }
}

/// Deals to each lane, in every step, what it has of its row, every `lanes`-th from the first on.
#[inline]
fn deal<E: Copy, const N: usize>(to: &mut [E], of_lanes: &[&[E]; N], lanes: usize, none: E) {
    for (to, at) in to.chunks_exact_mut(N).zip((0..).step_by(lanes)) {
        to.iter_mut().zip(of_lanes).for_each(|(to, of_lane)| *to = of_lane.get(at).copied().unwrap_or(none));
    }
}

/// The same of columns that take 16 bits, those of two steps in a word.
#[inline]
fn deal_halves<const N: usize>(to: &mut [u32], of_lanes: &[&[u32]; N], lanes: usize, base: u32) {
    let half = |of_lane: &[u32], at| of_lane.get(at).map_or(SliceHeader::NARROW_NONE, |col| col - base);
    for (to, at) in to.chunks_exact_mut(N).zip((0..).step_by(2 * lanes)) {
        let both = |of_lane| half(of_lane, at) | half(of_lane, at + lanes) << 16;
        to.iter_mut().zip(of_lanes).for_each(|(to, of_lane)| *to = both(of_lane));
    }
}
