//! What `predict` prints of a device and type of values.

use std::fmt::Write as _;

use spmv_model::{Format, Spread};

use super::evaluation::{
    Comparison, EVEN, Errors, Evaluation, PAPERS_LEAST_WAVES, Planned, Prediction, Summary,
};
use super::paper;
use super::scope::algorithms;
use crate::bench::text::{aligned, number};

/// All tables.
pub(super) fn text(evaluation: &Evaluation) -> String {
    let Evaluation { device, label, value, refused, .. } = evaluation;
    let mut text = String::new();
    if !evaluation.predictions.is_empty() {
        let mut section = |title: &str, table: String| {
            let _ = writeln!(text, "{title}\n{table}\n");
        };
        section(
            &format!("{value} on {label} ({device}): measured and predicted time of one multiplication"),
            times(evaluation),
        );
        section(
            "D_r = |predicted - measured| / measured, percent, mean (median) over the matrices, and over those (how many) \
             that fill a wave with rows of up to twice the mean; the paper's too; `rates` is what Auto compares, for the \
             algorithm as it is planned",
            averages(evaluation),
        );
        section(
            "Which spread's model is better, with waves rounded up: matrices, how many times as large the other's D_r is, \
             by means (medians)",
            comparisons(evaluation),
        );
        section(
            "Why: D_r in percent (waves not rounded) by waves, longest row, and lines of x for a nonzero (about 1 in \
             generated matrices)",
            reasons(evaluation),
        );
        section(&target(evaluation), String::new());
        section(
            "The matrices that the paper names, or relatives: D_r in percent, waves rounded up",
            named(evaluation),
        );
    }
    if !refused.is_empty() {
        let _ = writeln!(text, "refused by the layout: {}\n", refused.join(", "));
    }
    let _ = writeln!(
        text,
        "{value} on {label} ({device}): measured (predicted) us of every algorithm as planned; * is what auto takes\n{}",
        by_rates(evaluation),
    );
    text
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn mean_and_median(errors: Option<Errors>) -> String {
    errors.map_or_else(|| "-".into(), |e| format!("{:.2} ({:.2})", e.mean, e.median))
}

fn times(evaluation: &Evaluation) -> String {
    let mut columns = header(&["matrix", "format", "P0", "us"]);
    let spreads = spreads(evaluation);
    columns.extend(spreads.iter().map(|spread| format!("{spread} us (D_r %, unrounded)")));
    let row = |p: &Prediction| {
        let mut row = vec![
            p.matrix.clone(),
            p.format.to_string(),
            format!("{:.0}", p.per_row),
            format!("{:.1}", p.measured_s * 1e6),
        ];
        row.extend(spreads.iter().map(|spread| {
            let estimate = p.estimates.iter().find(|e| e.spread == *spread);
            estimate.map_or_else(
                || "-".into(),
                |e| {
                    let [up, exact] = [true, false].map(|up| number(p.error(*spread, up), 1));
                    format!("{:.1} ({up}, {exact})", e.rounded_up_s * 1e6)
                },
            )
        }));
        row
    };
    aligned(columns, evaluation.predictions.iter().map(row).collect()).to_string()
}

/// Those of any model.
fn spreads(evaluation: &Evaluation) -> Vec<Spread> {
    let has = |spread: &Spread| {
        evaluation.predictions.iter().any(|p| p.estimates.iter().any(|e| e.spread == *spread))
    };
    Spread::ALL.into_iter().filter(has).collect()
}

/// Mean and median for each format and spread, waves rounded up and not, with the paper's; then those of the rates.
fn averages(evaluation: &Evaluation) -> String {
    let columns = header(&[
        "format",
        "spread",
        "matrices",
        "rounded up",
        "not rounded",
        "even",
        "rounded up",
        "not rounded",
        "paper",
    ]);
    let [up, exact] = [true, false].map(|up| evaluation.summaries(up, |_| true));
    let [even_up, even_exact] = [true, false].map(|up| evaluation.summaries(up, Prediction::is_modelled));
    let of = |list: &[Summary], format, spread| {
        let summary = list.iter().find(|s| s.format == format)?;
        summary.errors.iter().find(|(of, _)| *of == spread).map(|(_, errors)| *errors)
    };
    let mut rows = Vec::new();
    for summary in &up {
        let format = summary.format;
        let even = even_up.iter().find(|s| s.format == format);
        let even_matrices = even.map_or(0, |s| s.matrices);
        for (spread, errors) in &summary.errors {
            rows.push(vec![
                format.to_string(),
                spread.to_string(),
                summary.matrices.to_string(),
                mean_and_median(Some(*errors)),
                mean_and_median(of(&exact, format, *spread)),
                even_matrices.to_string(),
                mean_and_median(of(&even_up, format, *spread)),
                mean_and_median(of(&even_exact, format, *spread)),
                number(paper::error(format, *spread), 2),
            ]);
        }
        let dash = || "-".to_owned();
        rows.push(vec![
            format.to_string(),
            "rates".into(),
            summary.matrices.to_string(),
            dash(),
            mean_and_median(summary.rates),
            even_matrices.to_string(),
            dash(),
            mean_and_median(even.and_then(|s| s.rates)),
            dash(),
        ]);
    }
    aligned(columns, rows).to_string()
}

fn comparisons(evaluation: &Evaluation) -> String {
    let columns = header(&["format", "model", "better : worse", "paper", "factor", "paper"]);
    let row = |format: Format, c: &Comparison| {
        let papers = paper::wins(format, c.of, c.against);
        vec![
            format.to_string(),
            format!("{} than {}", c.of, c.against),
            format!("{} : {}", c.better, c.worse),
            papers.map_or_else(|| "-".into(), |(won, lost)| format!("{won} : {lost}")),
            format!("{:.2} ({:.2})", c.factor, c.median_factor),
            number(paper::factor(format, c.of, c.against), 2),
        ]
    };
    let summaries = evaluation.summaries(true, |_| true);
    let rows = summaries.iter().flat_map(|s| s.comparisons.iter().map(|c| row(s.format, c)));
    aligned(columns, rows.collect()).to_string()
}

/// Why a matrix is not as the model sees one.
fn reason(p: &Prediction) -> &'static str {
    match (p.waves < 1.0, p.is_even()) {
        (true, true) => "part of a wave",
        (true, false) => "part of a wave, long rows",
        (false, false) => "long rows",
        (false, true) if p.scatter < 0.5 => "columns near each other",
        (false, true) => "",
    }
}

/// D_r against waves and the longest row, of every format, in the order of waves.
fn reasons(evaluation: &Evaluation) -> String {
    let spreads = spreads(evaluation);
    let mut columns = header(&["format", "matrix", "waves", "longest", "longest / mean", "lines of x"]);
    columns.extend(spreads.iter().map(ToString::to_string));
    columns.extend(header(&["rates", "unlike the model"]));
    let mut sorted: Vec<&Prediction> = evaluation.predictions.iter().collect();
    sorted.sort_by(|a, b| a.format.cmp(&b.format).then(a.waves.total_cmp(&b.waves)));
    let row = |p: &&Prediction| {
        let mut row = vec![
            p.format.to_string(),
            p.matrix.clone(),
            format!("{:.3}", p.waves),
            p.longest_row.to_string(),
            format!("{:.1}", p.longest_row as f64 / p.mean_row.max(f64::MIN_POSITIVE)),
            format!("{:.2}", p.scatter),
        ];
        row.extend(spreads.iter().map(|spread| number(p.error(*spread, false), 1)));
        row.extend([number(evaluation.rates_error(p), 1), reason(p).to_owned()]);
        row
    };
    aligned(columns, sorted.iter().map(row).collect()).to_string()
}

/// The median D_r of `csr_vector` where matrices have as many waves as the paper's smallest, against twice the paper's mean.
fn target(evaluation: &Evaluation) -> String {
    let is_in = |p: &Prediction| p.format == Format::CsrVector && p.waves >= PAPERS_LEAST_WAVES;
    let of_csr_vector = |round_up| evaluation.summaries(round_up, is_in).pop();
    let (Some(up), Some(exact)) = (of_csr_vector(true), of_csr_vector(false)) else {
        return format!(
            "csr_vector: no matrix has {PAPERS_LEAST_WAVES:.2} waves, as the paper's smallest has"
        );
    };
    let mut text = format!(
        "csr_vector, the {} matrices with at least the {PAPERS_LEAST_WAVES:.2} waves of the paper's smallest: median D_r",
        up.matrices
    );
    for ((spread, up), (_, exact)) in up.errors.iter().zip(&exact.errors) {
        let Some(paper) = paper::error(Format::CsrVector, *spread) else { continue };
        let verdict = |errors: &Errors| if errors.median <= 2.0 * paper { "within" } else { "not within" };
        let _ = write!(
            text,
            "\n  {spread}: {:.2}% ({}), not rounded up {:.2}% ({} twice the paper's {paper:.2}%)",
            up.median,
            verdict(up),
            exact.median,
            verdict(exact),
        );
    }
    let count = |why: &str| evaluation.predictions.iter().filter(|p| is_in(p) && reason(p) == why).count();
    let _ = write!(
        text,
        "\n  of these, {} have rows of more than {EVEN} times the mean, {} columns near each other, {} are as the model \
         assumes",
        count("long rows") + count("part of a wave, long rows"),
        count("columns near each other"),
        count(""),
    );
    text
}

fn named(evaluation: &Evaluation) -> String {
    let mut columns = header(&["named", "ours", "format"]);
    let spreads = spreads(evaluation);
    columns.extend(spreads.iter().map(ToString::to_string));
    let mut rows = Vec::new();
    for (name, relative) in paper::NAMED {
        let of =
            |matrix: &str| evaluation.predictions.iter().filter(|p| p.matrix == matrix).collect::<Vec<_>>();
        let (whose, found) = match of(name) {
            found if found.is_empty() => (format!("relative: {relative}"), of(relative)),
            found => ("original".to_owned(), found),
        };
        if found.is_empty() {
            let mut row = vec![name.to_owned(), format!("{whose}, not among the matrices"), "-".into()];
            row.extend(spreads.iter().map(|_| "-".to_owned()));
            rows.push(row);
        }
        for p in found {
            let mut row = vec![name.to_owned(), whose.clone(), p.format.to_string()];
            row.extend(spreads.iter().map(|spread| number(p.error(*spread, true), 1)));
            rows.push(row);
        }
    }
    aligned(columns, rows).to_string()
}

/// Every algorithm as planned, matrix by matrix.
fn by_rates(evaluation: &Evaluation) -> String {
    let names: Vec<&str> = algorithms().map(spmv::plan::Algorithm::name).collect();
    let columns = std::iter::once("matrix").chain(names.iter().copied()).map(str::to_owned).collect();
    let cell = |planned: &Planned| {
        let mark = if planned.is_taken { "*" } else { "" };
        let us = |seconds: f64| seconds * 1e6;
        match (planned.measured_s, planned.predicted_s) {
            (Some(measured), Some(predicted)) => format!("{mark}{:.1} ({:.1})", us(measured), us(predicted)),
            (Some(measured), None) => format!("{mark}{:.1}", us(measured)),
            (None, _) => "-".into(),
        }
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for of_matrix in evaluation.planned.chunk_by(|a, b| a.matrix == b.matrix) {
        let mut row = vec![of_matrix[0].matrix.clone()];
        row.extend(of_matrix.iter().map(cell));
        rows.push(row);
    }
    let mut means = vec!["D_r %, mean (median)".to_owned()];
    means.extend(names.iter().map(|name| {
        let of_it = evaluation.planned.iter().filter(|p| p.algorithm == *name);
        mean_and_median(Errors::of(&of_it.filter_map(Planned::error).collect::<Vec<_>>()))
    }));
    rows.push(means);
    aligned(columns, rows).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::tests::{evaluation, prediction};
    use super::*;

    #[test]
    fn the_papers_numbers_stand_next_to_ours() {
        let evaluation = evaluation(vec![
            prediction("bcsstk16", [140.0, 110.0, 130.0]),
            prediction("b", [80.0, 80.0, 90.0]),
        ]);
        let text = text(&evaluation);
        let compared = text.lines().find(|line| line.contains("normal than fixed")).unwrap();
        let cells: Vec<&str> = compared.split('|').map(str::trim).collect();
        assert_eq!(cells[3..7], ["2 : 0", "27 : 3", "1.50 (1.33)", "2.08"], "{text}");
        let verdict = "uniform: 20.00% (not within), not rounded up 0.00% (within twice the paper's 2.56%)";
        assert!(text.contains(verdict), "{text}");
        assert!(text.contains("not among the matrices"));
        let of_bcsstk16 =
            text.lines().find(|line| line.starts_with("| bcsstk16") && line.contains("original"));
        assert!(of_bcsstk16.is_some_and(|line| line.contains("40.0")), "{text}");
    }

    #[test]
    fn matrices_that_the_model_does_not_describe_say_why() {
        let model = prediction("a", [100.0; 3]);
        assert_eq!(reason(&model), "");
        assert_eq!(reason(&Prediction { longest_row: 9, ..model.clone() }), "long rows");
        assert_eq!(reason(&Prediction { waves: 0.9, ..model.clone() }), "part of a wave");
        assert_eq!(reason(&Prediction { scatter: 0.1, ..model }), "columns near each other");
    }
}
