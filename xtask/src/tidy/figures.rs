//! Figures of the documents on speed stand in archived runs.

use super::Workspace;

const DOCUMENTS: [&str; 4] = ["README.md", "docs/performance.md", "docs/hetero.md", "docs/prediction.md"];

/// The section of a document in which percentages are measurements too; elsewhere they may be bounds of an algorithm.
const MEASURED: &str = "## Measured";

/// What begins a quotation: the language of a code block, and the file that it is of.
const QUOTATION: &str = "```text ";

/// Every quoted line is one of the file that its block names, and every figure is quoted.
pub(crate) fn quotations_are_exact(w: &Workspace) -> Vec<String> {
    DOCUMENTS.into_iter().flat_map(|document| of_document(w, document)).collect()
}

fn of_document(w: &Workspace, document: &str) -> Vec<String> {
    let Some(text) = w.tree.text(document) else { return vec![format!("{document}: is not there")] };
    let mut problems = Vec::new();
    // The file that is quoted, if it is there.
    let mut quoted: Option<&str> = None;
    let (mut is_code, mut is_measured) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(file) = line.strip_prefix(QUOTATION) {
            quoted = w.tree.text(&format!("docs/{file}"));
            is_code = true;
            if quoted.is_none() {
                problems.push(format!("{document}:{number}: there is no docs/{file}"));
            }
        } else if line.starts_with("```") {
            (quoted, is_code) = (None, !is_code);
        } else if let Some(archive) = quoted {
            if !archive.lines().any(|archived| archived == line) {
                problems.push(format!("{document}:{number}: is no line of the file that it is quoted from"));
            }
        } else if !is_code {
            if line.starts_with("## ") {
                is_measured = line == MEASURED;
            }
            let percentage = || percentage(line).filter(|_| is_measured);
            if let Some(figure) = figure(line).or_else(percentage) {
                problems.push(format!("{document}:{number}: {figure}: quote the archived run that has it"));
            }
        }
    }
    problems
}

/// Every archive that a source names, as what chose a tiling or a bound, is there.
pub(crate) fn named_archives_are_there(w: &Workspace) -> Vec<String> {
    const FOLDER: &str = "docs/results/";
    let mut problems = Vec::new();
    for (path, text) in w.tree.rust().filter(|(path, _)| path.starts_with("crates/")) {
        for (at, _) in text.match_indices(FOLDER) {
            let rest = &text[at..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "/.-_".contains(c))).unwrap_or(rest.len());
            let archive = &rest[..end];
            if !w.tree.has(archive) {
                problems.push(format!("{path}: names {archive}, which is not there"));
            }
        }
    }
    problems
}

/// The first number with a decimal point; versions with two points, or after a product's name, are none.
fn figure(line: &str) -> Option<&str> {
    const PRODUCTS: [&str; 3] = ["License", "PoCL", "Rust"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_figure = |at: usize| {
        let digits = words[at].trim_matches(|c: char| !c.is_ascii_digit());
        let parts: Vec<&str> = digits.split('.').collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_version = at > 0 && PRODUCTS.contains(&words[at - 1]);
        (parts.len() == 2 && parts.iter().all(is_number) && !is_version).then_some(digits)
    };
    (0..words.len()).find_map(is_figure)
}

/// The first number with a percent sign that is no bound: `below 97%` says what was aimed at.
fn percentage(line: &str) -> Option<&str> {
    const BOUNDS: [&str; 1] = ["below"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_percentage = |at: usize| {
        let (digits, _) = words[at].split_once('%')?;
        let digits = digits.trim_start_matches(|c: char| !c.is_ascii_digit());
        let is_bound = at > 0 && BOUNDS.contains(&words[at - 1]);
        (!digits.is_empty() && !is_bound).then_some(digits)
    };
    (0..words.len()).find_map(is_percentage)
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    /// Of one document with this text, the others being empty.
    fn problems_of(document: &str, text: &str) -> Vec<String> {
        let texts = DOCUMENTS.map(|path| (path, if path == document { text } else { "" }));
        let archive = ("docs/results/a.txt", "speed 1.5\nother 2.5\n");
        let tree = Tree::of(&[&texts[..], &[archive]].concat());
        quotations_are_exact(&Workspace { tree, ..Workspace::default() })
    }

    fn problems(text: &str) -> Vec<String> {
        problems_of(DOCUMENTS[0], text)
    }

    #[test]
    fn lines_of_the_file_pass_and_others_do_not() {
        assert_eq!(problems("```text results/a.txt\nspeed 1.5\n```\nplain 7 times\n"), [""; 0]);
        assert!(problems("```text results/a.txt\nspeed 1.6\n```\n")[0].contains(":2: is no line"));
        assert!(
            problems("```text results/b.txt\nspeed 1.5\n```\n")[0].contains("there is no docs/results/b.txt")
        );
    }

    #[test]
    fn a_figure_outside_a_quotation_is_found() {
        assert!(problems("It is 1.26 times as fast.")[0].contains("1.26: quote"));
        assert!(problems("(0.9x)")[0].contains("0.9"));
        assert_eq!(
            problems("driver 580.159.04, PoCL 5.0, Rust 1.89, 20 matrices\n```sh\ncargo run 1.5\n```"),
            [""; 0]
        );
    }

    #[test]
    fn every_document_is_checked() {
        for document in DOCUMENTS {
            assert!(problems_of(document, "It is 1.26 times as fast.")[0].starts_with(document));
        }
    }

    #[test]
    fn a_percentage_is_a_figure_where_something_was_measured() {
        assert_eq!(problems("## Rules\nat most 85% of its time"), [""; 0]);
        assert!(problems("## Measured\n\noff by (9%) at the median")[0].contains(":3: 9: quote"));
        assert_eq!(problems("## Measured\nnever below 97% of it\n## Next\nby 85%"), [""; 0]);
    }

    #[test]
    fn an_archive_that_is_gone_is_found() {
        let named = |file| {
            let source = format!("const BY: &str = \"cargo xtask bench: docs/results/{file}\";");
            let tree = Tree::of(&[("crates/a/src/b.rs", source.as_str()), ("docs/results/a.txt", "")]);
            named_archives_are_there(&Workspace { tree, ..Workspace::default() })
        };
        assert_eq!(named("a.txt"), [""; 0]);
        assert_eq!(named("b.txt").len(), 1);
    }

    #[test]
    fn a_document_that_is_gone_is_found() {
        assert_eq!(quotations_are_exact(&Workspace::default()).len(), DOCUMENTS.len());
    }
}
