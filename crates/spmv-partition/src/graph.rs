//! The graph of a square matrix.

use spmv_core::{CsrView, Offset, Value};

use crate::error::Result;
use crate::permutation::check_square;

/// The pattern of `A + A^T` without its diagonal: an edge between two rows where either has an entry in the other's column.
pub(crate) struct Graph {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// O(entries log(most neighbours)); 8 bytes for each entry.
    pub(crate) fn of<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Result<Self> {
        check_square(a)?;
        let n = a.n_rows();
        let edges = || {
            let of_row = move |row| a.cols()[a.row_range(row)].iter().map(move |col| (row, *col as usize));
            (0..n).flat_map(of_row).filter(|(row, col)| row != col)
        };
        let mut offsets = vec![0; n + 1];
        for (row, col) in edges() {
            offsets[row + 1] += 1;
            offsets[col + 1] += 1;
        }
        for node in 0..n {
            offsets[node + 1] += offsets[node];
        }
        let mut neighbours = vec![0; offsets[n]];
        let mut free = offsets.clone();
        for (row, col) in edges() {
            for (node, neighbour) in [(row, col), (col, row)] {
                neighbours[free[node]] = neighbour as u32;
                free[node] += 1;
            }
        }
        Ok(Self { offsets, neighbours }.without_repeats())
    }

    /// Neighbours ascending, each once.
    fn without_repeats(mut self) -> Self {
        let (mut first, mut kept) = (0, 0);
        for node in 0..self.n_nodes() {
            let stop = self.offsets[node + 1];
            self.neighbours[first..stop].sort_unstable();
            let start = kept;
            for at in first..stop {
                let neighbour = self.neighbours[at];
                if kept == start || self.neighbours[kept - 1] != neighbour {
                    self.neighbours[kept] = neighbour;
                    kept += 1;
                }
            }
            self.offsets[node + 1] = kept;
            first = stop;
        }
        self.neighbours.truncate(kept);
        self
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Ascending.
    pub(crate) fn neighbours(&self, node: u32) -> &[u32] {
        &self.neighbours[self.offsets[node as usize]..self.offsets[node as usize + 1]]
    }

    pub(crate) fn degree(&self, node: u32) -> usize {
        self.neighbours(node).len()
    }

    /// Where the neighbours of each node begin, and all neighbours.
    #[cfg(feature = "metis")]
    pub(crate) fn arrays(&self) -> (&[usize], &[u32]) {
        (&self.offsets, &self.neighbours)
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Csr;

    use super::*;

    #[test]
    fn an_entry_makes_an_edge_both_ways_once_and_the_diagonal_none() {
        let entries = [(0, 0, 1.0f32), (0, 2, 1.0), (2, 0, 1.0), (3, 1, 1.0), (3, 3, 1.0)];
        let graph = Graph::of(Csr::from_coo(5, 5, &entries).unwrap().view()).unwrap();
        let neighbours: Vec<&[u32]> = (0..5).map(|node| graph.neighbours(node)).collect();
        assert_eq!(neighbours, [&[2][..], &[3], &[0], &[1], &[]]);
    }

    #[test]
    fn repeated_entries_in_any_order_make_one_edge() {
        let a =
            Csr::<f32>::from_rows(3, [vec![(2, 1.0), (1, 1.0), (2, 1.0)], vec![], vec![(0, 1.0)]]).unwrap();
        let graph = Graph::of(a.view()).unwrap();
        assert_eq!([0, 1, 2].map(|node| graph.neighbours(node)), [&[1, 2][..], &[0], &[0]]);
    }
}
