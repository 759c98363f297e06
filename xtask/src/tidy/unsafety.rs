//! `unsafe` stands in a few named files; every crate says that it stands nowhere else.

use std::collections::BTreeSet;

use super::code::{has_word, strip};
use super::{Package, Tree, Workspace};

/// A file that may contain `unsafe`, and why. A `*` stands for any text within one folder.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/spmv-backend/src/backend.rs", "declares the verb `launch`, implements nothing"),
    (
        "crates/spmv-conformance/src/probe.rs",
        "a backend that passes the verbs of another on, and one stray launch",
    ),
    ("crates/spmv-exec/src/launch.rs", "the one call of `launch`"),
    ("crates/spmv-cpu/src/device*.rs", "memory that kernels share, and their launch"),
    ("crates/spmv-cpu/src/simd/*.rs", "gathers without bounds checks, by instruction set"),
    ("crates/spmv-cuda/src/device*.rs", "driver calls"),
    ("crates/spmv-opencl/src/device*.rs", "driver calls"),
    ("crates/spmv-wgpu/src/device*.rs", "mapped memory"),
    ("crates/spmv-mpi/src/ffi.rs", "calls of MPI, and memory that persistent requests use"),
    (
        "crates/spmv-bench/src/bench/comparison/cublas.rs",
        "calls into a library that is measured, never shipped",
    ),
    (
        "crates/spmv-bench/src/bench/comparison/cusparse.rs",
        "calls into a library that is measured, never shipped, and replays of them",
    ),
    (
        "crates/spmv-bench/src/bench/comparison/cusparse_blocks.rs",
        "calls into a library that is measured, never shipped",
    ),
    (
        "crates/spmv-bench/src/bench/peers/mkl_blocks.rs",
        "calls into a library that is measured, never shipped",
    ),
    (
        "crates/spmv-bench/src/bench/comparison/nccl.rs",
        "calls into a library that is measured, never shipped",
    ),
    (
        "crates/spmv-bench/src/bench/comparison/library.rs",
        "the loading of libraries that are measured, never shipped",
    ),
    (
        "crates/spmv-bench/src/bench/peers/eigen.rs",
        "calls into a library that is measured and compiled for it, never shipped",
    ),
    ("crates/spmv-bench/src/bench/peers/mkl.rs", "calls into a library that is measured, never shipped"),
    ("crates/spmv-bench/src/bench/peers/petsc.rs", "calls into a library that is measured, never shipped"),
    ("python/src/cuda.rs", "arrays of other libraries on a CUDA device, used where they are"),
    ("xtask/src/kernels/nvrtc.rs", "calls into the CUDA compiler, never shipped"),
];

/// No `unsafe` outside [`ALLOWED`].
pub(crate) fn only_in_the_listed_files(w: &Workspace) -> Vec<String> {
    let files = files(&w.tree);
    let unlisted = files.iter().filter(|path| !ALLOWED.iter().any(|(pattern, _)| fits(pattern, path)));
    let problem =
        |path| format!("{path}: contains `unsafe`, but is not on the list in xtask/src/tidy/unsafety.rs");
    unlisted.map(problem).collect()
}

/// Every entry of [`ALLOWED`] is of a file that contains `unsafe`.
pub(crate) fn every_listed_file_needs_it(w: &Workspace) -> Vec<String> {
    let files = files(&w.tree);
    let patterns = ALLOWED.iter().map(|(pattern, _)| *pattern);
    let stale = patterns.filter(|pattern| !files.iter().any(|path| fits(pattern, path)));
    stale
        .map(|pattern| {
            format!("{pattern}: no such file contains `unsafe`; take it off the list in xtask/src/tidy/unsafety.rs")
        })
        .collect()
}

/// Every crate root forbids `unsafe`, or denies it where a file of the crate is on the list.
pub(crate) fn crate_roots_forbid_it(w: &Workspace) -> Vec<String> {
    let files = files(&w.tree);
    let mut problems = Vec::new();
    for package in &w.packages {
        let folder = package.folder();
        let has_unsafe = files.iter().any(|path| path.starts_with(&folder));
        let (attribute, why) = match has_unsafe {
            true => ("#![deny(unsafe_code)]", "with `allow` on the modules that need it"),
            false => ("#![forbid(unsafe_code)]", "no file of the crate needs any"),
        };
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| format!("{folder}{root}"));
        for (root, text) in roots.iter().filter_map(|root| Some((root, w.tree.text(root)?))) {
            if !strip(text).contains(attribute) {
                problems.push(format!("{root}: lacks {attribute} ({why})"));
            }
        }
    }
    problems
}

/// Names of the packages with a file that contains `unsafe`.
pub(crate) fn crates_with_unsafe(w: &Workspace) -> Vec<String> {
    let files = files(&w.tree);
    let has_unsafe = |p: &&Package| files.iter().any(|path| path.starts_with(&p.folder()));
    w.packages.iter().filter(has_unsafe).map(|p| p.name.clone()).collect()
}

/// Rust files that contain the keyword.
fn files(tree: &Tree) -> BTreeSet<&str> {
    tree.rust().filter(|(_, text)| has_word(&strip(text), "unsafe")).map(|(path, _)| path).collect()
}

/// Whether a path is the pattern's; a `*` stands for any text within one folder.
fn fits(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, end)) => path
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|middle| !middle.contains('/')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(files: &[(&str, &str)]) -> Workspace {
        let package =
            |name: &str| Package { name: name.into(), dir: format!("crates/{name}"), ..Package::default() };
        let packages = ["spmv-exec", "spmv-core"].map(package).into();
        Workspace { tree: Tree::of(files), packages, ..Workspace::default() }
    }

    #[test]
    fn unsafe_outside_the_list_is_found() {
        let w = workspace(&[("crates/spmv-core/src/csr.rs", "fn f() { unsafe { g() } }")]);
        assert_eq!(only_in_the_listed_files(&w).len(), 1);
        let w = workspace(&[("crates/spmv-core/src/csr.rs", "// unsafe is not needed here\n")]);
        assert!(only_in_the_listed_files(&w).is_empty());
    }

    #[test]
    fn a_listed_file_without_unsafe_or_that_is_gone_is_found() {
        let n_stale =
            |text| every_listed_file_needs_it(&workspace(&[("crates/spmv-exec/src/launch.rs", text)])).len();
        assert_eq!(n_stale("fn f() {}"), ALLOWED.len());
        assert_eq!(n_stale("unsafe fn f() {}"), ALLOWED.len() - 1);
    }

    #[test]
    fn a_star_does_not_reach_into_folders() {
        let is_device = |path| fits("crates/spmv-cuda/src/device*.rs", path);
        assert!(is_device("crates/spmv-cuda/src/device_memory.rs"));
        assert!(!is_device("crates/spmv-cuda/src/device/a/b.rs"));
        assert!(!is_device("crates/spmv-cuda/src/plan.rs"));
    }

    #[test]
    fn a_root_that_only_denies_without_need_is_found() {
        let launch = ("crates/spmv-exec/src/launch.rs", "unsafe fn f() {}");
        let exec = ("crates/spmv-exec/src/lib.rs", "#![deny(unsafe_code)]");
        let core = |text| ("crates/spmv-core/src/lib.rs", text);
        assert!(
            crate_roots_forbid_it(&workspace(&[launch, exec, core("#![forbid(unsafe_code)]")])).is_empty()
        );
        for text in ["", "#![deny(unsafe_code)]", "// #![forbid(unsafe_code)]"] {
            assert_eq!(crate_roots_forbid_it(&workspace(&[launch, exec, core(text)])).len(), 1, "{text}");
        }
        assert_eq!(crates_with_unsafe(&workspace(&[launch, exec])), ["spmv-exec"]);
    }
}
