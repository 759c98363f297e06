//! Commands of the workspace: `cargo xtask bench | fit | predict | train | test | ci | tidy | kernels`.
// Not `forbid`: two commands call a vendor's library (bench/peers/mkl.rs, kernels/nvrtc.rs).
#![deny(unsafe_code)]

mod bench;
mod ci;
mod kernels;
mod model;
mod precision;
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
    /// Measures generated matrices on every device found, and keeps what `predict` needs to know of it.
    Fit(model::FitArgs),
    /// Predicts times of real matrices, and measures them.
    Predict(model::PredictArgs),
    /// Measures cuts of matrices between every device found and the cores beside it, and keeps models of their times.
    Train(model::TrainArgs),
    /// Says what this machine can test, and tests it.
    Test(test::Args),
    /// Everything that must hold before a change is merged.
    Ci(ci::Args),
    /// What the compiler does not check: crate edges, unsafe, kernel headers, documents.
    Tidy(tidy::Args),
    /// Builds the PTX of the CUDA kernels, without a GPU or a toolkit.
    Kernels(kernels::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Fit(args) => model::fit(&args),
        Command::Predict(args) => model::predict(&args),
        Command::Train(args) => model::train(&args),
        Command::Test(args) => test::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Tidy(args) => tidy::run(&args),
        Command::Kernels(args) => kernels::run(&args),
    }
}
