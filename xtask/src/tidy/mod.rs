//! What the compiler does not check: crate edges, where `unsafe` may stand, kernel headers, prose.
//!
//! A check is a function from the [`Workspace`] to the problems it found. All run, all problems are
//! printed. None reads a file itself, so a test gives it three lines of text instead of a checkout.

mod circles;
mod code;
mod counts;
mod decomposition;
mod docs;
mod edges;
mod figures;
mod functions;
mod kernels;
mod manifests;
mod modules;
mod tree;
mod unsafety;
mod vocabulary;
mod words;
mod workspace;

use anyhow::bail;

pub(crate) use tree::Tree;
pub(crate) use unsafety::crates_with_unsafe;
pub(crate) use workspace::{Algorithm, Kernel, Package, Workspace};

/// `cargo xtask tidy`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Writes the generated files anew instead of comparing them.
    #[arg(long)]
    bless: bool,
    /// Prints the files that name each algorithm, and those that list the types of values.
    #[arg(long)]
    count: bool,
}

/// A check's name, and the problems that it finds, each with the file and the way out.
type Check = (&'static str, fn(&Workspace) -> Vec<String>);

const CHECKS: [Check; 25] = [
    ("crate-edges", edges::follow_the_graph),
    ("two-backends", edges::only_the_facade_names_two_backends),
    ("core-without-io", edges::core_performs_no_io),
    ("unsafe-files", unsafety::only_in_the_listed_files),
    ("unsafe-list", unsafety::every_listed_file_needs_it),
    ("unsafe-lints", unsafety::crate_roots_forbid_it),
    ("kernel-codes", kernels::codes_agree),
    ("kernel-headers", kernels::headers_agree),
    ("kernel-files", kernels::every_language_has_every_kernel),
    ("kernel-table", kernels::table_is_in_step),
    ("algorithm-files", counts::algorithms_have_few_files),
    ("value-types", counts::value_types_have_few_files),
    ("file-circles", circles::no_file_uses_its_user),
    ("file-length", words::files_are_short),
    ("function-length", functions::are_short),
    ("words", words::none_is_forbidden),
    ("vocabulary", vocabulary::is_the_fields),
    ("vocabulary-lists", vocabulary::lists_are_true),
    ("lock-file", words::registries_are_public),
    ("figures", figures::quotations_are_exact),
    ("archives", figures::named_archives_are_there),
    ("decomposition", decomposition::is_drawn),
    ("links", docs::links_resolve),
    ("readme-and-licences", docs::readme_changelog_and_licences),
    ("manifests", manifests::are_complete),
];

/// Runs every check.
///
/// # Errors
/// If any check fails, or the workspace cannot be read.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut workspace = Workspace::load()?;
    if args.bless {
        for (path, text) in [kernels::blessed(&workspace), decomposition::blessed(&workspace)] {
            if workspace.tree.text(path) != Some(&text) {
                workspace.tree.write(path, text)?;
                println!("wrote {path}");
            }
        }
    }
    if args.count {
        println!("{}", counts::table(&workspace));
    }
    let failed = report(&workspace);
    if failed > 0 {
        bail!("{failed} of {} tidy checks failed", CHECKS.len());
    }
    Ok(())
}

/// Prints every check with its problems; returns how many failed.
fn report(workspace: &Workspace) -> usize {
    let mut failed = 0;
    for (name, check) in CHECKS {
        let problems = check(workspace);
        println!("{}  {name}", if problems.is_empty() { "ok  " } else { "FAIL" });
        problems.iter().for_each(|problem| println!("        {problem}"));
        failed += usize::from(!problems.is_empty());
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_workspace_fails() {
        assert!(report(&Workspace::default()) > 0);
    }

    #[test]
    fn names_of_checks_are_distinct() {
        let mut names: Vec<_> = CHECKS.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
