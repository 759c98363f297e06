//! Commands of the workspace: `cargo xtask bench | blocks | epilogues | fit | mixed | partition | predict | reproduce | scale | solve | train | test | ci | fuzz | tidy | kernels | python | pictures | release | weight`.
// Not `forbid`: one command calls the CUDA compiler (kernels/nvrtc.rs).
#![deny(unsafe_code)]

mod ci;
mod command;
mod fuzz;
mod kernels;
mod pictures;
mod python;
mod release;
mod test;
mod tidy;
mod weight;
mod workshop;

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
    #[command(disable_help_flag = true)]
    Bench(workshop::Args),
    /// Measures generated matrices on every device found, and keeps what `predict` needs to know of it.
    #[command(disable_help_flag = true)]
    Fit(workshop::Args),
    /// Predicts times of real matrices, and measures them.
    #[command(disable_help_flag = true)]
    Predict(workshop::Args),
    /// Shows tables and figures of the papers, their numbers next to ours.
    #[command(disable_help_flag = true)]
    Reproduce(workshop::Args),
    /// Counts what the parts of a matrix hold and exchange, by several ways to choose them.
    #[command(disable_help_flag = true)]
    Partition(workshop::Args),
    /// Predicts products and conjugate gradients on many devices, from the parts of a matrix and what is measured here.
    #[command(disable_help_flag = true)]
    Scale(workshop::Args),
    /// Times exchanges of two CUDA devices, and NCCL's.
    #[command(disable_help_flag = true)]
    Exchange(workshop::Args),
    /// Times handing matrices over, in products of them, on every device found.
    #[command(disable_help_flag = true)]
    Prepare(workshop::Args),
    /// Times products with several right-hand sides on every device found.
    #[command(disable_help_flag = true)]
    Blocks(workshop::Args),
    /// Times products that do more in the same pass on every device found.
    #[command(disable_help_flag = true)]
    Epilogues(workshop::Args),
    /// Times products with values in narrower types than vectors on every device found.
    #[command(disable_help_flag = true)]
    Mixed(workshop::Args),
    /// Times conjugate gradients on every device found.
    #[command(disable_help_flag = true)]
    Solve(workshop::Args),
    /// Measures splits of matrices between every device found and the host's cores, and keeps models of their times.
    #[command(disable_help_flag = true)]
    Train(workshop::Args),
    /// Says what this machine can test, and tests it.
    Test(test::Args),
    /// Everything that must hold before a change is merged.
    Ci(ci::Args),
    /// Builds the fuzz targets and runs all of them.
    Fuzz(fuzz::Args),
    /// What the compiler does not check: crate edges, unsafe, kernel headers, documents.
    Tidy(tidy::Args),
    /// Builds the PTX of the CUDA kernels, without a GPU or a toolkit.
    Kernels(kernels::Args),
    /// Builds the Python package and tests it.
    Python(python::Args),
    /// Makes the packages of a release, and tries them where nothing else is.
    Release(release::Args),
    /// Takes the pictures of the documents: the report page and a notebook, in a browser.
    Pictures(pictures::Args),
    /// What the facade costs a program, by features: crates, seconds to build, size.
    Weight,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Bench(args) => workshop::run("bench", &args),
        Command::Fit(args) => workshop::run("fit", &args),
        Command::Predict(args) => workshop::run("predict", &args),
        Command::Reproduce(args) => workshop::run("reproduce", &args),
        Command::Partition(args) => workshop::run("partition", &args),
        Command::Scale(args) => workshop::run("scale", &args),
        Command::Exchange(args) => workshop::run("exchange", &args),
        Command::Prepare(args) => workshop::run("prepare", &args),
        Command::Blocks(args) => workshop::run("blocks", &args),
        Command::Epilogues(args) => workshop::run("epilogues", &args),
        Command::Mixed(args) => workshop::run("mixed", &args),
        Command::Solve(args) => workshop::run("solve", &args),
        Command::Train(args) => workshop::run("train", &args),
        Command::Test(args) => test::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Tidy(args) => tidy::run(&args),
        Command::Kernels(args) => kernels::run(&args),
        Command::Python(args) => python::run(&args),
        Command::Release(args) => release::run(&args),
        Command::Pictures(args) => pictures::run(&args),
        Command::Weight => weight::run(),
    }
}
