// kernel: sell_fill
// params: n_rows n_slices slice_lanes slice_rows width sorted row_ptr cols perm slices parts words entries
// steps:  1 a lane takes a lane of a slice; 2 find the entries of its row, or of the slice's part of one; 3 of a part
//         store where the row's slices are; 4 in each step, find the run that the lane takes; 5 store the entry of each
//         of its slots; 6 store the run's column and length

use std::ops::Range;

use spmv_core::format::{PADDING, SliceHeader};

use super::prelude::for_both_rows;
use crate::device_args::view::SellFill;
use crate::launch::Launch;
use crate::numbers::Numbers;
use crate::simd::{LENGTHS, NARROW_NONE, NONE};

pub(crate) fn run<T: Numbers>(launch: Launch, args: SellFill<'_, T>) {
    let SellFill { n_rows, n_slices, slice_lanes, slice_rows, width, sorted, .. } = args;
    let SellFill { row_ptr, cols, perm, slices, parts, words, entries, .. } = args;
    let [n_slices, lanes, slice_rows] = [n_slices, slice_lanes, slice_rows].map(|n| n as usize);
    let (numbers, parts) = (&slices.as_chunks::<4>().0[..n_slices], parts.as_chunks::<4>().0);
    let of_a_group = launch.tiling.group_lanes() as usize / lanes;
    let first_slice = |group: u32| n_slices.min(group as usize * of_a_group);
    let ends = [words.len(), entries.len()];
    let starts = |slice: usize| match numbers.get(slice) {
        Some([slot, word, ..]) => [*word as usize, *slot as usize],
        None => ends,
    };
    for_both_rows(
        launch.groups,
        words,
        entries,
        &|group| starts(first_slice(group)),
        &|[mut words, mut entries], group| {
            // STEP 1
            for slice in first_slice(group)..first_slice(group + 1) {
                let ([first_word, first_slot], [end_word, end_slot]) = (starts(slice), starts(slice + 1));
                let header = SliceHeader::of(numbers[slice]);
                let mut out = Out {
                    header,
                    lanes,
                    width: width as usize,
                    words: words.range(first_word..end_word),
                    entries: entries.range(first_slot..end_slot),
                };
                // STEP 2
                if header.is_part {
                    let [first, n, start, end] = parts[slice];
                    out.part([first, n]);
                    out.row(0, start..end, cols);
                    continue;
                }
                for at in 0..lanes / header.lanes {
                    let position = slice * slice_rows + at;
                    let row = if sorted == 0 { position } else { perm[position] as usize };
                    let is_there = row < n_rows as usize;
                    out.row(at, if is_there { row_ptr[row]..row_ptr[row + 1] } else { 0..0 }, cols);
                }
            }
        },
    );
}

/// What a slice has.
struct Out<'a> {
    header: SliceHeader,
    lanes: usize,
    width: usize,
    words: &'a mut [u32],
    entries: &'a mut [u32],
}

impl Out<'_> {
    // STEP 3
    fn part(&mut self, of_row: [u32; 2]) {
        self.words[..self.lanes].fill(NONE);
        self.words[..2].copy_from_slice(&of_row);
    }

    /// A row with its lanes of the slice.
    fn row(&mut self, row: usize, row_entries: Range<u32>, cols: &[u32]) {
        let SliceHeader { base, n_steps, is_narrow, is_ragged, lanes: n_lanes, is_stepped, .. } = self.header;
        let (lanes, width) = (self.lanes, self.width);
        let (first, end) = (row_entries.start as usize, row_entries.end as usize);
        let words = &mut self.words[self.header.words_of_part(lanes)..];
        let (lengths, columns) = words.split_at_mut(self.header.words_of_lengths(lanes));
        let mut run = first;
        for step in 0..n_steps {
            for lane in row * n_lanes..(row + 1) * n_lanes {
                // STEP 4
                let rest = &cols[run..end.min(run + width)];
                let follows = |(col, distance): &(&u32, u32)| **col == rest[0] + distance;
                let len = rest.iter().zip(0..).take_while(follows).count();
                // STEP 5
                for i in 0..width {
                    self.entries[(step * width + i) * lanes + lane] =
                        if i < len { (run + i) as u32 } else { PADDING };
                }
                // STEP 6
                let col = if len > 0 { rest[0] - base } else { NONE };
                if is_narrow {
                    let word = &mut columns[step / 2 * lanes + lane];
                    *word = match step % 2 {
                        0 => col & NARROW_NONE | NARROW_NONE << 16,
                        _ => *word & NARROW_NONE | col << 16,
                    };
                } else if !is_stepped {
                    columns[step * lanes + lane] = col;
                } else if row == 0 {
                    columns[step * n_lanes + lane] = col;
                }
                if is_ragged {
                    let word = &mut lengths[step / LENGTHS * lanes + lane];
                    let before = if step % LENGTHS == 0 { NONE } else { *word };
                    let less = if len > 0 { (3 ^ (len as u32 - 1)) << (step % LENGTHS * 2) } else { 0 };
                    *word = before ^ less;
                }
                run += len;
            }
        }
    }
}
