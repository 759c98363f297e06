//! One matrix in one precision: every device, algorithm and peer in one interleaved measurement.

use std::any::Any;
use std::collections::BTreeMap;

use anyhow::Context as _;
use spmv::{
    Accum, Dtype, Options, Scalar, by_dtype, oracle,
    plan::{Algorithm, Plan},
};

use super::devices::Target;
use super::entrant::{Entrant, Finding, Problem};
use super::inputs::Loaded;
use super::live::Live;
use super::measure::{self, Eviction, Run};
use super::peers::{self, Arrays, PeerValue};
use super::report::{Cache, PeerTime, Report, Row, counted_us};
use super::stop::Stop;
use super::tiling;

/// How to measure.
pub(crate) struct Way<'a> {
    pub(crate) targets: &'a [&'a Target],
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) tiling: Option<tiling::Asked>,
    pub(crate) cache: Cache,
    pub(crate) repeat: Option<usize>,
    pub(crate) peers: bool,
    pub(crate) eviction: &'a Eviction,
    pub(crate) read_gbs: f64,
    pub(crate) stop: &'a Stop,
    pub(crate) live: &'a Live,
}

/// Adds a row to the report for each device and algorithm.
pub(crate) fn measure(
    way: &Way<'_>,
    loaded: &Loaded,
    precision: Dtype,
    report: &mut Report,
) -> anyhow::Result<()> {
    by_dtype!(precision, T => of_type::<T>(way, loaded, report))
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

/// Peers that know the type of values, and those that are absent.
fn contenders<'a, T: Scalar>(arrays: &'a Arrays<T>, reference: &oracle::Reference) -> Contenders<'a> {
    let arrays: &dyn Any = arrays;
    if let Some(arrays) = arrays.downcast_ref::<Arrays<f32>>() {
        return of_peers(arrays, reference);
    }
    if let Some(arrays) = arrays.downcast_ref::<Arrays<f64>>() {
        return of_peers(arrays, reference);
    }
    let names = peers::RUST_PEERS.into_iter().chain([peers::MKL]);
    Contenders {
        ready: vec![],
        absent: names.map(|name| (name, format!("no {} values", T::DTYPE))).collect(),
    }
}

fn of_peers<'a, T: PeerValue + Accum>(
    arrays: &'a Arrays<T>,
    reference: &oracle::Reference,
) -> Contenders<'a> {
    let (prepared, absent) = peers::prepare_all(arrays.view());
    let ready = prepared.into_iter().map(|p| contender(p, arrays, reference)).collect();
    Contenders { ready, absent }
}

fn contender<'a, T: PeerValue + Accum>(
    peers::Prepared { name, prepare_s, mut peer }: peers::Prepared<'a, T>,
    arrays: &'a Arrays<T>,
    reference: &oracle::Reference,
) -> Contender<'a> {
    let x = arrays.x();
    let mut y = arrays.y(peer.y_before());
    // The first product is checked. Those that are timed leave `y` as it is, so one that adds to it adds again.
    let is_right = peer.run(x, &mut y).is_ok() && reference.error_over_bound(&y) <= 1.0;
    Contender { name, prepare_s, run: Box::new(move |_| peer.run(x, &mut y)), is_right }
}

fn of_type<T: Scalar>(way: &Way<'_>, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let problem = Problem::<T>::of(&loaded.matrix);
    let mut entrants = Vec::new();
    let (mut inputs, mut autos) = (Vec::new(), Vec::new());
    for target in way.targets {
        inputs.push(target.context.upload(&problem.x)?);
        autos.push(target.context.plan(&problem.a, &Options::default()).ok());
        for &algorithm in way.algorithms {
            way.stop.check()?;
            let tiling =
                way.tiling.and_then(|asked| asked.tiling(algorithm, target.context.caps(), T::DTYPE));
            let options = Options { algorithm, tiling, ..Options::default() };
            match Entrant::prepare(target, &options, &problem.a) {
                Ok(entrant) => entrants.push((inputs.len() - 1, *target, algorithm, entrant)),
                Err(spmv::Error::Layout(why)) => {
                    report.leave_out(format!("{} {}: {}: {why}", loaded.name, T::DTYPE, target.label));
                }
                Err(e) => return Err(e).with_context(|| format!("{} {algorithm}", target.label)),
            }
        }
    }
    let arrays = way.peers.then(|| Arrays::of(problem.a.view(), &problem.x));
    let contenders =
        arrays.as_ref().map_or_else(Contenders::default, |arrays| contenders(arrays, &problem.reference));
    report.absent.extend(contenders.absent.iter().map(|(name, why)| ((*name).to_owned(), why.clone())));

    let mut runs: Vec<Run<'_>> = entrants.iter().map(|(input, .., e)| e.run(&inputs[*input])).collect();
    let mut peers = Vec::new();
    for Contender { name, prepare_s, run, is_right } in contenders.ready {
        peers.push((name, prepare_s, is_right));
        runs.push(run);
    }
    let times = measure::interleave(&mut runs, way.cache, way.repeat, way.eviction, way.stop)?;
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
    for ((input, target, algorithm, entrant), time) in entrants.iter().zip(ours) {
        let finding = entrant.finding(&problem.reference, &inputs[*input], way.cache, *time)?;
        let is_as = |auto: &Plan| {
            let plan = entrant.matrix.plan();
            (auto.algorithm, auto.kernel) == (plan.algorithm, plan.kernel)
        };
        let auto = autos[*input].as_ref().is_some_and(is_as);
        report
            .rows
            .push(Row { auto, ..row(way, loaded, target, *algorithm, entrant, finding, peers.clone()) });
    }
    Ok(())
}

fn row<T: Scalar>(
    way: &Way<'_>,
    loaded: &Loaded,
    target: &Target,
    asked: Algorithm,
    entrant: &Entrant<T>,
    finding: Finding,
    peers: BTreeMap<String, PeerTime>,
) -> Row {
    let Finding { time_us, device_us, stage1_us, stage2_us, n_tiles, dirty_tiles, .. } = finding;
    let Finding { error_over_bound, ok, .. } = finding;
    let rows = entrant.matrix.row_stats();
    let plan = entrant.matrix.plan();
    let seconds = counted_us(time_us, device_us).map(|us| us * 1e-6);
    let gbs = seconds.map(|t| Row::compulsory_bytes(rows, T::DTYPE) / t / 1e9);
    let caps = target.context.caps();
    let algorithm = match asked {
        Algorithm::Auto => plan.algorithm.to_string(),
        asked => asked.to_string(),
    };
    Row {
        matrix: loaded.name.clone(),
        twin: loaded.twin,
        rows: rows.n_rows,
        cols: rows.n_cols,
        nnz: rows.nnz,
        row_min: rows.min,
        row_mean: rows.mean,
        row_max: rows.max,
        on: target.label.clone(),
        backend: target.context.backend().to_string(),
        device: caps.name.clone(),
        algorithm,
        tiling: plan.kernel.tiling.to_string(),
        auto: false,
        precision: T::DTYPE.to_string(),
        cache: way.cache,
        time_us,
        device_us,
        gflops: seconds.map(|t| 2.0 * rows.nnz as f64 / t / 1e9),
        gbs,
        roof_share: gbs.filter(|_| target.is_in_host_memory()).map(|gbs| gbs / way.read_gbs),
        plan_us: entrant.prepare_s * 1e6,
        n_tiles,
        dirty_tiles,
        stage1_us,
        stage2_us,
        error_over_bound,
        ok,
        peers,
    }
}
