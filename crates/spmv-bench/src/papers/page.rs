//! Outcomes as one HTML page, with the figures drawn on the paper's axes.

use std::fmt::Write;

use super::item::Paper;
use super::outcome::{Figure, Findings, Marks, Outcome, Series};
use super::print;
use crate::bench::html::assets;
use crate::bench::html::axis::{Axis, tick};
use crate::bench::html::text::escape;

const WIDTH: f64 = 1180.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 12.0;
/// For slanted names of matrices.
const NAMES: f64 = 130.0;
const TICKS: f64 = 40.0;

/// The page of a run.
pub(crate) fn page(paper: &Paper, findings: &Findings) -> String {
    let mut body = format!(
        "<h1>{}</h1>\n<pre>{}</pre>\n",
        escape(&paper.numbers().citation),
        escape(&print::tail(findings))
    );
    for outcome in &findings.outcomes {
        let Some(item) = paper.items.iter().find(|item| item.id == outcome.item) else { continue };
        let _ = writeln!(body, "<section>\n<h2>{}: {}</h2>", escape(item.id), escape(item.title));
        outcome.figures.iter().for_each(|figure| draw(&mut body, figure));
        let _ = writeln!(
            body,
            "<div class=\"scroll\" tabindex=\"0\"><pre>{}</pre></div>\n</section>",
            escape(&text_of(paper, outcome))
        );
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(paper.id),
        assets::style(
            findings
                .outcomes
                .iter()
                .flat_map(|outcome| &outcome.figures)
                .map(|f| f.series.len())
                .max()
                .unwrap_or(0)
        ),
    )
}

fn text_of(paper: &Paper, outcome: &Outcome) -> String {
    let item = paper.items.iter().find(|item| item.id == outcome.item);
    item.map_or_else(String::new, |item| print::outcome(paper, item, outcome))
}

/// Positions of a figure's values.
struct Scale {
    x: Axis,
    y: Axis,
    base: f64,
}

fn draw(out: &mut String, figure: &Figure) {
    let points: Vec<(f64, f64)> = figure.series.iter().flat_map(|s| s.points.iter().copied()).collect();
    if points.is_empty() {
        return;
    }
    let scale = scale(figure, &points);
    let bottom = if figure.x.names.is_empty() { TICKS } else { NAMES };
    let title = escape(&figure.title);
    let _ = writeln!(out, "<h3>{title}</h3>");
    legend(out, &figure.series);
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{title}\">\n<svg class=\"chart\" role=\"img\" \
         aria-label=\"{title}\" width=\"{WIDTH:.0}\" height=\"{0:.0}\" viewBox=\"0 0 {WIDTH:.0} {0:.0}\" \
         xmlns=\"http://www.w3.org/2000/svg\">",
        scale.base + bottom
    );
    frame(out, figure, &scale, bottom);
    for (at, series) in figure.series.iter().enumerate() {
        marks(out, figure, &scale, (at, series));
    }
    out.push_str("</svg>\n</div>\n");
}

fn scale(figure: &Figure, points: &[(f64, f64)]) -> Scale {
    let base = TOP + HEIGHT;
    let (low_x, high_x) = ends(points.iter().map(|p| p.0));
    let (low_y, high_y) = ends(points.iter().map(|p| p.1));
    let x = match (figure.x.names.len(), figure.x.log) {
        (0, true) => Axis::log(low_x.max(1e-12), high_x, LEFT, WIDTH - 10.0),
        (0, false) => Axis::linear(high_x, LEFT, WIDTH - 10.0),
        // Names stand in the middle of their group.
        (n, _) => Axis::linear(n as f64 / 1.04, LEFT, WIDTH - 10.0),
    };
    let y = match figure.y.log {
        true => Axis::log(low_y.max(1e-12) * 0.9, high_y * 1.1, base, TOP),
        false => Axis::linear(high_y, base, TOP),
    };
    Scale { x, y, base }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, 0.0), |(low, high), v| (low.min(v), f64::max(high, v)))
}

fn frame(out: &mut String, figure: &Figure, scale: &Scale, bottom: f64) {
    for value in scale.y.ticks() {
        let at = scale.y.at(value);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{WIDTH:.0}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            tick(value)
        );
    }
    if figure.x.names.is_empty() {
        for value in scale.x.ticks() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                scale.x.at(value),
                scale.base + 16.0,
                tick(value)
            );
        }
    }
    for (at, name) in figure.x.names.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text class=\"name\" transform=\"translate({:.1} {:.1}) rotate(-45)\" text-anchor=\"end\">{}</text>",
            scale.x.at(at as f64 + 0.5) + 4.0,
            scale.base + 14.0,
            escape(name)
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {0}H{WIDTH:.0}\"/><text x=\"{1:.0}\" y=\"{2:.0}\" text-anchor=\"end\">{3}</text>\
         <text x=\"{LEFT}\" y=\"10\">{4}</text>",
        scale.base,
        WIDTH - 10.0,
        scale.base + bottom - 6.0,
        escape(&figure.x.name),
        escape(&figure.y.name)
    );
}

fn marks(out: &mut String, figure: &Figure, scale: &Scale, (at, series): (usize, &Series)) {
    let colour = assets::series(at);
    let title = |(x, y): (f64, f64)| {
        let x = figure.x.names.get(x as usize).cloned().unwrap_or_else(|| tick(x));
        escape(&format!("{x}, {}: {}", series.name, tick(y)))
    };
    let middle = if figure.x.names.is_empty() { 0.0 } else { 0.5 };
    let points = || series.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite());
    match series.marks {
        Marks::Line => {
            let path: Vec<String> = points()
                .map(|(x, y)| format!("{:.1} {:.1}", scale.x.at(x + middle), scale.y.at(y)))
                .collect();
            let _ = writeln!(out, "<path class=\"line {colour}\" d=\"M{}\"/>", path.join("L"));
        }
        Marks::Points => {
            for (x, y) in points() {
                let _ = writeln!(
                    out,
                    "<circle class=\"{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{}</title></circle>",
                    scale.x.at(x + middle),
                    scale.y.at(y),
                    title((x, y))
                );
            }
        }
        Marks::Bars => {
            let bars = figure.series.iter().filter(|s| s.marks == Marks::Bars).count() as f64;
            let group = scale.x.at(1.0) - scale.x.at(0.0);
            let wide = (group * 0.8 / bars).min(14.0);
            for (x, y) in points() {
                let left = scale.x.at(x + middle) + wide * (at as f64 - bars / 2.0);
                let top = scale.y.at(y).min(scale.base);
                let _ = writeln!(
                    out,
                    "<rect class=\"{colour}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                    (wide - 0.7).max(0.5),
                    scale.base - top,
                    title((x, y))
                );
            }
        }
    }
}

fn legend(out: &mut String, series: &[Series]) {
    out.push_str("<ul class=\"legend\">");
    for (at, each) in series.iter().enumerate() {
        let _ = write!(out, "<li><i class=\"{}\"></i>{}</li>", assets::series(at), escape(&each.name));
    }
    out.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::super::outcome;
    use super::*;

    #[test]
    fn every_kind_of_mark_is_drawn_inside_the_figure() {
        let series = |name: &str, marks, points: &[(f64, f64)]| Series {
            name: name.into(),
            marks,
            points: points.to_vec(),
        };
        let bars = [
            series("a < b", Marks::Bars, &[(0.0, 3.0), (1.0, 5.0)]),
            series("c", Marks::Points, &[(1.0, 4.0)]),
        ];
        let mut figure = Figure {
            title: "speed & more".into(),
            x: outcome::Axis::named("matrix", vec!["one".into(), "two".into()]),
            y: outcome::Axis::linear("GFlop/s"),
            series: bars.to_vec(),
        };
        let mut text = String::new();
        draw(&mut text, &figure);
        assert_eq!((text.matches("<rect").count(), text.matches("<circle").count()), (2, 1), "{text}");
        assert!(
            text.contains("speed &amp; more") && text.contains("a &lt; b") && !text.contains("NaN"),
            "{text}"
        );
        figure.x = outcome::Axis::log("W");
        figure.series = vec![series("line", Marks::Line, &[(2.0, 3.0), (4.0, 5.0), (32.0, 1.0)])];
        let mut text = String::new();
        draw(&mut text, &figure);
        assert!(
            text.contains("<path class=\"line s0\" d=\"M") && !text.contains("NaN") && !text.contains("inf"),
            "{text}"
        );
    }
}
