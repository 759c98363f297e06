//! Every boundary of a tile, bunch, group or part is computed here and nowhere else (kernels repeat
//! it in their STEP 1, and the conformance suite compares the two).
//!
//! ```text
//! entries   0        W*T      2*W*T            S*W*T                     nnz
//!           |  tile  |  tile  |  ...  |  tile  |  tile  | ...            |
//!           '------------- bunch 0 ------------'------- bunch 1 ...
//!           '------------------------- group 0 = B bunches ---------- ...
//! ```
//!
//! A *tile* is `W x T` entries, a *bunch* of `T` lanes walks `S` tiles one after the other, a *group*
//! holds `B` bunches. Liu & Vinter 2015, section 3.1.

use std::fmt::{self, Display};
use std::ops::Range;
use std::str::FromStr;

use crate::offset::Offset;
use crate::value::Dtype;

/// How many lanes, entries a lane, tiles a bunch and bunches a group a kernel is built for.
///
/// ```
/// use spmv_core::Tiling;
/// let tiling: Tiling = "T=4,W=6,S=2,B=1".parse()?;
/// assert_eq!((tiling.tile_entries(), tiling.bunch_entries()), (24, 48));
/// assert_eq!(tiling.n_bunches(49), 2);
/// assert_eq!(tiling.to_string(), "T=4,W=6,S=2,B=1");
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tiling {
    lanes: u32,
    width: u32,
    tiles: u32,
    bunches: u32,
}

/// A tiling that cannot be.
///
/// ```
/// use spmv_core::Tiling;
/// let e = Tiling::new(0, 1, 1, 1).unwrap_err();
/// assert_eq!(e.to_string(), "tiling T=0,W=1,S=1,B=1: every number must be at least 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TilingError {
    /// One of the four numbers is zero.
    #[error("tiling T={0},W={1},S={2},B={3}: every number must be at least 1")]
    Zero(u32, u32, u32, u32),
    /// The entries of a group do not fit 31 bits.
    #[error("tiling T={0},W={1},S={2},B={3}: a group of {4} entries is more than 2^31 - 1")]
    TooLarge(u32, u32, u32, u32, u128),
    /// Text that is not of the form `T=32,W=8,S=7,B=5`.
    #[error("tiling '{0}' is not of the form T=32,W=8,S=7,B=5")]
    Syntax(String),
}

/// Whose row of Liu & Vinter's Table 1 to use.
///
/// ```
/// use spmv_core::{Dtype, tiling::{Preset, Tiling}};
/// assert_eq!(Tiling::preset(Preset::Nvidia, Dtype::F64).to_string(), "T=32,W=4,S=7,B=5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Intel integrated graphics.
    Intel,
    /// AMD integrated graphics.
    Amd,
    /// NVIDIA Tegra and newer.
    Nvidia,
}

impl Tiling {
    /// `lanes` T, `width` W, `tiles` S, `bunches` B.
    ///
    /// # Errors
    /// [`TilingError::Zero`], [`TilingError::TooLarge`].
    pub const fn new(lanes: u32, width: u32, tiles: u32, bunches: u32) -> Result<Self, TilingError> {
        if lanes == 0 || width == 0 || tiles == 0 || bunches == 0 {
            return Err(TilingError::Zero(lanes, width, tiles, bunches));
        }
        let group = lanes as u128 * width as u128 * tiles as u128 * bunches as u128;
        if group > i32::MAX as u128 {
            return Err(TilingError::TooLarge(lanes, width, tiles, bunches, group));
        }
        Ok(Self { lanes, width, tiles, bunches })
    }

    /// Liu & Vinter 2015, Table 1, for the value type.
    pub const fn preset(preset: Preset, value: Dtype) -> Self {
        let wide = matches!(value, Dtype::F64);
        let (lanes, width, tiles, bunches) = match (preset, wide) {
            (Preset::Intel, _) => (8, 16, 6, 4),
            (Preset::Amd, false) => (64, 16, 2, 2),
            (Preset::Amd, true) => (64, 8, 5, 2),
            (Preset::Nvidia, false) => (32, 8, 7, 5),
            (Preset::Nvidia, true) => (32, 4, 7, 5),
        };
        Self { lanes, width, tiles, bunches }
    }

    /// The same with another S; clipped so that a group's entries still fit 31 bits, and at least 1.
    #[must_use]
    pub const fn with_tiles(self, tiles: u32) -> Self {
        let most = i32::MAX as u32 / (self.lanes * self.width * self.bunches);
        let tiles = if tiles > most { most } else { tiles };
        Self { tiles: if tiles == 0 { 1 } else { tiles }, ..self }
    }

    /// T: lanes of a bunch.
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// W: entries of a tile that one lane handles.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// S: tiles that a bunch walks.
    pub const fn tiles(&self) -> u32 {
        self.tiles
    }

    /// B: bunches of a group.
    pub const fn bunches(&self) -> u32 {
        self.bunches
    }

    /// Entries of a tile, W x T.
    pub const fn tile_entries(&self) -> u32 {
        self.width * self.lanes
    }

    /// Entries of a bunch, S tiles.
    pub const fn bunch_entries(&self) -> u32 {
        self.tile_entries() * self.tiles
    }

    /// Lanes of a group, B bunches.
    pub const fn group_lanes(&self) -> u32 {
        self.lanes * self.bunches
    }

    /// Tiles that cover `n` entries, the last one perhaps not full.
    pub const fn n_tiles(&self, n: u32) -> u32 {
        n.div_ceil(self.tile_entries())
    }

    /// Bunches that cover `n` entries (or `n` merge steps).
    pub const fn n_bunches(&self, n: u32) -> u32 {
        n.div_ceil(self.bunch_entries())
    }

    /// Groups that cover `n` entries.
    pub const fn n_groups(&self, n: u32) -> u32 {
        self.n_bunches(n).div_ceil(self.bunches)
    }

    /// Entries of `tile`, of `n` in all; empty beyond the last tile.
    pub const fn tile_range(&self, tile: u32, n: u32) -> Range<u32> {
        range(tile, self.tile_entries(), n)
    }

    /// Entries (or merge steps) of `bunch`, of `n` in all; empty beyond the last bunch.
    pub const fn bunch_range(&self, bunch: u32, n: u32) -> Range<u32> {
        range(bunch, self.bunch_entries(), n)
    }

    /// Tiles of `bunch` that hold at least one of `n` entries.
    pub const fn bunch_tiles(&self, bunch: u32, n: u32) -> Range<u32> {
        range(bunch, self.tiles, self.n_tiles(n))
    }

    /// Rows of `group` where every lane takes S whole rows (`csr_scalar`).
    pub const fn scalar_rows(&self, group: u32, n_rows: u32) -> Range<u32> {
        range(group, self.group_lanes() * self.tiles, n_rows)
    }

    /// Rows of `group` where every bunch takes S whole rows (`csr_vector`).
    pub const fn vector_rows(&self, group: u32, n_rows: u32) -> Range<u32> {
        range(group, self.bunches * self.tiles, n_rows)
    }

    /// Slices of `group` where the lanes of a [slice](Self::slice_lanes) take S of them; one lane takes them alone (`sell`).
    pub const fn slices(&self, group: u32, n_slices: u32) -> Range<u32> {
        let at_a_time = self.group_lanes() / self.slice_lanes();
        range(group, if at_a_time == 0 { 1 } else { at_a_time } * self.tiles, n_slices)
    }

    /// Lanes of a slice of rows (`sell`): the 32 that run together on most GPUs, or the eight of a CPU's vector where a group is one lane.
    pub const fn slice_lanes(&self) -> u32 {
        if self.group_lanes() == 1 { Self::FEW_SLICE_LANES } else { Self::MOST_SLICE_LANES }
    }

    /// Lanes of a slice that one lane takes.
    pub const FEW_SLICE_LANES: u32 = 8;
    /// Lanes of all other slices.
    pub const MOST_SLICE_LANES: u32 = 32;
    /// Slots of a slice that take a core as long as storing the sum of a row.
    pub const ROW_SLOTS: usize = 2;
    /// Entries of each core that shares a product with others, at least: for less, to call it takes too long.
    pub const ENTRIES_OF_A_CORE: usize = 1 << 14;

    /// Groups that cover `n_rows` rows, each taking as many as the given rule says of group 0.
    pub const fn n_row_groups(rows_of_group_0: &Range<u32>, n_rows: u32) -> u32 {
        if n_rows == 0 { 0 } else { n_rows.div_ceil(rows_of_group_0.end) }
    }
}

/// Piece `index` of `0..n` cut into pieces of `size`, without overflow.
const fn range(index: u32, size: u32, n: u32) -> Range<u32> {
    let start = index as u64 * size as u64;
    let stop = start + size as u64;
    let n64 = n as u64;
    let start = if start < n64 { start as u32 } else { n };
    let stop = if stop < n64 { stop as u32 } else { n };
    start..stop
}

impl Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T={},W={},S={},B={}", self.lanes, self.width, self.tiles, self.bunches)
    }
}

impl FromStr for Tiling {
    type Err = TilingError;

    fn from_str(s: &str) -> Result<Self, TilingError> {
        let syntax = || TilingError::Syntax(s.to_owned());
        let mut numbers = [None; 4];
        for part in s.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(syntax)?;
            let slot = ["T", "W", "S", "B"].iter().position(|k| *k == key.trim()).ok_or_else(syntax)?;
            let value = value.trim().parse().map_err(|_| syntax())?;
            if numbers[slot].replace(value).is_some() {
                return Err(syntax());
            }
        }
        match numbers {
            [Some(t), Some(w), Some(s), Some(b)] => Self::new(t, w, s, b),
            _ => Err(syntax()),
        }
    }
}

/// The row that holds `entry`: the *rightmost* row that starts at or before it, so that empty rows
/// before it are skipped; `n_rows` for `entry == nnz`. O(log rows). `row_ptr` has `n_rows + 1` offsets.
///
/// ```
/// use spmv_core::tiling::locate;
/// let row_ptr = [0u32, 2, 2, 5];
/// assert_eq!([0, 1, 2, 4, 5].map(|e| locate(&row_ptr, e)), [0, 0, 2, 2, 3]);
/// ```
pub fn locate<O: Offset>(row_ptr: &[O], entry: u32) -> u32 {
    (row_ptr.partition_point(|o| o.to_u64() <= u64::from(entry)) - 1) as u32
}

/// A tile's entries and the rows they touch.
///
/// Row `first_row` holds the tile's first entry. Row `stop_row` holds the entry after the tile's last
/// (`n_rows` after the matrix's last). The tile stores sums of the rows between the two; the
/// rows in `first_row + 1..stop_row` that are empty make it *dirty*.
///
/// ```
/// use spmv_core::{Tiling, tiling::TileSpan};
/// let row_ptr = [0u32, 3, 3, 7];
/// let span = TileSpan::of(&Tiling::new(2, 2, 1, 1)?, 0, &row_ptr);
/// assert_eq!((span.entries.clone(), span.first_row, span.stop_row), (0..4, 0, 2));
/// assert!(span.is_dirty(&row_ptr));
/// assert!(span.has_tail(&row_ptr));
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileSpan {
    /// Entries of the tile.
    pub entries: Range<u32>,
    /// Row of the first entry.
    pub first_row: u32,
    /// Row of the entry that follows the last.
    pub stop_row: u32,
}

impl TileSpan {
    /// Two searches. `tile` must hold an entry.
    pub fn of(tiling: &Tiling, tile: u32, row_ptr: &[u32]) -> Self {
        let nnz = row_ptr[row_ptr.len() - 1];
        let entries = tiling.tile_range(tile, nnz);
        debug_assert!(!entries.is_empty(), "tile {tile} holds none of {nnz} entries");
        let (first_row, stop_row) = (locate(row_ptr, entries.start), locate(row_ptr, entries.end));
        Self { entries, first_row, stop_row }
    }

    /// Whether an empty row lies between the tile's first and its stop row. O(rows of the tile).
    pub fn is_dirty(&self, row_ptr: &[u32]) -> bool {
        (self.first_row + 1..self.stop_row).any(|r| row_ptr[r as usize] == row_ptr[r as usize + 1])
    }

    /// Whether the stop row already has entries in this tile, or before it: a row that begins exactly
    /// at the tile's end has no segment here, so nothing to carry.
    pub fn has_tail(&self, row_ptr: &[u32]) -> bool {
        row_ptr[self.stop_row as usize] < self.entries.end
    }
}

/// The row at each tile boundary: `n_tiles + 1` rows, so that tile `t` begins in `rows[t]` and its
/// stop row is `rows[t + 1]`. Depends on the structure alone, so it is kept from prepare (4 bytes a
/// tile) wherever that beats searching again. O(tiles log rows).
///
/// ```
/// use spmv_core::{Tiling, tiling::tile_rows};
/// let row_ptr = [0u32, 3, 3, 7];
/// assert_eq!(tile_rows(&Tiling::new(2, 2, 1, 1)?, &row_ptr), [0, 2, 3]);
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
pub fn tile_rows(tiling: &Tiling, row_ptr: &[u32]) -> Vec<u32> {
    let nnz = row_ptr[row_ptr.len() - 1];
    let n_tiles = tiling.n_tiles(nnz);
    (0..=n_tiles).map(|tile| locate(row_ptr, tiling.tile_range(tile, nnz).start)).collect()
}

/// Where a merge of row ends with entries stands after `step` of its `n_rows + nnz` steps: so many
/// rows finished, so many entries used. O(log rows). Merrill & Garland 2016, section 3.
///
/// Cutting the merge into equal pieces cuts rows *and* entries evenly: neither one full row nor a
/// million empty ones unbalance it.
///
/// ```
/// use spmv_core::tiling::merge_path;
/// let row_ptr = [0u32, 2, 2, 3];
/// // entry, entry, end of row 0, end of row 1, entry, end of row 2
/// assert_eq!([0, 2, 3, 4, 5, 6].map(|s| merge_path(&row_ptr, s)), [(0, 0), (0, 2), (1, 2), (2, 2), (2, 3), (3, 3)]);
/// ```
pub fn merge_path(row_ptr: &[u32], step: u32) -> (u32, u32) {
    let n_rows = (row_ptr.len() - 1) as u32;
    let nnz = row_ptr[row_ptr.len() - 1];
    let (mut low, mut high) = (step.saturating_sub(nnz), step.min(n_rows));
    while low < high {
        let mid = low + (high - low) / 2;
        // Row `mid` ends before the step if its end comes before the entries used by then.
        if row_ptr[mid as usize + 1] < step - mid { low = mid + 1 } else { high = mid }
    }
    (low, step - low)
}

/// A piece of a matrix that fits one launch: whole rows, or part of one row.
///
/// ```
/// use spmv_core::tiling::split_rows;
/// // Rows of 1, 1 and 5 entries, at most 2 entries a piece.
/// let pieces = split_rows(&[0u64, 1, 2, 7], 2, 100);
/// assert_eq!(pieces.len(), 4);
/// assert_eq!((pieces[0].rows.clone(), pieces[0].entries.clone()), (0..2, 0..2));
/// assert_eq!((pieces[2].rows.clone(), pieces[2].entries.clone(), pieces[2].continues), (2..3, 4..6, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Rows of the matrix.
    pub rows: Range<usize>,
    /// Entries of the matrix.
    pub entries: Range<usize>,
    /// Whether an earlier piece holds the beginning of the one row, so that this one adds to it.
    pub continues: bool,
}

/// Cuts a matrix into row ranges of at most `max_entries` entries and `max_rows` rows (both at least
/// 1); a longer row is cut too. Always at least one piece; O(rows + pieces).
pub fn split_rows<O: Offset>(row_ptr: &[O], max_entries: usize, max_rows: usize) -> Vec<Piece> {
    assert!(max_entries > 0 && max_rows > 0, "a piece holds at least one entry and one row");
    let n_rows = row_ptr.len() - 1;
    let at = |row: usize| row_ptr[row].to_usize();
    let mut pieces = Vec::new();
    let mut row = 0;
    while row < n_rows || pieces.is_empty() {
        let limit = at(row) + max_entries;
        let fitting = row_ptr[row + 1..].partition_point(|o| o.to_usize() <= limit);
        let stop = row + fitting.min(max_rows);
        if stop > row || n_rows == 0 {
            pieces.push(Piece { rows: row..stop, entries: at(row)..at(stop), continues: false });
            row = stop;
            continue;
        }
        let mut start = at(row);
        while start < at(row + 1) {
            let end = at(row + 1).min(start + max_entries);
            pieces.push(Piece { rows: row..row + 1, entries: start..end, continues: start > at(row) });
            start = end;
        }
        row += 1;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table_1_is_the_papers() {
        let all = |p| [Dtype::F32, Dtype::F64].map(|d| Tiling::preset(p, d).to_string());
        assert_eq!(all(Preset::Intel), ["T=8,W=16,S=6,B=4", "T=8,W=16,S=6,B=4"]);
        assert_eq!(all(Preset::Amd), ["T=64,W=16,S=2,B=2", "T=64,W=8,S=5,B=2"]);
        assert_eq!(all(Preset::Nvidia), ["T=32,W=8,S=7,B=5", "T=32,W=4,S=7,B=5"]);
    }

    #[test]
    fn text_that_is_no_tiling_is_refused() {
        for s in ["", "T=1", "T=1,W=2,S=3,B=4,T=5", "T=1,W=2,S=3,B=x", "T=1,W=2,S=3,Q=4", "T1,W=2,S=3,B=4"] {
            assert!(matches!(s.parse::<Tiling>(), Err(TilingError::Syntax(_))), "{s}");
        }
        assert!(matches!("T=65536,W=65536,S=1,B=1".parse::<Tiling>(), Err(TilingError::TooLarge(..))));
    }

    #[test]
    fn the_last_tile_of_four_billion_entries_does_not_overflow() {
        let t = Tiling::new(32, 8, 7, 5).unwrap();
        let nnz = u32::MAX;
        let last = t.n_tiles(nnz) - 1;
        assert_eq!(t.tile_range(last, nnz).end, nnz);
        assert_eq!(t.tile_range(u32::MAX, nnz), nnz..nnz);
    }

    proptest! {
        #[test]
        fn tiles_cover_every_entry_once(t in 1u32..9, w in 1u32..9, s in 1u32..5, b in 1u32..4, n in 0u32..2000) {
            let tiling = Tiling::new(t, w, s, b).unwrap();
            let mut next = 0;
            for bunch in 0..tiling.n_bunches(n) {
                prop_assert_eq!(tiling.bunch_range(bunch, n).start, next);
                for tile in tiling.bunch_tiles(bunch, n) {
                    let range = tiling.tile_range(tile, n);
                    prop_assert_eq!(range.start, next);
                    prop_assert!(!range.is_empty());
                    next = range.end;
                }
                prop_assert_eq!(tiling.bunch_range(bunch, n).end, next);
            }
            prop_assert_eq!(next, n);
            prop_assert!(tiling.n_groups(n) * b >= tiling.n_bunches(n));
        }

        #[test]
        fn pieces_cover_every_row_and_entry_in_order(
            lens in prop::collection::vec(0u32..6, 0..40), max_entries in 1usize..8, max_rows in 1usize..5,
        ) {
            let row_ptr: Vec<u32> = std::iter::once(0).chain(lens.iter().scan(0, |s, l| { *s += l; Some(*s) })).collect();
            let (mut row, mut entry) = (0, 0);
            for piece in split_rows(&row_ptr, max_entries, max_rows) {
                prop_assert_eq!(piece.entries.start, entry);
                prop_assert_eq!(piece.rows.start, if piece.continues { row - 1 } else { row });
                prop_assert!(piece.entries.len() <= max_entries && piece.rows.len() <= max_rows);
                (row, entry) = (piece.rows.end, piece.entries.end);
            }
            prop_assert_eq!((row, entry), (lens.len(), *row_ptr.last().unwrap() as usize));
        }

        #[test]
        fn locate_is_the_rightmost_row(lens in prop::collection::vec(0u32..4, 1..40)) {
            let row_ptr: Vec<u32> = std::iter::once(0).chain(lens.iter().scan(0, |s, l| { *s += l; Some(*s) })).collect();
            for entry in 0..=*row_ptr.last().unwrap() {
                let r = locate(&row_ptr, entry) as usize;
                prop_assert!(row_ptr[r] <= entry);
                prop_assert!(r == lens.len() || row_ptr[r + 1] > entry);
            }
        }

        #[test]
        fn merge_path_agrees_with_walking_it(lens in prop::collection::vec(0u32..4, 0..40)) {
            let row_ptr: Vec<u32> = std::iter::once(0).chain(lens.iter().scan(0, |s, l| { *s += l; Some(*s) })).collect();
            let (mut row, mut entry) = (0u32, 0u32);
            for step in 0..=lens.len() as u32 + row_ptr.last().unwrap() {
                prop_assert_eq!(merge_path(&row_ptr, step), (row, entry));
                if (row as usize) < lens.len() {
                    if row_ptr[row as usize + 1] == entry { row += 1 } else { entry += 1 }
                }
            }
        }
    }
}
