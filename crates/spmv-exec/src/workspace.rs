//! What a run writes besides `y`.

use spmv_backend::{Backend, KernelId};
use spmv_core::Value;

use crate::device::DeviceVec;
use crate::error::Result;
use crate::plan::Repair;
use crate::prepared::{Part, Prepared, Structure};

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
    /// Whether the device tells the time of this stream's work.
    pub(crate) timed: bool,
    pub(crate) parts: Vec<Scratch<B>>,
    /// Device copies of `x` and `y` for [`Prepared::apply_slices`] where the device needs them.
    pub(crate) staged: Option<Staged<B, T>>,
    /// Host copies for repair on the host where memory is discrete.
    pub(crate) host: HostCopies<T::Accum>,
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

/// Scratch memory of one part.
#[derive(Debug)]
pub(crate) enum Scratch<B: Backend> {
    None,
    Carries(B::Buffer),
    Products(B::Buffer),
    Blocks(Blocks<B>),
    Speculative(Speculative<B>),
}

/// What `ipcsr` writes besides sums.
#[derive(Debug)]
pub(crate) struct Blocks<B: Backend> {
    pub(crate) carries: B::Buffer,
    /// Zero between launches.
    pub(crate) arrivals: B::Buffer,
    pub(crate) n_blocks: u32,
}

/// What `spec_segsum` writes besides sums.
#[derive(Debug)]
pub(crate) struct Speculative<B: Backend> {
    /// Sums of the part's rows on their way into a `y` that must not be lost (beta != 0).
    pub(crate) sums: B::Buffer,
    pub(crate) sync_rows: B::Buffer,
    pub(crate) sync_sums: B::Buffer,
    /// Two counters of dirty tiles, used by turns where the device repairs.
    pub(crate) dirty_count: B::Buffer,
    pub(crate) speculator: B::Buffer,
    pub(crate) n_tiles: u32,
    pub(crate) n_bunches: u32,
}

/// Host memory for repair at a distance.
#[derive(Debug)]
pub(crate) struct HostCopies<A> {
    pub(crate) y: Vec<A>,
    pub(crate) sync_rows: Vec<u32>,
    pub(crate) sync_sums: Vec<A>,
    pub(crate) speculator: Vec<u32>,
}

/// Bytes of [`Speculative::dirty_count`].
pub(crate) const DIRTY_COUNT_BYTES: u64 = 8;

impl<B: Backend, T: Value> Prepared<B, T> {
    /// Opens a stream and allocates what runs on it need; runs then allocate nothing.
    ///
    /// # Errors
    /// Out of memory.
    pub fn workspace(&self) -> Result<Workspace<B, T>> {
        self.open_workspace(false)
    }

    /// As [`workspace`](Self::workspace), with [`RunStats`](crate::RunStats) by the device's own clock, if it has one. Some
    /// drivers then take several microseconds more for each run.
    ///
    /// # Errors
    /// Out of memory.
    pub fn timed_workspace(&self) -> Result<Workspace<B, T>> {
        self.open_workspace(true)
    }

    fn open_workspace(&self, timed: bool) -> Result<Workspace<B, T>> {
        let backend = self.device.backend();
        let timed = timed && self.device.caps().clock;
        let stream = backend.open_stream(timed)?;
        let parts = self.parts.iter().map(|p| self.scratch(p)).collect::<Result<Vec<_>>>()?;
        parts.iter().try_for_each(|scratch| scratch.reset(backend, &stream))?;
        let at_a_distance = self.plan.repair == Repair::Host && !self.device.caps().memory.host_can_map();
        let host = if at_a_distance { HostCopies::new(&self.parts, &parts) } else { HostCopies::empty() };
        Ok(Workspace { stream, timed, parts, staged: None, host, turn: 0, in_use: false, owner: self.id })
    }

    fn scratch(&self, part: &Part<B>) -> Result<Scratch<B>> {
        let backend = self.device.backend();
        let tiling = &self.plan.kernel.tiling;
        let accum_bytes = T::DTYPE.accum().bytes() as u64;
        Ok(match self.plan.kernel.id {
            KernelId::MergePath => {
                let n_bunches = tiling.n_bunches(part.n_rows + part.nnz);
                Scratch::Carries(backend.alloc(u64::from(n_bunches) * accum_bytes)?)
            }
            KernelId::Ipcsr => {
                let Structure::RowBlocks { n_blocks, .. } = &part.structure else {
                    unreachable!("made by `prepare` for ipcsr")
                };
                let n_blocks = *n_blocks;
                Scratch::Blocks(Blocks {
                    carries: backend.alloc(u64::from(n_blocks) * accum_bytes)?,
                    arrivals: backend.alloc(u64::from(n_blocks) * 4)?,
                    n_blocks,
                })
            }
            KernelId::PcsrSums => Scratch::Products(backend.alloc(u64::from(part.nnz) * accum_bytes)?),
            KernelId::SpecSegsum => {
                let (n_tiles, n_bunches) = (tiling.n_tiles(part.nnz), tiling.n_bunches(part.nnz));
                Scratch::Speculative(Speculative {
                    sums: backend.alloc(u64::from(part.n_rows) * accum_bytes)?,
                    sync_rows: backend.alloc(u64::from(n_bunches) * 4)?,
                    sync_sums: backend.alloc(u64::from(n_bunches) * accum_bytes)?,
                    dirty_count: backend.alloc(DIRTY_COUNT_BYTES)?,
                    speculator: backend.alloc(u64::from(n_tiles) * 4)?,
                    n_tiles,
                    n_bunches,
                })
            }
            _ => Scratch::None,
        })
    }
}

impl<B: Backend> Scratch<B> {
    /// Zeroes what runs count in and leave at zero, unless they fail.
    pub(crate) fn reset(&self, backend: &B, stream: &B::Stream) -> Result<()> {
        match self {
            Scratch::None | Scratch::Carries(_) | Scratch::Products(_) => {}
            Scratch::Blocks(blocks) => {
                backend.zero(stream, &blocks.arrivals, u64::from(blocks.n_blocks) * 4)?
            }
            Scratch::Speculative(s) => backend.zero(stream, &s.dirty_count, DIRTY_COUNT_BYTES)?,
        }
        Ok(())
    }
}

impl<A: spmv_core::Accum> HostCopies<A> {
    fn empty() -> Self {
        Self { y: vec![], sync_rows: vec![], sync_sums: vec![], speculator: vec![] }
    }

    /// Room for the largest part.
    fn new<B: Backend>(parts: &[Part<B>], scratch: &[Scratch<B>]) -> Self {
        let most = |f: fn(&Speculative<B>) -> u32| {
            let each = scratch
                .iter()
                .filter_map(|s| if let Scratch::Speculative(s) = s { Some(f(s)) } else { None });
            each.max().unwrap_or(0) as usize
        };
        let n_rows = parts.iter().map(|p| p.n_rows).max().unwrap_or(0) as usize;
        let (n_bunches, n_tiles) = (most(|s| s.n_bunches), most(|s| s.n_tiles));
        Self {
            y: vec![A::zero(); n_rows],
            sync_rows: vec![0; n_bunches],
            sync_sums: vec![A::zero(); n_bunches],
            speculator: vec![0; n_tiles],
        }
    }
}
