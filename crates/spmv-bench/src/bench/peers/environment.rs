//! The environment that peers' runtimes read when they start: idle threads of one contestant must not take a core from another.

#[cfg(any(unix, test))]
use std::process::Command;

#[cfg(unix)]
use anyhow::Context as _;

/// Variables and their values. Runtimes of OpenMP keep threads awake between calls that follow each other, and let them sleep
/// before the pause between contestants ends. By default GCC's may spin for longer than the pause, and Intel's does for 200 ms.
const VARIABLES: [(&str, &str); 7] = [
    // GCC: a sixth of its default.
    ("GOMP_SPINCOUNT", "50000"),
    // Intel and LLVM: milliseconds.
    ("KMP_BLOCKTIME", "5"),
    // Open MPI: one process, no daemon, no network, no handlers of signals.
    ("OMPI_MCA_ess_singleton_isolated", "1"),
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "self"),
    ("OMPI_MCA_opal_signal", ""),
    // hwloc, in Open MPI: opens no driver of a GPU, whose threads and handlers of signals would stay.
    ("HWLOC_COMPONENTS", "-opencl,-gl,-cuda,-nvml,-rsmi,-levelzero"),
];

/// Would keep threads awake for ever, or let them sleep at once, whatever the variables above say.
const UNSET: [&str; 2] = ["OMP_WAIT_POLICY", "KMP_LIBRARY"];

/// Whether this process has the environment.
pub(super) fn is_entered() -> bool {
    let has = |(name, value): &(&str, &str)| std::env::var_os(name).is_some_and(|it| it == *value);
    VARIABLES.iter().all(has) && UNSET.iter().all(|name| std::env::var_os(name).is_none())
}

/// Replaces this process by one with the environment, unless it has it: libraries may have read theirs already. Peers keep
/// their defaults where processes cannot be replaced.
///
/// # Errors
/// If the program cannot be started.
pub(crate) fn enter() -> anyhow::Result<()> {
    #[cfg(unix)]
    if !is_entered() {
        use std::os::unix::process::CommandExt as _;

        // Returns only if it fails.
        let e = anew()?.args(std::env::args_os().skip(1)).exec();
        return Err(e).context("the program does not start anew with the environment of peers");
    }
    Ok(())
}

/// This program in the environment.
#[cfg(any(unix, test))]
fn anew() -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.envs(VARIABLES);
    for name in UNSET {
        command.env_remove(name);
    }
    Ok(command)
}

/// Runs a test in the environment: its name, and what it does there.
#[cfg(test)]
pub(super) fn tested(name: &str, test: impl FnOnce()) {
    if is_entered() {
        return test();
    }
    let output = anew().unwrap().args(["--exact", name]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
