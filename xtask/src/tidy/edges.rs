//! Which crate may depend on which.

use std::collections::BTreeSet;

use super::code::strip;
use super::{Package, Workspace};

/// The graph of `docs/ARCHITECTURE.md`: a crate, and those right below it. It may name any crate that
/// is reached from there.
const GRAPH: [(&str, &[&str]); 22] = [
    ("spmv-core", &[]),
    ("spmv-fixup", &["spmv-core"]),
    ("spmv-backend", &["spmv-core"]),
    ("spmv-io", &["spmv-core"]),
    ("spmv-partition", &["spmv-core"]),
    ("spmv-model", &["spmv-backend"]),
    ("spmv-exec", &["spmv-model", "spmv-fixup"]),
    ("spmv-hetero", &["spmv-exec"]),
    ("spmv-cpu", &["spmv-backend"]),
    ("spmv-cuda", &["spmv-backend", "spmv-kernels-cuda"]),
    ("spmv-opencl", &["spmv-backend", "spmv-kernels-opencl"]),
    ("spmv-wgpu", &["spmv-backend", "spmv-kernels-wgsl"]),
    (
        "spmv",
        &["spmv-hetero", "spmv-io", "spmv-partition", "spmv-cpu", "spmv-cuda", "spmv-opencl", "spmv-wgpu"],
    ),
    ("spmv-solvers", &["spmv"]),
    ("spmv-mpi", &["spmv"]),
    ("spmv-conformance", &["spmv-exec", "spmv-io"]),
    ("spmv-kernels-cuda", &[]),
    ("spmv-kernels-opencl", &[]),
    ("spmv-kernels-wgsl", &[]),
    ("spmv-bench", &["spmv-solvers", "spmv-io"]),
    ("spmv-cli", &["spmv-bench"]),
    ("xtask", &["spmv-exec", "spmv-kernels-cuda"]),
];

/// What tests, examples and benches of a crate may name beyond that, and what is below it: the suite,
/// and a device for code that is generic over devices.
const DEV: [(&str, &[&str]); 8] = [
    ("spmv-cpu", &["spmv-exec"]),
    ("spmv-cuda", &["spmv-conformance"]),
    ("spmv-opencl", &["spmv-conformance"]),
    ("spmv-wgpu", &["spmv-conformance"]),
    ("spmv-exec", &["spmv-cpu", "spmv-conformance"]),
    ("spmv-hetero", &["spmv-cpu"]),
    ("spmv", &["spmv-conformance", "spmv-solvers"]),
    ("spmv-mpi", &["spmv-conformance", "spmv-solvers"]),
];

const BACKENDS: [&str; 4] = ["spmv-cpu", "spmv-cuda", "spmv-opencl", "spmv-wgpu"];

/// May name several backends: the facade, and what measures them side by side.
const ASSEMBLERS: [&str; 2] = ["spmv", "spmv-bench"];

/// Everything that `spmv-core` stands on.
const CORE_DEPS: [&str; 6] = ["bytemuck", "half", "num-complex", "num-traits", "rayon", "thiserror"];

/// Paths to what `spmv-core` does not do.
const IO: [&str; 6] = ["std::fs", "std::io", "std::net", "std::process", "std::env", "println!"];

/// Every dependency between members is an edge of [`GRAPH`] or [`DEV`].
pub(crate) fn follow_the_graph(w: &Workspace) -> Vec<String> {
    let members: BTreeSet<&str> = w.packages.iter().map(|p| p.name.as_str()).collect();
    let mut problems = Vec::new();
    for package in &w.packages {
        if !GRAPH.iter().any(|(name, _)| *name == package.name) {
            problems.push(format!("{}: not in the crate graph of xtask/src/tidy/edges.rs", package.name));
            continue;
        }
        let below = below(&package.name);
        let for_tests = for_tests(&package.name);
        for dep in package.deps.iter().filter(|d| members.contains(d.name.as_str())) {
            let edge = format!("{} -> {}", package.name, dep.name);
            let name = dep.name.as_str();
            match (below.contains(name), for_tests.contains(name)) {
                (true, _) => {}
                (_, true) if dep.dev && dep.unversioned => {}
                (_, true) if dep.dev => {
                    problems.push(format!("{edge}: published later or never; name the path and no version"));
                }
                _ if dep.dev => problems.push(format!("{edge}: no such dev-dependency in the crate graph")),
                _ => problems.push(format!("{edge}: no such dependency in the crate graph")),
            }
        }
    }
    problems
}

/// The crates that `name` may depend on.
fn below(name: &str) -> BTreeSet<&'static str> {
    let direct = GRAPH.iter().filter(|(above, _)| *above == name).flat_map(|(_, below)| *below);
    direct.flat_map(|next| below(next).into_iter().chain([*next])).collect()
}

/// The crates that only tests, examples and benches of `name` may depend on.
fn for_tests(name: &str) -> BTreeSet<&'static str> {
    let direct = DEV.iter().filter(|(above, _)| *above == name).flat_map(|(_, named)| *named);
    direct.flat_map(|next| below(next).into_iter().chain([*next])).collect()
}

/// A second backend can be added without touching any crate but the facade.
pub(crate) fn only_the_facade_names_two_backends(w: &Workspace) -> Vec<String> {
    let backends = |p: &Package| -> BTreeSet<&str> {
        BACKENDS.into_iter().filter(|b| *b == p.name || p.deps.iter().any(|d| d.name == *b)).collect()
    };
    w.packages
        .iter()
        .filter(|p| !ASSEMBLERS.contains(&p.name.as_str()))
        .map(|p| (p, backends(p)))
        .filter(|(_, backends)| backends.len() > 1)
        .map(|(p, backends)| format!("{}: names {} backends, {backends:?}", p.name, backends.len()))
        .collect()
}

/// `spmv-core` has no dependency that performs IO or knows a device, and performs none itself.
pub(crate) fn core_performs_no_io(w: &Workspace) -> Vec<String> {
    let core = w.packages.iter().filter(|p| p.name == "spmv-core");
    let mut problems: Vec<String> = core
        .flat_map(|p| &p.deps)
        .filter(|d| !d.dev && !CORE_DEPS.contains(&d.name.as_str()))
        .map(|d| format!("spmv-core -> {}: not on the list of what it stands on", d.name))
        .collect();
    for (path, text) in w.tree.rust().filter(|(path, _)| path.starts_with("crates/spmv-core/src/")) {
        let code = strip(text);
        problems.extend(IO.iter().filter(|io| code.contains(*io)).map(|io| format!("{path}: uses {io}")));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::super::workspace::Dep;
    use super::*;

    /// Members, each with the dependencies named after it; `~` marks a dev-dependency.
    fn members(of: &[(&str, &[&str])]) -> Workspace {
        let dep = |name: &&str| Dep {
            name: name.trim_start_matches('~').into(),
            dev: name.starts_with('~'),
            unversioned: name.starts_with('~'),
        };
        let package = |(name, deps): &(&str, &[&str])| Package {
            name: name.to_string(),
            deps: deps.iter().map(dep).collect(),
            ..Package::default()
        };
        Workspace { packages: of.iter().map(package).collect(), ..Workspace::default() }
    }

    #[test]
    fn edges_of_the_graph_pass_and_others_do_not() {
        let w = |exec: &[&str], cpu: &[&str]| {
            members(&[
                ("spmv-core", &[]),
                ("spmv-io", &[]),
                ("spmv-backend", &["spmv-core"]),
                ("spmv-exec", exec),
                ("spmv-cpu", cpu),
                ("spmv-conformance", &["spmv-exec", "spmv-io"]),
            ])
        };
        let good: [&str; 3] = ["spmv-backend", "spmv-core", "~spmv-exec"];
        assert!(follow_the_graph(&w(&["spmv-backend", "rayon"], &good)).is_empty());
        for bad in ["spmv-exec", "spmv-conformance", "spmv-io"] {
            assert_eq!(follow_the_graph(&w(&[], &[bad])).len(), 1, "{bad}");
        }
        assert!(follow_the_graph(&w(&["~spmv-cpu", "~spmv-conformance"], &[])).is_empty());
        assert_eq!(follow_the_graph(&w(&[], &["~spmv-io"])).len(), 1);
    }

    #[test]
    fn a_version_on_what_is_published_later_is_found() {
        let mut w = members(&[("spmv-cpu", &[]), ("spmv-exec", &["~spmv-cpu"])]);
        w.packages[1].deps[0].unversioned = false;
        assert!(follow_the_graph(&w)[0].contains("no version"));
    }

    #[test]
    fn a_crate_outside_the_graph_is_found() {
        assert_eq!(follow_the_graph(&members(&[("spmv-gui", &[])])).len(), 1);
    }

    #[test]
    fn the_graph_has_no_cycle_and_names_no_stranger() {
        for (name, direct) in GRAPH {
            assert!(!below(name).contains(name), "{name}");
            assert!(direct.iter().all(|b| GRAPH.iter().any(|(n, _)| n == b)), "{name}");
        }
    }

    #[test]
    fn two_backends_in_one_crate_are_found() {
        let w = |name| members(&[(name, &["spmv-cpu", "spmv-wgpu"])]);
        assert!(only_the_facade_names_two_backends(&w("spmv")).is_empty());
        assert_eq!(only_the_facade_names_two_backends(&w("spmv-hetero")).len(), 1);
        assert_eq!(only_the_facade_names_two_backends(&members(&[("spmv-cuda", &["~spmv-cpu"])])).len(), 1);
    }

    #[test]
    fn io_in_the_core_is_found() {
        let core = |deps, text| Workspace {
            tree: Tree::of(&[("crates/spmv-core/src/csr.rs", text)]),
            ..members(&[("spmv-core", deps)])
        };
        assert!(core_performs_no_io(&core(&["half", "~proptest"], "//! No std::io.\nfn f() {}")).is_empty());
        assert_eq!(core_performs_no_io(&core(&["flate2"], "")).len(), 1);
        assert_eq!(core_performs_no_io(&core(&[], "use std::fs::File;")).len(), 1);
    }
}
