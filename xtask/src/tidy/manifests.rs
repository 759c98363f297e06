//! What each package must say of itself.

use super::{Package, Workspace};

/// Packages that serve this repository alone.
const UNPUBLISHED: [&str; 2] = ["xtask", "spmv-conformance"];

/// Licence and description everywhere; a readme and publishable dependencies where it is published.
pub(crate) fn are_complete(w: &Workspace) -> Vec<String> {
    w.packages.iter().flat_map(|package| problems_of(w, package)).collect()
}

fn problems_of(w: &Workspace, package: &Package) -> Vec<String> {
    let mut problems = Vec::new();
    let mut problem = |text: String| problems.push(format!("{}Cargo.toml: {text}", package.folder()));
    for (field, value) in [("license", &package.license), ("description", &package.description)] {
        if value.as_ref().is_none_or(|v| v.trim().is_empty()) {
            problem(format!("lacks `{field}`"));
        }
    }
    let published = !UNPUBLISHED.contains(&package.name.as_str());
    match (published, package.publish) {
        (false, true) => problem("serves this repository alone; set `publish = false`".into()),
        (true, false) => {
            problem("is `publish = false`, but not listed in xtask/src/tidy/manifests.rs".into())
        }
        _ => {}
    }
    if !published {
        return problems;
    }
    match &package.readme {
        None => problem("lacks `readme`".into()),
        Some(readme) => {
            let path = format!("{}{readme}", package.folder());
            // `readme.workspace = true` leaves a path with `..` in it, which cargo itself checks.
            if !readme.contains("..") && !w.tree.has(&path) {
                problem(format!("names the readme {readme}, which is not there"));
            }
        }
    }
    for dep in package.deps.iter().filter(|dep| !dep.dev) {
        if UNPUBLISHED.contains(&dep.name.as_str()) {
            problem(format!("depends on {}, which is not published", dep.name));
        } else if dep.unversioned {
            problem(format!("depends on {} by path alone; add a version", dep.name));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::super::workspace::Dep;
    use super::*;

    fn problems(change: impl FnOnce(&mut Package)) -> Vec<String> {
        let mut package = Package {
            name: "spmv-core".into(),
            dir: "crates/spmv-core".into(),
            license: Some("MIT OR Apache-2.0".into()),
            description: Some("matrices".into()),
            readme: Some("README.md".into()),
            publish: true,
            ..Package::default()
        };
        change(&mut package);
        let tree = Tree::of(&[("crates/spmv-core/README.md", "")]);
        are_complete(&Workspace { tree, packages: vec![package], ..Workspace::default() })
    }

    fn dep(name: &str, dev: bool, unversioned: bool) -> Dep {
        Dep { name: name.into(), dev, unversioned }
    }

    #[test]
    fn a_complete_package_passes() {
        assert!(problems(|_| {}).is_empty());
        assert!(problems(|p| p.deps.push(dep("spmv-conformance", true, true))).is_empty());
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(problems(|p| p.license = None)[0].contains("license"));
        assert!(problems(|p| p.description = Some(" ".into()))[0].contains("description"));
        assert!(problems(|p| p.readme = None)[0].contains("readme"));
        assert!(problems(|p| p.readme = Some("MORE.md".into()))[0].contains("MORE.md"));
        assert!(problems(|p| p.publish = false)[0].contains("publish"));
        assert!(problems(|p| p.name = "xtask".into())[0].contains("publish = false"));
        assert!(
            problems(|p| p.deps.push(dep("spmv-conformance", false, false)))[0].contains("not published")
        );
        assert!(problems(|p| p.deps.push(dep("spmv-fixup", false, true)))[0].contains("version"));
    }
}
