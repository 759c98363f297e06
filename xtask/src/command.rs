//! Commands that commands of the workspace run.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, bail};

/// The cargo that runs us.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a command to its end; anything but success is an error that names it.
pub(crate) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{status}: {command:?}");
    }
    Ok(())
}

/// The compiler's own target, such as `x86_64-unknown-linux-gnu`.
pub(crate) fn host() -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("rustc -vV")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_command_that_fails_or_does_not_exist_is_named() {
        let quiet = |command: &mut Command| succeed(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let error = |command: &mut Command| format!("{:#}", quiet(command).unwrap_err());
        assert!(error(Command::new("no-such-command").arg("x")).contains("no-such-command"));
        assert!(error(Command::new(cargo()).arg("no-such-verb")).contains("no-such-verb"));
        assert!(quiet(Command::new(cargo()).arg("--version")).is_ok());
    }

    #[test]
    fn the_host_is_a_target() {
        assert!(host().unwrap().split('-').count() >= 3);
    }
}
