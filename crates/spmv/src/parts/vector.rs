//! Vectors in parts.

use std::sync::Arc;

use spmv_core::Value;
use spmv_exec::{Error, Result};
use spmv_partition::Ranges;

use crate::erased::Element;
use crate::erased_matrix::{AnyVector, Mismatch};
use crate::parts::group::{Parts, unsupported};

/// A vector, cut in ranges, each on a device of its own.
#[derive(Debug)]
pub(super) struct PartsVec<T> {
    home: Parts,
    pub(super) ranges: Arc<Ranges>,
    pub(super) parts: Vec<Box<dyn AnyVector<T>>>,
    /// Set while some parts have been written and others not, or not with all their sums: an error then shows none.
    pub(super) unrepaired: bool,
}

/// The rows of a part, as indices of a slice of the host.
fn range_of(ranges: &Ranges, part: usize) -> std::ops::Range<usize> {
    let range = ranges.range(part);
    range.start as usize..range.end as usize
}

impl<T: Element> PartsVec<T> {
    pub(super) fn zeros(home: &Parts, ranges: &Arc<Ranges>) -> Result<Self> {
        let devices = home.devices.iter().enumerate();
        let parts = devices.map(|(i, device)| T::device(&**device).zeros(range_of(ranges, i).len()));
        let parts = parts.collect::<Result<_>>()?;
        Ok(Self { home: home.clone(), ranges: Arc::clone(ranges), parts, unrepaired: false })
    }
}

impl<T: Value> PartsVec<T> {
    fn check_len(&self, found: usize) -> Result<()> {
        match self.len() {
            expected if expected != found => Err(Error::Length { what: "the slice", found, expected }),
            _ => Ok(()),
        }
    }

    fn check_repaired(&self) -> Result<()> {
        if self.unrepaired { Err(Error::Unrepaired) } else { Ok(()) }
    }

    /// Refuses a vector that other devices hold, and one whose values are read although some parts lack theirs. Before any device is
    /// given work: one that refuses it would leave the others with new values.
    pub(super) fn check(&self, what: &'static str, home: &Parts, is_read: bool) -> Result<()> {
        match (self.home.is(home), is_read) {
            (false, _) => Err(Error::Foreign { what, to: "device" }),
            (true, true) => self.check_repaired(),
            (true, false) => Ok(()),
        }
    }

    /// Refuses a vector of another length, or that is cut in another way.
    pub(super) fn is_cut_as(&self, what: &'static str, ranges: &Ranges) -> Result<(), Mismatch> {
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
        let Self { ranges, parts, unrepaired, .. } = self;
        for (i, part) in parts.iter_mut().enumerate() {
            part.write(&values[range_of(ranges, i)])?;
            *unrepaired = true;
        }
        *unrepaired = false;
        Ok(())
    }

    fn read(&self, values: &mut [T]) -> Result<()> {
        self.check_len(values.len())?;
        self.check_repaired()?;
        let Self { ranges, parts, .. } = self;
        parts.iter().enumerate().try_for_each(|(i, part)| part.read(&mut values[range_of(ranges, i)]))
    }

    fn with(&self, f: &mut dyn FnMut(&[T])) -> Result<()> {
        self.check_repaired()?;
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
        self.check_repaired()?;
        match &mut self.parts[..] {
            [one] => one.map(f),
            _ => Err(unsupported("one memory to map", "read and write the vector")),
        }
    }
}
