//! Sets of matrices that have means of their own.

use spmv_io::classes;
use spmv_io::suite::{Class, ENTRIES, find};

use super::report::TRANSPOSED;

/// Some matrices of a run.
pub(crate) struct Set {
    /// How many they are, and which: `10 regular`, `34 of streaming classes`.
    pub(crate) title: String,
    group: Group,
}

/// Matrices by name, of any run.
#[derive(Clone, Copy)]
struct Group {
    name: &'static str,
    /// Between their number and the name.
    joint: &'static str,
    contains: fn(&str) -> bool,
}

/// Nonzeros above which a matrix stays in no cache: 160 MB of `f32` values and columns.
const LARGE_NNZ: usize = 20_000_000;

const ALL: Group = Group { name: "", joint: "", contains: |matrix| !matrix.ends_with(TRANSPOSED) };
const TRANSPOSES: Group = Group { name: "transposes", joint: "", contains: |m| m.ends_with(TRANSPOSED) };

/// The twins by class.
const TWINS: [Group; 2] = [
    Group { name: "irregular", joint: "", contains: |matrix| is_twin(matrix, Class::Irregular) },
    Group { name: "regular", joint: "", contains: |matrix| is_twin(matrix, Class::Regular) },
];

/// The classes, and either by size.
const CLASSES: [[Group; 3]; 2] = [
    [
        of_classes("streaming classes", |matrix| is_class(matrix, true, |_| true)),
        of_classes("streaming classes up to 20M nonzeros", |m| is_class(m, true, |nnz| nnz <= LARGE_NNZ)),
        of_classes("streaming classes above 20M nonzeros", |m| is_class(m, true, |nnz| nnz > LARGE_NNZ)),
    ],
    [
        of_classes("irregular classes", |matrix| is_class(matrix, false, |_| true)),
        of_classes("irregular classes up to 20M nonzeros", |m| is_class(m, false, |nnz| nnz <= LARGE_NNZ)),
        of_classes("irregular classes above 20M nonzeros", |m| is_class(m, false, |nnz| nnz > LARGE_NNZ)),
    ],
];

const fn of_classes(name: &'static str, contains: fn(&str) -> bool) -> Group {
    Group { name, joint: "of ", contains }
}

fn is_twin(matrix: &str, class: Class) -> bool {
    find(matrix).is_some_and(|entry| entry.class == class)
}

fn is_class(matrix: &str, streaming: bool, has_size: fn(usize) -> bool) -> bool {
    let is_it = |entry: &classes::Entry| entry.class.is_streaming() == streaming && has_size(entry.nnz);
    classes::find(matrix).is_some_and(is_it)
}

/// All matrices of a run, and all transposes if there are any; where all twins ran, their two classes; where some of the classes ran, streaming and irregular ones, and either
/// by size if there are smaller and larger ones.
pub(crate) fn of<'a>(matrices: impl IntoIterator<Item = &'a str>) -> Vec<Set> {
    let mut names: Vec<&str> = matrices.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    let count = |group: &Group| names.iter().filter(|name| (group.contains)(name)).count();
    let mut groups: Vec<Group> = [TRANSPOSES].into_iter().filter(|group| count(group) > 0).collect();
    if ENTRIES.iter().all(|entry| names.contains(&entry.name)) {
        groups.extend(TWINS);
    }
    for [whole, parts @ ..] in CLASSES.into_iter().filter(|[whole, ..]| count(whole) > 0) {
        groups.push(whole);
        if parts.iter().all(|part| count(part) > 0) {
            groups.extend(parts);
        }
    }
    let titled =
        |group: Group| Set { title: format!("{} {}{}", count(&group), group.joint, group.name), group };
    let all = Set { title: format!("all {}", count(&ALL)), group: ALL };
    std::iter::once(all).chain(groups.into_iter().map(titled)).collect()
}

impl Set {
    pub(crate) fn contains(&self, matrix: &str) -> bool {
        (self.group.contains)(matrix)
    }

    /// A name of what means are of: with that of the set, unless it is of all matrices.
    pub(crate) fn label(&self, name: &str) -> String {
        if self.is_all() { name.to_owned() } else { format!("{name}, {}", self.group.name) }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.group.name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles<'a>(matrices: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        of(matrices).into_iter().map(|set| set.title).collect()
    }

    #[test]
    fn files_and_a_part_of_the_twins_are_one_set() {
        assert_eq!(titles(["a", "cant", "dc2", "a"]), ["all 3"]);
    }

    #[test]
    fn transposes_are_a_set_of_their_own() {
        assert_eq!(titles(["a", "cant", "cant^T"]), ["all 2", "1 transposes"]);
        let sets = of(["a", "a^T"]);
        assert_eq!(sets.iter().map(|set| set.contains("a^T")).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn all_twins_are_regular_or_irregular() {
        let names = ENTRIES.iter().map(|entry| entry.name);
        assert_eq!(titles(names.chain(["a"])), ["all 21", "10 irregular", "10 regular"]);
    }

    #[test]
    fn classes_are_streaming_or_irregular_and_small_or_large() {
        let some = ["stencil5-1e5", "rmat-1e5"];
        assert_eq!(titles(some), ["all 2", "1 of streaming classes", "1 of irregular classes"]);
        let sets = of(classes::ENTRIES.iter().map(|entry| entry.name));
        let titles: Vec<&str> = sets.iter().map(|set| &*set.title).collect();
        let expected = [
            "all 75",
            "34 of streaming classes",
            "24 of streaming classes up to 20M nonzeros",
            "10 of streaming classes above 20M nonzeros",
            "41 of irregular classes",
            "30 of irregular classes up to 20M nonzeros",
            "11 of irregular classes above 20M nonzeros",
        ];
        assert_eq!(titles, expected);
        assert!(sets[3].contains("fem3-1e8") && !sets[3].contains("fem3-1e7"));
        assert_eq!(sets[3].label("auto"), "auto, streaming classes above 20M nonzeros");
        assert_eq!(sets[0].label("auto"), "auto");
    }
}
