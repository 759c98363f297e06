//! The files of the repository, in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// Every file that git tracks or would track, by path from the root, with `/` on every system.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    root: PathBuf,
    /// `None` for a file that is not UTF-8 text.
    files: BTreeMap<String, Option<String>>,
}

/// Folders that hold no sources, where git does not say so.
const SKIPPED: [&str; 2] = [".git", "target"];

impl Tree {
    /// Reads the files under `root`: those that git names, or all where it is no checkout.
    pub(crate) fn load(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self { root: root.to_owned(), files: BTreeMap::new() };
        let paths = match git_files(root) {
            Some(paths) => paths,
            None => walk(root, "").context("reading the source tree")?,
        };
        for path in paths {
            // Deleted, but still in the index.
            let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
            tree.files.insert(path, String::from_utf8(bytes).ok());
        }
        Ok(tree)
    }

    /// The text of a file, if there is such a text file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Every text file, by path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Every Rust file, by path.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Every path.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty() || self.files.contains_key(path) || self.paths().any(|p| p.starts_with(&folder))
    }

    /// Writes a file, here and on disk.
    pub(crate) fn write(&mut self, path: &str, text: String) -> anyhow::Result<()> {
        std::fs::write(self.root.join(path), &text).with_context(|| format!("writing {path}"))?;
        self.files.insert(path.to_owned(), Some(text));
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| (path.to_string(), Some(text.to_string())));
        Self { root: PathBuf::new(), files: files.collect() }
    }
}

/// Tracked files and new ones that are not ignored; `None` without git or outside a checkout.
fn git_files(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let names = String::from_utf8(output.stdout).ok()?;
    Some(names.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &str) -> std::io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if !SKIPPED.contains(&name.as_str()) {
            paths.extend(walk(root, &path)?);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_there_if_a_file_is_in_them() {
        let tree = Tree::of(&[("docs/results/a.json", "")]);
        assert!(tree.has("docs/results") && tree.has("docs/") && tree.has("docs/results/a.json"));
        assert!(!tree.has("docs/res") && !tree.has("a.json"));
    }

    #[test]
    fn a_checkout_names_its_files_and_a_plain_folder_is_walked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let walked = walk(root, "").unwrap();
        assert!(walked.contains(&"Cargo.toml".to_owned()));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
        assert!(Tree::load(root).unwrap().text("Cargo.toml").is_some());
    }
}
