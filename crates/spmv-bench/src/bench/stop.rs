//! Ending a run early, with what it has measured so far.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;

/// Whether a run is to end at the next measurement.
#[derive(Debug)]
pub(crate) struct Stop(AtomicBool);

/// The error of what ended because it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}

/// What an interrupted program returns: 128 and the number of the signal, as shells count it.
pub(crate) const EXIT_STATUS: u8 = 130;

impl Stop {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// One that Ctrl-C requests. A second Ctrl-C ends the process at once.
    ///
    /// # Errors
    /// If the system takes no handler.
    pub(crate) fn at_interrupt() -> anyhow::Result<&'static Self> {
        static STOP: Stop = Stop::new();
        // A process has one handler, and tests several runs.
        static SET: OnceLock<Result<(), String>> = OnceLock::new();
        let handle = || {
            if STOP.0.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(EXIT_STATUS));
            }
            eprintln!(
                "interrupted: ends with what was measured, after the run in progress; again ends at once"
            );
        };
        let set = SET.get_or_init(|| ctrlc::set_handler(handle).map_err(|e| e.to_string()));
        set.as_ref().map_err(|e| anyhow!("no handler for Ctrl-C: {e}"))?;
        Ok(&STOP)
    }

    #[cfg(test)]
    pub(crate) fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// If the run is to end.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if self.0.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }
}
