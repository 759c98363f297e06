//! What a process that may crash says to the one that started it.

use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::super::report::Report;

/// A line that a process writes to standard output.
#[derive(Serialize, Deserialize)]
pub(super) enum Message {
    /// From here on a crash is this contestant's.
    SettingUp(String),
    /// The device does not work any more in this process since then, and why.
    DeviceLost(String),
    /// Every contestant that could be set up was.
    Racing,
    Done(Box<Report>),
}

/// What a process knows of earlier ones, and says to the one that started it.
pub(crate) struct Isolated<'a> {
    /// Contestants that ended an earlier process: `NAME=WHY`.
    crashed: &'a [String],
}

impl<'a> Isolated<'a> {
    /// In a process that leaves these contestants out.
    pub(super) fn without(crashed: &'a [String]) -> Self {
        Self { crashed }
    }

    /// # Errors
    /// If the contestant ended an earlier process.
    pub(super) fn setting_up(&self, contestant: &str) -> anyhow::Result<()> {
        let crash = self.crashed.iter().filter_map(|crash| crash.split_once('='));
        if let Some((_, why)) = crash.into_iter().find(|(name, _)| *name == contestant) {
            bail!("it ended its process: {why}");
        }
        Message::SettingUp(contestant.to_owned()).say()
    }

    pub(super) fn racing(&self) -> anyhow::Result<()> {
        Message::Racing.say()
    }

    /// Ends the process, in which every other contestant would fail too.
    pub(super) fn device_lost(&self, e: &anyhow::Error) -> ! {
        // Nobody is left who could be given a failure.
        let _ = Message::DeviceLost(format!("{e:#}")).say();
        std::process::abort()
    }
}

impl Message {
    pub(super) fn say(&self) -> anyhow::Result<()> {
        // On a line of its own, whatever a library has printed.
        println!("\n{}", serde_json::to_string(self)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ended_an_earlier_process_is_not_set_up_again() {
        let crashed = ["spmvop/alg1=signal: 11 (SIGSEGV)".to_owned()];
        let isolated = Isolated { crashed: &crashed };
        let e = isolated.setting_up("spmvop/alg1").unwrap_err().to_string();
        assert_eq!(e, "it ended its process: signal: 11 (SIGSEGV)");
        assert!(isolated.setting_up("spmvop/alg").is_ok() && isolated.setting_up("spmvop/alg2").is_ok());
    }
}
