//! What the host knows of an algorithm before a matrix is on a device: one implementation an algorithm, in
//! `algorithms/<stem>.rs`.

use spmv_backend::{DeviceCaps, KernelId, KernelSpec, Types};
use spmv_core::format::Cost;
use spmv_core::{MatrixStats, RowStats, Tiling};

use crate::error::Result;
use crate::tilings::Row;

/// How an algorithm's sums come to their rows.
///
/// ```
/// use spmv_exec::{Algorithm, Sums};
/// let facts = Algorithm::MergePath.facts().unwrap();
/// assert_eq!(facts.sums, Sums::Joined);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sums {
    /// Each is stored once, where it belongs.
    Direct,
    /// Several launches or groups add to one row.
    Joined,
    /// They may be stored in wrong rows, and are repaired.
    Repaired,
}

/// Where the sums of a run are repaired.
///
/// ```
/// use spmv_exec::Repair;
/// assert_ne!(Repair::Host, Repair::Device);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// The kernel leaves nothing to repair.
    None,
    /// `spmv-fixup`, in place where the host can map `y`.
    Host,
    /// `fixup_apply`.
    Device,
}

/// What is known of an algorithm whatever the matrix and the device.
///
/// ```
/// use spmv_exec::Algorithm;
/// let jad = Algorithm::Jad.facts().unwrap();
/// assert!(jad.own_layout && jad.source.contains("Saad 1989"));
/// assert!(Algorithm::Auto.facts().is_none());
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// Where the literature describes it.
    pub source: &'static str,
    /// Its main kernel, by which plans name it.
    pub kernel: KernelId,
    /// Its name in profiles: the stem of its main kernel, but for one that starts another algorithm's kernel.
    pub rates: &'static str,
    /// How its sums come to their rows.
    pub sums: Sums,
    /// Whether a lane takes whole rows, so that of a tiling only S and the size of a group matter.
    pub row_a_lane: bool,
    /// Whether it takes a layout of its own, which may refuse a matrix, instead of CSR.
    pub own_layout: bool,
    /// Whether repeated entries and stored zeros are refused.
    pub stores_one_nonzero_a_cell: bool,
    /// Whether the heuristic may take it; any other needs a prediction, or to be asked for.
    pub by_heuristic: bool,
    /// Whether the heuristic takes it on cores alone.
    pub on_cores: bool,
    /// Whether it is there to compare with, so that `Auto` never takes it, whatever is predicted.
    pub by_name_only: bool,
    /// Those of the conformance suite's examples that it refuses.
    pub refuses: &'static [&'static str],
}

impl Facts {
    /// Of an algorithm on CSR that gives each row to one lane.
    pub(crate) const fn of(kernel: KernelId, source: &'static str) -> Self {
        Self {
            source,
            kernel,
            rates: kernel.stem(),
            sums: Sums::Direct,
            row_a_lane: true,
            own_layout: false,
            stores_one_nonzero_a_cell: false,
            by_heuristic: false,
            on_cores: false,
            by_name_only: false,
            refuses: &[],
        }
    }
}

/// Bytes that an algorithm's layout takes, as far as statistics say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Storage {
    /// Those of CSR.
    Csr,
    /// So many at most; about so many, where a sample of the columns says.
    Own(Cost),
    /// Only the matrix itself says.
    Unknown,
}

/// A kernel with its tiling, and what it will multiply.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a KernelSpec,
    pub(crate) rows: &'a RowStats,
    pub(crate) caps: &'a DeviceCaps,
}

/// Most entries and rows of indices in 31 bits.
pub(crate) const HALF: u64 = i32::MAX as u64 / 2;

impl Launch<'_> {
    pub(crate) fn tiling(&self) -> &Tiling {
        &self.kernel.tiling
    }

    /// Groups of a launch at most.
    pub(crate) fn groups(&self) -> u64 {
        u64::from(self.caps.max_groups)
    }

    /// Rows of a launch at most, if each lane takes S.
    pub(crate) fn lane_rows(&self) -> u64 {
        self.groups() * u64::from(self.tiling().scalar_rows(0, u32::MAX).end)
    }

    /// Sums that a buffer holds.
    pub(crate) fn sums(&self) -> u64 {
        self.caps.max_buffer_bytes / self.kernel.types.accum.bytes() as u64
    }

    /// Elements of buffers with one for each tile or bunch, and one more.
    pub(crate) fn marks(&self) -> u64 {
        self.sums().saturating_sub(1).max(1)
    }

    /// Values or columns that a buffer holds.
    pub(crate) fn entries(&self) -> u64 {
        self.caps.max_buffer_bytes / self.kernel.types.value.bytes().max(4) as u64
    }
}

/// What a launch does, besides what follows from the matrix alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Slots of entries, with those that a layout pads.
    pub(crate) slots: f64,
    /// Steps of the lane that has the most to do, where rows are not cut.
    pub(crate) longest: f64,
    /// Groups of the launch.
    pub(crate) groups: f64,
}

/// What the host knows of an algorithm. As they are here, methods are those of kernels that give a lane whole rows of CSR.
pub(crate) trait Method: Sync {
    /// What is known whatever the matrix and the device.
    fn facts(&self) -> &'static Facts;

    /// Tilings by kind of device.
    fn tilings(&self) -> &'static [Row];

    /// Why the heuristic takes it for such rows on such a device, if it does. Algorithms are asked in the order of their
    /// list.
    fn suits(&self, _: &MatrixStats, _: Types, _: &DeviceCaps) -> Option<&'static str> {
        None
    }

    /// Whether rates say how long it takes for such rows on such a device: not where that hangs on more than is counted.
    fn is_foretold(&self, _: &MatrixStats, _: &DeviceCaps) -> bool {
        true
    }

    /// Refuses tilings that its kernel cannot have, beyond what holds for every kernel.
    fn check(&self, _: &KernelSpec, _: &DeviceCaps) -> Result<()> {
        Ok(())
    }

    /// The kernels that it may start besides the main one.
    fn helpers(&self, _: &KernelSpec, _: &DeviceCaps, _: Repair) -> Vec<KernelSpec> {
        Vec::new()
    }

    /// Bytes that its layout takes for such a kernel.
    fn storage(&self, _: &MatrixStats, _: &KernelSpec, _: &DeviceCaps) -> Storage {
        Storage::Csr
    }

    /// Entries and rows that a launch can hold, by its buffers and groups.
    fn limits(&self, launch: &Launch<'_>) -> (u64, u64) {
        rows_of_slots(launch, 1)
    }

    /// Rows, and entries, of a launch at most, so that no lane's loops take more than half of the `steps` that the device
    /// allows: a lane may be the only one for a long row, and the bunch for many empty ones.
    fn loop_rows(&self, _: &Tiling, steps: u64) -> u64 {
        steps / 2
    }

    /// Iterations of loops, all together, that a lane takes for each tile (each row of kernels that take rows) at most,
    /// besides those that [`loop_rows`](Self::loop_rows) bounds. `search` is those of a search among such rows.
    fn loop_steps(&self, _: &Tiling, _search: u64) -> u64 {
        4
    }

    /// What a launch does.
    fn effort(&self, launch: &Launch<'_>, _: &MatrixStats) -> Effort {
        let (n_rows, longest) = (launch.rows.n_rows as f64, launch.rows.max as f64);
        Effort { slots: launch.rows.nnz as f64, longest, groups: n_rows / rows_of_a_group(launch.tiling()) }
    }
}

/// Rows that all lanes of a bunch step over in that many iterations, several at a time.
pub(crate) fn rows_of_bunch_steps(tiling: &Tiling, steps: u64) -> u64 {
    (steps / 8).saturating_mul(u64::from(tiling.lanes()))
}

/// Iterations of a search among `n`.
pub(crate) fn bits(n: u64) -> u64 {
    u64::from(n.max(1).ilog2()) + 2
}

/// Rows of a workgroup whose lanes take S rows each.
pub(crate) fn rows_of_a_group(tiling: &Tiling) -> f64 {
    f64::from(tiling.group_lanes()) * f64::from(tiling.tiles())
}

/// Entries of a group that takes S tiles a bunch.
pub(crate) fn entries_of_a_group(tiling: &Tiling) -> f64 {
    f64::from(tiling.bunch_entries()) * f64::from(tiling.bunches())
}

/// Limits of a kernel that gives a lane whole rows: as many rows as there are slots for, if each takes `longest`.
pub(crate) fn rows_of_slots(launch: &Launch<'_>, longest: u64) -> (u64, u64) {
    // One more element than jagged diagonals.
    let slots = launch.entries().min(HALF).saturating_sub(1).max(1);
    (slots, launch.lane_rows().min(slots / longest.clamp(1, slots)))
}

/// What a launch holds; a larger matrix is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_entries: usize,
    pub(crate) max_rows: usize,
}
