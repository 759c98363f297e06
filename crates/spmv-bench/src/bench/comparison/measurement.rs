//! One matrix in one precision and cache state: every contestant prepared, timed, checked.

use std::time::Instant;

use anyhow::Context as _;
use spmv::{
    Context, Csr, Options, Wide, oracle,
    plan::{Algorithm, RowStats},
};
use spmv_backend::Backend as _;
use spmv_exec::{Device, DeviceVec, Prepared, Workspace};

use super::super::entrant::{Factor, Problem};
use super::super::inputs::Loaded;
use super::super::report::{self, Cache, ComparisonRow, Row, Spread};
use super::super::stop::{Stop, Stopped};
use super::super::tiling;
use super::arrays::{Arrays, GpuValue, OnGpu};
use super::cusparse::{Cusparse, Operation};
use super::facade;
use super::isolated::Isolated;
use super::race::{Replay, race};
use super::variant::Variant;

/// Multiplications in a graph of warm ones: so many that starting the graph is a small part of its time.
pub(super) const RUNS: u32 = 20;
/// Timed replays of each contestant, unless a number is asked for.
const ROUNDS_WARM: usize = 7;
const ROUNDS_COLD: usize = 15;

/// How to measure.
pub(super) struct Measurement<'a> {
    pub(super) device: &'a Device<OnGpu>,
    /// The same device as a user opens it.
    pub(super) context: &'a Context,
    pub(super) cusparse: Option<&'a Cusparse>,
    pub(super) algorithms: &'a [Algorithm],
    pub(super) tiling: Option<tiling::Asked>,
    pub(super) cache: Cache,
    pub(super) repeat: Option<usize>,
    pub(super) isolated: Option<&'a Isolated<'a>>,
    pub(super) stop: &'a Stop,
}

/// One of our algorithms, prepared.
struct Ours<T: GpuValue> {
    contestant: String,
    prepared: Prepared<OnGpu, T>,
    set_up_s: f64,
}

/// What runs of it write.
struct Output<T: GpuValue> {
    workspace: Workspace<OnGpu, T>,
    y: DeviceVec<OnGpu, T>,
}

/// What is the same for every contestant.
struct Common<W = f64> {
    row: ComparisonRow,
    bytes: f64,
    reference: oracle::Reference<W>,
}

impl Measurement<'_> {
    /// A row for each contestant.
    ///
    /// # Errors
    /// If the run is to end; whatever else goes wrong is in the rows.
    pub(super) fn hold<T: GpuValue>(
        &self,
        loaded: &Loaded,
        transposed: bool,
    ) -> Result<Vec<ComparisonRow>, Stopped> {
        let Problem { factor, x, reference } = Problem::<T>::by(&loaded.matrix, transposed);
        let row = ComparisonRow {
            matrix: report::factor(&loaded.name, transposed),
            twin: loaded.twin,
            nnz: factor.a.nnz(),
            precision: T::DTYPE.to_string(),
            cache: self.cache,
            contestant: String::new(),
            library: self.cusparse.map(|cusparse| cusparse.version().to_owned()),
            kernel: None,
            us: None,
            setup_us: None,
            buffer_bytes: None,
            gbs: None,
            ok: false,
            error_over_bound: None,
            why: None,
        };
        let bytes = Row::compulsory_bytes(&RowStats::of(factor.get().view()), T::DTYPE);
        let common = Common { row, bytes, reference };
        self.measure(&factor, &x, &common).or_else(|e| match e.downcast_ref::<Stopped>() {
            Some(stopped) => Err(*stopped),
            None => {
                let ours = self.algorithms.iter().map(|algorithm| ComparisonRow::ours(algorithm.name()));
                Ok(ours.map(|contestant| common.failed(contestant, &e)).collect())
            }
        })
    }

    fn measure<T: GpuValue>(
        &self,
        factor: &Factor<T>,
        x: &[T],
        common: &Common<T::Wide>,
    ) -> anyhow::Result<Vec<ComparisonRow>> {
        // Rows that nobody writes would show.
        let nothing = vec![T::from_f64(f64::NAN); factor.get().n_rows()];
        let x = self.device.upload(x)?;
        let mut rows = Vec::new();
        let (mut ours, mut outputs) = (Vec::new(), Vec::new());
        for &algorithm in self.algorithms {
            self.stop.check()?;
            match self.enter(factor, algorithm, &x, &nothing) {
                Ok((one, output)) => {
                    ours.push(one);
                    outputs.push(output);
                }
                // A layout that refuses a matrix has no time, and that is no failure; the rows of the device say so.
                Err(e) if matches!(e.downcast_ref(), Some(spmv_exec::Error::Format(_))) => {}
                Err(e) => rows.push(common.failed(ComparisonRow::ours(algorithm.name()), &e)),
            }
        }
        // Where ours are of the transpose, which cuSPARSE is asked for instead, the matrix was split for them, or none was prepared.
        let is_theirs = |one: &&Ours<T>| factor.transpose.is_none() && Arrays::of(&one.prepared).is_some();
        let mut spare = None;
        if self.cusparse.is_some() && !ours.iter().any(|one| is_theirs(&one)) {
            let options = Options { algorithm: Algorithm::CsrVector, ..Options::default() };
            spare = self.device.prepare(factor.a.view(), &options).ok();
            self.device.backend().wait_all()?;
        }
        let prepared = || ours.iter().filter(is_theirs).map(|one| &one.prepared).chain(&spare);
        let mut theirs = Vec::new();
        for (cusparse, variant) in self.variants(factor.transpose.is_some()) {
            self.stop.check()?;
            let enter = || -> anyhow::Result<Operation<'_, T>> {
                self.isolated.map_or(Ok(()), |isolated| isolated.setting_up(&variant.contestant()))?;
                let arrays =
                    prepared().find_map(Arrays::of).context("the matrix is too large for one launch")?;
                let y = self.device.upload(&nothing)?;
                let mut operation = Operation::new(cusparse, variant, &arrays, &x, y)?;
                operation.capture(self.runs(), &nothing)?;
                Ok(operation)
            };
            match enter() {
                Ok(operation) => theirs.push(operation),
                Err(e) => {
                    if let Some(isolated) = self.isolated
                        && self.device.backend().wait_all().is_err()
                    {
                        isolated.device_lost(&e);
                    }
                    rows.push(common.failed(variant.contestant(), &e));
                }
            }
        }
        self.isolated.map_or(Ok(()), Isolated::racing)?;

        let replays = ours.iter().zip(&mut outputs).map(|(one, output)| one.capture(output, self.runs(), &x));
        let theirs_too = theirs
            .iter()
            .map(|operation| -> anyhow::Result<Replay<'_>> { Ok(Box::new(|| operation.replay())) });
        let contestants = replays.chain(theirs_too).collect();
        let flush = || self.device.backend().flush_before_next_event();
        let mut times = race(contestants, self.cache, self.rounds(), &flush, self.stop)?.into_iter();

        // As many as were captured, in the same order.
        for ((one, output), time) in ours.iter().zip(&outputs).zip(&mut times) {
            let plan = one.prepared.plan();
            let mut row = common.row(one.contestant.clone(), one.set_up_s, time, || Ok(output.y.to_vec()?));
            row.kernel = Some(format!("{} {}", plan.algorithm, plan.kernel.tiling));
            rows.push(row);
        }
        for (operation, time) in theirs.iter().zip(times) {
            let contestant = operation.variant().contestant();
            let row = common.row(contestant, operation.set_up_s(), time, || operation.result());
            rows.push(ComparisonRow { buffer_bytes: Some(operation.buffer_bytes()), ..row });
        }
        Ok(rows)
    }

    /// Those of the library that take part: SpMVOp by matrices alone.
    fn variants(&self, transposed: bool) -> impl Iterator<Item = (&Cusparse, Variant)> {
        self.cusparse.into_iter().flat_map(move |cusparse| {
            let ops = self.isolated.filter(|_| !transposed).into_iter().flat_map(|_| cusparse.op_variants());
            cusparse.variants(transposed).chain(ops).map(move |variant| (cusparse, variant))
        })
    }

    /// Prepares one of ours and runs it once, so that nothing is loaded while it is captured.
    fn enter<T: GpuValue>(
        &self,
        factor: &Factor<T>,
        algorithm: Algorithm,
        x: &DeviceVec<OnGpu, T>,
        nothing: &[T],
    ) -> anyhow::Result<(Ours<T>, Output<T>)> {
        let backend = self.device.backend();
        let tiling = self.tiling.and_then(|asked| asked.tiling(algorithm, backend.caps(), T::DTYPE));
        let asked = facade::options(algorithm, tiling);
        let a = factor.get();
        let users = self.context.plan(a, &asked)?;
        let options = facade::for_graphs(asked, &users);
        // Twice, as for cuSPARSE: at the first time kernels are compiled.
        drop(self.device.prepare(a.view(), &options)?);
        backend.wait_all()?;
        let start = Instant::now();
        let transpose = factor.transpose.as_ref().map(|_| factor.a.transpose());
        let prepared = self.device.prepare(transpose.as_ref().unwrap_or(a).view(), &options)?;
        backend.wait_all()?;
        let set_up_s = start.elapsed().as_secs_f64();
        facade::check_same(&users, prepared.plan())?;
        let mut output = Output { workspace: prepared.timed_workspace()?, y: self.device.upload(nothing)? };
        backend.wait_all()?;
        prepared.apply(&mut output.workspace, T::one(), x, T::zero(), &mut output.y)?;
        output.y.write(nothing)?;
        backend.wait_all()?;
        Ok((Ours { contestant: ComparisonRow::ours(algorithm.name()), prepared, set_up_s }, output))
    }

    /// Multiplications in a graph.
    fn runs(&self) -> u32 {
        if self.cache == Cache::Warm { RUNS } else { 1 }
    }

    fn rounds(&self) -> usize {
        self.repeat.unwrap_or(if self.cache == Cache::Warm { ROUNDS_WARM } else { ROUNDS_COLD })
    }
}

impl<T: GpuValue> Ours<T> {
    fn capture<'a>(
        &'a self,
        output: &'a mut Output<T>,
        runs: u32,
        x: &'a DeviceVec<OnGpu, T>,
    ) -> anyhow::Result<Replay<'a>> {
        let Output { workspace, y } = output;
        let mut graph = self.prepared.capture(workspace, runs, T::one(), x, T::zero(), y)?;
        Ok(Box::new(move || Ok(graph.replay()?.stage1_s)))
    }
}

impl<W: Wide> Common<W> {
    fn failed(&self, contestant: String, e: &anyhow::Error) -> ComparisonRow {
        ComparisonRow { contestant, why: Some(format!("{e:#}")), ..self.row.clone() }
    }

    /// A wrong result has no time.
    fn row<T: GpuValue>(
        &self,
        contestant: String,
        set_up_s: f64,
        time: anyhow::Result<Spread>,
        result: impl FnOnce() -> anyhow::Result<Vec<T>>,
    ) -> ComparisonRow {
        let checked = time.and_then(|us| Ok((us, self.reference.error_over_bound(&result()?))));
        let (us, error) = match checked {
            Ok(checked) => checked,
            Err(e) => return self.failed(contestant, &e),
        };
        let ok = error <= 1.0;
        ComparisonRow {
            contestant,
            us: ok.then_some(us),
            setup_us: Some(set_up_s * 1e6),
            gbs: ok.then(|| self.bytes / us.median / 1e3),
            ok,
            // JSON knows no infinity, which is what a NaN in the result counts as.
            error_over_bound: Some(error.min(f64::MAX)),
            why: (!ok).then(|| "its result is wrong".to_owned()),
            ..self.row.clone()
        }
    }
}

/// Microseconds of a multiplication of a 1 x 1 matrix in a warm graph: what no other can be faster than.
pub(super) fn empty_us(device: &Device<OnGpu>, context: &Context, stop: &Stop) -> anyhow::Result<f64> {
    let one = Factor { a: Csr::from_coo(1, 1, &[(0, 0, 1.0f64)])?, transpose: None };
    let algorithms = [Algorithm::CsrVector];
    let measurement = Measurement {
        device,
        context,
        cusparse: None,
        algorithms: &algorithms,
        tiling: None,
        cache: Cache::Warm,
        repeat: None,
        isolated: None,
        stop,
    };
    let x = device.upload(&[1.0])?;
    let (one, mut output) = measurement.enter(&one, algorithms[0], &x, &[f64::NAN])?;
    let replay = one.capture(&mut output, measurement.runs(), &x);
    let time = race(vec![replay], measurement.cache, measurement.rounds(), &|| (), stop)?.remove(0)?;
    Ok(time.median)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    /// A matrix of one row whose product is 3, and 24 bytes of traffic.
    fn common() -> Common {
        let a = Csr::from_coo(1, 1, &[(0, 0, 1.5f64)]).unwrap();
        let row = ComparisonRow { matrix: "m".into(), nnz: 1, ..ComparisonRow::sample("", None) };
        Common { row, bytes: 24.0, reference: oracle::multiply(a.view(), 1.0, &[2.0], 0.0, &[0.0]) }
    }

    const US: Spread = Spread { median: 2.0, min: 1.0, max: 3.0 };

    #[test]
    fn a_right_result_has_a_time_and_a_rate() {
        let row = common().row("spmv/auto".into(), 1e-3, Ok(US), || Ok(vec![3.0]));
        assert_eq!((row.ok, row.us, row.setup_us, row.why), (true, Some(US), Some(1e3), None));
        assert_eq!(row.gbs, Some(24.0 / 2.0 / 1e3));
    }

    #[test]
    fn a_wrong_result_has_neither() {
        let row = common().row("spmv/auto".into(), 1e-3, Ok(US), || Ok(vec![f64::NAN]));
        assert_eq!((row.ok, row.us, row.gbs), (false, None, None));
        assert_eq!(row.error_over_bound, Some(f64::MAX));
        assert!(row.why.is_some());
    }

    #[test]
    fn one_that_failed_has_the_reason_and_its_result_is_not_looked_at() {
        let looked = || -> anyhow::Result<Vec<f64>> { Err(anyhow!("looked")) };
        let row = common().row("cusparse/default".into(), 1e-3, Err(anyhow!("lost")), looked);
        assert_eq!(
            (row.ok, row.why.as_deref(), row.contestant.as_str()),
            (false, Some("lost"), "cusparse/default")
        );
    }
}
