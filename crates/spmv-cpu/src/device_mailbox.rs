//! Where threads that are awake wait to be given something to do.

use std::fmt;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// Threads that can wait at once. More of them sleep.
const MOST: usize = 64;

/// A mailbox for each thread that waits. Who gives writes to one mailbox, which its thread alone polls: both take a few hundred nanoseconds, where
/// the queues of a pool take microseconds.
pub(crate) struct Mailboxes<C> {
    all: Box<[Mailbox<C>]>,
}

impl<C> fmt::Debug for Mailboxes<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailboxes").field("all", &self.all.len()).finish()
    }
}

/// Two cache lines, which a core may fetch together.
#[repr(align(128))]
struct Mailbox<C> {
    state: AtomicU8,
    given: Mutex<Option<C>>,
}

/// No thread has the mailbox.
const FREE: u8 = 0;
/// Its thread polls it.
const WAITED: u8 = 1;
/// Somebody is about to give.
const PROMISED: u8 = 2;
/// There is something to do.
const GIVEN: u8 = 3;
/// Its thread does what it was given.
const BUSY: u8 = 4;

impl<C> Mailboxes<C> {
    /// For as many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let mailbox = || Mailbox { state: AtomicU8::new(FREE), given: Mutex::new(None) };
        Self { all: std::iter::repeat_with(mailbox).take(threads.min(MOST)).collect() }
    }

    /// Gives `what` to a thread that waits, the first from mailbox `first` on, or back if there is none.
    pub(crate) fn give(&self, first: usize, what: C) -> Result<(), C> {
        let (before, from) = self.all.split_at(first.min(self.all.len()));
        for mailbox in from.iter().chain(before) {
            let is_waited = mailbox.state.load(Ordering::Relaxed) == WAITED;
            if is_waited && mailbox.turns(WAITED, PROMISED) {
                *mailbox.given.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                mailbox.state.store(GIVEN, Ordering::Release);
                return Ok(());
            }
        }
        Err(what)
    }

    /// Waits at a free mailbox, the first from `first` on, if there is one.
    pub(crate) fn wait(&self, first: usize) -> Option<Waiting<'_, C>> {
        let n = self.all.len();
        let free = |at: &usize| self.all[*at].turns(FREE, WAITED);
        (first..first + n).map(|at| at % n).find(free).map(|at| Waiting { mailbox: &self.all[at], at })
    }
}

impl<C> Mailbox<C> {
    fn turns(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// A thread at its mailbox.
pub(crate) struct Waiting<'a, C> {
    mailbox: &'a Mailbox<C>,
    /// Its number.
    pub(crate) at: usize,
}

impl<C> Waiting<'_, C> {
    /// What was given. Nobody gives more before [`again`](Self::again).
    pub(crate) fn given(&self) -> Option<C> {
        let is_given = self.mailbox.state.load(Ordering::Acquire) == GIVEN;
        is_given.then(|| self.take()).flatten()
    }

    fn take(&self) -> Option<C> {
        let given = self.mailbox.given.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.mailbox.state.store(BUSY, Ordering::Release);
        given
    }

    /// Waits again.
    pub(crate) fn again(&self) {
        self.mailbox.state.store(WAITED, Ordering::Release);
    }

    /// Leaves, with what has been given since.
    pub(crate) fn leave(self) -> Option<C> {
        if self.mailbox.turns(WAITED, FREE) || self.mailbox.turns(BUSY, FREE) {
            return None;
        }
        // Who promised gives soon.
        while self.mailbox.state.load(Ordering::Acquire) != GIVEN {
            spin_loop();
        }
        let given = self.take();
        self.mailbox.state.store(FREE, Ordering::Release);
        given
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn only_who_waits_is_given_something() {
        let mailboxes = Mailboxes::new(3);
        assert_eq!(mailboxes.give(0, 'a'), Err('a'));
        let waiting = mailboxes.wait(1).unwrap();
        assert_eq!((mailboxes.give(2, 'b'), mailboxes.give(0, 'c')), (Ok(()), Err('c')));
        assert_eq!((waiting.given(), waiting.given(), mailboxes.give(0, 'd')), (Some('b'), None, Err('d')));
        waiting.again();
        assert_eq!((mailboxes.give(7, 'e'), waiting.leave()), (Ok(()), Some('e')));
        let all = [2, 2, 2].map(|first| mailboxes.wait(first).unwrap());
        assert!(mailboxes.wait(0).is_none());
        assert_eq!(all.map(Waiting::leave), [None; 3]);
    }

    #[test]
    fn nothing_is_lost_or_given_twice() {
        // Next to other tests each takes a turn of the scheduler.
        let n = if spmv_backend::env::set("SPMV_FULL").is_some() { 20_000 } else { 100 };
        let mailboxes = Mailboxes::new(2);
        let (sum, given) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for mailbox in 0..2 {
                let (mailboxes, sum, given) = (&mailboxes, &sum, &given);
                scope.spawn(move || {
                    let add = |what: usize| {
                        sum.fetch_add(what, Ordering::Relaxed);
                        given.fetch_add(1, Ordering::Relaxed);
                    };
                    while given.load(Ordering::Relaxed) < 2 * n {
                        let waiting = mailboxes.wait(mailbox).unwrap();
                        for _ in 0..50 {
                            if let Some(what) = waiting.given() {
                                add(what);
                                waiting.again();
                            }
                        }
                        waiting.leave().into_iter().for_each(add);
                        // Who gives may wait for this core.
                        thread::yield_now();
                    }
                });
            }
            for giver in 0..2 {
                let mailboxes = &mailboxes;
                scope.spawn(move || {
                    for what in 0..n {
                        let mut what = what * 2 + giver;
                        while let Err(back) = mailboxes.give(giver, what) {
                            what = back;
                            thread::yield_now();
                        }
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), n * (2 * n - 1));
    }
}
