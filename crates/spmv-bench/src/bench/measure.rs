//! Times, taken side by side.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use spmv_cpu::last_cache_bytes;

use super::report::{Cache, Spread};
use super::stop::Stop;

/// Least and most turns that each contestant gets.
const TURNS: std::ops::RangeInclusive<usize> = 9..=60;
/// Seconds of measured runs after which a contestant has had enough.
const ENOUGH_S: f64 = 0.2;
/// Seconds of timed runs in one turn, and of untimed runs before them: after a pause and others' turns it
/// takes about ten runs until caches and frequencies are as in a solver's loop.
const TURN_S: f64 = 0.015;
/// Pause before a turn, so that threads of the last contestant that spin for more work fall asleep.
const PAUSE: Duration = Duration::from_millis(8);
/// Time for which idle threads are watched: longer than the ticks at which the system counts their time.
const WATCH: Duration = Duration::from_millis(20);
/// Seconds below which runs are timed in batches.
const BATCH_S: f64 = 20e-6;

/// Whether a run is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Untimed,
    Timed,
}

/// Makes so many runs and returns the seconds of one. It gets the phase, so that it keeps statistics of timed runs alone.
pub(crate) type Run<'a> = Box<dyn FnMut(usize, Phase) -> anyhow::Result<f64> + 'a>;

/// A run in this process, which is timed here. One elsewhere times itself.
pub(crate) fn timed<'a>(mut run: impl FnMut(Phase) -> anyhow::Result<()> + 'a) -> Run<'a> {
    Box::new(move |batch, phase| {
        let start = Instant::now();
        for _ in 0..batch {
            run(phase)?;
        }
        Ok(start.elapsed().as_secs_f64() / batch as f64)
    })
}

/// Times contestants turn by turn in one go, so that noise hits all alike.
///
/// A warm turn begins with untimed runs, which bring the contestant's data back into cache; before every
/// cold run the caches are filled with something else. `repeat` fixes the number of timed runs.
///
/// # Errors
/// What a contestant says; [`Stopped`](super::stop::Stopped) if the run is to end, which is checked between runs.
pub(crate) fn interleave(
    contestants: &mut [Run<'_>],
    cache: Cache,
    repeat: Option<usize>,
    eviction: &Eviction,
    stop: &Stop,
) -> anyhow::Result<Vec<Spread>> {
    let mut samples = vec![Vec::new(); contestants.len()];
    let mut estimates = vec![0.0; contestants.len()];
    for (run, estimate) in contestants.iter_mut().zip(&mut estimates) {
        for _ in 0..2 {
            stop.check()?;
            *estimate = run(1, Phase::Untimed)?;
        }
    }
    for turn in 0..*TURNS.end() {
        for ((run, samples), estimate) in contestants.iter_mut().zip(&mut samples).zip(&mut estimates) {
            if turn >= *TURNS.start() && samples.iter().sum::<f64>() > ENOUGH_S {
                continue;
            }
            stop.check()?;
            std::thread::sleep(PAUSE);
            if cache == Cache::Cold {
                eviction.evict();
                samples.push(run(1, Phase::Timed)?);
                continue;
            }
            let sizes = |estimate: f64| {
                let batch = (BATCH_S / estimate.max(1e-9)).ceil().clamp(1.0, 1000.0) as usize;
                (batch, (TURN_S / (estimate * batch as f64)).ceil().clamp(1.0, 100.0) as usize)
            };
            let (batch, runs) = sizes(*estimate);
            // The very first runs of a process are slow, and batches made for them would be short.
            *estimate = run(runs * batch, Phase::Untimed)?.min(*estimate);
            let (batch, runs) = sizes(*estimate);
            for _ in 0..runs {
                stop.check()?;
                samples.push(run(batch, Phase::Timed)?);
            }
        }
        let timed = samples.iter().map(Vec::len).min().unwrap_or(0);
        if repeat.is_some_and(|n| timed >= n) {
            break;
        }
    }
    Ok(samples.into_iter().map(spread).collect())
}

/// Whether other threads of this process are awake when the next contestant would begin: together they take a quarter of a core or
/// more. Linux alone says so.
pub(crate) fn are_others_awake() -> bool {
    std::thread::sleep(PAUSE);
    let before = seconds_of_others();
    std::thread::sleep(WATCH);
    let taken = before.zip(seconds_of_others()).map(|(before, after)| after - before);
    taken.is_some_and(|seconds| seconds > 0.25 * WATCH.as_secs_f64())
}

/// Seconds that all threads of this process but this one have run.
fn seconds_of_others() -> Option<f64> {
    let of = |thread: &Path| {
        let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    // One that has just ended has no file.
    let all: u64 = threads.filter_map(|thread| of(&thread.ok()?.path())).sum();
    Some((all as f64 - of(Path::new("/proc/thread-self"))? as f64) / 1e9)
}

/// The middle one of several numbers.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Median and ends of one second count or more, in microseconds.
pub(crate) fn spread(mut seconds: Vec<f64>) -> Spread {
    seconds.sort_by(f64::total_cmp);
    let us = |s: f64| s * 1e6;
    let median = seconds[seconds.len() / 2];
    Spread { median: us(median), min: us(seconds[0]), max: us(seconds[seconds.len() - 1]) }
}

/// Memory to fill caches with. Read, not written, so that no dirty line is written back in a timed run.
pub(crate) struct Eviction {
    words: Vec<u64>,
}

impl Eviction {
    /// At least four times the last-level cache; little in an unoptimised build, whose times say nothing.
    pub(crate) fn new() -> Self {
        let bytes = match cfg!(debug_assertions) {
            true => 1 << 20,
            false => (4 * last_cache_bytes().map_or(64 << 20, |bytes| bytes as usize)).max(128 << 20),
        };
        Self { words: (0..bytes as u64 / 8).into_par_iter().collect() }
    }

    /// A buffer too small to empty any cache: for warm runs alone.
    pub(crate) fn none() -> Self {
        Self { words: vec![1; 64] }
    }

    /// Reads the buffer on threads of its own, which have ended when it returns.
    ///
    /// So threads of every contestant sleep when a cold run begins, ours and those of other libraries. Rayon's, which are
    /// ours, would still be awake.
    fn evict(&self) {
        let part = self.words.len().div_ceil(rayon::current_num_threads());
        std::thread::scope(|scope| {
            for words in self.words.chunks(part) {
                scope.spawn(move || black_box(sum_of(words)));
            }
        });
    }

    /// Read bandwidth of memory in GB/s: the best of several passes over the buffer, all threads.
    pub(crate) fn read_gbs(&self) -> f64 {
        let pass = || {
            let start = Instant::now();
            black_box(sum(black_box(&self.words)));
            start.elapsed().as_secs_f64()
        };
        let best = (0..12).map(|_| pass()).fold(f64::INFINITY, f64::min);
        size_of_val(&self.words[..]) as f64 / best / 1e9
    }
}

fn sum(words: &[u64]) -> u64 {
    words.par_chunks(1 << 17).map(sum_of).reduce(|| 0, u64::wrapping_add)
}

fn sum_of(words: &[u64]) -> u64 {
    let mut sums = [0u64; 32];
    for group in words.chunks_exact(32) {
        for (sum, word) in sums.iter_mut().zip(group) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn contestants_take_turns_and_get_as_many_runs_as_asked_for() {
        let log = std::cell::RefCell::new(String::new());
        let contestant = |name: char| -> Run<'_> {
            let log = &log;
            timed(move |phase| {
                let name = if phase == Phase::Timed { name.to_ascii_uppercase() } else { name };
                log.borrow_mut().push(name);
                std::thread::sleep(Duration::from_millis(20)); // longer than a turn
                Ok(())
            })
        };
        let mut both = [contestant('a'), contestant('b')];
        let spreads = interleave(&mut both, Cache::Warm, Some(2), &Eviction::none(), &Stop::new()).unwrap();
        drop(both);
        assert_eq!(
            *log.borrow(),
            "aabbaAbBaAbB",
            "two warm-ups, then turns of one untimed and one timed run"
        );
        assert!(spreads.iter().all(|s| s.min >= 20_000.0 && s.min <= s.median && s.median <= s.max));
    }

    #[test]
    fn a_run_elsewhere_counts_the_seconds_that_it_returns() {
        for cache in [Cache::Warm, Cache::Cold] {
            let mut one: [Run<'_>; 1] = [Box::new(|_, _| Ok(2.0))];
            let spreads = interleave(&mut one, cache, Some(1), &Eviction::none(), &Stop::new()).unwrap();
            assert_eq!(spreads, [Spread { median: 2e6, min: 2e6, max: 2e6 }]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_spins_is_awake() {
        let spins = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while spins.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            // On a machine that is busy it may get no core for a while.
            let seen = (0..100).any(|_| are_others_awake());
            spins.store(false, Ordering::Relaxed);
            assert!(seen);
        });
    }

    #[test]
    fn a_failing_contestant_ends_the_race() {
        let mut one: [Run<'_>; 1] = [timed(|_| anyhow::bail!("broken"))];
        assert!(interleave(&mut one, Cache::Cold, None, &Eviction::none(), &Stop::new()).is_err());
    }

    #[test]
    fn a_race_that_is_stopped_ends_before_the_next_run() {
        for cache in [Cache::Warm, Cache::Cold] {
            let (stop, runs) = (Stop::new(), std::cell::Cell::new(0));
            let mut one: [Run<'_>; 1] = [timed(|_| {
                runs.set(runs.get() + 1);
                if runs.get() == 4 {
                    stop.request();
                }
                Ok(())
            })];
            let e = interleave(&mut one, cache, None, &Eviction::none(), &stop).unwrap_err();
            assert!(e.is::<super::super::stop::Stopped>(), "{e}");
            drop(one);
            // Batches and untimed runs are not interrupted; without a stop there are thousands.
            assert!(runs.get() >= 4 && (cache == Cache::Warm || runs.get() == 4), "{} runs", runs.get());
        }
    }

    #[test]
    fn emptying_caches_wakes_no_thread_of_ours() {
        use std::sync::Arc;
        let held = Arc::new(AtomicBool::new(true));
        let hold = Arc::clone(&held);
        rayon::spawn_broadcast(move |_| {
            while hold.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // What is done while all of them are held up is done without them.
        let (done, is_done) = std::sync::mpsc::channel();
        let evict = std::thread::spawn(move || {
            // So many words that a parallel sum would be split.
            Eviction { words: vec![1; 1 << 20] }.evict();
            done.send(()).unwrap();
        });
        let without_them = is_done.recv_timeout(Duration::from_secs(10));
        held.store(false, Ordering::Relaxed);
        evict.join().unwrap();
        assert!(without_them.is_ok(), "threads of the pool had to work");
    }
}
