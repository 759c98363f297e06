//! The field's words, in documents, comments and identifiers.

use std::collections::HashMap;

use super::Workspace;

/// What to write, and what not to.
struct Row {
    write: &'static str,
    not: &'static [&'static str],
    /// Where: beginnings of paths; empty for everywhere.
    within: &'static [&'static str],
}

impl Row {
    fn is_for(&self, path: &str) -> bool {
        self.within.is_empty() || self.within.iter().any(|within| path.starts_with(within))
    }
}

const fn row(write: &'static str, not: &'static [&'static str]) -> Row {
    Row { write, not, within: &[] }
}

/// Words are compared in lower case, parts of identifiers one by one.
const TABLE: [Row; 18] = [
    row("nonzero, stored entry, slot, position, index", &["place", "places", "thing", "things"]),
    row("subgroup, warp", &["group of lanes"]),
    row("waves", &["strips", "strip rows"]),
    row("critical path", &["steps of the longest"]),
    row("timestamps, events", &["clock", "clocks"]),
    row("next to, compared with, together with", &["beside"]),
    row("heuristic, override", &["rule that names", "rules that name", "rules name"]),
    row("scratch memory, workspace, capacity", &["room", "rooms"]),
    row("alternate between (parity)", &["by turns"]),
    row("at least, at most", &["at the least", "at the most"]),
    row("reports, returns, says", &["tell", "tells"]),
    row(
        "comparison, table, cache, output",
        &["card", "cards", "contest", "contests", "desk", "desks", "shelf"],
    ),
    row("repair", &["mend", "mends", "mended"]),
    row("guard, mapped, borrowed", &["lent", "a look", "looks"]),
    row("axis", &["ladder", "ladders"]),
    row("directly", &["straight"]),
    row("a 2-D grid", &["lines of equal length"]),
    Row {
        write: "split, device share, host share, parts",
        not: &["cut", "cuts", "side", "sides", "halves", "pair", "pairs"],
        within: &[
            "crates/spmv-hetero/",
            "crates/spmv/src/hetero.rs",
            "crates/spmv/tests/hetero.rs",
            "crates/spmv-bench/src/bench/hetero.rs",
            "crates/spmv-bench/src/model/train.rs",
            "docs/hetero.md",
        ],
    },
];

/// Phrases in which such a word is the right one.
const ALLOWED: [&str; 10] = [
    "in place",
    "takes the place of",
    "strip prefix",
    "strip suffix",
    "room for",
    "no such thing",
    "looks for",
    "looks like",
    "clock control",
    "macro rules name",
];

/// Files that are other people's words, generated, or about these words; and the paper's own.
const LEFT_OUT: [&str; 7] = [
    "docs/results/",
    "crates/spmv-bench/papers/",
    "tests/data/",
    "crates/spmv-wgpu/src/snapshots/",
    "xtask/src/tidy/vocabulary.rs",
    "Cargo.lock",
    "LICENSE-APACHE",
];

/// Names and quotations with such a word: the file, and the phrase.
const QUOTED: [(&str, &str); 3] = [
    ("docs/prediction.md", "the paper's strips"),
    ("docs/bench-schema.md", "renamed: `card`"),
    ("crates/spmv-bench/src/bench/peers/petsc.rs", "\"VecPlaceArray\""),
];

/// No word of [`TABLE`] where another is the field's.
pub(crate) fn is_the_fields(w: &Workspace) -> Vec<String> {
    let mut phrases: HashMap<&str, Vec<(&Row, &str)>> = HashMap::new();
    for row in &TABLE {
        for phrase in row.not {
            let first = phrase.split(' ').next().unwrap_or(phrase);
            phrases.entry(first).or_default().push((row, phrase));
        }
    }
    let ours = w.tree.texts().filter(|(path, _)| !LEFT_OUT.iter().any(|out| path.starts_with(out)));
    let mut problems = Vec::new();
    for (path, text) in ours {
        for (number, line) in (1..).zip(text.lines()) {
            let words = words(line);
            let begun = words.iter().enumerate().filter_map(|(at, word)| Some((at, phrases.get(&**word)?)));
            for (at, (row, phrase)) in begun.flat_map(|(at, rows)| rows.iter().map(move |row| (at, *row))) {
                let is_quoted = || QUOTED.iter().any(|(file, quote)| *file == path && line.contains(quote));
                if row.is_for(path) && stands(&words, at, phrase) && !is_allowed(&words, at) && !is_quoted() {
                    problems.push(format!("{path}:{number}: '{phrase}': write {}", row.write));
                }
            }
        }
    }
    problems
}

/// Every listed path is there, and a quoted file holds its phrase.
pub(crate) fn lists_are_true(w: &Workspace) -> Vec<String> {
    let is_there = |start: &str| w.tree.paths().any(|path| path.starts_with(start));
    let within = TABLE.iter().flat_map(|row| row.within);
    let gone = LEFT_OUT.iter().chain(within).filter(|start| !is_there(start)).copied();
    let is_stale =
        |(file, phrase): &&(&str, &str)| w.tree.text(file).is_none_or(|text| !text.contains(phrase));
    let stale = QUOTED.iter().filter(is_stale).map(|(file, _)| *file);
    gone.chain(stale)
        .map(|path| format!("{path}: take it off the list in xtask/src/tidy/vocabulary.rs"))
        .collect()
}

/// Whether a phrase stands at that word of a line.
fn stands(line: &[String], at: usize, phrase: &str) -> bool {
    let mut rest = line[at..].iter();
    phrase.split(' ').all(|word| rest.next().is_some_and(|found| found == word))
}

/// Whether the word is part of an allowed phrase.
fn is_allowed(line: &[String], at: usize) -> bool {
    ALLOWED.iter().any(|phrase| {
        let before = phrase.split(' ').count() - 1;
        (at.saturating_sub(before)..=at).any(|start| stands(line, start, phrase))
    })
}

/// Words in lower case; `map_guard` and `MapGuard` are two.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in line.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        is_the_fields(&Workspace { tree: Tree::of(&[(path, text)]), ..Workspace::default() })
    }

    #[test]
    fn words_of_other_trades_are_found_in_prose_and_identifiers() {
        for text in ["// by turns", "fn on_place() {}", "struct CardRow;", "at the Least", "const PLACES: u8"]
        {
            assert_eq!(problems("a.rs", text).len(), 1, "{text}");
        }
        assert_eq!(
            problems("a.md", "\nfive places"),
            ["a.md:2: 'places': write nonzero, stored entry, slot, position, index"]
        );
    }

    #[test]
    fn allowed_phrases_and_other_words_pass() {
        for text in
            ["in place", "repaired_in_place", "replace", "room for x", "s.strip_prefix(a)", "a discard"]
        {
            assert_eq!(problems("a.rs", text), [""; 0], "{text}");
        }
        assert_eq!(problems("a.rs", "in place, at that place").len(), 1);
    }

    #[test]
    fn some_words_are_wrong_only_where_matrices_are_split() {
        assert_eq!(problems("crates/spmv-hetero/src/a.rs", "let cut = 1;").len(), 1);
        assert_eq!(problems("crates/spmv-exec/src/a.rs", "let cut = 1;"), [""; 0]);
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        let of = |files: &[(&str, &str)]| {
            lists_are_true(&Workspace { tree: Tree::of(files), ..Workspace::default() }).len()
        };
        let nothing = of(&[]);
        assert_eq!(of(&[("docs/results/a.txt", "")]), nothing - 1);
        assert_eq!(of(&[(QUOTED[0].0, QUOTED[0].1)]), nothing - 1);
        assert_eq!(of(&[(QUOTED[0].0, "other words")]), nothing);
    }
}
