//! Processes that compare ours with one library on one matrix. A contestant that crashes ends its process alone: another
//! one goes on without it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use indicatif::ProgressBar;
use spmv::BackendKind;

use super::super::args::Args;
use super::super::devices;
use super::super::inputs::Input;
use super::super::live::Live;
use super::super::report::Report;
use super::super::stop::Stop;
use super::isolated::{Isolated, Message};
use super::{CUSPARSE, Comparison, Gpu, MatrixCache, variant};

/// How a process ended.
enum End {
    Done(Box<Report>),
    /// Who was set up at that time, if somebody was, and why it ended.
    Crashed(Option<String>, String),
}

/// The comparison on one input and with one library, in this process; says what it found on standard output.
///
/// # Errors
/// If there is no device, or the matrix cannot be read.
pub(crate) fn compare_one(args: &Args, input: &Input) -> anyhow::Result<()> {
    let targets = devices::open(&[BackendKind::Cuda])?;
    let gpu = Gpu::open(&[], &targets)?;
    let mut matrix_cache = MatrixCache::new(MatrixCache::CAPACITY_BYTES);
    matrix_cache.keep(0, input.load().with_context(|| input.name().to_owned())?);
    let (algorithms, mut report) = (args.algorithms()?, Report::default());
    let isolated = Isolated::without(&args.crashed);
    let comparison = Comparison {
        inputs: std::slice::from_ref(input),
        matrix_cache: &matrix_cache,
        algorithms: &algorithms,
        tiling: args.tiling(),
        products: args.products(),
        precisions: &args.precision,
        caches: args.comparison_caches(),
        repeat: args.repeat(),
        isolated: Some(&isolated),
        bar: &ProgressBar::hidden(),
        stop: &Stop::new(),
        live: &Live::discarding(),
    };
    gpu.compare(&comparison, &mut report)?;
    Message::Done(Box::new(report)).say()
}

/// Adds what a process for each input and library finds.
///
/// # Errors
/// If a process cannot be started, or the run is to end.
pub(crate) fn compare_all(
    inputs: &[Input],
    (bar, stop, live): (&ProgressBar, &Stop, &Live),
    report: &mut Report,
) -> anyhow::Result<()> {
    let libraries = variant::libraries(std::env::var_os(variant::LIBRARIES).as_deref());
    bar.inc_length((inputs.len() * libraries.len()) as u64);
    for (at, input) in inputs.iter().enumerate() {
        for library in &libraries {
            let name = library.as_deref().map_or_else(|| CUSPARSE.into(), Path::to_string_lossy);
            bar.set_message(format!("{}: {name}", input.name()));
            match compare(at, library.as_deref(), stop)? {
                Ok(found) => report.add_comparison(*found, &name),
                Err(why) => report.leave_out(format!("{name} is left out of {}: {why}", input.name())),
            }
            live.show(report);
            bar.inc(1);
        }
    }
    Ok(())
}

/// Starts processes until one has reached its end, each without those that ended the earlier ones.
fn compare(at: usize, library: Option<&Path>, stop: &Stop) -> anyhow::Result<Result<Box<Report>, String>> {
    let mut crashed: Vec<String> = Vec::new();
    loop {
        let mut command = Command::new(std::env::current_exe()?);
        // What this process was asked for, which names the same inputs.
        command.args(std::env::args_os().skip(1)).arg(format!("--compare-one={at}"));
        command.args(crashed.iter().map(|crash| format!("--crashed={crash}")));
        if let Some(library) = library {
            command.env(variant::LIBRARIES, library);
        }
        let end = watch(command)?;
        // An interrupt ends processes too.
        stop.check()?;
        match end {
            End::Done(report) => return Ok(Ok(report)),
            End::Crashed(None, why) => return Ok(Err(why)),
            End::Crashed(Some(contestant), why) => {
                let name = format!("{contestant}=");
                ensure!(
                    !crashed.iter().any(|crash| crash.starts_with(&name)),
                    "{contestant} ended a process that left it out"
                );
                crashed.push(name + &why);
            }
        }
    }
}

/// Runs a process to its end. Lines that are no message are a library's.
fn watch(mut command: Command) -> anyhow::Result<End> {
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (mut setting_up, mut lost, mut done) = (None, None, None);
    let out = process.stdout.take().context("no standard output")?;
    for line in BufReader::new(out).split(b'\n') {
        match serde_json::from_slice(&line?) {
            Ok(Message::SettingUp(contestant)) => setting_up = Some(contestant),
            Ok(Message::DeviceLost(why)) => lost = Some(why),
            Ok(Message::Racing) => setting_up = None,
            Ok(Message::Done(report)) => done = Some(report),
            Err(_) => {}
        }
    }
    let status = process.wait()?;
    Ok(match done {
        // A library that crashes when it is unloaded has done its work.
        Some(report) => End::Done(report),
        None => End::Crashed(setting_up, lost.unwrap_or_else(|| status.to_string())),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// What becomes of a process that says these messages, and something that is none, and then ends so.
    fn end(messages: &[Message], last: &str) -> End {
        let lines = messages.iter().map(|message| serde_json::to_string(message).unwrap());
        let mut command = Command::new("sh");
        command.args(["-c", &format!("printf '%s\\n' \"$@\"; {last}"), "sh", "no message"]).args(lines);
        watch(command).unwrap()
    }

    fn crash(messages: &[Message], last: &str) -> (Option<String>, String) {
        match end(messages, last) {
            End::Crashed(contestant, why) => (contestant, why),
            End::Done(_) => panic!("a process that crashed has no report"),
        }
    }

    fn setting_up(contestant: &str) -> Message {
        Message::SettingUp(contestant.into())
    }

    #[test]
    fn a_crash_is_of_the_contestant_that_is_set_up() {
        let messages = [setting_up("cusparse/default"), setting_up("spmvop/alg1")];
        let (contestant, why) = crash(&messages, "kill -SEGV $$");
        assert_eq!(contestant.as_deref(), Some("spmvop/alg1"));
        assert!(why.starts_with("signal: 11"), "{why}");
    }

    #[test]
    fn a_crash_among_all_is_nobodys() {
        let messages = [setting_up("cusparse/default"), Message::Racing];
        assert_eq!(crash(&messages, "exit 3"), (None, "exit status: 3".into()));
    }

    #[test]
    fn a_lost_device_is_the_reason() {
        let messages = [setting_up("spmvop/alg2"), Message::DeviceLost("an illegal address".into())];
        let expected = (Some("spmvop/alg2".to_owned()), "an illegal address".to_owned());
        assert_eq!(crash(&messages, "kill -ABRT $$"), expected);
    }

    #[test]
    fn a_report_counts_even_if_the_process_crashes_then() {
        let report = Report { machine: "this".into(), ..Report::default() };
        match end(&[Message::Racing, Message::Done(Box::new(report))], "kill -SEGV $$") {
            End::Done(report) => assert_eq!(report.machine, "this"),
            End::Crashed(_, why) => panic!("{why}"),
        }
    }
}
