//! What checks read: files, packages as `cargo metadata` lists them, kernels.

use std::path::Path;

use anyhow::Context;
use cargo_metadata::{DependencyKind, MetadataCommand};
use spmv_backend::KernelId;

use super::tree::Tree;

/// All that checks read.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) tree: Tree,
    pub(crate) packages: Vec<Package>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) algorithms: Vec<Algorithm>,
}

impl Workspace {
    /// The packages that users get.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.publish)
    }

    /// The workspace that the current directory is in.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
        let root = metadata.workspace_root.as_std_path();
        let packages = metadata.packages.iter().map(|p| Package::of(p, root)).collect();
        let (kernels, algorithms) = (Kernel::all(), Algorithm::all());
        Ok(Self { tree: Tree::load(root)?, packages, kernels, algorithms })
    }
}

/// What checks need to know of a package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its folder from the workspace root.
    pub(crate) dir: String,
    pub(crate) license: Option<String>,
    pub(crate) description: Option<String>,
    /// From its own folder.
    pub(crate) readme: Option<String>,
    pub(crate) publish: bool,
    /// But for `default`.
    pub(crate) features: Vec<String>,
    pub(crate) deps: Vec<Dep>,
}

/// A dependency of a package.
#[derive(Clone, Debug)]
pub(crate) struct Dep {
    pub(crate) name: String,
    /// Needed by tests, examples and benches alone.
    pub(crate) dev: bool,
    /// Found by path, without a version: cannot be published.
    pub(crate) unversioned: bool,
}

impl Package {
    pub(crate) fn of(package: &cargo_metadata::Package, root: &Path) -> Self {
        let dir = package.manifest_path.as_std_path().parent().unwrap_or(root);
        let dir = dir.strip_prefix(root).unwrap_or(dir).to_string_lossy().replace('\\', "/");
        let dep = |d: &cargo_metadata::Dependency| Dep {
            name: d.name.clone(),
            dev: d.kind == DependencyKind::Development,
            unversioned: d.path.is_some() && d.req.to_string() == "*",
        };
        Self {
            name: package.name.to_string(),
            dir,
            license: package.license.clone(),
            description: package.description.clone(),
            readme: package.readme.as_ref().map(|path| path.to_string()),
            publish: package.publish.as_ref().is_none_or(|registries| !registries.is_empty()),
            features: package.features.keys().filter(|name| *name != "default").cloned().collect(),
            deps: package.dependencies.iter().map(dep).collect(),
        }
    }

    /// Its folder, as the beginning of its files' paths.
    pub(crate) fn folder(&self) -> String {
        if self.dir.is_empty() { String::new() } else { format!("{}/", self.dir) }
    }
}

/// A kernel as the parameter table of `spmv-backend` has it.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) stem: &'static str,
    pub(crate) params: Vec<&'static str>,
}

impl Kernel {
    /// Every row of `KernelId`.
    pub(crate) fn all() -> Vec<Self> {
        let params = |id: KernelId| id.params().iter().map(|param| param.name).collect();
        KernelId::ALL.iter().copied().map(|id| Self { stem: id.stem(), params: params(id) }).collect()
    }
}

/// An algorithm, as its row in `spmv-exec` and its facts have it.
#[derive(Clone, Debug)]
pub(crate) struct Algorithm {
    pub(crate) stem: &'static str,
    /// In Rust.
    pub(crate) name: String,
    /// Its main one.
    pub(crate) kernel: KernelId,
}

impl Algorithm {
    /// Every algorithm but `Auto`.
    pub(crate) fn all() -> Vec<Self> {
        let row = |algorithm: &spmv_exec::Algorithm| {
            let kernel = algorithm.facts()?.kernel;
            Some(Self { stem: algorithm.name(), name: format!("{algorithm:?}"), kernel })
        };
        spmv_exec::Algorithm::ALL.iter().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_are_those_of_the_crate_that_executes() {
        let all = Algorithm::all();
        assert_eq!(all.len() + 1, spmv_exec::Algorithm::ALL.len());
        let speculative = all.iter().find(|algorithm| algorithm.stem == "spec_segsum").unwrap();
        assert_eq!(speculative.name, "SpeculativeSegmentedSum");
        assert_eq!(speculative.kernel, KernelId::SpecSegsum);
    }
}
