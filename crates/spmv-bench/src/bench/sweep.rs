//! `--sweep`: speculative segmented sum under many tilings, as in Liu & Vinter 2015, figures 7 and 8; with `--tiling table1`
//! around the very tilings of the paper.

mod table;
mod tilings;

pub(crate) use table::text;

use spmv::{
    Dtype, Options, Scalar, by_dtype,
    plan::{Algorithm, Tiling},
};

use super::devices::Target;
use super::entrant::{Entrant, Finding, Problem};
use super::inputs::Loaded;
use super::measure::{self, Phase, Run};
use super::report::{Cell, Outcome, Report, counted_us};
use super::runner::Way;
use tilings::{TILES, WIDTHS};

/// Adds cells to the report: for each device the planned tiling, or that of `--tiling`, and those that differ from it in W
/// or S.
///
/// One device after the other, because a device holds a copy of the matrix for each of them.
pub(crate) fn measure(
    way: &Way<'_>,
    loaded: &Loaded,
    precision: Dtype,
    report: &mut Report,
) -> anyhow::Result<()> {
    by_dtype!(precision, T => of_type::<T>(way, loaded, report))
}

fn of_type<T: Scalar>(way: &Way<'_>, loaded: &Loaded, report: &mut Report) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let problem = Problem::<T>::of(&loaded.matrix);
    for target in way.targets {
        report.sweep.extend(on_target(way, loaded, target, &problem)?);
        way.live.show(report);
    }
    Ok(())
}

/// What is swept.
const SWEPT: Algorithm = Algorithm::SpeculativeSegmentedSum;

/// A tiling on its way to a cell: an entrant, or how it ended before the race.
type Attempt<T> = Result<Entrant<T>, (Outcome, String)>;

fn on_target<T: Scalar>(
    way: &Way<'_>,
    loaded: &Loaded,
    target: &Target,
    problem: &Problem<T>,
) -> anyhow::Result<Vec<Cell>>
where
    T::Accum: Scalar,
{
    let x = target.context.upload(&problem.x)?;
    let asked = way.tiling.and_then(|asked| asked.tiling(SWEPT, target.context.caps(), T::DTYPE));
    let (plan, first) = match asked {
        Some(tiling) => {
            let first = Entrant::prepare(target, &options(Some(tiling)), problem);
            (tiling, first.map_err(|e| (Outcome::Refused, e.to_string())))
        }
        None => {
            let planned = Entrant::prepare(target, &options(None), problem)?;
            (planned.matrix().plan().kernel.tiling, Ok(planned))
        }
    };
    let mut attempts: Vec<((u32, u32), Attempt<T>)> = vec![((plan.width(), plan.tiles()), first)];
    for (w, s) in neighbours(plan) {
        way.stop.check()?;
        let prepared = Tiling::new(plan.lanes(), w, s, plan.bunches())
            .map_err(spmv::Error::from)
            .and_then(|tiling| Entrant::prepare(target, &options(Some(tiling)), problem));
        attempts.push(((w, s), prepared.map_err(|e| (Outcome::Refused, e.to_string()))));
    }
    // A tiling that cannot be launched must not end the race of the others.
    for (_, attempt) in &mut attempts {
        way.stop.check()?;
        let first = attempt.as_ref().ok().map(|entrant| entrant.run(&x)(1, Phase::Untimed));
        if let Some(Err(e)) = first {
            *attempt = Err((Outcome::Failed, format!("{e:#}")));
        }
    }

    let entrants = || attempts.iter().filter_map(|(_, attempt)| attempt.as_ref().ok());
    let mut runs: Vec<Run<'_>> = entrants().map(|e| e.run(&x)).collect();
    let times = measure::interleave(&mut runs, way.cache, way.repeat, way.eviction, way.stop)?;
    drop(runs);
    let mut findings = Vec::new();
    for (entrant, time) in entrants().zip(times) {
        findings.push(entrant.finding(&problem.reference, &x, way.cache, time)?);
    }

    let mut findings = findings.into_iter();
    let mut cells = Vec::new();
    for (at, ((w, s), attempt)) in attempts.into_iter().enumerate() {
        let end = attempt.map(|_| findings.next().expect("one finding for each entrant"));
        let tiling = format!("T={},W={w},S={s},B={}", plan.lanes(), plan.bunches());
        let cell = Cell {
            matrix: loaded.name.clone(),
            twin: loaded.twin,
            nnz: problem.factor.a.nnz(),
            on: target.label.clone(),
            precision: T::DTYPE.to_string(),
            cache: way.cache,
            tiling,
            w,
            s,
            planned: at == 0,
            outcome: Outcome::Right,
            why: None,
            time_us: None,
            device_us: None,
            gflops: None,
            error_over_bound: None,
        };
        cells.push(ended(cell, end));
    }
    Ok(cells)
}

/// The cell with what came of it.
fn ended(cell: Cell, end: Result<Finding, (Outcome, String)>) -> Cell {
    match end {
        Err((outcome, why)) => Cell { outcome, why: Some(why), ..cell },
        Ok(Finding { time_us, device_us, error_over_bound, ok, .. }) => {
            let outcome = if ok { Outcome::Right } else { Outcome::Wrong };
            let gflops = counted_us(time_us, device_us).map(|us| 2.0 * cell.nnz as f64 / us / 1e3);
            Cell { outcome, time_us, device_us, gflops, error_over_bound: Some(error_over_bound), ..cell }
        }
    }
}

fn options(tiling: Option<Tiling>) -> Options {
    Options { algorithm: SWEPT, tiling, ..Options::default() }
}

/// W and S of every tiling of the sweep but the planned one.
fn neighbours(plan: Tiling) -> Vec<(u32, u32)> {
    let (w, s) = (plan.width(), plan.tiles());
    let all = WIDTHS.map(|w| (w, s)).into_iter().chain(TILES.map(|s| (w, s)));
    all.filter(|tiling| *tiling != (w, s)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::html::tests::sample;
    use super::super::runner::tests::once;
    use super::*;
    use spmv::{BackendKind, Context, Csr};

    #[test]
    fn a_planned_tiling_is_measured_once() {
        let inside = neighbours(Tiling::new(32, 8, 7, 5).unwrap());
        assert_eq!(inside.len(), WIDTHS.len() + TILES.len() - 2);
        assert!(!inside.contains(&(8, 7)));
        let outside = neighbours(Tiling::new(8, 10, 489, 1).unwrap());
        assert_eq!(outside.len(), WIDTHS.len() + TILES.len());
    }

    #[test]
    fn every_tiling_is_timed_and_checked() {
        let entries: Vec<(u32, u32, f64)> =
            (0..400).flat_map(|i| [(i, i, 2.0), (i, (7 * i) % 400, 0.5), (9, i, 1.0)]).collect();
        let matrix = Csr::from_coo(400, 400, &entries).unwrap();
        let loaded = Loaded { name: "small".into(), twin: false, matrix };
        let target = Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu");
        let mut report = sample(&[]);
        report.sweep.clear();
        once(&[&target], &[], |way| measure(way, &loaded, Dtype::F64, &mut report).unwrap());
        assert_eq!(report.sweep.iter().filter(|c| c.planned).count(), 1);
        assert!(report.sweep.len() > WIDTHS.len() + TILES.len() - 2);
        for cell in &report.sweep {
            assert!(cell.outcome == Outcome::Right && cell.gflops.is_some(), "{cell:?}");
            assert!(cell.device_us.is_none() && cell.error_over_bound.unwrap() <= 1.0, "{cell:?}");
        }
    }

    #[test]
    fn a_wrong_result_and_a_failed_run_are_failures_and_a_refusal_is_none() {
        let cell = sample(&[]).sweep[0].clone();
        let wrong = Finding {
            time_us: None,
            device_us: None,
            stage1_us: 1.0,
            stage2_us: 1.0,
            n_tiles: 0,
            dirty_tiles: None,
            error_over_bound: 7.0,
            ok: false,
        };
        let bare = Cell { gflops: None, ..cell };
        let wrong = ended(bare.clone(), Ok(wrong));
        assert_eq!((wrong.outcome, wrong.gflops, wrong.error_over_bound), (Outcome::Wrong, None, Some(7.0)));
        let mut report = sample(&[]);
        report.sweep = vec![wrong];
        for outcome in [Outcome::Failed, Outcome::Refused, Outcome::Right] {
            report.sweep.push(Cell { outcome, ..bare.clone() });
        }
        assert_eq!(report.n_failed(), 2);
    }
}
