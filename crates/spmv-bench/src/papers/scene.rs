//! Where items are measured, and the races that they have in common.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::Context as _;
use indicatif::ProgressBar;
use spmv::{
    BackendKind, Csr, Dtype, Options, Scalar, Vector, by_dtype,
    plan::{Algorithm, RowStats, Tiling},
};
use spmv_io::suite::{self, Entry};

use super::loops;
use super::numbers::Numbers;
use super::study::Study;
use crate::bench::MatrixCache;
use crate::bench::comparison::{Comparison, Gpu};
use crate::bench::devices::Target;
use crate::bench::entrant::{Entrant, Problem};
use crate::bench::inputs::{self, Input};
use crate::bench::live::Live;
use crate::bench::measure::{self, Eviction, Phase, Run};
use crate::bench::report::{Cache, ComparisonRow, Report, counted_us};
use crate::bench::runner;
use crate::bench::stop::Stop;

/// Devices, value types, and how much is measured.
pub(crate) struct Scene<'a> {
    pub(crate) targets: &'a [Target],
    pub(crate) precisions: &'a [Dtype],
    /// Few matrices and runs: a preview.
    pub(crate) quick: bool,
    /// Grids of Wang et al. that a fit kept are not measured again.
    pub(crate) fitted: bool,
    pub(crate) repeat: Option<usize>,
    pub(crate) read_gbs: f64,
    pub(crate) eviction: &'a Eviction,
    pub(crate) stop: &'a Stop,
    pub(crate) bar: &'a ProgressBar,
    /// Folder of originals that replace twins.
    pub(crate) originals: Option<&'a Path>,
    pub(crate) numbers: &'a Numbers,
    /// Races that were run already: several items show the same one.
    pub(crate) raced: RefCell<BTreeMap<String, Vec<Raced>>>,
    /// Fits and predictions, which several figures show.
    pub(crate) studied: RefCell<Option<Rc<Vec<Study>>>>,
}

/// A way to multiply.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) way: Way,
}

#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// Ours, on the device.
    Ours(Options),
    /// A loop over rows on so many threads of the host; 0 are all.
    Loop { threads: usize },
}

/// One matrix, multiplied one way.
#[derive(Clone, Debug)]
pub(crate) struct Raced {
    pub(crate) matrix: String,
    pub(crate) twin: bool,
    pub(crate) rows: RowStats,
    pub(crate) precision: Dtype,
    /// Label of the device.
    pub(crate) on: String,
    pub(crate) name: String,
    /// The device's own time where it has timestamps, else the caller's; none if it was refused, or wrong.
    pub(crate) us: Option<f64>,
    pub(crate) stage2_us: f64,
    pub(crate) prepare_us: f64,
    pub(crate) dirty_tiles: Option<u32>,
    pub(crate) tiles: u32,
    pub(crate) tiling: Option<Tiling>,
    /// Why there is no time.
    pub(crate) why: Option<String>,
    pub(crate) wrong: bool,
}

impl Contestant {
    pub(crate) fn ours(name: &str, options: Options) -> Self {
        Self { name: name.into(), way: Way::Ours(options) }
    }

    pub(crate) fn of(algorithm: Algorithm) -> Self {
        Self::ours(algorithm.name(), Options { algorithm, ..Options::default() })
    }
}

impl Raced {
    /// Of a comparison with cuSPARSE: the device's label says that runs were captured.
    fn graph(on: &str, row: ComparisonRow) -> Self {
        let name = row.name().to_owned();
        let name = if row.is_ours() { name } else { row.contestant.clone() };
        Self {
            matrix: row.matrix,
            twin: row.twin,
            rows: RowStats { nnz: row.nnz, ..RowStats::default() },
            precision: row.precision.parse().unwrap_or(Dtype::F32),
            on: format!("{on}, captured"),
            name,
            us: row.us.map(|us| us.median),
            stage2_us: 0.0,
            prepare_us: row.setup_us.unwrap_or(0.0),
            dirty_tiles: None,
            tiles: 0,
            tiling: None,
            wrong: row.us.is_none() && row.error_over_bound.is_some_and(|error| error > 1.0),
            why: row.why,
        }
    }

    pub(crate) fn gflops(&self) -> Option<f64> {
        self.us.map(|us| 2.0 * self.rows.nnz as f64 / us / 1e3)
    }
}

impl Scene<'_> {
    /// Races the contestants on every matrix, device and precision given; what was raced under this name before is returned
    /// again. `contestants` says who takes part on a device.
    ///
    /// # Errors
    /// If a matrix cannot be read, a device fails, or the run is to end.
    pub(crate) fn race(
        &self,
        name: &str,
        inputs: &[Input],
        precisions: &[Dtype],
        contestants: &dyn Fn(&Target, Dtype) -> Vec<Contestant>,
    ) -> anyhow::Result<Vec<Raced>> {
        if let Some(raced) = self.raced.borrow().get(name) {
            return Ok(raced.clone());
        }
        let mut all = Vec::new();
        for input in inputs {
            self.stop.check()?;
            self.bar.set_message(format!("{name}: {}", input.name()));
            let loaded = input.load().with_context(|| input.name().to_owned())?;
            for target in self.targets {
                for &precision in precisions.iter().filter(|p| self.precisions.contains(p)) {
                    if target.obstacle(precision, Cache::Warm).is_some() {
                        continue;
                    }
                    let contestants = contestants(target, precision);
                    let matrix = (loaded.name.as_str(), loaded.twin, &loaded.matrix);
                    by_dtype!(precision, T => all.extend(self.of_type::<T>(target, matrix, &contestants)?));
                }
            }
        }
        self.raced.borrow_mut().insert(name.to_owned(), all.clone());
        Ok(all)
    }

    fn of_type<T: Scalar>(
        &self,
        target: &Target,
        (matrix, twin, a): (&str, bool, &Csr<f64>),
        contestants: &[Contestant],
    ) -> anyhow::Result<Vec<Raced>>
    where
        T::Accum: Scalar,
    {
        let problem = Problem::<T>::of(a);
        let x = target.context.upload(&problem.x)?;
        let rows = RowStats::of(problem.factor.a.view());
        let mut all = Vec::new();
        let mut entrants = Vec::new();
        let mut loops = Vec::new();
        for (at, contestant) in contestants.iter().enumerate() {
            self.stop.check()?;
            all.push(Raced {
                matrix: matrix.to_owned(),
                twin,
                rows,
                precision: T::DTYPE,
                on: target.label.clone(),
                name: contestant.name.clone(),
                us: None,
                stage2_us: 0.0,
                prepare_us: 0.0,
                dirty_tiles: None,
                tiles: 0,
                tiling: None,
                why: None,
                wrong: false,
            });
            match &contestant.way {
                Way::Ours(options) => match ready(target, options, &problem, &x) {
                    Ok(entrant) => entrants.push((at, entrant)),
                    Err(e) => all[at].why = Some(format!("{e:#}")),
                },
                Way::Loop { threads } => loops.push((at, loops::Loop::new(*threads, &problem)?)),
            }
        }
        let mut runs: Vec<Run<'_>> = entrants.iter().map(|(_, e)| e.run(&x)).collect();
        runs.extend(loops.iter().map(|(_, each)| each.run(&problem)));
        let times = measure::interleave(&mut runs, Cache::Warm, self.repeat, self.eviction, self.stop)?;
        drop(runs);
        let (ours, of_loops) = times.split_at(entrants.len());
        for ((at, entrant), time) in entrants.iter().zip(ours) {
            let finding = entrant.finding(&problem.reference, &x, Cache::Warm, *time)?;
            let raced = &mut all[*at];
            raced.us = counted_us(finding.time_us, finding.device_us);
            (raced.stage2_us, raced.prepare_us) = (finding.stage2_us, entrant.prepare_s * 1e6);
            (raced.dirty_tiles, raced.tiles) = (finding.dirty_tiles, finding.n_tiles);
            raced.tiling = Some(entrant.matrix().plan().kernel.tiling);
            raced.wrong = !finding.ok;
        }
        for ((at, each), time) in loops.iter().zip(of_loops) {
            let is_right = each.error_over_bound(&problem.reference) <= 1.0;
            all[*at].us = is_right.then_some(time.median);
            all[*at].wrong = !is_right;
        }
        for raced in all.iter_mut().filter(|raced| raced.wrong) {
            raced.why = Some("wrong result".into());
        }
        Ok(all)
    }

    /// Ours against every variant of cuSPARSE, captured and timed by events, on the CUDA device if there is one: those two
    /// are compared by one method alone.
    ///
    /// # Errors
    /// If a matrix cannot be read, or the run is to end.
    pub(crate) fn cusparse(
        &self,
        name: &str,
        inputs: &[Input],
        precisions: &[Dtype],
        algorithms: &[Algorithm],
    ) -> anyhow::Result<Vec<Raced>> {
        if let Some(raced) = self.raced.borrow().get(name) {
            return Ok(raced.clone());
        }
        let Some(target) = self.targets.iter().find(|t| t.context.backend() == BackendKind::Cuda) else {
            return Ok(vec![]);
        };
        let gpu = Gpu::open(&[], self.targets)?;
        let precisions: Vec<Dtype> =
            precisions.iter().copied().filter(|p| self.precisions.contains(p)).collect();
        let comparison = Comparison {
            inputs,
            matrix_cache: &MatrixCache::new(0),
            algorithms,
            tiling: None,
            products: &[false],
            precisions: &precisions,
            caches: &[Cache::Warm],
            repeat: self.repeat,
            isolated: None,
            bar: self.bar,
            stop: self.stop,
            live: &Live::discarding(),
        };
        let mut report = Report::default();
        gpu.compare(&comparison, &mut report)?;
        let raced: Vec<Raced> =
            report.comparisons.into_iter().map(|row| Raced::graph(&target.label, row)).collect();
        self.raced.borrow_mut().insert(name.to_owned(), raced.clone());
        Ok(raced)
    }

    /// The suite of Liu & Vinter, or two of it if it is to be quick.
    pub(crate) fn suite(&self) -> Vec<Input> {
        let is_taken = |entry: &&Entry| !self.quick || QUICK_SUITE.contains(&entry.name);
        suite::ENTRIES.iter().filter(is_taken).map(|entry| self.of_suite(entry)).collect()
    }

    /// An original if there is one, else the twin.
    pub(crate) fn of_suite(&self, entry: &'static Entry) -> Input {
        Input::Suite { entry, dir: self.originals.map(Path::to_owned) }
    }

    /// Real matrices: those of the repository, and of the folder of originals.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<Input>> {
        let mut files = inputs::files_or_default(&[])?;
        files.retain(|input| matches!(input, Input::File(_)));
        if let Some(folder) = self.originals {
            files.extend(inputs::files_in(folder)?.into_iter().map(Input::File));
        }
        Ok(files)
    }

    /// The same devices, caches and runs for `bench`'s own measurements.
    pub(crate) fn way<'a>(
        &'a self,
        targets: &'a [&'a Target],
        algorithms: &'a [Algorithm],
        live: &'a Live,
    ) -> runner::Way<'a> {
        runner::Way {
            targets,
            algorithms,
            tiling: None,
            tune: None,
            transposed: false,
            cache: Cache::Warm,
            repeat: self.repeat,
            peers: false,
            eviction: self.eviction,
            stop: self.stop,
            live,
        }
    }
}

/// Prepared and run once: a tiling that cannot be launched must not end the race of the others.
fn ready<T: Scalar>(
    target: &Target,
    options: &Options,
    problem: &Problem<T>,
    x: &Vector<T>,
) -> anyhow::Result<Entrant<T>>
where
    T::Accum: Scalar,
{
    let entrant = Entrant::prepare(target, options, problem)?;
    entrant.run(x)(1, Phase::Untimed)?;
    Ok(entrant)
}

/// A regular and an irregular one.
const QUICK_SUITE: [&str; 2] = ["mac_econ_fwd500", "dc2"];

/// Those of these names.
///
/// # Panics
/// If there is no such algorithm: names are part of the program.
pub(crate) fn algorithms(names: &[&str]) -> impl Iterator<Item = Algorithm> {
    names.iter().map(|name| name.parse().expect("an algorithm's name"))
}
