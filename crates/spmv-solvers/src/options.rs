//! When to stop, and what came of it.

use std::fmt;
use std::ops::ControlFlow;

use spmv_core::Real;

use crate::error::{Breakdown, Error, Result};

/// What a callback is told at each check.
///
/// ```
/// use spmv_solvers::Progress;
/// fn line(progress: &Progress<f64>) -> String {
///     format!("{}: {:.3e}", progress.iteration, progress.residual)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress<A> {
    /// Iterations made.
    pub iteration: usize,
    /// Norm of the residual, by the iteration's own recurrence.
    pub residual: A,
    /// The residual at which it stops.
    pub target: A,
}

/// What is called at each check; [`ControlFlow::Break`] stops.
///
/// ```
/// use std::ops::ControlFlow;
/// let quiet: Box<spmv_solvers::Monitor<'_, f64>> = Box::new(|_| ControlFlow::Continue(()));
/// ```
pub type Monitor<'a, A> = dyn FnMut(&Progress<A>) -> ControlFlow<()> + 'a;

/// When to stop.
///
/// ```
/// use std::ops::ControlFlow;
/// use spmv_solvers::Options;
/// let mut seen = vec![];
/// let mut options = Options { relative: 1e-6, max_iterations: 500, ..Options::default() };
/// options.on_check(|progress| {
///     seen.push(progress.residual);
///     ControlFlow::Continue(())
/// });
/// ```
pub struct Options<'a, A> {
    /// Stops when the norm of the residual is at most this times that of `b`. The square root of the rounding error without it.
    pub relative: A,
    /// Or at most this.
    pub absolute: A,
    /// Stops after so many iterations.
    pub max_iterations: usize,
    /// Iterations between two checks, each of which waits once. At least 1.
    pub check_every: usize,
    /// Called at each check, as [`on_check`](Self::on_check) sets it.
    pub monitor: Option<Box<Monitor<'a, A>>>,
}

impl<A: Real> Default for Options<'_, A> {
    fn default() -> Self {
        let (relative, absolute) = (A::epsilon().sqrt(), A::zero());
        Self { relative, absolute, max_iterations: 1000, check_every: 10, monitor: None }
    }
}

impl<A: fmt::Debug> fmt::Debug for Options<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relative, absolute, max_iterations, check_every, .. } = self;
        let mut text = f.debug_struct("Options");
        text.field("relative", relative).field("absolute", absolute);
        text.field("max_iterations", max_iterations).field("check_every", check_every);
        text.finish_non_exhaustive()
    }
}

/// Why a solver stopped.
///
/// ```
/// assert_ne!(spmv_solvers::Stop::Converged, spmv_solvers::Stop::MaxIterations);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The residual is small enough.
    Converged,
    /// It is not, after all iterations that were allowed.
    MaxIterations,
    /// The callback said so.
    Asked,
}

/// What a solver did.
///
/// ```
/// fn show(report: &spmv_solvers::Report<f64>) {
///     println!("{:?} after {} iterations: {:.1e}", report.stop, report.iterations, report.residual);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report<A> {
    /// Why it stopped.
    pub stop: Stop,
    /// Iterations made.
    pub iterations: usize,
    /// Norm of the residual by the recurrence, at the end.
    pub residual: A,
    /// The same at each check: iterations made, and the norm.
    pub history: Vec<(usize, A)>,
}

/// What a check sees.
pub(crate) struct Found<A> {
    /// Norm of the residual.
    pub(crate) residual: A,
    /// Norm of the right-hand side, or what else the relative tolerance is of.
    pub(crate) of_b: A,
    /// Why the iteration cannot go on, unless it need not.
    pub(crate) breakdown: Option<Breakdown>,
}

impl<A> Report<A> {
    /// Whether the residual is small enough.
    pub fn has_converged(&self) -> bool {
        self.stop == Stop::Converged
    }
}

impl<'a, A: Real> Options<'a, A> {
    /// Calls `monitor` at each check.
    pub fn on_check(&mut self, monitor: impl FnMut(&Progress<A>) -> ControlFlow<()> + 'a) -> &mut Self {
        self.monitor = Some(Box::new(monitor));
        self
    }

    /// Numbers that cannot be.
    pub(crate) fn validate(&self) -> Result<()> {
        let each = [("relative", self.relative), ("absolute", self.absolute)];
        if let Some((what, value)) = each.into_iter().find(|(_, value)| value.is_nan() || *value < A::zero())
        {
            return Err(Error::Option { what, found: value.widen(), need: "it must be at least 0" });
        }
        if self.check_every == 0 {
            return Err(Error::Option { what: "check_every", found: 0.0, need: "it must be at least 1" });
        }
        Ok(())
    }

    /// Runs `iterate` until it has converged, with a check before the first iteration and after every
    /// [`check_every`](Self::check_every).
    pub(crate) fn drive<S>(
        &mut self,
        state: &mut S,
        mut iterate: impl FnMut(&mut S, usize) -> Result<()>,
        mut check: impl FnMut(&mut S, usize) -> Result<Found<A>>,
    ) -> Result<Report<A>> {
        let mut history = Vec::new();
        let mut iteration = 0;
        loop {
            let Found { residual, of_b, breakdown } = check(state, iteration)?;
            if !residual.is_finite() || !of_b.is_finite() {
                return Err(Error::Breakdown { iteration, why: Breakdown::NotFinite });
            }
            history.push((iteration, residual));
            let target = self.absolute.max(self.relative * of_b);
            let told = Progress { iteration, residual, target };
            let asked = self.monitor.as_mut().is_some_and(|monitor| monitor(&told).is_break());
            let stop = match () {
                () if residual <= target => Some(Stop::Converged),
                () if asked => Some(Stop::Asked),
                () if iteration >= self.max_iterations => Some(Stop::MaxIterations),
                () => None,
            };
            // What has converged may have nothing left but rounding errors to go on with.
            if let (Some(why), false) = (breakdown, stop == Some(Stop::Converged)) {
                return Err(Error::Breakdown { iteration, why });
            }
            if let Some(stop) = stop {
                return Ok(Report { stop, iterations: iteration, residual, history });
            }
            let next = iteration.saturating_add(self.check_every).min(self.max_iterations);
            (iteration..next).try_for_each(|iteration| iterate(state, iteration))?;
            iteration = next;
        }
    }
}
