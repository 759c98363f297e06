//! What products with several right-hand sides take: panels of columns, blocks of rows, and scratch memory.

use spmv_backend::{Backend, DeviceCaps, KernelId, KernelSpec, Types};
use spmv_core::{Dtype, Tiling};

use crate::device::Device;
use crate::error::Result;
use crate::part::CsrArrays;

/// How lanes share rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) lanes: u32,
    /// Entries of a lane: the fewest and the most.
    steps: [u32; 2],
    /// Blocks for each compute unit, from which lanes get more entries.
    blocks: u32,
    /// Entries of a piece at most, where a row has many.
    pub(crate) most: u32,
}

impl Share {
    /// Entries of a lane, for so many in all: more of them take less time each, as long as there are blocks for the whole device.
    pub(crate) fn steps(&self, nnz: u64, caps: &DeviceCaps) -> u32 {
        let for_all = u64::from(self.lanes) * u64::from(self.blocks) * u64::from(caps.compute_units.max(1));
        let [fewest, most] = self.steps;
        (nnz / for_all).clamp(fewest.into(), most.into()) as u32
    }
}

/// Found on an H200, where 8 to 128 entries of a lane were tried on seven matrices of the suite, and on an H100, where blocks of a compute
/// unit were tried on fourteen of suite and classes (`cargo xtask blocks`); not archived. A row
/// with more than a block's entries is cut: uncut, small matrices with long rows took up to twice as long. Hundreds of pieces took longer to
/// add up than larger ones to sum (dc2).
///
/// For panels of up to [`NARROW`] columns, and for wider ones: there a row has many lanes already, since each has four columns.
const SHARES: [Share; 2] = [
    Share { lanes: 32, steps: [8, 32], blocks: 16, most: 1024 },
    Share { lanes: 16, steps: [8, 128], blocks: 16, most: 1024 },
];
const NARROW: u32 = 8;
/// Where lanes are iterations: some 16,384 entries of a task.
const OF_A_TASK: [Share; 1] = [Share { lanes: 1024, steps: [16, 16], blocks: 1, most: 1 << 18 }];
/// Columns of a lane, and so of a bunch: what one load brings.
pub(crate) const COLUMNS_OF_A_BUNCH: u32 = 4;
/// Columns of a panel at most: on cores as many sums as leave registers for what is loaded, elsewhere as many as a group of 256 lanes has.
const MOST_OF_CORES: u32 = 32;
const MOST: u32 = 64;

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

/// Kinds of blocks of rows, of which panels of one width take one.
pub(crate) fn shares(caps: &DeviceCaps) -> &'static [Share] {
    if are_iterations(caps) { &OF_A_TASK } else { &SHARES }
}

/// Which of them.
pub(crate) fn share_of(width: u32, caps: &DeviceCaps) -> usize {
    usize::from(!are_iterations(caps) && width > NARROW)
}

/// Columns of the widest panel.
pub(crate) fn most_columns(value: Dtype, caps: &DeviceCaps) -> u32 {
    if are_iterations(caps) {
        return MOST_OF_CORES;
    }
    let fits = |width: u32| {
        let spec = spec(Types::of(value), width, caps);
        // Drivers add some bytes of their own.
        spec.tiling.group_lanes() <= caps.max_group
            && 2 * spec.local_bytes() <= u64::from(caps.max_local_bytes)
    };
    let mut width = MOST;
    while width > COLUMNS_OF_A_BUNCH && !fits(width) {
        width /= 2;
    }
    width
}

/// The kernel for panels of that width.
pub(crate) fn spec(types: Types, width: u32, caps: &DeviceCaps) -> KernelSpec {
    let lanes = if are_iterations(caps) { 1 } else { shares(caps)[share_of(width, caps)].lanes };
    kernel(KernelId::Spmm, types.vector, lanes, width / COLUMNS_OF_A_BUNCH, caps).with_types(types)
}

/// One of the kernels besides, whose lanes do not talk.
pub(crate) fn helper(id: KernelId, value: Dtype, caps: &DeviceCaps) -> KernelSpec {
    const LANES: u32 = 32;
    const BUNCHES: u32 = 8;
    kernel(id, value, LANES, BUNCHES.min(caps.max_group / LANES).max(1), caps)
}

fn kernel(id: KernelId, value: Dtype, lanes: u32, bunches: u32, caps: &DeviceCaps) -> KernelSpec {
    let tiling = Tiling::new(lanes, 1, 1, bunches).expect("at most 256 lanes");
    KernelSpec::new(id, value, crate::carries::lanes(&tiling, caps), tiling)
}

/// A part of a matrix as products with several right-hand sides take it.
#[derive(Debug)]
pub(crate) struct BlockPart<B: Backend> {
    pub(crate) row_base: u32,
    /// Adds to a row that an earlier part began.
    pub(crate) continues: bool,
    /// Where the layout has other arrays.
    pub(crate) own: Option<CsrArrays<B>>,
    /// Of each [kind](shares).
    pub(crate) blocks: Vec<BlocksOfRows<B>>,
}

/// [`RowBlocks::shared`](spmv_core::RowBlocks::shared).
#[derive(Debug)]
pub(crate) struct BlocksOfRows<B: Backend> {
    pub(crate) rows: B::Buffer,
    pub(crate) entries: B::Buffer,
    pub(crate) n: u32,
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
        bytes == 0 || self.0.as_ref().is_some_and(|(_, held)| *held >= bytes)
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
