//! Verbs that fail on purpose.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use spmv_backend::{Error, Result};

/// A verb of [`Backend`](spmv_backend::Backend) that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    OpenStream,
    Alloc,
    Compile,
    Zero,
    Write,
    Read,
    Look,
    Map,
    Launch,
    Capture,
    Replay,
    Record,
    Submit,
    Wait,
    WaitAll,
    Elapsed,
}

/// How a verb fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing was done.
    NotDone,
    /// It was done all the same.
    Done,
    /// Nothing was done, and every later verb fails too, as those of a device that is lost, until it is healed.
    Lost,
}

/// How often verbs were called, and which call is to fail.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    armed: Option<(u64, Fault)>,
    calls: u64,
    of_verbs: HashMap<Verb, u64>,
    injected: Option<Error>,
    was_lost: bool,
}

impl Faults {
    /// The call of that number, counted from 0, is to fail.
    pub(crate) fn armed(call: u64, fault: Fault) -> Self {
        Self(Mutex::new(State { armed: Some((call, fault)), ..State::default() }))
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        lock(&self.0).calls
    }

    /// Calls so far that took something from the device: memory or a stream.
    pub(crate) fn takes(&self) -> u64 {
        [Verb::Alloc, Verb::OpenStream]
            .into_iter()
            .filter_map(|verb| self.of_verbs().get(&verb).copied())
            .sum()
    }

    /// Calls of each verb so far.
    pub(crate) fn of_verbs(&self) -> HashMap<Verb, u64> {
        lock(&self.0).of_verbs.clone()
    }

    /// The first error that was injected, if any was by now.
    pub(crate) fn injected(&self) -> Option<Error> {
        lock(&self.0).injected.clone()
    }

    /// Whether verbs failed as those of a device that is lost.
    pub(crate) fn was_lost(&self) -> bool {
        lock(&self.0).was_lost
    }

    /// No call fails from now on.
    pub(crate) fn heal(&self) {
        lock(&self.0).armed = None;
    }

    /// Does what a verb does, unless it is to fail.
    pub(crate) fn verb<R, E: From<Error>>(
        &self,
        verb: Verb,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        match self.call(verb) {
            None => work(),
            Some((Fault::Done, error)) => {
                drop(work()?);
                Err(error.into())
            }
            Some((_, error)) => Err(error.into()),
        }
    }

    /// Counts a call; says whether and how it fails.
    fn call(&self, verb: Verb) -> Option<(Fault, Error)> {
        let mut state = lock(&self.0);
        let call = state.calls;
        state.calls += 1;
        *state.of_verbs.entry(verb).or_default() += 1;
        let (_, fault) =
            state.armed.filter(|(at, fault)| call == *at || (*fault == Fault::Lost && call > *at))?;
        let device = "a faulty device".to_owned();
        let error = match verb {
            Verb::Alloc => Error::OutOfMemory { device, bytes: call },
            _ => {
                let detail = format!("call {call}, injected: {fault:?}");
                Error::Launch { device, kernel: format!("{verb:?}"), detail }
            }
        };
        state.was_lost |= fault == Fault::Lost;
        state.injected.get_or_insert_with(|| error.clone());
        Some((fault, error))
    }
}

/// A lock whose holder may have panicked: what it guards is whole between statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of five calls fail, and which are done.
    fn fates(fault: Fault) -> Vec<(bool, bool)> {
        let faults = Faults::armed(2, fault);
        let call = |_| {
            let mut done = false;
            let work = || -> Result<()> {
                done = true;
                Ok(())
            };
            let failed = faults.verb(Verb::Wait, work).is_err();
            (failed, done)
        };
        (0..5).map(call).collect()
    }

    #[test]
    fn the_call_of_that_number_fails_done_or_not_and_a_lost_device_stays_lost() {
        let fine = (false, true);
        assert_eq!(fates(Fault::NotDone), [fine, fine, (true, false), fine, fine]);
        assert_eq!(fates(Fault::Done), [fine, fine, (true, true), fine, fine]);
        assert_eq!(fates(Fault::Lost), [fine, fine, (true, false), (true, false), (true, false)]);
    }
}
