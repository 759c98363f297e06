//! How slices are cut, by a tiling and the device.

use spmv_core::Tiling;

/// Steps of a row up to which it is not long, whatever the others have, and up to which no slice of a long row is shorter.
const FEW_STEPS: usize = 16;
/// Steps over those of the mean row up to which a row is not long.
const LONG: usize = 4;
/// Steps of a slice of a row that goes over several, at most.
const MOST_STEPS: usize = 128;
/// Slices that a compute unit should have before those of one row are longer than [`FEW_STEPS`].
const BUSY_SLICES: usize = 64;

/// Windows that a writer of `y` should have to itself: the more there are, the fewer of them are cut where its share of the work ends.
const WINDOWS_OF_A_WRITER: usize = 4;
/// The same of long rows, of which there are few.
const LONG_WINDOWS_OF_A_WRITER: usize = 2;
/// Rows of a window at least, and of one of long rows. Smaller ones pad more.
const FEWEST_ROWS: usize = 256;
const FEWEST_LONG_ROWS: usize = 64;

/// What follows from a tiling and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Lanes of a slice.
    pub(crate) slice_lanes: usize,
    /// T: lanes of a row.
    pub(super) lanes: usize,
    /// W: entries of a run.
    pub(crate) width: usize,
    /// Compute units; `None` where one lane takes whole slices, which leaves rows whole.
    pub(super) units: Option<u32>,
    /// Columns whose elements of `x` stay in the cache that compute units share.
    pub(super) held_cols: u32,
    /// Cores that write to `y` at the same time. They wait for each other where they write to the same lines, which a window has in common.
    pub(super) writers: u32,
}

impl Shape {
    pub(crate) fn of(tiling: &Tiling, units: u32) -> Self {
        let cuts = tiling.group_lanes() > 1;
        Self {
            slice_lanes: tiling.slice_lanes() as usize,
            lanes: tiling.lanes() as usize,
            width: tiling.width() as usize,
            units: cuts.then_some(units.max(1)),
            held_cols: u32::MAX,
            writers: 1,
        }
    }

    /// The same where a cache holds the elements of `x` of no more than so many columns.
    pub(crate) fn holding(self, cols: usize) -> Self {
        Self { held_cols: u32::try_from(cols).unwrap_or(u32::MAX), ..self }
    }

    /// The same where so many cores write to `y` at the same time.
    pub(crate) fn written_by(self, writers: u32) -> Self {
        Self { writers, ..self }
    }

    /// Rows of the largest window that leaves writers some of their own, of this many rows.
    pub(super) fn widest(&self, n_rows: usize) -> usize {
        let widest = self.of_a_writer(n_rows, WINDOWS_OF_A_WRITER, FEWEST_ROWS);
        widest.checked_next_multiple_of(self.rows()).unwrap_or(usize::MAX)
    }

    /// As [`widest`](Self::widest), of long rows.
    pub(super) fn widest_long(&self, n_rows: usize) -> usize {
        self.of_a_writer(n_rows, LONG_WINDOWS_OF_A_WRITER, FEWEST_LONG_ROWS)
    }

    /// Rows of one of as many windows of each writer, but not fewer than that; all where there is one.
    fn of_a_writer(&self, n_rows: usize, n_windows: usize, fewest: usize) -> usize {
        let writers = self.writers as usize;
        if writers > 1 { (n_rows / (writers * n_windows)).max(fewest) } else { usize::MAX }
    }

    /// Whether columns that lie close together take 16 bits. Not of few lanes, whose elements of x are loaded one by one: halves would have to be
    /// taken apart.
    pub(super) fn has_halves(&self) -> bool {
        self.slice_lanes == Tiling::MOST_SLICE_LANES as usize
    }

    /// Padding that is accepted before rows are sorted in larger windows, as a part of the slots of the rows themselves. A lane without an
    /// entry costs little under masks. A core that loads elements one by one takes several times as long for a step that has not all lanes.
    pub(super) fn padding(&self) -> u64 {
        if self.has_halves() { 8 } else { 64 }
    }

    /// Steps of padding that take as long as a core waits for the line of a row of `y` that another one has written.
    pub(super) fn wait_steps(&self) -> u64 {
        if self.has_halves() { 8 } else { 1 }
    }

    /// How many times larger the next window is that is tried. Slices of few rows pad little in small ones.
    pub(super) fn wider(&self) -> usize {
        if self.units.is_none() { 8 } else { 32 }
    }

    /// Whether slices are laid out for such a tiling: groups take whole ones, or a lane does.
    pub(crate) fn holds(tiling: &Tiling) -> bool {
        let lanes = tiling.lanes();
        let whole = lanes.is_power_of_two() && tiling.group_lanes().is_multiple_of(tiling.slice_lanes());
        tiling.group_lanes() == 1 || whole && lanes <= tiling.slice_lanes()
    }

    /// Rows of a slice at most.
    pub(crate) fn rows(&self) -> usize {
        self.slice_lanes / self.lanes
    }

    /// Steps that T lanes take for a row of so many runs.
    pub(super) fn steps(&self, n_runs: usize) -> usize {
        (n_runs + self.lanes - 1) >> self.lanes.ilog2()
    }

    /// Steps of T lanes that a row may take without being long, where all rows take so many.
    pub(crate) fn short_steps(&self, steps: usize, n_rows: usize) -> usize {
        (LONG * steps / n_rows.max(1)).max(FEW_STEPS)
    }

    /// Steps of a slice at most that has a part of a row, of that many runs of all rows.
    pub(crate) fn steps_of_a_part(&self, n_runs: usize) -> usize {
        let busy = |units: u32| n_runs / self.slice_lanes / (units as usize * BUSY_SLICES);
        self.units.map_or(usize::MAX, |units| busy(units).clamp(FEW_STEPS, MOST_STEPS))
    }
}

/// What makes a row long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    shape: Shape,
    /// Steps of T lanes that a row may take without being long.
    pub(super) short_steps: usize,
    /// Steps of all lanes that a slice may take which has a part of a row.
    pub(super) most_steps: usize,
}

impl Limits {
    /// Of rows that take so many steps and have so many runs; with fewer of both, no row is allowed more.
    pub(super) fn of(shape: Shape, n_rows: usize, steps: usize, n_runs: usize) -> Self {
        Self {
            shape,
            short_steps: shape.short_steps(steps, n_rows),
            most_steps: shape.steps_of_a_part(n_runs),
        }
    }

    /// Whether a row is long that takes so many steps of T lanes.
    pub(super) fn are_long(&self, steps: usize) -> bool {
        steps > self.short_steps || self.shape.lanes == self.shape.slice_lanes && steps > self.most_steps
    }
}
