//! Tilings as tables: a row for each kind of device, with the measurement that chose it, or a note that there is none.
//!
//! An algorithm's file holds its rows; [`tiling`] and [`neighbours`] are the only code that reads them.

use spmv_backend::{DeviceCaps, KernelId, KernelSpec, Lanes};
use spmv_core::tiling::Preset;
use spmv_core::{Dtype, RowStats, Runs, Tiling};

use crate::measured::{BY_CLASS, BY_LANES, BY_TURN, Bound, OPENCL, SERIAL, SWEEP, TILINGS};
use crate::slices::{Columns, of_a_block};

/// Rows and entries below which one thread beats several, if they multiply again and again: to call another costs some 3 us, as
/// `cargo run --release -p spmv-cpu --example serial` measures.
const SERIAL_STEPS: usize = 16 * 1024;
/// Parts for each thread: enough that a thread which is held up can be helped out.
const PARTS_PER_THREAD: u32 = 4;
/// Rows and entries of a part at least: some 2 us, less than which no thread should come for. Twice as many where rows are all that is walked.
const PART_STEPS: usize = 4 * 1024;
/// Rows whose sums fill two lines of a cache, which a core may fetch together: of the narrowest sums.
const LINE_ROWS: usize = 32;
/// Lanes that a compute unit of a GPU should have work for, so that loads of some hide behind those of others.
pub(crate) const RESIDENT_LANES: Bound<u64> = Bound { is: 56 * 32, by: SWEEP };
/// Lanes that a compute unit should have work for where each has several loads on its way.
const BUSY_LANES: Bound<u64> = Bound { is: 1024, by: BY_CLASS };
/// Rows over the lanes that a device keeps busy, from which a row gets two lanes: with one lane each, most of the device would wait for the
/// last rows.
const MORE_THAN_A_TURN: f64 = 1.3;
/// Turns of the device up to which uneven rows get a lane for every two entries: little else hides behind a long one.
const FEW_TURNS: Bound<f64> = Bound { is: 1.5, by: BY_TURN };
/// Turns from which they get one lane, unless they have enough entries for several.
const MANY_TURNS: Bound<f64> = Bound { is: 4.0, by: BY_TURN };
/// Turns from which they get no more than two.
const MOST_TURNS: Bound<f64> = Bound { is: 16.0, by: BY_LANES };
const TOO_SHORT_FOR_SEVERAL: Bound<f64> = Bound { is: 14.0, by: BY_TURN };
/// Mean entries of a row up to which a lane that has the row alone is soon done, so that many such rows are taken two at a time. Not where the
/// cache that compute units share does not hold `x`: entries wait for memory then, whoever takes them.
const SOON_DONE: Bound<f64> = Bound { is: 8.0, by: BY_TURN };
/// Entries of a row that a lane of a bunch should have, where bunches may be small.
const ENTRIES_PER_LANE: Bound<f64> = Bound { is: 5.5, by: TILINGS };
/// Mean row length up to which a wide block would be filled by the number of its rows, which leaves much of it empty.
const SHORT_ROWS: f64 = 4.0;

/// Nonzeros from which blocks of more lanes are faster on a large GPU.
const LARGE: Bound<usize> = Bound { is: 4_000_000, by: BY_CLASS };

/// What a tiling is chosen for.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) kernel: KernelId,
    pub(crate) rows: &'a RowStats,
    /// Runs of the matrix, where they are known.
    pub(crate) runs: Option<Runs>,
    pub(crate) value: Dtype,
    pub(crate) caps: &'a DeviceCaps,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// A group is a task of one thread.
    Tasks,
    /// A bunch may be part of what runs together (CUDA, wgpu, OpenCL on NVIDIA).
    PartsOfSubgroups,
    /// A bunch is a subgroup.
    Subgroups,
    /// Lanes do not shuffle.
    Workgroups,
}

impl On {
    fn of(caps: &DeviceCaps) -> Self {
        match caps.subgroup {
            _ if caps.tasks => On::Tasks,
            _ if splits_subgroups(caps) => On::PartsOfSubgroups,
            Some(_) => On::Subgroups,
            None => On::Workgroups,
        }
    }
}

/// T, lanes of a bunch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum T {
    /// So many.
    Is(u32),
    /// As many as run together.
    Subgroup,
    /// So many where lanes are iterations, as in functions of this program; one where they were compiled to talk through
    /// barriers, of which one lane needs none.
    Iterations(u32),
    /// As many as a row of mean length keeps busy ([`lanes_of_a_row`]).
    Row,
    /// So many entries a lane where a bunch may be one lane: in CUDA, whose kernel loads four entries of a lane at once, and in
    /// OpenCL on NVIDIA (not measured); fewer, where rows are [uneven](unevenness). Elsewhere as [`T::Row`].
    RowOfChunks(f64),
    /// As many as give each compute unit about [`BUSY_LANES`], more where rows are [uneven](unevenness); up to so many and to those of a group,
    /// and up to one for every two to four entries of a mean row.
    Busy(u32),
    /// The same of the parts that stripes of columns cut rows into: two to eight, and up to one for every four entries.
    OfParts,
    /// As [`T::Busy`], for the entries that a row has in a block of columns.
    OfBlocks(u32),
    /// The first number; the second for [large](LARGE) matrices whose rows have more than a few entries.
    BlockBySize(u32, u32),
    /// So many at most, fewer where a group of them does not fit local memory.
    Block(u32),
    /// So many at most, and as many as a group may have.
    AtMost(u32),
}

/// W, entries of a lane in a tile: halved until the tile fits local memory and the backend has code for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum W {
    /// So many.
    Is(u32),
    /// So many where lanes are iterations, else the second number.
    Iterations(u32, u32),
    /// So many, the first number where rows are short; and no more local memory than leaves room for the other groups of
    /// a compute unit. That differs from [`W::Equation3`] in that all local memory counts (padding, sums and row ends too),
    /// and that a group never has more entries, so that where memory suffices `f64` has as many as `f32`.
    Block(u32, u32),
    /// Entries of a run: as many as leave the fewest bytes, if each run has a column of 16 bits; one where a row has all lanes of a slice and
    /// x is [large](FIRST_CACHE), and on cores that load elements of x one by one.
    Runs,
    /// The greatest power of two within SHARED_SIZE (Gao et al., equation 3). Where the driver does not report a compute
    /// unit's limits, so many for sums of 4 bytes, and half as many for those of 8.
    Equation3(u32),
    /// Liu & Vinter 2015, Table 1.
    Table1,
}

/// What S is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// Tiles of entries.
    Entries,
    /// Tiles of rows and entries.
    Steps,
    /// Rows, one a lane.
    LaneRows,
    /// Rows, one a bunch.
    BunchRows,
    /// Slices of [rows](slice_lanes) with a lane each, on cores.
    Slices,
}

/// S, tiles (or rows) of a bunch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum S {
    /// One.
    One,
    /// As many as leave some tasks for each thread.
    Tasks(Of),
    /// The same, of two kernels: the fewer.
    TasksOfBoth(Of, Of),
    /// As many, up to this, as leave the device [many turns](MANY_TURNS).
    ManyTurns(u32),
    /// Two where a lane [is soon done](SOON_DONE) with a row and bunches need not meet between turns, else one.
    OfShortRows,
    /// The largest S that leaves at least this many bunches to each compute unit; at most 7.
    Bunches(Of, u64),
    /// The largest S that leaves at least [`RESIDENT_LANES`] lanes to each compute unit; at most this.
    Resident(Of, u32),
    /// The same, up to Liu & Vinter 2015, Table 1.
    Table1(Of),
}

/// B, bunches of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum B {
    /// One.
    One,
    /// As many lanes as wide slices have on cores that gather fast, else one: a lane then takes whole slices of eight.
    OfSlices,
    /// The largest B with at most this many lanes in a group.
    Lanes(u32),
    /// The same; the second number where a lane [is soon done](SOON_DONE) with a row.
    LanesOfShortRows(u32, u32),
    /// The same; the second number where the driver does not report the limits of a multiprocessor: such drivers do not give a large group's lanes
    /// fewer registers, and refuse it instead (NVIDIA's OpenCL).
    LanesIfLimits(u32, u32),
    /// So many lanes where bunches meet at barriers of their own, else one bunch.
    LanesIfBarriers(u32),
    /// So many at most.
    AtMost(u32),
    /// So many lanes where a bunch is all that run together, else the second number: fewer talk through local memory, at
    /// barriers that all bunches of a group meet.
    Row(u32, u32),
    /// Liu & Vinter 2015, Table 1, where bunches meet at barriers of their own, else one.
    Table1,
}

/// A tiling for a kind of device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) on: On,
    pub(crate) t: T,
    pub(crate) w: W,
    pub(crate) s: S,
    pub(crate) b: B,
    /// What chose it: a command of this repository and its archived output, the literature, or that nothing was measured.
    #[allow(dead_code)] // For the reader; a test sees that none is empty.
    pub(crate) by: &'static str,
}

/// Tilings of kernels that give a lane whole rows. Of T and B only the size of a group matters.
pub(crate) const ROW_A_LANE: &[Row; 4] = &[
    Row { on: On::Tasks, t: T::Is(1), w: W::Is(1), s: S::Tasks(Of::LaneRows), b: B::One, by: SERIAL },
    Row { on: On::PartsOfSubgroups, t: T::Subgroup, w: W::Is(1), s: S::One, b: B::Lanes(128), by: TILINGS },
    Row { on: On::Subgroups, t: T::Subgroup, w: W::Table1, s: S::One, b: B::Lanes(256), by: OPENCL },
    Row { on: On::Workgroups, t: T::AtMost(64), w: W::Is(8), s: S::One, b: B::One, by: OPENCL },
];

/// Tilings of kernels that walk tiles, by what their steps are; `parts` is the row for GPUs with parts of subgroups.
pub(crate) const fn tiled(of: Of, parts: Row) -> [Row; 4] {
    let (t, w) = (T::Iterations(8), W::Iterations(16, 32));
    [
        Row { on: On::Tasks, t, w, s: S::Tasks(of), b: B::One, by: SERIAL },
        parts,
        Row { on: On::Subgroups, t: T::Subgroup, w: W::Table1, s: S::Table1(of), b: B::Table1, by: SWEEP },
        Row {
            on: On::Workgroups,
            t: T::AtMost(64),
            w: W::Is(8),
            s: S::Resident(of, 7),
            b: B::One,
            by: SWEEP,
        },
    ]
}

/// The tiling that an algorithm's table gives.
///
/// # Panics
/// If the table has no row for a kind of device, which a test excludes.
pub(crate) fn tiling(table: &[Row], case: &Case<'_>) -> Tiling {
    let on = On::of(case.caps);
    table.iter().find(|row| row.on == on).expect("a row for every kind of device").tiling(case)
}

/// Tilings one step from `of` in T, W, S or the lanes of a group, as far as the algorithm's table leaves them open: what it can be tried
/// with besides.
///
/// T, W and S are half and twice as much, W any length of a run where it is one. Groups have 128 or 256 lanes. Where lanes take whole rows,
/// T and W mean nothing, and where a group is one bunch, it stays one. Some may be more than the device can run; a plan refuses those.
pub(crate) fn neighbours(table: &[Row], case: &Case<'_>, of: &Tiling, row_a_lane: bool) -> Vec<Tiling> {
    let on = On::of(case.caps);
    let row = table.iter().find(|row| row.on == on).expect("a row for every kind of device");
    let steps = |n: u32| [n / 2, n.saturating_mul(2)];
    let group = |lanes| row.b.with_lanes(lanes);
    let at = Row { t: T::Is(of.lanes()), w: W::Is(of.width()), b: group(of.group_lanes()), ..*row };
    let mut rows = Vec::new();
    if !row_a_lane {
        let most =
            if of.lanes() <= most_lanes(case.caps) { most_lanes(case.caps) } else { case.caps.max_group };
        let lanes = steps(of.lanes()).into_iter().filter(|lanes| (1..=most).contains(lanes));
        rows.extend(lanes.map(|lanes| Row { t: T::Is(lanes), ..at }));
        let widths = match row.w {
            W::Is(1) => vec![],
            W::Runs => (1..=Runs::MOST as u32).collect(),
            _ => steps(of.width()).into_iter().filter(|width| *width > 0).collect(),
        };
        rows.extend(widths.into_iter().map(|width| Row { w: W::Is(width), ..at }));
    }
    rows.extend([128, 256].map(|lanes| Row { b: group(lanes), ..at }));
    let tiles = match row.s {
        S::One => vec![],
        _ => steps(of.tiles()).map(|tiles| of.with_tiles(tiles)).into(),
    };
    let mut all = Vec::new();
    for tiling in rows.iter().map(|row| row.tiling(case)).chain(tiles) {
        if tiling != *of && !all.contains(&tiling) {
            all.push(tiling);
        }
    }
    all
}

impl B {
    /// The same choice for groups of `lanes` lanes. A group that is one bunch stays one.
    fn with_lanes(self, lanes: u32) -> Self {
        match self {
            B::One | B::OfSlices => self,
            B::LanesIfBarriers(_) | B::Table1 => B::LanesIfBarriers(lanes),
            B::Lanes(_) | B::LanesOfShortRows(..) | B::LanesIfLimits(..) | B::AtMost(_) | B::Row(..) => {
                B::Lanes(lanes)
            }
        }
    }
}

impl Row {
    fn tiling(&self, case: &Case<'_>) -> Tiling {
        let caps = case.caps;
        let lanes = self.lanes(case);
        let bunches = self.bunches(case, lanes);
        let wanted = match self.w {
            W::Is(width) => width,
            W::Iterations(width, otherwise) => {
                if caps.subgroup.is_some() {
                    width
                } else {
                    otherwise
                }
            }
            W::Block(short, long) => {
                if case.rows.mean <= SHORT_ROWS {
                    short
                } else {
                    long
                }
            }
            W::Runs if caps.tasks && slice_lanes(case) == Tiling::FEW_SLICE_LANES => 1,
            W::Runs if lanes == Tiling::MOST_SLICE_LANES && !keeps_x(case) => 1,
            W::Runs => entries_of_a_run(case),
            W::Equation3(otherwise) => equation3(case, lanes * bunches, otherwise),
            W::Table1 => table1(lanes, case.value).width(),
        };
        let width = self.fitting_width(case, lanes, wanted, bunches);
        let full = |width: u32, lanes: u64| u64::from(width) * u64::from(caps.compute_units) * lanes;
        let tiles = match self.s {
            S::One => 1,
            S::ManyTurns(most) => ((turns(case) / MANY_TURNS.is) as u32).clamp(1, most),
            S::OfShortRows => 1 + u32::from(caps.bunch_barriers && is_soon_done(case, lanes)),
            S::Tasks(of) => tasks(case, of, lanes, width),
            S::TasksOfBoth(one, other) => {
                tasks(case, one, lanes, width).min(tasks(case, other, lanes, width))
            }
            S::Bunches(of, bunches) => tiles_for(work(case.rows, of), full(wanted * lanes, bunches), 7),
            S::Resident(of, most) => tiles_for(work(case.rows, of), full(width, RESIDENT_LANES.is), most),
            S::Table1(of) => {
                let most = table1(lanes, case.value).tiles();
                tiles_for(work(case.rows, of), full(width, RESIDENT_LANES.is), most)
            }
        };
        Tiling::new(lanes, width, 1, bunches).expect("numbers in range by construction").with_tiles(tiles)
    }

    fn lanes(&self, case: &Case<'_>) -> u32 {
        let caps = case.caps;
        let most = caps.subgroup.map_or(caps.max_group, |(_, most)| u32::from(most));
        match self.t {
            T::Is(lanes) => lanes,
            T::Subgroup => most,
            T::Iterations(lanes) => {
                if caps.subgroup.is_some() {
                    lanes
                } else {
                    1
                }
            }
            T::RowOfChunks(entries) if matches!(caps.subgroup, Some((1, _))) => {
                let lanes = lanes_for(case.rows, entries);
                let of_uneven = (4 * lanes).min(power_of_two_in(case.rows.mean / 2.0) as u32);
                let lanes = if unevenness(case.rows) > 1 { lanes.max(of_uneven) } else { lanes };
                lanes.min(most_lanes(caps))
            }
            T::Row | T::RowOfChunks(_) => {
                let least = caps.subgroup.filter(|_| self.on == On::PartsOfSubgroups);
                let lanes = lanes_of_a_row(case.rows, caps);
                least.map_or(lanes, |(least, most)| lanes.clamp(u32::from(least), u32::from(most)))
            }
            T::OfBlocks(most) => {
                let rows = &of_a_block(case.rows, case.value, caps);
                Self { t: T::Busy(most), ..*self }.lanes(&Case { rows, ..*case })
            }
            T::Busy(most) => {
                let of_few = nearest_power_of_two(busy_lanes(caps) / case.rows.n_rows.max(1) as f64);
                let of_uneven = [1, 2, 4][unevenness(case.rows)];
                // A second lane where rows of a lane each would come to little more than one turn of the device.
                let turns = turns(case);
                let of_turns = if (MORE_THAN_A_TURN..2.0).contains(&turns) { 2 } else { 1 };
                let of_mean = |entries: f64| power_of_two_in(case.rows.mean / entries);
                let most_of_uneven = if turns < FEW_TURNS.is {
                    of_mean(2.0)
                } else if turns >= MANY_TURNS.is && case.rows.mean < TOO_SHORT_FOR_SEVERAL.is {
                    1
                } else {
                    of_mean(4.0).min(if turns >= MOST_TURNS.is { 2 } else { u64::MAX })
                };
                let lanes = of_few.max(of_turns).min(of_mean(3.0)).max(of_uneven.min(most_of_uneven));
                lanes.min(power_of_two_in(f64::from(most.min(caps.max_group)))) as u32
            }
            T::OfParts => {
                let n_parts = Columns::n_parts(case.rows).max(1) as f64;
                let most = power_of_two_in(case.rows.nnz as f64 / n_parts / 4.0).clamp(2, 8);
                nearest_power_of_two(busy_lanes(caps) / n_parts).clamp(2, most).min(caps.max_group.into())
                    as u32
            }
            T::BlockBySize(small, large) => {
                let is_large = case.rows.nnz >= LARGE.is && case.rows.mean > 2.0 * SHORT_ROWS;
                caps.max_group.min(if is_large { large } else { small })
            }
            T::Block(most) => std::iter::successors(Some(caps.max_group.min(most)), half)
                .find(|lanes| fits(case, caps.max_local_bytes, *lanes, 1, 1))
                .unwrap_or(1),
            T::AtMost(most) => caps.max_group.clamp(1, most),
        }
    }

    fn bunches(&self, case: &Case<'_>, lanes: u32) -> u32 {
        let caps = case.caps;
        let of_lanes = |most: u32| (caps.max_group.min(most) / lanes).max(1);
        match self.b {
            B::One => 1,
            B::OfSlices if slice_lanes(case) == Tiling::FEW_SLICE_LANES => 1,
            B::OfSlices => of_lanes(Tiling::MOST_SLICE_LANES),
            B::Lanes(most) => of_lanes(most),
            B::LanesOfShortRows(most, of_short) => {
                of_lanes(if is_soon_done(case, lanes) { of_short } else { most })
            }
            B::LanesIfLimits(most, otherwise) => {
                of_lanes(if caps.sm_limits.is_some() { most } else { otherwise })
            }
            B::LanesIfBarriers(most) => {
                if caps.bunch_barriers {
                    of_lanes(most)
                } else {
                    1
                }
            }
            B::AtMost(most) => (caps.max_group / lanes).clamp(1, most),
            B::Row(whole, part) => of_lanes(if lanes == most_lanes(caps) { whole } else { part }),
            B::Table1 if caps.bunch_barriers => {
                table1(lanes, case.value).bunches().min(caps.max_group / lanes).max(1)
            }
            B::Table1 => 1,
        }
    }

    /// The largest power-of-two fraction of `width` whose tiles fit the device's local memory, and that there is code for.
    fn fitting_width(&self, case: &Case<'_>, lanes: u32, width: u32, bunches: u32) -> u32 {
        let shared = case.caps.sm_limits.filter(|_| matches!(self.w, W::Block(..)));
        let share = shared.map_or(u32::MAX, |unit| unit.group_local_bytes(lanes * bunches));
        let local_bytes = case.caps.max_local_bytes.min(share);
        let widths = || std::iter::successors(Some(width), half);
        let fitting = widths().find(|width| fits(case, local_bytes, lanes, *width, bunches));
        fitting.unwrap_or(1)
    }
}

/// Whether rows have a lane each, which is soon done with them, and take many turns of the device.
fn is_soon_done(case: &Case<'_>, lanes: u32) -> bool {
    let of_x = case.rows.n_cols.saturating_mul(case.value.bytes()) as u64;
    let is_near = case.caps.cache_bytes.is_none_or(|bytes| of_x <= bytes);
    lanes == 1 && is_near && turns(case) >= MANY_TURNS.is && case.rows.mean <= SOON_DONE.is
}

/// How many times over rows of a lane each keep a device busy.
fn turns(case: &Case<'_>) -> f64 {
    case.rows.n_rows as f64 / busy_lanes(case.caps)
}

/// Lanes that keep a device busy.
fn busy_lanes(caps: &DeviceCaps) -> f64 {
    (u64::from(caps.compute_units) * BUSY_LANES.is) as f64
}

/// Entries of a lane by Gao et al., equation 3: a power of two, at least 1.
fn equation3(case: &Case<'_>, lanes: u32, otherwise: u32) -> u32 {
    let sum = case.value.accum();
    let width = match case.caps.sm_limits {
        Some(unit) => unit.shared_size(lanes, sum) / lanes.max(1),
        None => otherwise * Dtype::F32.bytes() as u32 / sum.bytes() as u32,
    };
    1 << width.max(1).ilog2()
}

/// Bytes of x that the first cache holds for certain, next to what streams through it. Beyond, lanes that take a row together read its runs
/// as one request if each takes an entry, and as one for each lane if each takes a run.
const FIRST_CACHE: Bound<usize> = Bound {
    is: 64 << 10,
    by: "that it helps where x is large: docs/results/2026-11-25-h200-cuda-long-rows.txt; from where on was not measured",
};

fn keeps_x(case: &Case<'_>) -> bool {
    case.rows.n_cols.saturating_mul(case.value.bytes()) <= FIRST_CACHE.is
}

/// Entries of a run of which only the first has a column. Fewer, if bytes are equal.
fn entries_of_a_run(case: &Case<'_>) -> u32 {
    const COLUMN_BYTES: f64 = 2.0;
    let Some(runs) = case.runs else { return 1 };
    let bytes_of_an_entry = |width: u32| {
        (COLUMN_BYTES + f64::from(width) * case.value.bytes() as f64) / runs.mean(width as usize)
    };
    let widths = 1..=Runs::MOST as u32;
    widths
        .reduce(|best, next| if bytes_of_an_entry(next) < bytes_of_an_entry(best) { next } else { best })
        .unwrap_or(1)
}

fn half(n: &u32) -> Option<u32> {
    (*n > 1).then_some(n / 2)
}

/// Liu & Vinter 2015, Table 1, for the vendor whose lanes are so many.
fn table1(lanes: u32, value: Dtype) -> Tiling {
    let preset = match lanes {
        0..=16 => Preset::Intel,
        17..=32 => Preset::Nvidia,
        _ => Preset::Amd,
    };
    Tiling::preset(preset, value)
}

/// Whether a group of such a tiling needs no more than so many bytes of local memory, and the backend has code for it.
fn fits(case: &Case<'_>, local_bytes: u32, lanes: u32, width: u32, bunches: u32) -> bool {
    let Ok(tiling) = Tiling::new(lanes, width, 1, bunches) else { return false };
    let spec = KernelSpec::new(case.kernel, case.value, Lanes::Workgroup, tiling);
    spec.local_bytes() <= u64::from(local_bytes) && case.caps.check_kernel(&spec).is_ok()
}

fn work(rows: &RowStats, of: Of) -> usize {
    match of {
        Of::Entries => rows.nnz,
        Of::Steps => rows.nnz.saturating_add(rows.n_rows),
        Of::LaneRows | Of::BunchRows | Of::Slices => rows.n_rows,
    }
}

/// As many tiles a bunch, up to `most`, as `work` takes on a device that `full` steps fill with bunches of one tile.
fn tiles_for(work: usize, full: u64, most: u32) -> u32 {
    (work as u64).div_ceil(full.max(1)).clamp(1, u64::from(most)) as u32
}

/// As many tiles (or rows) a task as leave some tasks for each thread. Tasks of slices are small: threads are given as many as have an equal
/// share of the entries.
fn tasks(case: &Case<'_>, of: Of, lanes: u32, width: u32) -> u32 {
    let caps = case.caps;
    let steps = case.rows.n_rows.saturating_add(case.rows.nnz);
    let is_serial = steps < SERIAL_STEPS || caps.compute_units <= 1;
    let most = match of {
        Of::Slices => usize::MAX,
        _ => caps.compute_units.saturating_mul(PARTS_PER_THREAD) as usize,
    };
    let has_rows = matches!(of, Of::LaneRows);
    let least = if has_rows { 2 * PART_STEPS } else { PART_STEPS };
    let parts = if is_serial { 1 } else { most.min(steps / least) };
    let unit = match of {
        Of::Entries | Of::Steps => (lanes * width) as usize,
        Of::LaneRows => lanes as usize,
        Of::BunchRows => 1,
        Of::Slices => slice_lanes(case) as usize,
    };
    let tiles = work(case.rows, of).div_ceil(parts).div_ceil(unit);
    // Rows of a task begin where a line of `y` does.
    let tiles = if has_rows && tiles > LINE_ROWS { tiles.next_multiple_of(LINE_ROWS) } else { tiles };
    tiles.clamp(1, (i32::MAX as usize) / unit / 2) as u32
}

/// Lanes of a slice on cores: 32 where they gather fast, else the eight of a vector, whose elements of x are loaded one by one.
fn slice_lanes(case: &Case<'_>) -> u32 {
    if case.caps.gathers.contains(case.value) { Tiling::MOST_SLICE_LANES } else { Tiling::FEW_SLICE_LANES }
}

/// Whether a bunch may be part of what runs together (CUDA, wgpu, OpenCL on NVIDIA). The rules that ask for it were measured with
/// CUDA: [`TILINGS`].
pub(crate) fn splits_subgroups(caps: &DeviceCaps) -> bool {
    !caps.tasks && caps.subgroup.is_some_and(|(least, most)| least < most)
}

/// Most lanes that a row gets.
fn most_lanes(caps: &DeviceCaps) -> u32 {
    caps.subgroup.map_or(64, |(_, most)| u32::from(most)).min(caps.max_group).max(1)
}

/// Lanes of a row that a bunch takes on a GPU, each an entry at a time: as many as rows of such a length keep busy, a power
/// of two, at least 2 where there are as many.
pub(crate) fn lanes_of_a_row(rows: &RowStats, caps: &DeviceCaps) -> u32 {
    let most = most_lanes(caps);
    lanes_for(rows, ENTRIES_PER_LANE.is).clamp(2.min(most), most)
}

/// How much row lengths deviate: 0 if hardly, as those of stencils, 1, or 2 if by about half of their mean.
fn unevenness(rows: &RowStats) -> usize {
    const HARDLY: f64 = 0.1;
    const BY_HALF: f64 = 0.45;
    [HARDLY, BY_HALF].iter().filter(|bound| rows.std_dev > **bound * rows.mean).count()
}

/// The greatest power of two that is not above `n`; at least 1, at most 2^31.
fn power_of_two_in(n: f64) -> u64 {
    1 << (n.max(1.0).log2() as u32).min(31)
}

/// The power of two nearest to `n`, between 1 and 2^16.
fn nearest_power_of_two(n: f64) -> u64 {
    1 << (n.max(1.0).log2().round() as u32).min(16)
}

/// The power of two nearest to as many lanes as leave each so many entries of a row of mean length.
fn lanes_for(rows: &RowStats, entries: f64) -> u32 {
    nearest_power_of_two(rows.mean / entries) as u32
}
