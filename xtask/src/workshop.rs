//! Commands of `spmv-bench`: they need every backend and the libraries that are compared with, so `xtask` does not.

use std::ffi::OsString;
use std::process::Command;

use cargo_metadata::MetadataCommand;

/// Features that take minutes or a C compiler to build: the argument that needs one, and its name.
const FEATURES: [(&str, &str); 3] = [("--peers", "peers"), ("train", "train"), ("metis", "metis")];

/// What follows the command's name.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Passed on as they are; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    rest: Vec<OsString>,
}

/// Builds `spmv-bench` optimised and runs one of its commands, in the folder that the caller is in.
///
/// # Errors
/// If it does not start. A command that fails ends this process with its code.
pub(crate) fn run(command: &str, args: &Args) -> anyhow::Result<()> {
    become_command(&mut of(command, &args.rest)?)
}

/// A command of `spmv-bench`, which is built for it.
///
/// # Errors
/// Outside of a workspace.
pub(crate) fn of(command: &str, rest: &[OsString]) -> anyhow::Result<Command> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let manifest = metadata.workspace_root.join("Cargo.toml");
    let mut cargo = Command::new(crate::command::cargo());
    cargo.args(["run", "--quiet", "--release", "--package", "spmv-bench", "--manifest-path"]).arg(manifest);
    cargo.args(features(command, rest).flat_map(|feature| ["--features", feature]));
    cargo.args(["--", command]).args(rest);
    Ok(cargo)
}

/// The command instead of this process, so that Ctrl-C and the exit code are its own.
#[cfg(unix)]
fn become_command(command: &mut Command) -> anyhow::Result<()> {
    Err(std::os::unix::process::CommandExt::exec(command).into())
}

#[cfg(not(unix))]
fn become_command(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    if !status.success() {
        // The command has said why.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

fn features(command: &str, rest: &[OsString]) -> impl Iterator<Item = &'static str> {
    let needed =
        FEATURES.iter().filter(move |(by, _)| command == *by || rest.iter().any(|arg| names(arg, by)));
    needed.map(|(_, feature)| *feature)
}

/// Whether an argument is the one, or names it: `--by=rows,metis`.
fn names(arg: &OsString, by: &str) -> bool {
    arg.to_str().is_some_and(|arg| arg.split(['=', ',']).any(|word| word == by))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    #[command(disable_help_flag = true)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn every_argument_is_passed_on() {
        let given = ["bench", "--help", "--matrix", "a.mtx", "-h", "--", "--suite"];
        assert_eq!(Cli::parse_from(given).args.rest, given[1..]);
    }

    #[test]
    fn features_are_built_for_what_needs_them() {
        let of = |command, rest: &[&str]| {
            let rest: Vec<_> = rest.iter().map(OsString::from).collect();
            features(command, &rest).collect::<Vec<_>>()
        };
        assert_eq!(of("bench", &["--suite"]), [""; 0]);
        assert_eq!(of("bench", &["--suite", "--peers"]), ["peers"]);
        assert_eq!(of("train", &["--quick"]), ["train"]);
        assert_eq!(of("partition", &["a.mtx", "--by", "rows,rcm"]), [""; 0]);
        assert_eq!(of("partition", &["metis.mtx", "--by", "rows,metis"]), ["metis"]);
        assert_eq!(of("partition", &["a.mtx", "--by=metis"]), ["metis"]);
        assert_eq!(of("scale", &["a.mtx", "--by", "metis"]), ["metis"]);
    }
}
