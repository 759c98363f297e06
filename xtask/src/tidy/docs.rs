//! Documents: what the README promises, and links that lead somewhere.

use super::{Tree, Workspace};

/// All that a newcomer types after `git clone`, each a line of the README.
const README_COMMANDS: [&str; 2] = ["cargo xtask test", "cargo xtask bench"];

/// README commands, an Unreleased section in the CHANGELOG, and both licence texts.
pub(crate) fn readme_changelog_and_licences(w: &Workspace) -> Vec<String> {
    let has_line = |path: &str, line: &str| {
        w.tree.text(path).is_some_and(|text| text.lines().any(|l| command(l) == line))
    };
    let mut problems: Vec<String> = README_COMMANDS
        .iter()
        .filter(|line| !has_line("README.md", line))
        .map(|line| format!("README.md: lacks the line '{line}'"))
        .collect();
    if !["## Unreleased", "## [Unreleased]"].iter().any(|line| has_line("CHANGELOG.md", line)) {
        problems.push("CHANGELOG.md: lacks the section '## Unreleased'".into());
    }
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"];
    problems
        .extend(licences.iter().filter(|path| !w.tree.has(path)).map(|path| format!("{path}: is missing")));
    problems
}

/// A line without the comment that may follow a command.
fn command(line: &str) -> &str {
    line.split(" # ").next().unwrap_or(line).trim()
}

/// Every relative link of a Markdown file leads to a file, and to a heading where it names one.
pub(crate) fn links_resolve(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in w.tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (number, target) in links(text) {
            if let Some(problem) = problem_of(&w.tree, path, target) {
                problems.push(format!("{path}:{number}: link to '{target}': {problem}"));
            }
        }
    }
    problems
}

fn problem_of(tree: &Tree, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let resolved = if file.is_empty() { Some(from.to_owned()) } else { resolve(from, file) };
    let Some(file) = resolved else { return Some("leaves the repository".into()) };
    if !tree.has(&file) {
        return Some(format!("{file} is not there"));
    }
    let text = tree.text(&file).filter(|_| file.ends_with(".md") && !heading.is_empty())?;
    let found = prose(text).any(|(_, line)| line.starts_with('#') && slug(line) == heading);
    if found { None } else { Some(format!("{file} has no heading '{heading}'")) }
}

/// `target` as seen from the folder of `from`; `None` if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A heading as GitHub names it in links.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Numbered lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Targets of `[text](target)` and `[name]: target`, outside of code.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| targets(line).into_iter().map(move |target| (number, target)))
}

fn targets(line: &str) -> Vec<&str> {
    if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        return vec![target.split(' ').next().unwrap_or(target)];
    }
    // Every second piece between backticks is code.
    let pieces = line.split('`').step_by(2);
    let ends = pieces.flat_map(|piece| piece.split("](").skip(1));
    ends.filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(files: &[(&str, &str)]) -> Workspace {
        Workspace { tree: Tree::of(files), ..Workspace::default() }
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        let problems = |text| links_resolve(&with(&[("docs/a.md", text), ("README.md", "# A `b`, c\n")]));
        for good in [
            "[x](../README.md)",
            "![x](../docs/a.md \"title\")",
            "[x](https://example.org/y)",
            "`[x](nothing.md)`",
            "```\n[x](nothing.md)\n```",
            "[x](../README.md#a-b-c)",
            "## Here\n[x](#here)",
            "[x]: ../README.md",
        ] {
            assert_eq!(problems(good), [""; 0], "{good}");
        }
        for bad in [
            "[x](nothing.md)",
            "a\n[x](README.md)",
            "[x](#no)",
            "[x](../README.md#b)",
            "[x]: b.md",
            "[x](../../a)",
        ] {
            assert_eq!(problems(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn what_the_readme_promises_must_be_in_it() {
        let readme = "```sh\ncargo xtask test\ncargo xtask bench # real matrices\n```";
        let files = [
            ("README.md", readme),
            ("CHANGELOG.md", "## [Unreleased]"),
            ("LICENSE-MIT", ""),
            ("LICENSE-APACHE", ""),
        ];
        assert!(readme_changelog_and_licences(&with(&files)).is_empty());
        for missing in 0..files.len() {
            let mut files = files.to_vec();
            files.remove(missing);
            assert!(!readme_changelog_and_licences(&with(&files)).is_empty(), "{missing}");
        }
    }
}
