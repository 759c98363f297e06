//! The program, ended by the signal that Ctrl-C sends.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Measurements of the run: far more than can be done before the signal.
const MATRICES: usize = 500;

#[test]
fn ctrl_c_ends_a_run_with_the_table_the_file_and_status_130() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/young1c.mtx.gz");
    let mut command = Command::new(env!("CARGO_BIN_EXE_spmv-bench"));
    command.args(["bench", "--backend", "cpu", "--precision", "f64", "--json"]).arg(&json);
    command.arg("--matrix").args(std::iter::repeat_n(&matrix, MATRICES));
    let mut bench = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(bench.stdout.take().unwrap());

    let mut row = String::new();
    out.read_line(&mut row).unwrap();
    assert!(row.starts_with("Re(young1c)") && row.contains("GFlop/s"), "a row as it is measured: {row}");
    let interrupt = format!("kill -INT {}", bench.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();

    assert_eq!(bench.wait().unwrap().code(), Some(130), "{rest}");
    let rows = rest.lines().filter(|line| line.starts_with("| Re(young1c)")).count();
    assert!((1..MATRICES).contains(&rows) && rest.contains("The run ended early"), "{rest}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["rows"].as_array().unwrap().len(), rows, "the file has what the table has");
}
