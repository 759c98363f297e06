//! What `cargo xtask bench` and its siblings run.
#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    spmv_bench::workshop()
}
