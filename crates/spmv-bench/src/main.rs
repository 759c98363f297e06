//! Measures the library: `cargo xtask bench | blocks | epilogues | exchange | fit | mixed | partition | predict | reproduce | scale | solve | train`.
// Not `forbid`: the vendors' libraries that are compared with are called by their C interfaces.
#![deny(unsafe_code)]

mod bench;
mod memory;
mod model;
mod papers;
mod precision;

use std::process::ExitCode;

use bench::Ending;
use clap::Parser;

/// Measures the library.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", version)]
enum Command {
    /// Multiplies matrices on every device found, checks the results, prints times.
    Bench(bench::Args),
    /// Measures generated matrices on every device found, and keeps what `predict` needs to know of it.
    Fit(model::FitArgs),
    /// Predicts times of real matrices, and measures them.
    Predict(model::PredictArgs),
    /// Shows tables and figures of the papers, their numbers next to ours.
    Reproduce(papers::Args),
    /// Counts what the parts of a matrix hold and exchange, by several ways to choose them.
    Partition(bench::partition::Args),
    /// Predicts products and conjugate gradients on many devices, from the parts of a matrix and what is measured here.
    Scale(bench::scale::Args),
    /// Times exchanges of two CUDA devices, and NCCL's.
    Exchange(bench::exchange::Args),
    /// Times handing matrices over, in products of them, on every device found.
    Prepare(bench::prepare::Args),
    /// Times products with several right-hand sides on every device found.
    Blocks(bench::blocks::Args),
    /// Times products that do more in the same pass on every device found.
    Epilogues(bench::epilogues::Args),
    /// Times products with values in narrower types than vectors on every device found.
    Mixed(bench::mixed::Args),
    /// Times conjugate gradients on every device found.
    Solve(bench::solve::Args),
    /// Measures splits of matrices between every device found and the host's cores, and keeps models of their times.
    #[cfg(feature = "train")]
    Train(model::TrainArgs),
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Bench(args) => return Ok(code(bench::run(&args)?)),
        Command::Reproduce(args) => return Ok(code(papers::run(&args)?)),
        Command::Fit(args) => model::fit(&args)?,
        Command::Predict(args) => model::predict(&args)?,
        Command::Partition(args) => bench::partition::run(&args)?,
        Command::Scale(args) => bench::scale::run(&args)?,
        Command::Exchange(args) => bench::exchange::run(&args)?,
        Command::Prepare(args) => bench::prepare::run(&args)?,
        Command::Blocks(args) => bench::blocks::run(&args)?,
        Command::Epilogues(args) => bench::epilogues::run(&args)?,
        Command::Mixed(args) => bench::mixed::run(&args)?,
        Command::Solve(args) => bench::solve::run(&args)?,
        #[cfg(feature = "train")]
        Command::Train(args) => model::train(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Complete => ExitCode::SUCCESS,
        Ending::Interrupted => ExitCode::from(bench::stop::EXIT_STATUS),
    }
}
