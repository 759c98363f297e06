//! What a product by parts moves.

use std::collections::BTreeSet;

use spmv_core::Value;

use crate::part::Part;

/// What one part holds, and what it exchanges in every product.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{PartTraffic, Ranges, cut};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0)])?;
/// let ranges = Ranges::even(2, 2);
/// let first = PartTraffic::of(&cut(a.view(), &ranges, &ranges)?[0]);
/// assert_eq!((first.nonzeros, first.ghosts, first.sent, first.bytes()), (2, 1, 0, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartTraffic {
    /// Rows that it owns.
    pub rows: u64,
    /// Rows with an entry in a column of another part.
    pub boundary_rows: u64,
    /// Entries of its rows.
    pub nonzeros: u64,
    /// Those of them in columns of other parts.
    pub remote_nonzeros: u64,
    /// Values of `x` that it receives.
    pub ghosts: u64,
    /// Values of `x` that it sends; one that several parts need counts for each.
    pub sent: u64,
    /// Other parts that it sends to, receives from, or both.
    pub neighbours: u64,
    /// Bytes of one value.
    pub value_bytes: u64,
}

impl PartTraffic {
    /// Counts of a part whose [halo](Part::halo) is complete. O(neighbours log neighbours).
    pub fn of<T: Value>(part: &Part<T>) -> Self {
        let halo = part.halo();
        let from = halo.receives.iter().map(|receive| receive.from);
        let neighbours: BTreeSet<usize> = from.chain(halo.sends.iter().map(|send| send.to)).collect();
        Self {
            rows: part.rows().end - part.rows().start,
            boundary_rows: part.boundary_rows().len() as u64,
            nonzeros: (part.local().nnz() + part.remote().nnz()) as u64,
            remote_nonzeros: part.remote().nnz() as u64,
            ghosts: halo.n_ghosts() as u64,
            sent: halo.n_sent() as u64,
            neighbours: neighbours.len() as u64,
            value_bytes: size_of::<T>() as u64,
        }
    }

    /// Bytes that it receives and sends in a product.
    pub fn bytes(&self) -> u64 {
        (self.ghosts + self.sent) * self.value_bytes
    }

    /// Bytes of its rows as CSR: values, and 32-bit columns and row offsets.
    pub fn matrix_bytes(&self) -> u64 {
        self.nonzeros * (self.value_bytes + 4) + (self.rows + 1) * 4
    }
}

/// What all parts hold and exchange in every product, to compare partitions by.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{Ranges, Traffic, cut};
/// // Each of 8 rows needs its own value and the next one.
/// let a = Csr::from_coo(8, 8, &(0..8).flat_map(|i| [(i, i, 2.0f64), (i, (i + 1) % 8, 1.0)]).collect::<Vec<_>>())?;
/// let ranges = Ranges::even(8, 4);
/// let traffic = Traffic::of(&cut(a.view(), &ranges, &ranges)?);
/// assert_eq!((traffic.volume(), traffic.volume_bytes(), traffic.max_neighbours()), (4, 32, 2));
/// assert_eq!((traffic.parts()[0].ghosts, traffic.imbalance()), (1, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    parts: Vec<PartTraffic>,
}

impl Traffic {
    /// Of all parts of a matrix. O(neighbours of all).
    pub fn of<T: Value>(parts: &[Part<T>]) -> Self {
        Self::new(parts.iter().map(PartTraffic::of).collect())
    }

    /// Of counts that several processes made, in the order of their parts.
    pub fn new(parts: Vec<PartTraffic>) -> Self {
        Self { parts }
    }

    /// Each part's, in their order.
    pub fn parts(&self) -> &[PartTraffic] {
        &self.parts
    }

    /// Communication volume: values that all parts together receive in a product.
    pub fn volume(&self) -> u64 {
        self.sum(|part| part.ghosts)
    }

    /// The same in bytes.
    pub fn volume_bytes(&self) -> u64 {
        self.sum(|part| part.ghosts * part.value_bytes)
    }

    /// The most parts that one part exchanges values with.
    pub fn max_neighbours(&self) -> u64 {
        self.parts.iter().map(|part| part.neighbours).max().unwrap_or(0)
    }

    /// The most nonzeros of a part over their mean: 1 is perfect, and what is taken without nonzeros.
    pub fn imbalance(&self) -> f64 {
        let (most, all) = (self.parts.iter().map(|part| part.nonzeros).max(), self.sum(|part| part.nonzeros));
        if all == 0 { 1.0 } else { most.unwrap_or(0) as f64 * self.parts.len() as f64 / all as f64 }
    }

    /// Bytes that all parts receive in a product over those of the matrix, which it reads; 0 without parts.
    pub fn ghost_share(&self) -> f64 {
        let matrix = self.sum(PartTraffic::matrix_bytes);
        if matrix == 0 { 0.0 } else { self.volume_bytes() as f64 / matrix as f64 }
    }

    fn sum(&self, of: impl Fn(&PartTraffic) -> u64) -> u64 {
        self.parts.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Csr;

    use super::*;
    use crate::{Ranges, cut};

    #[test]
    fn an_arrow_makes_the_first_part_everyone_s_neighbour() {
        // A full first row, a full first column and the diagonal.
        let arrow = (1..6u32).flat_map(|i| [(0, i, 1.0f32), (i, 0, 1.0), (i, i, 1.0)]);
        let a = Csr::from_coo(6, 6, &arrow.collect::<Vec<_>>()).unwrap();
        let ranges = Ranges::even(6, 3);
        let traffic = Traffic::of(&cut(a.view(), &ranges, &ranges).unwrap());
        let count = |of: fn(&PartTraffic) -> u64| traffic.parts().iter().map(of).collect::<Vec<_>>();
        assert_eq!(count(|p| p.ghosts), [4, 1, 1]);
        assert_eq!(count(|p| p.sent), [2, 2, 2]);
        assert_eq!(count(|p| p.neighbours), [2, 1, 1]);
        assert_eq!(count(|p| p.nonzeros), [7, 4, 4]);
        assert_eq!(count(|p| p.remote_nonzeros), [4, 2, 2]);
        assert_eq!(count(|p| p.boundary_rows), [1, 2, 2]);
        assert_eq!(count(PartTraffic::bytes), [24, 12, 12]);
        assert_eq!((traffic.volume(), traffic.imbalance()), (6, 1.4));
        // 15 entries of 8 bytes, 9 row offsets of 4.
        assert_eq!(traffic.ghost_share(), 24.0 / 156.0);
    }

    #[test]
    fn a_part_that_only_sends_has_neighbours() {
        let a = Csr::from_coo(2, 2, &[(1, 0, 1.0f64)]).unwrap();
        let ranges = Ranges::even(2, 2);
        let traffic = Traffic::of(&cut(a.view(), &ranges, &ranges).unwrap());
        assert_eq!((traffic.parts()[0].neighbours, traffic.parts()[0].ghosts), (1, 0));
    }

    #[test]
    fn nothing_is_balanced_and_moves_nothing() {
        let traffic = Traffic::default();
        assert_eq!((traffic.volume(), traffic.max_neighbours()), (0, 0));
        assert_eq!((traffic.imbalance(), traffic.ghost_share()), (1.0, 0.0));
    }
}
