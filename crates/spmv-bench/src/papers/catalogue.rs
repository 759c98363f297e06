//! The papers, and every table, figure, algorithm and numbered equation of them: the one list.

use super::item::Paper;
use super::{gao, liu_vinter, tan, wang};

/// All of them, the oldest first.
pub(crate) static PAPERS: [Paper; 4] = [liu_vinter::PAPER, gao::PAPER, wang::PAPER, tan::PAPER];

/// The paper of that name.
///
/// # Errors
/// If it is none of them.
pub(crate) fn find(id: &str) -> anyhow::Result<&'static Paper> {
    let known = || PAPERS.iter().map(|paper| paper.id).collect::<Vec<_>>().join(", ");
    let found = PAPERS.iter().find(|paper| paper.id == id);
    found.ok_or_else(|| anyhow::anyhow!("no paper '{id}'; known: {}", known()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::item::How;
    use super::*;

    #[test]
    fn every_number_of_a_data_file_belongs_to_an_item_and_no_item_stands_twice() {
        for paper in &PAPERS {
            let ids: BTreeSet<_> = paper.items.iter().map(|item| item.id).collect();
            assert_eq!(ids.len(), paper.items.len(), "{}", paper.id);
            let numbers = paper.numbers();
            let known: usize = ids.iter().map(|id| numbers.of_item(id).count()).sum();
            assert_eq!(known, numbers.all().len(), "{}: a number of no item", paper.id);
        }
    }

    #[test]
    fn tests_that_items_name_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (paper, item) in PAPERS.iter().flat_map(|p| p.items.iter().map(move |item| (p.id, item))) {
            let How::Tests(tests) = &item.how else { continue };
            // Every algorithm has trials of its name.
            for (package, name) in
                tests.iter().filter(|(_, name)| name.parse::<spmv::plan::Algorithm>().is_err())
            {
                let package = package.split(' ').next().unwrap_or_default();
                let folder =
                    ["crates", ""].map(|f| root.join(f).join(package)).into_iter().find(|f| f.is_dir());
                let folder = folder.unwrap_or_else(|| panic!("{paper} {}: no package {package}", item.id));
                let conformance = root.join("crates/spmv-conformance");
                assert!(
                    holds(&folder, name) || holds(&conformance, name),
                    "{paper} {}: {package} has no test {name}",
                    item.id
                );
            }
        }
    }

    /// Whether a source file of the folder has a test, or a group of the conformance suite, of that name.
    fn holds(folder: &Path, name: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            let is_source = path.extension().is_some_and(|e| e == "rs");
            let in_it =
                |text: &str| text.contains(&format!("fn {name}(")) || text.contains(&format!("/{name}\""));
            match path.is_dir() {
                true => holds(&path, name),
                false => is_source && in_it(&std::fs::read_to_string(&path).unwrap()),
            }
        })
    }
}
