//! Vectors in parts.

use std::sync::Arc;

use spmv_core::Value;
use spmv_exec::{Error, Result};
use spmv_partition::Ranges;

use crate::erased_matrix::{AnyVector, Mismatch};
use crate::parts::group::unsupported;

/// A vector, cut in ranges, each on a device of its own.
#[derive(Debug)]
pub(super) struct PartsVec<T> {
    pub(super) ranges: Arc<Ranges>,
    pub(super) parts: Vec<Box<dyn AnyVector<T>>>,
}

/// The rows of a part, as indices of a slice of the host.
pub(super) fn range_of(ranges: &Ranges, part: usize) -> std::ops::Range<usize> {
    let range = ranges.range(part);
    range.start as usize..range.end as usize
}

impl<T: Value> PartsVec<T> {
    fn check_len(&self, found: usize) -> Result<()> {
        match self.len() {
            expected if expected != found => Err(Error::Length { what: "the slice", found, expected }),
            _ => Ok(()),
        }
    }

    /// Refuses a vector of another length, or that other devices hold.
    pub(super) fn check(&self, what: &'static str, ranges: &Ranges) -> std::result::Result<(), Mismatch> {
        let (found, expected) = (self.len(), ranges.len() as usize);
        if found != expected {
            return Err(Error::Length { what, found, expected }.into());
        }
        if *self.ranges != *ranges {
            return Err(Error::Foreign { what, to: "device" }.into());
        }
        Ok(())
    }
}

impl<T: Value> AnyVector<T> for PartsVec<T> {
    fn len(&self) -> usize {
        self.ranges.len() as usize
    }

    fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        let Self { ranges, parts } = self;
        parts.iter_mut().enumerate().try_for_each(|(i, part)| part.write(&values[range_of(ranges, i)]))
    }

    fn read(&self, values: &mut [T]) -> Result<()> {
        self.check_len(values.len())?;
        let Self { ranges, parts } = self;
        parts.iter().enumerate().try_for_each(|(i, part)| part.read(&mut values[range_of(ranges, i)]))
    }

    fn with(&self, f: &mut dyn FnMut(&[T])) -> Result<()> {
        match &self.parts[..] {
            [one] => one.with(f),
            _ => {
                let mut values = vec![T::default(); self.len()];
                self.read(&mut values)?;
                f(&values);
                Ok(())
            }
        }
    }

    fn map(&mut self, f: &mut dyn FnMut(&mut [T])) -> Result<()> {
        match &mut self.parts[..] {
            [one] => one.map(f),
            _ => Err(unsupported("one memory to map", "read and write the vector")),
        }
    }
}
