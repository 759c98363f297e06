//! The program as it is typed, on the CPU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/data/{name}.mtx.gz"))
}

/// Runs it in a folder; gives its standard output if it succeeds, and else what it says is wrong.
fn spmv(folder: &TempDir, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spmv"));
    let Output { status, stdout, stderr } =
        command.args(args).current_dir(folder).env("SPMV_BACKEND", "cpu").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if status.success() { Ok(text(stdout)) } else { Err(text(stderr) + &text(stdout)) }
}

/// A folder with a symmetric positive definite matrix and a vector.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 3\n3 2 1\n3 3 2\n",
    );
    write("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 2\n2 1 5\n");
    write("i.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 0 1\n");
    folder
}

#[test]
fn a_matrix_is_described_with_layouts_and_plan() {
    let text = spmv(&folder(), &["info", "a.mtx", "--precision", "f32"]).unwrap();
    for said in ["a: 3 rows, 3 columns, 7 nonzeros", "values: symmetric", "f32 values on cpu", "plan: "] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let planned: Vec<&str> = text.lines().filter(|line| line.contains("(planned)")).collect();
    assert_eq!(planned.len(), 1, "{text}");
}

#[test]
fn products_are_what_they_should_be() {
    let folder = folder();
    let multiply = |args: &[&str]| spmv(&folder, &[&["multiply"], args].concat());
    assert_eq!(multiply(&["a.mtx", "-x", "b.mtx"]).unwrap(), "6\n10\n8\n");
    assert_eq!(multiply(&["wide.mtx"]).unwrap(), "2\n5\n");
    assert_eq!(multiply(&["wide.mtx", "--transposed", "--alpha", "-2"]).unwrap(), "-10\n0\n-4\n");
    assert_eq!(multiply(&["a.mtx", "-y", "b.mtx", "--beta", "10"]).unwrap(), "15\n25\n33\n");
    assert_eq!(multiply(&["i.mtx"]).unwrap(), "0+1i\n");
    assert_eq!(multiply(&["a.mtx", "--output", "y.mtx.gz", "--precision", "f32"]).unwrap(), "");
    assert_eq!(multiply(&["wide.mtx", "-x", "y.mtx.gz"]).unwrap(), "6\n25\n");
}

#[test]
fn each_method_solves_and_writes_x() {
    let folder = folder();
    for method in ["cg", "pipelined-cg", "minres", "bicgstab", "gmres", "lsmr"] {
        let args = ["solve", "a.mtx", "--rhs", "b.mtx", "--method", method, "--output", "x.mtx"];
        let text = spmv(&folder, &args).unwrap();
        assert!(text.starts_with("converged after "), "{method}: {text}");
        let b = spmv(&folder, &["multiply", "a.mtx", "-x", "x.mtx"]).unwrap();
        let b: Vec<f64> = b.lines().map(|line| line.parse().unwrap()).collect();
        assert!(b.iter().zip([1.0, 2.0, 3.0]).all(|(b, to_be)| (b - to_be).abs() < 1e-6), "{method}: {b:?}");
    }
    for inverse in ["jacobi", "block-jacobi"] {
        spmv(&folder, &["solve", "a.mtx", "--precondition", inverse]).unwrap();
    }
    for method in ["bicgstab", "gmres", "lsmr"] {
        let args = ["solve", "i.mtx", "--rhs", "i.mtx", "--method", method, "--output", "x.mtx"];
        spmv(&folder, &args).unwrap();
        let x = std::fs::read_to_string(folder.path().join("x.mtx")).unwrap();
        let x: Vec<f64> = x.lines().last().unwrap().split(' ').map(|part| part.parse().unwrap()).collect();
        assert!((x[0] - 1.0).abs() < 1e-6 && x[1].abs() < 1e-6, "{method}: {x:?}");
    }
}

#[test]
fn a_residual_that_is_too_large_is_a_failure() {
    let matrix = data("epb0");
    let args = ["solve", matrix.to_str().unwrap(), "-m", "gmres", "--max-iterations", "5"];
    let said = spmv(&folder(), &args).unwrap_err();
    assert!(said.contains("not converged after 5 iterations"), "{said}");
}

#[test]
fn what_cannot_be_computed_is_refused_in_words() {
    let folder = folder();
    let refused = |args: &[&str], why: &str| {
        let said = spmv(&folder, args).unwrap_err();
        assert!(said.starts_with("error: ") && said.contains(why), "{args:?}: {said}");
    };
    refused(&["info", "none.mtx"], "none.mtx: neither a file nor a matrix of a suite");
    refused(&["multiply", "wide.mtx", "-y", "b.mtx"], "y has 3 values; the matrix has 2 rows");
    refused(&["multiply", "wide.mtx", "-x", "wide.mtx"], "a vector has one column; this matrix is 2 x 3");
    refused(&["multiply", "i.mtx", "--precision", "f64"], "the values are complex");
    refused(&["solve", "i.mtx", "--precision", "f64"], "the values are complex");
    refused(&["solve", "wide.mtx"], "only --method lsmr takes a matrix that is not square");
    refused(&["time"], "name matrices to multiply");
    std::fs::write(folder.path().join("bad.mtx"), "%%MatrixMarket matrix array real general\n1 1\nx\n")
        .unwrap();
    refused(&["multiply", "bad.mtx"], "bad.mtx: line 3: 'x' is no real number");
}

#[test]
fn times_are_of_checked_products() {
    let text = spmv(&folder(), &["time", "a.mtx", "--backend", "cpu", "--precision", "f64", "--repeat", "2"])
        .unwrap();
    assert!(text.starts_with("a ") && text.contains("GFlop/s") && text.contains("cpu:"), "{text}");
}

#[test]
fn the_guide_s_lines_run_as_typed() {
    let folder = folder();
    std::fs::rename(folder.path().join("a.mtx"), folder.path().join("matrix.mtx")).unwrap();
    let guide = include_str!("../../spmv/src/guide.rs");
    let lines: Vec<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .filter(|line| line.starts_with("spmv "))
        .collect();
    assert!(lines.len() > 5);
    for line in lines {
        let args: Vec<&str> = line.split_whitespace().skip(1).collect();
        spmv(&folder, &args).unwrap_or_else(|said| panic!("{line}: {said}"));
    }
}

#[test]
fn devices_parts_completions_and_pages_are_there() {
    let folder = folder();
    assert!(spmv(&folder, &["devices"]).unwrap().contains("| cpu "));
    assert!(spmv(&folder, &["partition", "a.mtx", "-n", "2"]).unwrap().contains("values received"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(spmv(&folder, &["completions", shell]).unwrap().contains("multiply"), "{shell}");
    }
    assert!(spmv(&folder, &["man"]).unwrap().contains("spmv\\-solve"));
    spmv(&folder, &["man", "."]).unwrap();
    assert!(folder.path().join("spmv-solve.1").exists());
}
