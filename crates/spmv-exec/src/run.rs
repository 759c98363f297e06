//! Runs: stage 1 on the device, stage 2 wherever the plan says, and a result that cannot be read early.

use std::sync::atomic::Ordering;
use std::time::Instant;

use num_traits::Zero;
use spmv_backend::{Backend, HostSlice, KernelId, MemoryModel};
use spmv_core::{Accum, Value};
use spmv_fixup::{FixupError, carry, dirty};

use crate::device::DeviceVec;
use crate::error::{Error, Result};
use crate::launch::{Run, Vector};
use crate::plan::Repair;
use crate::prepared::{Part, Prepared, Structure};
use crate::workspace::{DIRTY_COUNT_BYTES, HostCopies, Scratch, Speculative, Staged, Workspace};

/// What a run did.
///
/// ```
/// use spmv_exec::RunStats;
/// let stats = RunStats::default();
/// assert_eq!((stats.tiles, stats.dirty_tiles), (0, None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunStats {
    /// Tiles walked (0 for kernels without tiles).
    pub tiles: u32,
    /// Tiles repaired by the host; `None` where the device repaired them (see
    /// [`Workspace::dirty_tiles`]) or there are no tiles.
    pub dirty_tiles: Option<u32>,
    /// Seconds of stage 1: device time in a [`timed_workspace`](crate::Prepared::timed_workspace), else host time
    /// from the start of the run until the device was waited for.
    pub stage1_s: f64,
    /// Seconds of stage 2: host time where the host repairs; where the device does, device time in a timed
    /// workspace, else 0 (it is part of `stage1_s`).
    pub stage2_s: f64,
    /// Bytes of `y` that were copied between host and device for repair: 0 in place.
    pub y_bytes_copied: u64,
    /// Where a device and the cores beside it multiplied: seconds of either, 0 for one without a part.
    pub sides_s: Option<[f64; 2]>,
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
    begin: B::Event,
    stage1: B::Event,
    /// Where the device does stage 2.
    stage2: Option<B::Event>,
    alpha: A,
    beta: A,
}

/// `y` as the host may repair it.
pub(crate) enum Target<'a, B: Backend, A> {
    Device(&'a B::Buffer),
    Host(&'a mut [A]),
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
    pub(crate) fn scratch(&self) -> &Scratch<B> {
        &self.workspace.parts[0]
    }

    /// `y` as stage 1 left it.
    #[cfg(test)]
    pub(crate) fn unrepaired_y(&self) -> &B::Buffer {
        &self.y.buffer
    }

    fn finish(&mut self) -> Result<RunStats> {
        let Some(started) = self.started.take() else { return Ok(RunStats::default()) };
        let target = Target::Device(&self.y.buffer);
        let finished = self.prepared.finish(self.workspace, started, target);
        self.x.lent.fetch_sub(1, Ordering::Relaxed);
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
    /// Starts `y <- alpha*A*x + beta*y`. `x` has `n_cols` values, `y` has `n_rows` sums, which are not
    /// read if `beta == 0`. Allocates and compiles nothing.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Foreign`], [`Error::Unrepaired`], and failures of the device.
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
        let vectors = (Vector::Device(&x.buffer), Vector::Device(&y.buffer));
        let started = Some(self.start(workspace, alpha, beta, vectors)?);
        x.lent.fetch_add(1, Ordering::Relaxed);
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
            let lent = HostSlice::of_mut(bytemuck::cast_slice_mut(y));
            let vectors = (Vector::Host(HostSlice::of(bytemuck::cast_slice(x))), Vector::Host(lent));
            let started = self.start(workspace, alpha, beta, vectors)?;
            return self.finish(workspace, started, Target::Host(y));
        }
        let mut staged = match workspace.staged.take() {
            Some(staged) => staged,
            None => Staged { x: self.device.zeros(x.len())?, y: self.device.zeros(y.len())? },
        };
        staged.x.write(x)?;
        if !beta.is_zero() {
            staged.y.write(y)?;
        }
        let stats = self.apply(workspace, alpha, &staged.x, beta, &mut staged.y)?;
        staged.y.read(y)?;
        workspace.staged = Some(staged);
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
        if beta.is_zero() { Ok(()) } else { y.check_repaired() }
    }

    /// What is known before a run.
    pub(crate) fn stats(&self) -> RunStats {
        let tiles = match self.plan.kernel.id {
            KernelId::SpecSegsum => self.parts.iter().map(|p| self.plan.kernel.tiling.n_tiles(p.nnz)).sum(),
            _ => 0,
        };
        RunStats { tiles, ..RunStats::default() }
    }

    /// Whether a part's speculative sums may go straight to `y`: nothing in it must be kept.
    fn straight(part: &Part<B>, beta: T::Accum) -> bool {
        beta.is_zero() && !part.continues
    }

    pub(crate) fn check_owner(&self, workspace: &Workspace<B, T>) -> Result<()> {
        let own = workspace.owner == self.id;
        if own { Ok(()) } else { Err(Error::Foreign { what: "the workspace", to: "prepared matrix" }) }
    }

    /// After an error in the middle of a run: what was started before it must not outlive the vectors' loan.
    pub(crate) fn abandon<R>(&self, workspace: &Workspace<B, T>, e: Error) -> Result<R> {
        let backend = self.device.backend();
        let waited = backend.record(&workspace.stream).and_then(|event| backend.wait(&event));
        if waited.is_err() {
            // The first error is the one to report.
            let _ = backend.wait_all();
        }
        Err(e)
    }

    fn start(
        &self,
        workspace: &mut Workspace<B, T>,
        alpha: T::Accum,
        beta: T::Accum,
        vectors: (Vector<'_, B>, Vector<'_, B>),
    ) -> Result<Started<B, T::Accum>> {
        self.check_owner(workspace)?;
        self.launch_all(workspace, alpha, beta, vectors).or_else(|e| self.abandon(workspace, e))
    }

    fn launch_all(
        &self,
        workspace: &mut Workspace<B, T>,
        alpha: T::Accum,
        beta: T::Accum,
        (x, y): (Vector<'_, B>, Vector<'_, B>),
    ) -> Result<Started<B, T::Accum>> {
        let backend = self.device.backend();
        let since = Instant::now();
        self.begin(workspace)?;
        let Workspace { stream, parts: scratch, turn, .. } = &*workspace;
        let run = Run { prepared: self, stream, x, y, alpha, turn: *turn };
        let begin = backend.record(stream)?;
        self.stage1(&run, scratch, beta)?;
        let stage1 = backend.record(stream)?;
        let mut stage2 = None;
        if self.plan.repair == Repair::Device {
            self.stage2(&run, scratch, beta)?;
            stage2 = Some(backend.record(stream)?);
        }
        backend.submit(stream)?;
        Ok(Started { since, begin, stage1, stage2, alpha, beta })
    }

    pub(crate) fn stage1(&self, run: &Run<'_, B, T>, scratch: &[Scratch<B>], beta: T::Accum) -> Result<()> {
        for (part, scratch) in self.parts.iter().zip(scratch) {
            match scratch {
                Scratch::Speculative(s) if part.nnz > 0 => {
                    run.spec_segsum(part, s, Self::straight(part, beta))?
                }
                Scratch::Speculative(_) => {}
                other => run.whole(part, other, if part.continues { num_traits::one() } else { beta })?,
            }
        }
        Ok(())
    }

    /// Stage 2 on the device.
    pub(crate) fn stage2(&self, run: &Run<'_, B, T>, scratch: &[Scratch<B>], beta: T::Accum) -> Result<()> {
        for (part, scratch) in self.parts.iter().zip(scratch) {
            let Scratch::Speculative(s) = scratch else { continue };
            if part.nnz > 0 {
                run.fixup_apply(part, s, Self::straight(part, beta))?;
            }
            self.combine(run, part, s, beta)?;
        }
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
            workspace.parts.iter().try_for_each(|scratch| scratch.reset(backend, &workspace.stream))?;
        }
        Ok(())
    }

    /// Brings repaired sums from the workspace to `y`, where they are not there already.
    fn combine(
        &self,
        run: &Run<'_, B, T>,
        part: &Part<B>,
        scratch: &Speculative<B>,
        beta: T::Accum,
    ) -> Result<bool> {
        if Self::straight(part, beta) && part.nnz > 0 {
            return Ok(false);
        }
        run.axpby(part, scratch, if part.continues { num_traits::one() } else { beta })?;
        Ok(true)
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
        let Started { since, begin, stage1, stage2, alpha, beta } = started;
        let mut stats = self.stats();
        backend.wait(stage2.as_ref().unwrap_or(&stage1))?;
        stats.stage1_s = since.elapsed().as_secs_f64();
        if workspace.timed {
            stats.stage1_s = backend.elapsed_s(&begin, &stage1)?;
            if let Some(stage2) = &stage2 {
                stats.stage2_s = backend.elapsed_s(&stage1, stage2)?;
            }
        }
        if self.plan.repair == Repair::Host {
            let start = Instant::now();
            self.repair_on_host(workspace, alpha, beta, &mut y, &mut stats)?;
            stats.stage2_s = start.elapsed().as_secs_f64();
        }
        workspace.in_use = false;
        Ok(stats)
    }

    pub(crate) fn repair_on_host(
        &self,
        workspace: &mut Workspace<B, T>,
        alpha: T::Accum,
        beta: T::Accum,
        y: &mut Target<'_, B, T::Accum>,
        stats: &mut RunStats,
    ) -> Result<()> {
        let backend = self.device.backend();
        let Workspace { stream, parts, host, .. } = workspace;
        let stream = &*stream;
        // At a distance, copies back may still be on their way.
        let mut unfinished = !self.device.caps().memory.host_can_map();
        let mut n_dirty = 0;
        for (part, scratch) in self.parts.iter().zip(parts) {
            let Scratch::Speculative(s) = scratch else {
                unreachable!("spec_segsum has speculative scratch")
            };
            if part.nnz > 0 {
                let repair = RepairPart { prepared: self, stream, part, scratch: s };
                n_dirty += match (Self::straight(part, beta), &mut *y) {
                    (false, _) => repair.of(Target::Device(&s.sums), 0, host, stats)?,
                    (true, Target::Device(y)) => {
                        repair.of(Target::Device(*y), part.row_base as usize, host, stats)?
                    }
                    (true, Target::Host(y)) => {
                        repair.of(Target::Host(y), part.row_base as usize, host, stats)?
                    }
                };
            }
            let y = match y {
                Target::Device(buffer) => Vector::Device(*buffer),
                Target::Host(y) => Vector::Host(HostSlice::of_mut(bytemuck::cast_slice_mut(y))),
            };
            let run = Run { prepared: self, stream, x: y, y, alpha, turn: 0 };
            unfinished |= self.combine(&run, part, s, beta)?;
        }
        if unfinished {
            let end = backend.record(stream)?;
            backend.submit(stream)?;
            backend.wait(&end)?;
        }
        stats.dirty_tiles = Some(n_dirty);
        Ok(())
    }
}

/// Stage 2 of one part on the host.
struct RepairPart<'a, B: Backend, T: Value> {
    prepared: &'a Prepared<B, T>,
    stream: &'a B::Stream,
    part: &'a Part<B>,
    scratch: &'a Speculative<B>,
}

impl<B: Backend, T: Value> RepairPart<'_, B, T> {
    /// Repairs the part's rows, from `row_base` on, in `y`; returns how many tiles were dirty.
    fn of(
        &self,
        y: Target<'_, B, T::Accum>,
        row_base: usize,
        host: &mut HostCopies<T::Accum>,
        stats: &mut RunStats,
    ) -> Result<u32> {
        if self.prepared.device.caps().memory.host_can_map() {
            self.in_place(y, row_base)
        } else {
            let Target::Device(y) = y else {
                unreachable!("host memory is lent only where it can be mapped")
            };
            stats.y_bytes_copied += 2 * size_of_val(&host.y[..self.part.n_rows as usize]) as u64;
            self.at_a_distance(y, row_base, host)
        }
    }

    fn structure(&self) -> spmv_fixup::Structure<'_> {
        let Structure::TileRows { host: Some(host), .. } = &self.part.structure else {
            unreachable!("kept by `prepare` for repair on the host")
        };
        spmv_fixup::Structure::new(self.prepared.plan.kernel.tiling, &host.row_ptr, &host.tile_rows)
    }

    fn check_count(&self, count: u32) -> Result<usize> {
        let n_tiles = self.scratch.n_tiles as usize;
        if count as usize <= n_tiles {
            return Ok(count as usize);
        }
        Err(FixupError::TooManyTiles { count, n_tiles }.into())
    }

    fn in_place(&self, y: Target<'_, B, T::Accum>, row_base: usize) -> Result<u32> {
        let s = self.scratch;
        let rows = row_base..row_base + self.part.n_rows as usize;
        let count = self.map(&s.dirty_count, 2, |count: &mut [u32]| std::mem::take(&mut count[0]))?;
        let n_dirty = self.check_count(count)?;
        let n_bunches = s.n_bunches as usize;
        self.map(&s.sync_rows, n_bunches, |sync_rows: &mut [u32]| {
            self.map(&s.sync_sums, n_bunches, |sync_sums: &mut [T::Accum]| {
                self.map(&s.speculator, n_dirty, |speculator: &mut [u32]| {
                    let mut repair = |y: &mut [T::Accum]| self.mend(speculator, sync_rows, sync_sums, y);
                    match y {
                        Target::Host(y) => repair(&mut y[rows]),
                        Target::Device(y) => self.map(y, rows.end, |y| repair(&mut y[rows]))?,
                    }
                })?
            })?
        })??;
        Ok(count)
    }

    fn at_a_distance(&self, y: &B::Buffer, row_base: usize, host: &mut HostCopies<T::Accum>) -> Result<u32> {
        let (backend, s) = (self.prepared.device.backend(), self.scratch);
        let mut count = [0u32; 2];
        self.read(&s.dirty_count, 0, &mut count)?;
        backend.zero(self.stream, &s.dirty_count, DIRTY_COUNT_BYTES)?;
        let n_dirty = self.check_count(count[0])?;
        let speculator = &mut host.speculator[..n_dirty];
        let sync_rows = &mut host.sync_rows[..s.n_bunches as usize];
        let sync_sums = &mut host.sync_sums[..s.n_bunches as usize];
        let rows = &mut host.y[..self.part.n_rows as usize];
        self.read(&s.speculator, 0, speculator)?;
        self.read(&s.sync_rows, 0, sync_rows)?;
        self.read(&s.sync_sums, 0, sync_sums)?;
        self.read(y, row_base, rows)?;
        self.mend(speculator, sync_rows, sync_sums, rows)?;
        let offset = (row_base * size_of::<T::Accum>()) as u64;
        backend.write(self.stream, y, offset, bytemuck::cast_slice(rows))?;
        Ok(count[0])
    }

    fn mend<A: Accum>(
        &self,
        speculator: &mut [u32],
        sync_rows: &[u32],
        sync_sums: &[A],
        y: &mut [A],
    ) -> Result<()> {
        let structure = self.structure();
        // Where memory is mapped, other threads' runs may wait for this look to end: tasks of theirs must not be
        // taken up in the middle of it.
        let exclusive = self.prepared.device.caps().memory == MemoryModel::UnifiedMapped;
        let parallel_rows = if exclusive { usize::MAX } else { dirty::PARALLEL_ROWS };
        dirty::repair_from(&structure, speculator, y, parallel_rows)?;
        Ok(carry::add(&structure, sync_rows, sync_sums, y)?)
    }

    fn map<E: bytemuck::Pod, R>(
        &self,
        buffer: &B::Buffer,
        n: usize,
        look: impl FnOnce(&mut [E]) -> R,
    ) -> Result<R> {
        let look = |bytes: &mut [u8]| look(bytemuck::cast_slice_mut(bytes));
        let bytes = (n * size_of::<E>()) as u64;
        Ok(self.prepared.device.backend().map(self.stream, buffer, bytes, look)?)
    }

    fn read<E: bytemuck::Pod>(&self, buffer: &B::Buffer, first: usize, into: &mut [E]) -> Result<()> {
        let offset = (first * size_of::<E>()) as u64;
        Ok(self.prepared.device.backend().read(
            self.stream,
            buffer,
            offset,
            bytemuck::cast_slice_mut(into),
        )?)
    }
}

impl<B: Backend, T: Value> Workspace<B, T> {
    /// Tiles that the device repaired in the last finished run, where it repairs; copies 8 bytes a part.
    ///
    /// # Errors
    /// [`Error::Foreign`] for another matrix, and whatever the driver says.
    pub fn dirty_tiles(&self, prepared: &Prepared<B, T>) -> Result<u32> {
        prepared.check_owner(self)?;
        let mut total = 0;
        for scratch in &self.parts {
            if let Scratch::Speculative(s) = scratch {
                let mut count = [0u32; 2];
                let bytes = bytemuck::cast_slice_mut(&mut count);
                prepared.device.backend().read(&self.stream, &s.dirty_count, 0, bytes)?;
                total += count[self.turn as usize];
            }
        }
        Ok(total)
    }
}
