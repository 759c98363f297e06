//! Reverse Cuthill-McKee.

use spmv_core::{CsrView, Offset, Value};

use crate::error::Result;
use crate::graph::Graph;
use crate::permutation::Permutation;

/// An order of rows and columns that moves entries towards the diagonal, so that contiguous ranges have few ghosts.
///
/// Reverse Cuthill-McKee on the pattern of `A + A^T` of a square matrix: from a node at the rim of each component (George & Liu 1979),
/// neighbours in order of their degrees, all reversed. The same matrix gives the same order. O(entries log(most neighbours)) for each
/// search of a rim, of which there are a few; 8 bytes for each entry.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{permute, rcm};
/// // The path 1 - 3 - 0 - 2.
/// let a = Csr::from_coo(4, 4, &[(1, 3, 1.0f32), (3, 0, 1.0), (0, 2, 1.0)])?;
/// let order = rcm(a.view())?;
/// let band = permute(a.view(), &order)?;
/// assert!((0..4).all(|i| band.row(i).all(|(j, _)| i.abs_diff(j as usize) == 1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NotSquare`](crate::PartitionError::NotSquare).
pub fn rcm<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Result<Permutation> {
    let graph = Graph::of(a)?;
    let by_degree = |node: &u32| (graph.degree(*node), *node);
    let mut starts: Vec<u32> = (0..graph.n_nodes()).map(|node| node as u32).collect();
    starts.sort_unstable_by_key(by_degree);
    let mut search = Search::new(&graph);
    let mut is_numbered = vec![false; graph.n_nodes()];
    let mut order: Vec<u32> = Vec::with_capacity(graph.n_nodes());
    for start in starts {
        if is_numbered[start as usize] {
            continue;
        }
        let start = search.rim(start);
        is_numbered[start as usize] = true;
        let mut next = order.len();
        order.push(start);
        while let Some(node) = order.get(next) {
            next += 1;
            let first = order.len();
            for neighbour in graph.neighbours(*node) {
                if !std::mem::replace(&mut is_numbered[*neighbour as usize], true) {
                    order.push(*neighbour);
                }
            }
            order[first..].sort_unstable_by_key(by_degree);
        }
    }
    order.reverse();
    Permutation::new(order)
}

/// Breadth-first searches, each of which takes time for its component alone.
struct Search<'a> {
    graph: &'a Graph,
    is_reached: Vec<bool>,
    reached: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self { graph, is_reached: vec![false; graph.n_nodes()], reached: Vec::new() }
    }

    /// A node of the same component that is nearly as far from another as any: from one to the next as long as they are farther apart.
    fn rim(&mut self, mut node: u32) -> u32 {
        let (mut distance, mut farthest) = self.farthest(node);
        loop {
            let (next_distance, next) = self.farthest(farthest);
            if next_distance <= distance {
                return node;
            }
            (node, distance, farthest) = (farthest, next_distance, next);
        }
    }

    /// How far the farthest nodes are, and that of them with the fewest neighbours.
    fn farthest(&mut self, start: u32) -> (usize, u32) {
        self.reached.clear();
        self.reached.push(start);
        self.is_reached[start as usize] = true;
        let (mut distance, mut level) = (0, 0..1);
        loop {
            for at in level.clone() {
                for neighbour in self.graph.neighbours(self.reached[at]) {
                    if !std::mem::replace(&mut self.is_reached[*neighbour as usize], true) {
                        self.reached.push(*neighbour);
                    }
                }
            }
            if self.reached.len() == level.end {
                break;
            }
            (distance, level) = (distance + 1, level.end..self.reached.len());
        }
        for node in &self.reached {
            self.is_reached[*node as usize] = false;
        }
        let last = self.reached[level].iter().copied();
        (distance, last.min_by_key(|node| (self.graph.degree(*node), *node)).unwrap_or(start))
    }
}
