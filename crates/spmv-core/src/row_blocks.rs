//! Blocks of rows that a group takes.

use crate::tiling::Tiling;

/// Blocks of whole rows for groups that hold a block's products in local memory (Gao et al., algorithms 4 and 6): a
/// block ends where the next row would exceed what a group's tiles hold, or where every lane has a row; a longer row is
/// cut into blocks of its own.
///
/// ```
/// use spmv_core::{RowBlocks, Tiling};
/// // Four lanes, eight entries: rows of 3, 3, 3 and 20.
/// let blocks = RowBlocks::of(&Tiling::new(4, 2, 1, 1)?, &[0, 3, 6, 9, 29]);
/// assert_eq!(blocks.rows, [0, 2, 3, 3, 3, 4]);
/// assert_eq!(blocks.entries, [0, 6, 9, 17, 25, 29]);
/// assert!(blocks.cuts_rows);
/// # Ok::<(), spmv_core::TilingError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBlocks {
    /// The first row of each block, and `n_rows` at the end; a block that only holds part of the next block's first row
    /// begins with that row too.
    pub rows: Vec<u32>,
    /// The first entry of each block, and `nnz` at the end.
    pub entries: Vec<u32>,
    /// Whether any row is cut.
    pub cuts_rows: bool,
}

impl RowBlocks {
    /// Always at least one block. O(rows).
    pub fn of(tiling: &Tiling, row_ptr: &[u32]) -> Self {
        let (held, lanes) = (tiling.tile_entries() * tiling.bunches(), tiling.group_lanes());
        let n_rows = row_ptr.len() as u32 - 1;
        let (mut rows, mut entries, mut cuts_rows) = (vec![], vec![], false);
        let mut add = |row: u32, entry: u32| {
            rows.push(row);
            entries.push(entry);
        };
        // Where the block begins that is being filled.
        let mut first = 0;
        for row in 0..n_rows {
            let [start, end] = [row_ptr[row as usize], row_ptr[row as usize + 1]];
            let is_full = end - row_ptr[first as usize] > held || row - first == lanes;
            if is_full && row > first {
                add(first, row_ptr[first as usize]);
                first = row;
            }
            if end - start > held {
                cuts_rows = true;
                for entry in (start..end).step_by(held as usize) {
                    add(row, entry);
                }
                first = row + 1;
            }
        }
        if first < n_rows || rows.is_empty() {
            rows.push(first);
            entries.push(row_ptr[first as usize]);
        }
        rows.push(n_rows);
        entries.push(row_ptr[n_rows as usize]);
        Self { rows, entries, cuts_rows }
    }

    /// The same without cutting a row: a longer row is one block, whatever its length. A block is closed as soon as it is
    /// full, as in the paper, so empty rows after its last entry begin the next. Always at least one block. O(rows).
    ///
    /// ```
    /// use spmv_core::{RowBlocks, Tiling};
    /// // Four lanes, eight entries: rows of 3, 3, 3 and 20.
    /// let blocks = RowBlocks::whole(&Tiling::new(4, 2, 1, 1)?, &[0, 3, 6, 9, 29]);
    /// assert_eq!(blocks.rows, [0, 2, 3, 4]);
    /// assert_eq!(blocks.entries, [0, 6, 9, 29]);
    /// # Ok::<(), spmv_core::TilingError>(())
    /// ```
    pub fn whole(tiling: &Tiling, row_ptr: &[u32]) -> Self {
        let (held, lanes) = (tiling.tile_entries() * tiling.bunches(), tiling.group_lanes());
        let n_rows = row_ptr.len() as u32 - 1;
        let mut rows = vec![0];
        // Where the block begins that is being filled.
        let mut first = 0;
        for row in 0..n_rows {
            let end = row_ptr[row as usize + 1];
            if row > first && end - row_ptr[first as usize] > held {
                // Algorithm 4: this row is an extra one that is excluded.
                rows.push(row);
                first = row;
            }
            // Algorithm 4: this row fills up SHARED_SIZE or the lanes. Algorithm 6: or it is longer than SHARED_SIZE.
            if end - row_ptr[first as usize] >= held || row + 1 - first == lanes {
                rows.push(row + 1);
                first = row + 1;
            }
        }
        if first < n_rows || n_rows == 0 {
            rows.push(n_rows);
        }
        let entries = rows.iter().map(|&row| row_ptr[row as usize]).collect();
        Self { rows, entries, cuts_rows: false }
    }

    /// Blocks for groups whose lanes, or teams of lanes, share rows: of each row every lane that it has takes as many entries. A block has a
    /// power of two of rows, up to `lanes`, itself a power of two, such that none has more than `steps` entries for each of its lanes; or
    /// a single row, or the last rows. A row of more than `lanes * steps` entries is cut into as few pieces of up to so many as it takes, all
    /// of the same size but for the last. Instead of more than 32 pieces there are larger ones, of up to `most` entries: sums of pieces
    /// have to be added up. O(rows).
    ///
    /// ```
    /// use spmv_core::RowBlocks;
    /// // Four lanes, two entries each: rows of 2, 2, 2, 2, 1, 4, 4 and 10.
    /// let blocks = RowBlocks::shared(4, 2, 128, &[0, 2, 4, 6, 8, 9, 13, 17, 27]);
    /// assert_eq!(blocks.rows, [0, 4, 6, 7, 7, 8]);
    /// assert_eq!(blocks.entries, [0, 8, 13, 17, 22, 27]);
    /// ```
    pub fn shared(lanes: u32, steps: u32, most: u32, row_ptr: &[u32]) -> Self {
        const MANY: u32 = 32;
        let (n_rows, held) = (row_ptr.len() - 1, u64::from(lanes) * u64::from(steps));
        let (mut rows, mut entries, mut cuts_rows) = (vec![], vec![], false);
        let mut first = 0;
        while first < n_rows {
            let (mut n, mut longest) = (0, 0);
            while first + n < n_rows && n < lanes as usize {
                longest = longest.max(row_ptr[first + n + 1] - row_ptr[first + n]);
                if (n + 1).next_power_of_two() as u64 * u64::from(longest) > held {
                    break;
                }
                n += 1;
            }
            let n = if first + n < n_rows { 1 << n.max(1).ilog2() } else { n };
            let [start, end] = [row_ptr[first], row_ptr[first + n]];
            if n == 1 && u64::from(end - start) > held {
                cuts_rows = true;
                let len = end - start;
                let of_a_piece = held.max(most.min(len.div_ceil(MANY)).into());
                let pieces = u64::from(len).div_ceil(of_a_piece) as u32;
                for entry in (start..end).step_by(len.div_ceil(pieces) as usize) {
                    rows.push(first as u32);
                    entries.push(entry);
                }
            } else {
                rows.push(first as u32);
                entries.push(start);
            }
            first += n;
        }
        rows.push(n_rows as u32);
        entries.push(row_ptr[n_rows]);
        Self { rows, entries, cuts_rows }
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.rows.len() - 1
    }
}
