//! `spmv completions` and `spmv man`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;

/// `spmv completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell.
    shell: Shell,
}

/// `spmv man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// A folder, which gets a page for each command; without it the page of `spmv` goes to standard output.
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionArgs, mut command: Command) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "spmv", &mut text);
    Ok(std::io::stdout().lock().write_all(&text)?)
}

pub(crate) fn man(args: &ManArgs, command: Command) -> anyhow::Result<()> {
    match &args.folder {
        Some(folder) => {
            clap_mangen::generate_to(command, folder).with_context(|| folder.display().to_string())
        }
        None => Ok(clap_mangen::Man::new(command).render(&mut std::io::stdout().lock())?),
    }
}
