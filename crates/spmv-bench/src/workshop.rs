//! The commands of `cargo xtask` that measure.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use crate::bench;
use crate::{model, papers};

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

/// Runs the command that the arguments of this process name; those that `clap` refuses end the process.
///
/// # Errors
/// Those of the command, such as a device that was asked for and does not open.
pub fn workshop() -> anyhow::Result<ExitCode> {
    let words = crate::lists::join_lists(&Command::command(), std::env::args_os());
    match Command::parse_from(words) {
        Command::Bench(args) => return Ok(bench::run(&args)?.code()),
        Command::Reproduce(args) => return Ok(papers::run(&args)?.code()),
        Command::Fit(args) => model::fit(&args)?,
        Command::Predict(args) => model::predict(&args)?,
        Command::Partition(args) => bench::partition::run(&args)?,
        Command::Scale(args) => bench::scale::run(&args)?,
        Command::Exchange(args) => bench::exchange::run(&args)?,
        Command::Prepare(args) => bench::prepare::run(&args)?,
        Command::Blocks(args) => return Ok(bench::blocks::run(&args)?.code()),
        Command::Epilogues(args) => return Ok(bench::epilogues::run(&args)?.code()),
        Command::Mixed(args) => return Ok(bench::mixed::run(&args)?.code()),
        Command::Solve(args) => bench::solve::run(&args)?,
        #[cfg(feature = "train")]
        Command::Train(args) => model::train(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
