//! The four numbers of a slice, and how they follow from its runs.

use super::runs::Runs;
use super::shape::Shape;

/// The column of a run that is not there, in 16 bits.
pub(super) const NARROW_NONE: u32 = 0xffff;
/// Lengths of runs in a word, of two bits each.
pub(super) const LENGTHS: usize = 16;

/// What a kernel reads of a slice first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) first_slot: u32,
    pub(super) first_word: u32,
    /// The least column, where columns have 16 bits; else 0.
    pub(super) base: u32,
    pub(super) n_steps: u32,
    /// Lanes of a row.
    pub(super) lanes: u32,
    pub(super) is_narrow: bool,
    /// Whether there are runs of fewer than W entries.
    pub(super) is_ragged: bool,
    /// Whether its row goes over several slices.
    pub(super) is_part: bool,
    /// Whether columns are those of its first row, and for each row after it one more.
    pub(super) is_stepped: bool,
}

impl Header {
    /// Bits before the steps.
    const FLAGS: u32 = 7;

    pub(super) fn numbers(&self) -> [u32; 4] {
        let flags = u32::from(self.is_narrow) | u32::from(self.is_ragged) << 1 | u32::from(self.is_part) << 5;
        let flags = flags | self.lanes.ilog2() << 2 | u32::from(self.is_stepped) << 6;
        [self.first_slot, self.first_word, self.base, self.n_steps << Self::FLAGS | flags]
    }

    pub(super) fn of(numbers: [u32; 4]) -> Self {
        let [first_slot, first_word, base, flags] = numbers;
        let (n_steps, lanes) = (flags >> Self::FLAGS, 1 << (flags >> 2 & 7));
        let [is_narrow, is_ragged, is_part, is_stepped] = [0, 1, 5, 6].map(|bit| flags >> bit & 1 != 0);
        Self { first_slot, first_word, base, n_steps, lanes, is_narrow, is_ragged, is_part, is_stepped }
    }

    /// Words of a slice that has a part of a row, before all others: the first slice of the row, and how many it has.
    pub(super) fn words_of_part(&self, slice_lanes: usize) -> usize {
        if self.is_part { slice_lanes } else { 0 }
    }

    pub(super) fn words_of_lengths(&self, slice_lanes: usize) -> usize {
        if self.is_ragged { (self.n_steps as usize).div_ceil(LENGTHS) * slice_lanes } else { 0 }
    }

    fn words(&self, slice_lanes: usize) -> usize {
        let n_steps = self.n_steps as usize;
        if self.is_stepped {
            return n_steps * self.lanes as usize;
        }
        let of_columns = if self.is_narrow { n_steps.div_ceil(2) } else { n_steps };
        self.words_of_part(slice_lanes) + self.words_of_lengths(slice_lanes) + of_columns * slice_lanes
    }
}

/// What a slice has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) runs: Runs,
    /// Lanes of a row.
    pub(super) lanes: u32,
    pub(super) is_part: bool,
    pub(super) is_stepped: bool,
}

/// Where slots and words of slices end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub(super) slots: usize,
    pub(super) words: usize,
}

impl Ends {
    /// The numbers of the slice that begins here; `None` if 32 bits do not count what it has.
    pub(super) fn push(&mut self, of: &Slice, shape: Shape) -> Option<[u32; 4]> {
        let Slice { runs, lanes, is_part, is_stepped } = *of;
        let (least, greatest) = if runs.n > 0 { (runs.least, runs.greatest) } else { (0, 0) };
        let is_narrow = shape.has_halves() && !is_stepped && greatest - least < NARROW_NONE;
        let header = Header {
            first_slot: u32::try_from(self.slots).ok()?,
            first_word: u32::try_from(self.words).ok()?,
            base: if is_narrow { least } else { 0 },
            n_steps: runs.n.div_ceil(lanes),
            lanes,
            is_narrow,
            is_ragged: runs.is_ragged,
            is_part,
            is_stepped,
        };
        self.slots += header.n_steps as usize * shape.slice_lanes * shape.width;
        self.words += header.words(shape.slice_lanes);
        (self.are_counted() && header.n_steps.leading_zeros() >= Header::FLAGS).then(|| header.numbers())
    }

    pub(super) fn are_counted(&self) -> bool {
        u32::try_from(self.slots.max(self.words)).is_ok()
    }
}
