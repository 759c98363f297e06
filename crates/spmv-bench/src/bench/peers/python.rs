//! A process of Python's that works on arrays in a folder, and is asked line by line.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};

/// The process; it ends when this is dropped.
pub(super) struct Python {
    folder: tempfile::TempDir,
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Python {
    /// Starts `SPMV_PYTHON`, or `python3`. The script gets the folder of the arrays, then `args`.
    ///
    /// # Errors
    /// No such program, or the folder cannot be written.
    pub(super) fn start(script: &str, args: &[String], arrays: &[(&str, &[u8])]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, bytes) in arrays {
            fs::write(folder.path().join(name), bytes)?;
        }
        let program = std::env::var_os("SPMV_PYTHON").unwrap_or_else(|| "python3".into());
        let mut process = Command::new(&program)
            .args(["-c", script])
            .arg(folder.path())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} does not start", Path::new(&program).display()))?;
        let to = process.stdin.take().context("its input")?;
        let from = BufReader::new(process.stdout.take().context("its output")?);
        Ok(Self { folder, process, to, from })
    }

    /// What it answers to a line.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub(super) fn ask(&mut self, line: &str) -> anyhow::Result<String> {
        writeln!(self.to, "{line}")?;
        self.line()
    }

    /// The next line that it writes.
    ///
    /// # Errors
    /// It has ended: its script found no SciPy, or failed.
    pub(super) fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        if line.is_empty() {
            bail!("Python has no SciPy (`pip install scipy`, and SPMV_PYTHON may name a Python that has it)");
        }
        Ok(line.trim().to_owned())
    }

    /// An array that it has written to the folder.
    ///
    /// # Errors
    /// No such file.
    pub(super) fn read<T: bytemuck::Pod>(&self, name: &str) -> anyhow::Result<Vec<T>> {
        let bytes = fs::read(self.folder.path().join(name))?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
