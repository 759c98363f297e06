//! One of our own ways to multiply: prepared, timed, checked.

use std::cell::RefCell;
use std::time::Instant;

use spmv::{Csr, Matrix, Options, RunStats, Scalar, Value, Vector, Workspace, oracle};

use super::devices::Target;
use super::measure::{Phase, Run, spread, timed};
use super::report::{Cache, Spread};

/// A matrix and a vector in the precision of the measurement, and what their product must be.
pub(crate) struct Problem<T: Scalar> {
    pub(crate) factor: Factor<T>,
    pub(crate) x: Vec<T>,
    pub(crate) reference: oracle::Reference<T::Wide>,
}

/// A number made of a real one: a complex one has half of it as its imaginary part.
pub(crate) fn number<T: Value>(re: f64) -> T {
    T::from_parts([re, 0.5 * re])
}

/// What `x` is multiplied by: a matrix, or its transpose.
pub(crate) struct Factor<T: Scalar> {
    pub(crate) a: Csr<T>,
    /// Where the product is by it.
    pub(crate) transpose: Option<Csr<T>>,
}

impl<T: Scalar> Factor<T> {
    pub(crate) fn get(&self) -> &Csr<T> {
        self.transpose.as_ref().unwrap_or(&self.a)
    }
}

impl<T: Scalar> Problem<T> {
    pub(crate) fn of(matrix: &Csr<f64>) -> Self {
        Self::by(matrix, false)
    }

    /// The product by the matrix, or by its transpose.
    pub(crate) fn by(matrix: &Csr<f64>, transposed: bool) -> Self {
        let a: Csr<T> = matrix.map_values(number);
        let transpose = transposed.then(|| a.transpose());
        let factor = Factor { a, transpose };
        let of = factor.get();
        let x: Vec<T> = (0..of.n_cols()).map(|i| number(0.25 + (i % 64) as f64 / 64.0)).collect();
        let reference = oracle::multiply(
            of.view(),
            T::Wide::from_f64(1.0),
            &x,
            T::Wide::default(),
            &vec![T::Accum::default(); of.n_rows()],
        );
        Self { factor, x, reference }
    }
}

/// A prepared matrix, and what its timed runs left.
pub(crate) struct Entrant<T: Scalar> {
    prepared: Matrix<T>,
    /// Whether products are by its transpose.
    transposed: bool,
    /// Planning and preparing, copies included; of a transpose, together with the matrix.
    pub(crate) prepare_s: f64,
    /// For runs with the device's timestamps, where it has them: they take the caller longer.
    timed: Option<RefCell<Workspace>>,
    state: RefCell<State<T>>,
}

/// Runs with the device's timestamps, and untimed ones before them.
const DEVICE_RUNS: usize = 30;
const DEVICE_WARM_UP: usize = 5;
/// Seconds of products in a queue.
const QUEUED_S: f64 = 0.02;

struct State<T: Scalar> {
    y: Vector<T::Accum>,
    runs: Vec<RunStats>,
}

/// What a measurement says of an entrant. Microseconds; a wrong result has no speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) time_us: Option<Spread>,
    /// Where the device has timestamps.
    pub(crate) device_us: Option<Spread>,
    /// Median of timed runs, as is `stage2_us`.
    pub(crate) stage1_us: f64,
    pub(crate) stage2_us: f64,
    /// Of the last run, as `dirty_tiles`.
    pub(crate) n_tiles: u32,
    pub(crate) dirty_tiles: Option<u32>,
    pub(crate) error_over_bound: f64,
    pub(crate) ok: bool,
}

impl<T: Scalar> Entrant<T> {
    /// What multiplies.
    pub(crate) fn matrix(&self) -> &Matrix<T> {
        if self.transposed {
            return self.prepared.transposed().expect("prepared with its transpose");
        }
        &self.prepared
    }
}

impl<T: Scalar> Entrant<T>
where
    T::Accum: Scalar,
{
    pub(crate) fn prepare(target: &Target, options: &Options, problem: &Problem<T>) -> spmv::Result<Self> {
        let factor = &problem.factor;
        let (start, transposed) = (Instant::now(), factor.transpose.is_some());
        let prepared = if transposed {
            target.context.prepare_with_transpose(&factor.a, options)?
        } else {
            target.context.prepare_with(&factor.a, options)?
        };
        let prepare_s = start.elapsed().as_secs_f64();
        // Rows that no kernel writes would show.
        let nothing = vec![<T::Accum as Value>::from_f64(f64::NAN); factor.get().n_rows()];
        let y = target.context.upload(&nothing)?;
        let state = RefCell::new(State { y, runs: vec![] });
        let mut entrant = Self { prepared, transposed, prepare_s, timed: None, state };
        if target.has_timestamps() {
            entrant.timed = Some(RefCell::new(entrant.matrix().timed_workspace()?));
        }
        Ok(entrant)
    }

    /// One multiplication at a time, for the stopwatch.
    pub(crate) fn run<'a>(&'a self, x: &'a Vector<T>) -> Run<'a> {
        let one = <T::Accum as Value>::from_f64(1.0);
        timed(move |phase| {
            let State { y, runs } = &mut *self.state.borrow_mut();
            let stats = self.matrix().apply(one, x, T::Accum::default(), y)?;
            if phase == Phase::Timed {
                runs.push(stats);
            }
            Ok(())
        })
    }

    /// Seconds of a product among others in a queue, of which the last is waited for.
    pub(crate) fn queued_s(&self, x: &Vector<T>) -> spmv::Result<f64> {
        let one = <T::Accum as Value>::from_f64(1.0);
        let State { y, .. } = &mut *self.state.borrow_mut();
        let mut queue = self.matrix().context().queue()?;
        let mut times = |n: u32| {
            let start = Instant::now();
            (0..n).try_for_each(|_| queue.apply(self.matrix(), one, x, T::Accum::default(), y))?;
            queue.wait()?;
            spmv::Result::Ok(start.elapsed().as_secs_f64() / f64::from(n))
        };
        times(2)?;
        let few = times(4)?;
        times((QUEUED_S / few).clamp(4.0, 500.0) as u32)
    }

    /// Checks the last result against the oracle's, and sums up the runs that `time` is of and, unless caches are
    /// to be cold, as many with the device's timestamps as are enough.
    pub(crate) fn finding(
        &self,
        reference: &oracle::Reference<T::Wide>,
        x: &Vector<T>,
        cache: Cache,
        time: Spread,
    ) -> anyhow::Result<Finding> {
        let State { y, runs } = &mut *self.state.borrow_mut();
        let mut has_timestamps = false;
        if let (Some(timed), Cache::Warm) = (&self.timed, cache) {
            let workspace = &mut *timed.borrow_mut();
            let one = <T::Accum as Value>::from_f64(1.0);
            let mut run = || self.matrix().enqueue(workspace, one, x, T::Accum::default(), y)?.wait();
            (0..DEVICE_WARM_UP).try_for_each(|_| run().map(|_| ()))?;
            *runs = (0..DEVICE_RUNS).map(|_| run()).collect::<Result<_, _>>()?;
            has_timestamps = true;
        }
        let error_over_bound = reference.error_over_bound(&y.to_vec()?);
        let last = runs.last_mut();
        // Where the device repairs, its count is in no run without its timestamps.
        if let Some(last) = last.filter(|last| last.n_tiles > 0 && last.dirty_tiles.is_none()) {
            let (one, mut workspace) = (<T::Accum as Value>::from_f64(1.0), self.matrix().workspace()?);
            self.matrix().enqueue(&mut workspace, one, x, T::Accum::default(), y)?.wait()?;
            last.dirty_tiles = Some(self.matrix().dirty_tiles(&workspace)?);
        }
        Ok(sum_up(runs, has_timestamps, time, error_over_bound))
    }
}

/// `runs` are the timed ones, at least one.
fn sum_up(runs: &[RunStats], has_timestamps: bool, time: Spread, error_over_bound: f64) -> Finding {
    let of = |seconds: fn(&RunStats) -> f64| spread(runs.iter().map(seconds).collect());
    let ok = error_over_bound <= 1.0;
    Finding {
        time_us: ok.then_some(time),
        device_us: (ok && has_timestamps).then(|| of(|r| r.stage1_s + r.stage2_s)),
        stage1_us: of(|r| r.stage1_s).median,
        stage2_us: of(|r| r.stage2_s).median,
        n_tiles: runs.last().map_or(0, |r| r.n_tiles),
        dirty_tiles: runs.last().and_then(|r| r.dirty_tiles),
        // JSON knows no infinity, which is what a NaN in the result counts as.
        error_over_bound: error_over_bound.min(f64::MAX),
        ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spmv::{BackendKind, Context, plan::Algorithm};

    const WALL: Spread = Spread { median: 20.0, min: 10.0, max: 30.0 };

    fn runs(stages_us: &[(f64, f64)]) -> Vec<RunStats> {
        let run = |(stage1, stage2): &(f64, f64)| {
            let mut stats = RunStats::default();
            (stats.stage1_s, stats.stage2_s) = (stage1 * 1e-6, stage2 * 1e-6);
            stats
        };
        stages_us.iter().map(run).collect()
    }

    #[test]
    fn device_time_is_of_both_stages_and_medians_are_of_all_timed_runs() {
        let finding = sum_up(&runs(&[(9.0, 1.0), (2.0, 5.0), (4.0, 4.0)]), true, WALL, 0.5);
        let device = finding.device_us.unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(device.median, 8.0) && near(device.min, 7.0) && near(device.max, 10.0), "{device:?}");
        assert!(near(finding.stage1_us, 4.0) && near(finding.stage2_us, 4.0), "{finding:?}");
        assert_eq!(finding.time_us, Some(WALL));
    }

    #[test]
    fn a_device_without_timestamps_has_no_time_of_its_own() {
        assert_eq!(sum_up(&runs(&[(9.0, 1.0)]), false, WALL, 0.5).device_us, None);
    }

    #[test]
    fn a_wrong_result_has_no_speed() {
        let finding = sum_up(&runs(&[(9.0, 1.0)]), true, WALL, f64::INFINITY);
        assert_eq!((finding.time_us, finding.device_us, finding.ok), (None, None, false));
        assert_eq!(finding.error_over_bound, f64::MAX);
    }

    #[test]
    fn only_timed_runs_are_kept() {
        let target = Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu");
        let a = Csr::from_coo(2, 2, &[(0, 0, 2.0), (1, 0, 3.0), (1, 1, 4.0)]).unwrap();
        let problem = Problem::<f32>::of(&a);
        let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
        let entrant = Entrant::prepare(&target, &options, &problem).unwrap();
        let x = target.context.upload(&problem.x).unwrap();
        let mut run = entrant.run(&x);
        for phase in [Phase::Untimed, Phase::Timed, Phase::Untimed, Phase::Timed] {
            run(1, phase).unwrap();
        }
        drop(run);
        assert_eq!(entrant.state.borrow().runs.len(), 2);
        assert!(entrant.finding(&problem.reference, &x, Cache::Warm, WALL).unwrap().ok);
    }
}
