//! Trials on the matrix itself: candidates are prepared one after the other, timed, and the fastest is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use num_traits::{one, zero};
use spmv_backend::{Backend, Error as DeviceError, HostArray};
use spmv_core::{CsrView, MatrixStats, Offset, Value};

use crate::algorithms::Algorithm;
use crate::alternatives::{algorithms, tilings};
use crate::choice::{Choice, Trial};
use crate::device::DeviceVec;
use crate::error::{Error, Result};
use crate::method::Repair;
use crate::options::{Options, Tune};
use crate::plan::{Given, Inputs};
use crate::prepared::Prepared;
use crate::workspace::Workspace;

/// Candidates at most, the planned one included.
const QUICK: usize = 10;
const THOROUGH: usize = 40;
/// Algorithms whose tilings [`Tune::Thorough`] tries.
const FASTEST: usize = 2;
/// Share of the planned candidate's time that another may take at most: less is noise.
const WORTH: f64 = 0.98;

/// Products before those that count, and the least time that they take: the first may load code, and threads that sleep are slow.
const FIRST: (usize, Duration) = (2, Duration::from_millis(2));
/// Time after which no further product counts, and the most that count.
const ENOUGH: Duration = Duration::from_millis(20);
const MOST: usize = 500;
/// Parts of the products that count; the least of their medians is the time.
const PARTS: usize = 3;
/// Products of a graph at most, and replays that it is made for.
const OF_A_GRAPH: u32 = 20;
const REPLAYS: u32 = 12;
/// A product that takes so many times as long as the best, and so much longer, is not timed again.
const HOPELESS: (f64, f64) = (4.0, 50e-6);

/// The fastest of the candidates that the options ask to be timed; `planned`, if none takes less than 98% of its time.
///
/// # Errors
/// Failures of the device. A candidate that the layout or the device refuses, or that finds no memory, is left out.
pub(crate) fn tuned<B: Backend, V: Value, T: Value, O: Offset>(
    planned: Prepared<B, T>,
    a: CsrView<'_, V, O>,
    given: &[Arc<dyn HostArray>],
    options: &Options,
) -> Result<Prepared<B, T>> {
    let leaves_nothing_open = options.algorithm != Algorithm::Auto && options.tiling.is_some();
    if options.tune == Tune::Off || leaves_nothing_open || a.nnz() == 0 {
        return Ok(planned);
    }
    let mut vectors = Vectors::new(&planned)?;
    tuned_by(planned, a, given, options, &mut |prepared, best_s| vectors.seconds(prepared, best_s))
}

/// Seconds of a product. Where it takes far longer than the second argument, they need not be exact.
type Time<'t, B, T> = dyn FnMut(&Prepared<B, T>, f64) -> Result<f64> + 't;

/// The same by any times.
fn tuned_by<B: Backend, V: Value, T: Value, O: Offset>(
    planned: Prepared<B, T>,
    a: CsrView<'_, V, O>,
    given: &[Arc<dyn HostArray>],
    options: &Options,
    time: &mut Time<'_, B, T>,
) -> Result<Prepared<B, T>> {
    let is_thorough = options.tune == Tune::Thorough;
    let device = planned.device.clone();
    let (stats, plan) = (MatrixStats::of(a), planned.plan.clone());
    let of = if given.is_empty() { Given::Borrowed } else { Given::Owned };
    let inputs = Inputs { stats: &stats, types: plan.types, caps: device.caps(), options, given: of };
    let mut search = Search::begin(planned, if is_thorough { THOROUGH } else { QUICK }, time)?;
    let lay_out = |choice| device.lay_out(a, given, &options.with_choice(choice));
    let try_all = |search: &mut Search<'_, '_, B, T>, choices: Vec<Choice>| {
        choices.into_iter().try_for_each(|choice| search.attempt(choice, || lay_out(choice)))
    };
    try_all(&mut search, algorithms(&inputs, &plan))?;
    if is_thorough || options.algorithm != Algorithm::Auto {
        for choice in search.trials.fastest() {
            try_all(&mut search, tilings(&inputs, &choice))?;
        }
    }
    if is_thorough {
        let best = search.best.plan.choice();
        try_all(&mut search, tilings(&inputs, &best))?;
    }
    let Search { mut best, trials, .. } = search;
    best.plan = best.plan.with_trials(trials.all, plan);
    Ok(best)
}

/// Trials on their way. There is one more layout than the best at most.
struct Search<'s, 't, B: Backend, T: Value> {
    best: Prepared<B, T>,
    trials: Trials,
    time: &'s mut Time<'t, B, T>,
}

/// What was tried.
struct Trials {
    /// The planned candidate first.
    all: Vec<Trial>,
    /// How many there are to be at most.
    most: usize,
}

impl Trials {
    /// Whether a candidate is to be tried.
    fn want(&self, choice: &Choice) -> bool {
        self.all.len() < self.most && self.all.iter().all(|trial| trial.choice != *choice)
    }

    fn seconds(&self, of: &Choice) -> f64 {
        let trial = self.all.iter().find(|trial| trial.choice == *of);
        trial.and_then(|trial| trial.seconds).unwrap_or(f64::INFINITY)
    }

    /// Notes that a candidate was timed once more.
    fn again(&mut self, of: &Choice, seconds: f64) {
        for trial in self.all.iter_mut().filter(|trial| trial.choice == *of) {
            trial.seconds = trial.seconds.map(|before| before.min(seconds));
        }
    }

    /// The best of each of the fastest algorithms.
    fn fastest(&self) -> Vec<Choice> {
        let timed = self.all.iter().filter_map(|trial| Some((trial.seconds?, trial.choice)));
        let mut timed: Vec<_> = timed.collect();
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut fastest: Vec<Choice> = Vec::new();
        for (_, choice) in timed {
            if fastest.len() < FASTEST && fastest.iter().all(|other| other.algorithm != choice.algorithm) {
                fastest.push(choice);
            }
        }
        fastest
    }
}

impl<'s, 't, B: Backend, T: Value> Search<'s, 't, B, T> {
    fn begin(planned: Prepared<B, T>, most: usize, time: &'s mut Time<'t, B, T>) -> Result<Self> {
        let seconds = Some(time(&planned, f64::INFINITY)?);
        let all = vec![Trial { choice: planned.plan.choice(), seconds }];
        Ok(Self { best: planned, trials: Trials { all, most }, time })
    }

    /// Times a candidate that was not timed yet, and keeps it if it is the best.
    fn attempt(&mut self, choice: Choice, lay_out: impl FnOnce() -> Result<Prepared<B, T>>) -> Result<()> {
        if !self.trials.want(&choice) {
            return Ok(());
        }
        let seconds = match self.timed(lay_out) {
            Err(e) if is_of_this_candidate(&e) => None,
            Err(e) => return Err(e),
            Ok((prepared, seconds)) => Some(self.compared(prepared, seconds)?),
        };
        self.trials.all.push(Trial { choice, seconds });
        Ok(())
    }

    fn timed(&mut self, lay_out: impl FnOnce() -> Result<Prepared<B, T>>) -> Result<(Prepared<B, T>, f64)> {
        let (prepared, best_s) = (lay_out()?, self.best_s());
        let seconds = (self.time)(&prepared, best_s)?;
        Ok((prepared, seconds))
    }

    /// The candidate's seconds. One that is faster is timed again after the best, since a device may have changed its frequency meanwhile;
    /// it is kept if it is faster still.
    fn compared(&mut self, prepared: Prepared<B, T>, seconds: f64) -> Result<f64> {
        if !self.is_faster(seconds) {
            return Ok(seconds);
        }
        let again = (self.time)(&self.best, f64::INFINITY)?;
        self.trials.again(&self.best.plan.choice(), again);
        let seconds = seconds.min((self.time)(&prepared, f64::INFINITY)?);
        if self.is_faster(seconds) {
            self.best = prepared;
        }
        Ok(seconds)
    }

    /// Than the best, and by enough than the planned candidate.
    fn is_faster(&self, seconds: f64) -> bool {
        let planned_s = self.trials.all[0].seconds.unwrap_or(f64::INFINITY);
        seconds < self.best_s() && seconds <= WORTH * planned_s
    }

    fn best_s(&self) -> f64 {
        self.trials.seconds(&self.best.plan.choice())
    }
}

/// Whether another candidate may do.
fn is_of_this_candidate(e: &Error) -> bool {
    use DeviceError::{Compile, OutOfMemory, Unsupported};
    matches!(e, Error::Format(_) | Error::Device(Unsupported { .. } | Compile { .. } | OutOfMemory { .. }))
}

/// What a product reads and writes.
struct Vectors<B: Backend, T: Value> {
    x: DeviceVec<B, T>,
    y: DeviceVec<B, T::Accum>,
}

impl<B: Backend, T: Value> Vectors<B, T> {
    fn new(of: &Prepared<B, T>) -> Result<Self> {
        let rows = of.row_stats();
        let x: Vec<T> = (0..rows.n_cols).map(|i| T::from_f64(0.25 + (i % 64) as f64 / 64.0)).collect();
        Ok(Self { x: of.device.upload(&x)?, y: of.device.zeros(rows.n_rows)? })
    }

    /// Seconds of a product; of a single one, where it takes far longer than the best.
    fn seconds(&mut self, prepared: &Prepared<B, T>, best_s: f64) -> Result<f64> {
        let mut workspace = prepared.timed_workspace()?;
        let (start, mut n, mut last_s) = (Instant::now(), 0, f64::INFINITY);
        while n < FIRST.0 || start.elapsed() < FIRST.1 {
            last_s = self.run(prepared, &mut workspace)?;
            n += 1;
            if n >= FIRST.0 && last_s > HOPELESS.0 * best_s + HOPELESS.1 {
                return Ok(last_s);
            }
        }
        match self.in_a_graph(prepared, &mut workspace, last_s)? {
            Some(seconds) => Ok(seconds),
            None => repeated(|| self.run(prepared, &mut workspace)),
        }
    }

    fn run(&mut self, prepared: &Prepared<B, T>, workspace: &mut Workspace<B, T>) -> Result<f64> {
        let stats = prepared.apply(workspace, one(), &self.x, zero(), &mut self.y)?;
        Ok(stats.stage1_s + stats.stage2_s)
    }

    /// Seconds of a product among others, where the device captures graphs: then no time of the host counts.
    fn in_a_graph(
        &mut self,
        prepared: &Prepared<B, T>,
        workspace: &mut Workspace<B, T>,
        run_s: f64,
    ) -> Result<Option<f64>> {
        if prepared.plan.repair == Repair::Host {
            return Ok(None);
        }
        let of_a_replay = ENOUGH.as_secs_f64() / f64::from(REPLAYS);
        let runs = (of_a_replay / run_s).clamp(1.0, f64::from(OF_A_GRAPH)) as u32;
        let Self { x, y } = self;
        let mut graph = match prepared.capture(workspace, runs, one(), x, zero(), y) {
            Ok(graph) => graph,
            Err(Error::Device(DeviceError::Unsupported { .. })) => return Ok(None),
            Err(e) => return Err(e),
        };
        // The first replay sends the graph to the device.
        graph.replay()?;
        repeated(|| Ok(graph.replay()?.stage1_s)).map(Some)
    }
}

/// Seconds of a run that is repeated for some time.
fn repeated(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    let (start, mut seconds) = (Instant::now(), Vec::new());
    while seconds.is_empty() || (start.elapsed() < ENOUGH && seconds.len() < MOST) {
        seconds.push(run()?);
    }
    Ok(least_median(&mut seconds))
}

/// The least of the medians of a few parts of the times, so that neither one lucky run nor a slow stretch counts.
fn least_median(seconds: &mut [f64]) -> f64 {
    let of_a_part = seconds.len().div_ceil(PARTS);
    let median = |part: &mut [f64]| {
        part.sort_by(f64::total_cmp);
        part[part.len() / 2]
    };
    seconds.chunks_mut(of_a_part).map(median).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use spmv_core::{Csr, Tiling};
    use spmv_cpu::Cpu;

    use super::*;
    use crate::device::Device;
    use crate::options::Layouts;
    use crate::plan::Plan;

    /// On which the same is planned, whatever this CPU is.
    fn device() -> Device<Cpu> {
        let options = spmv_cpu::Options { isa: Some(spmv_cpu::Isa::Scalar), ..Default::default() };
        Device::new(Cpu::open(options).unwrap()).unwrap()
    }

    /// Scattered entries, three a row.
    fn matrix() -> Csr<f64> {
        let cols = |row: u32| [row, (7 * row + 3) % 500, (31 * row + 11) % 500];
        let entries = (0..500).flat_map(|row| cols(row).map(|col| (row, col, 1.0 + f64::from(col) / 512.0)));
        Csr::from_coo(500, 500, &entries.collect::<Vec<_>>()).unwrap()
    }

    /// What is taken if candidates take so many microseconds.
    fn taken(options: &Options, mut time: impl FnMut(Choice) -> f64) -> Prepared<Cpu, f64> {
        let (device, a) = (device(), matrix());
        let planned = device.lay_out(a.view(), &[], options).unwrap();
        let mut seconds = |prepared: &Prepared<Cpu, f64>, _| Ok(time(prepared.plan.choice()) * 1e-6);
        tuned_by(planned, a.view(), &[], options, &mut seconds).unwrap()
    }

    fn quick() -> Options {
        Options { tune: Tune::Quick, ..Options::default() }
    }

    fn tried(plan: &Plan) -> Vec<Choice> {
        plan.trials.iter().map(|trial| trial.choice).collect()
    }

    #[test]
    fn the_fastest_is_taken_and_explained() {
        let is_ipcsr = |choice: Choice| choice.algorithm == Algorithm::Ipcsr;
        let prepared = taken(&quick(), |choice| if is_ipcsr(choice) { 8.0 } else { 10.0 });
        let plan = prepared.plan();
        assert_eq!(plan.algorithm, Algorithm::Ipcsr);
        let told = plan.explain();
        assert!(told.contains("ipcsr: by trials, 1.25 times as fast as the planned merge_path T="), "{told}");
        assert!(told.contains(": 10.0 us, planned") && told.contains(": 8.0 us, taken"), "{told}");
        assert_eq!(plan.trials.len(), told.lines().filter(|line| line.starts_with("  trial: ")).count());
        assert!((3..=QUICK).contains(&plan.trials.len()), "{told}");
    }

    #[test]
    fn noise_does_not_change_a_plan() {
        let is_planned = |choice: Choice| choice.algorithm == Algorithm::MergePath;
        let almost = taken(&quick(), |choice| if is_planned(choice) { 10.0 } else { 9.85 });
        assert_eq!(almost.plan.algorithm, Algorithm::MergePath);
        assert!(almost.plan.explain().contains("merge_path: cuts rows"), "{}", almost.plan.explain());
        // Others seem faster, but only until the planned one is timed again.
        let mut n = 0;
        let slow_at_first = taken(&quick(), |choice| {
            n += usize::from(is_planned(choice));
            if is_planned(choice) && n == 1 { 20.0 } else { 10.0 }
        });
        assert_eq!(slow_at_first.plan.algorithm, Algorithm::MergePath);
        assert_eq!(slow_at_first.plan.trials[0].seconds, Some(10.0 * 1e-6));
    }

    #[test]
    fn what_is_given_again_is_the_same_plan_with_the_same_bits() {
        let (device, a) = (device(), matrix());
        let product = |prepared: &Prepared<Cpu, f64>| {
            let mut y = vec![0.0; 500];
            let x: Vec<f64> = (0..500).map(|i| 1.0 / f64::from(i + 1)).collect();
            prepared.apply_slices(&mut prepared.workspace().unwrap(), 1.0, &x, 0.0, &mut y).unwrap();
            y
        };
        for tune in [Tune::Quick, Tune::Thorough] {
            let options = Options { tune, ..Options::default() };
            let tuned = device.prepare(a.view(), &options).unwrap();
            let saved = tuned.plan.choice().to_string();
            let again = device.prepare(a.view(), &options.with_choice(saved.parse().unwrap())).unwrap();
            let [one, other] = [&tuned, &again].map(|prepared| {
                let Plan { kernel, repair, max_entries, max_rows, regular_width, .. } = prepared.plan.clone();
                (prepared.plan.choice(), kernel, repair, max_entries, max_rows, regular_width)
            });
            assert_eq!(one, other);
            assert_eq!(product(&tuned), product(&again));
            assert!(tuned.plan.trials.len() > 1 && again.plan.trials.is_empty(), "nothing is left open");
        }
    }

    #[test]
    fn trials_try_what_the_options_leave_open() {
        let ten = |_: Choice| 10.0;
        let named = Options { algorithm: Algorithm::Sell, ..quick() };
        let of_sell = tried(&taken(&named, ten).plan);
        assert!(of_sell.len() > 3 && of_sell.iter().all(|choice| choice.algorithm == Algorithm::Sell));
        let widths = [1, 2, 3, 4].map(|width| of_sell.iter().any(|choice| choice.tiling.width() == width));
        assert_eq!(widths, [true; 4], "{of_sell:?}");
        let tiling = Some(Tiling::new(8, 4, 2, 1).unwrap());
        let of_tiling = tried(&taken(&Options { tiling, tune: Tune::Thorough, ..quick() }, ten).plan);
        assert!(of_tiling.len() > 1 && of_tiling.iter().all(|choice| Some(choice.tiling) == tiling));
        let csr = tried(&taken(&Options { layouts: Layouts::Csr, ..quick() }, ten).plan);
        assert!(csr.len() > 1 && csr.iter().all(|choice| !choice.algorithm.has_own_layout()), "{csr:?}");
        let never = tried(&taken(&Options { max_blow_up: 0.1, ..quick() }, ten).plan);
        assert_eq!(never, csr);
        let few = tried(&taken(&Options { expected_runs: Some(1), ..quick() }, ten).plan);
        assert_eq!(few, csr);
    }

    #[test]
    fn thorough_trials_try_tilings_of_the_fastest_algorithms_and_of_the_best() {
        // T=16 of csr_vector is next to the planned T=8, T=32 is next to that.
        let time = |choice: Choice| match (choice.algorithm, choice.tiling.lanes()) {
            (Algorithm::CsrVector, lanes) => 10.0 - f64::from(lanes) / 8.0,
            (Algorithm::SpeculativeSegmentedSum, _) => 9.5,
            _ => 20.0,
        };
        let prepared = taken(&Options { tune: Tune::Thorough, ..quick() }, time);
        let tried = tried(&prepared.plan);
        assert!((12..=THOROUGH).contains(&tried.len()), "{tried:?}");
        let of = |algorithm| tried.iter().filter(|choice| choice.algorithm == algorithm).count();
        assert!(of(Algorithm::SpeculativeSegmentedSum) > 3 && of(Algorithm::MergePath) == 1, "{tried:?}");
        assert_eq!(
            (prepared.plan.algorithm, prepared.plan.kernel.tiling.lanes()),
            (Algorithm::CsrVector, 32)
        );
        let unlike = |choice: &Choice| tried.iter().filter(|other| *other == choice).count() == 1;
        assert!(tried.iter().all(unlike), "each once");
    }

    #[test]
    fn a_candidate_that_finds_no_memory_is_left_out_and_other_failures_are_returned() {
        let (device, a) = (device(), matrix());
        let fails = |with: fn() -> DeviceError| {
            let planned: Prepared<Cpu, f64> = device.lay_out(a.view(), &[], &quick()).unwrap();
            tuned_by(planned, a.view(), &[], &quick(), &mut |prepared, _| match prepared.plan.algorithm {
                Algorithm::Ipcsr => Err(with().into()),
                _ => Ok(1e-6),
            })
        };
        let full = fails(|| DeviceError::OutOfMemory { device: "a CPU".into(), bytes: 8 }).unwrap();
        let of_ipcsr = full.plan.trials.iter().find(|trial| trial.choice.algorithm == Algorithm::Ipcsr);
        assert_eq!(of_ipcsr.unwrap().seconds, None);
        assert!(full.plan.explain().contains(": refused"), "{}", full.plan.explain());
        let lost = || DeviceError::DeviceLost { device: "a CPU".into(), detail: "it fell".into() };
        assert_eq!(fails(lost).unwrap_err(), lost().into());
    }

    #[test]
    fn without_entries_or_trials_nothing_is_timed() {
        let device = device();
        let prepared = |a: &Csr<f64>, options: &Options| device.prepare(a.view(), options).unwrap();
        let empty = Csr::<f64>::from_coo(3, 3, &[]).unwrap();
        assert!(prepared(&empty, &quick()).plan.trials.is_empty());
        assert!(prepared(&matrix(), &Options::default()).plan.trials.is_empty());
        let plan = device.plan(matrix().view(), &quick()).unwrap();
        assert_eq!(
            (plan.algorithm, plan.trials.len()),
            (Algorithm::MergePath, 0),
            "a plan is made without trials"
        );
    }

    #[test]
    fn a_matrix_that_is_given_away_keeps_its_arrays() {
        let owned = device().prepare_owned(matrix(), &quick()).unwrap();
        let tried = tried(&owned.plan);
        assert!(
            tried.len() > 1 && tried.iter().all(|choice| !choice.algorithm.has_own_layout()),
            "{tried:?}"
        );
        assert!(owned.prepare_s() > 0.0);
    }

    #[test]
    fn a_time_is_the_least_of_three_medians() {
        assert_eq!(least_median(&mut [9.0, 9.0, 1.0, 5.0, 6.0, 7.0, 8.0, 9.0]), 6.0);
        assert_eq!(least_median(&mut [3.0]), 3.0);
        assert!(repeated(|| Err(Error::Unrepaired)).is_err());
    }
}
