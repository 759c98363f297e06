//! Worlds: starting them, and a process within.

use std::env;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use spmv::parts::Peers;

use crate::Case;

/// Names of cases, with commas between.
const CASES: &str = "SPMV_MPI_CASES";
/// A folder for files of a world, which all its processes see.
pub(crate) const FOLDER: &str = "SPMV_MPI_FOLDER";
const SIZE: &str = "SPMV_MPI_SIZE";
/// What the cases of a world may take. MPICH waits without giving its core away: with more processes than cores they take a minute.
const LIMIT: Duration = Duration::from_secs(240);

/// A process of a world.
pub(crate) struct Child {
    pub(crate) cases: String,
    size: usize,
}

impl Child {
    pub(crate) fn of_environment() -> Option<Self> {
        let cases = env::var(CASES).ok()?;
        Some(Self { cases, size: env::var(SIZE).ok()?.parse().ok()? })
    }

    pub(crate) fn run(self, case: impl Fn(&str) -> Case) {
        spmv_mpi::run(|peers| {
            let (found, size) = (peers.size(), self.size);
            if found != size {
                return Err(format!(
                    "a world of {found} processes instead of {size}; is mpiexec that of the library?"
                ));
            }
            for name in self.cases.split(',') {
                if peers.rank() == 0 {
                    // Shown where a case fails: it is the last.
                    eprintln!("{name}");
                }
                case(name)(peers);
            }
            Ok(())
        });
    }
}

/// How a world ended.
pub(crate) struct End {
    pub(crate) succeeded: bool,
    pub(crate) output: String,
    pub(crate) took: Duration,
}

/// Starts `n` processes that run cases, and waits until all have ended.
pub(crate) fn world(cases: &[&str], n: usize) -> Result<End, String> {
    let program = env::current_exe().map_err(|e| e.to_string())?;
    let launcher = env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let mut output = tempfile::tempfile().map_err(|e| e.to_string())?;
    let sink = || output.try_clone().map(Stdio::from).map_err(|e| e.to_string());
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut command = Command::new(&launcher);
    command.args(["-n", &n.to_string()]).arg(program).stdin(Stdio::null()).stdout(sink()?).stderr(sink()?);
    command.env(CASES, cases.join(",")).env(SIZE, n.to_string()).env("RAYON_NUM_THREADS", "1");
    command.env(FOLDER, folder.path());
    // Where Open MPI has a folder that the launchers of a user share: one that ends removes it while another makes it.
    command.env("TMPDIR", folder.path());
    // Open MPI refuses root and more processes than cores, and binds the few processes of a small world to one core each.
    for name in
        ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"]
    {
        command.env(name, "1");
    }
    command.env("OMPI_MCA_hwloc_base_binding_policy", "none");
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|e| format!("cannot start {launcher}: {e}"))?;
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break Some(status),
            None if begin.elapsed() > LIMIT => {
                child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let took = begin.elapsed();
    let mut text = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut text)).map_err(|e| e.to_string())?;
    let output = String::from_utf8_lossy(&text).into_owned();
    match status {
        Some(status) => Ok(End { succeeded: status.success(), output, took }),
        None => Err(format!("{n} processes have not ended after {} s\n{output}", LIMIT.as_secs())),
    }
}

/// Fails unless all processes of a world end well.
pub(crate) fn passes(cases: &[&str], n: usize) -> Result<(), String> {
    let end = world(cases, n)?;
    if end.succeeded { Ok(()) } else { Err(end.output) }
}
