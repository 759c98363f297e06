//! Several devices as one, or one with its peers.

use std::sync::Arc;

use spmv_backend::DeviceCaps;
use spmv_core::{AnyCsr, CsrView, Dtype, Offset};
use spmv_exec::{BlockShape, Options, Plan, Profile, Result};
use spmv_partition::{Part, PartitionError, Ranges, cut};

use crate::erased::{AnyDevice, DeviceOf, Opened, Scalar};
use crate::erased_matrix::{AnyMatrix, AnyVector};
use crate::erased_queue::AnyQueue;
use crate::parts::cut::Cut;
use crate::parts::group::{Parts, unsupported};
use crate::parts::queue::PartsQueue;
use crate::parts::shares::PartsMatrix;
use crate::parts::vector::PartsVec;

/// A matrix of this process alone: cut here, and without ghosts of peers.
fn of_here<T: Scalar, O: Offset>(
    parts: &Parts,
    a: CsrView<'_, T, O>,
    options: &Options,
) -> Result<Box<dyn AnyMatrix<T>>> {
    let balanced =
        |n_parts| Ranges::by_nonzeros(a.row_ptr(), n_parts).expect("offsets of a matrix, and parts");
    let rows = parts.ranges(a.n_rows(), balanced);
    let cols = parts.evenly(a.n_cols());
    let cut = cut(a, &rows, &cols).map_err(uncut)?;
    Ok(Box::new(PartsMatrix::prepare(parts, [rows, cols], cut, None, options)?))
}

fn uncut(e: PartitionError) -> spmv_exec::Error {
    unsupported(&format!("such a partition ({e})"), "cut the matrix in other ranges")
}

impl AnyDevice for Parts {
    fn caps(&self) -> &DeviceCaps {
        self.devices[0].caps()
    }

    fn profile(&self, value: Dtype) -> Option<&Profile> {
        self.devices[0].profile(value)
    }

    fn queue(&self) -> Result<Box<dyn AnyQueue>> {
        Ok(Box::new(PartsQueue::open(self)?))
    }

    fn with_host_cores(&self) -> Opened {
        Err(unsupported("co-execution", "use a context of one device"))
    }

    fn is_parts(&self) -> bool {
        true
    }
}

impl<T: Scalar> DeviceOf<T> for Parts {
    fn plan(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Plan> {
        T::device(&*self.devices[0]).plan(a, options)
    }

    fn prepare(&self, a: AnyCsr<'_, T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        match a {
            AnyCsr::U32(a) => of_here(self, a, options),
            AnyCsr::U64(a) => of_here(self, a, options),
        }
    }

    fn prepare_part(&self, part: Part<T>, options: &Options) -> Result<Box<dyn AnyMatrix<T>>> {
        let Some(peers) = &self.peers else {
            return Err(unsupported("peers", "call Context::with_peers first"));
        };
        if (part.index(), part.n_parts()) != (peers.rank(), peers.size()) {
            let what = format!(
                "part {} of {} on rank {} of {}",
                part.index(),
                part.n_parts(),
                peers.rank(),
                peers.size()
            );
            return Err(unsupported(&what, "give each process the part of its rank"));
        }
        let ranges = [self.evenly(part.local().n_rows()), self.evenly(part.local().n_cols())];
        Ok(Box::new(PartsMatrix::prepare(self, ranges, vec![part], Some(Arc::clone(peers)), options)?))
    }

    fn zeros(&self, len: usize) -> Result<Box<dyn AnyVector<T>>> {
        Ok(Box::new(PartsVec::zeros(self, Cut::Ranges(self.evenly(len)))?))
    }

    fn zeros_block(&self, shape: BlockShape, len: usize) -> Result<Box<dyn AnyVector<T>>> {
        let cut = Cut::of_block(&self.evenly(shape.n_rows()), shape, len);
        Ok(Box::new(PartsVec::zeros(self, cut)?))
    }
}
