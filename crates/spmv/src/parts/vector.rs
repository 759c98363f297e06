//! Vectors in parts.

use std::ops::Range;
use std::sync::Arc;

use spmv_core::Value;
use spmv_exec::{Error, Result};

use crate::erased::{AnyDevice, Element};
use crate::erased_matrix::{AnyVector, Mismatch};
use crate::parts::cut::Cut;
use crate::parts::group::{Parts, unsupported};

/// A vector in pieces, those of each part on a device of its own.
#[derive(Debug)]
pub(super) struct PartsVec<T> {
    home: Parts,
    pub(super) cut: Cut,
    pub(super) parts: Vec<Box<dyn AnyVector<T>>>,
    /// Set while some parts have been written and others not, or not with all their sums: an error then shows none.
    pub(super) unrepaired: bool,
}

impl<T: Element> PartsVec<T> {
    pub(super) fn zeros(home: &Parts, cut: Cut) -> Result<Self> {
        let of_part = |(part, device): (usize, &Arc<dyn AnyDevice>)| {
            T::device(&**device).zeros(cut.pieces(part).iter().map(Range::len).sum())
        };
        let parts = home.devices.iter().enumerate().map(of_part).collect::<Result<_>>()?;
        Ok(Self { home: home.clone(), cut, parts, unrepaired: false })
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
    pub(super) fn is_cut_as(&self, what: &'static str, cut: &Cut) -> Result<(), Mismatch> {
        let (found, expected) = (self.len(), cut.len());
        if found != expected {
            return Err(Error::Length { what, found, expected }.into());
        }
        if self.cut != *cut {
            return Err(Error::Foreign { what, to: "device" }.into());
        }
        Ok(())
    }
}

impl<T: Value> AnyVector<T> for PartsVec<T> {
    fn len(&self) -> usize {
        self.cut.len()
    }

    fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        let Self { cut, parts, unrepaired, .. } = self;
        for (i, part) in parts.iter_mut().enumerate() {
            match &cut.pieces(i)[..] {
                [piece] => part.write(&values[piece.clone()])?,
                pieces => {
                    let own = pieces.iter().flat_map(|piece| &values[piece.clone()]).copied();
                    part.write(&own.collect::<Vec<T>>())?;
                }
            }
            *unrepaired = true;
        }
        *unrepaired = false;
        Ok(())
    }

    fn read(&self, values: &mut [T]) -> Result<()> {
        self.check_len(values.len())?;
        self.check_repaired()?;
        for (i, part) in self.parts.iter().enumerate() {
            let pieces = self.cut.pieces(i);
            if let [piece] = &pieces[..] {
                part.read(&mut values[piece.clone()])?;
                continue;
            }
            let mut own = vec![T::default(); part.len()];
            part.read(&mut own)?;
            let mut rest = &own[..];
            for piece in pieces {
                let (these, others) = rest.split_at(piece.len());
                values[piece].copy_from_slice(these);
                rest = others;
            }
        }
        Ok(())
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
