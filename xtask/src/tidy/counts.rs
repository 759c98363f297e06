//! How many files a new algorithm, or a new type of values, has to be written into.

use std::collections::BTreeSet;
use std::fmt::Write;

use spmv_backend::KernelId;

use super::code::{has_word, strip, tokens, without_comments_and_tests};
use super::{Algorithm, Tree, Workspace};

/// Files that may name an algorithm, its own aside: both lists, and one that has a reason.
const MAX_FILES: usize = 3;

/// Files that may list the types of values: the rows, a prelude for each language, and the loads of the CPU.
const MAX_VALUE_FILES: usize = 5;

/// The list of kernels and that of algorithms, where bare names count too.
const LISTS: [&str; 2] = ["crates/spmv-backend/src/kernels.rs", "crates/spmv-exec/src/algorithms/mod.rs"];

/// Storage formats, some of which algorithms are named after.
const FORMATS: &str = "crates/spmv-core/src/format/";

/// A type that nothing needs by itself, so that what names it lists types. In two pieces: this file is no list.
const LISTED: &str = concat!("b", "f16");

/// What an algorithm's path begins with.
const OWNERS: [&str; 3] = ["Algorithm", "Known", "KernelId"];

/// Few files name an algorithm.
pub(crate) fn algorithms_have_few_files(w: &Workspace) -> Vec<String> {
    let too_many = |(stem, files): (&str, Vec<&str>)| {
        let (n, names) = (files.len(), files.join(", "));
        let way_out = "let its own file say what they need";
        (n > MAX_FILES).then(|| format!("{stem}: {n} files name it, at most {MAX_FILES}: {names}; {way_out}"))
    };
    files(w).into_iter().filter_map(too_many).collect()
}

/// Few files list the types of values.
pub(crate) fn value_types_have_few_files(w: &Workspace) -> Vec<String> {
    let files = value_files(&w.tree);
    if files.len() <= MAX_VALUE_FILES {
        return vec![];
    }
    let (n, names) = (files.len(), files.join(", "));
    let way_out = "make lists by spmv_core::for_each_value! and cases by spmv_core::by_dtype!";
    vec![format!("{n} files list the types of values, at most {MAX_VALUE_FILES}: {names}; {way_out}")]
}

/// Both counts with their files, for `cargo xtask tidy --count`.
pub(crate) fn table(w: &Workspace) -> String {
    let mut out = String::from("| algorithm | files | which |\n|---|---|---|\n");
    let mut row = |name: &str, files: &[&str]| {
        // Writing to a `String` does not fail.
        let _ = writeln!(out, "| {name} | {} | {} |", files.len(), files.join(", "));
    };
    files(w).iter().for_each(|(stem, files)| row(stem, files));
    row("a type of values", &value_files(&w.tree));
    out
}

/// Whether a file is an algorithm's own: the host's, or the CPU's version of a kernel that the host's names.
fn owns(algorithm: &Algorithm, path: &str, of_host: &[(&str, &str)]) -> bool {
    let is_named = |name: &str| of_host.contains(&("KernelId", name));
    let mut kernels = KernelId::ALL.iter();
    path == host_file(algorithm)
        || kernels.any(|id| {
            path == format!("crates/spmv-cpu/src/kernels/{}.rs", id.stem()) && is_named(&format!("{id:?}"))
        })
}

/// All that the host knows of an algorithm.
fn host_file(algorithm: &Algorithm) -> String {
    format!("crates/spmv-exec/src/algorithms/{}.rs", algorithm.stem)
}

/// A file of code with what [`path_tokens`] finds in it.
struct Source<'p, 'c> {
    path: &'p str,
    code: &'c str,
    tokens: Vec<(&'c str, &'c str)>,
}

/// Whether the code of a file names an algorithm.
fn is_in(
    Algorithm { stem, name, kernel }: &Algorithm,
    Source { path, code, tokens }: &Source<'_, '_>,
) -> bool {
    let kernel_name = format!("{kernel:?}");
    let stems = [*stem, kernel.stem()];
    let is_path = tokens.iter().any(|(owner, found)| match *owner {
        "KernelId" => *found == kernel_name,
        _ => found == name,
    });
    let is_string =
        !path.starts_with(FORMATS) && stems.iter().any(|stem| code.contains(&format!("\"{stem}\"")));
    let words = || stems.into_iter().chain([name.as_str(), &kernel_name]);
    is_path || is_string || LISTS.contains(path) && words().any(|word| has_word(code, word))
}

/// What stands on either side of `::`, after one of [`OWNERS`].
fn path_tokens(code: &str) -> Vec<(&str, &str)> {
    let all: Vec<&str> = tokens(code).map(|(_, token)| token).collect();
    let named = |four: &[&'_ str]| matches!(four, [owner, ":", ":", _] if OWNERS.contains(owner));
    all.windows(4).filter(|four| named(four)).map(|four| (four[0], four[3])).collect()
}

/// For each algorithm the files outside of its own that name it.
fn files(w: &Workspace) -> Vec<(&'static str, Vec<&str>)> {
    let is_source = |path: &str| {
        let mut folders = path.split('/');
        match folders.next() {
            // The workshop chooses what to measure.
            Some("crates") => folders.next() != Some("spmv-bench") && folders.next() == Some("src"),
            Some(kernels) => kernels.starts_with("kernels-") && folders.next() == Some("src"),
            None => false,
        }
    };
    let texts: Vec<(&str, String)> =
        sources(&w.tree).filter(|(path, _)| is_source(path) && path.ends_with(".rs")).collect();
    let source = |(path, code)| Source { path, code, tokens: path_tokens(code) };
    let sources: Vec<Source<'_, '_>> = texts.iter().map(|(path, code)| source((*path, &**code))).collect();
    let of = |algorithm: &Algorithm| {
        let host = sources.iter().find(|of| of.path == host_file(algorithm));
        let of_host = host.map_or(&[][..], |host| &host.tokens);
        let others = sources.iter().filter(|of| !owns(algorithm, of.path, of_host));
        let naming = others.filter(|of| is_in(algorithm, of)).map(|of| of.path);
        (algorithm.stem, naming.collect())
    };
    w.algorithms.iter().map(of).collect()
}

/// The sources that list the types of values.
fn value_files(tree: &Tree) -> Vec<&str> {
    let is_it = |part: &str| part.eq_ignore_ascii_case(LISTED);
    let lists = |code: &str| code.split(|c: char| !c.is_alphanumeric()).any(is_it);
    sources(tree).filter(|(_, code)| lists(code)).map(|(path, _)| path).collect()
}

/// Path and text of every file of code that is neither a test nor an example, without comments and tests.
fn sources(tree: &Tree) -> impl Iterator<Item = (&str, String)> {
    let tests = test_files(tree);
    let is_code = |path: &str| [".rs", ".cu", ".cl", ".wgsl"].iter().any(|end| path.ends_with(end));
    let folders = ["tests", "examples", "benches", "fuzz", "ptx"];
    let is_source = move |path: &str| !path.split('/').any(|part| folders.contains(&part));
    let files = tree.texts().filter(move |(path, _)| is_code(path) && is_source(path));
    let files = files.filter(move |(path, _)| !tests.contains(*path));
    files.map(|(path, text)| (path, without_comments_and_tests(text)))
}

/// Files that are modules of tests: `#[cfg(test)] mod name;` in another file.
fn test_files(tree: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in tree.rust() {
        let code = strip(text);
        let name = |rest: &str| {
            let (name, _) = rest.trim_start().strip_prefix("mod ")?.split_once(';')?;
            name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| name.to_owned())
        };
        let folder = match path.rsplit_once('/') {
            Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
            _ => path.trim_end_matches(".rs"),
        };
        let names = code.split("#[cfg(test)]").skip(1).filter_map(name);
        found.extend(names.flat_map(|name| [".rs", "/mod.rs"].map(|end| format!("{folder}/{name}{end}"))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELL: &str = "crates/spmv-exec/src/algorithms/ell.rs";

    fn with(files: &[(&str, &str)]) -> Workspace {
        let ell = Algorithm { stem: "ell", name: "Ell".into(), kernel: KernelId::Ell };
        Workspace { tree: Tree::of(files), algorithms: vec![ell], ..Workspace::default() }
    }

    fn check(path: &str, text: &str, counts: bool) {
        let w = with(&[(ELL, "KernelId::Ell"), (path, text)]);
        let expected = if counts { vec![path] } else { vec![] };
        assert_eq!(files(&w), [("ell", expected)], "{path}: {text}");
    }

    #[test]
    fn paths_and_whole_strings_name_an_algorithm() {
        let path = "crates/a/src/b.rs";
        check(path, "Algorithm::Ell", true);
        check(path, "x(Known :: Ell)", true);
        check(path, "KernelId::Ell =>", true);
        check(path, "of(\"ell\")", true);
        check(path, "Algorithm::Ellpack; Other::Ell; \"ell pack\"; Ell", false);
        check("kernels-cuda/src/lib.rs", "\"ell\"", true);
    }

    #[test]
    fn comments_tests_and_other_folders_do_not() {
        let path = "crates/a/src/b.rs";
        check(path, "// Algorithm::Ell", false);
        check(
            path,
            "#[cfg(test)] mod tests { const A: A = Algorithm::Ell; const B: &str = \"ell\"; }",
            false,
        );
        check("crates/a/tests/b.rs", "Algorithm::Ell", false);
        check("xtask/src/b.rs", "Algorithm::Ell", false);
        check("crates/spmv-bench/src/b.rs", "Algorithm::Ell", false);
        let root = ("crates/a/src/lib.rs", "#[cfg(test)]\nmod faults;");
        let w = with(&[root, ("crates/a/src/faults.rs", "Algorithm::Ell")]);
        assert_eq!(files(&w), [("ell", vec![])]);
    }

    #[test]
    fn its_own_files_do_not_and_the_lists_do_by_any_word() {
        check("crates/spmv-cpu/src/kernels/ell.rs", "\"ell\"", false);
        check("crates/spmv-cpu/src/kernels/jad.rs", "\"ell\"", true);
        check("crates/spmv-core/src/format/ell.rs", "check(\"ell\")", false);
        check("crates/spmv-core/src/format/ell.rs", "Algorithm::Ell", true);
        LISTS.iter().for_each(|list| check(list, "ell Ell;", true));
    }

    #[test]
    fn a_file_too_many_is_a_problem() {
        let texts = ["a", "b", "c", "d"].map(|name| format!("crates/{name}/src/lib.rs"));
        let files: Vec<_> = texts.iter().map(|path| (path.as_str(), "Algorithm::Ell")).collect();
        assert_eq!(algorithms_have_few_files(&with(&files[..3])), [""; 0]);
        let problems = algorithms_have_few_files(&with(&files));
        assert!(
            problems[0].starts_with("ell: 4 files name it, at most 3: crates/a/src/lib.rs, "),
            "{problems:?}"
        );
        assert!(table(&with(&files[..1])).contains("| ell | 1 | crates/a/src/lib.rs |\n"));
    }

    #[test]
    fn files_that_list_value_types_are_found_in_any_language() {
        let lists = |path, text| value_files(&Tree::of(&[(path, text)])).len() == 1;
        for text in ["use half::{bf16, f16};", "Dtype::Bf16 => 2", "a(\"f16 bf16\")", "VALUE_BF16"] {
            assert!(lists("crates/a/src/b.rs", text) && lists("kernels-cuda/prelude.cu", text), "{text}");
        }
        assert!(!lists("crates/a/src/b.rs", "// bf16\n#[cfg(test)] mod tests { type A = bf16; }"));
        assert!(!lists("crates/a/tests/b.rs", "bf16") && !lists("docs/a.md", "bf16"));
    }

    #[test]
    fn a_list_too_many_is_a_problem() {
        let texts = ["a", "b", "c", "d", "e", "f"].map(|name| format!("xtask/src/{name}.rs"));
        let files: Vec<_> = texts.iter().map(|path| (path.as_str(), "bf16")).collect();
        assert_eq!(value_types_have_few_files(&with(&files[..5])), [""; 0]);
        assert!(value_types_have_few_files(&with(&files))[0].starts_with("6 files list the types of values"));
    }
}
