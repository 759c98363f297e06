//! Pieces of reports for terminals.

use std::fmt::Write;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::report::{Cache, Report};

/// Whether the run ended early, devices, what is missing and why, machine and commit.
pub(crate) fn tail(report: &Report) -> String {
    let mut text = String::new();
    if let Some(why) = &report.ended_early {
        let _ = writeln!(text, "The run ended early, and the rest was not measured: {why}");
    }
    let busy = super::machine::busy(report.load);
    for line in busy.iter().chain(&report.left_out) {
        let _ = writeln!(text, "{line}");
    }
    for (name, about) in &report.peers {
        let _ = writeln!(text, "{name}: {about}");
    }
    for (name, why) in &report.absent {
        let _ = writeln!(text, "{name} was not measured: {why}");
    }
    let width = report.devices.iter().map(|d| d.label.len() + 1).fold("machine:".len(), usize::max);
    for d in &report.devices {
        let label = format!("{}:", d.label);
        let _ = writeln!(text, "{label:width$} {}; {}, memory {}{}", d.name, d.kind, d.memory, d.read());
    }
    let date = report.date.as_deref();
    for (what, value) in
        [("machine:", Some(&*report.machine)), ("commit:", Some(&report.commit)), ("date:", date)]
    {
        value.iter().for_each(|value| {
            let _ = writeln!(text, "{what:width$} {value}");
        });
    }
    text
}

/// What follows the name of an algorithm that trials chose.
pub(crate) fn tuned(is_tuned: bool) -> &'static str {
    if is_tuned { " tuned" } else { "" }
}

/// A table whose first column holds names and whose others hold numbers.
pub fn aligned(header: Vec<String>, rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_padding((0, 1));
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The name of a matrix, marked if it is a twin.
pub(crate) fn name(matrix: &str, twin: bool) -> String {
    if twin { format!("{matrix} (twin)") } else { matrix.to_owned() }
}

/// A number with so many digits after the point; a dash if there is none.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
}

/// What follows the name of a way to multiply: whether caches were emptied.
pub(crate) fn cold(cache: Cache) -> &'static str {
    if cache == Cache::Cold { ", cold" } else { "" }
}
