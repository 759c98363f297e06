//! Outcomes as text for terminals.

use std::fmt::Write;

use super::item::{How, Item, Paper};
use super::outcome::{Claim, Findings, Outcome, Rule, Table, Value};
use crate::bench::text::{aligned, name, number};

/// Every item of a paper, and what is needed to run it.
pub(crate) fn list(paper: &Paper) -> String {
    let rows = paper.items.iter().map(|item| {
        vec![
            item.id.to_owned(),
            item.title.to_owned(),
            item.section.to_owned(),
            item.needs().to_owned(),
            item.command(paper.id),
        ]
    });
    let header = ["item", "what", "where", "needs", "command"].map(str::to_owned).to_vec();
    let mut table = aligned(header, rows.collect());
    for column in table.column_iter_mut() {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    format!("{}\n\n{table}\n", paper.numbers().citation)
}

/// An item that is not measured.
pub(crate) fn unmeasured(paper: &Paper, item: &Item) -> String {
    let what = match &item.how {
        How::Impossible(why) => format!("not here: {why}"),
        _ => format!("held by tests: {}", item.command(paper.id)),
    };
    let reason = if item.reason.is_empty() { String::new() } else { format!("\n{}", item.reason) };
    format!("{} {} ({}): {}\n{what}{reason}\n", paper.id, item.id, item.section, item.title)
}

/// One item: tables, the paper's own summary, the verdict.
pub(crate) fn outcome(paper: &Paper, item: &Item, outcome: &Outcome) -> String {
    let mut text = format!("{} {} ({}): {}\n", paper.id, item.id, item.section, item.title);
    for table in &outcome.tables {
        let _ = writeln!(text, "\n{}\n{}", table.title, grid(table));
    }
    if !outcome.claims.is_empty() {
        let _ = writeln!(text, "\n{}", claims(&outcome.claims));
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "{note}");
    }
    for wrong in &outcome.wrong {
        let _ = writeln!(text, "FAILED: {wrong}");
    }
    let verdict = outcome.verdict();
    let _ = writeln!(text, "{}: {}{}", item.id, verdict.name(), because(item, outcome));
    text
}

/// What follows a verdict.
pub(crate) fn because(item: &Item, outcome: &Outcome) -> String {
    let failing = outcome.claims.iter().filter(|claim| claim.holds() == Some(false)).count();
    let decided = outcome.claims.iter().filter(|claim| claim.holds().is_some()).count();
    match failing {
        0 => String::new(),
        _ if item.reason.is_empty() => format!(" in {failing} of {decided} claims"),
        _ => format!(" in {failing} of {decided} claims: {}", item.reason),
    }
}

/// A column for ours, and before and after it the paper's and the ratio where a row has both.
fn grid(table: &Table) -> comfy_table::Table {
    let has_paper = |at: usize| table.rows.iter().any(|row| row.values[at].ratio().is_some());
    let has_notes = table.rows.iter().any(|row| !row.note.is_empty());
    let mut header = vec![table.rows_are.clone()];
    for (at, column) in table.columns.iter().enumerate() {
        if has_paper(at) {
            header.extend([format!("{}: paper", column.name), "ours".into(), "ratio".into()]);
        } else {
            header.push(column.name.clone());
        }
    }
    header.extend(has_notes.then(String::new));
    let rows = table.rows.iter().map(|row| {
        let mut cells = vec![name(&row.label, row.twin)];
        for (at, (column, value)) in table.columns.iter().zip(&row.values).enumerate() {
            cells.extend(of_value(*value, column.digits, has_paper(at)));
        }
        cells.extend(has_notes.then(|| row.note.clone()));
        cells
    });
    aligned(header, rows.collect())
}

fn of_value(value: Value, digits: usize, has_paper: bool) -> Vec<String> {
    let ours = number(value.ours, digits);
    match has_paper {
        true => vec![number(value.paper, digits), ours, number(value.ratio(), 2)],
        false => vec![number(value.ours.or(value.paper), digits)],
    }
}

fn claims(claims: &[Claim]) -> comfy_table::Table {
    let rows = claims.iter().map(|claim| {
        vec![
            claim.what.clone(),
            [claim.on.as_str()].into_iter().chain(claim.precision.as_deref()).collect::<Vec<_>>().join(" "),
            papers(claim),
            of_claim(claim),
            claim.rule.name(),
            match claim.holds() {
                Some(true) => "yes".into(),
                Some(false) => "NO".into(),
                None => "-".to_owned(),
            },
        ]
    });
    aligned(
        ["the paper's summary", "here on", "paper", "ours", "as in the paper if", "is it"]
            .map(str::to_owned)
            .to_vec(),
        rows.collect(),
    )
}

/// The paper's numbers of a claim, each with its device.
pub(crate) fn papers(claim: &Claim) -> String {
    let unit = &claim.unit;
    let one = |(device, value): &(String, f64)| match device.is_empty() {
        true => format!("{}{unit}", short(*value)),
        false => format!("{}{unit} ({device})", short(*value)),
    };
    match claim.papers.is_empty() {
        true => "-".into(),
        false => claim.papers.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

/// Our number of a claim.
pub(crate) fn of_claim(claim: &Claim) -> String {
    claim.ours.map_or_else(|| "-".into(), |value| format!("{}{}", short(value), claim.unit))
}

/// Two digits after the point, or none for large ones.
fn short(value: f64) -> String {
    let digits = if value == value.trunc() || value.abs() >= 1000.0 { 0 } else { 2 };
    format!("{value:.digits$}")
}

impl Rule {
    /// In words.
    pub(crate) fn name(self) -> String {
        match self {
            Rule::SameWinner => "the same one is faster".into(),
            Rule::Within(factor) => format!("within a factor of {factor}"),
            Rule::AtMost(factor) => format!("at most {factor} times it"),
            Rule::Equal => "equal".into(),
            Rule::Shown => "shown only".into(),
        }
    }
}

/// Devices, machine and commit.
pub(crate) fn tail(findings: &Findings) -> String {
    let mut text = String::new();
    for d in &findings.devices {
        let _ = writeln!(text, "{}: {}; {}, memory {}", d.label, d.name, d.kind, d.memory);
    }
    if findings.quick {
        text += "A preview: few matrices, few runs. Nothing follows from its numbers.\n";
    }
    let _ = writeln!(text, "machine: {}\ncommit: {}", findings.machine, findings.commit);
    text
}
