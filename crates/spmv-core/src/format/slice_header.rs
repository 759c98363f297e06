//! The numbers of a slice of `sell`.

/// What a slice of `sell` says of itself, in four numbers, and what its words are.
///
/// A slice has as many words as [`words`](Self::words) says: of a row that goes over several slices where the row's are, then lengths of runs,
/// then columns. Step by step, lane by lane.
///
/// ```
/// use spmv_core::format::SliceHeader;
/// let header = SliceHeader { base: 100, n_steps: 5, lanes: 4, is_narrow: true, ..SliceHeader::default() };
/// let numbers = header.numbers().unwrap();
/// assert_eq!(numbers, [0, 0, 100, 5 << 7 | 2 << 2 | SliceHeader::NARROW]);
/// assert_eq!(SliceHeader::of(numbers), header);
/// assert_eq!(header.words(32), 3 * 32, "two columns a word");
/// assert_eq!(SliceHeader { n_steps: 1 << 25, ..header }.numbers(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceHeader {
    /// Where its slots begin.
    pub first_slot: u32,
    /// Where its words begin.
    pub first_word: u32,
    /// The least column, where columns have 16 bits; else 0.
    pub base: u32,
    /// Runs of a lane at most.
    pub n_steps: usize,
    /// Lanes of a row, a power of two up to 128.
    pub lanes: usize,
    /// Whether columns have 16 bits.
    pub is_narrow: bool,
    /// Whether there are runs of fewer entries than others; no run of one is.
    pub is_ragged: bool,
    /// Whether its row goes over several slices.
    pub is_part: bool,
    /// Whether columns are those of its first row, and for each row after it one more.
    pub is_stepped: bool,
}

/// Of no steps, with a lane a row.
impl Default for SliceHeader {
    fn default() -> Self {
        Self::of([0; 4])
    }
}

impl SliceHeader {
    /// The column of a run that is not there, in 32 bits.
    pub const NONE: u32 = 0xffff_ffff;
    /// The same in 16 bits.
    pub const NARROW_NONE: u32 = 0xffff;
    /// Columns of a word, where they have 16 bits.
    pub const NARROW_COLS: usize = 2;
    /// Lengths of runs in a word, of two bits each.
    pub const LENGTHS: usize = 16;

    /// Bit of the last number: [`is_narrow`](Self::is_narrow).
    pub const NARROW: u32 = 1;
    /// Bit of the last number: [`is_ragged`](Self::is_ragged).
    pub const RAGGED: u32 = 2;
    /// Bit of the last number: [`is_part`](Self::is_part).
    pub const PART: u32 = 32;
    /// Bit of the last number: [`is_stepped`](Self::is_stepped).
    pub const STEPPED: u32 = 64;
    /// Where the last number has the logarithm of the lanes, and where the steps.
    const LANES_AT: u32 = 2;
    const STEPS_AT: u32 = 7;

    /// The four numbers; `None` from 2^25 steps on.
    pub fn numbers(&self) -> Option<[u32; 4]> {
        let n_steps = u32::try_from(self.n_steps).ok().filter(|n| n.leading_zeros() >= Self::STEPS_AT)?;
        let flags = [
            (self.is_narrow, Self::NARROW),
            (self.is_ragged, Self::RAGGED),
            (self.is_part, Self::PART),
            (self.is_stepped, Self::STEPPED),
        ];
        let flags = flags.into_iter().fold(0, |flags, (is, bit)| if is { flags | bit } else { flags });
        let last = n_steps << Self::STEPS_AT | self.lanes.ilog2() << Self::LANES_AT | flags;
        Some([self.first_slot, self.first_word, self.base, last])
    }

    /// Of the four numbers.
    #[inline(always)]
    pub fn of([first_slot, first_word, base, last]: [u32; 4]) -> Self {
        Self {
            first_slot,
            first_word,
            base,
            n_steps: (last >> Self::STEPS_AT) as usize,
            lanes: 1 << (last >> Self::LANES_AT & 7),
            is_narrow: last & Self::NARROW != 0,
            is_ragged: last & Self::RAGGED != 0,
            is_part: last & Self::PART != 0,
            is_stepped: last & Self::STEPPED != 0,
        }
    }

    /// Words of a slice that has a part of a row, before all others: the first slice of the row, and how many it has.
    #[inline(always)]
    pub fn words_of_part(&self, slice_lanes: usize) -> usize {
        if self.is_part { slice_lanes } else { 0 }
    }

    /// Words of the lengths of runs.
    #[inline(always)]
    pub fn words_of_lengths(&self, slice_lanes: usize) -> usize {
        if self.is_ragged && !self.is_stepped {
            self.n_steps.div_ceil(Self::LENGTHS) * slice_lanes
        } else {
            0
        }
    }

    /// Words of columns.
    #[inline(always)]
    pub fn words_of_columns(&self, slice_lanes: usize) -> usize {
        match (self.is_stepped, self.is_narrow) {
            (true, _) => self.n_steps * self.lanes,
            (_, true) => self.n_steps.div_ceil(Self::NARROW_COLS) * slice_lanes,
            (_, false) => self.n_steps * slice_lanes,
        }
    }

    /// All words of the slice.
    #[inline(always)]
    pub fn words(&self, slice_lanes: usize) -> usize {
        self.words_of_part(slice_lanes)
            + self.words_of_lengths(slice_lanes)
            + self.words_of_columns(slice_lanes)
    }
}
