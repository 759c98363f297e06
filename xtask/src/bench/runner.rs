//! One matrix in one precision: every backend, algorithm and peer in one interleaved measurement.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

use spmv::{
    Accum, Algorithm, Context, Csr, CsrView, Dtype, Matrix, Options, RunStats, Scalar, Tiling, Value, Vector,
    bf16, f16, oracle,
};

use super::inputs::Loaded;
use super::measure::{self, Eviction, Run};
use super::peers;
use super::report::{Cache, PeerTime, Report, Row, Spread};

/// How to measure.
pub(crate) struct Way<'a> {
    pub(crate) contexts: &'a [Context],
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) tiling: Option<Tiling>,
    pub(crate) cache: Cache,
    pub(crate) repeat: Option<usize>,
    pub(crate) peers: bool,
    pub(crate) eviction: &'a Eviction,
    pub(crate) read_gbs: f64,
}

/// Adds a row to the report for each backend and algorithm.
pub(crate) fn measure(
    way: &Way<'_>,
    loaded: &Loaded,
    precision: Dtype,
    report: &mut Report,
) -> anyhow::Result<()> {
    match precision {
        Dtype::F16 => of_type::<f16>(way, loaded, report),
        Dtype::Bf16 => of_type::<bf16>(way, loaded, report),
        Dtype::F32 => of_type::<f32>(way, loaded, report),
        Dtype::F64 => of_type::<f64>(way, loaded, report),
    }
}

/// A value type of a bench.
trait BenchValue: Scalar {
    /// Peers that know the type, and those that are absent.
    fn peers<'a>(a: CsrView<'a, Self>, x: &'a [Self], reference: &'a oracle::Reference) -> Contenders<'a>;
}

/// Peers ready to run, and peers that are not there.
#[derive(Default)]
struct Contenders<'a> {
    ready: Vec<Contender<'a>>,
    absent: Vec<(&'static str, String)>,
}

struct Contender<'a> {
    name: &'static str,
    prepare_s: f64,
    run: Run<'a>,
    is_right: bool,
}

macro_rules! with_peers {
    ($($t:ty),*) => {$(
        impl BenchValue for $t {
            fn peers<'a>(a: CsrView<'a, Self>, x: &'a [Self], reference: &'a oracle::Reference) -> Contenders<'a> {
                let (prepared, absent) = peers::prepare_all(a);
                let ready = prepared.into_iter().map(|p| contender(p, x, reference)).collect();
                Contenders { ready, absent }
            }
        }
    )*};
}

with_peers!(f32, f64);

macro_rules! without_peers {
    ($($t:ty),*) => {$(
        impl BenchValue for $t {
            fn peers<'a>(_: CsrView<'a, Self>, _: &'a [Self], _: &'a oracle::Reference) -> Contenders<'a> {
                let why = || format!("no {} values", <$t as Value>::DTYPE);
                let names = peers::RUST_PEERS.into_iter().chain([peers::MKL]);
                Contenders { ready: vec![], absent: names.map(|name| (name, why())).collect() }
            }
        }
    )*};
}

without_peers!(f16, bf16);

fn contender<'a, T: Accum>(
    peers::Prepared { name, prepare_s, mut peer }: peers::Prepared<'a, T>,
    x: &'a [T],
    reference: &oracle::Reference,
) -> Contender<'a> {
    let mut y = vec![T::nan(); reference.y.len()];
    let is_right = peer.run(x, &mut y).is_ok() && reference.error_over_bound(&y) <= 1.0;
    Contender { name, prepare_s, run: Box::new(move || peer.run(x, &mut y)), is_right }
}

/// One of our own ways to multiply, and what its last run left.
struct Entrant<'a, T: Scalar> {
    context: &'a Context,
    algorithm: Algorithm,
    matrix: Matrix<T>,
    prepare_s: f64,
    state: RefCell<(Vector<T::Accum>, RunStats)>,
}

fn of_type<T: BenchValue>(way: &Way<'_>, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let a: Csr<T> = loaded.matrix.map_values(T::from_f64);
    let x: Vec<T> = (0..a.n_cols()).map(|i| T::from_f64(0.25 + (i % 64) as f64 / 64.0)).collect();
    let reference = oracle::multiply(a.view(), 1.0, &x, 0.0, &vec![T::Accum::default(); a.n_rows()]);

    let mut entrants = Vec::new();
    let mut inputs = Vec::new();
    for context in way.contexts {
        inputs.push(context.upload(&x)?);
        for &algorithm in way.algorithms {
            entrants.push((inputs.len() - 1, prepare(context, algorithm, way.tiling, &a)?));
        }
    }
    let contenders = if way.peers { T::peers(a.view(), &x, &reference) } else { Contenders::default() };
    report.absent.extend(contenders.absent.iter().map(|(name, why)| ((*name).to_owned(), why.clone())));

    let one = <T::Accum as Value>::from_f64(1.0);
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (input, entrant) in &entrants {
        let x = &inputs[*input];
        runs.push(Box::new(move || {
            let (y, stats) = &mut *entrant.state.borrow_mut();
            *stats = entrant.matrix.apply(one, x, T::Accum::default(), y)?;
            Ok(())
        }));
    }
    let mut peers = Vec::new();
    for Contender { name, prepare_s, run, is_right } in contenders.ready {
        peers.push((name, prepare_s, is_right));
        runs.push(run);
    }
    let times = measure::interleave(&mut runs, way.cache, way.repeat, way.eviction)?;
    drop(runs);

    let (ours, theirs) = times.split_at(entrants.len());
    let peers: BTreeMap<String, PeerTime> = peers
        .into_iter()
        .zip(theirs)
        .map(|((name, prepare_s, is_right), time)| {
            let time_us = is_right.then_some(time.median);
            (name.to_owned(), PeerTime { time_us, prepare_us: prepare_s * 1e6 })
        })
        .collect();
    for ((_, entrant), time) in entrants.iter().zip(ours) {
        report.rows.push(entrant.row(way, loaded, &reference, *time, peers.clone())?);
    }
    Ok(())
}

fn prepare<'a, T: Scalar>(
    context: &'a Context,
    algorithm: Algorithm,
    tiling: Option<Tiling>,
    a: &Csr<T>,
) -> anyhow::Result<Entrant<'a, T>>
where
    T::Accum: Scalar,
{
    let start = Instant::now();
    let matrix = context.prepare_with(a, &Options { algorithm, tiling, ..Options::default() })?;
    let prepare_s = start.elapsed().as_secs_f64();
    // Rows that no kernel writes would show.
    let y = context.upload(&vec![<T::Accum as Value>::from_f64(f64::NAN); a.n_rows()])?;
    Ok(Entrant { context, algorithm, matrix, prepare_s, state: RefCell::new((y, RunStats::default())) })
}

impl<T: Scalar> Entrant<'_, T> {
    fn row(
        &self,
        way: &Way<'_>,
        loaded: &Loaded,
        reference: &oracle::Reference,
        time: Spread,
        peers: BTreeMap<String, PeerTime>,
    ) -> anyhow::Result<Row> {
        let (y, stats) = &*self.state.borrow();
        let error_over_bound = reference.error_over_bound(&y.to_vec()?);
        let ok = error_over_bound <= 1.0;
        // JSON knows no infinity, which is what a NaN in the result counts as.
        let error_over_bound = error_over_bound.min(f64::MAX);
        let rows = self.matrix.row_stats();
        let plan = self.matrix.plan();
        let seconds = ok.then_some(time.median * 1e-6);
        let gbs = seconds.map(|t| Row::compulsory_bytes(rows, T::DTYPE) / t / 1e9);
        let algorithm = match self.algorithm {
            Algorithm::Auto => plan.algorithm.to_string(),
            asked => asked.to_string(),
        };
        Ok(Row {
            matrix: loaded.name.clone(),
            twin: loaded.twin,
            rows: rows.n_rows,
            cols: rows.n_cols,
            nnz: rows.nnz,
            row_min: rows.min,
            row_mean: rows.mean,
            row_max: rows.max,
            backend: self.context.backend().to_string(),
            device: self.context.caps().name.clone(),
            algorithm,
            tiling: plan.kernel.tiling.to_string(),
            precision: T::DTYPE.to_string(),
            cache: way.cache,
            time_us: ok.then_some(time),
            gflops: seconds.map(|t| 2.0 * rows.nnz as f64 / t / 1e9),
            gbs,
            roof_share: gbs.map(|gbs| gbs / way.read_gbs),
            plan_us: self.prepare_s * 1e6,
            dirty_tiles: stats.dirty_tiles,
            stage1_us: stats.stage1_s * 1e6,
            stage2_us: stats.stage2_s * 1e6,
            error_over_bound,
            ok,
            peers,
        })
    }
}
