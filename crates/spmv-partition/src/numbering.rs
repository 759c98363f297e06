//! From columns of the whole matrix to ghosts of a part.

/// Ghosts that are found by their columns: columns are divided evenly among as many buckets as there are ghosts, and each bucket
/// knows its ghosts. A search of all ghosts would miss the cache at nearly every step.
pub(crate) struct Numbering<'a> {
    ghosts: &'a [u64],
    first: u64,
    /// Bits of a column's distance from the first that do not choose its bucket.
    shift: u32,
    /// The first ghost of each bucket, and the number of all.
    starts: Vec<u32>,
}

impl<'a> Numbering<'a> {
    /// `ghosts` ascend and are fewer than 2^32. O(ghosts); at most 4 bytes for each.
    pub(crate) fn of(ghosts: &'a [u64]) -> Self {
        let (first, last) = (ghosts.first().copied().unwrap_or(0), ghosts.last().copied().unwrap_or(0));
        let n = ghosts.len().max(1) as u64;
        let shift = (0..u64::BITS).find(|shift| (last - first) >> shift < n).unwrap_or(u64::BITS - 1);
        let mut starts = vec![0; ((last - first) >> shift) as usize + 2];
        for ghost in ghosts {
            starts[((ghost - first) >> shift) as usize + 1] += 1;
        }
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        Self { ghosts, first, shift, starts }
    }

    /// The ghost of a column that has one. O(log ghosts), O(1) where columns are spread evenly.
    pub(crate) fn number(&self, col: u64) -> u32 {
        let bucket = ((col - self.first) >> self.shift) as usize;
        let (start, stop) = (self.starts[bucket], self.starts[bucket + 1]);
        let within = self.ghosts[start as usize..stop as usize].partition_point(|ghost| *ghost < col);
        start + within as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_ghost_is_found_whatever_the_distances(
            columns in prop::collection::btree_set(prop_oneof![0u64..50, any::<u64>(), u64::MAX - 50..=u64::MAX], 0..60),
        ) {
            let ghosts: Vec<u64> = columns.into_iter().collect();
            let numbering = Numbering::of(&ghosts);
            prop_assert!(numbering.starts.len() <= ghosts.len().max(1) + 1);
            for (number, ghost) in ghosts.iter().enumerate() {
                prop_assert_eq!(numbering.number(*ghost), number as u32);
            }
        }
    }
}
