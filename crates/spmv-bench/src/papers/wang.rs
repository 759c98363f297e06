//! Wang, Gu & Li 2017: times predicted from those of generated matrices.

use std::rc::Rc;

use spmv::{Dtype, plan::Profile};
use spmv_model::{Extent, Format, Quantity, Spread};

use super::figures::{claim, of_columns};
use super::item::{How, Item, Paper};
use super::outcome::{Axis, Column, Figure, Marks, Outcome, Row, Rule, Series, Table, Value};
use super::scene::Scene;
use super::study::Study;
use crate::bench::MatrixCache;
use crate::bench::inputs::Input;
use crate::bench::report::Cache;
use crate::model::evaluation::{self, PAPERS_LEAST_WAVES, Prediction};
use crate::model::figures::Samples;
use crate::model::lines::{self, Effort};
use crate::model::paper;

const ANY: &str = "any device; minutes for the grid";

pub(super) const PAPER: Paper = Paper {
    id: "wang-2017",
    data: paper::DATA,
    items: &[
        Item {
            id: "abstract",
            title: "how many times as exact the new models are",
            section: "abstract and section 1",
            how: How::Run { needs: ANY, run: abstract_ },
            reason: OFF,
        },
        tests("equation-1", "rows of a wave of CSR-V", &[("spmv-model", "waves_are_what_a_device_holds")]),
        tests("equation-2", "rows of a wave of CSR-S", &[("spmv-model", "waves_are_what_a_device_holds")]),
        tests(
            "equation-3",
            "rows of a wave of ELL and JAD",
            &[("spmv-model", "waves_are_what_a_device_holds")],
        ),
        tests(
            "equation-4",
            "rows of the generated matrices",
            &[("spmv-model", "the_grid_is_the_papers_in_every_point")],
        ),
        tests(
            "equation-5",
            "the mean of executions after the first ones",
            &[("spmv --features fit", "mean_and_median_are_of_all_runs_that_count")],
        ),
        tests(
            "equation-6",
            "waves of a matrix, rounded up",
            &[("spmv-model", "a_part_of_a_wave_counts_as_one_or_as_what_it_is")],
        ),
        tests("equation-7", "D_r", &[("spmv-bench", "wins_and_factors_are_those_of_the_paper")]),
        tests("grid", "the points of the grid", &[("spmv-model", "the_grid_is_the_papers_in_every_point")]),
        Item {
            id: "figure-1",
            title: "CSR-V: time by nonzeros of a row, at one number of waves",
            section: "section 3.2.1",
            how: How::Run {
                needs: ANY,
                run: |s| lines_of(s, "figure-1", Format::CsrVector, Quantity::TimeByLength),
            },
            reason: LINEAR,
        },
        Item {
            id: "figure-2",
            title: "CSR-V: time by waves, at one row length",
            section: "section 3.2.1",
            how: How::Run {
                needs: ANY,
                run: |s| lines_of(s, "figure-2", Format::CsrVector, Quantity::TimeByWaves),
            },
            reason: LINEAR,
        },
        Item {
            id: "figure-3",
            title: "CSR-S: time by nonzeros of a row, at each number of waves",
            section: "section 3.2.2",
            how: How::Run {
                needs: ANY,
                run: |s| lines_of(s, "figure-3", Format::CsrScalar, Quantity::TimeByLength),
            },
            reason: LINEAR,
        },
        Item {
            id: "figure-4",
            title: "CSR-S: the slopes of these lines, by waves",
            section: "section 3.2.2",
            how: How::Run {
                needs: ANY,
                run: |s| lines_of(s, "figure-4", Format::CsrScalar, Quantity::SlopeByWaves),
            },
            reason: LINEAR,
        },
        Item {
            id: "figure-5",
            title: "CSR-S: time by waves, at one row length",
            section: "section 3.2.2",
            how: How::Run {
                needs: ANY,
                run: |s| lines_of(s, "figure-5", Format::CsrScalar, Quantity::TimeByWaves),
            },
            reason: LINEAR,
        },
        Item {
            id: "figure-6",
            title: "CSR-S: time by both",
            section: "section 3.2.2",
            how: How::Run { needs: ANY, run: figure_6 },
            reason: "",
        },
        errors_of("figure-7", "CSR-V: D_r of three models on each matrix", |s| {
            errors(s, "figure-7", Format::CsrVector)
        }),
        errors_of("figure-8", "CSR-S: D_r of three models on each matrix", |s| {
            errors(s, "figure-8", Format::CsrScalar)
        }),
        errors_of("figure-9", "ELL: D_r of three models on each matrix", |s| {
            errors(s, "figure-9", Format::Ell)
        }),
        errors_of("figure-10", "JAD: D_r of three models on each matrix", |s| {
            errors(s, "figure-10", Format::Jad)
        }),
        errors_of("figure-11", "CSR-V: estimated and measured time", |s| {
            times(s, "figure-11", Format::CsrVector)
        }),
        errors_of("figure-12", "CSR-S: estimated and measured time", |s| {
            times(s, "figure-12", Format::CsrScalar)
        }),
        errors_of("figure-13", "ELL: estimated and measured time", |s| times(s, "figure-13", Format::Ell)),
        errors_of("figure-14", "JAD: estimated and measured time", |s| times(s, "figure-14", Format::Jad)),
    ],
};

const OFF: &str = "the models know waves and row length alone: a device of many lanes holds these matrices in part of a wave, one long \
                   row of CSR-S, ELL or JAD stands for all, and columns near each other are read faster than random ones; \
                   `cargo xtask predict` prints all three for each matrix";
const LINEAR: &str = "a matrix that stays in a cache takes less time for a nonzero than one that does not, which bends the lines";

const fn tests(
    id: &'static str,
    title: &'static str,
    tests: &'static [(&'static str, &'static str)],
) -> Item {
    Item { id, title, section: "section 3", how: How::Tests(tests), reason: "" }
}

const fn errors_of(
    id: &'static str,
    title: &'static str,
    run: fn(&Scene<'_>) -> anyhow::Result<Outcome>,
) -> Item {
    Item { id, title, section: "section 4", how: How::Run { needs: ANY, run }, reason: OFF }
}

/// The grid, its lines and the predictions of every device, once for all figures. Single precision, as in the paper.
fn study(scene: &Scene<'_>) -> anyhow::Result<Rc<Vec<Study>>> {
    if let Some(known) = scene.studied.borrow().as_ref() {
        return Ok(Rc::clone(known));
    }
    let inputs = matrices(scene)?;
    let mut studies = Vec::new();
    for target in scene.targets.iter().filter(|t| t.obstacle(Dtype::F32, Cache::Warm).is_none()) {
        let mut measured = Vec::new();
        // The rates that Auto compares, if they were fitted; the lines are new.
        let kept = target.context.profile(Dtype::F32).cloned();
        let mut profile = kept.unwrap_or_else(|| Profile::new(target.context.caps()));
        let mut n_kept = 0;
        for spread in Spread::ALL {
            scene.stop.check()?;
            let fitted = if scene.fitted { Samples::of_spread(target, Dtype::F32, spread)? } else { vec![] };
            if fitted.is_empty() {
                scene.bar.set_message(format!("{}: {spread}", target.label));
                measured.extend(lines::measure::<f32>(target, &Format::ALL, spread, &effort(scene))?);
            } else {
                n_kept += 1;
                measured.extend(fitted);
            }
        }
        measured.iter().for_each(|of_format| profile.put(of_format.model()));
        let cache = MatrixCache::new(MatrixCache::CAPACITY_BYTES);
        let evaluation = evaluation::evaluate::<f32>(target, &profile, &Spread::ALL, &inputs, &cache)?;
        studies.push(Study { on: target.label.clone(), measured, n_kept, evaluation });
    }
    let studies = Rc::new(studies);
    *scene.studied.borrow_mut() = Some(Rc::clone(&studies));
    Ok(studies)
}

fn effort(scene: &Scene<'_>) -> Effort {
    /// Bytes of a preview's largest matrix.
    const FEW: u64 = 8_000_000;
    match scene.quick {
        true => Effort { extent: Extent::Quick, csr_bytes: Some(FEW), limit: None },
        false => Effort { extent: Extent::Lines, csr_bytes: None, limit: None },
    }
}

/// Square real matrices, as in section 4; two of them if it is to be quick.
fn matrices(scene: &Scene<'_>) -> anyhow::Result<Vec<Input>> {
    let mut square = Vec::new();
    for input in scene.files()?.into_iter().chain(scene.suite()) {
        if scene.quick && square.len() == 2 {
            break;
        }
        scene.stop.check()?;
        let matrix = input.load()?.matrix;
        if matrix.n_rows() == matrix.n_cols() {
            square.push(input);
        }
    }
    Ok(square)
}

/// Residuals over the mean time up to which a relation counts as "approximately linear", in percent. Ours: the paper has pictures.
const LINEAR_PERCENT: f64 = 10.0;

/// Lines of a format, their residuals, and the points that they go through.
fn lines_of(scene: &Scene<'_>, item: &str, format: Format, quantity: Quantity) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of(item);
    let (x, y) = match quantity {
        Quantity::TimeByLength => ("nonzeros of a row", "seconds"),
        Quantity::TimeByWaves => ("waves", "seconds"),
        Quantity::SlopeByWaves => ("waves", "seconds for a nonzero of a row"),
    };
    for study in study(scene)?.iter() {
        let mut rows = Vec::new();
        let mut series = Vec::new();
        let mut off = Vec::new();
        // Guo & Wang's rows of one length are no part of these figures.
        let measured = study.measured.iter().filter(|m| m.format == format && m.spread != Spread::Fixed);
        for (spread, line) in measured.flat_map(|m| m.fit.lines.iter().map(move |line| (m.spread, line))) {
            if line.of != quantity {
                continue;
            }
            let at = line.at.map_or_else(String::new, |at| format!(" at {at}"));
            let mean = line.points.iter().map(|p| p.1).sum::<f64>() / line.points.len() as f64;
            let percent = 100.0 * line.rms() / mean;
            off.push(percent);
            let values = [line.line.slope, line.line.intercept, line.points.len() as f64, percent];
            let values = values.into_iter().enumerate().map(|(at, value)| match at {
                0 | 1 => Value::ours(value * 1e9),
                _ => Value::ours(value),
            });
            rows.push(Row {
                label: format!("{spread}{at}"),
                twin: false,
                values: values.collect(),
                note: String::new(),
            });
            let name = format!("{spread}{at}");
            series.push(Series { name: name.clone(), marks: Marks::Points, points: line.points.clone() });
            let ends = line.points.iter().map(|p| (p.0, line.line.at(p.0)));
            series.push(Series {
                name: format!("{name}, fitted"),
                marks: Marks::Line,
                points: ends.collect(),
            });
        }
        let columns =
            [("slope, ns", 3), ("intercept, ns", 1), ("samples", 0), ("residuals, % of the mean", 1)];
        let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
        let title = format!("{y} by {x}: {format} in f32 on {}", study.on);
        outcome.tables.push(Table { title: title.clone(), rows_are: "line".into(), columns, rows });
        outcome.figures.push(Figure { title, x: Axis::linear(x), y: Axis::linear(y), series });
        off.sort_by(f64::total_cmp);
        outcome.claims.push(claim(
            "approximately linear: residuals over the mean, median of the lines",
            (&study.on, "f32"),
            vec![(String::new(), LINEAR_PERCENT)],
            off.get(off.len() / 2).copied(),
            ("%", Rule::AtMost(1.0)),
        ));
        if quantity == Quantity::TimeByLength {
            breaks(&mut outcome, study, format);
        }
        left_out(&mut outcome, study, format);
    }
    Ok(outcome)
}

/// Where T of CSR-V breaks on this device, and how well lines fit that break there, and at the paper's 1024.
fn breaks(outcome: &mut Outcome, study: &Study, format: Format) {
    let of_it = study.measured.iter().filter(|m| m.format == format && !m.fit.breaks.is_empty());
    let rows = of_it.flat_map(|m| {
        m.fit.breaks.iter().map(|at| Row {
            label: format!("{} at {}", m.spread, at.limit),
            twin: false,
            values: vec![Value::ours(at.rms_s * 1e6), Value::ours(100.0 * at.relative)],
            note: format!("{} lanes of a row", m.lanes),
        })
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let columns = vec![Column::new("residuals, us", 2), Column::new("% of the times", 1)];
    let title =
        format!("two lines that break where the samples say, and at the paper's 1024, on {}", study.on);
    outcome.tables.push(Table { title, rows_are: "break".into(), columns, rows });
}

fn left_out(outcome: &mut Outcome, study: &Study, format: Format) {
    for m in study.measured.iter().filter(|m| m.format == format && !m.left_out.is_empty()) {
        outcome.notes.push(format!(
            "{} {} on {}: {} points of the grid were left out, which need more memory than there is or than was allowed",
            m.format,
            m.spread,
            study.on,
            m.left_out.len()
        ));
    }
    if study.n_kept > 0 {
        let (n, on) = (study.n_kept, &study.on);
        outcome.notes.push(format!(
            "{on}: `cargo xtask fit` had measured the grid of {n} of the three spreads before."
        ));
    }
}

fn figure_6(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of("figure-6");
    for study in study(scene)?.iter() {
        for m in study.measured.iter().filter(|m| m.format == Format::CsrScalar && m.spread != Spread::Fixed)
        {
            let title = format!(
                "seconds by nonzeros of a row, a colour for each number of waves: {} on {}",
                m.spread, study.on
            );
            let waves = super::figures::distinct(m.fit.samples.iter().map(|s| s.sample.waves));
            let series = waves.into_iter().map(|waves| {
                let of_it = m.fit.samples.iter().filter(|s| s.sample.waves == waves);
                let points = of_it.map(|s| (s.sample.per_row, s.sample.seconds)).collect();
                Series { name: format!("{waves} waves"), marks: Marks::Points, points }
            });
            let series = series.collect();
            outcome.figures.push(Figure {
                title: title.clone(),
                x: Axis::log("nonzeros of a row"),
                y: Axis::log("seconds"),
                series,
            });
            let rows = m.fit.samples.iter().map(|s| Row {
                label: format!("I={}, P={}", s.sample.waves, s.sample.per_row),
                twin: false,
                values: vec![
                    Value::ours(s.sample.seconds * 1e6),
                    Value::ours(s.fitted_s * 1e6),
                    Value::ours(100.0 * s.error()),
                ],
                note: String::new(),
            });
            let rows = rows.collect();
            let columns = [("measured, us", 2), ("fitted, us", 2), ("off, %", 1)];
            let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
            outcome.tables.push(Table { title, rows_are: "sample".into(), columns, rows });
        }
    }
    Ok(outcome)
}

fn of_format(study: &Study, format: Format) -> Vec<&Prediction> {
    study.evaluation.predictions.iter().filter(|p| p.format == format).collect()
}

/// D_r of each model on each matrix, with the paper's means, wins and factors.
fn errors(scene: &Scene<'_>, item: &str, format: Format) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of(item);
    for study in study(scene)?.iter() {
        let predictions = of_format(study, format);
        let rows: Vec<Row> = predictions.iter().map(|p| row_of_errors(study, p)).collect();
        let columns = [
            ("fixed", 1),
            ("uniform", 1),
            ("normal", 1),
            ("rates", 1),
            ("waves", 3),
            ("longest over mean row", 1),
            ("lines of x", 2),
        ];
        let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
        let title = format!("D_r of {format} in percent, waves rounded up, in f32 on {}", study.on);
        outcome.figures.push(of_columns(
            &title,
            Axis::log("D_r, %"),
            &rows,
            &["fixed", "uniform", "normal", "rates"],
        ));
        outcome.tables.push(Table { title, rows_are: "matrix".into(), columns, rows });
        claims(&mut outcome, study, format);
    }
    outcome.notes.push(
        "rates: the corrected model that Auto compares, with the algorithm as it is planned, where a profile of the device has them."
            .into(),
    );
    Ok(outcome)
}

fn row_of_errors(study: &Study, p: &Prediction) -> Row {
    let errors = Spread::ALL.map(|spread| Value::ours(p.error(spread, true)));
    let more = [
        study.evaluation.rates_error(p),
        Some(p.waves),
        Some(p.longest_row as f64 / p.mean_row.max(f64::MIN_POSITIVE)),
        Some(p.scatter),
    ];
    let values = errors.into_iter().chain(more.map(Value::ours)).collect();
    Row { label: p.matrix.clone(), twin: false, values, note: String::new() }
}

fn claims(outcome: &mut Outcome, study: &Study, format: Format) {
    let on = (study.on.as_str(), "f32");
    let as_many = study.evaluation.summaries(true, |p| p.waves >= PAPERS_LEAST_WAVES);
    let all = study.evaluation.summaries(true, |_| true);
    let find = |list: &[evaluation::Summary]| list.iter().find(|s| s.format == format).cloned();
    let papers =
        |value: Option<f64>| value.map(|v| ("GTX 540M".to_owned(), v)).into_iter().collect::<Vec<_>>();
    for spread in Spread::ALL {
        let paper = paper::error(format, spread);
        let of = |summary: Option<evaluation::Summary>| {
            summary.and_then(|s| s.errors.iter().find(|(of, _)| *of == spread).map(|(_, errors)| *errors))
        };
        let mean = of(find(&all)).map(|errors| errors.mean);
        outcome.claims.push(claim(
            format!("mean D_r, {spread}"),
            on,
            papers(paper),
            mean,
            ("%", Rule::AtMost(2.0)),
        ));
        let what = format!("median D_r, {spread}, of matrices with as many waves as the paper's smallest");
        let median = of(find(&as_many)).map(|errors| errors.median);
        outcome.claims.push(claim(what, on, papers(paper), median, ("%", Rule::AtMost(2.0))));
    }
    for c in find(&all).map(|summary| summary.comparisons).unwrap_or_default() {
        let what = format!("mean D_r of {} over that of {}", c.against, c.of);
        let paper = paper::factor(format, c.of, c.against);
        outcome.claims.push(claim(what, on, papers(paper), Some(c.factor), ("x", Rule::SameWinner)));
        let what = format!(
            "matrices on which {} is better than {}, over those on which it is worse",
            c.of, c.against
        );
        let paper = paper::wins(format, c.of, c.against).map(|(won, lost)| won / lost);
        let ours = (c.worse > 0).then(|| c.better as f64 / c.worse as f64);
        outcome.claims.push(claim(what, on, papers(paper), ours, ("x", Rule::SameWinner)));
    }
}

/// Estimated and measured times.
fn times(scene: &Scene<'_>, item: &str, format: Format) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of(item);
    for study in study(scene)?.iter() {
        let predictions = of_format(study, format);
        let rows = predictions.iter().map(|p| {
            let estimates = Spread::ALL.map(|spread| {
                Value::ours(p.estimates.iter().find(|e| e.spread == spread).map(|e| e.rounded_up_s * 1e6))
            });
            let values = [Value::ours(p.measured_s * 1e6)].into_iter().chain(estimates).collect();
            Row { label: p.matrix.clone(), twin: false, values, note: String::new() }
        });
        let rows: Vec<Row> = rows.collect();
        let columns =
            ["measured, us", "fixed", "uniform", "normal"].map(|name| Column::new(name, 1)).to_vec();
        let title = format!("time of {format} in microseconds in f32 on {}", study.on);
        outcome.figures.push(of_columns(
            &title,
            Axis::log("us"),
            &rows,
            &["measured", "fixed", "uniform", "normal"],
        ));
        let above = |row: &&Row| row.values[3].ours > row.values[0].ours;
        let share = 100.0 * rows.iter().filter(above).count() as f64 / rows.len().max(1) as f64;
        outcome.tables.push(Table { title, rows_are: "matrix".into(), columns, rows });
        outcome.claims.push(claim(
            "matrices whose time is estimated too long, normal; \"almost all\" in the paper",
            (&study.on, "f32"),
            vec![],
            Some(share),
            ("%", Rule::Shown),
        ));
    }
    outcome.notes.push("Waves are rounded up, which the paper names as the reason.".into());
    Ok(outcome)
}

/// The mean over formats of how many times as large the errors with rows of one length are.
fn abstract_(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of("abstract");
    let stated = scene.numbers.of_item("abstract").filter(|n| n.what.starts_with("accuracy of our models"));
    let papers: Vec<(String, f64)> = stated.map(|n| ("GTX 540M".to_owned(), n.value)).collect();
    for study in study(scene)?.iter() {
        let summaries = study.evaluation.summaries(true, |_| true);
        let factors =
            summaries.iter().flat_map(|s| s.comparisons.iter().filter(|c| c.against == Spread::Fixed));
        let factors: Vec<f64> = factors.map(|c| c.factor).collect();
        let mean = (!factors.is_empty()).then(|| factors.iter().sum::<f64>() / factors.len() as f64);
        let what = "accuracy of the new models over Guo & Wang's, mean over formats and models";
        outcome.claims.push(claim(what, (&study.on, "f32"), papers.clone(), mean, ("x", Rule::SameWinner)));
    }
    Ok(outcome)
}
