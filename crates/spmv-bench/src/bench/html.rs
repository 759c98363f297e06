//! The report as one HTML page that needs nothing else: no network, no server, light and dark.

pub(crate) mod assets;
pub(crate) mod axis;
mod bars;
mod picture;
mod roofline;
mod rows;
pub(crate) mod text;
mod views;

#[cfg(test)]
mod browser;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt::Write;

pub(crate) use picture::Picture;

use super::report::Report;
use text::escape;

/// The whole page. Matrices without a picture get no panel; pictures are kept in their order.
pub(crate) fn page(report: &Report, pictures: &[Picture]) -> String {
    let views = views::of(report);
    let series = views::series(report);
    let mut body = String::new();
    header(&mut body, report);
    rows::summary(&mut body, &views);
    for view in &views {
        bars::chart(&mut body, view, &series);
        roofline::chart(&mut body, view, &series, report);
    }
    rows::table(&mut body, report);
    picture::panels(&mut body, report, pictures);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>spmv bench: {}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        escape(&report.commit),
        assets::style(series.len().max(1)),
        assets::SCRIPT,
    )
}

fn header(out: &mut String, report: &Report) {
    let failed = report.rows.iter().filter(|r| !r.ok).count();
    let verdict = match failed {
        0 => format!("all {} results are right", report.rows.len()),
        _ => format!("<strong class=\"bad\">{failed} of {} results are wrong</strong>", report.rows.len()),
    };
    let date = report.date.as_deref().unwrap_or("unknown");
    let load = report.load.map_or_else(|| "unknown".to_owned(), |threads| format!("{threads:.1} threads"));
    let _ = write!(
        out,
        "<h1>Sparse matrix-vector multiplication</h1>\n<dl class=\"facts\">\n\
         <div><dt>Machine</dt><dd>{}</dd></div>\n<div><dt>Commit</dt><dd>{}</dd></div>\n\
         <div><dt>Date</dt><dd>{}</dd></div>\n\
         <div><dt>Taken by other programs</dt><dd>{load}</dd></div>\n\
         <div><dt>Measured read bandwidth of memory</dt><dd>{:.1} GB/s</dd></div>\n\
         <div><dt>Checked</dt><dd>{verdict}</dd></div>\n<div><dt>Schema</dt><dd>{}</dd></div>\n</dl>\n\
         <ul class=\"formulas\">\n<li><code>GFlop/s = 2 nnz / t</code>, t the median of the device's own time (both stages) where there \
         is one, else of one call as the caller sees it</li>\n\
         <li><code>GB/s = ((m+1)*4 + nnz*4 + (nnz+n+m)*value) bytes / t</code>, the compulsory traffic \
         of an m x n matrix with values of <code>value</code> bytes</li>\n\
         <li><code>roof</code> is GB/s over the read bandwidth of the device's memory; above 100% the matrix stays in cache</li>\n\
         <li>a ratio to a peer is its time over ours, both as the caller sees them: above 1 we are \
         faster</li>\n\
         <li>a <span class=\"twin\">twin</span> was generated in the likeness of the matrix it is named \
         after</li>\n",
        escape(&report.machine),
        escape(&report.commit),
        escape(date),
        report.read_gbs,
        escape(&report.schema),
    );
    for d in &report.devices {
        let [label, name, kind, memory] = [&d.label, &d.name, &d.kind, &d.memory].map(|text| escape(text));
        let _ = writeln!(out, "<li><code>{label}</code>: {name}; {kind}, memory {memory}{}</li>", d.read());
    }
    if let Some(why) = &report.ended_early {
        let _ = writeln!(out, "<li>the run ended early, and the rest was not measured: {}</li>", escape(why));
    }
    for line in &report.left_out {
        let _ = writeln!(out, "<li>{}</li>", escape(line));
    }
    for (name, about) in &report.peers {
        let _ = writeln!(out, "<li>{}: {}</li>", escape(name), escape(about));
    }
    for (name, why) in &report.absent {
        let _ = writeln!(out, "<li>{} was not measured: {}</li>", escape(name), escape(why));
    }
    out.push_str("</ul>\n");
}
