//! ptxas, the assembler: proves that devices take a PTX text, and counts what an entry needs of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use spmv_kernels_cuda::recipe::COMPILER;

/// What one lane of an entry needs on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) registers: u32,
    /// Bytes of the lane's own memory, such as arrays that are indexed by variables, spilled registers included.
    pub(super) stack_bytes: u32,
    /// Bytes that are stored and loaded because registers were too few.
    pub(super) spill_bytes: u32,
}

/// Needs by name of the entry.
pub(super) type ByEntry = BTreeMap<String, Needs>;

/// Checks that the assembler has the version of the recipe.
pub(super) fn check_version(ptxas: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(ptxas);
    let output = command.arg("--version").output().with_context(|| format!("cannot start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(text.contains(&format!("V{COMPILER}")), "{} is not version {COMPILER}:\n{text}", ptxas.display());
    Ok(())
}

/// Assembles PTX for one architecture, such as `sm_87`, into nothing.
///
/// # Errors
/// What the assembler says against it; its warnings are errors.
pub(super) fn assemble(ptxas: &Path, text: &str, architecture: &str) -> anyhow::Result<ByEntry> {
    let mut command = Command::new(ptxas);
    command.args(["--verbose", "--warning-as-error", "--output-file", "/dev/null", "--gpu-name"]);
    command.args([architecture, "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    // The assembler reads all before it writes, so that neither waits for the other. One that ends early has a
    // reason, which is read below.
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("ptxas for {architecture}:\n{}", said.trim_end());
    }
    written.transpose()?;
    Ok(needs(&said))
}

/// Reads what `ptxas --verbose` prints.
fn needs(said: &str) -> ByEntry {
    let mut all = ByEntry::new();
    let mut current = String::new();
    for line in said.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            current = name.trim().to_owned();
        } else if line.contains("bytes stack frame") {
            let needs = all.entry(current.clone()).or_default();
            needs.stack_bytes = before(line, " bytes stack frame");
            needs.spill_bytes = before(line, " bytes spill stores") + before(line, " bytes spill loads");
        } else if line.contains(" registers") {
            all.entry(current.clone()).or_default().registers = before(line, " registers");
        }
    }
    all
}

/// The number that stands right before `words`; 0 without one.
fn before(line: &str, words: &str) -> u32 {
    let number = line.split(words).next().and_then(|start| start.split_whitespace().next_back());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a_32x8' for 'sm_90'
ptxas info    : Function properties for a_32x8
    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers, 24 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 6.470 ms
ptxas info    : Compiling entry function 'a_32x1' for 'sm_90'
ptxas info    : Function properties for a_32x1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
";

    #[test]
    fn needs_are_read_by_entry() {
        let expected = [
            ("a_32x1", Needs { registers: 255, ..Needs::default() }),
            ("a_32x8", Needs { registers: 18, stack_bytes: 24, spill_bytes: 20 }),
        ];
        assert_eq!(needs(SAID), expected.map(|(name, needs)| (name.to_owned(), needs)).into());
        assert!(needs("").is_empty());
    }

    #[test]
    fn an_assembler_that_does_not_start_is_named() {
        let error = assemble(Path::new("no-such-ptxas"), "", "sm_90").unwrap_err();
        assert!(format!("{error:#}").contains("no-such-ptxas"));
    }
}
