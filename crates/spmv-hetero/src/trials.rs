//! How often a split is run, and when its runs end.

use spmv_exec::Result;

use crate::co_matrix::CoStats;

/// Runs before those that count.
const WARM_UP: usize = 2;
/// Least seconds of both: sleeping threads are slow at first. Where it is decided between devices more is taken.
pub(crate) const TRIAL: [f64; 2] = [2e-3, 4e-3];
pub(crate) const DECISION: [f64; 2] = [10e-3, 10e-3];
/// Time over the best known one above which a split is given up.
pub(crate) const HOPELESS: f64 = 2.0;
/// Share of the budget that a first run may take although it is hopeless: it may have compiled a kernel or moved the matrix
/// into the device's memory, and a second run costs at most as much.
const FIRST_RUN: f64 = 0.25;
/// Share of the budget that the runs of one split may take: of long runs few are needed, and other splits are to be tried.
const MOST_OF_ONE: f64 = 0.125;

/// One multiplication, and what it took.
pub(crate) type Multiply<'r> = &'r mut dyn FnMut() -> Result<CoStats>;

/// The rules of a search's runs.
pub(crate) struct Trials<'r> {
    /// Least runs that count, if there is time for them.
    pub(crate) runs: usize,
    /// No run is started later.
    pub(crate) budget_s: f64,
    /// Seconds since the search began. Tests make them up.
    pub(crate) now_s: &'r dyn Fn() -> f64,
}

impl Trials<'_> {
    /// Whether a share of the budget is spent.
    pub(crate) fn has_spent(&self, share: f64) -> bool {
        (self.now_s)() >= share * self.budget_s
    }

    /// Median times of some runs, after others. Of fewer runs where they are long or the budget ends, and `None` where it ended
    /// before the first; a first run that `is_owed` is started nevertheless.
    ///
    /// A split that takes more than [`HOPELESS`] times `best_s` is run once. Where that took at most [`FIRST_RUN`] of the
    /// budget, it is warmed up like others and then given up.
    pub(crate) fn run(
        &self,
        [warm_up_s, timed_s]: [f64; 2],
        best_s: f64,
        is_owed: bool,
        multiply: Multiply<'_>,
    ) -> Result<Option<CoStats>> {
        let mut times = Vec::new();
        let start_s = (self.now_s)();
        while times.len() < WARM_UP || (self.now_s)() < start_s + warm_up_s {
            if self.has_spent(1.0) && !(is_owed && times.is_empty()) {
                return Ok(least(&times));
            }
            let run = multiply()?;
            times.push(run);
            if times.len() == 1 && run.total_s > (HOPELESS * best_s).max(FIRST_RUN * self.budget_s) {
                return Ok(Some(run));
            }
        }
        let warm = least(&times);
        if warm.is_some_and(|warm| warm.total_s > HOPELESS * best_s) {
            return Ok(warm);
        }
        times.clear();
        let last_s = start_s + MOST_OF_ONE * self.budget_s;
        let start_s = (self.now_s)();
        while times.len() < self.runs || (self.now_s)() < start_s + timed_s {
            let is_enough = (self.now_s)() >= last_s && !times.is_empty();
            if is_enough || self.has_spent(1.0) {
                break;
            }
            times.push(multiply()?);
        }
        Ok(if times.is_empty() { warm } else { Some(median(&times)) })
    }
}

/// Of runs some of which were cold.
fn least(runs: &[CoStats]) -> Option<CoStats> {
    runs.iter().copied().min_by(|a, b| a.total_s.total_cmp(&b.total_s))
}

/// Of each of the times by itself.
pub(crate) fn median(runs: &[CoStats]) -> CoStats {
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
    use std::cell::Cell;

    use super::*;

    /// Runs that take `first_s` and then `next_s`, and what they are taken for, with a budget.
    fn check(budget_s: f64, [first_s, next_s]: [f64; 2], best_s: f64, is_owed: bool) -> (usize, Option<f64>) {
        let (now_s, n) = (Cell::new(0.0), Cell::new(0));
        let now = || now_s.get();
        let trials = Trials { runs: 9, budget_s, now_s: &now };
        let mut multiply = || {
            let total_s = if n.replace(n.get() + 1) == 0 { first_s } else { next_s };
            now_s.set(now_s.get() + total_s);
            Ok(CoStats { total_s, ..CoStats::default() })
        };
        let found = trials.run(TRIAL, best_s, is_owed, &mut multiply).unwrap();
        (n.get(), found.map(|stats| stats.total_s))
    }

    const UNKNOWN: f64 = f64::INFINITY;

    #[test]
    fn a_split_is_warmed_up_and_run_nine_times() {
        assert_eq!(check(2.0, [0.01, 0.01], UNKNOWN, false), (11, Some(0.01)));
        assert_eq!(check(UNKNOWN, [5.0, 5.0], UNKNOWN, false), (11, Some(5.0)));
        // Until 2 and 4 milliseconds are over, more often.
        assert_eq!(check(2.0, [0.25e-3, 0.25e-3], UNKNOWN, false), (24, Some(0.25e-3)));
    }

    #[test]
    fn long_runs_take_an_eighth_of_the_budget() {
        assert_eq!(check(8.0, [0.25, 0.25], UNKNOWN, false), (4, Some(0.25)));
        assert_eq!(check(8.0, [0.75, 0.5], UNKNOWN, false), (3, Some(0.5)), "one that counts at least");
    }

    #[test]
    fn a_split_above_twice_the_best_is_given_up_after_a_run_or_two() {
        assert_eq!(check(2.0, [0.75, 0.75], 0.25, false), (1, Some(0.75)));
        assert_eq!(
            check(2.0, [0.25, 0.25], 0.1, false),
            (2, Some(0.25)),
            "less than a quarter of the budget"
        );
        assert_eq!(check(UNKNOWN, [5.0, 5.0], 2.0, false), (2, Some(5.0)));
        assert_eq!(check(2.0, [0.01, 0.01], 0.006, false), (11, Some(0.01)), "less than twice the best");
    }

    #[test]
    fn a_first_run_that_compiles_does_not_count() {
        assert_eq!(check(2.0, [0.125, 0.01], 0.02, false), (11, Some(0.01)));
    }

    #[test]
    fn no_run_is_started_when_the_budget_is_spent() {
        assert_eq!(check(0.0, [1.0, 1.0], UNKNOWN, false), (0, None));
        assert_eq!(check(0.0, [1.0, 1.0], UNKNOWN, true), (1, Some(1.0)), "but for one that is owed");
        assert_eq!(check(2.0, [5.0, 5.0], UNKNOWN, false), (1, Some(5.0)));
        assert_eq!(check(2.0, [1.5, 1.0], UNKNOWN, false), (2, Some(1.0)), "the runs that were there");
    }
}
