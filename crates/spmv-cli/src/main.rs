//! The command `spmv`: describes sparse matrices, multiplies, solves and times.
#![forbid(unsafe_code)]

mod device;
mod devices;
mod files;
mod info;
mod multiply;
mod shell;
mod solve;
mod spy;
mod time;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Computes with sparse matrices on whatever the machine has: CPU, CUDA, OpenCL, wgpu.
///
/// Matrices are Matrix Market files, plain or gzipped.
#[derive(Debug, Parser)]
#[command(name = "spmv", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what a matrix looks like, what each layout of it takes, and which plan a product follows and why.
    Info(info::Args),
    /// Multiplies matrices on every device found, checks the results, prints times as they are measured.
    Time(time::TimeArgs),
    /// Computes `y <- alpha*A*x + beta*y`.
    Multiply(multiply::Args),
    /// Solves `A*x = b`, or finds the `x` for which `b - A*x` is least.
    Solve(solve::Args),
    /// Counts what the parts of a matrix hold and exchange, by several ways to choose them.
    Partition(spmv_bench::PartitionArgs),
    /// Lists the devices that can be used, and why others cannot.
    Devices,
    /// Measures generated matrices on every device found, and keeps the rates that plans then follow.
    Fit(spmv_bench::FitArgs),
    /// Prints completions for a shell.
    Completions(shell::CompletionArgs),
    /// Writes man pages.
    Man(shell::ManArgs),
}

/// The command line, without what only those need who work on `spmv` itself.
fn command_line() -> clap::Command {
    let hide = |arg: clap::Arg| arg.hide(true);
    let command = Cli::command().mut_subcommand("fit", |fit| fit.mut_arg("built_in", hide));
    command.mut_subcommand("time", |time| time.mut_arg("tan_2019", hide).mut_arg("census", hide))
}

fn main() -> ExitCode {
    let command = command_line();
    let words = spmv_bench::join_lists(&command, std::env::args_os());
    let matches = command.get_matches_from(words);
    match Cli::from_arg_matches(&matches).map_err(Into::into).and_then(|cli| run(cli.command)) {
        Ok(code) => code,
        // What reads the output may not want all of it: `spmv info a.mtx | head`.
        Err(e) if is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Info(args) => info::run(&args)?,
        Command::Time(args) => return time::run(args),
        Command::Multiply(args) => multiply::run(&args)?,
        Command::Solve(args) => return solve::run(&args),
        Command::Partition(args) => spmv_bench::partition(&args)?,
        Command::Devices => devices::run()?,
        Command::Fit(args) => spmv_bench::fit(&args)?,
        Command::Completions(args) => shell::completions(&args, command_line())?,
        Command::Man(args) => shell::man(&args, command_line())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn is_broken_pipe(e: &anyhow::Error) -> bool {
    let kind = e.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        command_line().debug_assert();
    }

    #[test]
    fn help_shows_nothing_for_those_who_work_on_the_library() {
        let command = command_line();
        for (name, hidden) in [("fit", "built-in"), ("time", "census"), ("time", "tan-2019")] {
            let of_it = command.find_subcommand(name).unwrap();
            let argument = of_it.get_arguments().find(|a| a.get_long() == Some(hidden)).unwrap();
            assert!(argument.is_hide_set(), "{name} --{hidden}");
        }
    }
}
