//! Commands of the workspace: `cargo xtask bench | test | ci | tidy`.
// Not `forbid`: the bench calls a vendor's library beside ours (bench/peers/mkl.rs).
#![deny(unsafe_code)]

mod bench;
mod ci;
mod test;
mod tidy;

use clap::{Parser, Subcommand};

/// Commands of the spmv workspace.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Multiplies matrices on every device found, checks the results, prints times.
    Bench(bench::Args),
    /// Says what this machine can test, and tests it.
    Test(test::Args),
    /// Everything that must hold before a change is merged.
    Ci(ci::Args),
    /// What the compiler does not check: crate edges, unsafe, kernel headers, documents.
    Tidy(tidy::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Tidy(args) => tidy::run(&args),
    }
}
