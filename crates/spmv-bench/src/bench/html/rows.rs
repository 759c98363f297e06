//! Tables: all rows with all columns, and their means.

use std::fmt::Write;

use super::super::report::{Cache, Report, Row, geometric_mean, harmonic_mean};
use super::super::sets;
use super::super::text::tuned;
use super::text::{escape, thousands};
use super::views::{Series, View, peers, speed};

/// A cell: what it says, and the number to sort by if it is one.
struct Cell {
    text: String,
    number: Option<f64>,
    class: &'static str,
}

fn text(text: &str) -> Cell {
    Cell { text: escape(text), number: None, class: "" }
}

fn count(n: usize) -> Cell {
    Cell { text: thousands(n), number: Some(n as f64), class: "num" }
}

/// A number with so many digits after the point; a dash if there is none.
fn number(value: Option<f64>, digits: usize) -> Cell {
    let text = match value {
        None => "–".to_owned(),
        Some(v) if v != 0.0 && (v.abs() >= 1e7 || v.abs() < 1e-3) => format!("{v:.1e}"),
        Some(v) => format!("{v:.digits$}"),
    };
    Cell { text, number: value.filter(|v| v.is_finite()), class: "num" }
}

fn failed() -> Cell {
    Cell { text: "FAILED".to_owned(), number: None, class: "num bad" }
}

/// Headings, and cells of a row under the same headings.
type Column<'a> = (String, Box<dyn Fn(&Row) -> Cell + 'a>);

fn columns<'a>(peers: &[&'a str]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = Vec::new();
    let mut add = |name: &str, cell: Box<dyn Fn(&Row) -> Cell + 'a>| columns.push((name.to_owned(), cell));
    add("matrix", Box::new(name));
    add("precision", Box::new(|r| text(&r.precision)));
    add("on", Box::new(|r| text(&r.on)));
    add("algorithm", Box::new(|r| text(&format!("{}{}", r.algorithm, tuned(r.tuned)))));
    add("cache", Box::new(|r| text(if r.cache == Cache::Warm { "warm" } else { "cold" })));
    add("median µs", Box::new(|r| if r.ok { time(r, |t| t.median) } else { failed() }));
    add("device µs", Box::new(|r| number(r.device_us.filter(|_| r.ok).map(|t| t.median), 1)));
    add("GFlop/s", Box::new(|r| number(speed(r), 2)));
    add("GB/s", Box::new(|r| number(r.gbs.filter(|_| r.ok), 1)));
    add("roof %", Box::new(|r| number(r.roof_share.filter(|_| r.ok).map(|s| 100.0 * s), 0)));
    for &peer in peers {
        add(&format!("× {peer}"), Box::new(move |r| ratio(r, peer)));
    }
    add("rows", Box::new(|r| count(r.rows)));
    add("cols", Box::new(|r| count(r.cols)));
    add("nnz", Box::new(|r| count(r.nnz)));
    add("row min", Box::new(|r| count(r.row_min)));
    add("row mean", Box::new(|r| number(Some(r.row_mean), 1)));
    add("row max", Box::new(|r| count(r.row_max)));
    add("min µs", Box::new(|r| time(r, |t| t.min)));
    add("max µs", Box::new(|r| time(r, |t| t.max)));
    add("plan µs", Box::new(|r| number(Some(r.plan_us), 1)));
    add("plan / spmv", Box::new(|r| number(r.time_us.filter(|_| r.ok).map(|t| r.plan_us / t.median), 1)));
    add("dirty tiles", Box::new(|r| r.dirty_tiles.map_or_else(|| number(None, 0), |n| count(n as usize))));
    add("dirty %", Box::new(|r| number(r.dirty_share().map(|s| 100.0 * s), 1)));
    add("stage 1 µs", Box::new(|r| number(Some(r.stage1_us).filter(|_| r.ok), 1)));
    add("stage 2 µs", Box::new(|r| number(Some(r.stage2_us).filter(|_| r.ok), 1)));
    add("error / bound", Box::new(|r| number(Some(r.error_over_bound), 3)));
    add("result", Box::new(|r| if r.ok { text("ok") } else { failed() }));
    add("device", Box::new(|r| text(&r.device)));
    add("tiling", Box::new(|r| text(&r.tiling)));
    for &peer in peers {
        add(&format!("{peer} µs"), Box::new(move |r| peer_time(r, peer)));
        let prepare = move |r: &Row| number(r.peers.get(peer).map(|p| p.prepare_us), 1);
        add(&format!("{peer} prepare µs"), Box::new(prepare));
    }
    columns
}

fn name(row: &Row) -> Cell {
    let twin = if row.twin { " <span class=\"twin\">twin</span>" } else { "" };
    Cell { text: format!("{}{twin}", escape(&row.matrix)), number: None, class: "" }
}

fn time(row: &Row, part: impl Fn(&super::super::report::Spread) -> f64) -> Cell {
    number(row.time_us.filter(|_| row.ok).map(|t| part(&t)), 1)
}

fn ratio(row: &Row, peer: &str) -> Cell {
    match row.peers.get(peer) {
        Some(p) if p.time_us.is_none() => failed(),
        _ => number(row.ratio_to(peer).filter(|_| row.ok), 2),
    }
}

fn peer_time(row: &Row, peer: &str) -> Cell {
    match row.peers.get(peer) {
        Some(p) if p.time_us.is_none() => failed(),
        p => number(p.and_then(|p| p.time_us), 1),
    }
}

/// Everything that was measured; a heading sorts by its column.
pub(super) fn table(out: &mut String, report: &Report) {
    let peers = peers(&report.rows);
    let columns = columns(&peers);
    out.push_str(
        "<section>\n<h2>Measurements</h2>\n\
         <p>A heading sorts by its column. × columns: the peer's time over ours.</p>\n\
         <div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"Measurements\">\n\
         <table class=\"sortable\">\n<thead><tr>",
    );
    let numeric =
        |cell: &dyn Fn(&Row) -> Cell| report.rows.first().is_some_and(|r| cell(r).class.starts_with("num"));
    for (name, cell) in &columns {
        let class = if numeric(cell) { " class=\"num\"" } else { "" };
        let _ =
            write!(out, "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>", escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &report.rows {
        out.push_str(if row.ok { "<tr class=\"row\">" } else { "<tr class=\"row failed\">" });
        for (i, (_, cell)) in columns.iter().enumerate() {
            write_cell(out, &cell(row), i == 0);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn write_cell(out: &mut String, cell: &Cell, heading: bool) {
    out.push_str(if heading { "<th scope=\"row\"" } else { "<td" });
    if !cell.class.is_empty() {
        let _ = write!(out, " class=\"{}\"", cell.class);
    }
    if let Some(number) = cell.number {
        let _ = write!(out, " data-v=\"{number}\"");
    }
    let _ = write!(out, ">{}</{}>", cell.text, if heading { "th" } else { "td" });
}

/// Means of each way to multiply: rates harmonic, ratios geometric with the least.
pub(super) fn summary(out: &mut String, views: &[View<'_>]) {
    let peers = peers(views.iter().flat_map(|v| v.rows.iter().copied()));
    out.push_str(
        "<section>\n<h2>Means</h2>\n\
         <p>Rates: harmonic mean. Ratios to peers: geometric mean, least in brackets; above 1 we are faster.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Means\">\n<table>\n<thead><tr>\
         <th scope=\"col\">way</th><th scope=\"col\">precision, cache</th>\
         <th scope=\"col\" class=\"num\">right / all</th><th scope=\"col\" class=\"num\">GFlop/s</th>",
    );
    for peer in &peers {
        let _ = write!(out, "<th scope=\"col\" class=\"num\">× {}</th>", escape(peer));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for view in views {
        let mut ways: Vec<Series<'_>> = Vec::new();
        for row in &view.rows {
            if !ways.contains(&Series::of(row)) {
                ways.push(Series::of(row));
            }
        }
        let sets = sets::of(view.rows.iter().map(|row| &*row.matrix));
        for (way, set) in ways.iter().flat_map(|way| sets.iter().map(move |set| (way, set))) {
            let is_of = |row: &&Row| Series::of(row) == *way && set.contains(&row.matrix);
            let rows: Vec<&Row> = view.rows.iter().copied().filter(is_of).collect();
            let (label, title) = (set.label(&way.name()), view.title());
            means(out, &format!("{}</th><td>{}", escape(&label), escape(&title)), &rows, &peers);
        }
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn means(out: &mut String, heading: &str, rows: &[&Row], peers: &[&str]) {
    let speeds: Vec<f64> = rows.iter().filter_map(|r| speed(r)).collect();
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{heading}</td><td class=\"num\">{} / {}</td><td class=\"num\">{}</td>",
        rows.iter().filter(|r| r.ok).count(),
        rows.len(),
        number(harmonic_mean(&speeds), 2).text
    );
    for peer in peers {
        let ratios: Vec<f64> = rows.iter().filter(|r| r.ok).filter_map(|r| r.ratio_to(peer)).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let text =
            geometric_mean(&ratios).map_or_else(|| "–".into(), |mean| format!("{mean:.2} ({least:.2})"));
        let _ = write!(out, "<td class=\"num\">{text}</td>");
    }
    out.push_str("</tr>\n");
}
