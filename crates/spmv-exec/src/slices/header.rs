//! How the numbers of a slice follow from its runs.

use spmv_core::format::SliceHeader;

use super::runs::Runs;
use super::shape::Shape;

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
        let is_narrow = shape.has_halves() && !is_stepped && greatest - least < SliceHeader::NARROW_NONE;
        let header = SliceHeader {
            first_slot: u32::try_from(self.slots).ok()?,
            first_word: u32::try_from(self.words).ok()?,
            base: if is_narrow { least } else { 0 },
            n_steps: runs.n.div_ceil(lanes) as usize,
            lanes: lanes as usize,
            is_narrow,
            is_ragged: runs.is_ragged,
            is_part,
            is_stepped,
        };
        self.slots += header.n_steps * shape.slice_lanes * shape.width;
        self.words += header.words(shape.slice_lanes);
        header.numbers().filter(|_| self.are_counted())
    }

    pub(super) fn are_counted(&self) -> bool {
        u32::try_from(self.slots.max(self.words)).is_ok()
    }
}
