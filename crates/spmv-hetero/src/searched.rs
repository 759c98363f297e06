//! A matrix whose split is searched for.

use std::sync::Arc;
use std::time::Instant;

use num_traits::One;
use spmv_backend::Backend;
use spmv_core::{CsrView, Offset, Value};
use spmv_exec::{Options, Result, Tune};

use crate::balance::Axis;
use crate::co_devices::CoDevices;
use crate::co_matrix::{CoMatrix, CoStats, CoWorkspace};
use crate::models::{SplitModels, features_of};
use crate::partition::Partition;
use crate::pattern::Regularity;
use crate::search::{Found, KINDS, Runs, Steering, Subject, search};
use crate::split::{Parts, Regular, Split};
use crate::trials::Trials;

/// Rows and columns over entries from which on a matrix is left to the cores: its vectors are all there is to it.
const SPARSEST: usize = 64;

impl<B: Backend, C: Backend, T: Value> CoMatrix<B, C, T> {
    /// Finds where to split a matrix and copies the parts to their devices; all of it to device or host where that is as fast. The device
    /// multiplies rows as `options` say.
    ///
    /// Algorithm 1 of the paper moves the width of the regular part, from where it holds 80% of the entries, until
    /// device and host take as long as each other; then rows of the rest, as Fig. 7 has it: those go to the device that it can take
    /// meanwhile. The same is tried without a regular part. [`Partition::trace`] says what was tried, and
    /// [`Partition::stopped_s`] whether the search ended before that because its [budget](Steering::budget_s) was spent.
    ///
    /// The search times splits alone and ignores [`Options::tune`]. With a [given split](Steering::split) there is no search, and the
    /// device's rows are tuned.
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
        let (mut x, mut y) = (vec![], vec![]);
        let mut multiply = |co_matrix: &Self, workspace: &mut CoWorkspace<B, C, T>| {
            // Only a search that runs needs them.
            x.resize(a.n_cols(), T::from_f64(1.0));
            y.resize(a.n_rows(), T::Accum::default());
            co_matrix.apply(workspace, T::Accum::one(), &x, T::Accum::default(), &mut y)
        };
        let now_s = || started.elapsed().as_secs_f64();
        // Trials of each split would spend the budget on a few of them.
        let untuned = Options { tune: Tune::Off, ..*options };
        Self::search(devices, a, &untuned, steering, &now_s, &mut multiply)
    }

    /// The same by any times: `now_s` are the seconds since it began.
    fn search<O: Offset>(
        devices: &CoDevices<B, C>,
        a: CsrView<'_, T, O>,
        options: &Options,
        steering: &Steering,
        now_s: &dyn Fn() -> f64,
        multiply: &mut Multiply<'_, B, C, T>,
    ) -> Result<Self> {
        let shape = Regularity::of(a);
        let pattern = shape.pattern();
        if (a.n_rows() + a.n_cols()) / SPARSEST >= a.nnz() {
            let (split, why) = (Split::by_rows(0), "the cores alone; there are next to no entries");
            let partition = Partition::untried(pattern, split, why);
            return Ok(Self::with_split(devices, a, &split)?.with_partition(partition, now_s()));
        }
        let regular = steering.regular.unwrap_or_else(|| Regular::nearly_full(&shape));
        let mut starts = vec![Split { options: *options, ..Split::begin(a, regular) }];
        if regular != Regular::None {
            starts.push(Split { options: *options, ..Split::by_share(a, 0.5) });
        }
        let models = steering.models.as_deref().and_then(|models| models.of(T::DTYPE));
        // No number is no budget.
        let trials = Trials { runs: steering.runs, budget_s: steering.budget_s.max(0.0), now_s };
        let mut subject = Searched { devices, a, multiply, parts: None, kept: [const { None }; KINDS] };
        let Found { partition, kind } = search(&mut subject, pattern, starts, models, options, trials)?;
        let taken = kind.and_then(|kind| subject.kept[kind].take());
        // Their memory may be needed.
        subject.kept = [const { None }; KINDS];
        let co_matrix = taken.map_or_else(|| subject.co_matrix(&partition.chosen.split), Ok)?;
        Ok(co_matrix.with_partition(partition, now_s()))
    }
}

/// One multiplication, and what it took.
type Multiply<'r, B, C, T> = dyn FnMut(&CoMatrix<B, C, T>, &mut CoWorkspace<B, C, T>) -> Result<CoStats> + 'r;

/// A matrix and its devices, and what is prepared of it.
struct Searched<'a, 'm, 'r, B: Backend, C: Backend, T: Value, O> {
    devices: &'a CoDevices<B, C>,
    a: CsrView<'a, T, O>,
    multiply: &'m mut Multiply<'r, B, C, T>,
    /// Of the regular part that was looked at last.
    parts: Option<Arc<Parts<'a, T, O>>>,
    kept: [Option<CoMatrix<B, C, T>>; KINDS],
}

impl<'a, B: Backend, C: Backend, T: Value, O: Offset> Searched<'a, '_, '_, B, C, T, O> {
    fn parts(&mut self, regular: Regular) -> Arc<Parts<'a, T, O>> {
        match &self.parts {
            Some(parts) if parts.kind() == regular => Arc::clone(parts),
            _ => Arc::clone(self.parts.insert(Arc::new(Parts::of(self.a, regular)))),
        }
    }

    fn co_matrix(&mut self, split: &Split) -> Result<CoMatrix<B, C, T>> {
        let parts = self.parts(split.regular);
        CoMatrix::with_parts(self.devices, self.a, &parts, split)
    }

    fn run(&mut self, co_matrix: &CoMatrix<B, C, T>, runs: Runs<'_>) -> Result<Option<CoStats>> {
        let mut workspace = co_matrix.workspace()?;
        runs(&mut || (self.multiply)(co_matrix, &mut workspace))
    }
}

impl<B: Backend, C: Backend, T: Value, O: Offset> Subject for Searched<'_, '_, '_, B, C, T, O> {
    fn n_rows(&self) -> usize {
        self.a.n_rows()
    }

    fn widths(&self, kind: Regular) -> Axis {
        Axis::of_widths(self.a, kind)
    }

    fn rows(&mut self, regular: Regular) -> Axis {
        let parts = self.parts(regular);
        Axis::of_rows(parts.rest(), parts.regular().map_or(0, |regular| regular.nnz()))
    }

    fn predicted(&mut self, models: &SplitModels, split: &Split) -> [f64; 2] {
        let parts = self.parts(split.regular);
        let (device, cores) = features_of(&parts, split);
        let has_regular = parts.regular().is_some();
        let entries = &parts.rest().row_ptr()[split.rows.min(self.a.n_rows())];
        let device_idles = !has_regular && split.rows == 0;
        let cores_idle = match has_regular {
            true => entries.to_usize() == parts.rest().nnz(),
            false => split.rows >= self.a.n_rows(),
        };
        let device_s = if device_idles { 0.0 } else { models.device.seconds(&device) };
        let cores_s = if cores_idle { 0.0 } else { models.cores.seconds(&cores) };
        [device_s, cores_s]
    }

    fn measured(&mut self, split: &Split, runs: Runs<'_>) -> Result<Option<CoStats>> {
        let co_matrix = self.co_matrix(split)?;
        self.run(&co_matrix, runs)
    }

    fn keep(&mut self, kind: usize, split: &Split) -> Result<()> {
        self.kept[kind] = Some(self.co_matrix(split)?);
        Ok(())
    }

    fn measured_again(&mut self, kind: usize, runs: Runs<'_>) -> Result<Option<CoStats>> {
        let Some(co_matrix) = self.kept[kind].take() else { return Ok(None) };
        let stats = self.run(&co_matrix, runs);
        self.kept[kind] = Some(co_matrix);
        stats
    }
}

#[cfg(test)]
mod tests;
