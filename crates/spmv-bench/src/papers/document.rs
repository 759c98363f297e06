//! `docs/reproduction.md`, made of the catalogue and the archived runs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::catalogue::PAPERS;
use super::item::{How, Item, Paper};
use super::outcome::{Claim, Findings, Outcome, SCHEMA};
use super::print;
use crate::bench::files;

/// An archived run, in `docs/results`: date, machine, `reproduce` and the paper make the name of its file.
struct Archive {
    file: String,
    /// The part of its name that says where it ran.
    label: String,
    findings: Findings,
}

const INTRODUCTION: &str = "\
# The four papers, figure by figure

Made by `cargo xtask reproduce --document` from the archived runs; a test compares.

```sh
cargo xtask reproduce liu-vinter-2015             # lists tables, figures and algorithms
cargo xtask reproduce liu-vinter-2015 figure-4    # measures one: the paper's numbers, ours, the ratio
cargo xtask reproduce gao all --html page.html    # measures all, draws the figures
```

The paper's numbers are in [`crates/spmv-bench/papers`](../crates/spmv-bench/papers), each with page or section. Figures are
pictures; of them only what text and tables state can be compared. Most matrices are twins
([`spmv_io::suite`](../crates/spmv-io/src/suite/mod.rs)): generated, with the dimensions and row lengths of the originals.
`--originals FOLDER` takes originals instead.

A verdict follows from the numbers. An item *differs* if one of the paper's statements does not hold here by the rule that its table
names; the statements are in the table below the items. It is *shown* if the paper states nothing of it that could hold or not.
";

/// Writes the document.
///
/// # Errors
/// If an archive cannot be read, or the document not be written.
pub(crate) fn write() -> anyhow::Result<()> {
    let path = root().join("docs/reproduction.md");
    files::write(&path, &text(&archives()?)).with_context(|| path.display().to_string())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All archived runs, in the order of their names.
fn archives() -> anyhow::Result<Vec<Archive>> {
    let folder = root().join("docs/results");
    let mut archives = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(label) = machine_of(&file) else { continue };
        let findings: Findings =
            serde_json::from_str(&std::fs::read_to_string(&path)?).context(file.clone())?;
        anyhow::ensure!(findings.schema == SCHEMA && !findings.quick, "{file}: not a whole run of {SCHEMA}");
        archives.push(Archive { file, label, findings });
    }
    archives.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(archives)
}

/// `h200-cuda` of `2026-11-22-h200-cuda-reproduce-gao.json`.
fn machine_of(file: &str) -> Option<String> {
    const DATE: usize = "2026-11-22-".len();
    let (before, _) = file.strip_suffix(".json")?.split_once("-reproduce-")?;
    before.get(DATE..).map(str::to_owned)
}

fn text(archives: &[Archive]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for paper in &PAPERS {
        let of_it: Vec<&Archive> = archives.iter().filter(|a| a.findings.paper == paper.id).collect();
        let _ = writeln!(text, "\n## {}\n", paper.numbers().citation);
        for archive in &of_it {
            let devices: Vec<String> =
                archive.findings.devices.iter().map(|d| format!("{}: {}", d.label, d.name)).collect();
            let _ = writeln!(
                text,
                "- [{}](results/{}): {}; {}; commit {}",
                archive.label,
                archive.file,
                devices.join(", "),
                archive.findings.machine,
                archive.findings.commit
            );
        }
        let _ = writeln!(text, "\n| item | what | verdict | reason | command |\n|---|---|---|---|---|");
        for item in paper.items {
            let _ = writeln!(text, "{}", row(paper, item, &of_it));
        }
        claims(&mut text, paper, &of_it);
    }
    text
}

fn outcomes<'a>(archives: &'a [&Archive], item: &Item) -> impl Iterator<Item = (&'a str, &'a Outcome)> {
    let id = item.id;
    archives.iter().filter_map(move |archive| {
        let found = archive.findings.outcomes.iter().find(|outcome| outcome.item == id);
        found.map(|outcome| (archive.label.as_str(), outcome))
    })
}

fn row(paper: &Paper, item: &Item, archives: &[&Archive]) -> String {
    let (verdict, reason) = match item.how {
        How::Tests(_) => ("reproduced, by tests".to_owned(), item.reason),
        How::Impossible(why) => ("impossible here".to_owned(), why),
        How::Run { .. } => {
            let verdicts =
                outcomes(archives, item).map(|(label, o)| format!("{label}: {}", o.verdict().name()));
            let verdicts = verdicts.collect::<Vec<_>>().join("; ");
            (if verdicts.is_empty() { "not archived yet".to_owned() } else { verdicts }, item.reason)
        }
    };
    let command = item.command(paper.id).split("; ").map(|c| format!("`{c}`")).collect::<Vec<_>>().join(" ");
    format!("| {} ({}) | {} | {verdict} | {reason} | {command} |", item.id, item.section, item.title)
}

/// A row for each statement, a column for each run.
fn claims(text: &mut String, paper: &Paper, archives: &[&Archive]) {
    let mut lines: Vec<String> = Vec::new();
    for item in paper.items {
        let of_it: Vec<(&str, &Outcome)> = outcomes(archives, item).collect();
        let mut stated: Vec<&Claim> = Vec::new();
        for claim in of_it.iter().flat_map(|(_, outcome)| &outcome.claims) {
            if !stated.iter().any(|c| (&c.what, &c.precision) == (&claim.what, &claim.precision)) {
                stated.push(claim);
            }
        }
        for claim in stated {
            let mut found = Vec::new();
            for (label, outcome) in &of_it {
                let same = outcome
                    .claims
                    .iter()
                    .filter(|c| (&c.what, &c.precision) == (&claim.what, &claim.precision));
                found.extend(same.filter(|c| c.ours.is_some()).map(|c| {
                    let mark = if c.holds() == Some(false) { " (no)" } else { "" };
                    format!("{label} {}: {}{mark}", c.on, print::of_claim(c))
                }));
            }
            let precision = claim.precision.as_deref().unwrap_or("-");
            lines.push(format!(
                "| {} | {} | {precision} | {} | {} | {} |",
                item.id,
                claim.what,
                print::papers(claim),
                found.join("; "),
                claim.rule.name()
            ));
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "\n| item | statement | type | paper | here | as in the paper if |\n|---|---|---|---|---|---|"
        );
        lines.iter().for_each(|line| *text += &format!("{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Rule, Verdict, tests::claim};
    use super::*;

    #[test]
    fn the_document_is_what_the_archives_say() {
        let written = std::fs::read_to_string(root().join("docs/reproduction.md")).unwrap();
        assert!(written == text(&archives().unwrap()), "run `cargo xtask reproduce --document`");
    }

    #[test]
    fn every_item_that_differs_in_an_archive_has_a_reason() {
        let archives = archives().unwrap();
        let all: Vec<&Archive> = archives.iter().collect();
        for paper in &PAPERS {
            let of_it: Vec<&Archive> = all.iter().copied().filter(|a| a.findings.paper == paper.id).collect();
            for item in paper.items {
                let differs =
                    outcomes(&of_it, item).any(|(_, outcome)| outcome.verdict() == Verdict::Differs);
                assert!(!differs || !item.reason.is_empty(), "{} {}", paper.id, item.id);
            }
        }
    }

    #[test]
    fn where_a_run_was_is_in_the_name_of_its_file() {
        assert_eq!(machine_of("2026-11-22-h200-cuda-reproduce-gao.json").as_deref(), Some("h200-cuda"));
        assert_eq!(machine_of("2026-11-22-h200-cuda-auto.txt"), None);
    }

    #[test]
    fn a_statement_that_does_not_hold_is_marked() {
        let mut measured = PAPERS[0].items.iter().filter(|item| matches!(item.how, How::Run { .. }));
        let mut outcome = Outcome::of(measured.next().unwrap().id);
        outcome.claims.push(claim(&[2.0], Some(0.3), Rule::SameWinner));
        let findings = Findings {
            schema: SCHEMA.into(),
            paper: PAPERS[0].id.into(),
            machine: "a machine".into(),
            commit: "0123456789".into(),
            quick: false,
            devices: vec![],
            read_gbs: 1.0,
            outcomes: vec![outcome],
        };
        let archive = Archive { file: "f.json".into(), label: "here".into(), findings };
        let text = text(&[archive]);
        assert!(text.contains("here: differs") && text.contains("here cpu: 0.30x (no)"), "{text}");
    }
}
