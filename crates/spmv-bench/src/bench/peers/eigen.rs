//! Eigen with OpenMP, compiled when it is asked for: its headers and a C++ compiler are the machine's.

use std::ffi::c_int;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use libloading::Library;

use super::super::comparison::library::{Opened, once, symbol};
use super::{Factor, Peer, PeerValue};

const SOURCE: &str = include_str!("eigen.cpp");
/// Optimised for this machine, as a user would; bound when it is loaded, so that it keeps the compiler's OpenMP runtime if another
/// is loaded later.
const OPTIONS: [&str; 8] =
    ["-std=c++17", "-O3", "-march=native", "-fopenmp", "-DNDEBUG", "-fPIC", "-shared", "-Wl,-z,now"];
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];
/// Folders that may hold `Eigen/SparseCore`.
const FOLDERS: [&str; 4] = [
    "/usr/include/eigen3",
    "/usr/local/include/eigen3",
    "/opt/homebrew/include/eigen3",
    "/usr/local/include",
];

type MultiplyAdd<T> =
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_int, *const c_int, *const T, *const T, *mut T);
type SetThreads = unsafe extern "C" fn(c_int) -> c_int;
type Version = unsafe extern "C" fn() -> c_int;

/// A matrix that Eigen maps.
pub(super) struct Mapped<'a, T> {
    factor: Factor<'a, T>,
    multiply_add: MultiplyAdd<T>,
    about: String,
}

impl<'a, T: PeerValue> Mapped<'a, T> {
    pub(super) fn new(factor: Factor<'a, T>) -> anyhow::Result<Self> {
        let library = library()?;
        super::fits_c_int(factor.a)?;
        let name = match (size_of::<T>(), factor.transposed) {
            (4, false) => "spmv_eigen_f32",
            (4, true) => "spmv_eigen_transposed_f32",
            (_, false) => "spmv_eigen_f64",
            (_, true) => "spmv_eigen_transposed_f64",
        };
        let multiply_add: MultiplyAdd<T> = symbol(library, name)?;
        let set_threads: SetThreads = symbol(library, "spmv_eigen_threads")?;
        let version: Version = symbol(library, "spmv_eigen_version")?;
        // SAFETY: both are functions of `eigen.cpp`, declared there as here; any number of threads is allowed.
        let (threads, version) = unsafe { (set_threads(rayon::current_num_threads() as c_int), version()) };
        // The transpose of a matrix by rows is one by columns, whose products Eigen does not share out.
        let threads = super::threads(if factor.transposed { 1 } else { threads as usize });
        let about = format!(
            "Eigen {}.{}.{}, a row-major `SparseMatrix` with OpenMP; {threads}",
            version / 10_000,
            version / 100 % 100,
            version % 100
        );
        Ok(Self { factor, multiply_add, about })
    }
}

impl<T: PeerValue> Peer<T> for Mapped<'_, T> {
    fn run(&mut self, x: &[T], y: &mut [T]) -> anyhow::Result<()> {
        self.factor.check(x, y)?;
        let a = self.factor.a;
        let (m, n, nnz) = (a.n_rows() as c_int, a.n_cols() as c_int, a.nnz() as c_int);
        let (row_ptr, cols) = (a.row_ptr().as_ptr().cast(), a.cols().as_ptr().cast());
        // SAFETY: the arrays are those of a valid matrix whose counts fit `c_int` (checked in `new`), so its indices do;
        // x and y have the lengths of the product, checked above. The function keeps no pointer and throws nothing.
        unsafe {
            (self.multiply_add)(m, n, nnz, row_ptr, cols, a.vals().as_ptr(), x.as_ptr(), y.as_mut_ptr())
        };
        Ok(())
    }

    /// It adds to `y`.
    fn y_before(&self) -> T {
        T::default()
    }

    fn about(&self) -> String {
        self.about.clone()
    }
}

/// The compiled source, opened once.
pub(super) fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: Opened = Opened::new();
    once(&LIBRARY, build)
}

fn build() -> anyhow::Result<Library> {
    let headers = headers(std::env::var_os("SPMV_EIGEN").map(PathBuf::from))?;
    let compiler = compiler()?;
    let folder = tempfile::tempdir()?;
    let [source, library] = ["eigen.cpp", "libspmv_eigen.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, SOURCE)?;
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().context("CXX is empty")?);
    command.args(words).args(OPTIONS).arg("-I").arg(headers).arg(source).arg("-o").arg(&library);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find(|line| line.contains("error")).unwrap_or("no reason given");
    ensure!(output.status.success(), "{compiler} does not compile it: {error}");
    // SAFETY: it was compiled just now, from `SOURCE`. Its constructors are those of the C++ and OpenMP runtimes.
    Ok(unsafe { Library::new(&library) }?)
}

/// The folder with the headers.
fn headers(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let folders = match given {
        Some(given) => vec![given],
        None => FOLDERS.map(PathBuf::from).to_vec(),
    };
    let has_headers = |folder: &&PathBuf| folder.join("Eigen/SparseCore").is_file();
    match folders.iter().find(has_headers) {
        Some(folder) => Ok(folder.clone()),
        None => bail!(
            "no Eigen/SparseCore in {} (`apt-get install libeigen3-dev`, and SPMV_EIGEN may name its folder)",
            folders[0].display()
        ),
    }
}

/// `CXX`, or the first compiler that runs.
fn compiler() -> anyhow::Result<String> {
    if let Ok(given) = std::env::var("CXX") {
        return Ok(given);
    }
    let runs =
        |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
    let found = COMPILERS.iter().find(runs);
    Ok((*found.context("no C++ compiler (`apt-get install g++`, and CXX may name one)")?).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::first_and_second_product;
    use super::*;

    #[test]
    fn a_product_adds_to_y_where_there_is_eigen() {
        match library() {
            Ok(_) => {
                let (sums, of_transpose) = ([6.0, 0.0, 3.0, 12.0, 0.0, 6.0], [2.0, 7.0, 4.0, 14.0]);
                let by =
                    |it| first_and_second_product::<f64>(it, |factor| Ok(Box::new(Mapped::new(factor)?)));
                assert_eq!((&by(false)[..], &by(true)[..]), (&sums[..], &of_transpose[..]));
                let by =
                    |it| first_and_second_product::<f32>(it, |factor| Ok(Box::new(Mapped::new(factor)?)));
                assert_eq!(by(false), sums.map(|sum| sum as f32));
                assert_eq!(by(true), of_transpose.map(|sum| sum as f32));
            }
            Err(e) => {
                assert!(format!("{e:#}").contains("install") || format!("{e:#}").contains("compile"), "{e:#}")
            }
        }
    }

    #[test]
    fn a_machine_without_headers_gets_the_way_out() {
        let e = headers(Some("/nowhere".into())).unwrap_err().to_string();
        assert!(e.contains("/nowhere") && e.contains("libeigen3-dev") && e.contains("SPMV_EIGEN"), "{e}");
    }
}
