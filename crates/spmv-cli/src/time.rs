//! `spmv time`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use spmv_bench::{BenchArgs, bench};

/// `spmv time`.
#[derive(Debug, clap::Args)]
pub(crate) struct TimeArgs {
    /// Matrix Market files, plain or gzipped, or names of matrices of the suites.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    bench: BenchArgs,
}

/// Measures until everything is, or until Ctrl-C.
pub(crate) fn run(mut args: TimeArgs) -> anyhow::Result<ExitCode> {
    args.bench.add_matrices(args.files);
    ensure!(args.bench.has_matrices(), "name matrices to multiply: files, or --suite");
    Ok(bench(&args.bench)?.code())
}
