//! Matrices in parts, as users multiply them.

use std::sync::Arc;
use std::time::Instant;

use num_traits::Zero;
use spmv_core::{RowStats, Value};
use spmv_exec::{Error, Plan, Result, RunStats};
use spmv_partition::Ranges;

use crate::erased::{Element, Scalar};
use crate::erased_matrix::{
    AnyEpilogue, AnyGraph, AnyMatrix, AnyPending, AnyVector, AnyWorkspace, Mismatch, own, own_mut,
};
use crate::erased_queue::AnyQueue;
use crate::parts::cut::Cut;
use crate::parts::group::{Parts, unsupported};
use crate::parts::queue::PartsQueue;
use crate::parts::shares::PartsMatrix;
use crate::parts::vector::PartsVec;

/// A queue, and vectors for the slices of the host.
#[derive(Debug)]
struct PartsWorkspace<T: Value> {
    queue: PartsQueue,
    x: Option<PartsVec<T>>,
    y: Option<PartsVec<T::Accum>>,
}

impl<T: Value> AnyWorkspace for PartsWorkspace<T> {}

impl<T: Scalar> AnyMatrix<T> for PartsMatrix<T> {
    fn plan(&self) -> &Plan {
        self.locals[0].plan()
    }

    fn explain(&self) -> String {
        self.explained.clone()
    }

    fn row_stats(&self) -> &RowStats {
        &self.stats
    }

    fn prepare_s(&self) -> f64 {
        self.prepare_s
    }

    fn set_values(&mut self, vals: &[T]) -> Result<()> {
        if vals.len() != self.stats.nnz {
            let (found, expected) = (vals.len(), self.stats.nnz);
            return Err(Error::Length { what: "the values", found, expected });
        }
        let mut rest = vals;
        let (mut of_local, mut of_remote) = (Vec::new(), Vec::new());
        for ((local, remote), remote_entries) in
            self.locals.iter_mut().zip(&mut self.remotes).zip(&self.remote_entries)
        {
            let n_local = local.row_stats().nnz;
            let (own, others) = rest.split_at(n_local + remote_entries.len());
            rest = others;
            of_local.clear();
            of_remote.clear();
            let mut from = 0;
            for at in remote_entries {
                let at = *at as usize;
                of_local.extend_from_slice(&own[from..at]);
                of_remote.push(own[at]);
                from = at + 1;
            }
            of_local.extend_from_slice(&own[from..]);
            local.set_values(&of_local)?;
            if let Some(remote) = remote {
                remote.set_values(&of_remote)?;
            }
        }
        Ok(())
    }

    fn workspace(&self, _timed: bool) -> Result<Box<dyn AnyWorkspace>> {
        Ok(Box::new(PartsWorkspace::<T> { queue: PartsQueue::open(&self.parts)?, x: None, y: None }))
    }

    fn enqueue<'a>(
        &'a self,
        _: &'a mut dyn AnyWorkspace,
        _: T::Accum,
        _: &'a dyn AnyVector<T>,
        _: T::Accum,
        _: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyPending + 'a>, Mismatch> {
        Err(unsupported("runs that are waited for later", "use a queue").into())
    }

    fn apply(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
    ) -> Result<RunStats, Mismatch> {
        let queue = &mut own_mut::<PartsWorkspace<T>>(workspace, "the workspace")?.queue;
        let (x, y) = (own::<PartsVec<T>>(x, "x")?, own_mut::<PartsVec<T::Accum>>(y, "y")?);
        let start = Instant::now();
        queue.product(self, alpha, x, beta, y, AnyEpilogue::NONE)?;
        queue.wait()?;
        let mut stats = RunStats::default();
        stats.stage1_s = start.elapsed().as_secs_f64();
        Ok(stats)
    }

    fn apply_slices(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats, Mismatch> {
        let own = own_mut::<PartsWorkspace<T>>(workspace, "the workspace")?;
        for (what, found, expected) in [("x", x.len(), self.stats.n_cols), ("y", y.len(), self.stats.n_rows)]
        {
            if found != expected {
                return Err(Error::Length { what, found, expected }.into());
            }
        }
        let of_x = kept(&mut own.x, &self.parts, &self.cols)?;
        of_x.write(x)?;
        let of_y = kept(&mut own.y, &self.parts, &self.rows)?;
        if !beta.is_zero() {
            of_y.write(y)?;
        }
        let start = Instant::now();
        own.queue.product(self, alpha, of_x, beta, of_y, AnyEpilogue::NONE)?;
        own.queue.wait()?;
        let mut stats = RunStats::default();
        stats.stage1_s = start.elapsed().as_secs_f64();
        of_y.read(y)?;
        Ok(stats)
    }

    fn capture<'a>(
        &'a self,
        _: &'a mut dyn AnyWorkspace,
        _: u32,
        _: T::Accum,
        _: &'a dyn AnyVector<T>,
        _: T::Accum,
        _: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyGraph + 'a>, Mismatch> {
        Err(unsupported("captured runs", "use a queue").into())
    }

    fn dirty_tiles(&self, _: &dyn AnyWorkspace) -> Result<u32, Mismatch> {
        Err(unsupported("counts of repaired tiles", "prepare the matrix on one device").into())
    }
}

/// A vector that is made at the first call.
fn kept<'v, V: Element>(
    slot: &'v mut Option<PartsVec<V>>,
    parts: &Parts,
    ranges: &Arc<Ranges>,
) -> Result<&'v mut PartsVec<V>> {
    match slot {
        Some(vector) => Ok(vector),
        none => Ok(none.insert(PartsVec::zeros(parts, Cut::Ranges(Arc::clone(ranges)))?)),
    }
}
