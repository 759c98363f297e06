//! Runs captured once and started together, where the device can (a CUDA graph).

use std::sync::atomic::Ordering;
use std::time::Instant;

use num_traits::Zero;
use spmv_backend::{Backend, Error as DeviceError, Memory};
use spmv_core::Value;

use crate::device::DeviceVec;
use crate::error::{Error, Result};
use crate::launch::{Run, Scaling};
use crate::method::Repair;
use crate::part::Target;
use crate::prepared::Prepared;
use crate::run::RunStats;
use crate::workspace::Workspace;

/// Runs on the same vectors with the same scalars, captured: started by one call, which costs less than starting their
/// kernels one by one. Keeps `x`, `y` and the workspace borrowed.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(a: &spmv_exec::Prepared<B, f32>, w: &mut spmv_exec::Workspace<B, f32>,
/// #     x: &spmv_exec::DeviceVec<B, f32>, y: &mut spmv_exec::DeviceVec<B, f32>) -> Result<(), spmv_exec::Error> {
/// let mut graph = a.capture(w, 1, 1.0, x, 0.0, y)?;
/// for _ in 0..100 {
///     let stats = graph.replay()?;
///     println!("{} us", stats.stage1_s * 1e6);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Graph<'a, B: Backend, T: Value> {
    prepared: &'a Prepared<B, T>,
    workspace: &'a mut Workspace<B, T>,
    x: &'a DeviceVec<B, T>,
    y: &'a mut DeviceVec<B, T::Accum>,
    scaling: Scaling<T::Accum>,
    runs: u32,
    /// Used alternately: where the device repairs, a run resets the counter that the next one uses, so that an odd number
    /// of runs is captured once for each counter to begin with.
    graphs: Vec<B::Graph>,
    next: usize,
    /// Set while a replay is on its way: counters may not be zero after one that failed.
    in_use: bool,
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// Captures `runs` runs of `y <- alpha*A*x + beta*y`, one after the other; starts none.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue); `Unsupported` where the device cannot capture, for no runs, and for several runs
    /// that the host must repair.
    pub fn capture<'a>(
        &'a self,
        workspace: &'a mut Workspace<B, T>,
        runs: u32,
        alpha: T::Accum,
        x: &'a DeviceVec<B, T>,
        beta: T::Accum,
        y: &'a mut DeviceVec<B, T::Accum>,
    ) -> Result<Graph<'a, B, T>> {
        self.check_run(x, beta, y)?;
        self.check_owner(workspace)?;
        let device = &*self.device.caps().name;
        if runs == 0 || (runs > 1 && self.plan.repair == Repair::Host) {
            let what = format!("a graph of {runs} runs repaired on the host");
            return Err(DeviceError::unsupported(device, what, "capture one, or repair on the device").into());
        }
        y.wait_for_forgotten()?;
        let scaling = Scaling::new(alpha, beta);
        let on_device = self.plan.repair == Repair::Device;
        let n = if on_device && runs % 2 == 1 { 2 } else { 1 };
        let mut graphs = Vec::with_capacity(n);
        for i in 0..n as u32 {
            let vectors = (Memory::Device(&x.buffer), Memory::Device(&y.buffer));
            let graph = self.device.backend().capture::<Error>(&workspace.stream, || {
                for k in i * runs..(i + 1) * runs {
                    let turn = if on_device { k % 2 } else { 0 };
                    let (x, y) = vectors;
                    let Workspace { stream, parts, .. } = &*workspace;
                    let run = Run { device: &self.device, stream, x, y, z: None, scaling, turn };
                    parts.iter().try_for_each(|part| part.stage1(&run))?;
                    if on_device {
                        parts.iter().try_for_each(|part| part.stage2(&run))?;
                    }
                }
                Ok(())
            })?;
            graphs.push(graph);
        }
        // Counters are zero now, and must be made so again before a run that is not captured.
        workspace.in_use = true;
        self.begin(workspace)?;
        x.in_use.fetch_add(1, Ordering::Relaxed);
        let (next, in_use) = (0, false);
        Ok(Graph { prepared: self, workspace, x, y, scaling, runs, graphs, next, in_use })
    }
}

impl<B: Backend, T: Value> Graph<'_, B, T> {
    /// Runs what was captured, waits, and repairs where that is the host's part. Times are those of one run, the mean
    /// of all that were captured: stage 1 and the device's stage 2 together, by the device's timestamps in a
    /// [`timed_workspace`](Prepared::timed_workspace).
    ///
    /// # Errors
    /// As [`Pending::wait`](crate::Pending::wait).
    pub fn replay(&mut self) -> Result<RunStats> {
        if !self.scaling.beta.is_zero() {
            self.y.check_repaired()?;
        }
        if std::mem::replace(&mut self.in_use, true) {
            self.prepared.begin(self.workspace)?;
        }
        self.y.unrepaired = true;
        let stats = self.run().or_else(|e| self.prepared.abandon(self.workspace, e))?;
        self.y.unrepaired = false;
        self.in_use = false;
        Ok(stats)
    }

    fn run(&mut self) -> Result<RunStats> {
        let Self { prepared, workspace, scaling, .. } = self;
        let backend = prepared.device.backend();
        let stream = &workspace.stream;
        let since = Instant::now();
        let begin = workspace.timed.then(|| backend.record(stream)).transpose()?;
        let (x, y) = (Memory::Device(&self.x.buffer), Memory::Device(&self.y.buffer));
        let (device, scaling) = (&prepared.device, *scaling);
        let run = Run::<B, T> { device, stream, x, y, z: None, scaling, turn: 0 };
        run.replay(&self.graphs[self.next])?;
        let last_turn = ((self.next as u32 + 1) * self.runs - 1) % 2;
        self.next = (self.next + 1) % self.graphs.len();
        let seconds = match begin {
            Some(begin) => {
                let end = backend.record(stream)?;
                backend.submit(stream)?;
                backend.wait(&end)?;
                backend.elapsed_s(&begin, &end)?
            }
            None => {
                backend.finish(stream)?;
                since.elapsed().as_secs_f64()
            }
        };
        if prepared.plan.repair == Repair::Device {
            workspace.turn = last_turn;
        }
        let mut stats = RunStats { stage1_s: seconds / f64::from(self.runs), ..prepared.stats() };
        if workspace.timed && prepared.plan.repair == Repair::Device {
            stats.dirty_tiles = Some(prepared.dirty_tiles(workspace)?);
        }
        if prepared.plan.repair == Repair::Host {
            let start = Instant::now();
            let mut y = Target::Device(&mut self.y.buffer);
            prepared.repair_on_host(workspace, scaling, (&mut y, None), &mut stats)?;
            stats.stage2_s = start.elapsed().as_secs_f64();
        }
        Ok(stats)
    }
}

impl<B: Backend, T: Value> Drop for Graph<'_, B, T> {
    fn drop(&mut self) {
        self.x.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}
