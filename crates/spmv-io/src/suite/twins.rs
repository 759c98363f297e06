//! Twins: matrices with the exact size and row-length extremes of an original and a structure of its kind.

use spmv_core::Csr;

use crate::generate::random::{mix, shuffled};
use crate::generate::{self, ColumnModel, GenerateError, RowLengths};

/// What a twin has of its original.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    pub(super) row_min: u32,
    pub(super) row_max: u32,
}

/// How to draw the twin of an entry; the entry itself has its rows, columns, entries and extremes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Twin {
    /// Lengths of most rows, before they are fitted to the exact number of entries.
    pub(super) bulk: RowLengths,
    /// Shortest row, other than those in `shortest`.
    pub(super) floor: u32,
    /// Rows of a node: neighbours of equal length.
    pub(super) block: usize,
    /// Nodes whose rows have the minimum length.
    pub(super) shortest: usize,
    /// Lengths of single nodes: the longest row first.
    pub(super) giants: &'static [u32],
    /// Where the entries stand.
    pub(super) columns: ColumnModel,
}

impl Twin {
    pub(super) fn generate(&self, of: &Extent, seed: u64) -> Result<Csr<f64>, GenerateError> {
        generate::from_row_lengths(&self.row_lengths(of, seed)?, of.cols, self.columns, seed)
    }

    fn row_lengths(&self, of: &Extent, seed: u64) -> Result<Vec<u32>, GenerateError> {
        let n_nodes = of.rows.div_ceil(self.block);
        let unit = self.block as u32;
        let mut nodes = self.bulk.draw(n_nodes, seed)?;
        for len in &mut nodes {
            *len = (*len + unit / 2) / unit * unit;
        }
        let special = self.giants.iter().copied().chain(std::iter::repeat_n(of.row_min, self.shortest));
        let mut pinned = Vec::new();
        for (len, node) in special.zip(shuffled(n_nodes, mix(seed))) {
            nodes[node] = len;
            pinned.extend((node * self.block..(node + 1) * self.block).filter(|&row| row < of.rows));
        }
        let mut lens: Vec<u32> = (0..of.rows).map(|row| nodes[row / self.block]).collect();
        let range = self.floor..=of.row_max;
        generate::fit_row_lengths(&mut lens, range, of.nnz as u64, self.block, &pinned, seed)?;
        Ok(lens)
    }
}
