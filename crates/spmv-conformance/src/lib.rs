//! One suite, every backend.
//!
//! A backend's test binary names the ways to open it ([`Variant`]) and runs the trials of [`suite`]:
//!
//! ```
//! use spmv_conformance::{Variant, suite};
//! fn trials<B: spmv_backend::Backend>(open: fn() -> spmv_backend::Result<B>) -> Vec<libtest_mimic::Trial> {
//!     suite(vec![Variant::new("default", open)])
//! }
//! ```
//!
//! Trials are named `backend-variant/algorithm/type/tiling/case`. What a device cannot do is skipped
//! loudly (the name says what is needed), if one table, `EXPECTED_REFUSALS`, expects it, and fails otherwise;
//! `SPMV_REQUIRE=cpu,opencl` turns a backend's absence, and that of a value type, into a failure. Known faults sit in one table, `EXPECTED_FAILURES`, and fail when they pass.
//!
//! By default every algorithm that the heuristic takes on such a device, and that has a kernel of its own, runs as planned on the first
//! variant in both types that sums have, a narrower one and a complex one, and others in two. Every other combination (a forced tiling, where
//! sums are repaired, another variant) runs in one value type, a fifth of the algorithms on each variant after the first,
//! half where it is for few groups. Each runs on a twelfth of the groups, on variants after the first on a sixteenth, and trials take turns
//! with types, groups, scalings and real matrices ([`Share`]). With values in a narrower type than vectors each algorithm with a kernel of its own runs in one
//! pair of types, on an eighth of the groups. With `SPMV_FULL=1` every trial takes all of them.
// Not `forbid`: `probe.rs` passes unsafe verbs on.
#![deny(unsafe_code)]

pub mod auto;
mod blocks;
mod by_indices;
mod canaries;
mod captured;
mod check;
pub mod corpus;
mod coverage;
pub mod device;
mod epilogues;
mod expected;
mod faults;
mod figure3;
pub mod injection;
mod memory;
mod new_values;
mod outcome;
#[allow(unsafe_code)]
mod probe;
mod random;
mod refusals;
mod sharing;
mod vectors;
mod watch;

use std::sync::{Arc, LazyLock};

pub use check::{check, compare, flushed, input, number, same_bits};
pub use coverage::{SCALINGS, Share, is_full};
use libtest_mimic::{Failed, Trial};
pub use outcome::{Check, Checked};
use spmv_backend::{Backend, DeviceCaps, DeviceKind, DtypeSet, MemoryModel, Result, Types};
use spmv_core::{Dtype, Tiling, Value, by_dtype};
use spmv_exec::{Algorithm, Device, Facts, Fixup, Options, Repair, Sums};

/// Faults that are known: the beginning of a trial's name, and why.
const EXPECTED_FAILURES: &[(&str, &str)] = &[];

/// A way to open a backend, and what to try on it.
#[derive(Debug)]
pub struct Variant<F> {
    /// Name after the backend's: `default`, `discrete`, ...
    pub label: &'static str,
    /// Opens the device.
    pub open: F,
    /// Tilings to force besides the plan's own.
    pub tilings: Vec<Tiling>,
    /// Where to force stage 2.
    pub fixups: Vec<Fixup>,
    /// Random matrices for each algorithm and value type.
    pub random: u32,
    /// Algorithms to force.
    pub algorithms: &'static [Algorithm],
    /// The groups to try; empty means all.
    pub only: &'static [&'static str],
    /// Types that the variant hides; where `SPMV_REQUIRE` names the backend, every other must be there.
    pub hides: DtypeSet,
}

impl<F> Variant<F> {
    /// A variant that tries the plan's own tiling and repair.
    pub fn new(label: &'static str, open: F) -> Self {
        Self {
            label,
            open,
            tilings: vec![],
            fixups: vec![Fixup::Auto],
            random: 200,
            algorithms: ALGORITHMS,
            only: &[],
            hides: DtypeSet::NONE,
        }
    }
}

/// The algorithms, each to be forced on every value type.
pub const ALGORITHMS: &[Algorithm] = Algorithm::ALL.split_at(1).1;

/// What is tried with the memory of the variant at that position: all on the first one, and in the full suite.
fn with_memory<F>(variant: &Variant<F>, at: usize) -> &'static [Algorithm] {
    if at == 0 || is_full() { variant.algorithms } else { of_memory() }
}

/// Enough where variants differ in their memory alone: the first algorithm of each way in which sums come to their rows. It has a kernel of
/// its own: others cut a matrix into many launches, which take long where buffers are small.
pub fn of_memory() -> &'static [Algorithm] {
    static OF_MEMORY: LazyLock<Vec<Algorithm>> = LazyLock::new(|| {
        let is_it = |a: &Algorithm, sums| {
            a.facts().is_some_and(|f| f.sums == sums && !f.on_cores && f.kernel.stem() == a.name())
        };
        let of = |sums: Sums| ALGORITHMS.iter().copied().find(|a| is_it(a, sums));
        [Sums::Repaired, Sums::Direct, Sums::Joined].into_iter().filter_map(of).collect()
    });
    &OF_MEMORY
}

/// The algorithm whose sums may be stored in wrong rows.
fn speculative() -> Algorithm {
    of_memory()[0]
}

/// Bytes over those of CSR up to which layouts are tried: far more than they allow by themselves, so that few matrices
/// are refused.
const MOST_BLOW_UP: f64 = 150.0;

/// Regular parts of algorithms that have one: as the planned tiling's trials take it, and in turn for other tilings, so narrow
/// that most entries are among the rest of their rows.
const REGULAR_WIDTHS: [Option<usize>; 3] = [None, Some(0), Some(2)];

/// All trials of a backend.
pub fn suite<B: Backend, F: Fn() -> Result<B>>(variants: Vec<Variant<F>>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (at, variant) in variants.into_iter().enumerate() {
        let label = format!("{}-{}", B::NAME, variant.label);
        match (variant.open)().map(Device::new) {
            Ok(Ok(device)) => {
                trials.push(captures(&label, &device));
                of_device(&label, &device, &variant, at, &mut trials);
                trials.extend(laid_out_by_devices(&label, &device, &variant));
                trials.extend(canaries::trials(&label, &device, &variant, at));
                trials.extend(figure3::trials(&label, &device, &variant));
                trials.extend(sharing::trials(&label, &device, &variant, at));
                trials.extend(new_values::trials(&label, &device, &variant, at));
                trials.extend(epilogues::trials(&label, &device, &variant, at));
                // Of operations on vectors a variant after the first tries an eighth in turn.
                let of_vectors = vectors::trials(&label, &device).into_iter();
                let of_vectors = of_vectors.chain(by_indices::trials(&label, &device));
                let of_vectors = of_vectors.chain(blocks::trials(&label, &device, at));
                let is_due = |i: usize| at == 0 || is_full() || i % 8 == at % 8;
                trials.extend(of_vectors.enumerate().filter(|(i, _)| is_due(*i)).map(|(_, trial)| trial));
            }
            Ok(Err(e)) => trials.push(absent(&label, B::NAME, &e.to_string())),
            Err(e) => trials.push(absent(&label, B::NAME, &e.to_string())),
        }
    }
    trials
}

/// Whether `SPMV_REQUIRE` lists `name`.
pub fn is_required(name: &str) -> bool {
    spmv_backend::env::lists("SPMV_REQUIRE", name)
}

/// Runs trials as the command line asks, and ends the process. Where that names no number of threads it is `threads`, or as
/// many as there are cores.
pub fn run(trials: Vec<Trial>, threads: Option<usize>) -> ! {
    let mut arguments = libtest_mimic::Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(threads);
    libtest_mimic::run(&arguments, trials).exit()
}

/// Whether the device can capture: then every check replays captured runs too, else the list of trials says why not.
fn captures<B: Backend>(label: &str, device: &Device<B>) -> Trial {
    let nothing = |device: &Device<B>| {
        let stream = device.backend().open_stream(false)?;
        device.backend().capture(&stream, || Ok(())).map(drop)
    };
    match nothing(device) {
        Err(e @ spmv_backend::Error::Unsupported { .. }) if !expected::captures::<B>() => {
            Trial::test(format!("{label}/captures [{e}]"), || Ok(())).with_ignored_flag(true)
        }
        result => {
            Trial::test(format!("{label}/captures"), || result.map_err(|e| Failed::from(e.to_string())))
        }
    }
}

/// What stands for the trials of a backend that does not open: a failure if it is required.
pub fn absent(label: &str, backend: &str, reason: &str) -> Trial {
    let reason = reason.to_owned();
    let name = format!("{label}/opens [{reason}]");
    if is_required(backend) {
        return Trial::test(name, move || Err(Failed::from(reason)));
    }
    Trial::test(name, || Ok(())).with_ignored_flag(true)
}

fn of_device<B: Backend, F>(
    label: &str,
    device: &Device<B>,
    variant: &Variant<F>,
    at: usize,
    trials: &mut Vec<Trial>,
) {
    for (turn, &algorithm) in variant.algorithms.iter().enumerate() {
        let Some(facts) = algorithm.facts() else { continue };
        // What takes longest is compiling kernels.
        if at > 0 && !is_full() && !(turn + at).is_multiple_of(one_of(variant)) {
            continue;
        }
        let can_be_refused = algorithm.has_own_layout() && device.caps().storage.contains(Dtype::F32);
        if can_be_refused && variant.only.is_empty() && (at == 0 || is_full()) {
            let device = device.clone();
            let refusals = move || refusals::check(&device, algorithm);
            trials.push(trial(format!("{label}/{algorithm}/f32/refusals"), Box::new(refusals)));
        }
        let tilings = tilings(&variant.tilings, facts, at, turn).map(Some);
        let fixups: &[Fixup] = match facts.sums {
            Sums::Repaired => &variant.fixups,
            Sums::Direct | Sums::Joined => &[Fixup::Auto],
        };
        if at == 0 && variant.only.is_empty() {
            trials.extend(large(label, device, algorithm));
            let planned = Options { max_blow_up: MOST_BLOW_UP, algorithm, ..Options::default() };
            for types in mixed(turn).into_iter().filter(|_| has_own_kernel(algorithm, facts) || is_full()) {
                let options = Options { values: Some(types.value), ..planned };
                let combination =
                    Combination { dtype: types.vector, options, share: Share::of(turn), every: OF_MIXED };
                of_combination(label, device, combination, variant, trials);
            }
        }
        let ways = std::iter::once(None).chain(tilings).flat_map(|t| fixups.iter().map(move |f| (t, *f)));
        for (way, (tiling, fixup)) in ways.enumerate() {
            let regular_width = REGULAR_WIDTHS[way % REGULAR_WIDTHS.len()];
            let options = Options {
                algorithm,
                tiling,
                fixup,
                max_blow_up: MOST_BLOW_UP,
                regular_width,
                ..Options::default()
            };
            let share = Share::of(at + turn + way);
            let dtypes = match (at, way) {
                (0, 0) if has_every_kind(algorithm, facts, device.caps()) => one_of_each_kind(turn),
                (0, 0) => share.part(&Dtype::ALL, 3),
                _ => share.dtypes(|dtype| can(device, dtype, &options).is_ok()),
            };
            for (i, dtype) in dtypes.into_iter().enumerate() {
                let share = Share::of(at + turn + way + i);
                let combination = Combination { dtype, options, share, every: OF_PLAIN[at.min(1)] };
                of_combination(label, device, combination, variant, trials);
            }
        }
    }
}

/// Whether an algorithm runs in a type of each kind as it is planned: those that the heuristic takes on such a device, but for what runs the kernel of
/// another, which that runs in all of them.
fn has_every_kind(algorithm: Algorithm, facts: &Facts, caps: &DeviceCaps) -> bool {
    facts.by_heuristic && (caps.tasks || !facts.on_cores) && has_own_kernel(algorithm, facts)
}

/// Whether no other algorithm runs its kernel in more types.
fn has_own_kernel(algorithm: Algorithm, facts: &Facts) -> bool {
    facts.kernel.stem() == algorithm.name()
}

/// Tilings that an algorithm is tried with besides the planned one. One is enough for kernels that only know how many lanes a group has, and
/// S. By default it is enough where a variant after the first differs in something else, and unless sums are repaired.
fn tilings(of: &[Tiling], facts: &Facts, at: usize, turn: usize) -> impl Iterator<Item = Tiling> {
    let most = match facts.sums {
        _ if facts.row_a_lane => 1,
        _ if is_full() => of.len(),
        Sums::Repaired if at == 0 => of.len(),
        _ => 1,
    };
    let from = if most < of.len() { turn % of.len() } else { 0 };
    of.iter().copied().cycle().skip(from).take(most.min(of.len()))
}

/// Whether sums of the algorithm may be stored in wrong rows, and are repaired.
fn is_repaired(algorithm: Algorithm) -> bool {
    algorithm.facts().is_some_and(|facts| facts.sums == Sums::Repaired)
}

/// Wherever sums of the algorithm are repaired, if they are.
fn fixups(algorithm: Algorithm) -> &'static [Fixup] {
    if is_repaired(algorithm) { &[Fixup::Host, Fixup::Device] } else { &[Fixup::Auto] }
}

/// The tiling that is forced on an algorithm where others run as planned by default, by kernels that more trials compile: small tiles are dirty
/// where sums are repaired.
fn forced<F>(variant: &Variant<F>, algorithm: Algorithm) -> Option<Tiling> {
    variant.tilings.first().copied().filter(|_| is_repaired(algorithm) || is_full())
}

/// Trials with a large matrix, for one algorithm of each kind that takes it: in tiles so small that group indices need more than 16 bits, and as
/// planned where there are none.
fn large<B: Backend>(label: &str, device: &Device<B>, algorithm: Algorithm) -> Vec<Trial> {
    let is_tried =
        |facts: &&Facts| facts.refuses.is_empty() && (of_memory().contains(&algorithm) || is_full());
    if algorithm.facts().filter(is_tried).is_none() {
        return Vec::new();
    }
    let options = |tiling| Options { algorithm, tiling, ..Options::default() };
    let has = |tiling: &Tiling| can(device, Dtype::F32, &options(Some(*tiling))).is_ok();
    let smallest = [4, 32].into_iter().filter_map(|lanes| Tiling::new(lanes, 1, 1, 1).ok());
    let small = smallest.filter(|_| is_repaired(algorithm)).find(has);
    let planned = (small.is_none() || is_full()).then_some(None);
    let tilings = planned.into_iter().chain(small.map(Some));
    let on_cores = device.caps().kind == DeviceKind::Cpu && !is_full();
    let of_tiling = |tiling: Option<Tiling>| {
        let (device, options) = (device.clone(), options(tiling));
        let tiling = tiling.map_or_else(|| "planned".to_owned(), |t| t.to_string());
        let large = move || {
            let checked = check::<B, f32>(&device, &options, corpus::large(on_cores), &[(-2.0, 3.0)])?;
            checked.ok_or_else(|| "refused".to_owned())
        };
        trial(format!("{label}/{algorithm}/f32/{tiling}/large"), Box::new(large))
    };
    tilings.map(of_tiling).collect()
}

/// Trials with matrices that the device lays out itself, of algorithms that have slices.
fn laid_out_by_devices<B: Backend, F>(label: &str, device: &Device<B>, variant: &Variant<F>) -> Vec<Trial> {
    let is_tried = device.caps().memory == MemoryModel::Discrete && variant.only.is_empty();
    let is_it = |facts: &Facts| {
        facts.by_heuristic && !facts.on_cores && facts.own_layout && facts.sums == Sums::Joined
    };
    let has_slices = |a: &&Algorithm| a.facts().is_some_and(is_it);
    let of_algorithm = |algorithm: &Algorithm| {
        let options = Options { algorithm: *algorithm, max_blow_up: MOST_BLOW_UP, ..Options::default() };
        let device = device.clone();
        let each = move || {
            corpus::laid_out_by_devices().iter().try_fold(0, |dirty, case| {
                let checked = check::<B, f32>(&device, &options, case, &[(-2.0, 3.0)])?;
                checked.map(|more| dirty + more).ok_or_else(|| "refused".to_owned())
            })
        };
        trial(format!("{label}/{algorithm}/f32/planned/laid_out_by_devices"), Box::new(each))
    };
    ALGORITHMS.iter().filter(|_| is_tried).filter(has_slices).map(of_algorithm).collect()
}

/// A variant after the first tries one of this many algorithms, in turn; of few groups more.
fn one_of<F>(variant: &Variant<F>) -> usize {
    let many = if variant.only.is_empty() { 5 } else { 2 };
    many.min(variant.algorithms.len())
}

/// An algorithm runs in a type on one of this many groups, fewer on variants after the first; in types that follow each other on different ones.
const OF_PLAIN: [usize; 2] = [12, 16];

/// Both real types that sums have, and in turn one of those that are widened and one of the complex types; or all in the full suite. Between
/// two widened types, and two complex ones, kernels differ in nothing but their arithmetic.
fn one_of_each_kind(turn: usize) -> Vec<Dtype> {
    let (complex, reals): (Vec<Dtype>, Vec<Dtype>) =
        Dtype::ALL.into_iter().partition(|dtype| dtype.is_complex());
    let (sums, widened): (Vec<Dtype>, Vec<Dtype>) =
        reals.into_iter().partition(|dtype| dtype.accum() == *dtype);
    let in_turn = |kind: &[Dtype]| Share::of(turn).part(kind, kind.len());
    [sums, in_turn(&widened), in_turn(&complex)].concat()
}

/// With values in a narrower type than vectors an algorithm runs on one of this many groups.
const OF_MIXED: usize = 8;

/// Pairs of types that the algorithm at that position is tried with, values narrower than vectors: the last pair, or for every third
/// algorithm another one, in turn; with `SPMV_FULL=1` every pair.
pub(crate) fn mixed(turn: usize) -> Vec<Types> {
    let all = Types::mixed();
    let (last, others) = all.split_last().expect("there are pairs");
    match (is_full(), turn % 3) {
        (true, _) => all.to_vec(),
        (false, 0) => vec![others[turn / 3 % others.len()]],
        (false, _) => vec![*last],
    }
}

/// Whether the device can do this at all: a plan for one entry says so.
fn can<B: Backend>(device: &Device<B>, dtype: Dtype, options: &Options) -> spmv_exec::Result<()> {
    let one = spmv_core::RowStats { n_rows: 1, n_cols: 1, nnz: 1, max: 1, ..Default::default() };
    spmv_exec::plan(&one, dtype, device.caps(), None, options).map(drop)
}

/// One value type with one set of options. By default it runs on one of `every` groups of the corpus.
struct Combination {
    dtype: Dtype,
    options: Options,
    share: Share,
    every: usize,
}

fn of_combination<B: Backend, F>(
    label: &str,
    device: &Device<B>,
    combination: Combination,
    variant: &Variant<F>,
    trials: &mut Vec<Trial>,
) {
    let Combination { dtype, options, share, every } = combination;
    let tiling = options.tiling.map_or_else(|| "planned".to_owned(), |t| t.to_string());
    let fixup = match options.fixup {
        Fixup::Auto => "",
        Fixup::Host => "/host",
        Fixup::Device => "/device",
    };
    let types = Types::stored_as(options.values.unwrap_or(dtype), dtype).expect("a pair that is built");
    let name = format!("{label}/{}/{types}/{tiling}{fixup}", options.algorithm);
    if let Err(e) = can(device, dtype, &options) {
        let lacks = expected::lacks(is_required(B::NAME), variant.hides, device.caps());
        let asked = expected::Asked::new(device.caps(), lacks, dtype, &options);
        let (name, reason) = (format!("{name} [{e}]"), format!("not an expected refusal: {e}"));
        trials.push(match expected::is_expected(&asked, &reason) {
            true => Trial::test(name, || Ok(())).with_ignored_flag(true),
            false => Trial::test(name, || Err(Failed::from(reason))),
        });
        return;
    }
    let mut push = |case: &str, f: Box<dyn Fn() -> Check + Send>| {
        if variant.only.is_empty() || variant.only.contains(&case) {
            trials.push(trial(format!("{name}/{case}"), f));
        }
    };
    // A variant that tries few groups tries each.
    let every = if variant.only.is_empty() { every } else { 1 };
    let mut groups = share.part(&corpus::groups(), every);
    // What it is for, it tries in every type.
    if options.algorithm == Algorithm::Sss && groups.iter().all(|(name, _)| *name != corpus::SYMMETRIC) {
        groups.extend(corpus::groups().into_iter().filter(|(name, _)| *name == corpus::SYMMETRIC));
    }
    for (case, matrices) in groups {
        let device = device.clone();
        push(
            case,
            Box::new(move || by_dtype!(dtype, T => group::<B, T>(&device, &options, &*matrices, share))),
        );
    }
    let (device, random) = (device.clone(), share.random(variant.random));
    push(
        "random",
        Box::new(move || by_dtype!(dtype, T => random::check::<B, T>(&device, &options, random, share))),
    );
}

/// Runs a group of matrices, which is made for the tiling that the plan settles on.
fn group<B: Backend, T: Value>(
    device: &Device<B>,
    options: &Options,
    matrices: &corpus::Matrices,
    share: Share,
) -> Check {
    let rows = spmv_core::RowStats { n_rows: 70, n_cols: 70, nnz: 3000, ..Default::default() };
    let plan = spmv_exec::plan(&rows, T::DTYPE, device.caps(), None, options).map_err(|e| e.to_string())?;
    let (mut dirty, mut multiplied) = (0, 0);
    let group = matrices(&plan.kernel.tiling, share);
    for (i, case) in group.cases.iter().enumerate() {
        let scalings = group.scalings.unwrap_or_else(|| share.scalings(i, group.cases.len()));
        let checked =
            check::<B, T>(device, options, case, scalings).map_err(|e| format!("{}: {e}", case.name))?;
        dirty += checked.unwrap_or(0);
        multiplied += usize::from(checked.is_some());
    }
    // A test that never took its path is a failure.
    if multiplied < group.least_multiplied {
        return Err(format!("only {multiplied} of {} matrices were not refused", group.cases.len()));
    }
    if group.must_be_dirty && plan.repair != Repair::None && dirty == 0 {
        return Err("no tile of this group was ever dirty".into());
    }
    Ok(dirty)
}

/// As [`trial`], or one that is ignored and says why the device cannot do it.
fn trial_where<E: std::fmt::Display>(
    can: Result<(), E>,
    name: String,
    f: Box<dyn Fn() -> Check + Send>,
) -> Trial {
    match can {
        Err(e) => Trial::test(format!("{name} [{e}]"), || Ok(())).with_ignored_flag(true),
        Ok(()) => trial(name, f),
    }
}

/// An algorithm as it is planned, on matrices that its layout pads much.
fn planned(algorithm: Algorithm) -> Options {
    Options { algorithm, max_blow_up: MOST_BLOW_UP, ..Options::default() }
}

fn trial(name: String, f: Box<dyn Fn() -> Check + Send>) -> Trial {
    let known = EXPECTED_FAILURES.iter().find(|(prefix, _)| name.starts_with(prefix));
    let f = Arc::new(std::sync::Mutex::new(f));
    Trial::test(name, move || {
        let result = f.lock().expect("no earlier panic")();
        match (result, known) {
            (Ok(_), None) | (Err(_), Some(_)) => Ok(()),
            (Ok(_), Some((_, why))) => Err(format!("passes, but is expected to fail: {why}").into()),
            (Err(e), None) => Err(e.into()),
        }
    })
}
