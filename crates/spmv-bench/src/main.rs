//! Measures the library: `cargo xtask bench | fit | predict | train`.
// Not `forbid`: the vendors' libraries that are compared with are called by their C interfaces.
#![deny(unsafe_code)]

mod bench;
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
    /// Measures splits of matrices between every device found and the host's cores, and keeps models of their times.
    #[cfg(feature = "train")]
    Train(model::TrainArgs),
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Bench(args) => match bench::run(&args)? {
            Ending::Complete => {}
            Ending::Interrupted => return Ok(ExitCode::from(bench::stop::EXIT_STATUS)),
        },
        Command::Fit(args) => model::fit(&args)?,
        Command::Predict(args) => model::predict(&args)?,
        #[cfg(feature = "train")]
        Command::Train(args) => model::train(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
