//! SciPy's conjugate gradients, in a process of Python's.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ::spmv::Csr;
use anyhow::{Context as _, bail};

const SCRIPT: &str = include_str!("scipy.py");

/// A Python with SciPy that has read a system.
pub(crate) struct SciPy {
    folder: tempfile::TempDir,
    python: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    version: String,
}

impl SciPy {
    /// Starts `SPMV_PYTHON`, or `python3`.
    ///
    /// # Errors
    /// No such program, or one without NumPy and SciPy.
    pub(crate) fn start(a: &Csr<f64>, b: &[f64]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes);
        let row_ptr: Vec<u32> = a.row_ptr().to_vec();
        write("row_ptr", bytemuck::cast_slice(&row_ptr))?;
        write("cols", bytemuck::cast_slice(a.cols()))?;
        write("vals", bytemuck::cast_slice(a.vals()))?;
        write("b", bytemuck::cast_slice(b))?;
        let program = std::env::var_os("SPMV_PYTHON").unwrap_or_else(|| "python3".into());
        let mut python = Command::new(&program)
            .args(["-c", SCRIPT])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let to = python.stdin.take().context("its input")?;
        let from = BufReader::new(python.stdout.take().context("its output")?);
        let mut scipy = Self { folder, python, to, from, version: String::new() };
        scipy.version = scipy.line()?;
        Ok(scipy)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Makes a number of iterations from zero on: seconds of one, and the result.
    ///
    /// # Errors
    /// What Python says.
    pub(crate) fn run(&mut self, n: usize) -> anyhow::Result<(f64, Vec<f64>)> {
        writeln!(self.to, "{n}")?;
        let seconds = self.line()?.parse()?;
        let x = fs::read(self.folder.path().join("x"))?;
        Ok((seconds, bytemuck::pod_collect_to_vec(&x)))
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        if line.is_empty() {
            bail!("Python has no SciPy (`pip install scipy`, and SPMV_PYTHON may name a Python that has it)");
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for SciPy {
    fn drop(&mut self) {
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}
