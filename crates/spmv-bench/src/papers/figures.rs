//! Tables, figures and means of races, as papers show them.

use super::outcome::{Axis, Claim, Column, Figure, Marks, Row, Rule, Series, Table, Value};
use super::scene::Raced;
pub(crate) use crate::bench::report::distinct;
use crate::bench::text;

/// Matrices in their order, each once: name, whether it is a twin.
pub(crate) fn matrices(raced: &[&Raced]) -> Vec<(String, bool)> {
    distinct(raced.iter().map(|r| (r.matrix.clone(), r.twin)))
}

/// The races of each device and type of values, in their order.
pub(crate) fn by_device(raced: &[Raced]) -> Vec<(String, String, Vec<&Raced>)> {
    let keys = distinct(raced.iter().map(|r| (r.on.clone(), r.precision)));
    let of = |(on, precision): (String, spmv::Dtype)| {
        let of_it = raced.iter().filter(|r| r.on == on && r.precision == precision).collect();
        (on, precision.to_string(), of_it)
    };
    keys.into_iter().map(of).collect()
}

/// Those of one type of values.
pub(crate) fn of_precision(raced: Vec<Raced>, precision: spmv::Dtype) -> Vec<Raced> {
    raced.into_iter().filter(|r| r.precision == precision).collect()
}

/// A row for each matrix, a column for each contestant.
pub(crate) fn table(
    title: String,
    raced: &[&Raced],
    digits: usize,
    of: impl Fn(&Raced) -> Option<f64>,
) -> Table {
    let names = distinct(raced.iter().map(|r| r.name.clone()));
    let rows = matrices(raced).into_iter().map(|(matrix, twin)| {
        let of_it = |name: &String| raced.iter().find(|r| r.matrix == matrix && r.name == *name);
        let values = names.iter().map(|name| Value::ours(of_it(name).and_then(|r| of(r)))).collect();
        Row { label: matrix.clone(), twin, values, note: String::new() }
    });
    let rows = rows.collect();
    let columns = names.iter().map(|name| Column::new(name.clone(), digits)).collect();
    Table { title, rows_are: "matrix".into(), columns, rows }
}

/// The table with a last row that holds a mean of each column.
pub(crate) fn with_mean(mut table: Table, name: &str, mean: impl Fn(&[f64]) -> Option<f64>) -> Table {
    let of_column = |at: usize| {
        let values: Vec<f64> = table.rows.iter().filter_map(|row| row.values[at].ours).collect();
        // A mean over some matrices is none.
        Value::ours(if values.len() == table.rows.len() { mean(&values) } else { None })
    };
    let values = (0..table.columns.len()).map(of_column).collect();
    table.rows.push(Row { label: name.into(), twin: false, values, note: String::new() });
    table
}

/// A group of bars for each matrix, a bar for each contestant; and the harmonic mean, as Liu & Vinter 2015 have it.
pub(crate) fn bars(title: String, y: &str, raced: &[&Raced], of: impl Fn(&Raced) -> Option<f64>) -> Figure {
    let matrices = matrices(raced);
    let series = distinct(raced.iter().map(|r| r.name.clone())).into_iter().map(|name| {
        let of_it = |matrix: &String| {
            raced.iter().find(|r| r.matrix == *matrix && r.name == name).and_then(|r| of(r))
        };
        let points =
            matrices.iter().enumerate().filter_map(|(at, (matrix, _))| Some((at as f64, of_it(matrix)?)));
        Series { points: points.collect(), marks: Marks::Bars, name }
    });
    let series = series.collect();
    let names = matrices.into_iter().map(|(name, twin)| text::name(&name, twin)).collect();
    Figure { title, x: Axis::named("matrix", names), y: Axis::linear(y), series }
}

/// Bars of a table's first columns, a group for each row.
pub(crate) fn of_columns(title: &str, y: Axis, rows: &[Row], columns: &[&str]) -> Figure {
    let series = columns.iter().enumerate().map(|(at, name)| {
        let points = rows.iter().enumerate().filter_map(|(x, row)| Some((x as f64, row.values[at].ours?)));
        Series { name: (*name).into(), marks: Marks::Bars, points: points.collect() }
    });
    let series = series.collect();
    let names = rows.iter().map(|row| text::name(&row.label, row.twin)).collect();
    Figure { title: title.into(), x: Axis::named("matrix", names), y, series }
}

/// Time of one contestant over that of another, matrix by matrix: above 1 where the second is faster.
pub(crate) fn ratios(
    raced: &[&Raced],
    slow: &str,
    fast: &str,
    takes_part: impl Fn(&str) -> bool,
) -> Vec<(String, f64)> {
    let us = |matrix: &str, name: &str| raced.iter().find(|r| r.matrix == matrix && r.name == name)?.us;
    let ratio = |(matrix, _): (String, bool)| Some((us(&matrix, slow)? / us(&matrix, fast)?, matrix));
    let ratios = matrices(raced).into_iter().filter(|(matrix, _)| takes_part(matrix)).filter_map(ratio);
    ratios.map(|(ratio, matrix)| (matrix, ratio)).collect()
}

/// Of values with their matrices.
pub(crate) fn mean(values: &[(String, f64)]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().map(|(_, v)| v).sum::<f64>() / values.len() as f64)
}

/// Of values with their matrices.
pub(crate) fn maximum(values: &[(String, f64)]) -> Option<f64> {
    values.iter().map(|(_, v)| *v).max_by(f64::total_cmp)
}

/// A statement about a device and a type of values.
pub(crate) fn claim(
    what: impl Into<String>,
    (on, precision): (&str, &str),
    papers: Vec<(String, f64)>,
    ours: Option<f64>,
    (unit, rule): (&str, Rule),
) -> Claim {
    // Without a number of the paper nothing can be decided.
    let rule = if papers.is_empty() { Rule::Shown } else { rule };
    Claim {
        what: what.into(),
        on: on.into(),
        precision: Some(precision.into()).filter(|p: &String| !p.is_empty()),
        papers,
        ours,
        unit: unit.into(),
        rule,
    }
}

/// What was not measured of a race, and why: a sentence for each contestant and device, with the first reason; and wrong
/// results.
pub(crate) fn left_out(raced: &[Raced]) -> (Vec<String>, Vec<String>) {
    let mut notes: Vec<(String, &str, Vec<&str>)> = Vec::new();
    for r in raced.iter().filter(|r| !r.wrong) {
        let Some(why) = &r.why else { continue };
        let what = format!("{} in {} on {}", r.name, r.precision, r.on);
        match notes.iter_mut().find(|(known, ..)| *known == what) {
            Some((.., matrices)) => matrices.push(&r.matrix),
            None => notes.push((what, why, vec![&r.matrix])),
        }
    }
    let notes = notes.into_iter().map(|(what, why, matrices)| {
        format!(
            "not measured: {what}, {} matrices ({}); of the first: {why}",
            matrices.len(),
            matrices.join(", ")
        )
    });
    let wrong = raced.iter().filter(|r| r.wrong);
    let wrong = wrong.map(|r| format!("{}: {} in {} on {}", r.matrix, r.name, r.precision, r.on));
    (notes.collect(), wrong.collect())
}
