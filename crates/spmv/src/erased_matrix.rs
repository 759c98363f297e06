//! Matrices, vectors and runs of all backends.

use std::any::Any;
use std::fmt::Debug;

use spmv_backend::Backend;
use spmv_core::{Accum, RowStats, Value};
use spmv_exec::{
    BlockShape, DeviceVec, Epilogue, Graph, Indices, Pending, Plan, Prepared, Queue, Result, RunStats,
    Workspace,
};
use spmv_hetero::Partition;

/// What else becomes of a product.
#[derive(Clone, Copy, Debug)]
pub struct AnyEpilogue<'a, A> {
    pub z: Option<&'a dyn AnyVector<A>>,
    pub bounds: Option<[A; 2]>,
}

impl<A> AnyEpilogue<'_, A> {
    pub(crate) const NONE: Self = Self { z: None, bounds: None };
}

impl<'a, A: Accum> AnyEpilogue<'a, A> {
    /// Of vectors of a backend.
    fn of<B: Backend>(self) -> Result<Epilogue<'a, B, A>, Mismatch> {
        let z = self.z.map(|z| own::<DeviceVec<B, A>>(z, "z")).transpose()?;
        let with_z = z.map_or(Epilogue::new(), |z| Epilogue::new().plus(z));
        Ok(self.bounds.map_or(with_z, |[lo, hi]| with_z.clamp(lo, hi)))
    }
}

/// A prepared matrix of any backend.
pub trait AnyMatrix<T: Value>: Any + Debug + Send + Sync {
    fn plan(&self) -> &Plan;
    fn explain(&self) -> String {
        self.plan().explain().to_string()
    }
    fn partition(&self) -> Option<&Partition> {
        None
    }
    fn row_stats(&self) -> &RowStats;
    fn prepare_s(&self) -> f64;
    fn set_values(&mut self, vals: &[T]) -> Result<()>;
    fn workspace(&self, timed: bool) -> Result<Box<dyn AnyWorkspace>>;
    fn enqueue<'a>(
        &'a self,
        workspace: &'a mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &'a dyn AnyVector<T>,
        beta: T::Accum,
        y: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyPending + 'a>, Mismatch>;
    fn apply(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
    ) -> Result<RunStats, Mismatch>;
    /// In a queue of one device.
    fn apply_in(
        &self,
        _: &mut dyn Any,
        _alpha: T::Accum,
        _x: &dyn AnyVector<T>,
        _beta: T::Accum,
        _y: &mut dyn AnyVector<T::Accum>,
        _epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch> {
        Err(Mismatch::Other("the matrix"))
    }
    /// With several right-hand sides, in a queue of one device.
    fn apply_block_in(
        &self,
        _: &mut dyn Any,
        _alpha: T::Accum,
        _x: (&dyn AnyVector<T>, BlockShape),
        _beta: T::Accum,
        _y: (&mut dyn AnyVector<T::Accum>, BlockShape),
    ) -> Result<(), Mismatch> {
        Err(Mismatch::Other("the matrix"))
    }
    fn apply_slices(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats, Mismatch>;
    fn capture<'a>(
        &'a self,
        workspace: &'a mut dyn AnyWorkspace,
        runs: u32,
        alpha: T::Accum,
        x: &'a dyn AnyVector<T>,
        beta: T::Accum,
        y: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyGraph + 'a>, Mismatch>;
    fn dirty_tiles(&self, workspace: &dyn AnyWorkspace) -> Result<u32, Mismatch>;
}

/// A vector of any backend.
pub trait AnyVector<T>: Any + Debug + Send + Sync {
    fn len(&self) -> usize;
    fn write(&mut self, values: &[T]) -> Result<()>;
    fn read(&self, values: &mut [T]) -> Result<()>;
    fn with(&self, f: &mut dyn FnMut(&[T])) -> Result<()>;
    fn map(&mut self, f: &mut dyn FnMut(&mut [T])) -> Result<()>;
}

/// Positions in vectors of any backend.
pub trait AnyIndices: Any + Debug + Send + Sync {
    fn len(&self) -> usize;
}

/// A workspace of any backend.
pub trait AnyWorkspace: Any + Debug + Send {}

/// A run on its way on any backend.
pub trait AnyPending {
    fn wait(self: Box<Self>) -> Result<RunStats>;
}

/// Captured runs on any backend.
pub trait AnyGraph {
    fn replay(&mut self) -> Result<RunStats>;
}

/// A failed run, or something of another context.
#[derive(Debug)]
pub enum Mismatch {
    Exec(spmv_exec::Error),
    Other(&'static str),
}

impl From<spmv_exec::Error> for Mismatch {
    fn from(e: spmv_exec::Error) -> Self {
        Self::Exec(e)
    }
}

pub(crate) fn own<'a, C: 'static>(
    of_any_backend: &'a dyn Any,
    what: &'static str,
) -> Result<&'a C, Mismatch> {
    of_any_backend.downcast_ref().ok_or(Mismatch::Other(what))
}

pub(crate) fn own_mut<'a, C: 'static>(
    of_any_backend: &'a mut dyn Any,
    what: &'static str,
) -> Result<&'a mut C, Mismatch> {
    of_any_backend.downcast_mut().ok_or(Mismatch::Other(what))
}

/// What a run is given, if it is all of this backend.
type OwnAll<'a, B, T> =
    (&'a mut Workspace<B, T>, &'a DeviceVec<B, T>, &'a mut DeviceVec<B, <T as Value>::Accum>);

fn own_all<'a, B: Backend, T: Value>(
    workspace: &'a mut dyn AnyWorkspace,
    x: &'a dyn AnyVector<T>,
    y: &'a mut dyn AnyVector<T::Accum>,
) -> Result<OwnAll<'a, B, T>, Mismatch> {
    Ok((own_mut(workspace, "the workspace")?, own(x, "x")?, own_mut(y, "y")?))
}

impl<B: Backend, T: Value> AnyMatrix<T> for Prepared<B, T> {
    fn plan(&self) -> &Plan {
        Prepared::plan(self)
    }

    fn explain(&self) -> String {
        let of_blocks = self.explain_blocks().map(|blocks| format!("\n{blocks}"));
        self.plan().explain().to_string() + &of_blocks.unwrap_or_default()
    }

    fn row_stats(&self) -> &RowStats {
        Prepared::row_stats(self)
    }

    fn set_values(&mut self, vals: &[T]) -> Result<()> {
        Prepared::set_values(self, vals)
    }

    fn prepare_s(&self) -> f64 {
        Prepared::prepare_s(self)
    }

    fn workspace(&self, timed: bool) -> Result<Box<dyn AnyWorkspace>> {
        Ok(Box::new(if timed { self.timed_workspace()? } else { Prepared::workspace(self)? }))
    }

    fn enqueue<'a>(
        &'a self,
        workspace: &'a mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &'a dyn AnyVector<T>,
        beta: T::Accum,
        y: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyPending + 'a>, Mismatch> {
        let (workspace, x, y) = own_all::<B, T>(workspace, x, y)?;
        Ok(Box::new(Prepared::enqueue(self, workspace, alpha, x, beta, y)?))
    }

    fn apply(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
    ) -> Result<RunStats, Mismatch> {
        let (workspace, x, y) = own_all::<B, T>(workspace, x, y)?;
        Ok(Prepared::apply(self, workspace, alpha, x, beta, y)?)
    }

    fn apply_in(
        &self,
        queue: &mut dyn Any,
        alpha: T::Accum,
        x: &dyn AnyVector<T>,
        beta: T::Accum,
        y: &mut dyn AnyVector<T::Accum>,
        epilogue: AnyEpilogue<'_, T::Accum>,
    ) -> Result<(), Mismatch> {
        let queue = own_mut::<Queue<B>>(queue, "the matrix")?;
        Ok(queue.apply_with(self, alpha, own(x, "x")?, beta, own_mut(y, "y")?, epilogue.of()?)?)
    }

    fn apply_block_in(
        &self,
        queue: &mut dyn Any,
        alpha: T::Accum,
        (x, of_x): (&dyn AnyVector<T>, BlockShape),
        beta: T::Accum,
        (y, of_y): (&mut dyn AnyVector<T::Accum>, BlockShape),
    ) -> Result<(), Mismatch> {
        let queue = own_mut::<Queue<B>>(queue, "the matrix")?;
        let (x, y) = (own(x, "X")?, own_mut(y, "Y")?);
        Ok(queue.apply_block(self, alpha, (x, of_x), beta, (y, of_y))?)
    }

    fn apply_slices(
        &self,
        workspace: &mut dyn AnyWorkspace,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats, Mismatch> {
        let workspace = own_mut::<Workspace<B, T>>(workspace, "the workspace")?;
        Ok(Prepared::apply_slices(self, workspace, alpha, x, beta, y)?)
    }

    fn capture<'a>(
        &'a self,
        workspace: &'a mut dyn AnyWorkspace,
        runs: u32,
        alpha: T::Accum,
        x: &'a dyn AnyVector<T>,
        beta: T::Accum,
        y: &'a mut dyn AnyVector<T::Accum>,
    ) -> Result<Box<dyn AnyGraph + 'a>, Mismatch> {
        let (workspace, x, y) = own_all::<B, T>(workspace, x, y)?;
        Ok(Box::new(Prepared::capture(self, workspace, runs, alpha, x, beta, y)?))
    }

    fn dirty_tiles(&self, workspace: &dyn AnyWorkspace) -> Result<u32, Mismatch> {
        Ok(own::<Workspace<B, T>>(workspace, "the workspace")?.dirty_tiles(self)?)
    }
}

impl<B: Backend, T: Value> AnyVector<T> for DeviceVec<B, T> {
    fn len(&self) -> usize {
        DeviceVec::len(self)
    }

    fn write(&mut self, values: &[T]) -> Result<()> {
        DeviceVec::write(self, values)
    }

    fn read(&self, values: &mut [T]) -> Result<()> {
        DeviceVec::read(self, values)
    }

    fn with(&self, f: &mut dyn FnMut(&[T])) -> Result<()> {
        DeviceVec::with(self, f)
    }

    fn map(&mut self, f: &mut dyn FnMut(&mut [T])) -> Result<()> {
        DeviceVec::map(self, f)
    }
}

impl<B: Backend> AnyIndices for Indices<B> {
    fn len(&self) -> usize {
        Indices::len(self)
    }
}

impl<B: Backend, T: Value> AnyWorkspace for Workspace<B, T> {}

impl<B: Backend, T: Value> AnyPending for Pending<'_, B, T> {
    fn wait(self: Box<Self>) -> Result<RunStats> {
        Pending::wait(*self)
    }
}

impl<B: Backend, T: Value> AnyGraph for Graph<'_, B, T> {
    fn replay(&mut self) -> Result<RunStats> {
        Graph::replay(self)
    }
}
