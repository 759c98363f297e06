//! Runs: stage 1 on the device, stage 2 wherever the plan says, and a result that cannot be read early.

use std::sync::atomic::Ordering;
use std::time::Instant;

use num_traits::Zero;
use spmv_backend::{Backend, HostSlice, Memory};
use spmv_core::Value;

use crate::device::DeviceVec;
use crate::error::{Error, Result};
use crate::launch::{Run, Scaling};
use crate::method::Repair;
use crate::part::Target;
use crate::prepared::Prepared;
use crate::workspace::{Staged, Workspace};

/// What a run did.
///
/// ```
/// use spmv_exec::RunStats;
/// let stats = RunStats::default();
/// assert_eq!((stats.n_tiles, stats.dirty_tiles, stats.dirty_share()), (0, None, None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunStats {
    /// Tiles walked, known from the plan (0 for kernels without tiles).
    pub n_tiles: u32,
    /// Tiles repaired, of [`n_tiles`](Self::n_tiles). `None` without tiles, and where the device repaired them and nobody asked:
    /// its count is read in a [`timed_workspace`](crate::Prepared::timed_workspace) alone, else by [`Workspace::dirty_tiles`].
    pub dirty_tiles: Option<u32>,
    /// Seconds of stage 1: device time in a [`timed_workspace`](crate::Prepared::timed_workspace), else host time
    /// from the start of the run until the device was waited for.
    pub stage1_s: f64,
    /// Seconds of stage 2: host time where the host repairs; where the device does, device time in a timed
    /// workspace, else 0 (it is part of `stage1_s`).
    pub stage2_s: f64,
    /// Bytes of `y` that were copied between host and device for repair: 0 in place.
    pub y_bytes_copied: u64,
    /// Where a device and the cores of its host multiplied: seconds of either, 0 for one without a part.
    pub shares_s: Option<[f64; 2]>,
}

impl RunStats {
    /// Dirty tiles over all tiles: 0 where speculation was right everywhere, 1 where every tile held an empty row.
    ///
    /// `None` where [`dirty_tiles`](Self::dirty_tiles) is, and for a matrix without entries. O(1).
    ///
    /// ```
    /// use spmv_exec::RunStats;
    /// let mut stats = RunStats::default();
    /// (stats.n_tiles, stats.dirty_tiles) = (8, Some(2));
    /// assert_eq!(stats.dirty_share(), Some(0.25));
    /// ```
    pub fn dirty_share(&self) -> Option<f64> {
        let dirty = self.dirty_tiles.filter(|_| self.n_tiles > 0)?;
        Some(f64::from(dirty) / f64::from(self.n_tiles))
    }

    /// Seconds of stage 2 over those of both stages; `None` if neither took any. Where the device repairs, stage 2 has a
    /// time of its own in a [`timed_workspace`](crate::Prepared::timed_workspace) alone.
    ///
    /// ```
    /// use spmv_exec::RunStats;
    /// let mut stats = RunStats::default();
    /// (stats.stage1_s, stats.stage2_s) = (3e-6, 1e-6);
    /// assert_eq!(stats.stage2_share(), Some(0.25));
    /// ```
    pub fn stage2_share(&self) -> Option<f64> {
        let both = self.stage1_s + self.stage2_s;
        (both > 0.0).then(|| self.stage2_s / both)
    }
}

/// A run on its way. Keeps `y` borrowed, so that sums cannot be read before they are repaired.
///
/// Dropping it waits too; forgetting it leaves `y` unreadable ([`Error::Unrepaired`]).
///
/// ```
/// # fn with<B: spmv_backend::Backend>(a: &spmv_exec::Prepared<B, f32>, w: &mut spmv_exec::Workspace<B, f32>,
/// #     x: &spmv_exec::DeviceVec<B, f32>, y: &mut spmv_exec::DeviceVec<B, f32>) -> Result<(), spmv_exec::Error> {
/// let pending = a.enqueue(w, 1.0, x, 0.0, y)?;
/// // Other work of the host goes here, while the device multiplies.
/// let stats = pending.wait()?;
/// # Ok(()) }
/// ```
#[must_use = "y is repaired only when the run is waited for"]
#[derive(Debug)]
pub struct Pending<'a, B: Backend, T: Value> {
    prepared: &'a Prepared<B, T>,
    workspace: &'a mut Workspace<B, T>,
    x: &'a DeviceVec<B, T>,
    y: &'a mut DeviceVec<B, T::Accum>,
    started: Option<Started<B, T::Accum>>,
}

/// What `finish` needs to know of a run that was started.
#[derive(Debug)]
struct Started<B: Backend, A> {
    since: Instant,
    /// Where the workspace is timed.
    begin: Option<B::Event>,
    /// Where the workspace is timed and the device does stage 2.
    stage1: Option<B::Event>,
    /// Of all that the device does; none where its stream is waited for instead.
    end: Option<B::Event>,
    scaling: Scaling<A>,
}

impl<B: Backend, T: Value> Pending<'_, B, T> {
    /// Waits for stage 1, does what is left of stage 2, and gives `y` back.
    ///
    /// # Errors
    /// Failures of the device, and [`Error::Fixup`] if it reported what cannot be; `y` then stays
    /// unreadable until it is written anew.
    pub fn wait(mut self) -> Result<RunStats> {
        self.finish()
    }

    /// Scratch memory of the first part, to be corrupted.
    #[cfg(test)]
    pub(crate) fn scratch(&mut self, name: &str) -> &mut B::Buffer {
        self.workspace.parts[0].scratch(name).expect("scratch memory of that name")
    }

    /// `y` as stage 1 left it.
    #[cfg(test)]
    pub(crate) fn unrepaired_y(&self) -> &B::Buffer {
        &self.y.buffer
    }

    fn finish(&mut self) -> Result<RunStats> {
        let Some(started) = self.started.take() else { return Ok(RunStats::default()) };
        let target = Target::Device(&mut self.y.buffer);
        let finished = self.prepared.finish(self.workspace, started, target);
        self.x.in_use.fetch_sub(1, Ordering::Relaxed);
        let stats = finished?;
        self.y.unrepaired = false;
        Ok(stats)
    }
}

impl<B: Backend, T: Value> Drop for Pending<'_, B, T> {
    fn drop(&mut self) {
        // An error leaves `y` marked unrepaired, which the next reader is told.
        let _ = self.finish();
    }
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// Starts `y <- alpha*A*x + beta*y`. `x` has `n_cols` values, `y` has `n_rows` sums. As in BLAS, `beta == 0` does not read
    /// `y`, and with `alpha == 0` no value of the matrix or of `x` reaches it. Allocates no memory of the device, and compiles
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`], [`Error::Unrepaired`], and failures of the device, after which `y` may
    /// be unreadable until it is written anew.
    pub fn enqueue<'a>(
        &'a self,
        workspace: &'a mut Workspace<B, T>,
        alpha: T::Accum,
        x: &'a DeviceVec<B, T>,
        beta: T::Accum,
        y: &'a mut DeviceVec<B, T::Accum>,
    ) -> Result<Pending<'a, B, T>> {
        self.check_run(x, beta, y)?;
        self.check_owner(workspace)?;
        y.wait_for_forgotten()?;
        y.unrepaired = true;
        let vectors = (Memory::Device(&x.buffer), Memory::Device(&y.buffer));
        let started = Some(self.start(workspace, Scaling::new(alpha, beta), vectors)?);
        x.in_use.fetch_add(1, Ordering::Relaxed);
        Ok(Pending { prepared: self, workspace, x, y, started })
    }

    /// As [`enqueue`](Self::enqueue), and waits.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue) and [`Pending::wait`].
    pub fn apply(
        &self,
        workspace: &mut Workspace<B, T>,
        alpha: T::Accum,
        x: &DeviceVec<B, T>,
        beta: T::Accum,
        y: &mut DeviceVec<B, T::Accum>,
    ) -> Result<RunStats> {
        self.enqueue(workspace, alpha, x, beta, y)?.wait()
    }

    /// As [`apply`](Self::apply), on host slices: in place where kernels can use host memory, else
    /// through device copies that the workspace keeps.
    ///
    /// # Errors
    /// As [`apply`](Self::apply). `y` is unspecified after an error.
    pub fn apply_slices(
        &self,
        workspace: &mut Workspace<B, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats> {
        self.check_lengths(x.len(), y.len())?;
        self.check_owner(workspace)?;
        if self.device.caps().host_pointers {
            let in_use = HostSlice::of_mut(bytemuck::cast_slice_mut(y));
            let vectors = (Memory::Host(HostSlice::of(bytemuck::cast_slice(x))), Memory::Host(in_use));
            let started = self.start(workspace, Scaling::new(alpha, beta), vectors)?;
            return self.finish(workspace, started, Target::Host(y));
        }
        let mut staged = match workspace.staged.take() {
            Some(staged) => staged,
            None => Staged { x: self.device.zeros(x.len())?, y: self.device.zeros(y.len())? },
        };
        let stats = self.apply_staged(workspace, &mut staged, alpha, x, beta, y);
        // After an error too: a later run allocates nothing, and what it reads of them is written first.
        workspace.staged = Some(staged);
        stats
    }

    /// Through device copies.
    fn apply_staged(
        &self,
        workspace: &mut Workspace<B, T>,
        staged: &mut Staged<B, T>,
        alpha: T::Accum,
        x: &[T],
        beta: T::Accum,
        y: &mut [T::Accum],
    ) -> Result<RunStats> {
        staged.x.write(x)?;
        if !beta.is_zero() {
            staged.y.write(y)?;
        }
        let stats = self.apply(workspace, alpha, &staged.x, beta, &mut staged.y)?;
        staged.y.read(y)?;
        Ok(stats)
    }

    pub(crate) fn check_run(
        &self,
        x: &DeviceVec<B, T>,
        beta: T::Accum,
        y: &DeviceVec<B, T::Accum>,
    ) -> Result<()> {
        self.check_lengths(x.len(), y.len())?;
        self.check_device("x", x)?;
        self.check_device("y", y)?;
        x.check_repaired()?;
        x.wait_for_writers()?;
        if beta.is_zero() { Ok(()) } else { y.check_repaired() }
    }

    /// What is known before a run.
    pub(crate) fn stats(&self) -> RunStats {
        let n_tiles = self.parts.iter().map(|part| part.tiles()).sum();
        RunStats { n_tiles, ..RunStats::default() }
    }

    pub(crate) fn check_owner(&self, workspace: &Workspace<B, T>) -> Result<()> {
        let own = workspace.owner == self.id;
        if own { Ok(()) } else { Err(Error::Foreign { what: "the workspace", to: "prepared matrix" }) }
    }

    /// After an error in the middle of a run: what was started before it must not outlive the vectors' loan.
    pub(crate) fn abandon<R>(&self, workspace: &Workspace<B, T>, e: Error) -> Result<R> {
        self.device.settle(&workspace.stream);
        Err(e)
    }

    fn start(
        &self,
        workspace: &mut Workspace<B, T>,
        scaling: Scaling<T::Accum>,
        vectors: (Memory<'_, B>, Memory<'_, B>),
    ) -> Result<Started<B, T::Accum>> {
        self.check_owner(workspace)?;
        self.launch_all(workspace, scaling, vectors).or_else(|e| self.abandon(workspace, e))
    }

    fn launch_all(
        &self,
        workspace: &mut Workspace<B, T>,
        scaling: Scaling<T::Accum>,
        (x, y): (Memory<'_, B>, Memory<'_, B>),
    ) -> Result<Started<B, T::Accum>> {
        let backend = self.device.backend();
        let since = Instant::now();
        self.begin(workspace)?;
        let Workspace { stream, timed, parts, turn, .. } = &*workspace;
        let run = Run { device: &self.device, stream, x, y, z: None, scaling, turn: *turn };
        // No event that nobody reads: events take time of the host and of the device.
        let record_if = |is_read: bool| is_read.then(|| backend.record(stream)).transpose();
        let repairs = self.plan.repair == Repair::Device;
        let begin = record_if(*timed)?;
        parts.iter().try_for_each(|part| part.stage1(&run))?;
        let stage1 = record_if(*timed && repairs)?;
        if repairs {
            parts.iter().try_for_each(|part| part.stage2(&run))?;
        }
        let end = record_if(*timed || backend.ends_with_event(stream))?;
        backend.submit(stream)?;
        Ok(Started { since, begin, stage1, end, scaling })
    }

    /// All of a run but what the host repairs; nobody waits for it. The next one comes after it on the same stream, where
    /// counters are zero again.
    pub(crate) fn launch_on_queue(
        &self,
        workspace: &mut Workspace<B, T>,
        scaling: Scaling<T::Accum>,
        (x, y, z): (Memory<'_, B>, Memory<'_, B>, Option<Memory<'_, B>>),
    ) -> Result<()> {
        self.begin(workspace)?;
        let Workspace { stream, parts, turn, .. } = &*workspace;
        let run = Run { device: &self.device, stream, x, y, z, scaling, turn: *turn };
        parts.iter().try_for_each(|part| part.stage1(&run))?;
        if self.plan.repair == Repair::Device {
            parts.iter().try_for_each(|part| part.stage2(&run))?;
        }
        workspace.in_use = self.plan.repair == Repair::Host;
        Ok(())
    }

    /// Waits for stage 1, and repairs.
    pub(crate) fn repair_on_queue(
        &self,
        workspace: &mut Workspace<B, T>,
        scaling: Scaling<T::Accum>,
        y: &mut DeviceVec<B, T::Accum>,
        z: Option<Memory<'_, B>>,
    ) -> Result<()> {
        let backend = self.device.backend();
        backend.finish(&workspace.stream)?;
        let mut target = Target::Device(&mut y.buffer);
        self.repair_on_host(workspace, scaling, (&mut target, z), &mut RunStats::default())?;
        workspace.in_use = false;
        Ok(())
    }

    /// Marks the workspace as in use and takes the counter that the last run has reset; after a run that
    /// was never finished, resets both.
    pub(crate) fn begin(&self, workspace: &mut Workspace<B, T>) -> Result<()> {
        if self.plan.repair == Repair::Device {
            workspace.turn = 1 - workspace.turn;
        }
        if std::mem::replace(&mut workspace.in_use, true) {
            let backend = self.device.backend();
            let Workspace { stream, parts, .. } = workspace;
            parts.iter_mut().try_for_each(|part| part.reset(backend, stream))?;
        }
        Ok(())
    }

    fn finish(
        &self,
        workspace: &mut Workspace<B, T>,
        started: Started<B, T::Accum>,
        y: Target<'_, B, T::Accum>,
    ) -> Result<RunStats> {
        self.wait_and_repair(workspace, started, y).or_else(|e| self.abandon(workspace, e))
    }

    fn wait_and_repair(
        &self,
        workspace: &mut Workspace<B, T>,
        started: Started<B, T::Accum>,
        mut y: Target<'_, B, T::Accum>,
    ) -> Result<RunStats> {
        let backend = self.device.backend();
        let Started { since, begin, stage1, end, scaling } = started;
        let mut stats = self.stats();
        match &end {
            Some(end) => backend.wait(end)?,
            None => backend.finish(&workspace.stream)?,
        }
        stats.stage1_s = since.elapsed().as_secs_f64();
        if let (Some(begin), Some(end)) = (&begin, &end) {
            stats.stage1_s = backend.elapsed_s(begin, stage1.as_ref().unwrap_or(end))?;
            if let Some(stage1) = &stage1 {
                stats.stage2_s = backend.elapsed_s(stage1, end)?;
                stats.dirty_tiles = Some(self.dirty_tiles(workspace)?);
            }
        }
        if self.plan.repair == Repair::Host {
            let start = Instant::now();
            self.repair_on_host(workspace, scaling, (&mut y, None), &mut stats)?;
            stats.stage2_s = start.elapsed().as_secs_f64();
        }
        workspace.in_use = false;
        Ok(stats)
    }

    pub(crate) fn repair_on_host(
        &self,
        workspace: &mut Workspace<B, T>,
        scaling: Scaling<T::Accum>,
        (y, z): (&mut Target<'_, B, T::Accum>, Option<Memory<'_, B>>),
        stats: &mut RunStats,
    ) -> Result<()> {
        let backend = self.device.backend();
        let Workspace { stream, parts, .. } = workspace;
        let stream = &*stream;
        let (mut unfinished, mut n_dirty) = (false, 0);
        for part in parts {
            let repaired = part.repair(&self.device, stream, scaling, y.reborrow())?;
            n_dirty += repaired.dirty_tiles;
            stats.y_bytes_copied += repaired.y_bytes_copied;
            let y = y.memory();
            // Stage 2 does not read x.
            let run = Run { device: &self.device, stream, x: y, y, z, scaling, turn: 0 };
            unfinished |= repaired.unfinished | part.combine(&run)?;
        }
        if unfinished {
            backend.finish(stream)?;
        }
        stats.dirty_tiles = Some(n_dirty);
        Ok(())
    }

    /// Of the last run, where the device repaired; copies 8 bytes a part.
    pub(crate) fn dirty_tiles(&self, workspace: &Workspace<B, T>) -> Result<u32> {
        let (backend, Workspace { stream, parts, turn, .. }) = (self.device.backend(), workspace);
        parts.iter().map(|part| part.dirty_tiles(backend, stream, *turn)).sum()
    }
}

impl<B: Backend, T: Value> Workspace<B, T> {
    /// Tiles that the device repaired in the last finished run, where it repairs; copies 8 bytes a part.
    ///
    /// # Errors
    /// [`Error::Foreign`] for another matrix, and whatever the driver says.
    pub fn dirty_tiles(&self, prepared: &Prepared<B, T>) -> Result<u32> {
        prepared.check_owner(self)?;
        prepared.dirty_tiles(self)
    }
}
