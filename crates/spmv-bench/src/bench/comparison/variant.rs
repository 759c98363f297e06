//! What cuSPARSE is asked for, and where it is looked for.

use std::path::{Path, PathBuf};

use super::super::report::ComparisonRow;

/// A way of `cusparseSpMV`: its algorithm, and whether `cusparseSpMV_preprocess` comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) algorithm: Algorithm,
    pub(super) preprocess: bool,
}

/// `cusparseSpMVAlg_t` of matrices in CSR form, with the numbers of cusparse.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// `CUSPARSE_SPMV_ALG_DEFAULT`.
    Default = 0,
    /// `CUSPARSE_SPMV_CSR_ALG1`.
    CsrAlg1 = 2,
    /// `CUSPARSE_SPMV_CSR_ALG2`.
    CsrAlg2 = 3,
}

impl Variant {
    /// Every variant; a library older than 12.4 cannot preprocess.
    pub(super) fn all(can_preprocess: bool) -> impl Iterator<Item = Self> {
        let ways: &[bool] = if can_preprocess { &[false, true] } else { &[false] };
        [Algorithm::Default, Algorithm::CsrAlg1, Algorithm::CsrAlg2]
            .into_iter()
            .flat_map(|algorithm| ways.iter().map(move |&preprocess| Self { algorithm, preprocess }))
    }

    /// Its name in reports.
    pub(super) fn contestant(self) -> String {
        let algorithm = match self.algorithm {
            Algorithm::Default => "default",
            Algorithm::CsrAlg1 => "csr_alg1",
            Algorithm::CsrAlg2 => "csr_alg2",
        };
        let preprocess = if self.preprocess { "+preprocess" } else { "" };
        format!("{}{algorithm}{preprocess}", ComparisonRow::CUSPARSE)
    }
}

/// Names of the libraries. 12 of cuSPARSE is of CUDA 12 and 13.
pub(super) const CUBLAS: [&str; 4] =
    ["libcublas.so.13", "libcublas.so.12", "libcublas.so", "cublas64_13.dll"];
pub(super) const CUSPARSE: [&str; 4] =
    ["libcusparse.so.12", "libcusparse.so.13", "libcusparse.so", "cusparse64_12.dll"];
pub(super) const NCCL: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Folders of a toolkit that the loader may not know.
const FOLDERS: [&str; 2] = ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"];

/// Files that may be the library: the user's word (a file or its folder) first, then what the loader finds, then a
/// toolkit's.
pub(super) fn candidates(names: &[&str], given: Option<&Path>) -> Vec<PathBuf> {
    let given_files = given
        .into_iter()
        .flat_map(|given| std::iter::once(given.to_owned()).chain(names.iter().map(|name| given.join(name))));
    let in_folders = FOLDERS.iter().flat_map(|folder| names.iter().map(|name| Path::new(folder).join(name)));
    given_files.chain(names.iter().map(PathBuf::from)).chain(in_folders).collect()
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
        let names: Vec<String> = Variant::all(true).map(Variant::contestant).collect();
        let expected = [
            "cusparse/default",
            "cusparse/default+preprocess",
            "cusparse/csr_alg1",
            "cusparse/csr_alg1+preprocess",
            "cusparse/csr_alg2",
            "cusparse/csr_alg2+preprocess",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn an_old_library_has_half_the_variants() {
        assert_eq!(Variant::all(false).count(), 3);
        assert!(Variant::all(false).all(|variant| !variant.preprocess));
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
    fn versions_and_statuses_have_names() {
        assert_eq!([version(12603), version(11600)], ["12.6.3", "11.6.0"]);
        assert_eq!([status(1), status(10), status(99), status(-1)].map(str::len), [15, 13, 14, 14]);
    }
}
