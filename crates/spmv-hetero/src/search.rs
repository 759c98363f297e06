//! Where a matrix is split: Algorithm 1 by models and by runs, and whether it is split at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use num_traits::One;
use spmv_backend::Backend;
use spmv_core::{CsrView, Offset, Value};
use spmv_exec::{Algorithm, Error, Options, Result};

use crate::balance::Axis;
use crate::co_devices::CoDevices;
use crate::co_matrix::{CoMatrix, CoStats, RegularPart};
use crate::models::{Models, SplitModels, features_of};
use crate::partition::{By, Choice, Partition, Step};
use crate::pattern::Pattern;
use crate::split::{Parts, Regular, SPECULATIVE, Split};

/// Runs of each split, unless one says otherwise.
const RUNS: usize = 9;
/// Runs before those that count.
const WARM_UP: usize = 2;
/// Least time of both: sleeping threads are slow at first. Where it is decided between devices more is taken.
const TRIAL: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(4)];
const DECISION: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(10)];
/// How often those are run that it is decided between, in turns.
const FINAL: usize = 3;
/// Times of splits over that of the fastest up to which the most balanced of them is taken.
const ALIKE: f64 = 1.03;
/// A matrix is split where that takes less than this share of the time of the faster one alone.
const WORTH: f64 = 0.95;
/// The same of predicted times, which leave out that sums are joined.
const WORTH_PREDICTED: f64 = 0.8;
/// Rows and columns over entries from which on a matrix is left to the cores: its vectors are all there is to it.
const SPARSEST: usize = 64;

/// How a split is found.
///
/// By default some 20 splits, each prepared and run 9 times and for at least 6 milliseconds; in the end the best one and
/// device or host alone for 60. With models and no runs it reads all entries once for each split.
///
/// ```
/// use spmv_hetero::{Split, Steering};
/// let by_hand = Steering { split: Some(Split::by_rows(100)), ..Steering::default() };
/// assert!(by_hand.models.is_none() && by_hand.runs > 0);
/// ```
#[derive(Clone, Debug)]
pub struct Steering {
    /// This one, and nothing is tried; options that are given to `prepare` and not the default replace its own.
    pub split: Option<Split>,
    /// Predict times of splits before any is run. [`Models::kept`] finds those that were trained.
    pub models: Option<Arc<Models>>,
    /// Least runs of each split that is tried; 0 leaves all to models, and without these takes the split that the paper begins with.
    pub runs: usize,
}

impl Default for Steering {
    fn default() -> Self {
        Self { split: None, models: None, runs: RUNS }
    }
}

impl<B: Backend, C: Backend, T: Value> CoMatrix<B, C, T> {
    /// Finds where to split a matrix and copies the parts to their devices; all of it to device or host where that is as fast. The device
    /// multiplies rows as `options` say.
    ///
    /// Algorithm 1 of the paper moves the width of the regular part, from where it holds 80% of the entries, until
    /// device and host take as long as each other; then rows of the rest, as Fig. 7 has it: those go to the device that it can take
    /// meanwhile. The same is tried without a regular part. [`Partition::trace`] says what was tried.
    ///
    /// # Errors
    /// As [`with_split`](Self::with_split), and failures of runs.
    pub fn prepare<O: Offset>(
        devices: &CoDevices<B, C>,
        a: CsrView<'_, T, O>,
        options: &Options,
        steering: &Steering,
    ) -> Result<Self> {
        if let Some(split) = steering.split {
            let asked = Some(*options).filter(|options| *options != Options::default());
            return Self::with_split(devices, a, &Split { options: asked.unwrap_or(split.options), ..split });
        }
        let started = Instant::now();
        let start = Split { options: *options, ..Split::of(a) };
        let pattern = match start.regular {
            Regular::None => Pattern::General,
            Regular::Diagonals { .. } => Pattern::QuasiDiagonal,
            Regular::Slots { .. } => Pattern::Tetris,
        };
        let untried = |start: Split, why: &str| {
            let chosen = Choice { split: start, why: why.into() };
            let partition = Partition { pattern, trace: vec![], best: None, alone: None, chosen };
            Ok(Self::with_split(devices, a, &start)?
                .with_partition(partition, started.elapsed().as_secs_f64()))
        };
        if (a.n_rows() + a.n_cols()) / SPARSEST >= a.nnz() {
            return untried(Split::by_rows(0), "the cores alone; there are next to no entries");
        }
        let models = steering.models.as_deref().and_then(|models| models.of(T::DTYPE));
        let mut search = Search {
            devices,
            a,
            models,
            runs: steering.runs,
            x: vec![T::from_f64(1.0); a.n_cols()],
            y: vec![T::Accum::default(); a.n_rows()],
            regular: None,
            trace: vec![],
        };
        let mut starts = vec![start];
        if pattern != Pattern::General {
            starts.push(Split { options: *options, ..Split::by_share(a, 0.5) });
        }
        let mut by = None;
        if models.is_some() {
            starts.iter_mut().try_for_each(|split| search.improve(By::Models, split))?;
            by = Some(By::Models);
        }
        if steering.runs > 0 {
            starts.iter_mut().try_for_each(|split| search.improve(By::Runs, split))?;
            if options.algorithm == Algorithm::Auto {
                search.speculate(&mut starts)?;
            }
            by = Some(By::Runs);
        }
        let Some(by) = by else {
            return untried(start, "the split that the search would begin with; no times are known");
        };
        let (co_matrix, partition) = search.choose(pattern, by, options)?;
        Ok(co_matrix.with_partition(partition, started.elapsed().as_secs_f64()))
    }
}

/// A search on its way.
struct Search<'a, 'm, B: Backend, C: Backend, T: Value, O> {
    devices: &'a CoDevices<B, C>,
    a: CsrView<'a, T, O>,
    models: Option<&'m SplitModels>,
    runs: usize,
    x: Vec<T>,
    y: Vec<T::Accum>,
    /// The regular part that was looked at last.
    regular: Option<Part<'a, B, T, O>>,
    trace: Vec<Step>,
}

struct Part<'a, B: Backend, T: Value, O> {
    regular: Regular,
    parts: Arc<Parts<'a, T, O>>,
    /// On the device, once it was run.
    prepared: Option<Option<Arc<RegularPart<B, T>>>>,
}

impl<'a, B: Backend, C: Backend, T: Value, O: Offset> Search<'a, '_, B, C, T, O> {
    /// Algorithm 1 from a split on: first for the width, then for rows.
    fn improve(&mut self, by: By, split: &mut Split) -> Result<()> {
        if let Regular::Diagonals { half_width: width } | Regular::Slots { width } = split.regular {
            let axis = Axis::of_widths(self.a, split.regular);
            let kind = *split;
            let of_width = |width: usize| Split { regular: kind.regular.with_width(width), rows: 0, ..kind };
            let found = axis.balance(width, |width| self.times(by, &of_width(width)))?;
            if let Some(found) = found {
                // Rows fill up what time is left on the device.
                let width = found.idle_device.unwrap_or(found.best);
                *split = Split { rows: split.rows, ..of_width(width) };
            }
        }
        let parts = self.parts(split.regular);
        let before = parts.regular().map_or(0, |regular| regular.nnz());
        let axis = Axis::of_rows(parts.rest(), before);
        let kind = *split;
        let found = axis.balance(split.rows, |rows| self.times(by, &Split { rows, ..kind }))?;
        if let Some(found) = found {
            split.rows = found.best;
        }
        Ok(())
    }

    /// The best split by rows once more with speculative segmented sum, and on from there if that is faster.
    fn speculate(&mut self, splits: &mut [Split]) -> Result<()> {
        for split in splits.iter_mut().filter(|split| split.regular == Regular::None && split.rows > 0) {
            let options = Options { algorithm: SPECULATIVE, ..split.options };
            let speculative = Split { options, ..*split };
            let [device, _] = self.times(By::Runs, &speculative)?;
            let before = self.trace.iter().find(|step| step.by == By::Runs && step.split == *split);
            if before.is_some_and(|before| device < before.device_s) {
                *split = speculative;
                self.improve(By::Runs, split)?;
            }
        }
        Ok(())
    }

    fn parts(&mut self, regular: Regular) -> Arc<Parts<'a, T, O>> {
        if self.regular.as_ref().is_none_or(|part| part.regular != regular) {
            let parts = Arc::new(Parts::of(self.a, regular));
            self.regular = Some(Part { regular, parts, prepared: None });
        }
        Arc::clone(&self.regular.as_ref().expect("just put there").parts)
    }

    /// Times of the device and of the cores, noted in the trace; those that are known are not taken again.
    fn times(&mut self, by: By, split: &Split) -> Result<[f64; 2]> {
        if let Some(step) = self.trace.iter().find(|step| step.by == by && step.split == *split) {
            return Ok([step.device_s, step.cores_s]);
        }
        let step = match by {
            By::Models => self.predicted(split),
            By::Runs => match self.co_matrix(split).and_then(|co_matrix| self.run(&co_matrix, TRIAL)) {
                Ok(stats) => step(split, &stats),
                Err(e) if is_of_this_split(&e) => {
                    // So that entries move away from the device.
                    let (device_s, total_s) = (f64::INFINITY, f64::INFINITY);
                    Step { split: *split, by, device_s, cores_s: 0.0, total_s }
                }
                Err(e) => return Err(e),
            },
        };
        self.trace.push(step);
        Ok([step.device_s, step.cores_s])
    }

    fn predicted(&mut self, split: &Split) -> Step {
        let parts = self.parts(split.regular);
        let (device, cores) = features_of(&parts, split);
        let models = self.models.expect("models are asked for only where there are some");
        let has_regular = parts.regular().is_some();
        let entries = &parts.rest().row_ptr()[split.rows.min(self.a.n_rows())];
        let device_idles = !has_regular && split.rows == 0;
        let cores_idle = match has_regular {
            true => entries.to_usize() == parts.rest().nnz(),
            false => split.rows >= self.a.n_rows(),
        };
        let device_s = if device_idles { 0.0 } else { models.device.seconds(&device) };
        let cores_s = if cores_idle { 0.0 } else { models.cores.seconds(&cores) };
        Step { split: *split, by: By::Models, device_s, cores_s, total_s: device_s.max(cores_s) }
    }

    fn co_matrix(&mut self, split: &Split) -> Result<CoMatrix<B, C, T>> {
        let parts = self.parts(split.regular);
        let part = self.regular.as_mut().expect("put there by parts");
        let prepared = match &part.prepared {
            Some(prepared) => prepared.clone(),
            None => {
                let prepared = RegularPart::prepare(self.devices.device(), &parts, split)?;
                part.prepared.insert(prepared).clone()
            }
        };
        CoMatrix::with_regular(self.devices, self.a, &parts, prepared, split)
    }

    /// Median times of some runs, after others.
    fn run(&mut self, co_matrix: &CoMatrix<B, C, T>, [warm_up, timed]: [Duration; 2]) -> Result<CoStats> {
        let mut workspace = co_matrix.workspace()?;
        let mut times = Vec::new();
        for (least, time) in [(WARM_UP, warm_up), (self.runs, timed)] {
            times.clear();
            let start = Instant::now();
            while times.len() < least || start.elapsed() < time {
                let (one, zero) = (T::Accum::one(), T::Accum::default());
                times.push(co_matrix.apply(&mut workspace, one, &self.x, zero, &mut self.y)?);
            }
        }
        Ok(median(times))
    }

    /// The best split, or device or host alone.
    fn choose(
        mut self,
        pattern: Pattern,
        by: By,
        options: &Options,
    ) -> Result<(CoMatrix<B, C, T>, Partition)> {
        let [whole, none] =
            [self.a.n_rows(), 0].map(|rows| Split { options: *options, ..Split::by_rows(rows) });
        self.times(by, &whole)?;
        self.times(by, &none)?;
        let fastest = |is_it: &dyn Fn(&Step) -> bool| {
            let steps =
                self.trace.iter().filter(|step| step.by == by && step.total_s.is_finite() && is_it(step));
            steps.min_by(|a, b| a.total_s.total_cmp(&b.total_s)).copied()
        };
        // Also with a layout that has everything, or by speculative segmented sum.
        let device = fastest(&|step| step.device_s > 0.0 && step.cores_s == 0.0);
        let cores = fastest(&|step| step.device_s == 0.0);
        let in_two = |step: &Step| step.device_s > 0.0 && step.cores_s > 0.0;
        let best = fastest(&in_two).and_then(|best| {
            let as_fast =
                |step: &&Step| step.by == by && in_two(step) && step.total_s <= ALIKE * best.total_s;
            let balance = |a: &&Step, b: &&Step| a.imbalance().total_cmp(&b.imbalance());
            self.trace.iter().filter(as_fast).min_by(balance).copied()
        });
        if let (Some(best), true, By::Runs) = (best, self.models.is_some(), by) {
            self.times(By::Models, &best.split)?;
        }
        let mut found = [device, cores, best];
        let mut co_matrices = [const { None }; 3];
        if by == By::Runs {
            // Once more, alternately. What does not fit with the others in memory keeps its time.
            for (step, co_matrix) in found.iter().zip(&mut co_matrices) {
                *co_matrix = match step.map(|step| self.co_matrix(&step.split)).transpose() {
                    Err(e) if is_of_this_split(&e) => None,
                    co_matrix => co_matrix?,
                };
            }
            let mut times: [Vec<CoStats>; 3] = Default::default();
            for _ in 0..FINAL {
                for (co_matrix, times) in co_matrices.iter().zip(&mut times) {
                    match co_matrix.as_ref().map(|co_matrix| self.run(co_matrix, DECISION)).transpose() {
                        Err(e) if is_of_this_split(&e) => {}
                        stats => times.extend(stats?),
                    }
                }
            }
            for (found, times) in found.iter_mut().zip(times).filter(|(_, times)| !times.is_empty()) {
                *found = found.map(|found| step(&found.split, &median(times)));
            }
            self.trace.extend(found.into_iter().flatten());
        }
        let least = |at: &usize| found[*at].map_or(f64::INFINITY, |step| step.total_s);
        let fastest = if least(&0) <= least(&1) { 0 } else { 1 };
        let name = ["device", "cores"][fastest];
        let worth = if by == By::Runs { WORTH } else { WORTH_PREDICTED };
        let [single, both] = [fastest, 2].map(|at| least(&at) * 1e6);
        let (taken, why) = match (both < worth * single, both.is_finite()) {
            (true, _) => (2, format!("both, {by} {both:.1} us; the {name} alone {single:.1}")),
            (_, true) => (fastest, format!("the {name} alone, {by} {single:.1} us; split {both:.1}")),
            _ => (fastest, format!("the {name} alone, {by} {single:.1} us; there is nothing to split")),
        };
        let split = found[taken].map_or(none, |step| step.split);
        let taken = co_matrices[taken].take();
        drop(co_matrices);
        let co_matrix = taken.map_or_else(|| self.co_matrix(&split), Ok)?;
        let [device, cores, best] = found;
        Ok((
            co_matrix,
            Partition {
                pattern,
                trace: self.trace,
                best,
                alone: device.zip(cores).map(<[_; 2]>::from),
                chosen: Choice { split, why },
            },
        ))
    }
}

/// Whether another split may do nevertheless.
fn is_of_this_split(e: &Error) -> bool {
    use spmv_backend::Error as Device;
    matches!(
        e,
        Error::Format(_)
            | Error::Device(Device::Unsupported { .. } | Device::Compile { .. } | Device::OutOfMemory { .. })
    )
}

fn step(split: &Split, stats: &CoStats) -> Step {
    let CoStats { device_s, cores_s, total_s, .. } = *stats;
    Step { split: *split, by: By::Runs, device_s, cores_s, total_s }
}

/// Of each of the times by itself.
fn median(runs: Vec<CoStats>) -> CoStats {
    let of = |time: fn(&CoStats) -> f64| {
        let mut times: Vec<f64> = runs.iter().map(time).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(0.0)
    };
    CoStats {
        device_s: of(|s| s.device_s),
        cores_s: of(|s| s.cores_s),
        join_s: of(|s| s.join_s),
        total_s: of(|s| s.total_s),
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::{Csr, Dtype, oracle};
    use spmv_cpu::Cpu;
    use spmv_exec::Device;

    use super::*;
    use crate::models::{CORES_FEATURES, DEVICE_FEATURES, Svr};

    fn devices() -> CoDevices<Cpu, Cpu> {
        let open = || Device::new(Cpu::open(Default::default())?);
        CoDevices::new(open().unwrap(), 1, open).unwrap()
    }

    /// Quasi-diagonal, Tetris and general.
    fn matrices() -> [Csr<f64>; 3] {
        let n = 600u32;
        let matrix = |cells: Vec<(u32, u32)>| {
            let entries: Vec<_> = cells.into_iter().map(|(r, c)| (r, c, f64::from(c % 5) + 0.5)).collect();
            Csr::from_coo(n as usize, n as usize, &entries).unwrap()
        };
        let far = |r: u32, k: u32| (r, (r * 131 + k * k * 37 + k) % n);
        let diagonals = (0..n)
            .flat_map(|r| (0..5).map(move |k| (r, (r + k).min(n - 1))))
            .chain((0..n).map(|r| far(r, 1)));
        let even = (0..n).flat_map(|r| (0..6).map(move |k| far(r, k)));
        let long = (0..2u32).flat_map(|r| (0..n / 2).map(move |c| (r * 70, 2 * c)));
        let uneven = (0..n / 10).flat_map(|r| (0..100).map(move |k| (r * 10, (k * 3 + r) % n)));
        [matrix(diagonals.collect()), matrix(even.chain(long).collect()), matrix(uneven.collect())]
    }

    fn is_right(co_matrix: &CoMatrix<Cpu, Cpu, f64>, a: &Csr<f64>) {
        let x: Vec<f64> = (0..a.n_cols()).map(|i| 0.25 + (i % 7) as f64).collect();
        let mut y = vec![f64::NAN; a.n_rows()];
        co_matrix.apply(&mut co_matrix.workspace().unwrap(), 1.0, &x, 0.0, &mut y).unwrap();
        let reference = oracle::multiply(a.view(), 1.0, &x, 0.0, &y);
        assert!(reference.error_over_bound(&y) <= 1.0, "{}", co_matrix.explain());
    }

    /// Models with these seconds, whatever the part is like.
    fn models(device: f64, cores: f64) -> Models {
        let caps = devices().device().caps().clone();
        let svr = |n: usize, seconds: f64| Svr {
            means: vec![0.0; n],
            deviations: vec![1.0; n],
            width: 1.0,
            vectors: vec![],
            weights: vec![],
            bias: seconds.ln(),
        };
        let mut models = Models::new(&caps, &caps);
        models.put(SplitModels {
            value: Dtype::F64.name().into(),
            device: svr(DEVICE_FEATURES.len(), device),
            cores: svr(CORES_FEATURES.len(), cores),
        });
        models
    }

    #[test]
    fn by_runs_every_pattern_is_split_or_the_reason_is_given() {
        for (a, pattern) in matrices().iter().zip([Pattern::QuasiDiagonal, Pattern::Tetris, Pattern::General])
        {
            let co_matrix = CoMatrix::prepare(
                &devices(),
                a.view(),
                &Options::default(),
                &Steering { runs: 2, ..Steering::default() },
            )
            .unwrap();
            let partition = co_matrix.partition().unwrap();
            assert_eq!(partition.pattern, pattern);
            assert!(partition.trace.iter().all(|step| step.by == By::Runs && step.total_s > 0.0));
            assert!(partition.trace.len() <= 60, "{}", partition.trace());
            let starts_regular = partition.trace[0].split.regular != Regular::None;
            assert_eq!(starts_regular, pattern != Pattern::General, "{}", partition.trace());
            let tried =
                |algorithm| partition.trace.iter().any(|step| step.split.options.algorithm == algorithm);
            assert!(tried(Algorithm::Auto) && tried(Algorithm::SpeculativeSegmentedSum));
            let explained = co_matrix.explain();
            assert!(explained.contains("matrix; ") && explained.contains("measured"), "{explained}");
            is_right(&co_matrix, a);
        }
    }

    #[test]
    fn models_alone_leave_a_slow_one_out() {
        let [a, ..] = matrices();
        for (device, cores, name) in [(1e-3, 1e-6, "cores"), (1e-6, 1e-3, "device")] {
            let models = Some(Arc::new(models(device, cores)));
            let steering = Steering { models, runs: 0, split: None };
            let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
            let of_cores = co_matrix.split().entries(a.view())[2];
            assert_eq!(of_cores, if name == "cores" { a.nnz() } else { 0 }, "{}", co_matrix.explain());
            assert!(!co_matrix.is_split());
            assert!(
                co_matrix.explain().contains(&format!("the {name} alone, predicted")),
                "{}",
                co_matrix.explain()
            );
            assert!(co_matrix.partition().unwrap().trace.iter().all(|step| step.by == By::Models));
            is_right(&co_matrix, &a);
        }
    }

    #[test]
    fn runs_go_on_where_models_end() {
        let [a, ..] = matrices();
        let steering = Steering { models: Some(Arc::new(models(1e-6, 1e-6))), runs: 2, split: None };
        let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
        let partition = co_matrix.partition().unwrap();
        let first_run = partition.trace.iter().position(|step| step.by == By::Runs).unwrap();
        assert!(first_run > 0 && partition.trace[..first_run].iter().all(|step| step.by == By::Models));
        let best = partition.best.unwrap();
        let of_best = |by| partition.trace.iter().any(|step| step.by == by && step.split == best.split);
        assert!(of_best(By::Models) && of_best(By::Runs), "{}", partition.trace());
        is_right(&co_matrix, &a);
    }

    #[test]
    fn without_times_it_is_split_where_the_search_would_begin() {
        for a in matrices() {
            let steering = Steering { runs: 0, ..Steering::default() };
            let co_matrix = CoMatrix::prepare(&devices(), a.view(), &Options::default(), &steering).unwrap();
            assert_eq!(co_matrix.split(), Split::of(a.view()));
            assert!(co_matrix.explain().contains("no times are known"), "{}", co_matrix.explain());
            is_right(&co_matrix, &a);
        }
    }

    #[test]
    fn matrices_without_entries_or_rows_are_no_trouble() {
        for (n_rows, n_cols) in [(0, 0), (0, 3), (3, 0), (5, 5)] {
            let a = Csr::<f64>::from_coo(n_rows, n_cols, &[]).unwrap();
            is_right(
                &CoMatrix::prepare(&devices(), a.view(), &Options::default(), &Steering::default()).unwrap(),
                &a,
            );
        }
        let one = Csr::from_coo(1, 1, &[(0, 0, 2.0)]).unwrap();
        is_right(
            &CoMatrix::prepare(&devices(), one.view(), &Options::default(), &Steering::default()).unwrap(),
            &one,
        );
    }
}
