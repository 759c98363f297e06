//! `--hetero`: a device, the cores, and both at once, on vectors of the host (Tan et al. 2019, figures 8 to 10).

use std::cell::RefCell;
use std::fmt::Write;

use spmv::{By, Dtype, Matrix, Options, Pattern, Scalar, Split, Steering, Step, Value, by_dtype};

use super::devices::Target;
use super::entrant::{Entrant, Problem};
use super::inputs::Loaded;
use super::measure::{self, Phase, Run, spread};
use super::report::{HeteroRow, Report, geometric_mean};
use super::runner::Way;
use super::text::{aligned, name, number, tail};

/// Mean speed-up over the device alone in the paper: quasi-diagonal and Tetris matrices (figures 8 to 10).
const PAPER: [(Pattern, f64); 2] = [(Pattern::QuasiDiagonal, 1.74), (Pattern::Tetris, 2.15)];
/// What both together must reach of the faster one alone.
const FLOOR: f64 = 0.97;
/// From what on a matrix is listed as one that gains by it.
const GAIN: f64 = 1.1;

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
        Box::new(move |phase| {
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
    let Problem { a, x, reference } = problem;
    let tiling = way.tiling.map(|asked| asked.tiling(target.context.caps(), T::DTYPE));
    let options = Options { algorithm: way.algorithms[0], tiling, ..Options::default() };
    let context = target.context.with_host_cores()?;
    let together = OnHost::new(context.prepare_with(a, &options)?, false);
    let partition = together.matrix.partition().expect("no split was given").clone();
    let in_two = match &partition.best {
        Some(best) => {
            let steering = Steering { split: Some(best.split), ..Steering::default() };
            Some(OnHost::new(context.steered(steering).prepare(a)?, true))
        }
        None => None,
    };
    way.stop.check()?;
    let device = OnHost::new(target.context.prepare_with(a, &options)?, false);
    let all_cores = OnHost::new(cores.context.prepare(a)?, false);
    let resident = Entrant::prepare(target, &options, a)?;
    let device_x = target.context.upload(x)?;

    let mut runs = vec![together.run(x), device.run(x), all_cores.run(x), resident.run(&device_x)];
    runs.extend(in_two.as_ref().map(|in_two| in_two.run(x)));
    let times = measure::interleave(&mut runs, way.cache, way.repeat, way.eviction, way.stop)?;
    drop(runs);
    let finding = resident.finding(reference, &device_x, way.cache, times[3])?;
    let on_host = [Some(&together), Some(&device), Some(&all_cores), in_two.as_ref()];
    let ok = finding.ok && on_host.into_iter().flatten().all(|it| it.is_right(problem));
    let us = |at: usize| times.get(at).filter(|_| ok).map(|time| time.median);
    let median_us = |seconds: &Vec<f64>| spread(seconds.clone()).median;
    let shares = in_two.as_ref().and_then(|in_two| Some(in_two.shares.as_ref()?.borrow()));
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
        split_us: us(4),
        resident_us: if ok { finding.device_us.or(finding.time_us).map(|time| time.median) } else { None },
        device_us: us(1),
        cores_us: us(2),
        together_us: us(0),
        prepare_us: together.matrix.prepare_s() * 1e6,
        trace: partition.trace.iter().map(Step::to_string).collect(),
        ok,
    })
}

const COLUMNS: [&str; 16] = [
    "matrix",
    "pattern",
    "runs on",
    "split; share of the device",
    "predicted us",
    "shares us",
    "idle us",
    "imbalance",
    "GF/s resident",
    "device",
    "cores",
    "split",
    "together",
    "x single",
    "x device",
    "prepare/spmv",
];

/// A table for each precision and device, then means and the paper's.
pub(crate) fn text(report: &Report, with_traces: bool) -> String {
    let mut groups: Vec<(&str, &str)> =
        report.hetero.iter().map(|row| (row.precision.as_str(), row.on.as_str())).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut text = String::new();
    for (precision, on) in groups {
        let rows: Vec<&HeteroRow> = report
            .hetero
            .iter()
            .filter(|row| (row.precision.as_str(), row.on.as_str()) == (precision, on))
            .collect();
        let header = COLUMNS.map(str::to_owned).to_vec();
        let table = aligned(header, rows.iter().map(|row| cells(row)).collect());
        let _ = writeln!(text, "{precision}, {on} and the cores\n{table}");
        means(&mut text, &rows);
        for row in rows.iter().filter(|_| with_traces) {
            let _ = writeln!(text, "{}:\n  {}\n", name(&row.matrix, row.twin), row.trace.join("\n  "));
        }
    }
    text += "Vectors are the host's, but for `resident`: the device alone with vectors on it, by its timestamps if it has them. `device`\n\
         and `cores` are either alone, with all of the cores; `split` is the best split, `together` what the hetero\n\
         context runs. GFlop/s = 2 nnz / t. `shares us`: device / cores in runs of the split, the device with all copies; idle is their\n\
         difference. `x single`: speed over the faster one alone. prepare/spmv: finding the split over one multiplication.\n";
    text + &tail(report)
}

fn cells(row: &HeteroRow) -> Vec<String> {
    let both = |us: Option<[f64; 2]>| us.map_or_else(|| "-".to_owned(), |[d, c]| format!("{d:.1} / {c:.1}"));
    let gflops = |us: Option<f64>| match us {
        _ if !row.ok => "FAILED".to_owned(),
        us => number(us.map(|us| 2.0 * row.nnz as f64 / us / 1e3), 2),
    };
    let split = row.split.as_ref().zip(row.device_share);
    vec![
        name(&row.matrix, row.twin),
        row.pattern.clone(),
        row.chosen.clone(),
        split.map_or_else(|| "-".into(), |(split, share)| format!("{split}; {:.0}%", 100.0 * share)),
        both(row.predicted_us),
        both(row.shares_us),
        number(row.shares_us.map(|[d, c]| (d - c).abs()), 1),
        row.imbalance().map_or_else(|| "-".into(), |i| format!("{:.0}%", 100.0 * i)),
        gflops(row.resident_us),
        gflops(row.device_us),
        gflops(row.cores_us),
        gflops(row.split_us),
        gflops(row.together_us),
        number(row.over_single(), 2),
        number(row.over_device(), 2),
        number(row.together_us.map(|us| row.prepare_us / us), 0),
    ]
}

/// The matrices whose speed over the faster one alone is of a kind, the slowest first, and what they run on.
fn listed(text: &mut String, what: &str, rows: &[&HeteroRow], is_listed: impl Fn(f64) -> bool) {
    let ratios = rows.iter().filter_map(|row| Some((row.over_single()?, *row)));
    let mut found: Vec<(f64, &HeteroRow)> = ratios.filter(|(ratio, _)| is_listed(*ratio)).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !found.is_empty() {
        let word = |(ratio, row): &(f64, &HeteroRow)| format!("{} {ratio:.2} ({})", row.matrix, row.chosen);
        let words: Vec<String> = found.iter().map(word).collect();
        let _ = writeln!(text, "{what}: {}", words.join(", "));
    }
}

/// Geometric mean, least and greatest of several numbers.
fn range(text: &mut String, what: &str, values: &[f64]) {
    if let Some(mean) = geometric_mean(values) {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(text, "{what}: {mean:.1} in the geometric mean, from {least:.1} to {greatest:.1}");
    }
}

fn means(text: &mut String, rows: &[&HeteroRow]) {
    for (pattern, paper) in PAPER {
        let of_it = || rows.iter().filter(|row| row.pattern == pattern.name());
        let together: Vec<f64> = of_it().filter_map(|row| row.over_device()).collect();
        let split: Vec<f64> = of_it().filter_map(|row| Some(row.device_us? / row.split_us?)).collect();
        if let (Some(together), Some(split)) = (geometric_mean(&together), geometric_mean(&split)) {
            let n = of_it().filter(|row| row.ok).count();
            let _ = writeln!(
                text,
                "{n} {pattern}: together {together:.2} times as fast as the device alone, split {split:.2}; the paper: {paper} on \
                 a GTX 1080 Ti with two Xeons"
            );
        }
    }
    let over_single: Vec<f64> = rows.iter().filter_map(|row| row.over_single()).collect();
    if let Some(mean) = geometric_mean(&over_single) {
        let least = over_single.iter().copied().fold(f64::INFINITY, f64::min);
        let below = over_single.iter().filter(|ratio| **ratio < FLOOR).count();
        let both = rows.iter().filter(|row| row.chosen == "both").count();
        let _ = writeln!(
            text,
            "speed over the faster one alone: {mean:.2} in the geometric mean, {least:.2} for the slowest, below {FLOOR} on {below} of {}; \
             both run on {both}",
            over_single.len()
        );
    }
    listed(text, &format!("below {FLOOR} of the faster one alone"), rows, |ratio| ratio < FLOOR);
    listed(text, "faster than either alone by a tenth or more", rows, |ratio| ratio >= GAIN);
    let resident: Vec<f64> = rows.iter().filter_map(|row| Some(row.device_us? / row.resident_us?)).collect();
    range(text, "the device alone with its vectors on it is faster than with the host's, times", &resident);
    let prepare: Vec<f64> = rows.iter().filter_map(|row| Some(row.prepare_us / row.together_us?)).collect();
    range(text, "the search takes the time of so many multiplications", &prepare);
    for (which, both) in [("", false), (" that both run on", true)] {
        let is_one = |row: &&&HeteroRow| !both || row.chosen == "both";
        let mut imbalances: Vec<f64> = rows.iter().filter(is_one).filter_map(|row| row.imbalance()).collect();
        imbalances.sort_by(f64::total_cmp);
        if !imbalances.is_empty() {
            let (median, n) = (100.0 * imbalances[imbalances.len() / 2], imbalances.len());
            let _ = writeln!(
                text,
                "imbalance of the best split: {median:.0}% at the median of {n} matrices{which}"
            );
        }
    }
    let (mut off, n) = (Vec::new(), rows.len());
    for row in rows {
        off.extend(
            row.predicted_us
                .zip(row.shares_us)
                .map(|(predicted, shares)| [0, 1].map(|s| (predicted[s] - shares[s]).abs() / shares[s])),
        );
    }
    if !off.is_empty() {
        let [device, cores] = [0, 1].map(|which| {
            let mut off: Vec<f64> = off.iter().map(|off| off[which]).collect();
            off.sort_by(f64::total_cmp);
            100.0 * off[off.len() / 2]
        });
        let _ = writeln!(
            text,
            "predicted times of it: off by {device:.0}% (device) and {cores:.0}% (cores) at the median of {} of {n} matrices",
            off.len()
        );
    }
    text.push('\n');
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row() -> HeteroRow {
        HeteroRow {
            matrix: "m".into(),
            twin: false,
            nnz: 1000,
            precision: "f32".into(),
            on: "gpu".into(),
            pattern: "tetris".into(),
            chosen: "both".into(),
            split: Some("some".into()),
            device_share: Some(0.75),
            predicted_us: None,
            shares_us: Some([8.0, 10.0]),
            split_us: Some(11.0),
            resident_us: Some(5.0),
            device_us: Some(20.0),
            cores_us: Some(22.0),
            together_us: Some(10.0),
            prepare_us: 500.0,
            trace: vec!["a step".into()],
            ok: true,
        }
    }

    #[test]
    fn ratios_are_speeds_and_idle_time_is_the_difference() {
        let cells = cells(&row());
        let of = |column: &str| &cells[COLUMNS.iter().position(|c| *c == column).unwrap()];
        assert_eq!(
            (of("idle us"), of("imbalance"), of("x single")),
            (&"2.0".into(), &"20%".into(), &"2.00".into())
        );
        assert_eq!((of("together"), of("prepare/spmv")), (&"0.20".into(), &"50".into()));
    }

    #[test]
    fn a_wrong_result_has_no_speed() {
        let wrong = HeteroRow { ok: false, together_us: None, ..row() };
        assert!(cells(&wrong).contains(&"FAILED".to_owned()) && wrong.over_single().is_none());
    }

    #[test]
    fn what_a_document_would_say_of_single_matrices_is_printed() {
        let slow =
            HeteroRow { matrix: "slow".into(), together_us: Some(25.0), chosen: "cores".into(), ..row() };
        let mut text = String::new();
        means(&mut text, &[&row(), &slow]);
        for line in [
            "below 0.97 of the faster one alone: slow 0.80 (cores)",
            "faster than either alone by a tenth or more: m 2.00 (both)",
            "with its vectors on it is faster than with the host's, times: 4.0 in the geometric mean, from 4.0 to 4.0",
            "the search takes the time of so many multiplications: 31.6 in the geometric mean, from 20.0 to 50.0",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn means_stand_next_to_the_papers() {
        let mut text = String::new();
        means(&mut text, &[&row()]);
        assert!(text.contains("1 tetris: together 2.00 times") && text.contains("the paper: 2.15"), "{text}");
        assert!(
            text.contains("below 0.97 on 0 of 1")
                && text.contains("20% at the median of 1 matrices that both run on"),
            "{text}"
        );
    }
}
