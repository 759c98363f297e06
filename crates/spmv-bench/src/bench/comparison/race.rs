//! Turns of contestants on a device, and what their times come to.

use anyhow::ensure;

use super::super::measure::spread;
use super::super::report::{Cache, Spread};
use super::super::stop::{Stop, Stopped};

/// Replays one graph and waits; returns the seconds of one multiplication between two events.
pub(super) type Replay<'a> = Box<dyn FnMut() -> anyhow::Result<f64> + 'a>;

/// Untimed replays that a contestant begins with: a graph is brought to the device when it is first started, and
/// ours may be two, used alternately.
const FIRST: usize = 2;

/// Untimed replays before a warm one: the second cache of a large GPU gives up what another contestant used over several of them.
const WARMING: usize = 4;

/// Times contestants turn by turn, so that noise hits all alike; one that fails is left out of later turns.
///
/// A warm turn begins with untimed replays, because another contestant had the caches; `flush` comes before every cold one.
///
/// # Errors
/// If the run is to end, which is checked before each turn.
pub(super) fn race(
    contestants: Vec<anyhow::Result<Replay<'_>>>,
    cache: Cache,
    rounds: usize,
    flush: &dyn Fn(),
    stop: &Stop,
) -> Result<Vec<anyhow::Result<Spread>>, Stopped> {
    let mut lanes: Vec<(anyhow::Result<Replay<'_>>, Vec<f64>)> =
        contestants.into_iter().map(|replay| (replay, Vec::new())).collect();
    for (replay, _) in &mut lanes {
        stop.check()?;
        attempt(replay, |replay| (0..FIRST).try_for_each(|_| replay().map(drop)));
    }
    for _ in 0..rounds.max(1) {
        for (replay, samples) in &mut lanes {
            stop.check()?;
            attempt(replay, |replay| {
                match cache {
                    Cache::Warm => (0..WARMING).try_for_each(|_| replay().map(drop))?,
                    Cache::Cold => flush(),
                }
                samples.push(replay()?);
                Ok(())
            });
        }
    }
    Ok(lanes.into_iter().map(|(replay, samples)| sum_up(replay.map(drop), samples)).collect())
}

/// Does something with a contestant that has not failed yet; if that fails, so has the contestant.
fn attempt<'a>(
    replay: &mut anyhow::Result<Replay<'a>>,
    action: impl FnOnce(&mut Replay<'a>) -> anyhow::Result<()>,
) {
    if let Ok(run) = replay
        && let Err(e) = action(run)
    {
        *replay = Err(e);
    }
}

fn sum_up(outcome: anyhow::Result<()>, seconds: Vec<f64>) -> anyhow::Result<Spread> {
    outcome?;
    ensure!(seconds.iter().all(|s| s.is_finite() && *s > 0.0), "the device's events reported no time");
    Ok(spread(seconds))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Contestants named `a`, `b`, ... that log their replays, and take 1, 2, ... seconds; `b` fails at `fails_at`.
    fn run(cache: Cache, rounds: usize, fails_at: Option<usize>) -> (String, Vec<anyhow::Result<Spread>>) {
        let log = RefCell::new(String::new());
        let contestant = |(i, name): (usize, char)| -> anyhow::Result<Replay<'_>> {
            let log = &log;
            Ok(Box::new(move || {
                log.borrow_mut().push(name);
                let so_far = log.borrow().matches(name).count();
                ensure!(name != 'b' || fails_at.is_none_or(|at| so_far < at), "broken");
                Ok(1.0 + i as f64)
            }))
        };
        let contestants = ['a', 'b'].into_iter().enumerate().map(contestant).collect();
        let flush = || log.borrow_mut().push('-');
        let times = race(contestants, cache, rounds, &flush, &Stop::new()).unwrap();
        (log.into_inner(), times)
    }

    fn one(contestant: anyhow::Result<Replay<'_>>) -> Vec<anyhow::Result<Spread>> {
        race(vec![contestant], Cache::Warm, 1, &|| (), &Stop::new()).unwrap()
    }

    #[test]
    fn a_stop_ends_the_turns() {
        let (stop, replays) = (Stop::new(), std::cell::Cell::new(0));
        let contestant: Replay<'_> = Box::new(|| {
            replays.set(replays.get() + 1);
            stop.request();
            Ok(1.0)
        });
        assert_eq!(race(vec![Ok(contestant)], Cache::Warm, 5, &|| (), &stop).unwrap_err(), Stopped);
        assert_eq!(replays.get(), FIRST, "the untimed ones, and no turn");
    }

    #[test]
    fn warm_turns_are_untimed_replays_and_a_timed_one() {
        let (log, times) = run(Cache::Warm, 2, None);
        assert_eq!(log, "aabb".to_owned() + "aaaaabbbbb" + "aaaaabbbbb");
        let medians: Vec<f64> = times.into_iter().map(|t| t.unwrap().median).collect();
        assert_eq!(medians, [1e6, 2e6]);
    }

    #[test]
    fn every_cold_replay_follows_a_flush_and_none_comes_before_the_first_turn() {
        let (log, _) = run(Cache::Cold, 2, None);
        assert_eq!(log, "aabb".to_owned() + "-a-b" + "-a-b");
    }

    #[test]
    fn one_that_fails_is_left_out_and_the_others_go_on() {
        let (log, times) = run(Cache::Cold, 3, Some(4));
        assert_eq!(log, "aabb".to_owned() + "-a-b" + "-a-b" + "-a");
        assert_eq!(times[0].as_ref().unwrap().median, 1e6);
        assert_eq!(times[1].as_ref().unwrap_err().to_string(), "broken");
    }

    #[test]
    fn one_that_could_not_begin_keeps_its_reason() {
        let times = one(Err(anyhow::anyhow!("out of memory")));
        assert_eq!(times[0].as_ref().unwrap_err().to_string(), "out of memory");
    }

    #[test]
    fn events_without_time_between_them_give_no_time() {
        let still: Replay<'_> = Box::new(|| Ok(0.0));
        assert!(one(Ok(still))[0].is_err());
    }
}
