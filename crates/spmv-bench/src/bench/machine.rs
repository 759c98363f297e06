//! What a report says of its run: date, processor, commit, and what other programs took.

use std::process::Command;

/// Processor, cores and system; no names of hosts or users.
pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cpu = cpu.or_else(|| output("sysctl", &["-n", "machdep.cpu.brand_string"]));
    format!(
        "{}, {} threads, {} {}",
        cpu.unwrap_or_else(|| "unknown processor".into()),
        rayon::current_num_threads(),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// Of the checkout that this program was built in, while there is one; the version, without it. `SPMV_COMMIT` names it where the program
/// was carried to another machine.
pub(crate) fn commit() -> String {
    if let Ok(commit) = std::env::var("SPMV_COMMIT") {
        return commit;
    }
    let git = |args: &[&str]| output("git", &[&["-C", env!("CARGO_MANIFEST_DIR")], args].concat());
    let Some(hash) = git(&["rev-parse", "--short=10", "HEAD"]) else {
        return concat!("version ", env!("CARGO_PKG_VERSION")).to_owned();
    };
    let clean = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| s.is_empty());
    if clean { hash } else { format!("{hash}-dirty") }
}

/// The lines that end tables: machine and commit.
pub(super) fn lines() -> String {
    format!("machine: {}\ncommit: {}", machine(), commit())
}

/// Day and minute in UTC, where the system has a command that says it.
pub(super) fn date() -> Option<String> {
    output("date", &["-u", "+%Y-%m-%d %H:%M UTC"])
}

/// Watches what other programs take of the processor, where Linux says so.
#[derive(Debug)]
pub(super) struct Others(Option<Ticks>);

/// Time of threads, in ticks of the system.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    /// Of all threads of the processor together, idle ones too.
    all: f64,
    /// Of those that were not idle.
    in_use: f64,
    /// Of this process, and of those that it waited for.
    own: f64,
}

impl Others {
    /// From now on.
    pub(super) fn watch() -> Self {
        Self(Ticks::now())
    }

    /// Threads that others kept busy since, in the mean.
    pub(super) fn threads(&self) -> Option<f64> {
        let (before, now) = (self.0?, Ticks::now()?);
        let [all, in_use, own] = [now.all - before.all, now.in_use - before.in_use, now.own - before.own];
        (all > 0.0).then(|| n_threads() * (in_use - own).max(0.0) / all)
    }
}

impl Ticks {
    fn now() -> Option<Self> {
        let read = |path| std::fs::read_to_string(path).ok();
        Self::of(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    /// `user nice system idle iowait irq softirq steal` of all threads, and the fields of proc(5) of this process.
    fn of(machine: &str, process: &str) -> Option<Self> {
        let of_machine = machine.lines().next()?.strip_prefix("cpu ")?;
        let states: Vec<f64> = of_machine.split_whitespace().take(8).map_while(|n| n.parse().ok()).collect();
        let [.., idle, waiting, _, _, _] = states[..] else { return None };
        // The name of the program may hold blanks and brackets.
        let (_, fields) = process.rsplit_once(')')?;
        let own: Vec<f64> =
            fields.split_whitespace().skip(11).take(4).map_while(|n| n.parse().ok()).collect();
        let all: f64 = states.iter().sum();
        (own.len() == 4).then(|| Self { all, in_use: all - idle - waiting, own: own.iter().sum() })
    }
}

fn n_threads() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64)
}

/// Share of the threads that others may take before a machine is called busy.
const BUSY: f64 = 0.1;

/// A sentence on a machine that was not free.
pub(super) fn busy(others: Option<f64>) -> Option<String> {
    let (others, threads) = (others?, n_threads());
    let is_busy = others > BUSY * threads;
    is_busy.then(|| format!("The machine was busy: other programs took {others:.1} of its {threads} threads, so times may be longer."))
}

/// What a command prints, if it succeeds.
fn output(command: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(command).args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_busy_if_others_take_more_than_a_tenth_of_it() {
        let threads = n_threads();
        assert_eq!((busy(None), busy(Some(0.05 * threads))), (None, None));
        assert!(busy(Some(0.6 * threads)).unwrap().starts_with("The machine was busy: "));
    }

    #[test]
    fn own_time_is_told_from_that_of_others() {
        let machine = "cpu  100 10 40 800 50 3 2 5 0 0\ncpu0 1 2\n";
        let process = "17 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 60 20 7 3 20 0\n";
        let ticks = Ticks::of(machine, process).unwrap();
        assert_eq!(ticks, Ticks { all: 1010.0, in_use: 160.0, own: 90.0 });
        assert_eq!((Ticks::of("cpu 1 2", process), Ticks::of(machine, "17 (a) S 1")), (None, None));
    }
}
