//! Planning: a pure function of matrix statistics, device capabilities and options.
//!
//! Every capability is tested here, never in the middle of a run.

use std::fmt;

use spmv_backend::{DeviceCaps, Error, KernelId, KernelSpec, Lanes};
use spmv_core::tiling::Preset;
use spmv_core::{Dtype, MatrixStats, RowStats, Tiling};
use spmv_model::Profile;

use crate::choose::{Candidate, candidates, choose};
use crate::error::Result;
use crate::options::{Algorithm, Fixup, Options};

/// Rows and entries below which one thread beats two: waking the other from outside the pool costs some
/// 13 us, as `cargo run --release -p spmv-cpu --example serial` measures.
const SERIAL_STEPS: usize = 48 * 1024;
/// Lanes that a compute unit of a GPU should have work for, so that loads of some hide behind those of others:
/// the best of a sweep over S on 20 matrices (`cargo xtask bench --suite --sweep`).
pub(crate) const RESIDENT_LANES: u64 = 56 * 32;
/// Lanes of a group that holds a block of rows: few, so that many groups wait for memory at the same time. They talk
/// through local memory, so they are one bunch.
const BLOCK_LANES: u32 = 128;
/// Rows of a block at most where a block is a task.
const BLOCK_ROWS_OF_CPU: u32 = 256;
/// Entries of a row that a lane of a bunch should have, where bunches may be small.
const ENTRIES_PER_LANE: f64 = 5.5;
/// Parts for each thread: enough that a thread which is held up can be helped out.
const PARTS_PER_THREAD: u32 = 4;

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

/// What will run, and why.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// use spmv_core::{Dtype, RowStats};
/// use spmv_exec::{Algorithm, Options, plan};
/// let caps = DeviceCaps::new("some CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
/// let rows = RowStats { n_rows: 10, n_cols: 10, nnz: 50, ..RowStats::default() };
/// let plan = plan(&rows, Dtype::F64, &caps, None, &Options::default())?;
/// assert_eq!(plan.algorithm, Algorithm::MergePath);
/// println!("{}", plan.explain());
/// # Ok::<(), spmv_exec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The algorithm; never `Auto`.
    pub algorithm: Algorithm,
    /// Its kernel.
    pub kernel: KernelSpec,
    /// Where its sums are repaired.
    pub repair: Repair,
    /// Most entries of a launch; a larger matrix is split.
    pub max_entries: usize,
    /// Most rows of a launch.
    pub max_rows: usize,
    /// Every algorithm that takes the matrix and whose time is predicted, the fastest first; none without a profile, or with
    /// tiling or fixup of one's own.
    pub candidates: Vec<Candidate>,
    pub(crate) rows: RowStats,
    why: Vec<String>,
}

impl Plan {
    /// The plan in words: what was chosen and why, and the time predicted for every candidate.
    pub fn explain(&self) -> String {
        self.to_string()
    }

    /// Predicted time in seconds of a multiplication, by the device's clock where it has one, else the caller's. `None`
    /// without a profile that knows the type of values, with tiling or fixup of one's own, and for a layout that refuses the matrix.
    pub fn seconds(&self) -> Option<f64> {
        self.candidates.iter().find(|c| c.algorithm == self.algorithm).map(|c| c.seconds)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_entries, max_rows, .. } = self;
        write!(f, "{}", self.kernel)?;
        self.why.iter().try_for_each(|why| write!(f, "\n  {why}"))?;
        if !self.candidates.is_empty() {
            let time = |c: &Candidate| format!("{} {:.1} us", c.algorithm, c.seconds * 1e6);
            let times: Vec<String> = self.candidates.iter().map(time).collect();
            write!(f, "\n  predicted: {}", times.join(", "))?;
        }
        if self.rows.nnz > *max_entries || self.rows.n_rows > *max_rows {
            write!(f, "\n  split: a launch holds at most {max_entries} entries and {max_rows} rows")?;
        }
        Ok(())
    }
}

/// Chooses kernel, tiling and repair for a matrix of these statistics and value type: what rules of thumb name, unless the
/// device's profile predicts that another algorithm takes at most 85% of its time (75% by the built-in profile). O(1).
///
/// # Errors
/// [`Error::Unsupported`] if the device cannot hold or compute these values, if `x` or `y` is larger
/// than its largest buffer, or if it cannot run the tiling asked for.
pub fn plan(
    stats: impl Into<MatrixStats>,
    value: Dtype,
    caps: &DeviceCaps,
    profile: Option<&Profile>,
    options: &Options,
) -> Result<Plan> {
    let stats = &stats.into();
    let rows = &stats.rows;
    check_types(value, caps)?;
    check_vectors(rows, value, caps)?;
    let kernel = |algorithm| kernel(algorithm, rows, value, caps, options);
    let able = |algorithm| kernel(algorithm).ok();
    let profile = profile.filter(|_| options.is_as_measured());
    let candidates =
        profile.map_or_else(Vec::new, |profile| candidates(stats, value, caps, profile, options, able));
    let (algorithm, reason) = match options.algorithm {
        Algorithm::Auto => choose(rows, caps, profile, &candidates),
        asked => (asked, "asked for"),
    };
    let kernel = kernel(algorithm)?;
    let id = kernel.id;
    let mut why = vec![format!("{algorithm}: {reason}")];
    if let Some(tiling) = options.tiling {
        why.push(format!("tiling {tiling} as asked for"));
    }
    if profile.is_some_and(Profile::is_built_in) {
        why.push("times are of another processor: `cargo xtask fit` measures this one".into());
    }
    let repair = match (id, options.fixup) {
        (KernelId::SpecSegsum, Fixup::Host) => Repair::Host,
        (KernelId::SpecSegsum, Fixup::Device) => Repair::Device,
        (KernelId::SpecSegsum, Fixup::Auto) if caps.memory.host_can_map() => Repair::Host,
        (KernelId::SpecSegsum, Fixup::Auto) => Repair::Device,
        _ => Repair::None,
    };
    if repair != Repair::None {
        why.push(format!("stage 2 on the {repair:?}; memory is {:?}", caps.memory).to_lowercase());
    }
    let (max_entries, max_rows) = launch_limits(&kernel, rows, caps);
    Ok(Plan { algorithm, kernel, repair, max_entries, max_rows, candidates, rows: *rows, why })
}

/// What an algorithm would run, if the device can.
fn kernel(
    algorithm: Algorithm,
    rows: &RowStats,
    value: Dtype,
    caps: &DeviceCaps,
    options: &Options,
) -> Result<KernelSpec> {
    let id = kernel_of(algorithm);
    let planned = || within_loops(id, default_tiling(id, rows, value, caps), caps);
    let tiling = options.tiling.unwrap_or_else(planned);
    let kernel = KernelSpec { id, value, lanes: lanes(&tiling, caps), tiling };
    check_tiling(&kernel, caps)?;
    Ok(kernel)
}

fn check_types(value: Dtype, caps: &DeviceCaps) -> Result<()> {
    let accum = value.accum();
    let missing = if !caps.storage.contains(value) {
        format!("{value} storage")
    } else if !caps.arithmetic.contains(accum) {
        format!("{accum} arithmetic")
    } else {
        return Ok(());
    };
    let way_out =
        if value == Dtype::F64 { "use f32 values, or another backend" } else { "use another backend" };
    Err(Error::unsupported(&*caps.name, missing, way_out).into())
}

/// `x` and `y` are bound whole, so each must fit one buffer; only the matrix can be split.
fn check_vectors(rows: &RowStats, value: Dtype, caps: &DeviceCaps) -> Result<()> {
    for (what, n, bytes) in [("x", rows.n_cols, value.bytes()), ("y", rows.n_rows, value.accum().bytes())] {
        let needed = n as u64 * bytes as u64;
        if needed > caps.max_buffer_bytes {
            let what = format!(
                "room for {what}: {needed} bytes, its largest buffer holds {}",
                caps.max_buffer_bytes
            );
            return Err(
                Error::unsupported(&*caps.name, what, "use narrower values, or another backend").into()
            );
        }
    }
    Ok(())
}

fn kernel_of(algorithm: Algorithm) -> KernelId {
    match algorithm {
        Algorithm::SpeculativeSegmentedSum => KernelId::SpecSegsum,
        Algorithm::CsrScalar => KernelId::CsrScalar,
        Algorithm::CsrVector => KernelId::CsrVector,
        Algorithm::Ipcsr => KernelId::Ipcsr,
        Algorithm::Pcsr => KernelId::PcsrSums,
        Algorithm::Ell => KernelId::Ell,
        Algorithm::Jad => KernelId::Jad,
        Algorithm::Dia => KernelId::Dia,
        Algorithm::MergePath | Algorithm::Auto => KernelId::MergePath,
    }
}

/// Whether a bunch may be part of what runs together (CUDA, wgpu). The rules that ask for it were measured with CUDA:
/// `cargo run --release -p spmv-cuda --example tilings`.
pub(crate) fn splits_subgroups(caps: &DeviceCaps) -> bool {
    !caps.tasks && caps.subgroup.is_some_and(|(least, most)| least < most)
}

/// As many tiles a bunch, up to `most`, as `work` takes on a device that `full` steps fill with bunches of one tile.
fn tiles_for(work: usize, full: u64, most: u32) -> u32 {
    (work as u64).div_ceil(full.max(1)).clamp(1, u64::from(most)) as u32
}

/// Whether one thread beats all of them: the more they are, the more of its time they save.
fn is_serial(steps: usize, caps: &DeviceCaps) -> bool {
    let threads = u64::from(caps.compute_units.max(1));
    (steps as u64).saturating_mul(2 * (threads - 1)) < (SERIAL_STEPS as u64).saturating_mul(threads)
}

/// Most lanes that a row gets.
fn most_lanes(caps: &DeviceCaps) -> u32 {
    caps.subgroup.map_or(64, |(_, most)| u32::from(most)).min(caps.max_group).max(1)
}

/// Lanes of a row of `csr_vector` on a GPU: as many as rows of such a length keep busy, a power of two, at least 2 where there
/// are as many.
pub(crate) fn lanes_of_a_row(rows: &RowStats, caps: &DeviceCaps) -> u32 {
    let wanted = (rows.mean / ENTRIES_PER_LANE).max(1.0).log2().round() as u32;
    let most = most_lanes(caps);
    (1u32 << wanted.min(16)).clamp(2.min(most), most)
}

/// Tilings for devices whose subgroups may be split.
fn split_tiling(id: KernelId, rows: &RowStats, caps: &DeviceCaps, (least, most): (u16, u16)) -> Tiling {
    let (least, most) = (u32::from(least), u32::from(most));
    let groups_of = |lanes: u32| (caps.max_group.min(BLOCK_LANES) / lanes).max(1);
    // As many tiles a bunch as leave so many bunches to each compute unit.
    let walking = |width: u32, bunches: u32, work: usize, resident: u64| {
        let full = u64::from(width * most) * u64::from(caps.compute_units) * resident;
        (width, tiles_for(work, full, 7), bunches)
    };
    let (lanes, (width, tiles, bunches)) = match id {
        KernelId::CsrVector => {
            let lanes = lanes_of_a_row(rows, caps).clamp(least, most);
            (lanes, (1, 1, groups_of(lanes)))
        }
        KernelId::Axpby => (most, (1, 1, groups_of(most))),
        id if id.takes_a_row_a_lane() => (most, (1, 1, groups_of(most))),
        KernelId::MergePath => {
            let bunches = (caps.max_group / most).clamp(1, 8);
            (most, walking(8, bunches, rows.nnz.saturating_add(rows.n_rows), 30))
        }
        _ => (most, walking(16, if caps.bunch_barriers { groups_of(most) } else { 1 }, rows.nnz, 24)),
    };
    Tiling::new(lanes, width, tiles, bunches).expect("numbers in range by construction")
}

/// Tilings of our own. On a CPU a bunch is a task: as long as a few tasks for each thread allow. Its lanes
/// are iterations where kernels are functions of this program; where they were compiled for lanes that talk
/// through barriers, one lane needs none.
///
/// Elsewhere the paper's Table 1 is the start, with T as wide as the device's lanes run together; S is less
/// than there as long as that leaves too few bunches to fill the device (docs/performance.md).
fn default_tiling(id: KernelId, rows: &RowStats, value: Dtype, caps: &DeviceCaps) -> Tiling {
    let tiling = |t, w, s, b| Tiling::new(t, w, s, b).expect("numbers in range by construction");
    if caps.tasks {
        let steps = rows.n_rows.saturating_add(rows.nnz);
        let parts = if is_serial(steps, caps) { 1 } else { (caps.compute_units * PARTS_PER_THREAD) as usize };
        let cut = |work: usize, unit: usize| {
            work.div_ceil(parts).div_ceil(unit).clamp(1, (i32::MAX as usize) / unit / 2) as u32
        };
        let (lanes, width) = if caps.subgroup.is_some() { (8, 16) } else { (1, 32) };
        return match id {
            KernelId::MergePath => {
                let width = fitting_width(id, value, caps, lanes, width, 1);
                tiling(lanes, width, cut(steps, (lanes * width) as usize), 1)
            }
            id if id.holds_products_of_a_group() => {
                let lanes = fitting_lanes(id, value, caps, BLOCK_ROWS_OF_CPU);
                let width = fitting_width(id, value, caps, lanes, 16, 1);
                // Both the products and the sums of `pcsr` want tasks for all threads.
                let products = cut(rows.nnz, (lanes * width) as usize);
                let sums = cut(rows.n_rows, lanes as usize);
                let tiles = if id == KernelId::Ipcsr { 1 } else { products.min(sums) };
                tiling(lanes, width, 1, 1).with_tiles(tiles)
            }
            id if id.takes_a_row_a_lane() => tiling(1, 1, cut(rows.n_rows, 1), 1),
            KernelId::CsrVector => tiling(8, 1, cut(rows.n_rows, 1).min(i32::MAX as u32 / 8), 1),
            _ => {
                let width = fitting_width(id, value, caps, lanes, width, 1);
                tiling(lanes, width, cut(rows.nnz, (lanes * width) as usize), 1)
            }
        };
    }
    // Rows of a launch are many: a lane takes one.
    let by_row = id.takes_a_row_a_lane();
    let tiles = |width: u32, most: u32| {
        let work = if id == KernelId::MergePath { rows.nnz.saturating_add(rows.n_rows) } else { rows.nnz };
        let full = u64::from(width) * u64::from(caps.compute_units) * RESIDENT_LANES;
        if by_row { 1 } else { tiles_for(work, full, most) }
    };
    if id.holds_products_of_a_group() {
        let lanes = fitting_lanes(id, value, caps, BLOCK_LANES);
        // Rows so short that their number fills a block leave much of a wide one empty.
        let width = if rows.mean <= 4.0 { 4 } else { 8 };
        return tiling(lanes, fitting_width(id, value, caps, lanes, width, 1), 1, 1);
    }
    if let (true, Some(sizes)) = (splits_subgroups(caps), caps.subgroup) {
        let planned = split_tiling(id, rows, caps, sizes);
        let (lanes, tiles, bunches) = (planned.lanes(), planned.tiles(), planned.bunches());
        let width = fitting_width(id, value, caps, lanes, planned.width(), bunches);
        return tiling(lanes, width, tiles, bunches);
    }
    if id == KernelId::CsrVector {
        // Fewer lanes than run together talk through local memory, at barriers that all bunches of a group meet.
        let most = most_lanes(caps);
        let lanes = lanes_of_a_row(rows, caps);
        let group = caps.max_group.min(if lanes == most { 256 } else { BLOCK_LANES });
        return tiling(lanes, 1, 1, (group / lanes).max(1));
    }
    let Some((_, lanes)) = caps.subgroup else {
        let lanes = caps.max_group.clamp(1, 64);
        let width = fitting_width(id, value, caps, lanes, 8, 1);
        return tiling(lanes, width, tiles(width, 7), 1);
    };
    let preset = match lanes {
        0..=16 => Preset::Intel,
        17..=32 => Preset::Nvidia,
        _ => Preset::Amd,
    };
    let table = Tiling::preset(preset, value);
    let lanes = u32::from(lanes);
    let bunches = if by_row { 256 / lanes } else { table.bunches() };
    let bunches = if by_row || caps.bunch_barriers { bunches.min(caps.max_group / lanes).max(1) } else { 1 };
    let width = fitting_width(id, value, caps, lanes, table.width(), bunches);
    tiling(lanes, width, tiles(width, table.tiles()), bunches)
}

/// The largest power-of-two fraction of `width` whose tiles fit the device's local memory. A group that holds products
/// leaves enough for as many of its kind as the lanes of a compute unit allow.
fn fitting_width(id: KernelId, value: Dtype, caps: &DeviceCaps, lanes: u32, width: u32, bunches: u32) -> u32 {
    let shared = caps.unit.filter(|_| id.holds_products_of_a_group());
    let share = shared.map_or(u32::MAX, |unit| unit.group_local_bytes(lanes * bunches));
    std::iter::successors(Some(width), |w| (*w > 1).then_some(w / 2))
        .find(|w| fits(id, value, caps.max_local_bytes.min(share), lanes, *w, bunches))
        .unwrap_or(1)
}

/// The largest power-of-two fraction of `most`, or of what the device allows, of which a group of one bunch fits the
/// device's local memory.
fn fitting_lanes(id: KernelId, value: Dtype, caps: &DeviceCaps, most: u32) -> u32 {
    std::iter::successors(Some(caps.max_group.min(most)), |lanes| (*lanes > 1).then_some(lanes / 2))
        .find(|lanes| fits(id, value, caps.max_local_bytes, *lanes, 1, 1))
        .unwrap_or(1)
}

/// Whether a group of such a tiling needs no more than so many bytes of local memory.
fn fits(id: KernelId, value: Dtype, local_bytes: u32, lanes: u32, width: u32, bunches: u32) -> bool {
    let Ok(tiling) = Tiling::new(lanes, width, 1, bunches) else { return false };
    let spec = KernelSpec { id, value, lanes: Lanes::Workgroup, tiling };
    spec.local_bytes() <= u64::from(local_bytes)
}

/// The kernel that adds what another carries. One that talks over more lanes than run together leaves it the lanes
/// that do.
pub(crate) fn carry_kernel(kernel: &KernelSpec, caps: &DeviceCaps) -> KernelSpec {
    let tiling = match (kernel.id, caps.subgroup) {
        (KernelId::Ipcsr, Some((_, most))) if kernel.tiling.lanes() > u32::from(most) => {
            Tiling::new(u32::from(most), 1, 1, 1).expect("a small tiling")
        }
        _ => kernel.tiling,
    };
    KernelSpec { id: KernelId::CarryApply, tiling, lanes: lanes(&tiling, caps), ..*kernel }
}

/// On a CPU a lane is an iteration and T may be anything; elsewhere a subgroup must be that wide, or parts of it, which
/// have powers of two.
fn lanes(tiling: &Tiling, caps: &DeviceCaps) -> Lanes {
    match caps.subgroup {
        Some((least, most))
            if (u32::from(least)..=u32::from(most)).contains(&tiling.lanes())
                && tiling.lanes().is_power_of_two() =>
        {
            Lanes::Subgroup
        }
        _ => Lanes::Workgroup,
    }
}

fn check_tiling(kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
    let tiling = &kernel.tiling;
    let unsupported =
        |what: String, way_out: &str| Err(Error::unsupported(&*caps.name, what, way_out).into());
    if tiling.group_lanes() > caps.max_group {
        let what = format!("groups of {} lanes (at most {})", tiling.group_lanes(), caps.max_group);
        return unsupported(what, "use a tiling with a smaller T*B");
    }
    if kernel.local_bytes() > u64::from(caps.max_local_bytes) {
        let what = format!(
            "{} bytes of local memory for {tiling} (at most {})",
            kernel.local_bytes(),
            caps.max_local_bytes
        );
        return unsupported(what, "use a tiling with a smaller W or B");
    }
    if let Some(most) = caps.max_loop_steps
        && loop_steps(kernel.id, tiling, caps).saturating_mul(u64::from(tiling.tiles())) > u64::from(most / 2)
    {
        let what = format!("loops as long as {tiling} may take (at most {most} iterations)");
        return unsupported(what, "use a tiling with a smaller S or W");
    }
    if kernel.id.holds_products_of_a_group() && tiling.bunches() > 1 {
        return unsupported(format!("{} for groups of several bunches", kernel.id), "use a tiling with B=1");
    }
    if kernel.lanes == Lanes::Workgroup && kernel.id == KernelId::SpecSegsum && tiling.bunches() > 1 {
        let what = format!("shuffles over {} lanes, so a group holds one bunch", tiling.lanes());
        return unsupported(what, "use a tiling with B=1");
    }
    if !caps.bunch_barriers && kernel.id == KernelId::SpecSegsum && tiling.bunches() > 1 {
        return unsupported("barriers of less than a group".into(), "use a tiling with B=1");
    }
    Ok(())
}

/// Rows, and entries, of a launch at most, so that no lane's loops take more than half of what the device allows for
/// them: a lane may be the only one for a long row, and the bunch for many empty ones.
fn loop_rows(id: KernelId, tiling: &Tiling, caps: &DeviceCaps) -> u64 {
    let Some(steps) = caps.max_loop_steps.map(u64::from) else { return u64::MAX };
    match id {
        // The entries of a group come to local memory too.
        KernelId::PcsrSums => steps / 4,
        id if id.takes_a_row_a_lane() => steps / 2,
        _ => (steps / 8).saturating_mul(u64::from(tiling.lanes())),
    }
}

/// Iterations of loops, all together, that a lane takes for each tile (each row of kernels that take rows) at most,
/// besides those that [`loop_rows`] bounds.
fn loop_steps(id: KernelId, tiling: &Tiling, caps: &DeviceCaps) -> u64 {
    let bits = |n: u64| u64::from(n.max(1).ilog2()) + 2;
    let (lanes, width) = (u64::from(tiling.lanes()), u64::from(tiling.width()));
    let (entries, search) = (u64::from(tiling.tile_entries()), bits(loop_rows(id, tiling, caps)));
    match id {
        id if id.takes_a_row_a_lane() => 4,
        KernelId::CsrVector => 4 + 2 * bits(lanes),
        KernelId::MergePath => 3 * width + search + bits(entries) + 2 * bits(lanes) + 4,
        // Before each entry there may be a run of empty rows that is skipped by a search.
        KernelId::SpecSegsum => entries * (3 + search) + 2 * width + 4 * bits(lanes),
        _ => 0,
    }
}

/// The tiling, with S and then W so much smaller that no lane's loops take too many iterations.
fn within_loops(id: KernelId, tiling: Tiling, caps: &DeviceCaps) -> Tiling {
    let Some(most) = caps.max_loop_steps.map(|steps| u64::from(steps / 2)) else { return tiling };
    let of =
        |w, s| Tiling::new(tiling.lanes(), w, s, tiling.bunches()).expect("smaller than one that is valid");
    let tiles = |w| (most / loop_steps(id, &of(w, 1), caps).max(1)).min(u64::from(tiling.tiles())) as u32;
    let widths = std::iter::successors(Some(tiling.width()), |w| (*w > 1).then_some(w / 2));
    widths.map(|w| (w, tiles(w))).find(|(_, s)| *s > 0).map_or(tiling, |(w, s)| of(w, s))
}

/// What one launch can hold, by buffer size, by number of groups, and by 32-bit arithmetic.
fn launch_limits(kernel: &KernelSpec, rows: &RowStats, caps: &DeviceCaps) -> (usize, usize) {
    let widest = kernel.value.bytes().max(4) as u64;
    let half = i32::MAX as u64 / 2; // rows + entries are counted in 31 bits by merge_path
    let tiling = &kernel.tiling;
    let groups = u64::from(caps.max_groups);
    // Buffers with an element for each tile or bunch, and one more.
    let marks = (caps.max_buffer_bytes / kernel.value.accum().bytes() as u64).saturating_sub(1).max(1);
    let (tile, bunch) = (u64::from(tiling.tile_entries()), u64::from(tiling.bunch_entries()));
    let (by_entries, by_rows) = match kernel.id {
        KernelId::PcsrSums => {
            let products = caps.max_buffer_bytes / kernel.value.accum().bytes() as u64;
            let lanes = groups * u64::from(tiling.group_lanes());
            let entries = lanes.saturating_mul(u64::from(tiling.width() * tiling.tiles()));
            (products.min(entries), lanes * u64::from(tiling.tiles()))
        }
        id if id.takes_a_row_a_lane() => {
            // As many rows as there are places for, if one of them is the longest (`dia`: see `prepare`); one more
            // element than jagged diagonals.
            let places = (caps.max_buffer_bytes / widest).min(half).saturating_sub(1).max(1);
            let longest = if id == KernelId::Ell { (rows.max as u64).clamp(1, places) } else { 1 };
            (places, (groups * u64::from(tiling.scalar_rows(0, u32::MAX).end)).min(places / longest))
        }
        KernelId::CsrVector => (u64::MAX, groups * u64::from(tiling.vector_rows(0, u32::MAX).end)),
        // A block holds a row for each lane; or overflows with the next, so that both exceed what a block holds; or ends
        // before a cut row, which has more than half a block for each of its pieces. So blocks are at most 5 times the
        // entries over what a block holds, and rows over lanes, and one.
        KernelId::Ipcsr => {
            let blocks = (groups.min(marks) / 8).max(1);
            (
                blocks.saturating_mul(tile * u64::from(tiling.bunches())),
                blocks * u64::from(tiling.group_lanes()),
            )
        }
        // Rows and entries both take steps of the merge.
        KernelId::MergePath => {
            let steps = (groups * u64::from(tiling.bunches())).min(marks).saturating_mul(bunch) / 2;
            (steps, steps)
        }
        _ => {
            let bunches = (groups * u64::from(tiling.bunches())).saturating_mul(bunch);
            (bunches.min(marks.saturating_mul(tile)), u64::MAX)
        }
    };
    let most = half.min(loop_rows(kernel.id, tiling, caps));
    let entries = (caps.max_buffer_bytes / widest).min(by_entries).min(most).max(1);
    let rows = (caps.max_buffer_bytes / 4).saturating_sub(1).min(by_rows).min(most).max(1);
    (entries as usize, rows as usize)
}
