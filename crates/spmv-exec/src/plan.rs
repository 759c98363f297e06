//! Planning: a pure function of matrix statistics, device capabilities and options.
//!
//! Every capability is tested here, never in the middle of a run. What differs between algorithms is asked of their
//! [`Method`](crate::method::Method).

use std::fmt;

use spmv_backend::{DeviceCaps, DeviceKind, Error, KernelSpec, Types};
use spmv_core::format::Cost;
use spmv_core::{Dtype, MatrixStats, RowStats, Tiling};
use spmv_model::Profile;

use crate::algorithms::{Algorithm, Known};
use crate::carries::lanes;
use crate::choice::{Choice, Trial};
use crate::choose::{Candidate, candidates, choose, takes};
use crate::error::Result;
use crate::measured::Bound;
use crate::method::{HALF, Launch, Limits, Repair, Storage, Sums, bits};
use crate::options::{Fixup, Layouts, Options};
use crate::tilings::{Case, tiling};

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
    /// Of the matrix's values ([`Options::values`]), of `x`, and of sums.
    pub types: Types,
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
    /// How wide the regular part of a prepared matrix is, if the algorithm has one ([`Options::regular_width`]). `None` before:
    /// statistics do not say.
    pub regular_width: Option<usize>,
    /// What was timed on the matrix, the planned candidate first; none before a matrix is prepared, and without trials
    /// ([`Options::tune`]).
    pub trials: Vec<Trial>,
    pub(crate) known: Known,
    /// What its layout takes, as far as the statistics of the plan say.
    pub(crate) storage: Storage,
    pub(crate) rows: RowStats,
    /// Why algorithm and tiling were chosen.
    chosen: Vec<String>,
    /// What is to be known besides.
    notes: Vec<String>,
}

impl Plan {
    /// The plan in words: what was chosen and why, what was timed, and the time predicted for every candidate.
    pub fn explain(&self) -> String {
        self.to_string()
    }

    /// Predicted time in seconds of a multiplication, by the device's timestamps where it has them, else as the caller measures it. `None`
    /// without a profile that knows the type of values, with tiling or fixup of one's own, and for a layout that refuses the matrix.
    pub fn seconds(&self) -> Option<f64> {
        let is_this = |c: &&Candidate| (c.algorithm, c.kernel) == (self.algorithm, self.kernel);
        self.candidates.iter().find(is_this).map(|c| c.seconds)
    }

    /// What its layout takes, at most: `None` where only the entries of the matrix say. O(1).
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), Box<dyn std::error::Error>> {
    /// use spmv_core::Csr;
    /// use spmv_exec::{Algorithm, Options};
    /// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// let plan = device.plan(a.view(), &Options { algorithm: Algorithm::MergePath, ..Options::default() })?;
    /// assert_eq!(plan.layout_cost().map(|cost| cost.blow_up()), Some(1.0));
    /// # Ok(()) }
    /// ```
    pub fn layout_cost(&self) -> Option<Cost> {
        let RowStats { n_rows, nnz, .. } = self.rows;
        match self.storage {
            Storage::Own(cost) => Some(cost),
            Storage::Unknown => None,
            Storage::Csr => {
                let bytes = Cost::of(n_rows, nnz, self.types.value, 0, 0).csr_bytes;
                Some(Cost::of(n_rows, nnz, self.types.value, bytes, nnz as u64))
            }
        }
    }

    /// Algorithm and tiling, to be saved and [given again](Options::with_choice): on the same matrix and device, with the same other
    /// options, they give the same plan. O(1).
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), Box<dyn std::error::Error>> {
    /// use spmv_core::Csr;
    /// use spmv_exec::{Options, Tune};
    /// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// let tuned = device.prepare(a.view(), &Options { tune: Tune::Quick, ..Options::default() })?;
    /// let saved = tuned.plan().choice().to_string();
    /// let again = device.prepare(a.view(), &Options::default().with_choice(saved.parse()?))?;
    /// assert_eq!(again.plan().choice(), tuned.plan().choice());
    /// # Ok(()) }
    /// ```
    pub fn choice(&self) -> Choice {
        Choice { algorithm: self.algorithm, tiling: self.kernel.tiling }
    }

    /// The same after trials, of which the first is of the `planned` candidate.
    pub(crate) fn with_trials(mut self, trials: Vec<Trial>, planned: Self) -> Self {
        let seconds = |choice| trials.iter().find(|trial| trial.choice == choice).and_then(|t| t.seconds);
        let (now, before) = (self.choice(), planned.choice());
        self.chosen = match (seconds(now), seconds(before)) {
            (Some(now_s), Some(before_s)) if now != before => {
                let ratio = before_s / now_s;
                vec![format!(
                    "{}: by trials, {ratio:.2} times as fast as the planned {before}",
                    self.algorithm
                )]
            }
            _ => planned.chosen,
        };
        self.candidates = planned.candidates;
        self.trials = trials;
        self
    }

    /// A line for each trial.
    fn write_trials(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Trial { choice, seconds }) in self.trials.iter().enumerate() {
            let time = seconds.map_or_else(|| "refused".to_owned(), |s| format!("{:.1} us", s * 1e6));
            let planned = if at == 0 { ", planned" } else { "" };
            let taken = if *choice == self.choice() { ", taken" } else { "" };
            write!(f, "\n  trial: {choice}: {time}{planned}{taken}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_entries, max_rows, .. } = self;
        write!(f, "{}", self.kernel)?;
        if let Some(width) = self.regular_width {
            write!(f, "\n  regular part: width {width}")?;
        }
        self.chosen.iter().chain(&self.notes).try_for_each(|why| write!(f, "\n  {why}"))?;
        if let Storage::Own(cost) = &self.storage {
            write!(
                f,
                "\n  a layout of about {} bytes, {:.2} times those of CSR",
                cost.bytes,
                cost.blow_up()
            )?;
        }
        if !self.candidates.is_empty() {
            let time = |c: &Candidate| format!("{} {:.1} us", c.algorithm, c.seconds * 1e6);
            let times: Vec<String> = self.candidates.iter().map(time).collect();
            write!(f, "\n  predicted: {}", times.join(", "))?;
        }
        self.write_trials(f)?;
        if self.rows.nnz > *max_entries || self.rows.n_rows > *max_rows {
            write!(f, "\n  split: a launch holds at most {max_entries} entries and {max_rows} rows")?;
        }
        Ok(())
    }
}

/// Chooses kernel, tiling and repair for a matrix of these statistics and value type: what the heuristic takes, unless the
/// device's profile predicts that another algorithm takes at most 85% of its time. Times of the built-in profile are
/// shown, and override nothing. O(1).
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
    planned(&stats.into(), value, caps, profile, options, Given::Borrowed)
}

/// Products after which a layout of its own has earned what it costs to make: on GPUs, to which the host sends it over a bus, and on cores.
const PAYS_AFTER: Bound<u64> = Bound {
    is: 3000,
    by: "cargo xtask bench --matrix fem3-1e8 stencil7-1e8 --backend cuda: plan/spmv and us in docs/results/2026-11-24-h200-cuda-classes.txt",
};
const PAYS_AFTER_ON_CORES: Bound<u64> = Bound {
    is: 100,
    by: "cargo xtask prepare --backend cpu: docs/results/2026-11-28-cpu-prepare.txt; for sell plan/spmv and us in docs/results/2026-11-28-cpu-epyc-suite.txt",
};

/// Whose the arrays of a matrix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// They are copied, whatever runs.
    Borrowed,
    /// They are the device's now. Where its kernels can use them as they are, `Auto` does not lay them out anew.
    Owned,
}

/// What a plan is made of, but for predictions.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) stats: &'a MatrixStats,
    pub(crate) types: Types,
    pub(crate) caps: &'a DeviceCaps,
    pub(crate) options: &'a Options,
    pub(crate) given: Given,
}

impl Inputs<'_> {
    /// Whether the options let `Auto` take an algorithm, whatever the matrix.
    pub(crate) fn allow(&self, known: Known) -> bool {
        let Self { caps, options, given, .. } = *self;
        let is_kept = given == Given::Owned && caps.host_pointers;
        let pays_after = if caps.kind == DeviceKind::Cpu { PAYS_AFTER_ON_CORES } else { PAYS_AFTER };
        let is_soon_over = options.expected_runs.is_some_and(|runs| runs < pays_after.is);
        let stays = options.algorithm == Algorithm::Auto
            && (is_kept || is_soon_over || options.layouts == Layouts::Csr);
        !stays || !known.method().facts().own_layout
    }

    /// Whether the layout of an algorithm takes the matrix.
    pub(crate) fn take(&self, known: Known, kernel: &KernelSpec) -> bool {
        takes(known, kernel, self.stats, self.caps, self.options)
    }

    /// What an algorithm would run, if the device can, with all the kernels that it needs.
    pub(crate) fn kernel(&self, known: Known) -> Result<KernelSpec> {
        let planned = || self.fitting(known, tiling(known.method().tilings(), &self.case(known)));
        self.kernel_of(known, self.options.tiling.unwrap_or_else(planned))
    }

    /// The same with a tiling.
    pub(crate) fn kernel_of(&self, known: Known, tiling: Tiling) -> Result<KernelSpec> {
        let (method, caps) = (known.method(), self.caps);
        let kernel = KernelSpec::new(method.facts().kernel, self.types.vector, lanes(&tiling, caps), tiling);
        let kernel = kernel.with_types(self.types);
        check_tiling(known, &kernel, caps)?;
        caps.check_kernel(&kernel)?;
        let helpers = helpers(known, &kernel, self.types, caps, repair(known, caps, self.options));
        helpers.iter().try_for_each(|helper| caps.check_kernel(helper))?;
        Ok(kernel)
    }

    /// What the tiling of an algorithm is chosen for.
    pub(crate) fn case(&self, known: Known) -> Case<'_> {
        let Self { stats, types, caps, .. } = *self;
        let kernel = known.method().facts().kernel;
        Case { kernel, rows: &stats.rows, runs: stats.runs, value: types.vector, caps }
    }

    /// The tiling, or a smaller one of which no lane's loops take too many iterations.
    pub(crate) fn fitting(&self, known: Known, tiling: Tiling) -> Tiling {
        within_loops(known, tiling, self.caps)
    }
}

/// As [`plan`], by whose the arrays are.
pub(crate) fn planned(
    stats: &MatrixStats,
    value: Dtype,
    caps: &DeviceCaps,
    profile: Option<&Profile>,
    options: &Options,
    given: Given,
) -> Result<Plan> {
    let rows = &stats.rows;
    check_lanes(caps)?;
    let types = types_of(value, caps, options)?;
    check_types(types, caps)?;
    check_vectors(rows, types, caps)?;
    let inputs = Inputs { stats, types, caps, options, given };
    let able = |known| inputs.kernel(known).ok();
    let profile = profile.filter(|_| options.is_as_measured());
    let candidates = profile.map_or_else(Vec::new, |profile| {
        let kernel = |known| able(known).filter(|_| inputs.allow(known));
        candidates(stats, types, caps, profile, options, kernel)
    });
    let (known, reason) = match options.algorithm.known() {
        None => {
            let takes =
                |known| inputs.allow(known) && able(known).is_none_or(|kernel| inputs.take(known, &kernel));
            choose(stats, types, caps, profile, &candidates, takes)
        }
        Some(asked) => (asked, "asked for"),
    };
    let kernel = inputs.kernel(known)?;
    let algorithm = Algorithm::from(known);
    let mut chosen = vec![format!("{algorithm}: {reason}")];
    if let Some(tiling) = options.tiling {
        chosen.push(format!("tiling {tiling} as asked for"));
    }
    let mut notes = Vec::new();
    if types.is_mixed() {
        notes.push(format!("values in {}, vectors and sums in {}", types.value, types.vector));
        notes.extend(profile.map(|_| format!("times are of values in {}", types.vector)));
    }
    if profile.is_some_and(Profile::is_built_in) {
        notes.push("times are of another processor; Context::fit (feature fit) measures this one".into());
    }
    let repair = repair(known, caps, options);
    if repair != Repair::None {
        notes.push(format!("stage 2 on the {repair:?}; memory is {:?}", caps.memory).to_lowercase());
    }
    notes.extend(caps.notes.iter().map(|note| format!("the device: {note}")));
    let Limits { max_entries, max_rows } = limits(known, &kernel, rows, caps);
    let storage = known.method().storage(stats, &kernel, caps);
    Ok(Plan {
        algorithm,
        types,
        kernel,
        repair,
        max_entries,
        max_rows,
        candidates,
        regular_width: None,
        trials: vec![],
        known,
        storage,
        rows: *rows,
        chosen,
        notes,
    })
}

/// Where an algorithm's sums are repaired.
fn repair(known: Known, caps: &DeviceCaps, options: &Options) -> Repair {
    match (known.method().facts().sums, options.fixup) {
        (Sums::Direct | Sums::Joined, _) => Repair::None,
        (Sums::Repaired, Fixup::Host) => Repair::Host,
        (Sums::Repaired, Fixup::Device) => Repair::Device,
        (Sums::Repaired, Fixup::Auto) if caps.memory.host_can_map() => Repair::Host,
        (Sums::Repaired, Fixup::Auto) => Repair::Device,
    }
}

/// The tiling, with S and then W so much smaller that no lane's loops take too many iterations.
fn within_loops(known: Known, tiling: Tiling, caps: &DeviceCaps) -> Tiling {
    let Some(most) = caps.max_loop_steps.map(|steps| u64::from(steps / 2)) else { return tiling };
    let of =
        |w, s| Tiling::new(tiling.lanes(), w, s, tiling.bunches()).expect("smaller than one that is valid");
    let tiles = |w| (most / loop_steps(known, &of(w, 1), caps).max(1)).min(u64::from(tiling.tiles())) as u32;
    let widths = std::iter::successors(Some(tiling.width()), |w| (*w > 1).then_some(w / 2));
    widths.map(|w| (w, tiles(w))).find(|(_, s)| *s > 0).map_or(tiling, |(w, s)| of(w, s))
}

fn loop_rows(known: Known, tiling: &Tiling, caps: &DeviceCaps) -> u64 {
    caps.max_loop_steps.map_or(u64::MAX, |steps| known.method().loop_rows(tiling, u64::from(steps)))
}

fn loop_steps(known: Known, tiling: &Tiling, caps: &DeviceCaps) -> u64 {
    known.method().loop_steps(tiling, bits(loop_rows(known, tiling, caps)))
}

/// What one launch can hold, by buffer size, by number of groups, and by 32-bit arithmetic.
fn limits(known: Known, kernel: &KernelSpec, rows: &RowStats, caps: &DeviceCaps) -> Limits {
    let launch = Launch { kernel, rows, caps };
    let (by_entries, by_rows) = known.method().limits(&launch);
    let most = HALF.min(loop_rows(known, &kernel.tiling, caps));
    let entries = launch.entries().min(by_entries).min(most).max(1);
    let rows = (caps.max_buffer_bytes / 4).saturating_sub(1).min(by_rows).min(most).max(1);
    Limits { max_entries: entries as usize, max_rows: rows as usize }
}

fn check_tiling(known: Known, kernel: &KernelSpec, caps: &DeviceCaps) -> Result<()> {
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
        && loop_steps(known, tiling, caps).saturating_mul(u64::from(tiling.tiles())) > u64::from(most / 2)
    {
        let what = format!("loops as long as {tiling} may take (at most {most} iterations)");
        return unsupported(what, "use a tiling with a smaller S or W");
    }
    known.method().check(kernel, caps)
}

fn check_lanes(caps: &DeviceCaps) -> Result<()> {
    let DeviceCaps { max_group, max_groups, compute_units, subgroup, .. } = *caps;
    let least = [max_group, max_groups, compute_units].into_iter().min().unwrap_or(0);
    if least > 0 && subgroup.is_none_or(|(least, most)| (1..=most).contains(&least)) {
        return Ok(());
    }
    Err(Error::unsupported(&*caps.name, "lanes to compute with", "use another backend").into())
}

/// Of values that are kept as the options say, and of `x` in the type `vector`.
fn types_of(vector: Dtype, caps: &DeviceCaps, options: &Options) -> Result<Types> {
    let value = options.values.unwrap_or(vector);
    let unsupported = || {
        let what = format!("values in {value} with vectors in {vector}");
        Error::unsupported(&*caps.name, what, "use values that are narrower than vectors in f32 or f64")
    };
    Ok(Types::stored_as(value, vector).ok_or_else(unsupported)?)
}

/// The kernels that an algorithm starts besides its own.
pub(crate) fn helpers(
    known: Known,
    kernel: &KernelSpec,
    types: Types,
    caps: &DeviceCaps,
    repair: Repair,
) -> Vec<KernelSpec> {
    known.method().helpers(kernel, caps, repair).into_iter().map(|spec| spec.with_types(types)).collect()
}

/// Whether the device holds the values and computes in the type of the sums.
fn check_types(types: Types, caps: &DeviceCaps) -> Result<()> {
    let Types { value, accum, .. } = types;
    let missing = if !caps.storage.contains(value) {
        format!("{value} storage")
    } else if !caps.arithmetic.contains(accum) {
        format!("{accum} arithmetic")
    } else {
        return Ok(());
    };
    let way_out = match (value, accum) {
        (Dtype::F64, _) => "use f32 values, or another backend",
        (_, Dtype::F64) => "use f32 vectors, or another backend",
        _ => "use another backend",
    };
    Err(Error::unsupported(&*caps.name, missing, way_out).into())
}

/// `x` and `y` are bound whole, so each must fit one buffer; only the matrix can be split.
fn check_vectors(rows: &RowStats, types: Types, caps: &DeviceCaps) -> Result<()> {
    for (what, n, bytes) in
        [("x", rows.n_cols, types.vector.bytes()), ("y", rows.n_rows, types.accum.bytes())]
    {
        let needed = (n as u64).saturating_mul(bytes as u64);
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
