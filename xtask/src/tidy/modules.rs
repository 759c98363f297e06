//! The modules of a crate, what each imports, and the file where that is defined.

use std::collections::{BTreeMap, BTreeSet};

use super::Tree;
use super::code::{strip, tokens, without_tests};

/// Names that lead to names: more steps than any path of ours takes, so that none goes round for ever.
const MAX_STEPS: usize = 32;

/// Words before the name of an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

/// The modules below one root, without those of tests. Number 0 is the root.
pub(crate) struct Modules<'a> {
    all: Vec<Module<'a>>,
}

#[derive(Default)]
struct Module<'a> {
    /// Path of the file that it is in; inline modules share that of the one around them.
    file: String,
    parent: Option<usize>,
    children: BTreeMap<&'a str, usize>,
    imports: Vec<Import<'a>>,
    items: BTreeSet<&'a str>,
}

/// One leaf of a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Import<'a> {
    path: Vec<&'a str>,
    /// `*` for a glob.
    name: &'a str,
}

/// Texts of a crate's files as [`Modules`] reads them: without comments, strings and tests.
pub(crate) fn sources(tree: &Tree, folder: &str) -> BTreeMap<String, String> {
    let files = tree.rust().filter(|(path, _)| path.starts_with(folder));
    files.map(|(path, text)| (path.to_owned(), without_tests(&strip(text)))).collect()
}

impl<'a> Modules<'a> {
    /// The modules that `root`, a key of `sources`, declares, and those that they declare.
    pub(crate) fn of(sources: &'a BTreeMap<String, String>, root: &str) -> Self {
        let mut modules = Self { all: Vec::new() };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        modules.read(sources, root, folder, None);
        modules
    }

    /// Reads a file as a new module. Files of its children are in `folder`.
    fn read(
        &mut self,
        sources: &'a BTreeMap<String, String>,
        file: &str,
        folder: &str,
        parent: Option<usize>,
    ) -> usize {
        let root = self.add(file, parent);
        let tokens: Vec<&str> = tokens(&sources[file]).map(|(_, token)| token).collect();
        // The module that each open brace is in, the folder of its children, and whether the brace is the module's own.
        let mut open = vec![(root, folder.to_owned(), true)];
        let mut at = 0;
        while at < tokens.len() {
            let (module, folder, is_own) = open.last().expect("braces match").clone();
            let rest = &tokens[at + 1..];
            match (tokens[at], rest) {
                ("mod", [name, "{", ..]) => {
                    let child = self.add(file, Some(module));
                    self.all[module].children.insert(name, child);
                    open.push((child, format!("{folder}/{name}"), true));
                    at += 2;
                }
                // Of a macro, which gives it a name.
                ("mod", ["$", _, "{", ..]) => {
                    open.push((self.add(file, Some(module)), folder, true));
                    at += 3;
                }
                ("mod", [name, ";", ..]) => {
                    let below = format!("{folder}/{name}");
                    let files = [format!("{below}.rs"), format!("{below}/mod.rs")];
                    if let Some(found) = files.iter().find(|file| sources.contains_key(*file)) {
                        let child = self.read(sources, found, &below, Some(module));
                        self.all[module].children.insert(name, child);
                    }
                }
                // Not a list of captured lifetimes.
                ("use", [next, ..]) if *next != "<" => {
                    let len = leaves(rest, &[], &mut self.all[module].imports);
                    at += len;
                }
                ("{", _) => open.push((module, folder, false)),
                ("}", _) if open.len() > 1 => drop(open.pop()),
                ("macro_rules", ["!", name, ..]) => drop(self.all[module].items.insert(name)),
                (word, [name, ..]) if is_own && ITEMS.contains(&word) => {
                    self.all[module].items.insert(name);
                }
                _ => {}
            }
            at += 1;
        }
        root
    }

    fn add(&mut self, file: &str, parent: Option<usize>) -> usize {
        self.all.push(Module { file: file.to_owned(), parent, ..Module::default() });
        self.all.len() - 1
    }

    /// Which file uses which other one, and the first name that it uses of it.
    pub(crate) fn edges(&self) -> BTreeMap<&str, BTreeMap<&str, String>> {
        let mut edges: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for (at, module) in self.all.iter().enumerate() {
            let from = edges.entry(&module.file).or_default();
            for import in &module.imports {
                let to = self.resolve(at, &import.path, MAX_STEPS).map(|to| self.all[to].file.as_str());
                if let Some(to) = to.filter(|to| *to != module.file) {
                    from.entry(to).or_insert_with(|| import.path.join("::"));
                }
            }
        }
        edges
    }

    /// The module that defines what a path means in the module `at`; `None` if another crate does.
    fn resolve(&self, at: usize, path: &[&str], steps: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match *first {
            "crate" => self.resolve_in(0, rest, steps),
            "self" => self.resolve_in(at, rest, steps),
            "super" => self.resolve_in(self.all[at].parent?, rest, steps),
            name if self.has(at, name) => self.resolve_in(at, path, steps),
            _ => None,
        }
    }

    /// As [`resolve`](Self::resolve), of a path that begins with a name of the module `at`.
    fn resolve_in(&self, at: usize, path: &[&str], steps: usize) -> Option<usize> {
        let Some((name, rest)) = path.split_first() else { return Some(at) };
        let (module, steps) = (&self.all[at], steps.checked_sub(1)?);
        if *name == "super" {
            return self.resolve_in(module.parent?, rest, steps);
        }
        if let Some(child) = module.children.get(name) {
            return self.resolve_in(*child, rest, steps);
        }
        if module.items.contains(name) {
            return Some(at);
        }
        let elsewhere = module.imports.iter().filter(|import| import.name == *name).find_map(|import| {
            let path = [&import.path, rest].concat();
            self.resolve(at, &path, steps)
        });
        let globs = module.imports.iter().filter(|import| import.name == "*");
        let from_glob = || {
            let mut targets = globs.filter_map(|glob| self.resolve(at, &glob.path, steps));
            let target = targets.find(|target| *target != at && self.has(*target, name))?;
            self.resolve_in(target, path, steps)
        };
        elsewhere.or_else(from_glob).or(Some(at))
    }

    /// Whether a module declares, defines or imports a name.
    fn has(&self, at: usize, name: &str) -> bool {
        let module = &self.all[at];
        module.children.contains_key(name)
            || module.items.contains(name)
            || module.imports.iter().any(|import| import.name == name)
    }
}

/// Adds the leaves of a `use` tree below `prefix`; returns how many tokens it has, up to a `,`, `}` or `;`.
fn leaves<'a>(tokens: &[&'a str], prefix: &[&'a str], into: &mut Vec<Import<'a>>) -> usize {
    let mut path = prefix.to_vec();
    let (mut at, mut name) = (0, None);
    while at < tokens.len() {
        match tokens[at] {
            "," | "}" | ";" => break,
            "{" => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at += leaves(&tokens[at..], &path, into);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            "*" => name = Some("*"),
            "as" => {
                at += 1;
                name = tokens.get(at).copied();
            }
            ":" => {}
            // That of a group is the module before it.
            "self" if !path.is_empty() => {}
            segment => path.push(segment),
        }
        at += 1;
    }
    if let Some(name) = name.or(path.last().copied()) {
        into.push(Import { path, name });
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges of files, each with the name that is used first.
    fn check(files: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
        let sources = sources(&Tree::of(files), "src/");
        let modules = Modules::of(&sources, files[0].0);
        let edges = modules.edges();
        let found =
            edges.iter().flat_map(|(from, to)| to.iter().map(|(to, name)| (*from, *to, name.as_str())));
        assert_eq!(Vec::from_iter(found), expected, "{files:?}");
    }

    #[test]
    fn trees_of_use_have_leaves() {
        let of = |text| {
            let mut imports = Vec::new();
            let tokens: Vec<&str> = tokens(text).map(|(_, token)| token).collect();
            assert_eq!(leaves(&tokens, &[], &mut imports), tokens.len() - 1, "{text}");
            imports
                .iter()
                .map(|i| format!("{} as {}", i.path.join("."), i.name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(of("crate::a::B;"), "crate.a.B as B");
        assert_eq!(of("super::*;"), "super as *");
        assert_eq!(of("a::{self, b::{C, D as E}, *,};"), "a as a, a.b.C as C, a.b.D as E, a as *");
        assert_eq!(of("{a, b::C};"), "a as a, b.C as C");
    }

    #[test]
    fn a_name_leads_to_the_file_that_defines_it() {
        let a = ("src/a.rs", "pub struct A;");
        let root = "mod a; mod b; pub use a::A;";
        let edge = ("src/lib.rs", "src/a.rs", "a::A");
        for (b, name) in [
            ("use crate::A;", "crate::A"),
            ("use super::a::A;", "super::a::A"),
            ("use crate::a;", "crate::a"),
        ] {
            check(&[("src/lib.rs", root), a, ("src/b.rs", b)], &[("src/b.rs", "src/a.rs", name), edge]);
        }
        let b = ("src/b.rs", "use crate::{A, Root};");
        let root = "mod a; mod b; use a::A; struct Root;";
        check(
            &[("src/lib.rs", root), a, b],
            &[("src/b.rs", "src/a.rs", "crate::A"), ("src/b.rs", "src/lib.rs", "crate::Root"), edge],
        );
    }

    #[test]
    fn modules_are_in_files_and_in_braces() {
        let root = "mod a; mod c { mod d; pub struct C; }";
        check(
            &[
                ("src/main.rs", root),
                ("src/a/mod.rs", "mod b; struct A;"),
                ("src/a/b.rs", "use super::A; use super::super::c::C; use std::fmt;"),
                ("src/c/d.rs", "use super::C; fn f() { use crate::a::b::B; }"),
            ],
            &[
                ("src/a/b.rs", "src/a/mod.rs", "super::A"),
                ("src/a/b.rs", "src/main.rs", "super::super::c::C"),
                ("src/c/d.rs", "src/a/b.rs", "crate::a::b::B"),
                ("src/c/d.rs", "src/main.rs", "super::C"),
            ],
        );
    }

    #[test]
    fn modules_of_macros_are_in_the_module_around_them() {
        let a = "macro_rules! m { ($name:ident) => { mod $name { use super::super::b::B; } } }";
        let files = [("src/lib.rs", "mod a; mod b;"), ("src/a.rs", a), ("src/b.rs", "pub struct B;")];
        check(&files, &[("src/a.rs", "src/b.rs", "super::super::b::B")]);
    }

    #[test]
    fn globs_are_followed_and_tests_are_not() {
        check(
            &[
                ("src/lib.rs", "mod a; mod b; pub use a::*; #[cfg(test)] mod t;"),
                ("src/a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
                ("src/b.rs", "use crate::A;"),
                ("src/t.rs", "use crate::b::B;"),
            ],
            &[("src/b.rs", "src/a.rs", "crate::A"), ("src/lib.rs", "src/a.rs", "a")],
        );
    }
}
