//! Which algorithm `Auto` stands for: the heuristic's choice, unless another is predicted to be faster by far.

use spmv_backend::{DeviceCaps, KernelSpec, Types};
use spmv_core::MatrixStats;
use spmv_model::{Profile, Work};

use crate::algorithms::{Algorithm, Known};
use crate::measured::{AUTO, Bound};
use crate::method::{Effort, Launch, Storage};
use crate::options::Options;

/// Override the heuristic only if the prediction is at most this share of its choice's time: predictions are off by some
/// 15%, and layouts cost something to make.
const WORTH: Bound<f64> = Bound { is: 0.85, by: AUTO };

/// An algorithm that could multiply, and the time predicted for it.
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, MemoryModel};
/// use spmv_core::{Csr, Dtype, MatrixStats};
/// use spmv_exec::{Candidate, Options, Profile, plan};
/// let caps = DeviceCaps::new("some CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
/// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f64), (1, 0, 3.0)])?;
/// let plan = plan(MatrixStats::of(a.view()), Dtype::F64, &caps, Some(Profile::cpu()), &Options::default())?;
/// let fastest: &Candidate = &plan.candidates[0];
/// assert!(fastest.seconds <= plan.seconds().unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Never `Auto`.
    pub algorithm: Algorithm,
    /// Its kernel.
    pub kernel: KernelSpec,
    /// Predicted time of a multiplication.
    pub seconds: f64,
}

/// Every algorithm that the profile knows for values of the type of `x`, whose time it foretells, and that takes the matrix, the fastest first. `kernel` says what an algorithm
/// would run, if the device can.
pub(crate) fn candidates(
    stats: &MatrixStats,
    types: Types,
    caps: &DeviceCaps,
    profile: &Profile,
    options: &Options,
    kernel: impl Fn(Known) -> Option<KernelSpec>,
) -> Vec<Candidate> {
    let candidate = |known: Known| {
        let kernel = kernel(known)?;
        let algorithm = Algorithm::from(known);
        let takes = takes(known, &kernel, stats, caps, options) && known.method().is_foretold(stats, caps);
        let rates = profile.rates(known.method().facts().rates, types.vector).filter(|_| takes)?;
        Some(Candidate { algorithm, kernel, seconds: rates.seconds(&work(known, &kernel, stats, caps)) })
    };
    let mut all: Vec<_> = Known::ALL.iter().copied().filter_map(candidate).collect();
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    all
}

/// Whether the layout of an algorithm takes the matrix.
pub(crate) fn takes(
    known: Known,
    kernel: &KernelSpec,
    stats: &MatrixStats,
    caps: &DeviceCaps,
    options: &Options,
) -> bool {
    match known.method().storage(stats, kernel, caps) {
        Storage::Csr => true,
        Storage::Own(cost) => cost.check(Algorithm::from(known).name(), options.max_blow_up).is_ok(),
        Storage::Unknown => false,
    }
}

/// What an algorithm does for a matrix, in counts that its predicted time is a sum over.
fn work(known: Known, kernel: &KernelSpec, stats: &MatrixStats, caps: &DeviceCaps) -> Work {
    let rows = &stats.rows;
    let Effort { slots, longest, groups } = known.method().effort(&Launch { kernel, rows, caps }, stats);
    let most = f64::from(caps.compute_units.max(1));
    let threads = if caps.tasks { groups.ceil().clamp(1.0, most) } else { 1.0 };
    Work {
        thread_wakeups: if threads > 1.0 { 1.0 } else { 0.0 },
        slots: slots / threads,
        rows: rows.n_rows as f64 / threads,
        critical_path: longest,
        x_cache_lines: rows.nnz as f64 * stats.scatter / threads,
    }
}

/// What the kernel of a plan does for a matrix of these statistics on such a device; `None` for `Auto`, and where statistics
/// do not say what a layout takes. O(1).
///
/// ```
/// use spmv_backend::{DeviceCaps, DeviceKind, KernelId, KernelSpec, Lanes, MemoryModel};
/// use spmv_core::{Csr, Dtype, MatrixStats, Tiling};
/// use spmv_exec::{Algorithm, work_of};
/// let caps = DeviceCaps::new("a GPU", DeviceKind::DiscreteGpu, MemoryModel::Discrete);
/// let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f32), (1, 1, 1.0), (2, 0, 1.0), (2, 1, 1.0), (2, 2, 1.0)])?;
/// let spec = |id| KernelSpec::new(id, Dtype::F32, Lanes::Subgroup, Tiling::new(2, 1, 1, 1).unwrap());
/// let work = |algorithm: Algorithm| {
///     let kernel = spec(algorithm.facts().unwrap().kernel);
///     work_of(algorithm, &kernel, &MatrixStats::of(a.view()), &caps).unwrap()
/// };
/// assert_eq!((work(Algorithm::CsrVector).slots, work(Algorithm::CsrVector).critical_path), (5.0, 1.5));
/// assert_eq!((work(Algorithm::Ell).slots, work(Algorithm::Ell).critical_path), (9.0, 3.0));
/// # Ok::<(), spmv_core::CsrError>(())
/// ```
pub fn work_of(
    algorithm: Algorithm,
    kernel: &KernelSpec,
    stats: &MatrixStats,
    caps: &DeviceCaps,
) -> Option<Work> {
    let known = algorithm.known()?;
    let is_known = known.method().storage(stats, kernel, caps) != Storage::Unknown;
    is_known.then(|| work(known, kernel, stats, caps))
}

/// What `Auto` stands for, and why: of the algorithms whose layout takes the matrix.
pub(crate) fn choose(
    stats: &MatrixStats,
    types: Types,
    caps: &DeviceCaps,
    profile: Option<&Profile>,
    candidates: &[Candidate],
    takes: impl Fn(Known) -> bool,
) -> (Known, &'static str) {
    let (rule, reason) = by_rule(stats, types, caps, takes);
    let seconds_of = |known| candidates.iter().find(|c| c.algorithm == known).map(|c| c.seconds);
    // Times of another processor override nothing.
    let is_own = profile.is_some_and(|profile| !profile.is_built_in());
    let Some(of_rule) = seconds_of(rule.into()).filter(|_| is_own) else { return (rule, reason) };
    let may_be_taken = |c: &&Candidate| c.algorithm.facts().is_some_and(|facts| !facts.by_name_only);
    let Some(best) = candidates.iter().find(may_be_taken) else { return (rule, reason) };
    match best.algorithm.known() {
        Some(known) if known == rule => (rule, "predicted to be fastest"),
        Some(known) if best.seconds <= WORTH.is * of_rule => (known, "predicted to be fastest by far"),
        _ => (rule, reason),
    }
}

/// Without a prediction: what was found on the devices of `docs/performance.md`.
fn by_rule(
    stats: &MatrixStats,
    types: Types,
    caps: &DeviceCaps,
    takes: impl Fn(Known) -> bool,
) -> (Known, &'static str) {
    let suits = |known: &Known| known.method().suits(stats, types, caps).map(|why| (*known, why));
    Known::ALL
        .iter()
        .filter(|known| takes(**known))
        .find_map(suits)
        .unwrap_or((Known::MergePath, "no other suits the matrix"))
}

#[cfg(test)]
mod tests {
    use spmv_backend::{DeviceKind, DtypeSet, KernelId, MemoryModel};
    use spmv_core::{Dtype, HybShape, RowStats};
    use spmv_model::{KernelRates, Rates};

    use super::*;
    use crate::{Plan, plan};

    /// Not known to be a discrete GPU, for which the rules take `sell`.
    fn caps() -> DeviceCaps {
        let mut caps = DeviceCaps::new("a GPU", DeviceKind::Other, MemoryModel::Discrete);
        caps.subgroup = Some((32, 32));
        caps
    }

    /// In which a kernel takes so many seconds for each nonzero and padding slot.
    fn profile(of: &[(KernelId, f64)]) -> Profile {
        named_profile(of.iter().map(|(kernel, per_slot)| (kernel.stem(), *per_slot)))
    }

    fn named_profile(of: impl IntoIterator<Item = (&'static str, f64)>) -> Profile {
        let mut profile = Profile::new(&caps());
        for (kernel, per_slot) in of {
            let work = |slots| Work {
                thread_wakeups: 0.0,
                slots,
                rows: 0.0,
                critical_path: 0.0,
                x_cache_lines: 0.0,
            };
            let rates = Rates::fit(&[1e3, 1e4].map(|slots| (work(slots), per_slot * slots)));
            profile.put_rates(KernelRates { kernel: kernel.into(), value: "f32".into(), rates });
        }
        profile
    }

    fn stats() -> MatrixStats {
        let rows =
            RowStats { n_rows: 1000, n_cols: 1000, nnz: 5000, mean: 5.0, max: 6, ..Default::default() };
        MatrixStats { diagonals: Some(7), ..MatrixStats::from(&rows) }
    }

    fn planned(stats: MatrixStats, profile: &Profile, options: Options) -> Plan {
        plan(stats, Dtype::F32, &caps(), Some(profile), &options).unwrap()
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.candidates.iter().map(|c| c.algorithm.name()).collect()
    }

    #[test]
    fn what_is_there_to_compare_with_is_taken_by_name_alone() {
        use KernelId::{CsrVector, IpcsrPublished};
        let profile = profile(&[(CsrVector, 3e-9), (IpcsrPublished, 1e-9)]);
        let auto = planned(stats(), &profile, Options::default());
        assert_eq!(names(&auto), ["ipcsr_published", "csr_vector"]);
        assert_eq!(auto.algorithm, Algorithm::CsrVector);
        let asked = Options { algorithm: Algorithm::IpcsrPublished, ..Options::default() };
        assert_eq!(planned(stats(), &profile, asked).algorithm, Algorithm::IpcsrPublished);
    }

    #[test]
    fn all_predicted_times_are_reported_and_the_heuristic_stands_where_it_is_fastest() {
        use KernelId::{CsrVector, Ipcsr, MergePath};
        let profile = profile(&[(MergePath, 3e-9), (CsrVector, 2e-9), (Ipcsr, 4e-9)]);
        let auto = planned(stats(), &profile, Options::default());
        assert_eq!(auto.algorithm, Algorithm::CsrVector);
        assert!((auto.seconds().unwrap() - 1e-5).abs() < 1e-12);
        let told = "csr_vector: predicted to be fastest\n  predicted: csr_vector 10.0 us, merge_path 15.0 us, ipcsr 20.0 us";
        assert!(auto.explain().ends_with(told), "{}", auto.explain());
        let asked = Options { algorithm: Algorithm::Ipcsr, ..Options::default() };
        let asked = planned(stats(), &profile, asked);
        assert!((asked.seconds().unwrap() - 2e-5).abs() < 1e-12);
        assert!(asked.explain().contains("ipcsr: asked for"), "{}", asked.explain());
    }

    #[test]
    fn what_the_rules_do_not_name_must_be_worth_it_and_take_the_matrix() {
        use KernelId::{CsrVector, Dia, Ell, Jad};
        // Ell has 6 slots for 5 entries, Dia 7.
        let by = |ell: f64| profile(&[(CsrVector, 1e-9), (Ell, ell), (Jad, 2e-9), (Dia, 3e-9)]);
        let (worth, not) = (by(0.7e-9), by(0.72e-9));
        assert_eq!(planned(stats(), &worth, Options::default()).algorithm, Algorithm::Ell);
        let planned_not = planned(stats(), &not, Options::default());
        assert_eq!(planned_not.algorithm, Algorithm::CsrVector);
        assert_eq!(names(&planned_not), ["ell", "csr_vector", "jad", "dia"]);
        assert!(planned_not.explain().contains("rows are so even"), "{}", planned_not.explain());
        let long = MatrixStats { rows: RowStats { max: 100, ..stats().rows }, diagonals: None, ..stats() };
        assert_eq!(names(&planned(long, &worth, Options::default())), ["csr_vector", "jad"]);
        let never = Options { max_blow_up: 0.5, ..Options::default() };
        assert_eq!(names(&planned(stats(), &worth, never)), ["csr_vector"]);
    }

    #[test]
    fn cores_take_a_few_full_diagonals_as_such_without_a_profile_too() {
        let mut caps = DeviceCaps::new("a CPU", DeviceKind::Cpu, MemoryModel::UnifiedCoherent);
        let taken_of = |caps: &DeviceCaps, nnz: usize, of_row: usize, diagonals| {
            let (n_rows, mean) = (nnz / of_row, of_row as f64);
            let rows = RowStats { n_rows, n_cols: n_rows, nnz, mean, max: of_row, ..Default::default() };
            let stats = MatrixStats { diagonals: Some(diagonals), ..MatrixStats::from(&rows) };
            plan(stats, Dtype::F64, caps, None, &Options::default()).unwrap().algorithm
        };
        let taken = |caps: &DeviceCaps, nnz, diagonals| taken_of(caps, nnz, 5, diagonals);
        for gathers in [DtypeSet::NONE, DtypeSet::ALL] {
            caps.gathers = gathers;
            assert_eq!(taken(&caps, 100_000, 5), Algorithm::Dia);
            assert_eq!(taken_of(&caps, 1_000_000, 65, 65), Algorithm::Dia, "a band");
            assert_ne!(taken_of(&caps, 1_000_000, 130, 130), Algorithm::Dia, "a wide band");
            assert_ne!(taken(&caps, 100_000, 40), Algorithm::Dia);
            assert_eq!(taken(&caps, 1000, 5), Algorithm::MergePath, "too small for a layout of its own");
        }
    }

    #[test]
    fn on_integrated_devices_a_profile_overrides_speculation_by_prediction() {
        use KernelId::{Ipcsr, MergePath, SpecSegsum};
        let mut caps = DeviceCaps::new("a chip", DeviceKind::IntegratedGpu, MemoryModel::UnifiedCoherent);
        (caps.subgroup, caps.cross_block_reduction) = (Some((2, 32)), true);
        let uneven = MatrixStats { rows: RowStats { max: 900, ..stats().rows }, ..stats() };
        let taken = |ipcsr: f64| {
            let profile = profile(&[(SpecSegsum, 1e-9), (Ipcsr, ipcsr), (MergePath, 2e-9)]);
            plan(uneven, Dtype::F32, &caps, Some(&profile), &Options::default()).unwrap().algorithm
        };
        let speculative = Algorithm::SpeculativeSegmentedSum;
        assert_eq!([0.8e-9, 0.9e-9, 3e-9].map(taken), [Algorithm::Ipcsr, speculative, speculative]);
    }

    #[test]
    fn an_algorithm_that_starts_the_kernels_of_others_has_rates_of_its_own() {
        // Of 5000 entries 4000 in ELL; the others take as long as three slots each.
        let shape = HybShape { width: 4, rest: 1000 };
        let stats = MatrixStats { hyb: Some(shape), ..stats() };
        let rates = [("csr_vector", 1e-9), ("ell", 1e-9), ("coo", 1e-9), ("hyb", 2e-9)];
        let seconds = |plan: &Plan, of: Algorithm| {
            plan.candidates.iter().find(|c| c.algorithm == of).map(|c| (c.seconds * 1e9).round())
        };
        let all = planned(stats, &named_profile(rates), Options::default());
        let times = [Algorithm::Ell, Algorithm::Coo, Algorithm::Hyb].map(|of| seconds(&all, of));
        assert_eq!(times, [Some(6000.0), Some(5000.0), Some(14_000.0)]);
        let others = planned(stats, &named_profile(rates[..3].iter().copied()), Options::default());
        assert_eq!(seconds(&others, Algorithm::Hyb), None);
        let unknown = MatrixStats { hyb: None, ..stats };
        let unknown = planned(unknown, &named_profile(rates), Options::default());
        assert_eq!(seconds(&unknown, Algorithm::Hyb), None, "nothing says what it takes");
    }

    #[test]
    fn times_of_another_processor_override_no_rule() {
        use KernelId::{CsrVector, MergePath};
        // The rules take csr_vector.
        let of = |merge_path: f64| profile(&[(CsrVector, 1e-9), (MergePath, merge_path)]).to_built_in();
        let taken = |merge_path: f64| planned(stats(), &of(merge_path), Options::default()).algorithm;
        assert_eq!([taken(0.8e-9), taken(1e-12)], [Algorithm::CsrVector; 2]);
        let told = planned(stats(), &of(0.8e-9), Options::default()).explain();
        assert!(
            told.contains("one launch; rows are so even")
                && told.contains("of another processor; Context::fit"),
            "{told}"
        );
    }

    #[test]
    fn without_rates_of_the_type_or_of_what_the_rules_take_the_rules_stand() {
        let other = profile(&[(KernelId::Jad, 1e-12)]);
        assert_eq!(planned(stats(), &other, Options::default()).algorithm, Algorithm::CsrVector);
        let plan = plan(stats(), Dtype::F64, &caps(), Some(&other), &Options::default()).unwrap();
        assert_eq!((plan.algorithm, plan.seconds()), (Algorithm::CsrVector, None));
        assert!(plan.candidates.is_empty());
    }

    #[test]
    fn with_a_tiling_of_ones_own_the_rules_stand() {
        use KernelId::{CsrVector, MergePath};
        let profile = profile(&[(CsrVector, 2e-9), (MergePath, 1e-9)]);
        let tiling = spmv_core::Tiling::new(32, 1, 1, 4).unwrap();
        let plan = planned(stats(), &profile, Options { tiling: Some(tiling), ..Options::default() });
        assert_eq!((plan.algorithm, plan.kernel.tiling), (Algorithm::CsrVector, tiling));
        assert_eq!((plan.seconds(), plan.candidates.len()), (None, 0));
    }
}
