//! One matrix in one precision: every device, algorithm and peer in one interleaved measurement.

use std::any::Any;
use std::collections::BTreeMap;

use anyhow::Context as _;
use spmv::{
    Accum, Dtype, Options, Scalar, Vector, by_dtype, c32, c64, oracle,
    plan::{Algorithm, Plan, Tune},
};

use super::devices::Target;
use super::entrant::{Entrant, Finding, Problem};
use super::inputs::Loaded;
use super::live::Live;
use super::measure::{self, Eviction, Run};
use super::peers::mkl::MklValue;
use super::peers::{self, Arrays, PeerValue};
use super::report::{Cache, PeerTime, Report, Row, counted_us, factor};
use super::stop::Stop;
use super::tiling;

/// Times that products in queues are measured.
const QUEUED_TURNS: usize = 7;

/// How to measure.
pub(crate) struct Way<'a> {
    pub(crate) targets: &'a [&'a Target],
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) tiling: Option<tiling::Asked>,
    /// What is measured with these trials, too.
    pub(crate) tune: Option<Tune>,
    /// Whether products are by the transpose.
    pub(crate) transposed: bool,
    pub(crate) cache: Cache,
    pub(crate) repeat: Option<usize>,
    pub(crate) peers: bool,
    pub(crate) eviction: &'a Eviction,
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
    about: String,
    prepare_s: f64,
    run: Run<'a>,
    is_right: bool,
    /// Whether its threads take time from whoever is timed next.
    stays_awake: bool,
}

/// Peers that know the type of values, and those that are absent.
fn contenders<'a, T: Scalar>(
    arrays: &'a Arrays<T>,
    reference: &oracle::Reference<T::Wide>,
) -> Contenders<'a> {
    let (arrays, reference): (&dyn Any, &dyn Any) = (arrays, reference);
    if let Some(reference) = reference.downcast_ref() {
        if let Some(arrays) = arrays.downcast_ref::<Arrays<f32>>() {
            return of_peers(arrays, reference);
        }
        if let Some(arrays) = arrays.downcast_ref::<Arrays<f64>>() {
            return of_peers(arrays, reference);
        }
    }
    if let Some(reference) = reference.downcast_ref() {
        if let Some(arrays) = arrays.downcast_ref::<Arrays<c32>>() {
            return of_complex_peers(arrays, reference);
        }
        if let Some(arrays) = arrays.downcast_ref::<Arrays<c64>>() {
            return of_complex_peers(arrays, reference);
        }
    }
    let absent = peers::PEERS.map(|(name, _)| (name, format!("no {} values", T::DTYPE)));
    Contenders { ready: vec![], absent: absent.to_vec() }
}

fn of_complex_peers<'a, T: MklValue + Accum>(
    arrays: &'a Arrays<T>,
    reference: &oracle::Reference<T::Wide>,
) -> Contenders<'a> {
    let mkl = peers::prepare_complex(arrays.factor());
    let mkl = mkl.and_then(|mkl| {
        let name = mkl.name;
        contender(mkl, arrays, reference).map_err(|e| (name, format!("{e:#}")))
    });
    let others = peers::PEERS.map(|(name, _)| name).into_iter().filter(|name| *name != peers::MKL);
    let absent = others.map(|name| (name, format!("no {} values here", T::DTYPE))).collect();
    match mkl {
        Ok(mkl) => Contenders { ready: vec![mkl], absent },
        Err(why) => Contenders { ready: vec![], absent: std::iter::once(why).chain(absent).collect() },
    }
}

fn of_peers<'a, T: PeerValue + Accum>(
    arrays: &'a Arrays<T>,
    reference: &oracle::Reference<T::Wide>,
) -> Contenders<'a> {
    let (prepared, mut absent) = peers::prepare_all(arrays.factor());
    let in_process = prepared.into_iter().map(|p| (p.name, contender(p, arrays, reference)));
    let scipy = peers::Product::start(arrays.factor(), arrays.x(), None);
    let scipy = scipy.and_then(|product| elsewhere::<T>(product, reference));
    let mut ready = Vec::new();
    for (name, contender) in in_process.chain([(peers::SCIPY, scipy)]) {
        match contender {
            Ok(contender) => ready.push(contender),
            Err(e) => absent.push((name, format!("{e:#}"))),
        }
    }
    Contenders { ready, absent }
}

/// A peer in this process, or why its first product ended with an error.
fn contender<'a, T: MklValue + Accum>(
    peers::Prepared { name, prepare_s, mut peer }: peers::Prepared<'a, T>,
    arrays: &'a Arrays<T>,
    reference: &oracle::Reference<T::Wide>,
) -> anyhow::Result<Contender<'a>> {
    let x = arrays.x();
    let mut y = arrays.y(peer.y_before());
    // The first product is checked. Those that are timed leave `y` as it is, so one that adds to it adds again.
    peer.run(x, &mut y)?;
    Ok(Contender {
        name,
        about: peer.about(),
        prepare_s,
        is_right: reference.error_over_bound(&y) <= 1.0,
        run: measure::timed(move |_| peer.run(x, &mut y)),
        stays_awake: measure::are_others_awake(),
    })
}

/// SciPy, in a process of its own.
fn elsewhere<'a, T: PeerValue + Accum>(
    mut product: peers::Product,
    reference: &oracle::Reference<T::Wide>,
) -> anyhow::Result<Contender<'a>> {
    product.run(1)?;
    let y = product.y::<T>()?;
    Ok(Contender {
        name: peers::SCIPY,
        about: product.about(),
        prepare_s: product.prepare_s(),
        is_right: reference.error_over_bound(&y) <= 1.0,
        run: Box::new(move |batch, _| product.run(batch)),
        stays_awake: false,
    })
}

/// The name of a peer in the list of what they are.
fn named(peer: &str, transposed: bool) -> String {
    format!("{peer}{}", if transposed { ", transposed" } else { "" })
}

/// What is said of a peer whose threads do not sleep.
const STAYS_AWAKE: &str = "its threads stay awake after a product, and take time from whoever is timed next";

fn of_type<T: Scalar>(way: &Way<'_>, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let problem = Problem::<T>::by(&loaded.matrix, way.transposed);
    let mut entrants = Vec::new();
    let (mut inputs, mut autos) = (Vec::new(), Vec::new());
    let targets = way.targets.iter().map(|target| target.anew()).collect::<spmv::Result<Vec<_>>>()?;
    for target in &targets {
        autos.push(target.context.plan(problem.factor.get(), &Options::default()).ok());
        for &algorithm in way.algorithms {
            way.stop.check()?;
            let tiling =
                way.tiling.and_then(|asked| asked.tiling(algorithm, target.context.caps(), T::DTYPE));
            for tune in std::iter::once(Tune::Off).chain(way.tune) {
                let options = Options { algorithm, tiling, tune, ..Options::default() };
                match Entrant::prepare(target, &options, &problem) {
                    Ok(entrant) => entrants.push((inputs.len(), target, options, entrant)),
                    Err(spmv::Error::Layout(why)) => {
                        let name = factor(&loaded.name, way.transposed);
                        report.leave_out(format!("{name} {}: {}: {why}", T::DTYPE, target.label));
                    }
                    Err(e) => return Err(e).with_context(|| format!("{} {algorithm}", target.label)),
                }
            }
        }
        // After the matrices, whose rows decide how vectors on several devices are cut.
        inputs.push(target.context.upload(&problem.x)?);
    }
    let arrays = way.peers.then(|| Arrays::of(problem.factor.a.view(), &problem.x, way.transposed));
    let contenders =
        arrays.as_ref().map_or_else(Contenders::default, |arrays| contenders(arrays, &problem.reference));
    report.absent.extend(contenders.absent.iter().map(|(name, why)| ((*name).to_owned(), why.clone())));

    let mut runs: Vec<Run<'_>> = entrants.iter().map(|(input, .., e)| e.run(&inputs[*input])).collect();
    let mut peers = Vec::new();
    for Contender { name, about, prepare_s, run, is_right, stays_awake } in contenders.ready {
        if stays_awake {
            report.leave_out(format!("{name}: {STAYS_AWAKE}"));
        }
        report.peers.insert(named(name, way.transposed), about);
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
            (name.to_owned(), PeerTime::new(is_right.then_some(*time), prepare_s * 1e6))
        })
        .collect();
    let first = report.rows.len();
    for ((input, target, options, entrant), time) in entrants.iter().zip(ours) {
        let finding = entrant.finding(&problem.reference, &inputs[*input], way.cache, *time)?;
        let is_as = |auto: &Plan| {
            let plan = entrant.matrix().plan();
            (auto.algorithm, auto.kernel) == (plan.algorithm, plan.kernel)
        };
        let (tuned, asked) = (options.tune != Tune::Off, options.algorithm == Algorithm::Auto);
        let auto = if tuned { asked } else { autos[*input].as_ref().is_some_and(is_as) };
        let row = row(way, loaded, target, options.algorithm, entrant, finding, peers.clone());
        report.add(Row { auto, tuned, ..row });
    }
    let rows = &mut report.rows[first..];
    if targets.iter().any(Target::is_several) {
        let contestants: Vec<_> = entrants.iter().map(|(input, .., e)| (e, &inputs[*input])).collect();
        queued(&contestants, rows, way.stop)?;
    }
    for (at, (_, target, options, _)) in entrants.iter().enumerate().filter(|(_, e)| e.1.is_several()) {
        let is_one = |one: &Target| !one.is_several() && one.context.backend() == target.context.backend();
        let ones = entrants.iter().zip(&*rows).filter(|((_, one, by, _), _)| is_one(one) && by == options);
        let us = ones.filter_map(|(_, row)| row.queued_us).min_by(f64::total_cmp);
        rows[at].over_one = us.zip(rows[at].queued_us).map(|(one, several)| one / several);
    }
    Ok(())
}

/// Times products in queues, of whoever is right.
fn queued<T: Scalar>(
    contestants: &[(&Entrant<T>, &Vector<T>)],
    rows: &mut [Row],
    stop: &Stop,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..QUEUED_TURNS {
        for (at, (entrant, x)) in contestants.iter().enumerate().filter(|(at, _)| rows[*at].ok) {
            stop.check()?;
            times[at].push(entrant.queued_s(x)?);
        }
    }
    for (row, times) in rows.iter_mut().zip(times).filter(|(_, times)| !times.is_empty()) {
        row.queued_us = Some(measure::median(times) * 1e6);
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
    let rows = entrant.matrix().row_stats();
    let plan = entrant.matrix().plan();
    let seconds = counted_us(time_us, device_us).map(|us| us * 1e-6);
    let gbs = seconds.map(|t| Row::compulsory_bytes(rows, T::DTYPE) / t / 1e9);
    let caps = target.context.caps();
    let algorithm = match asked {
        Algorithm::Auto => plan.algorithm.to_string(),
        asked => asked.to_string(),
    };
    Row {
        matrix: factor(&loaded.name, way.transposed),
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
        tuned: false,
        precision: T::DTYPE.to_string(),
        cache: way.cache,
        time_us,
        device_us,
        gflops: seconds.map(|t| 2.0 * rows.nnz as f64 / t / 1e9),
        gbs,
        roof_share: None,
        plan_us: entrant.prepare_s * 1e6,
        n_tiles,
        dirty_tiles,
        stage1_us,
        stage2_us,
        error_over_bound,
        ok,
        queued_us: None,
        over_one: None,
        peers,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use spmv::{BackendKind, Context};

    use super::super::devices;
    use super::super::table;
    use super::*;

    /// A measurement of one run each, from a warm cache.
    pub(in super::super) fn once(
        targets: &[&Target],
        algorithms: &[Algorithm],
        measured: impl FnOnce(&Way<'_>),
    ) {
        measured(&Way {
            targets,
            algorithms,
            tiling: None,
            tune: None,
            transposed: false,
            cache: Cache::Warm,
            repeat: Some(1),
            peers: false,
            eviction: &Eviction::none(),
            stop: &Stop::new(),
            live: &Live::discarding(),
        });
    }

    #[test]
    fn what_trials_take_is_measured_next_to_what_was_planned() {
        let target = Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu");
        let matrix = spmv_io::generate::laplacian_3d(8).unwrap();
        let loaded = Loaded { name: "cube".into(), twin: false, matrix };
        let mut report = super::super::html::tests::sample(&[]);
        once(&[&target], &[Algorithm::Auto], |way| {
            let way = Way { tune: Some(Tune::Quick), ..*way };
            measure(&way, &loaded, Dtype::F64, &mut report).unwrap();
        });
        let rows: Vec<_> = report.rows.iter().map(|row| (row.tuned, row.auto, row.ok)).collect();
        assert_eq!(rows, [(false, true, true), (true, true, true)]);
        assert!(report.rows[1].plan_us > report.rows[0].plan_us);
        let text = table::text(&report);
        assert!(text.contains(&format!("cpu {} tuned |", report.rows[1].algorithm)), "{text}");
        assert!(text.contains("f64 on cpu: time of auto over that with trials, geometric mean"), "{text}");
    }

    #[test]
    fn transposes_are_checked_and_compared_with_their_matrices() {
        let mut targets = vec![Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu")];
        targets.extend(devices::several(&targets, 2).unwrap());
        let lengths: Vec<u32> = (0..300).map(|row| row % 7).collect();
        let matrix = spmv_io::generate::scattered(&lengths, 80, 1).unwrap();
        let loaded = Loaded { name: "tall".into(), twin: false, matrix };
        let mut report = super::super::html::tests::sample(&[]);
        once(&targets.iter().collect::<Vec<_>>(), &[Algorithm::CsrScalar], |way| {
            for transposed in [false, true] {
                measure(&Way { transposed, ..*way }, &loaded, Dtype::F32, &mut report).unwrap();
            }
        });
        report.rows.iter_mut().for_each(|row| row.auto = false);
        let (plain, transposed) = report.rows.split_at(2);
        for row in plain {
            assert!(row.ok && (&*row.matrix, row.rows, row.cols) == ("tall", 300, 80), "{row:?}");
        }
        for row in transposed {
            assert!(row.ok && (&*row.matrix, row.rows, row.cols) == ("tall^T", 80, 300), "{row:?}");
        }
        let text = table::text(&report);
        for on in ["cpu", "cpu x2"] {
            let line = format!("f32 on {on}, csr_scalar: time by transposes over that by matrices");
            assert!(text.contains(&line), "{text}");
        }
        report.rows.truncate(2);
        assert!(!table::text(&report).contains("by transposes"));
    }

    #[test]
    fn several_devices_are_checked_and_compared_with_one() {
        let mut targets = vec![Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu")];
        targets.extend(devices::several(&targets, 3).unwrap());
        let matrix = spmv_io::generate::laplacian_3d(8).unwrap();
        let loaded = Loaded { name: "cube".into(), twin: false, matrix };
        let mut report = super::super::html::tests::sample(&[]);
        report.devices = targets.iter().map(Target::device).collect();
        let algorithms = [Algorithm::CsrScalar, Algorithm::Auto];
        once(&targets.iter().collect::<Vec<_>>(), &algorithms, |way| {
            measure(way, &loaded, Dtype::F64, &mut report).unwrap();
        });
        assert_eq!(report.rows.len(), 4);
        for row in &report.rows {
            assert!(row.ok && row.error_over_bound <= 1.0, "{row:?}");
            assert_eq!((row.over_one.is_some(), row.device_us), (row.on == "cpu x3", None));
        }
        let [one, three] = [0, 2].map(|at| report.rows[at].queued_us.unwrap());
        assert_eq!(report.rows[2].over_one, Some(one / three));
        let text = table::text(&report);
        assert!(
            text.contains("queued us |")
                && text.contains("x one |")
                && text.contains("the same device 3 times: simulated"),
            "{text}"
        );
        assert!(!text.contains("time on cpu x3 over that on cpu"), "{text}");
        report.rows.truncate(1);
        assert!(!table::text(&report).contains("x one"));
    }
}
