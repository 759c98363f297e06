//! Which part owns which rows.

use std::ops::Range;

use crate::error::{PartitionError, Result};

/// Rows, or columns, in consecutive ranges, one for each part. A range may be empty.
///
/// ```
/// use spmv_partition::Ranges;
/// let rows = Ranges::even(10, 3);
/// assert_eq!((rows.range(0), rows.range(2)), (0..4, 7..10));
/// assert_eq!(rows.owner(6), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ranges {
    /// One more than there are parts, from 0 on, not decreasing.
    offsets: Vec<u64>,
}

impl Ranges {
    /// Ranges that begin and end at given offsets.
    ///
    /// # Errors
    /// [`PartitionError::First`], [`PartitionError::Decreasing`].
    pub fn new(offsets: Vec<u64>) -> Result<Self> {
        if offsets.first() != Some(&0) {
            return Err(PartitionError::First(offsets.first().copied()));
        }
        match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(part) => {
                Err(PartitionError::Decreasing { part, from: offsets[part], to: offsets[part + 1] })
            }
            None => Ok(Self { offsets }),
        }
    }

    /// As many rows for each part, the first ones taking what is left over.
    ///
    /// # Panics
    /// If there are rows and no parts.
    pub fn even(n: u64, parts: usize) -> Self {
        assert!(parts > 0 || n == 0, "{n} rows and no part to own them");
        let parts = parts as u64;
        let offset = |part: u64| part * (n / parts.max(1)) + part.min(n % parts.max(1));
        Self { offsets: (0..=parts).map(offset).collect() }
    }

    /// How many parts there are.
    pub fn n_parts(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many rows all parts have together.
    pub fn len(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Whether no part has a row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets, one more than there are parts.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The rows of a part. Panics if there is no such part.
    pub fn range(&self, part: usize) -> Range<u64> {
        self.offsets[part]..self.offsets[part + 1]
    }

    /// The part that has a row. Panics if none has. O(log parts).
    pub fn owner(&self, row: u64) -> usize {
        assert!(row < self.len(), "row {row} of {}", self.len());
        self.offsets.partition_point(|offset| *offset <= row) - 1
    }
}
