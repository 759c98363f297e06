//! The cells of a sweep as tables for terminals.

use std::fmt::Write;

use super::super::report::{Cell, Outcome, Report, harmonic_mean};
use super::super::text::{aligned, cold, name, number, tail};
use super::tilings::{TILES, WIDTHS};

/// The number of the tiling that a table varies.
#[derive(Clone, Copy)]
enum Varied {
    W,
    S,
}

/// The cells of one device, precision and state of the caches.
struct Group<'a> {
    of: &'a Cell,
    /// The cells of each matrix, that of the planned tiling first.
    matrices: Vec<Vec<&'a Cell>>,
}

/// For each device and precision a table of W and one of S, then what was refused, formulas, machine.
pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    for group in groups(&report.sweep) {
        for (varied, values) in [(Varied::W, &WIDTHS[..]), (Varied::S, &TILES)] {
            text += &table(&group, varied, values);
        }
    }
    let device = report.sweep.iter().any(|c| c.device_us.is_some());
    let timed = if device {
        "of both stages by the device's timestamps where it has them, else of a call"
    } else {
        "of a call"
    };
    let _ = writeln!(
        text,
        "GFlop/s = 2 nnz / t, t the median time {timed}. * marks the best of a row; - is a tiling that\n\
         the device refuses; `base` is the speed of the plan's own tiling, or of the one asked for, which stands last. Means are harmonic,\n\
         over all matrices of the table, - where one is missing.",
    );
    reasons(&mut text, &report.sweep);
    text + &tail(report)
}

fn groups(cells: &[Cell]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in cells {
        let is_of = |g: &Group<'_>| {
            (&g.of.precision, &g.of.on, g.of.cache) == (&cell.precision, &cell.on, cell.cache)
        };
        let at = groups.iter().position(is_of).unwrap_or_else(|| {
            groups.push(Group { of: cell, matrices: vec![] });
            groups.len() - 1
        });
        let matrices = &mut groups[at].matrices;
        // Cells of a matrix come in one go and begin with the planned tiling.
        match matrices.last_mut() {
            Some(last) if !cell.planned => last.push(cell),
            _ => matrices.push(vec![cell]),
        }
    }
    groups.sort_by(|a, b| (&a.of.precision, &a.of.on).cmp(&(&b.of.precision, &b.of.on)));
    groups
}

fn table(group: &Group<'_>, varied: Varied, values: &[u32]) -> String {
    let (letter, others) = match varied {
        Varied::W => ('W', "T, S and B"),
        Varied::S => ('S', "T, W and B"),
    };
    let ends = [String::from("base"), String::from("tiling of base")];
    let header = std::iter::once("matrix".to_owned())
        .chain(values.iter().map(|v| format!("{letter}={v}")))
        .chain(ends);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut columns: Vec<Vec<Option<f64>>> = vec![Vec::new(); values.len() + 1];
    for cells in &group.matrices {
        let found: Vec<Option<&Cell>> = values.iter().map(|v| find(cells, varied, *v)).collect();
        let speeds: Vec<Option<f64>> = found.iter().map(|c| c.and_then(|c| c.gflops)).collect();
        for (column, speed) in columns.iter_mut().zip(speeds.iter().chain([&cells[0].gflops])) {
            column.push(*speed);
        }
        let mut row = vec![name(&cells[0].matrix, cells[0].twin)];
        row.extend(starred(&speeds).into_iter().zip(&found).map(|(speed, cell)| match cell {
            Some(cell) if cell.outcome.is_failure() => "FAILED ".to_owned(),
            _ => speed,
        }));
        row.push(if cells[0].outcome.is_failure() { "FAILED".into() } else { number(cells[0].gflops, 2) });
        row.push(cells[0].tiling.clone());
        rows.push(row);
    }
    let means: Vec<Option<f64>> = columns.iter().map(|c| mean(c)).collect();
    let mut last = vec!["harmonic mean".to_owned()];
    last.extend(starred(&means[..values.len()]));
    last.extend([number(means[values.len()], 2), String::new()]);
    rows.push(last);
    format!(
        "{} on {}{}: GFlop/s of spec_segsum by {letter}; {others} as in `base`\n{}\n\n",
        group.of.precision,
        group.of.on,
        cold(group.of.cache),
        aligned(header.collect(), rows)
    )
}

/// The cell whose varied number is `value` and whose others are those of the plan, which comes first.
fn find<'a>(cells: &[&'a Cell], varied: Varied, value: u32) -> Option<&'a Cell> {
    let plan = cells[0];
    let wanted = match varied {
        Varied::W => (value, plan.s),
        Varied::S => (plan.w, value),
    };
    cells.iter().copied().find(|c| (c.w, c.s) == wanted)
}

/// Speeds as text, the greatest with a star; a blank stands for it in the others.
fn starred(speeds: &[Option<f64>]) -> Vec<String> {
    let best = speeds.iter().flatten().copied().fold(0.0, f64::max);
    speeds.iter().map(|s| number(*s, 2) + if *s == Some(best) { "*" } else { " " }).collect()
}

/// Harmonic mean of a column, if all of it was measured.
fn mean(column: &[Option<f64>]) -> Option<f64> {
    harmonic_mean(&column.iter().copied().collect::<Option<Vec<f64>>>()?)
}

/// Each reason once, with the first tiling that it struck.
fn reasons(text: &mut String, cells: &[Cell]) {
    let mut known: Vec<(&str, &str)> = Vec::new();
    for cell in cells {
        let Some(why) = &cell.why else { continue };
        if known.contains(&(&cell.on, why)) {
            continue;
        }
        known.push((&cell.on, why));
        let what = if cell.outcome == Outcome::Refused { "refused" } else { "FAILED" };
        let _ = writeln!(text, "{} {what} {} in {}: {why}", cell.on, cell.tiling, cell.precision);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::html::tests::sample;
    use super::*;

    /// A planned W=8, S=5 at 4 GFlop/s, W=16 at 6, W=2 refused, S=1 wrong.
    fn report(names: &[&str]) -> Report {
        let mut report = sample(&[]);
        let cell = report.sweep[0].clone();
        report.sweep.clear();
        for name in names {
            let mut add = |w, s, outcome, gflops| {
                let why = (outcome == Outcome::Refused).then(|| "no such W".to_owned());
                let (matrix, tiling) = ((*name).to_owned(), format!("T=32,W={w},S={s},B=1"));
                let planned = (w, s) == (8, 5);
                report.sweep.push(Cell {
                    matrix,
                    tiling,
                    w,
                    s,
                    planned,
                    outcome,
                    why,
                    gflops,
                    ..cell.clone()
                });
            };
            add(8, 5, Outcome::Right, Some(4.0));
            add(16, 5, Outcome::Right, Some(6.0));
            add(2, 5, Outcome::Refused, None);
            add(8, 1, Outcome::Wrong, None);
        }
        report
    }

    fn row<'a>(text: &'a str, name: &str, nth: usize) -> Vec<&'a str> {
        let line = text.lines().filter(|l| l.starts_with(&format!("| {name}"))).nth(nth).unwrap();
        line.split('|').skip(2).map(str::trim).collect()
    }

    #[test]
    fn the_best_is_starred_and_a_refused_tiling_is_a_dash() {
        let text = text(&report(&["a", "b"]));
        for name in ["a", "b", "harmonic mean"] {
            let row = row(&text, name, 0);
            assert_eq!(row[..5], ["-", "-", "4.00", "-", "6.00*"], "{text}");
            assert_eq!(row[WIDTHS.len()], "4.00", "the planned tiling of {name}: {text}");
        }
        assert_eq!(text.matches("refused T=32,W=2,S=5,B=1").count(), 1, "{text}");
    }

    #[test]
    fn a_wrong_result_is_named_and_has_no_mean() {
        let text = text(&report(&["a"]));
        assert_eq!(row(&text, "a", 1)[0], "FAILED", "{text}");
        assert_eq!(row(&text, "harmonic mean", 1)[0], "-", "{text}");
        assert_eq!(row(&text, "a", 1)[4], "4.00*", "S of the plan: {text}");
    }
}
