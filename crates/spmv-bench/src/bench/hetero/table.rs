//! The table of `--hetero`, and means next to the paper's.

use std::fmt::Write;

use spmv::hetero::Pattern;

use super::super::report::{HeteroRow, Report, geometric_mean};
use super::super::tan_2019;
use super::super::text::{aligned, name, number, tail};

/// What both together must reach of the faster one alone.
const FLOOR: f64 = 0.97;
/// From what on a matrix is listed as one that gains by it.
const GAIN: f64 = 1.1;

const COLUMNS: [&str; 18] = [
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
    "before",
    "after",
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
        for row in &rows {
            if let Some(why) = &row.regular_refused {
                let _ = writeln!(text, "{}: of the paper's partition {why}", name(&row.matrix, row.twin));
            }
        }
        means(&mut text, &rows);
        for row in rows.iter().filter(|_| with_traces) {
            let _ = writeln!(text, "{}:\n  {}\n", name(&row.matrix, row.twin), row.trace.join("\n  "));
        }
    }
    text += "Vectors are the host's, but for `resident`: the device alone with vectors on it, by its timestamps if it has them. `device`\n\
         and `cores` are either alone, with all of the cores; `split` is the best split, `together` what the hetero\n\
         context runs. `before`: the paper's partition with all of the rest on the cores (figure 6), `after`: rows of it handed back to\n\
         the device where that is faster (figure 7); in the same race. GFlop/s = 2 nnz / t. `shares us`: device /\n\
         cores in runs of the split, the device with all copies; idle is their difference. `x single`: speed over the faster one alone. prepare/spmv: finding the split over one multiplication.\n";
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
        gflops(row.before_us),
        gflops(row.after_us),
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

/// What the paper says of a pattern: before and after the cooperative step. Then what the context runs, of the matrices that both
/// run on apart from those that one has alone.
fn of_pattern(text: &mut String, rows: &[&HeteroRow], pattern: Pattern, paper: [f64; 2]) {
    let of_it = || rows.iter().filter(|row| row.pattern == pattern.name());
    let published: Vec<[f64; 2]> = of_it().filter_map(|row| Some([row.before()?, row.after()?])).collect();
    let means =
        [0, 1].map(|at| arithmetic_mean(&published.iter().map(|ratios| ratios[at]).collect::<Vec<_>>()));
    if let [Some(before), Some(after)] = means {
        let _ = writeln!(
            text,
            "{} {pattern}, the paper's partition: {before:.2} times as fast as the device alone before the cooperative step, {after:.2} \
             after it (arithmetic means); the paper: {} and {} on a GTX 1080 Ti with two Xeons",
            published.len(),
            paper[0],
            paper[1]
        );
    }
    for (who, is_both) in [("both run on", true), ("one has alone", false)] {
        let together =
            of_it().filter(|row| (row.chosen == "both") == is_both).filter_map(|row| row.over_device());
        let together: Vec<f64> = together.collect();
        if let (Some(mean), Some(geometric)) = (arithmetic_mean(&together), geometric_mean(&together)) {
            let n = together.len();
            let _ = writeln!(
                text,
                "{n} {pattern} that {who}: together {mean:.2} times as fast as the device alone in the arithmetic mean, \
                 {geometric:.2} in the geometric mean"
            );
        }
    }
}

/// `None` without values.
fn arithmetic_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn means(text: &mut String, rows: &[&HeteroRow]) {
    for (pattern, paper) in tan_2019::PATTERNS.map(|(pattern, name)| (pattern, tan_2019::speed_ups(name))) {
        of_pattern(text, rows, pattern, paper);
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
            before_split: Some("all of the rest with the cores".into()),
            before_us: Some(16.0),
            after_split: Some("rows handed back".into()),
            after_us: Some(12.5),
            regular_refused: None,
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
    fn before_and_after_the_cooperative_step_stand_next_to_the_papers() {
        let mut text = String::new();
        let general = HeteroRow { pattern: "general".into(), before_us: None, after_us: None, ..row() };
        let slower = HeteroRow { before_us: Some(40.0), after_us: Some(25.0), ..row() };
        means(&mut text, &[&row(), &slower, &general]);
        let line = "2 tetris, the paper's partition: 0.88 times as fast as the device alone before the cooperative step, 1.20 after it";
        assert!(text.contains(line) && text.contains("the paper: 1.82 and 2.15"), "{text}");
        assert!(
            text.contains("below 0.97 on 0 of 3")
                && text.contains("20% at the median of 3 matrices that both run on"),
            "{text}"
        );
        let cells = cells(&row());
        let of = |column: &str| &cells[COLUMNS.iter().position(|c| *c == column).unwrap()];
        assert_eq!((of("before"), of("after")), (&"0.12".into(), &"0.16".into()));
    }

    #[test]
    fn matrices_that_one_has_alone_are_in_a_mean_of_their_own() {
        let mut text = String::new();
        let alone = HeteroRow { chosen: "device".into(), together_us: Some(20.0), ..row() };
        means(&mut text, &[&row(), &alone]);
        for line in [
            "1 tetris that both run on: together 2.00 times",
            "1 tetris that one has alone: together 1.00 times",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_part_that_its_layout_refuses_is_named() {
        let mut report = super::super::super::html::tests::sample(&[]);
        report.hetero = vec![HeteroRow { regular_refused: Some("dia refuses it".into()), ..row() }];
        assert!(super::text(&report, false).contains("m: of the paper's partition dia refuses it"));
    }
}
