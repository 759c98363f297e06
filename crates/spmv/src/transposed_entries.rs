//! Where entries of a matrix stand in its transpose.

use std::any::Any;

use spmv_core::Offset;

/// The entry of the matrix at each entry of its transpose.
#[derive(Debug)]
pub(crate) enum TransposedEntries {
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl TransposedEntries {
    pub(crate) fn of<O: Offset>(entries: Vec<O>) -> Self {
        match (Box::new(entries) as Box<dyn Any>).downcast() {
            Ok(entries) => Self::U32(*entries),
            Err(entries) => Self::U64(*entries.downcast().expect("offsets have 32 or 64 bits")),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::U32(entries) => size_of_val(&entries[..]),
            Self::U64(entries) => size_of_val(&entries[..]),
        }
    }

    /// Values of the matrix in the order of the transpose.
    pub(crate) fn values<T: Copy>(&self, vals: &[T]) -> Vec<T> {
        match self {
            Self::U32(entries) => entries.iter().map(|entry| vals[*entry as usize]).collect(),
            Self::U64(entries) => entries.iter().map(|entry| vals[*entry as usize]).collect(),
        }
    }
}
