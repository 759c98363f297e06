//! Where a matrix is split: Algorithm 1 by models and by runs, and whether it is split at all.

use std::sync::Arc;

use spmv_exec::{Algorithm, Error, Options, Result};

use crate::balance::Axis;
use crate::co_matrix::CoStats;
use crate::models::{Models, SplitModels};
use crate::partition::{By, Choice, Partition, Step};
use crate::pattern::Pattern;
use crate::split::{Regular, SPECULATIVE, Split};
use crate::trials::{DECISION, HOPELESS, Multiply, TRIAL, Trials, median};

/// Runs of each split, unless one says otherwise.
const RUNS: usize = 9;
/// How often those are run that it is decided between, in turns.
const FINAL: usize = 3;
/// Times of splits over that of the fastest up to which the most balanced of them is taken.
const ALIKE: f64 = 1.03;
/// A matrix is split where that takes less than this share of the time of the faster one alone.
const WORTH: f64 = 0.95;
/// The same of predicted times, which leave out that sums are joined, and of times that were not measured alternately.
const WORTH_UNSURE: f64 = 0.8;
/// Seconds for a search, unless one says otherwise.
const BUDGET_S: f64 = 2.0;
/// Share of the budget that predictions take where runs follow: they read the whole matrix for each split.
const PREDICTIONS: f64 = 0.5;
/// Share of the budget after which no further split is tried; the rest is for the runs that decide.
const TRYING: f64 = 0.75;
/// How a split is found.
///
/// By default some 20 splits, each prepared and run 9 times and for at least 6 milliseconds; in the end the best one and
/// device or host alone for 60. A split that takes more than twice the best known time is given up after a run or two. With
/// models and no runs the search reads all entries once for each split.
///
/// [`prepare`](crate::CoMatrix::prepare) returns when the search does, so the search has a budget. It takes the best that it knows
/// when the budget is spent.
///
/// ```
/// use spmv_hetero::{Split, Steering};
/// let by_hand = Steering { split: Some(Split::by_rows(100)), ..Steering::default() };
/// assert!(by_hand.models.is_none() && by_hand.runs > 0);
/// // For a matrix that is multiplied all day.
/// let patient = Steering { budget_s: 60.0, ..Steering::default() };
/// assert_eq!(Steering::default().budget_s, 2.0);
/// ```
#[derive(Clone, Debug)]
pub struct Steering {
    /// This one, and nothing is tried; options that are given to `prepare` and not the default replace its own.
    pub split: Option<Split>,
    /// Begin with this regular part ([`Regular::published`] for the paper's), or with none, instead of with one whose layout is nearly
    /// full.
    pub regular: Option<Regular>,
    /// Predict times of splits before any is run. [`Models::kept`] finds those that were trained, which the bench of this project's
    /// repository does; without them runs find the split.
    pub models: Option<Arc<Models>>,
    /// Least runs of each split that is tried, if they take at most an eighth of the budget; 0 leaves all to models, and without
    /// these takes the split that the paper begins with.
    pub runs: usize,
    /// Seconds that the search may take, 2 by default; [`f64::INFINITY`] for no limit.
    ///
    /// They begin with `prepare` and include the preparation of every split. When they are over, nothing more is prepared to be
    /// tried and no run is started. There is one exception: the device alone and the cores alone are each run once in any
    /// case, so the search never takes one of them without a time of both. A run or a preparation on its way is not
    /// interrupted, and what is taken may have to be prepared once more. So `prepare` exceeds the budget by a few runs and
    /// preparations at most, and 0 stands for "the faster one alone, by one run of each".
    ///
    /// The default is short because a caller waits for `prepare`, and because a search gains only a part of each multiplication
    /// that follows. Most matrices need less. Preparing a large one (hundreds of millions of entries) can take a second by
    /// itself, so that few splits are tried: give its search more, or a [`split`](Self::split) that was found before.
    pub budget_s: f64,
}

impl Default for Steering {
    fn default() -> Self {
        Self { split: None, regular: None, models: None, runs: RUNS, budget_s: BUDGET_S }
    }
}

/// The kinds of split that a search decides between in the end: all on the device, all on the cores, and some on each.
pub(crate) const KINDS: usize = 3;

/// What is split, with its devices: all that a search asks of them. Searches themselves know no type of values and no backend, so that they are compiled
/// once.
pub(crate) trait Subject {
    fn n_rows(&self) -> usize;

    /// Levels of the widths of a kind of regular part.
    fn widths(&self, kind: Regular) -> Axis;

    /// Levels of rows of what a regular part leaves.
    fn rows(&mut self, regular: Regular) -> Axis;

    /// Seconds of the device and of the cores by models.
    fn predicted(&mut self, models: &SplitModels, split: &Split) -> [f64; 2];

    /// Prepares a split and runs it.
    fn measured(&mut self, split: &Split, runs: Runs<'_>) -> Result<Option<CoStats>>;

    /// Prepares a split, which stays as the one of its kind.
    fn keep(&mut self, kind: usize, split: &Split) -> Result<()>;

    /// Runs the split of a kind, if one is kept.
    fn measured_again(&mut self, kind: usize, runs: Runs<'_>) -> Result<Option<CoStats>>;
}

/// Runs a multiplication as often as is wanted.
pub(crate) type Runs<'r> = &'r mut dyn FnMut(Multiply<'_>) -> Result<Option<CoStats>>;

/// How a search ended.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) partition: Partition,
    /// The split is the one that was kept of this kind, if there is one.
    pub(crate) kind: Option<usize>,
}

/// Finds a split by any times, from `starts` on: `trials.now_s` are the seconds since it began.
pub(crate) fn search(
    subject: &mut dyn Subject,
    pattern: Pattern,
    mut starts: Vec<Split>,
    models: Option<&SplitModels>,
    options: &Options,
    trials: Trials<'_>,
) -> Result<Found> {
    let (runs, start) = (trials.runs, starts[0]);
    let mut search = Search { subject, models, options, trials, trace: vec![], is_stopped: false };
    let mut by = None;
    if models.is_some() {
        starts.iter_mut().try_for_each(|split| search.improve(By::Models, split))?;
        by = Some(By::Models);
    }
    if runs > 0 {
        // First: what is returned when time is up, and what others are compared with.
        search.both_alone(By::Runs)?;
        starts.iter_mut().try_for_each(|split| search.improve(By::Runs, split))?;
        if options.algorithm == Algorithm::Auto {
            search.speculate(&mut starts)?;
        }
        by = Some(By::Runs);
    }
    match by {
        Some(by) => search.choose(pattern, by),
        None => {
            let why = "the split that the search would begin with; no times are known";
            Ok(Found { partition: Partition::untried(pattern, start, why), kind: None })
        }
    }
}

/// A search on its way.
struct Search<'m> {
    subject: &'m mut dyn Subject,
    models: Option<&'m SplitModels>,
    /// Of the device's rows.
    options: &'m Options,
    trials: Trials<'m>,
    trace: Vec<Step>,
    /// Whether something was left out because the budget was spent.
    is_stopped: bool,
}

impl Search<'_> {
    /// Algorithm 1 from a split on: first for the width, then for rows.
    fn improve(&mut self, by: By, split: &mut Split) -> Result<()> {
        // To list the levels of an axis reads the whole matrix.
        if self.is_over(self.share_of(by)) {
            return Ok(());
        }
        if let Some(width) = split.regular.width() {
            let axis = self.subject.widths(split.regular);
            let kind = *split;
            let of_width = |width: usize| Split { regular: kind.regular.with_width(width), rows: 0, ..kind };
            let found = axis.balance(width, |width| self.times(by, &of_width(width)))?;
            if let Some(found) = found {
                // Rows fill up what time is left on the device.
                let width = found.idle_device.unwrap_or(found.best);
                *split = Split { rows: split.rows, ..of_width(width) };
            }
        }
        let axis = self.subject.rows(split.regular);
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
            let Some([device, _]) = self.times(By::Runs, &speculative)? else { return Ok(()) };
            let before = self.trace.iter().find(|step| step.by == By::Runs && step.split == *split);
            if before.is_some_and(|before| device < before.device_s) {
                *split = speculative;
                self.improve(By::Runs, split)?;
            }
        }
        Ok(())
    }

    /// The cores alone, and the device alone, if they were not tried yet, whatever is left of the budget. The cores first: what
    /// they take bounds how often a slow device is run.
    fn both_alone(&mut self, by: By) -> Result<()> {
        for rows in [0, self.subject.n_rows()] {
            let split = Split { options: *self.options, ..Split::by_rows(rows) };
            if self.known(by, &split).is_none() {
                self.attempt(by, &split, true)?;
            }
        }
        Ok(())
    }

    fn known(&self, by: By, split: &Split) -> Option<Step> {
        self.trace.iter().find(|step| step.by == by && step.split == *split).copied()
    }

    /// Times of the device and of the cores, noted in the trace; those that are known are not taken again. `None` if there is no
    /// time left to take them.
    fn times(&mut self, by: By, split: &Split) -> Result<Option<[f64; 2]>> {
        let step = match self.known(by, split) {
            None if self.is_over(self.share_of(by)) => None,
            None => self.attempt(by, split, false)?,
            known => known,
        };
        Ok(step.map(|step| [step.device_s, step.cores_s]))
    }

    /// Of the budget, after which no further split is tried.
    fn share_of(&self, by: By) -> f64 {
        match by {
            By::Models if self.trials.runs == 0 => 1.0,
            By::Models => PREDICTIONS,
            By::Runs => TRYING,
        }
    }

    /// Whether that share of the budget is spent, which leaves something out.
    fn is_over(&mut self, share: f64) -> bool {
        let is_over = self.trials.has_spent(share);
        self.is_stopped |= is_over;
        is_over
    }

    fn attempt(&mut self, by: By, split: &Split, is_owed: bool) -> Result<Option<Step>> {
        let measured = match by {
            By::Models => Ok(Some(self.predicted(split))),
            By::Runs => self.measured(split, is_owed),
        };
        let step = match measured {
            Err(e) if is_of_this_split(&e) => {
                // So that entries move away from the device.
                let (device_s, total_s) = (f64::INFINITY, f64::INFINITY);
                Some(Step { split: *split, by, device_s, cores_s: 0.0, total_s })
            }
            step => step?,
        };
        self.trace.extend(step);
        self.is_stopped |= step.is_none();
        Ok(step)
    }

    fn measured(&mut self, split: &Split, is_owed: bool) -> Result<Option<Step>> {
        let runs = self.trace.iter().filter(|step| step.by == By::Runs);
        let best_s = runs.map(|step| step.total_s).fold(f64::INFINITY, f64::min);
        let trials = &self.trials;
        let stats =
            self.subject.measured(split, &mut |multiply| trials.run(TRIAL, best_s, is_owed, multiply))?;
        Ok(stats.map(|stats| step(split, &stats)))
    }

    fn predicted(&mut self, split: &Split) -> Step {
        let models = self.models.expect("models are asked for only where there are some");
        let [device_s, cores_s] = self.subject.predicted(models, split);
        Step { split: *split, by: By::Models, device_s, cores_s, total_s: device_s.max(cores_s) }
    }

    /// The best split, or device or host alone.
    fn choose(mut self, pattern: Pattern, by: By) -> Result<Found> {
        self.both_alone(by)?;
        let mut found = self.candidates(by);
        if let (Some(best), true, By::Runs) = (found[2], self.models.is_some(), by) {
            self.times(By::Models, &best.split)?;
        }
        let is_sure = by == By::Runs && self.decide(&mut found)?;
        let least = |at: &usize| found[*at].map_or(f64::INFINITY, |step| step.total_s);
        let fastest = if least(&0) <= least(&1) { 0 } else { 1 };
        let name = ["device", "cores"][fastest];
        let worth = if is_sure { WORTH } else { WORTH_UNSURE };
        let [single, both] = [fastest, 2].map(|at| least(&at) * 1e6);
        let (taken, why) = match (both < worth * single, both.is_finite()) {
            (true, _) => (2, format!("both, {by} {both:.1} us; the {name} alone {single:.1}")),
            (_, true) => (fastest, format!("the {name} alone, {by} {single:.1} us; split {both:.1}")),
            _ => {
                let none = if self.is_stopped { "no split was tried" } else { "there is nothing to split" };
                (fastest, format!("the {name} alone, {by} {single:.1} us; {none}"))
            }
        };
        let split = found[taken].map_or(Split { options: *self.options, ..Split::by_rows(0) }, |s| s.split);
        let [device, cores, best] = found;
        let alone = device.zip(cores).map(<[_; 2]>::from);
        let stopped_s = self.is_stopped.then_some(self.trials.budget_s);
        let chosen = Choice { split, why };
        let partition = Partition { pattern, trace: self.trace, best, alone, stopped_s, chosen };
        Ok(Found { partition, kind: Some(taken) })
    }

    /// The fastest with all on the device, all on the cores, and some on each.
    fn candidates(&self, by: By) -> [Option<Step>; KINDS] {
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
        [device, cores, best]
    }

    /// Measures candidates once more, alternately, and notes their times. Those that were prepared are kept. Returns whether there was time
    /// to measure each at least once. One that is hopeless, or does not fit with the others in memory, keeps its time.
    fn decide(&mut self, found: &mut [Option<Step>; KINDS]) -> Result<bool> {
        let least_s = found.iter().flatten().map(|step| step.total_s).fold(f64::INFINITY, f64::min);
        for (kind, step) in found.iter().enumerate() {
            let Some(step) = step.filter(|step| step.total_s <= HOPELESS * least_s) else { continue };
            if self.is_over(1.0) {
                return Ok(false);
            }
            match self.subject.keep(kind, &step.split) {
                Err(e) if is_of_this_split(&e) => {}
                kept => kept?,
            }
        }
        let mut times: [Vec<CoStats>; KINDS] = Default::default();
        for _ in 0..FINAL {
            let (mut round, trials) = ([None; KINDS], &self.trials);
            for (kind, stats) in round.iter_mut().enumerate() {
                let runs: Runs<'_> = &mut |multiply| trials.run(DECISION, f64::INFINITY, false, multiply);
                *stats = match self.subject.measured_again(kind, runs) {
                    Err(e) if is_of_this_split(&e) => None,
                    stats => stats?,
                };
            }
            // The budget ended within the round, which leaves nothing to compare with.
            if self.is_over(1.0) {
                break;
            }
            times.iter_mut().zip(round).for_each(|(times, stats)| times.extend(stats));
        }
        let is_sure = times.iter().any(|times| !times.is_empty());
        for (found, times) in found.iter_mut().zip(times).filter(|(_, times)| !times.is_empty()) {
            *found = found.map(|found| step(&found.split, &median(&times)));
        }
        self.trace.extend(found.iter().flatten());
        Ok(is_sure)
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
