//! What no partition is.

/// The result of cutting.
pub type Result<T, E = PartitionError> = std::result::Result<T, E>;

/// A partition, or a part, that cannot be.
///
/// ```
/// use spmv_partition::Ranges;
/// let e = Ranges::new(vec![0, 5, 3]).unwrap_err();
/// assert_eq!(e.to_string(), "part 1 begins at 5 and ends at 3; offsets must not decrease");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// No offsets, or a first one that is not 0.
    #[error("the offsets of parts begin with {}; they must begin with 0", first(.0))]
    First(Option<u64>),
    /// A part that ends before it begins.
    #[error("part {part} begins at {from} and ends at {to}; offsets must not decrease")]
    Decreasing {
        /// Index of the part.
        part: usize,
        /// Its first row.
        from: u64,
        /// The row after its last.
        to: u64,
    },
}

fn first(found: &Option<u64>) -> String {
    found.map_or("nothing".into(), |first| first.to_string())
}
