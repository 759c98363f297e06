//! Stripes of columns, rows cut where they begin, and blocks of columns.

use std::ops::Range;

use spmv_backend::DeviceCaps;
use spmv_core::tiling::Piece;
use spmv_core::{CsrView, Dtype, RowStats, Value, parts};

use super::OF_A_THREAD;

/// The logarithm of a stripe's columns at most: that part of `x` is to stay in the first cache, next to those of other groups and to what
/// streams through. (docs/results/2026-11-25-h200-cuda-stripes.txt)
const LOG2_WIDTH: u32 = 13;
/// Stripes at least, where there are as many columns.
const LEAST: usize = 4;

/// Blocks at least, so that there are some where they are asked for by name, and at most.
const BLOCKS: Range<usize> = 2..64;
/// Parts of the cache that compute units share, one of which holds what is read of x: each half of an H100's keeps what its own units read.
const PARTS_OF_CACHE: u64 = 2;

/// Bytes of x that the cache which compute units share holds, where the device says how large it is.
pub(crate) fn held_of_x(caps: &DeviceCaps) -> Option<u64> {
    caps.cache_bytes.map(|bytes| (bytes / PARTS_OF_CACHE).max(1))
}

/// How many blocks so many columns make, of which that cache holds one each.
pub(crate) fn n_blocks(n_cols: usize, vector: Dtype, caps: &DeviceCaps) -> usize {
    let of_x = n_cols as u64 * vector.bytes() as u64;
    let n = of_x.div_ceil(held_of_x(caps).unwrap_or(u64::MAX)) as usize;
    n.clamp(BLOCKS.start, BLOCKS.end).min(n_cols.max(1))
}

/// What rows have in a block.
pub(crate) fn of_a_block(rows: &RowStats, vector: Dtype, caps: &DeviceCaps) -> RowStats {
    let n = n_blocks(rows.n_cols, vector, caps) as f64;
    RowStats { mean: rows.mean / n, std_dev: rows.std_dev / n, ..*rows }
}

/// Stripes of as many columns each, a power of two, but for the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    n: usize,
    log2_width: u32,
}

impl Columns {
    /// Of so many.
    pub(crate) fn of(n: usize) -> Self {
        Self { n, log2_width: (n / LEAST).max(1).ilog2().min(LOG2_WIDTH) }
    }

    /// Columns of a stripe.
    pub(crate) fn width(self) -> usize {
        1 << self.log2_width
    }

    /// How many stripes.
    pub(crate) fn n_stripes(self) -> usize {
        self.n.div_ceil(self.width()).max(1)
    }

    /// Parts that stripes cut rows into, if each row has entries in all of them.
    pub(crate) fn n_parts(rows: &RowStats) -> usize {
        rows.n_rows.saturating_mul(Self::of(rows.n_cols).n_stripes()).min(rows.nnz)
    }

    /// The stripe of a column.
    pub(crate) fn stripe(self, col: u32) -> usize {
        (col >> self.log2_width) as usize
    }
}

/// Parts of rows: entries that follow each other in one stripe.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The first entry of each part, and the end.
    pub(crate) entries: Vec<u32>,
    /// The first part of each row, and the end.
    pub(crate) rows: Vec<u32>,
}

impl Cut {
    /// O(entries + rows) on all threads.
    pub(crate) fn of<V: Value>(a: CsrView<'_, V, u32>, columns: Columns) -> Self {
        let n_rows = a.n_rows();
        let of_rows = |rows: Range<usize>| {
            let (mut entries, mut firsts) = (Vec::new(), Vec::with_capacity(rows.len()));
            for row in rows {
                firsts.push(entries.len() as u32);
                let mut last = None;
                for (entry, col) in (a.row_range(row).start as u32..).zip(&a.cols()[a.row_range(row)]) {
                    let stripe = Some(columns.stripe(*col));
                    if stripe != last {
                        entries.push(entry);
                    }
                    last = stripe;
                }
            }
            (entries, firsts)
        };
        let of_threads = parts::cut(n_rows, parts::threads(a.nnz().max(n_rows), OF_A_THREAD));
        let mut cut = Self { entries: Vec::new(), rows: Vec::with_capacity(n_rows + 1) };
        for (entries, firsts) in parts::map(of_threads, of_rows) {
            let n_before = cut.entries.len() as u32;
            cut.rows.extend(firsts.iter().map(|first| n_before + first));
            cut.entries.extend(entries);
        }
        cut.rows.push(cut.entries.len() as u32);
        cut.entries.push(a.nnz() as u32);
        cut
    }

    pub(crate) fn n_parts(&self) -> usize {
        self.entries.len() - 1
    }

    /// The same entries with parts for rows.
    pub(crate) fn parts<'a, V: Value>(&'a self, a: CsrView<'a, V, u32>) -> CsrView<'a, V, u32> {
        let all = Piece { rows: 0..self.n_parts(), entries: 0..a.nnz(), continues: false };
        a.piece(&all, &self.entries).expect("offsets between those of a valid matrix")
    }
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, MemoryModel};
    use spmv_core::Csr;

    use super::*;

    #[test]
    fn rows_are_cut_where_stripes_begin_and_entries_stay_where_they_are() {
        let rows = [vec![0u32, 1, 2, 30, 31], vec![], vec![9, 3, 4]];
        let a = Csr::from_rows(
            32,
            rows.iter().map(|cols| cols.iter().map(|col| (*col, 1.0f32)).collect::<Vec<_>>()),
        );
        let columns = Columns::of(32);
        assert_eq!((columns.width(), columns.n_stripes()), (8, 4));
        let cut = Cut::of(a.unwrap().view(), columns);
        assert_eq!(
            (cut.entries, cut.rows),
            (vec![0, 3, 5, 6, 8], vec![0, 2, 2, 4]),
            "columns need not ascend"
        );
    }

    #[test]
    fn there_are_stripes_of_few_columns_and_of_many() {
        let of = |n| (Columns::of(n).width(), Columns::of(n).n_stripes());
        assert_eq!([0, 1, 3, 4, 7, 8].map(of), [(1, 1), (1, 1), (1, 3), (1, 4), (1, 7), (2, 4)]);
        assert_eq!(of(1_000_000), (8192, 123));
    }

    #[test]
    fn there_are_as_many_blocks_as_half_of_the_cache_holds_each_and_two_where_it_is_unknown() {
        let mut gpu = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
        gpu.cache_bytes = Some(50 << 20);
        let of = |n_cols, dtype| n_blocks(n_cols, dtype, &gpu);
        assert_eq!([1, 1000, 7_000_000, 25_000_000].map(|n| of(n, Dtype::F32)), [1, 2, 2, 4]);
        assert_eq!([7_000_000, 25_000_000, 1 << 31].map(|n| of(n, Dtype::F64)), [3, 8, 64]);
        let unknown = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        assert_eq!([0, 1, 25_000_000].map(|n| n_blocks(n, Dtype::F32, &unknown)), [1, 1, 2]);
    }
}
