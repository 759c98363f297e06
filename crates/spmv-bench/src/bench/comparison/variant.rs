//! What cuSPARSE is asked for, and where it is looked for.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::super::report::ComparisonRow;

/// A way of cuSPARSE to multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// `cusparseSpMV`, whether `cusparseSpMV_preprocess` comes first, and whether it multiplies by the transpose.
    SpMv { algorithm: SpMvAlgorithm, preprocess: bool, transposed: bool },
    /// `cusparseSpMVOp`, whose plan comes first.
    SpMvOp(OpAlgorithm),
}

/// `cusparseSpMVAlg_t` of matrices in CSR form, with the numbers of cusparse.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpMvAlgorithm {
    /// `CUSPARSE_SPMV_ALG_DEFAULT`.
    Default = 0,
    /// `CUSPARSE_SPMV_CSR_ALG1`.
    CsrAlg1 = 2,
    /// `CUSPARSE_SPMV_CSR_ALG2`.
    CsrAlg2 = 3,
}

/// `cusparseSpMVOpAlg_t`, with the numbers of cusparse.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpAlgorithm {
    /// `CUSPARSE_SPMVOP_ALG_DEFAULT`.
    Default = 0,
    /// `CUSPARSE_SPMVOP_ALG1`.
    Alg1 = 1,
    /// `CUSPARSE_SPMVOP_ALG2`.
    Alg2 = 2,
}

/// The first version, as `cusparseGetVersion` counts it, in which SpMVOp has algorithms and takes f32 (CUDA 13.3).
pub(super) const SPMVOP: i32 = 12_800;

impl Variant {
    /// Every way of `cusparseSpMV` by a matrix, or by its transpose; a library older than 12.4 cannot preprocess.
    pub(super) fn all(can_preprocess: bool, transposed: bool) -> impl Iterator<Item = Self> {
        let ways: &[bool] = if can_preprocess { &[false, true] } else { &[false] };
        [SpMvAlgorithm::Default, SpMvAlgorithm::CsrAlg1, SpMvAlgorithm::CsrAlg2]
            .into_iter()
            .flat_map(|algorithm| ways.iter().map(move |&preprocess| (algorithm, preprocess)))
            .map(move |(algorithm, preprocess)| Self::SpMv { algorithm, preprocess, transposed })
    }

    /// Every way of SpMVOp.
    pub(super) fn ops() -> impl Iterator<Item = Self> {
        [OpAlgorithm::Default, OpAlgorithm::Alg1, OpAlgorithm::Alg2].into_iter().map(Self::SpMvOp)
    }

    /// Its name in reports.
    pub(super) fn contestant(self) -> String {
        let (library, algorithm) = match self {
            Self::SpMv { algorithm: SpMvAlgorithm::Default, .. } => (ComparisonRow::CUSPARSE, "default"),
            Self::SpMv { algorithm: SpMvAlgorithm::CsrAlg1, .. } => (ComparisonRow::CUSPARSE, "csr_alg1"),
            Self::SpMv { algorithm: SpMvAlgorithm::CsrAlg2, .. } => (ComparisonRow::CUSPARSE, "csr_alg2"),
            Self::SpMvOp(OpAlgorithm::Default) => (ComparisonRow::SPMVOP, "default"),
            Self::SpMvOp(OpAlgorithm::Alg1) => (ComparisonRow::SPMVOP, "alg1"),
            Self::SpMvOp(OpAlgorithm::Alg2) => (ComparisonRow::SPMVOP, "alg2"),
        };
        let preprocess = if matches!(self, Self::SpMv { preprocess: true, .. }) { "+preprocess" } else { "" };
        let transposed = if self.is_transposed() { "+transpose" } else { "" };
        format!("{library}{algorithm}{preprocess}{transposed}")
    }

    pub(super) fn is_transposed(self) -> bool {
        matches!(self, Self::SpMv { transposed: true, .. })
    }
}

/// The environment variable that names libraries of cuSPARSE.
pub(super) const LIBRARIES: &str = "SPMV_CUSPARSE";

/// Names of the libraries. 12 of cuSPARSE is of CUDA 12 and 13.
pub(super) const CUBLAS: [&str; 4] =
    ["libcublas.so.13", "libcublas.so.12", "libcublas.so", "cublas64_13.dll"];
pub(super) const CUSPARSE: [&str; 4] =
    ["libcusparse.so.12", "libcusparse.so.13", "libcusparse.so", "cusparse64_12.dll"];
pub(super) const NCCL: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Folders of a toolkit that the loader may not know.
const FOLDERS: [&str; 2] = ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"];

/// The libraries that a value of [`LIBRARIES`] names, a list like `PATH`; without any, `None`: the one that is found.
pub(super) fn libraries(value: Option<&OsStr>) -> Vec<Option<PathBuf>> {
    let named = std::env::split_paths(value.unwrap_or_default()).filter(|path| !path.as_os_str().is_empty());
    let libraries: Vec<Option<PathBuf>> = named.map(Some).collect();
    if libraries.is_empty() { vec![None] } else { libraries }
}

/// Files that may be the library. A path with a folder is the user's word: a file, or the folder of one. Without, there is
/// what the loader finds under the name that was given, or under any; then a toolkit's.
pub(super) fn candidates(names: &[&str], given: Option<&Path>) -> Vec<PathBuf> {
    let given_files: Vec<PathBuf> = given
        .into_iter()
        .flat_map(|given| std::iter::once(given.to_owned()).chain(names.iter().map(|name| given.join(name))))
        .collect();
    if given.is_some_and(|given| given.components().count() > 1) {
        return given_files;
    }
    let in_folders = FOLDERS.iter().flat_map(|folder| names.iter().map(|name| Path::new(folder).join(name)));
    given_files.into_iter().chain(names.iter().map(PathBuf::from)).chain(in_folders).collect()
}

/// The nvJitLink in a folder, if there is one.
#[cfg(unix)]
pub(super) fn linker_in(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_linker = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvJitLink.so"))
    };
    files.filter(is_linker).min()
}

/// A version as `cusparseGetVersion` counts it: `12603` is 12.6.3.
pub(super) fn version(number: i32) -> String {
    format!("{}.{}.{}", number / 1000, number / 100 % 10, number % 100)
}

/// The name of a `cusparseStatus_t`.
pub(super) fn status(code: i32) -> &'static str {
    const NAMES: [&str; 12] = [
        "success",
        "not initialized",
        "allocation failed",
        "invalid value",
        "architecture mismatch",
        "mapping error",
        "execution failed",
        "internal error",
        "matrix type not supported",
        "zero pivot",
        "not supported",
        "insufficient resources",
    ];
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).unwrap_or(&"unknown status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_named_by_algorithm_and_preprocessing() {
        let names: Vec<String> = Variant::all(true, false).map(Variant::contestant).collect();
        let expected = [
            "cusparse/default",
            "cusparse/default+preprocess",
            "cusparse/csr_alg1",
            "cusparse/csr_alg1+preprocess",
            "cusparse/csr_alg2",
            "cusparse/csr_alg2+preprocess",
        ];
        assert_eq!(names, expected);
        let of_transpose = Variant::all(true, true).nth(3).unwrap();
        assert_eq!(of_transpose.contestant(), "cusparse/csr_alg1+preprocess+transpose");
        let names: Vec<String> = Variant::ops().map(Variant::contestant).collect();
        assert_eq!(names, ["spmvop/default", "spmvop/alg1", "spmvop/alg2"]);
    }

    #[test]
    fn an_old_library_has_half_the_variants() {
        assert_eq!(Variant::all(false, false).count(), 3);
        let preprocesses = |variant| matches!(variant, Variant::SpMv { preprocess: true, .. });
        assert!(!Variant::all(false, true).any(preprocesses));
    }

    #[test]
    fn the_users_word_comes_first_then_the_loader_then_toolkits() {
        let found = candidates(&CUSPARSE, Some(Path::new("own")));
        let at = |path: &str| found.iter().position(|p| p == Path::new(path)).unwrap();
        let order =
            ["own", "own/libcusparse.so.12", "libcusparse.so.12", "/usr/local/cuda/lib64/libcusparse.so.12"];
        assert!(order.map(at).is_sorted(), "{found:?}");
        assert_eq!(candidates(&CUSPARSE, None)[0], Path::new("libcusparse.so.12"));
    }

    #[test]
    fn a_path_with_a_folder_is_looked_for_alone() {
        let found = candidates(&["a.so", "b.so"], Some(Path::new("/own")));
        assert_eq!(found, ["/own", "/own/a.so", "/own/b.so"].map(PathBuf::from));
    }

    #[test]
    fn several_libraries_are_named_like_a_path() {
        let of = |paths: &[&str]| {
            let value = std::env::join_paths(paths).unwrap();
            libraries(Some(&value))
        };
        let [system, own] = ["libcusparse.so.12", "/own"].map(|path| Some(PathBuf::from(path)));
        assert_eq!(of(&["libcusparse.so.12", "/own"]), [system.clone(), own]);
        assert_eq!(of(&["", "libcusparse.so.12"]), [system]);
        assert_eq!((libraries(None), of(&[""])), (vec![None], vec![None]));
    }

    #[cfg(unix)]
    #[test]
    fn the_linker_is_found_next_to_a_library() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(linker_in(folder.path()), None);
        let linker = folder.path().join("libnvJitLink.so.13");
        for file in [&linker, &folder.path().join("libcusparse.so.12")] {
            std::fs::write(file, "").unwrap();
        }
        assert_eq!(linker_in(folder.path()), Some(linker));
    }

    #[test]
    fn versions_and_statuses_have_names() {
        assert_eq!([version(12603), version(11600)], ["12.6.3", "11.6.0"]);
        assert_eq!([status(1), status(10), status(99), status(-1)].map(str::len), [15, 13, 14, 14]);
    }
}
