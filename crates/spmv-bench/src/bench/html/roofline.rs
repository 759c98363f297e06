//! Speed against arithmetic intensity, below the roofs of the devices' memories.

use std::fmt::Write;

use super::super::report::{Report, Row};
use super::assets;
use super::axis::{Axis, tick};
use super::bars::legend;
use super::text::escape;
use super::views::{Series, View, speed};

const WIDTH: f64 = 1270.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 46.0;
const DOT: f64 = 4.5;
/// Size of a letter of a label.
const LETTER: (f64, f64) = (6.9, 12.5);

/// A multiplication in the chart.
struct Dot<'a> {
    matrix: &'a str,
    colour: usize,
    title: String,
    /// Flop per compulsory byte.
    intensity: f64,
    gflops: f64,
}

/// A rectangle: left, top, right, bottom.
type Area = (f64, f64, f64, f64);

/// A dot for each of our rows that is right.
pub(super) fn chart(out: &mut String, view: &View<'_>, series: &[Series<'_>], report: &Report) {
    let dots = dots(view, series);
    let (Some(low), Some(high)) = (
        dots.iter().map(|d| d.intensity).min_by(f64::total_cmp),
        dots.iter().map(|d| d.intensity).max_by(f64::total_cmp),
    ) else {
        return;
    };
    let x = Axis::log(low / 1.15, high * 1.15, LEFT, RIGHT);
    let roofs = roofs(view, report);
    let speeds = || {
        let ends = roofs.iter().flat_map(|(_, gbs)| [gbs * x.ends().0, gbs * x.ends().1]);
        dots.iter().map(|d| d.gflops).chain(ends)
    };
    let (slowest, fastest) = (speeds().fold(f64::INFINITY, f64::min), speeds().fold(0.0, f64::max));
    let y = Axis::log(slowest / 1.25, fastest * 1.25, BOTTOM, TOP);

    let title = format!("Roofline: {}", view.title());
    let _ = writeln!(out, "<section>\n<h2>{}</h2>", escape(&title));
    let mut used: Vec<usize> = dots.iter().map(|d| d.colour).collect();
    used.sort_unstable();
    used.dedup();
    legend(out, series, &used);
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\">\n\
         <svg class=\"chart\" role=\"img\" aria-label=\"{0}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" xmlns=\"http://www.w3.org/2000/svg\">",
        escape(&title)
    );
    frame(out, &x, &y);
    let mut taken = Vec::new();
    for (devices, gbs) in &roofs {
        slope(out, (&x, &y), &format!("{devices}: {gbs:.1} GB/s read"), *gbs, &mut taken);
    }
    for dot in &dots {
        let (cx, cy) = (x.at(dot.intensity), y.at(dot.gflops));
        taken.push((cx - DOT, cy - DOT, cx + DOT, cy + DOT));
        let _ = writeln!(
            out,
            "<circle class=\"{}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{DOT}\"><title>{}</title></circle>",
            assets::series(dot.colour),
            escape(&dot.title)
        );
    }
    for dot in &dots {
        label(out, dot.matrix, (x.at(dot.intensity), y.at(dot.gflops)), &mut taken);
    }
    out.push_str("</svg>\n</div>\n</section>\n");
}

/// Bandwidths, and which devices have them.
fn roofs(view: &View<'_>, report: &Report) -> Vec<(String, f64)> {
    let mut roofs: Vec<(String, f64)> = Vec::new();
    for device in report.devices.iter().filter(|device| view.rows.iter().any(|row| row.on == device.label)) {
        let Some(gbs) = report.roof(&device.label) else { continue };
        match roofs.iter_mut().find(|(_, of_others)| *of_others == gbs) {
            Some((devices, _)) => *devices += &format!(", {}", device.label),
            None => roofs.push((device.label.clone(), gbs)),
        }
    }
    roofs
}

fn dots<'a>(view: &View<'a>, series: &[Series<'_>]) -> Vec<Dot<'a>> {
    let dot = |row: &&'a Row| {
        let (gflops, gbs) = (speed(row)?, row.gbs.filter(|v| v.is_finite() && *v > 0.0)?);
        let way = Series::of(row);
        let colour = series.iter().position(|s| *s == way)?;
        let (intensity, name) = (gflops / gbs, way.name());
        let title =
            format!("{}, {name}: {gflops:.2} GFlop/s, {intensity:.3} flop/byte, {gbs:.1} GB/s", row.matrix);
        Some(Dot { matrix: &row.matrix, colour, title, intensity, gflops })
    };
    view.rows.iter().filter_map(dot).collect()
}

fn frame(out: &mut String, x: &Axis, y: &Axis) {
    for value in y.ticks() {
        let at = y.at(value);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            tick(value)
        );
    }
    for value in x.ticks() {
        let at = x.at(value);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/><text x=\"{at:.1}\" y=\"{}\" \
             text-anchor=\"middle\">{}</text>",
            BOTTOM + 16.0,
            tick(value)
        );
    }
    let middle = (TOP + BOTTOM) / 2.0;
    let _ = writeln!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">flop per compulsory byte, logarithmic</text>\n\
         <text transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\">GFlop/s, logarithmic</text>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 8.0
    );
}

/// The bandwidth's line, and its name above the left end, where dots are rare.
fn slope(out: &mut String, (x, y): (&Axis, &Axis), text: &str, read_gbs: f64, taken: &mut Vec<Area>) {
    let (low, high) = x.ends();
    let (x0, y0, x1, y1) = (x.at(low), y.at(low * read_gbs), x.at(high), y.at(high * read_gbs));
    let steepness = (y1 - y0) / (x1 - x0);
    let (tx, ty) = (x0 + 12.0, y0 + 12.0 * steepness - 7.0);
    let _ = writeln!(
        out,
        "<path class=\"roof\" d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\"/>\n\
         <text class=\"rooftext\" transform=\"translate({tx:.1} {ty:.1}) rotate({:.2})\">{}</text>",
        steepness.atan().to_degrees(),
        escape(text)
    );
    let written = text.len() as f64 * LETTER.0;
    let mut at = x0;
    while at < x1 {
        let line = y0 + (at - x0) * steepness;
        let above = if at - x0 < written + 12.0 { 20.0 } else { 2.0 };
        taken.push((at - 2.0, line - above, at + 2.0, line + 2.0));
        at += 4.0;
    }
}

/// Writes a name at the nearest free position around its dot; far ones get a line. None if all is full.
fn label(out: &mut String, name: &str, (cx, cy): (f64, f64), taken: &mut Vec<Area>) {
    let width = name.chars().count() as f64 * LETTER.0;
    let rings = [DOT + 3.0, 18.0, 30.0, 44.0, 60.0, 80.0, 104.0];
    let directions = (0..16).map(|i| f64::from(i) * std::f64::consts::TAU / 16.0);
    for ring in rings {
        for angle in directions.clone() {
            let (dx, dy) = (angle.cos(), -angle.sin());
            let (ax, ay) = (cx + ring * dx, cy + ring * dy);
            // The box touches the anchor with the side that faces the dot.
            let left = ax - width * (1.0 - dx) / 2.0;
            let top = ay - LETTER.1 * (1.0 - dy) / 2.0;
            let area = (left - 1.0, top, left + width + 1.0, top + LETTER.1);
            let inside = area.0 >= LEFT && area.2 <= RIGHT && area.1 >= TOP && area.3 <= BOTTOM;
            let leader = leader((cx, cy), (dx, dy), ring);
            let is_free = |area: &Area| !taken.iter().any(|other| overlap(*area, *other));
            if !inside || !is_free(&area) || !leader.iter().all(is_free) {
                continue;
            }
            if ring > 20.0 {
                let _ = writeln!(out, "<path class=\"leader\" d=\"M{cx:.1} {cy:.1}L{ax:.1} {ay:.1}\"/>");
            }
            let _ = writeln!(
                out,
                "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                left + width / 2.0,
                top + LETTER.1 - 2.5,
                escape(name)
            );
            taken.push(area);
            taken.extend(leader);
            return;
        }
    }
}

/// The positions that a line from a dot to a far label passes.
fn leader((cx, cy): (f64, f64), (dx, dy): (f64, f64), ring: f64) -> Vec<Area> {
    let steps = (1..).map(|i| DOT + 3.0 * f64::from(i)).take_while(|at| *at < ring);
    steps.map(|at| (cx + at * dx, cy + at * dy)).map(|(x, y)| (x - 0.5, y - 0.5, x + 0.5, y + 0.5)).collect()
}

fn overlap(a: Area, b: Area) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}
