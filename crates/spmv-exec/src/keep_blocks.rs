//! Matrices that are kept for products with several right-hand sides.

use std::sync::Arc;

use spmv_backend::{Backend, HostArray};
use spmv_core::format::Cost;
use spmv_core::tiling::split_rows;
use spmv_core::{CsrView, Dtype, Offset, RowBlocks, RowStats, Value};

use crate::blocks::{BlockPart, BlocksOfRows, CutRows, Share, most_columns, shares, spec};
use crate::error::Result;
use crate::part::{Prepare, Span};
use crate::prepared::Prepared;

/// Rows that were cut, and of each its first block and the end.
fn cut_rows(blocks: &RowBlocks) -> (Vec<u32>, Vec<u32>) {
    let (mut rows, mut ranges) = (vec![], vec![]);
    for (block, pair) in (0u32..).zip(blocks.rows.windows(2)) {
        // A piece that does not end its row begins with the row that the next block begins with.
        match (pair[0] == pair[1], rows.last() == Some(&pair[0])) {
            (true, false) => {
                rows.push(pair[0]);
                ranges.extend([block, block + 1]);
            }
            (_, true) => *ranges.last_mut().expect("two of each row") = block + 1,
            (false, false) => {}
        }
    }
    (rows, ranges)
}

/// Blocks of rows on the device.
fn blocks_of_rows<B: Backend>(to: &Prepare<'_, B>, row_ptr: &[u32], share: Share) -> Result<BlocksOfRows<B>> {
    let steps = share.steps(u64::from(to.span.nnz), to.device.caps());
    let blocks = RowBlocks::shared(share.lanes, steps, share.most, row_ptr);
    let cut = match blocks.cuts_rows {
        true => {
            let (rows, of_rows) = cut_rows(&blocks);
            let n = rows.len() as u32;
            Some(CutRows { rows: to.copy(&rows)?, blocks: to.copy(&of_rows)?, n })
        }
        false => None,
    };
    let n = blocks.n_blocks() as u32;
    Ok(BlocksOfRows { rows: to.copy(&blocks.rows)?, entries: to.copy(&blocks.entries)?, n, cut })
}

fn block_part<B: Backend, V: Value>(
    to: &Prepare<'_, B>,
    a: CsrView<'_, V, u32>,
    has_csr: bool,
) -> Result<BlockPart<B>> {
    let Span { row_base, continues, .. } = to.span;
    let own = if has_csr { None } else { Some(to.csr(a)?) };
    Ok(BlockPart { row_base, continues, own, blocks: all_blocks_of_rows(to, a.row_ptr())? })
}

fn all_blocks_of_rows<B: Backend>(to: &Prepare<'_, B>, row_ptr: &[u32]) -> Result<Vec<BlocksOfRows<B>>> {
    shares(to.device.caps()).iter().map(|share| blocks_of_rows(to, row_ptr, *share)).collect()
}

/// What is kept of a matrix with such rows, in words.
fn explained<B: Backend>(blocks: &[BlockPart<B>], rows: &RowStats, value: Dtype) -> String {
    let of_rows = blocks.iter().flat_map(|part| &part.blocks);
    let tables: u64 = of_rows.map(|blocks| 8 * (u64::from(blocks.n) + 1)).sum();
    let csr = Cost::of(rows.n_rows, rows.nnz, value, 0, 0).csr_bytes;
    let runs_on = match blocks.iter().any(|part| part.own.is_some()) {
        true => format!("a copy in CSR form, {csr} bytes"),
        false => "the arrays of CSR that the plan runs on".to_owned(),
    };
    let cut_by = |blocks: &BlocksOfRows<B>| blocks.cut.as_ref().map_or(0, |cut| cut.n);
    let cut = blocks.iter().filter_map(|part| part.blocks.iter().map(cut_by).max()).sum();
    let of_cut = match cut {
        0u32 => String::new(),
        n => format!(", in which up to {n} rows are cut"),
    };
    format!("blocks: {runs_on}, and {tables} bytes of row blocks{of_cut}")
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// Lays out what products with several right-hand sides take besides the parts.
    pub(crate) fn keep_for_blocks<V: Value, O: Offset>(
        &mut self,
        a: CsrView<'_, V, O>,
        given: &[Arc<dyn HostArray>],
    ) -> Result<()> {
        let device = self.device.clone();
        // What does not compile is found before anything is copied.
        let width = most_columns(T::DTYPE, device.caps());
        device.kernel(&spec(self.plan.types, width, device.caps())).map(drop)?;
        let pieces = split_rows(a.row_ptr(), self.plan.max_entries, self.plan.max_rows);
        let mut blocks = Vec::with_capacity(pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            let has_csr = self.parts[at].csr().is_some();
            let part = device.with_piece(a, given, piece, &self.plan, |to, a| block_part(to, a, has_csr))?;
            blocks.push(part);
        }
        self.blocks = Some(blocks);
        Ok(())
    }

    /// What [`Options::blocks`](crate::Options::blocks) had the device keep, in words; `None` without it.
    pub fn explain_blocks(&self) -> Option<String> {
        self.blocks.as_ref().map(|blocks| explained(blocks, &self.plan.rows, self.plan.types.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_cut_are_listed_with_their_blocks() {
        // Rows of 1, 13, 20 and 1 entries, where 8 are the most of a block.
        let blocks = RowBlocks::shared(4, 2, 128, &[0, 1, 14, 34, 35]);
        assert_eq!(blocks.rows, [0, 1, 1, 2, 2, 2, 3, 4]);
        assert_eq!(cut_rows(&blocks), (vec![1, 2], vec![1, 3, 3, 6]));
    }
}
