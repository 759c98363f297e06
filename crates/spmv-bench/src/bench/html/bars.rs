//! GFlop/s of every contender, matrix by matrix.

use std::fmt::Write;

use super::assets;
use super::axis::{Axis, tick};
use super::text::escape;
use super::views::{Outcome, Series, Speed, View};

const HEIGHT: f64 = 260.0;
const LEFT: f64 = 64.0;
/// Room for the value above the highest bar.
const TOP: f64 = 40.0;
/// Room for slanted names.
const BOTTOM: f64 = 96.0;
/// As wide as a line of text, since its value is written above it.
const BAR: f64 = 13.0;
const GAP: f64 = 12.0;
/// What a wide screen holds.
const WIDTH: f64 = 1270.0;
/// Groups narrower than this bring names too close; wider ones look lost.
const GROUP: (f64, f64) = (30.0, 90.0);

/// A group of bars for each matrix.
pub(super) fn chart(out: &mut String, view: &View<'_>, series: &[Series<'_>]) {
    let matrices = view.matrices();
    let used: Vec<usize> = (0..series.len())
        .filter(|s| matrices.iter().any(|m| !matches!(view.outcome(m, &series[*s]), Outcome::Absent)))
        .collect();
    let title = format!("GFlop/s by matrix: {}", view.title());
    let _ = writeln!(out, "<section>\n<h2>{}</h2>", escape(&title));
    legend(out, series, &used);

    let bars = used.len() as f64 * BAR;
    let group = ((WIDTH - LEFT) / matrices.len() as f64).min(GROUP.1).max(bars + GAP).max(GROUP.0);
    let width = LEFT + group * matrices.len() as f64 + 8.0;
    let high = matrices.iter().flat_map(|m| used.iter().map(move |s| (m, s)));
    let high = high.filter_map(|(m, s)| match view.outcome(m, &series[*s]) {
        Outcome::Right(speed) => Some(speed.top()),
        Outcome::Absent | Outcome::Failed => None,
    });
    let y = Axis::linear(high.fold(0.0, f64::max), TOP + HEIGHT, TOP);
    let base = TOP + HEIGHT;
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\">\n\
         <svg class=\"chart\" role=\"img\" aria-label=\"{0}\" width=\"{width:.0}\" height=\"{1:.0}\" \
         viewBox=\"0 0 {width:.0} {1:.0}\" xmlns=\"http://www.w3.org/2000/svg\">",
        escape(&title),
        base + BOTTOM
    );
    for value in y.ticks() {
        let at = y.at(value);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{width:.0}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            tick(value)
        );
    }
    let _ = writeln!(
        out,
        "<text transform=\"translate(14 {:.0}) rotate(-90)\" text-anchor=\"middle\">GFlop/s, linear</text>",
        TOP + HEIGHT / 2.0
    );
    for (i, matrix) in matrices.iter().enumerate() {
        let centre = LEFT + group * (i as f64 + 0.5);
        for (slot, &s) in used.iter().enumerate() {
            let x = centre - bars / 2.0 + slot as f64 * BAR;
            bar(
                out,
                (x, base, &y),
                s,
                &format!("{matrix}, {}", series[s].name()),
                view.outcome(matrix, &series[s]),
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"name\" transform=\"translate({:.1} {:.1}) rotate(-45)\" text-anchor=\"end\">{}</text>",
            centre + 4.0,
            base + 14.0,
            escape(&shorten(matrix))
        );
    }
    let _ =
        writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {base}H{width:.0}\"/>\n</svg>\n</div>\n</section>");
}

fn bar(out: &mut String, (x, base, y): (f64, f64, &Axis), colour: usize, what: &str, outcome: Outcome) {
    let what = escape(what);
    let _ = match outcome {
        Outcome::Absent => Ok(()),
        Outcome::Failed => writeln!(
            out,
            "<text class=\"bad\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">&#215;\
             <title>{what}: FAILED</title></text>",
            x + BAR / 2.0,
            base - 2.0
        ),
        Outcome::Right(speed) => right(out, (x, base, y), colour, &what, speed),
    };
}

/// A bar as high as the median, a line from the slowest run to the fastest, and the median as a number above both.
fn right(
    out: &mut String,
    (x, base, y): (f64, f64, &Axis),
    colour: usize,
    what: &str,
    speed: Speed,
) -> std::fmt::Result {
    let (top, middle) = (y.at(speed.median), x + (BAR - 1.0) / 2.0);
    let range =
        speed.range.map(|(low, high)| format!(", runs from {low:.2} to {high:.2}")).unwrap_or_default();
    writeln!(
        out,
        "<rect class=\"{}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
         <title>{what}: {:.2} GFlop/s{range}</title></rect>",
        assets::series(colour),
        BAR - 1.0,
        base - top,
        speed.median
    )?;
    if let Some((low, high)) = speed.range {
        let (low, high, left, right) = (y.at(low), y.at(high), middle - 2.5, middle + 2.5);
        writeln!(
            out,
            "<path class=\"spread\" d=\"M{middle:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} {high:.1}H{right:.1}\"/>"
        )?;
    }
    writeln!(
        out,
        "<text class=\"value\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
        middle + 3.5,
        y.at(speed.top()) - 4.0,
        value(speed.median)
    )
}

/// Three digits, or all before the point.
fn value(gflops: f64) -> String {
    let digits = if gflops >= 100.0 {
        0
    } else if gflops >= 10.0 {
        1
    } else {
        2
    };
    format!("{gflops:.digits$}")
}

/// Which colour is whose.
pub(super) fn legend(out: &mut String, series: &[Series<'_>], used: &[usize]) {
    out.push_str("<ul class=\"legend\">");
    for &s in used {
        let colour = assets::series(s);
        let _ = write!(out, "<li><i class=\"{colour}\"></i>{}</li>", escape(&series[s].name()));
    }
    out.push_str("</ul>\n");
}

/// A name that fits below the chart; tooltips and the table have all of it.
fn shorten(name: &str) -> String {
    const LONGEST: usize = 18;
    match name.chars().count() {
        0..=LONGEST => name.to_owned(),
        _ => name.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}
