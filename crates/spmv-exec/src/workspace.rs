//! What a run writes besides `y`.

use spmv_backend::Backend;
use spmv_core::Value;

use crate::device::DeviceVec;
use crate::error::Result;
use crate::part::Runner;
use crate::prepared::Prepared;

/// A stream, and the scratch memory that runs of one [`Prepared`] on it write. Allocated once.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(prepared: spmv_exec::Prepared<B, f32>) -> Result<(), spmv_exec::Error> {
/// let mut workspace = prepared.workspace()?;
/// let mut y = vec![0.0; prepared.row_stats().n_rows];
/// let x = vec![1.0; prepared.row_stats().n_cols];
/// prepared.apply_slices(&mut workspace, 1.0, &x, 0.0, &mut y)?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Workspace<B: Backend, T: Value> {
    pub(crate) stream: B::Stream,
    /// Whether the device records timestamps of this stream's work.
    pub(crate) timed: bool,
    pub(crate) parts: Vec<Box<dyn Runner<B, T>>>,
    /// Device copies of `x` and `y` for [`Prepared::apply_slices`] where the device needs them.
    pub(crate) staged: Option<Staged<B, T>>,
    /// Which of the two dirty counters the last run used; changes where the device repairs.
    pub(crate) turn: u32,
    /// Set while a run is on its way: what it counts in may not be zero.
    pub(crate) in_use: bool,
    /// The `Prepared` it fits.
    pub(crate) owner: u64,
}

/// Device copies of host vectors.
#[derive(Debug)]
pub(crate) struct Staged<B: Backend, T: Value> {
    pub(crate) x: DeviceVec<B, T>,
    pub(crate) y: DeviceVec<B, T::Accum>,
}

impl<B: Backend, T: Value> Prepared<B, T> {
    /// Opens a stream and allocates what runs on it need; runs then allocate nothing.
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<Workspace<B, T>> {
        self.open_workspace(false)
    }

    /// As [`workspace`](Self::workspace), with [`RunStats`](crate::RunStats) by the device's timestamps and with the count of
    /// tiles that it repaired, if it has timestamps. Some drivers then take several microseconds more for each run.
    ///
    /// # Errors
    /// Out of memory.
    pub fn timed_workspace(&self) -> Result<Workspace<B, T>> {
        self.open_workspace(true)
    }

    fn open_workspace(&self, timed: bool) -> Result<Workspace<B, T>> {
        let backend = self.device.backend();
        let timed = timed && self.device.caps().timestamps;
        let stream = backend.open_stream(timed)?;
        let mut parts =
            self.parts.iter().map(|part| part.runner(&self.device)).collect::<Result<Vec<_>>>()?;
        parts.iter_mut().try_for_each(|part| part.reset(backend, &stream))?;
        Ok(Workspace { stream, timed, parts, staged: None, turn: 0, in_use: false, owner: self.id })
    }
}
