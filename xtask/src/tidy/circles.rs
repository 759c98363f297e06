//! Files of a crate use each other one way: one can be read, and changed, without those above it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Workspace;
use super::modules::{Modules, sources};

/// Which file uses which other one, and a name that it uses of it.
type Graph<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

/// No file of a crate's `src` is used by one that it uses, as far as `use` lines show.
pub(crate) fn no_file_uses_its_user(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for package in &w.packages {
        let folder = format!("{}src/", package.folder());
        let sources = sources(&w.tree, &folder);
        for root in ["lib.rs", "main.rs"].map(|root| format!("{folder}{root}")) {
            if sources.contains_key(&root) {
                let modules = Modules::of(&sources, &root);
                problems.extend(circles(&modules.edges()).iter().map(|circle| in_words(&folder, circle)));
            }
        }
    }
    problems
}

/// Files that all use each other, directly or not.
struct Circle<'a> {
    n_files: usize,
    /// The shortest way from a file back to itself: each file, and the name that the one before it uses of it.
    steps: Vec<(&'a str, &'a str)>,
}

fn in_words(folder: &str, circle: &Circle<'_>) -> String {
    let name = |path: &str| path.strip_prefix(folder).unwrap_or(path).to_owned();
    let first = circle.steps.last().map_or(String::new(), |(file, _)| name(file));
    let steps = circle.steps.iter().map(|(file, used)| format!("uses {} ({used})", name(file)));
    let steps = Vec::from_iter(steps).join(", which ");
    let n = circle.n_files;
    format!("{folder}: {n} files in a circle: {first} {steps}; move what is shared into a file below them")
}

/// The strongly connected components with more than one file.
fn circles<'a>(graph: &'a Graph<'a>) -> Vec<Circle<'a>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|file| (*file, reached_from(graph, file))).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (file, below) in &reached {
        let is_with_it = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
        let files: Vec<&str> = below.iter().filter(is_with_it).copied().collect();
        if files.contains(file) && !seen.contains(file) {
            seen.extend(files.iter().copied());
            let ways = files.iter().filter_map(|file| way_back(graph, file));
            let shortest = ways.min_by_key(Vec::len);
            found.extend(shortest.map(|steps| Circle { n_files: files.len(), steps }));
        }
    }
    found
}

/// The files that a file uses, and those that these use. It is among them only if it is in a circle.
fn reached_from<'a>(graph: &'a Graph<'a>, file: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![file]);
    while let Some(file) = next.pop() {
        let used = graph.get(file).into_iter().flat_map(|used| used.keys().copied());
        next.extend(used.filter(|used| reached.insert(*used)));
    }
    reached
}

/// The shortest way from a file back to itself.
fn way_back<'a>(graph: &'a Graph<'a>, start: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let (mut seen, mut ways) = (BTreeSet::new(), VecDeque::from([Vec::new()]));
    while let Some(way) = ways.pop_front() {
        let here = way.last().map_or(start, |(file, _)| *file);
        for (file, used) in graph.get(here).into_iter().flatten() {
            if seen.insert(*file) {
                let longer = [&way[..], &[(*file, used.as_str())]].concat();
                if *file == start {
                    return Some(longer);
                }
                ways.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{Package, Tree};
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let packages = vec![Package { name: "a".into(), dir: "a".into(), ..Package::default() }];
        no_file_uses_its_user(&Workspace { tree: Tree::of(files), packages, ..Workspace::default() })
    }

    #[test]
    fn one_way_is_no_circle() {
        let root = ("a/src/lib.rs", "mod b; mod c; pub use c::C;");
        assert_eq!(
            problems(&[root, ("a/src/b.rs", "struct B;"), ("a/src/c.rs", "use crate::b::B;")]),
            [""; 0]
        );
        let back = "struct B; #[cfg(test)] mod tests { use crate::c::C; }";
        assert_eq!(problems(&[root, ("a/src/b.rs", back), ("a/src/c.rs", "use super::b;")]), [""; 0]);
    }

    #[test]
    fn a_circle_is_told_in_words() {
        let root = ("a/src/lib.rs", "mod b; mod c; mod d;");
        let c = ("a/src/c.rs", "use crate::d::D;");
        let d = ("a/src/d.rs", "use crate::b::B;");
        let found = problems(&[root, ("a/src/b.rs", "use crate::c::C;"), c, d]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains(
            "3 files in a circle: b.rs uses c.rs (crate::c::C), which uses d.rs (crate::d::D), which uses b.rs"
        ));
        let found = problems(&[root, ("a/src/b.rs", "use crate::{c::C, d::D};"), c, d]);
        assert!(
            found[0].contains(
                "3 files in a circle: b.rs uses d.rs (crate::d::D), which uses b.rs (crate::b::B);"
            )
        );
    }

    #[test]
    fn a_root_is_in_a_circle_if_what_it_uses_needs_what_it_defines() {
        let child = ("a/src/b.rs", "use crate::Options;");
        let defined = "mod b; pub use b::B; pub struct Options;";
        assert_eq!(problems(&[("a/src/lib.rs", defined), child]).len(), 1);
        let not_used = "mod b; pub struct Options;";
        assert_eq!(problems(&[("a/src/lib.rs", not_used), child]), [""; 0]);
        let elsewhere = "mod b; mod options; pub use b::B; pub use options::Options;";
        let options = ("a/src/options.rs", "pub struct Options;");
        assert_eq!(problems(&[("a/src/lib.rs", elsewhere), child, options]), [""; 0]);
    }
}
