//! What no file may say, be called, or grow to.

use super::Workspace;
use super::code::strip;

/// Lines that one reads in one sitting are about 400; above this a file is split.
const MAX_LINES: usize = 600;

/// Rust files that may be longer, and why.
const LONG: [(&str, &str); 0] = [];

/// Folders of other people's data, which is copied as it is.
const DATA: [&str; 1] = ["tests/data/"];

/// Paths of one machine. In two pieces, so that this file does not contain them.
const PATHS: [&str; 7] = [
    concat!("/wo", "rk/"),
    concat!("/tm", "p/tgt"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
    concat!("C:\\Use", "rs"),
    concat!("../sha", "red/"),
];

/// Code that is not finished, and tests that do not say what they expect.
const CODE: [(&str, &str); 4] = [
    ("todo!(", "finish it"),
    ("unimplemented!(", "finish it"),
    ("#[should_panic", "return an error, or catch the panic and look at it"),
    ("#[ignore]", "give the reason: #[ignore = \"...\"]"),
];

/// Names that say nothing of what is inside.
const NAMES: [&str; 3] = ["utils", "helpers", "common"];

/// Where every locked package must come from.
const REGISTRY: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

/// No Rust file above [`MAX_LINES`] that is not in [`LONG`], and none in it that need not be.
pub(crate) fn files_are_short(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in w.tree.rust() {
        let (lines, listed) = (text.lines().count(), LONG.iter().any(|(long, _)| *long == path));
        if lines > MAX_LINES && !listed {
            problems.push(format!("{path}: {lines} lines, at most {MAX_LINES}; split it by idea"));
        } else if lines <= MAX_LINES && listed {
            problems.push(format!("{path}: {lines} lines; take it off the list in xtask/src/tidy/words.rs"));
        }
    }
    problems
}

/// No path of one machine, no unfinished code, no file name without meaning.
pub(crate) fn none_is_forbidden(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for path in w.tree.paths().filter(|path| path.ends_with(".rs")) {
        let parts = path.trim_end_matches(".rs").split('/');
        problems.extend(
            parts
                .filter(|p| NAMES.contains(p))
                .map(|name| format!("{path}: '{name}' does not say what is inside")),
        );
    }
    let ours = w.tree.texts().filter(|(path, _)| !DATA.iter().any(|data| path.starts_with(data)));
    for (path, text) in ours {
        for (number, line) in lines(text) {
            let found = PATHS.iter().filter(|word| line.contains(*word));
            problems.extend(found.map(|word| format!("{path}:{number}: '{word}' is a path of one machine")));
        }
        if !path.ends_with(".rs") {
            continue;
        }
        for (number, line) in lines(&strip(text)) {
            let found = CODE.iter().filter(|(word, _)| line.contains(word));
            problems.extend(found.map(|(word, way_out)| format!("{path}:{number}: '{word}': {way_out}")));
        }
    }
    problems
}

/// Nothing is locked to, or fetched from, any registry but crates.io.
pub(crate) fn registries_are_public(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in w.tree.texts() {
        let is = |name: &str| path == name || path.ends_with(&format!("/{name}"));
        for (number, line) in lines(text) {
            let line = line.trim();
            let elsewhere = line.strip_prefix("source = ").is_some_and(|source| source != REGISTRY);
            let replaced = ["[source", "[registr"].iter().any(|table| line.starts_with(table));
            if is("Cargo.lock") && elsewhere || is(".cargo/config.toml") && replaced {
                problems.push(format!("{path}:{number}: '{line}' is not crates.io"));
            }
        }
    }
    problems
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn with(path: &str, text: &str) -> Workspace {
        Workspace { tree: Tree::of(&[(path, text)]), ..Workspace::default() }
    }

    #[test]
    fn a_long_file_is_found() {
        assert!(files_are_short(&with("a.rs", &"\n".repeat(MAX_LINES))).is_empty());
        assert_eq!(files_are_short(&with("a.rs", &"\n".repeat(MAX_LINES + 1))).len(), 1);
        assert!(files_are_short(&with("a.md", &"\n".repeat(MAX_LINES + 1))).is_empty());
    }

    #[test]
    fn paths_of_one_machine_are_found_in_any_text() {
        for path in PATHS {
            let text = format!("see {path}a");
            assert_eq!(none_is_forbidden(&with("docs/a.md", &text)).len(), 1, "{path}");
            assert!(none_is_forbidden(&with("tests/data/a.mtx", &text)).is_empty());
        }
    }

    #[test]
    fn unfinished_code_is_found_and_prose_about_it_is_not() {
        for (word, _) in CODE {
            assert_eq!(none_is_forbidden(&with("a.rs", &format!("{word})")))[0].split(':').nth(1), Some("1"));
            assert!(none_is_forbidden(&with("a.rs", &format!("// {word}\nlet a = \"{word}\";"))).is_empty());
        }
        assert!(none_is_forbidden(&with("a.rs", "#[ignore = \"needs f64\"]")).is_empty());
    }

    #[test]
    fn names_without_meaning_are_found() {
        for path in ["src/utils.rs", "src/common/mod.rs", "tests/helpers.rs"] {
            assert_eq!(none_is_forbidden(&with(path, "")).len(), 1, "{path}");
        }
        assert!(none_is_forbidden(&with("src/common_rows.rs", "")).is_empty());
    }

    #[test]
    fn another_registry_is_found() {
        assert!(registries_are_public(&with("Cargo.lock", &format!("source = {REGISTRY}"))).is_empty());
        assert_eq!(registries_are_public(&with("Cargo.lock", "source = \"git+https://a.b\"")).len(), 1);
        assert_eq!(registries_are_public(&with(".cargo/config.toml", "[source.crates-io]")).len(), 1);
        assert_eq!(registries_are_public(&with("fuzz/Cargo.lock", "source = \"sparse+http://a\"")).len(), 1);
    }
}
