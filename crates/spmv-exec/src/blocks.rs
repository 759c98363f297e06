//! What products with several right-hand sides take: panels of columns, blocks of rows, and scratch memory.

use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec};
use spmv_core::{Dtype, Tiling};

use crate::carries::lanes;
use crate::device::Device;
use crate::error::Result;
use crate::part::CsrArrays;

/// Lanes of a bunch: each takes entries of one row, or of several rows together.
const LANES: u32 = 32;
/// Entries of a lane at most, in a block of several rows.
const STEPS: u32 = 8;
/// The same where lanes are iterations: some 16,384 entries of a task.
const LANES_OF_A_TASK: u32 = 1024;
const STEPS_OF_A_TASK: u32 = 16;
/// Columns of a lane, and so of a bunch: what one load brings.
pub(crate) const COLUMNS_OF_A_BUNCH: u32 = 4;
/// Bunches of a group at most: wider panels would leave too few registers to cores, and too few groups to a GPU.
const MOST_BUNCHES: u32 = 8;

/// Columns that one launch multiplies by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panel {
    /// The first of them.
    pub(crate) first: u32,
    pub(crate) columns: u32,
    /// A power of two of bunches.
    pub(crate) width: u32,
}

/// Panels of so many columns, as wide as the device takes them; narrower ones for the rest where more than a quarter would be unused.
pub(crate) fn panels(columns: u32, most: u32) -> impl Iterator<Item = Panel> + Clone {
    let next = move |first: u32| {
        let rest = columns - first;
        let mut width = COLUMNS_OF_A_BUNCH;
        // Twice as wide, if the wider panel is three quarters full.
        while width < most && 2 * rest > 3 * width {
            width *= 2;
        }
        Panel { first, columns: rest.min(width), width }
    };
    let panel = move |first: u32| (first < columns).then(|| next(first));
    std::iter::successors(panel(0), move |last| panel(last.first + last.columns))
}

/// Whether lanes are iterations of this program's functions, which take rows one after the other and columns side by side.
pub(crate) fn are_iterations(caps: &DeviceCaps) -> bool {
    caps.tasks && caps.subgroup.is_some()
}

/// Lanes that share rows of a block, and entries that each takes.
pub(crate) fn shares(caps: &DeviceCaps) -> (u32, u32) {
    if are_iterations(caps) { (LANES_OF_A_TASK, STEPS_OF_A_TASK) } else { (LANES, STEPS) }
}

/// Columns of the widest panel.
pub(crate) fn most_columns(value: Dtype, caps: &DeviceCaps) -> u32 {
    let fits = |bunches: u32| {
        let width = bunches * COLUMNS_OF_A_BUNCH;
        let local_bytes = spec(KernelId::Spmm, value, width, caps).local_bytes();
        are_iterations(caps)
            || bunches * LANES <= caps.max_group && local_bytes <= u64::from(caps.max_local_bytes)
    };
    let mut bunches = MOST_BUNCHES;
    while bunches > 1 && !fits(bunches) {
        bunches /= 2;
    }
    bunches * COLUMNS_OF_A_BUNCH
}

/// A kernel for panels of that width.
pub(crate) fn spec(id: KernelId, value: Dtype, width: u32, caps: &DeviceCaps) -> KernelSpec {
    let bunch = if are_iterations(caps) { 1 } else { LANES };
    let tiling = Tiling::new(bunch, 1, 1, width / COLUMNS_OF_A_BUNCH).expect("at most 256 lanes");
    KernelSpec::new(id, value, lanes(&tiling, caps), tiling)
}

/// A part of a matrix as products with several right-hand sides take it.
#[derive(Debug)]
pub(crate) struct BlockPart<B: Backend> {
    pub(crate) row_base: u32,
    /// Adds to a row that an earlier part began.
    pub(crate) continues: bool,
    /// Where the layout has other arrays.
    pub(crate) own: Option<CsrArrays<B>>,
    /// [`RowBlocks::shared`](spmv_core::RowBlocks::shared).
    pub(crate) block_rows: B::Buffer,
    pub(crate) block_entries: B::Buffer,
    pub(crate) n_blocks: u32,
    pub(crate) cut: Option<CutRows<B>>,
}

/// Rows that several groups sum.
#[derive(Debug)]
pub(crate) struct CutRows<B: Backend> {
    pub(crate) rows: B::Buffer,
    /// First block and end of each.
    pub(crate) blocks: B::Buffer,
    pub(crate) n: u32,
}

/// Scratch memory that grows to what was ever asked for.
#[derive(Debug)]
pub(crate) struct Grown<B: Backend>(Option<(B::Buffer, u64)>);

// Not derived: buffers have no default.
impl<B: Backend> Default for Grown<B> {
    fn default() -> Self {
        Self(None)
    }
}

impl<B: Backend> Grown<B> {
    /// Whether it holds so many bytes.
    pub(crate) fn holds(&self, bytes: u64) -> bool {
        self.0.as_ref().is_some_and(|(_, held)| *held >= bytes)
    }

    /// Makes it hold so many; what it held is lost if it grows.
    pub(crate) fn grow(&mut self, device: &Device<B>, bytes: u64) -> Result<()> {
        if !self.holds(bytes) {
            // What is there is freed first: there may be no memory for both.
            self.0 = None;
            self.0 = Some((device.backend().alloc(bytes)?, bytes));
        }
        Ok(())
    }

    /// The memory.
    ///
    /// # Panics
    /// If it never grew.
    pub(crate) fn buffer(&self) -> &B::Buffer {
        &self.0.as_ref().expect("grown before").0
    }
}

/// Scratch memory of a queue's products with several right-hand sides, which come one after the other.
#[derive(Debug)]
pub(crate) struct PanelScratch<B: Backend> {
    pub(crate) x: Grown<B>,
    pub(crate) y: Grown<B>,
    pub(crate) carries: Grown<B>,
}

// Not derived: backends have no default.
impl<B: Backend> Default for PanelScratch<B> {
    fn default() -> Self {
        Self { x: Grown::default(), y: Grown::default(), carries: Grown::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_cover_every_column_and_are_mostly_full() {
        let widths = |columns, most| panels(columns, most).map(|p| (p.columns, p.width)).collect::<Vec<_>>();
        assert_eq!(widths(0, 32), []);
        assert_eq!(widths(1, 32), [(1, 4)]);
        assert_eq!(widths(6, 32), [(4, 4), (2, 4)]);
        assert_eq!(widths(7, 32), [(7, 8)]);
        assert_eq!(widths(64, 32), [(32, 32), (32, 32)]);
        assert_eq!(widths(37, 32), [(32, 32), (4, 4), (1, 4)]);
        assert_eq!(widths(25, 8), [(8, 8), (8, 8), (8, 8), (1, 4)]);
        for columns in 1..300 {
            let all: Vec<_> = panels(columns, 32).collect();
            let ends: Vec<_> = all.iter().map(|p| p.first + p.columns).collect();
            assert!(all.iter().zip(std::iter::once(&0).chain(&ends)).all(|(p, end)| p.first == *end));
            assert_eq!(ends.last(), Some(&columns));
        }
    }
}
