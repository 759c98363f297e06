//! `--hetero`: a device, the cores, and both at once, on vectors of the host (Tan et al. 2019, figures 6 to 9).

mod published;
mod table;

use std::cell::RefCell;

use published::Published;
use spmv::{
    Context, Csr, Dtype, Matrix, Options, Scalar, Value, by_dtype,
    hetero::{By, Split, Steering, Step},
};
#[cfg(test)]
pub(crate) use table::tests;
pub(crate) use table::text;

use super::devices::Target;
use super::entrant::{Entrant, Factor, Problem};
use super::inputs::Loaded;
use super::measure::{self, Phase, Run, spread};
use super::report::{HeteroRow, Report};
use super::runner::Way;

/// Adds a row to the report for each device that is not the cores.
pub(crate) fn measure(
    way: &Way<'_>,
    loaded: &Loaded,
    precision: Dtype,
    report: &mut Report,
) -> anyhow::Result<()> {
    by_dtype!(precision, T => of_type::<T>(way, loaded, report))
}

/// A prepared matrix on the host's vectors.
struct OnHost<T: Scalar> {
    matrix: Matrix<T>,
    y: RefCell<Vec<T::Accum>>,
    /// Seconds of device and host in timed runs, where they are kept.
    shares: Option<RefCell<[Vec<f64>; 2]>>,
}

impl<T: Scalar> OnHost<T>
where
    T::Accum: Scalar,
{
    fn new(matrix: Matrix<T>, keeps_shares: bool) -> Self {
        let y = vec![<T::Accum as Value>::from_f64(f64::NAN); matrix.row_stats().n_rows];
        Self { matrix, y: RefCell::new(y), shares: keeps_shares.then(RefCell::default) }
    }

    fn run<'a>(&'a self, x: &'a [T]) -> Run<'a> {
        let one = <T::Accum as Value>::from_f64(1.0);
        measure::timed(move |phase| {
            let stats = self.matrix.apply_slices(one, x, T::Accum::default(), &mut self.y.borrow_mut())?;
            if let (Phase::Timed, Some(all), Some(shares)) = (phase, &self.shares, stats.shares_s) {
                all.borrow_mut().iter_mut().zip(shares).for_each(|(all, seconds)| all.push(seconds));
            }
            Ok(())
        })
    }

    fn is_right(&self, problem: &Problem<T>) -> bool {
        problem.reference.error_over_bound(&self.y.borrow()) <= 1.0
    }
}

/// Splits that take part in the race, each once.
struct Splits<T: Scalar>(Vec<(Split, OnHost<T>)>);

impl<T: Scalar> Default for Splits<T> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<T: Scalar> Splits<T>
where
    T::Accum: Scalar,
{
    /// Its index; prepared unless it takes part already.
    fn add(&mut self, context: &Context, a: &Csr<T>, split: Split) -> anyhow::Result<usize> {
        if let Some(at) = self.0.iter().position(|(known, _)| *known == split) {
            return Ok(at);
        }
        let steering = Steering { split: Some(split), ..Steering::default() };
        self.0.push((split, OnHost::new(context.steered(steering).prepare(a)?, true)));
        Ok(self.0.len() - 1)
    }

    /// Why the layout of a regular part refuses the device's share, in words.
    fn refusal(&self, at: usize) -> Option<String> {
        let (split, on_host) = &self.0[at];
        let plan = on_host.matrix.plan();
        let layout = split.regular.algorithm().filter(|layout| *layout != plan.algorithm)?;
        Some(format!("{layout} refuses it; {} multiplies it", plan.algorithm))
    }
}

fn of_type<T: Scalar>(way: &Way<'_>, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    anyhow::ensure!(way.algorithms.len() == 1, "--hetero takes one algorithm, for rows on the device");
    let problem = Problem::<T>::of(&loaded.matrix);
    let (cores, devices): (Vec<_>, Vec<_>) = way.targets.iter().partition(|target| target.is_cores());
    anyhow::ensure!(!cores.is_empty() && !devices.is_empty(), "--hetero needs the cpu backend and another");
    for target in devices {
        way.stop.check()?;
        report.hetero.push(on_target(way, loaded, target, cores[0], &problem)?);
        way.live.show(report);
    }
    Ok(())
}

fn on_target<T: Scalar>(
    way: &Way<'_>,
    loaded: &Loaded,
    target: &Target,
    cores: &Target,
    problem: &Problem<T>,
) -> anyhow::Result<HeteroRow>
where
    T::Accum: Scalar,
{
    let Problem { factor: Factor { a, .. }, x, reference } = problem;
    let tiling =
        way.tiling.and_then(|asked| asked.tiling(way.algorithms[0], target.context.caps(), T::DTYPE));
    let options = Options { algorithm: way.algorithms[0], tiling, ..Options::default() };
    let context = target.context.with_host_cores()?;
    let together = OnHost::new(context.prepare_with(a, &options)?, false);
    let partition = together.matrix.partition().expect("no split was given").clone();
    let published = Published::of(&context, a, &options, &partition)?;
    let mut splits = Splits::default();
    let in_two = partition.best.map(|best| splits.add(&context, a, best.split)).transpose()?;
    let before = published.map(|it| splits.add(&context, a, it.before)).transpose()?;
    let after = published.map(|it| splits.add(&context, a, it.after)).transpose()?;
    way.stop.check()?;
    let device = OnHost::new(target.context.prepare_with(a, &options)?, false);
    let all_cores = OnHost::new(cores.context.prepare(a)?, false);
    let resident = Entrant::prepare(target, &options, problem)?;
    let device_x = target.context.upload(x)?;

    let mut runs = vec![together.run(x), device.run(x), all_cores.run(x), resident.run(&device_x)];
    runs.extend(splits.0.iter().map(|(_, on_host)| on_host.run(x)));
    let times = measure::interleave(&mut runs, way.cache, way.repeat, way.eviction, way.stop)?;
    drop(runs);
    let finding = resident.finding(reference, &device_x, way.cache, times[3])?;
    let of_splits = splits.0.iter().map(|(_, on_host)| on_host);
    let mut on_host = [&together, &device, &all_cores].into_iter().chain(of_splits);
    let ok = finding.ok && on_host.all(|it| it.is_right(problem));
    let us = |at: usize| times.get(at).filter(|_| ok).map(|time| time.median);
    let us_of = |split: Option<usize>| us(4 + split?);
    let median_us = |seconds: &Vec<f64>| spread(seconds.clone()).median;
    let shares = in_two.and_then(|at| Some(splits.0[at].1.shares.as_ref()?.borrow()));
    let share = |split: &Split| {
        let [regular, rows, _] = split.entries(a.view());
        (regular + rows) as f64 / a.nnz().max(1) as f64
    };
    let best = partition.best.as_ref();
    let predicted = |step: &&Step| step.by == By::Models && best.is_some_and(|best| best.split == step.split);
    let predicted =
        partition.trace.iter().find(predicted).map(|step| [step.device_s * 1e6, step.cores_s * 1e6]);
    Ok(HeteroRow {
        matrix: loaded.name.clone(),
        twin: loaded.twin,
        nnz: a.nnz(),
        precision: T::DTYPE.to_string(),
        on: target.label.clone(),
        pattern: partition.pattern.to_string(),
        chosen: match (best, &partition.alone) {
            (Some(best), _) if best.split == partition.chosen.split => "both".into(),
            (_, Some([device, _])) if device.split == partition.chosen.split => "device".into(),
            _ => "cores".into(),
        },
        split: best.map(|best| best.split.to_string()),
        device_share: best.map(|best| share(&best.split)),
        predicted_us: predicted,
        shares_us: shares.filter(|_| ok).map(|shares| [median_us(&shares[0]), median_us(&shares[1])]),
        split_us: us_of(in_two),
        before_split: published.map(|it| it.before.to_string()),
        before_us: us_of(before),
        after_split: published.map(|it| it.after.to_string()),
        after_us: us_of(after),
        regular_refused: before.and_then(|at| splits.refusal(at)),
        resident_us: if ok { finding.device_us.or(finding.time_us).map(|time| time.median) } else { None },
        device_us: us(1),
        cores_us: us(2),
        together_us: us(0),
        prepare_us: together.matrix.prepare_s() * 1e6,
        trace: partition.trace.iter().map(Step::to_string).collect(),
        ok,
    })
}
