//! Figures of `docs/performance.md` stand in archived runs.

use super::Workspace;

const DOCUMENT: &str = "docs/performance.md";

/// What begins a quotation: the language of a code block, and the file that it is of.
const QUOTATION: &str = "```text ";

/// Every quoted line is one of the file that its block names.
pub(crate) fn quotations_are_exact(w: &Workspace) -> Vec<String> {
    let Some(text) = w.tree.text(DOCUMENT) else { return vec![format!("{DOCUMENT}: is not there")] };
    let mut problems = Vec::new();
    // The file that is quoted, if it is there.
    let mut quoted: Option<&str> = None;
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(file) = line.strip_prefix(QUOTATION) {
            quoted = w.tree.text(&format!("docs/{file}"));
            is_code = true;
            if quoted.is_none() {
                problems.push(format!("{DOCUMENT}:{number}: there is no docs/{file}"));
            }
        } else if line.starts_with("```") {
            (quoted, is_code) = (None, !is_code);
        } else if let Some(archive) = quoted {
            if !archive.lines().any(|archived| archived == line) {
                problems.push(format!("{DOCUMENT}:{number}: is no line of the file that it is quoted from"));
            }
        } else if let Some(figure) = figure(line).filter(|_| !is_code) {
            problems.push(format!("{DOCUMENT}:{number}: {figure}: quote the archived run that has it"));
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
    const PRODUCTS: [&str; 1] = ["PoCL"];
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

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let tree = Tree::of(&[(DOCUMENT, text), ("docs/results/a.txt", "speed 1.5\nother 2.5\n")]);
        quotations_are_exact(&Workspace { tree, ..Workspace::default() })
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
        assert_eq!(problems("driver 580.159.04, PoCL 5.0, 20 matrices\n```sh\ncargo run 1.5\n```"), [""; 0]);
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
        assert_eq!(quotations_are_exact(&Workspace::default()).len(), 1);
    }
}
