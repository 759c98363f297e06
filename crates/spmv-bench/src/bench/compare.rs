//! The algorithms of one device against each other, over the sets of the suites too, and the devices of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use spmv::plan::Algorithm;

use super::report::{Report, Row, TRANSPOSED, arithmetic_mean, geometric_mean};
use super::sets;
use super::text::{aligned, cold, tuned};

/// Algorithms that the others are set against.
const OURS: [Algorithm; 2] = [Algorithm::SpeculativeSegmentedSum, Algorithm::Ipcsr];

/// Times of the fastest algorithm's up to which another counts as good a choice.
const NEAR: f64 = 1.1;

/// What [`cell`] has of ratios. Liu & Vinter report "up to 6.90x and on average 2.57x": the greatest and, it seems, the
/// arithmetic mean. A few giant ratios make that mean, so the geometric one comes first.
const MEANS: &str = "geometric mean, arithmetic mean";

/// A table for each precision and device on which one of [`OURS`] and another algorithm ran.
pub(crate) fn text(report: &Report) -> String {
    let mut groups: Vec<(&Row, Vec<&Row>)> = Vec::new();
    for row in report.rows.iter().filter(|row| !row.tuned) {
        let is_of = |of: &Row| (&of.precision, &of.on, of.cache) == (&row.precision, &row.on, row.cache);
        match groups.iter_mut().find(|(of, _)| is_of(of)) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((row, vec![row])),
        }
    }
    groups.sort_by(|(a, _), (b, _)| (&a.precision, &a.on).cmp(&(&b.precision, &b.on)));
    let mut text = String::new();
    for ((of, rows), ours) in groups.iter().flat_map(|group| OURS.map(|ours| (group, ours))) {
        let Some(table) = table(rows, ours) else { continue };
        let _ = writeln!(
            text,
            "{} on {}{}: time over that of {ours}, {MEANS}; above 1 {ours} is faster\n{table}\n",
            of.precision,
            of.on,
            cold(of.cache),
        );
    }
    for (of, rows) in &groups {
        text.extend(
            regret(rows)
                .map(|regret| format!("{} on {}{}: {regret}\n\n", of.precision, of.on, cold(of.cache))),
        );
    }
    text + &transposes(report) + &trials(report) + &devices(report)
}

/// A line for each way of multiplying both by matrices and by their transposes.
fn transposes(report: &Report) -> String {
    let mut ratios: BTreeMap<String, Vec<(&str, f64)>> = BTreeMap::new();
    for row in &report.rows {
        let Some(matrix) = row.matrix.strip_suffix(TRANSPOSED) else { continue };
        let case = |of: &Row| (of.on.clone(), of.precision.clone(), of.cache, of.tuned);
        let is_same =
            |of: &Row| case(of) == case(row) && (of.algorithm == row.algorithm || of.auto && row.auto);
        let by_matrix = report.rows.iter().find(|of| of.matrix == matrix && is_same(of));
        let us = by_matrix.and_then(Row::counted_us).zip(row.counted_us());
        let algorithm = if row.auto { "auto" } else { &row.algorithm };
        let of =
            format!("{} on {}{}, {algorithm}{}", row.precision, row.on, cold(row.cache), tuned(row.tuned));
        let of_way = ratios.entry(of).or_default();
        // Named twice, as by `--algorithm auto,sell`, a pick counts once.
        let us = us.filter(|_| of_way.iter().all(|(known, _)| *known != matrix));
        of_way.extend(us.map(|(plain, transposed)| (matrix, transposed / plain)));
    }
    let line = |(of, ratios): (&String, &Vec<(&str, f64)>)| {
        format!("{of}: time by transposes over that by matrices, {MEANS}: {}\n\n", cell(ratios))
    };
    ratios.iter().filter(|(_, ratios)| !ratios.is_empty()).map(line).collect()
}

/// A line for each precision and device on which trials chose what `auto` stands for.
fn trials(report: &Report) -> String {
    let mut ratios: BTreeMap<String, Vec<(&str, f64)>> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.tuned && row.auto) {
        let case = |of: &Row| (of.matrix.clone(), of.on.clone(), of.precision.clone(), of.cache);
        let is_untuned = |of: &&Row| !of.tuned && of.auto && case(of) == case(row);
        let us = report.rows.iter().find(is_untuned).and_then(Row::counted_us).zip(row.counted_us());
        let of = format!("{} on {}{}", row.precision, row.on, cold(row.cache));
        ratios.entry(of).or_default().extend(us.map(|(untuned, tuned)| (&*row.matrix, untuned / tuned)));
    }
    let line = |(of, ratios): (&String, &Vec<(&str, f64)>)| {
        format!(
            "{of}: time of auto over that with trials, {MEANS}; above 1 trials gain: {}\n\n",
            cell(ratios)
        )
    };
    ratios.iter().map(line).collect()
}

/// A line for each algorithm that ran on a device and on a later one of the report. Several as one, which have the caller's time alone,
/// are compared with one of them in their rows.
fn devices(report: &Report) -> String {
    let mut ways: Vec<&Row> = Vec::new();
    let single = || report.rows.iter().filter(|row| row.over_one.is_none() && !row.tuned);
    for row in single() {
        if !ways.iter().any(|way| is_same_way(row, way)) {
            ways.push(row);
        }
    }
    ways.sort_by(|a, b| (&a.precision, &a.algorithm).cmp(&(&b.precision, &b.algorithm)));
    let labels: Vec<&str> = report.devices.iter().map(|device| &*device.label).collect();
    let mut text = String::new();
    for way in ways {
        let rows: Vec<&Row> = single().filter(|row| is_same_way(row, way)).collect();
        for (at, one) in labels.iter().enumerate() {
            for other in &labels[at + 1..] {
                let ratios = over(&rows, other, one);
                if !ratios.is_empty() {
                    let Row { precision, algorithm, cache, .. } = way;
                    let (cold, cell) = (cold(*cache), cell(&ratios));
                    let _ = writeln!(
                        text,
                        "{precision}, {algorithm}{cold}: time on {other} over that on {one}, {MEANS}: {cell}"
                    );
                }
            }
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn is_same_way(a: &Row, b: &Row) -> bool {
    (&a.precision, &a.algorithm, a.cache) == (&b.precision, &b.algorithm, b.cache)
}

/// Time on one device over that on another, for each matrix that both multiplied rightly.
fn over<'a>(rows: &[&'a Row], above: &str, below: &str) -> Vec<(&'a str, f64)> {
    let ratio = |row: &&'a Row| {
        let below = rows.iter().find(|other| other.on == below && other.matrix == row.matrix)?;
        Some((row.matrix.as_str(), row.counted_us()? / below.counted_us()?))
    };
    rows.iter().filter(|row| row.on == above).filter_map(ratio).collect()
}

/// What `auto` takes and the fastest algorithm, where that is one of several: a sentence, and a line for each matrix, the
/// worst first.
fn regret(rows: &[&Row]) -> Option<String> {
    let mut seen = BTreeSet::new();
    // Named twice, as by `--algorithm auto,ipcsr`, a pick counts once.
    let picks = rows.iter().filter(|row| row.auto && seen.insert(&row.matrix)).filter_map(|pick| {
        let others = rows.iter().filter(|r| r.matrix == pick.matrix && r.algorithm != pick.algorithm);
        let times = others.filter_map(|other| Some((other.counted_us()?, *other)));
        let (other_us, other) = times.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let pick_us = pick.counted_us()?;
        let (fastest_us, fastest) = if other_us < pick_us { (other_us, other) } else { (pick_us, *pick) };
        Some((pick_us / fastest_us, pick_us, *pick, fastest_us, fastest))
    });
    let mut picks: Vec<_> = picks.collect();
    picks.sort_by(|a, b| b.0.total_cmp(&a.0));
    if picks.is_empty() {
        return None;
    }
    let near = picks.iter().filter(|(ratio, ..)| *ratio <= NEAR).count();
    let header = ["matrix", "auto takes", "us", "fastest", "us", "times its time"].map(str::to_owned);
    let line = |(ratio, pick_us, pick, fastest_us, fastest): &(f64, f64, &Row, f64, &Row)| {
        vec![
            pick.matrix.clone(),
            pick.algorithm.clone(),
            format!("{pick_us:.1}"),
            fastest.algorithm.clone(),
            format!("{fastest_us:.1}"),
            format!("{ratio:.2}"),
        ]
    };
    Some(format!(
        "what auto takes is within {:.0}% of the fastest algorithm that ran on {near} of {} matrices\n{}",
        100.0 * (NEAR - 1.0),
        picks.len(),
        aligned(header.to_vec(), picks.iter().map(line).collect())
    ))
}

/// A line for each other algorithm that ran on the same matrices.
fn table(rows: &[&Row], ours: Algorithm) -> Option<comfy_table::Table> {
    let sets = sets::of(rows.iter().map(|row| &*row.matrix));
    let header = std::iter::once(String::new()).chain(sets.iter().map(|set| set.title.clone())).collect();
    let mut lines = Vec::new();
    for other in Algorithm::ALL.iter().copied().filter(|other| *other != ours) {
        let ratios = ratios(rows, ours, other);
        if ratios.is_empty() {
            continue;
        }
        let cells = sets.iter().map(|set| {
            cell(&ratios.iter().copied().filter(|(matrix, _)| set.contains(matrix)).collect::<Vec<_>>())
        });
        lines.push(std::iter::once(other.to_string()).chain(cells).collect());
    }
    (!lines.is_empty()).then(|| aligned(header, lines))
}

/// Time of `other` over that of `ours`, for each matrix that both multiplied rightly.
fn ratios<'a>(rows: &[&'a Row], ours: Algorithm, other: Algorithm) -> Vec<(&'a str, f64)> {
    let ratio = |row: &&'a Row| {
        let ours = rows.iter().find(|r| r.matrix == row.matrix && r.algorithm == ours.name())?;
        Some((row.matrix.as_str(), row.counted_us()? / ours.counted_us()?))
    };
    rows.iter().filter(|r| r.algorithm == other.name()).filter_map(ratio).collect()
}

fn cell(ratios: &[(&str, f64)]) -> String {
    let values: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    let by_ratio = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let (least, most) = (ratios.iter().min_by(by_ratio), ratios.iter().rev().max_by(by_ratio));
    match (geometric_mean(&values), arithmetic_mean(&values), least, most) {
        // Layouts refuse some matrices, so their number may be less than the header says.
        (Some(mean), Some(arithmetic), Some((least_of, least)), Some((most_of, most))) => {
            let n = ratios.len();
            format!(
                "{mean:.2}, {arithmetic:.2} (least {least:.2}, {least_of}; most {most:.2}, {most_of}; {n} matrices)"
            )
        }
        _ => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use spmv_io::suite::{Class, ENTRIES, find};

    use super::super::html::tests::sample;
    use super::super::report::{Device, Spread};
    use super::*;

    /// Every algorithm on every matrix, each taking so many times as long as speculative segmented sum.
    fn report(names: &[&str], factor: impl Fn(&str, Algorithm) -> f64) -> Report {
        let mut report = sample(names);
        let rows: Vec<Row> = report.rows.iter().filter(|r| r.ok).cloned().collect();
        report.rows.clear();
        for row in rows {
            for algorithm in Algorithm::ALL.iter().copied().filter(|a| *a != Algorithm::Auto) {
                let median = 10.0 * factor(&row.matrix, algorithm);
                let device_us = Some(Spread { median, min: median, max: median });
                report.rows.push(Row { algorithm: algorithm.to_string(), device_us, ..row.clone() });
            }
        }
        report
    }

    #[test]
    fn ratios_are_of_device_times_and_the_least_and_the_most_are_named() {
        let report = report(&["a", "b"], |matrix, algorithm| match (matrix, algorithm) {
            ("a", Algorithm::CsrVector) => 0.5,
            ("b", Algorithm::CsrVector) => 8.0,
            _ => 1.0,
        });
        let text = text(&report);
        assert!(text.contains("2.00, 4.25 (least 0.50, a; most 8.00, b; 2 matrices)"), "{text}");
        assert!(text.contains("all 2") && !text.contains("irregular"), "{text}");
    }

    #[test]
    fn the_whole_suite_is_split_by_class() {
        let names = ENTRIES.map(|e| e.name);
        let report = report(&names, |matrix, algorithm| {
            let irregular = find(matrix).unwrap().class == Class::Irregular;
            if irregular && algorithm == Algorithm::CsrScalar { 100.0 } else { 1.0 }
        });
        let text = text(&report);
        let line = text.lines().find(|l| l.contains("csr_scalar")).unwrap();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let expected = [
            "10.00, 50.50 (least 1.00, dense2; most 100.00, cop20k_A; 20 matrices)",
            "100.00, 100.00 (least 100.00, cop20k_A; most 100.00, cop20k_A; 10 matrices)",
            "1.00, 1.00 (least 1.00, dense2; most 1.00, dense2; 10 matrices)",
        ];
        assert_eq!(cells[2..5], expected);
        assert!(text.contains("10 irregular") && text.contains("10 regular"), "{text}");
    }

    #[test]
    fn the_choice_of_auto_is_set_against_the_fastest() {
        let mut report = report(&["a", "b", "c"], |matrix, algorithm| match (matrix, algorithm) {
            ("a", Algorithm::Ipcsr) => 0.5,
            ("b", Algorithm::Jad) => 0.8,
            _ => 1.0,
        });
        for row in &mut report.rows {
            row.auto = row.algorithm == Algorithm::Ipcsr.name();
        }
        let text = text(&report);
        let (_, regret) = text.split_once("what auto takes is ").unwrap();
        let lines: Vec<&str> = regret.lines().collect();
        assert_eq!(lines[0], "within 10% of the fastest algorithm that ran on 2 of 3 matrices");
        let cells: Vec<&str> = lines[3].split('|').map(str::trim).collect();
        assert_eq!(cells[1..7], ["b", "ipcsr", "10.0", "jad", "8.0", "1.25"], "{text}");
        let cells: Vec<&str> = lines[4].split('|').map(str::trim).collect();
        assert_eq!(cells[4..7], ["ipcsr", "5.0", "1.00"], "{text}");
    }

    #[test]
    fn ipcsr_has_a_table_too_and_refused_matrices_do_not_count() {
        let mut report =
            report(&["a", "b"], |_, algorithm| if algorithm == Algorithm::Ell { 3.0 } else { 1.0 });
        report.rows.retain(|r| r.matrix == "a" || r.algorithm != Algorithm::Ell.name());
        let text = text(&report);
        let (_, ipcsr) = text.split_once("time over that of ipcsr").unwrap();
        assert!(ipcsr.contains("3.00, 3.00 (least 3.00, a; most 3.00, a; 1 matrices)"), "{ipcsr}");
        assert!(ipcsr.contains("1.00, 1.00 (least 1.00, a; most 1.00, a; 2 matrices)"), "{ipcsr}");
    }

    #[test]
    fn devices_of_one_run_are_compared_by_algorithm() {
        let mut report = report(&["a", "b"], |_, _| 1.0);
        report.rows.retain(|row| row.algorithm == Algorithm::Ipcsr.name());
        for (at, factor) in [(0, 2.0), (1, 8.0)] {
            let row = report.rows[at].clone();
            let us = row.counted_us().unwrap() * factor;
            let device_us = Some(Spread { median: us, min: us, max: us });
            report.rows.push(Row { on: "wgpu".into(), device_us, ..row });
        }
        report.devices.push(Device { label: "wgpu".into(), ..report.devices[0].clone() });
        let line = "f32, ipcsr: time on wgpu over that on cpu, geometric mean, arithmetic mean: \
                    4.00, 5.00 (least 2.00, a; most 8.00, b; 2 matrices)";
        assert!(text(&report).contains(line), "{}", text(&report));
    }

    #[test]
    fn one_algorithm_is_compared_with_nothing() {
        let mut report = report(&["a"], |_, _| 1.0);
        report.rows.retain(|r| r.algorithm == Algorithm::SpeculativeSegmentedSum.name());
        assert_eq!(text(&report), "");
    }
}
