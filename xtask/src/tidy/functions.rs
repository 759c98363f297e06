//! Functions that fit a screen or two.

use super::Workspace;
use super::code::{strip, words};

/// A function above this is several ideas; each gets a name of its own.
const MAX_LINES: usize = 80;

/// Folder of files that a program wrote.
const GENERATED: &str = "/generated/";

/// No function above [`MAX_LINES`], signature and braces included. Tests count, and so do functions in macros.
pub(crate) fn are_short(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in w.tree.rust().filter(|(path, _)| !path.contains(GENERATED)) {
        for (number, name, lines) in functions(&strip(text)).filter(|(.., lines)| *lines > MAX_LINES) {
            problems.push(format!(
                "{path}:{number}: fn {name} has {lines} lines, at most {MAX_LINES}; split it by idea"
            ));
        }
    }
    problems
}

/// Line, name and length of every function with a body, outer ones first. The text is stripped.
fn functions(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    words(text).filter(|(_, word)| *word == "fn").filter_map(|(at, _)| {
        let rest = &text[at + "fn".len()..];
        let name = rest.trim_start().split(|c: char| c != '$' && c != '_' && !c.is_alphanumeric()).next()?;
        let end = body_end(rest).filter(|_| !name.is_empty())?;
        let number = 1 + text[..at].matches('\n').count();
        Some((number, name, rest[..end].lines().count()))
    })
}

/// Where the braces close that open first outside of parentheses and brackets; `None` if `;` comes first.
fn body_end(text: &str) -> Option<usize> {
    let (mut inner, mut braces) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => inner += 1,
            ')' | ']' => inner -= 1,
            '{' if inner == 0 || braces > 0 => braces += 1,
            '}' if braces == 1 => return Some(at + 1),
            '}' if braces > 1 => braces -= 1,
            ';' if inner == 0 && braces == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    fn check(text: &str, lengths: &[(usize, &str, usize)]) {
        assert_eq!(Vec::from_iter(functions(&strip(text))), lengths, "{text}");
    }

    #[test]
    fn lengths_are_from_the_signature_to_the_closing_brace() {
        check("fn f() {}", &[(1, "f", 1)]);
        check("\nfn f(\n    a: [u8; 3],\n) -> u8 {\n    a[0]\n}\n", &[(2, "f", 5)]);
        check("fn f() {\n    fn g() {\n    }\n}\n", &[(1, "f", 4), (2, "g", 2)]);
        check("m! {\n    fn $name<T>(t: T) {\n    }\n}\n", &[(2, "$name", 2)]);
    }

    #[test]
    fn what_has_no_body_is_no_function() {
        check("trait T {\n    fn f(&self);\n}\n", &[]);
        check("type F = fn(usize) -> usize;\nstruct S { f: fn() }\n", &[]);
        check("// fn f() {}\nconst S: &str = \"fn g() {}\";\n", &[]);
        check("fn f() {\n    g(\"}\"); // }\n}\n", &[(1, "f", 3)]);
    }

    #[test]
    fn a_long_function_is_found() {
        let of_lines = |lines| format!("fn f() {{{}}}", "\n".repeat(lines - 1));
        let problems =
            |text: &str| are_short(&Workspace { tree: Tree::of(&[("a.rs", text)]), ..Workspace::default() });
        assert_eq!(problems(&of_lines(MAX_LINES)), [""; 0]);
        assert!(problems(&of_lines(MAX_LINES + 1))[0].contains("fn f has 81 lines"));
    }
}
