//! Where threads that are awake wait to be given something to do.

use std::fmt;
use std::hint::spin_loop;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, Thread};

/// Threads that can wait at once. More of them sleep.
const MOST: usize = 64;
/// How often a giver asks whether all is done before it sleeps: some 20 us, which is what sleeping costs.
pub(crate) const ASKED: usize = 2000;

/// A mailbox for each thread that waits. Who gives writes to one mailbox, which its thread alone polls: each sees what the other wrote within some
/// hundred nanoseconds, where the queues of a pool take microseconds.
pub(crate) struct Mailboxes<C> {
    all: Box<[Mailbox<C>]>,
}

impl<C> fmt::Debug for Mailboxes<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailboxes").field("all", &self.all.len()).finish()
    }
}

/// What can be given, and who gives it: it stays with the giver, who waits until nobody has it.
pub(crate) struct Gift<C> {
    what: C,
    giver: Thread,
}

impl<C> Gift<C> {
    /// Of this thread.
    pub(crate) fn new(what: C) -> Self {
        Self { what, giver: thread::current() }
    }
}

/// Null as long as no thread has the mailbox, [`waited`](Self::waited) while its thread polls it, else what was given, with [`TAKEN`] and [`ASLEEP`].
///
/// One word says all, so that it goes from core to core once each way. Two cache lines, which a core may fetch together.
#[repr(align(128))]
struct Mailbox<C>(AtomicPtr<Gift<C>>);

/// Added to the address of what was given: its thread has it.
const TAKEN: usize = 1;
/// And the giver sleeps.
const ASLEEP: usize = 2;

impl<C: Sync> Mailboxes<C> {
    /// For as many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let mailbox = || Mailbox(AtomicPtr::new(ptr::null_mut()));
        Self { all: std::iter::repeat_with(mailbox).take(threads.min(MOST)).collect() }
    }

    /// Gives to a thread that waits, the first from mailbox `first` on, if there is one.
    ///
    /// # Safety
    ///
    /// What this returns is dropped, not forgotten: until then a thread may have the gift.
    pub(crate) unsafe fn give<'a>(&'a self, first: usize, gift: &'a Gift<C>) -> Option<Given<'a, C>> {
        let (before, from) = self.all.split_at(first.min(self.all.len()));
        let waited = |mailbox: &&Mailbox<C>| mailbox.turns(Mailbox::waited(), Mailbox::of(gift, 0));
        from.iter().chain(before).find(waited).map(|mailbox| Given { mailbox, gift })
    }

    /// Waits at a free mailbox, the first from `first` on, if there is one.
    pub(crate) fn wait(&self, first: usize) -> Option<Waiting<'_, C>> {
        let n = self.all.len();
        let free = |at: &usize| self.all[*at].turns(ptr::null_mut(), Mailbox::waited());
        (first..first + n).map(|at| at % n).find(free).map(|at| Waiting { mailbox: &self.all[at], at })
    }
}

impl<C> Mailbox<C> {
    fn waited() -> *mut Gift<C> {
        // No gift is there: their addresses are multiples of four.
        ptr::without_provenance_mut(TAKEN)
    }

    fn of(gift: &Gift<C>, more: usize) -> *mut Gift<C> {
        const { assert!(align_of::<Gift<C>>() > TAKEN | ASLEEP) };
        ptr::from_ref(gift).map_addr(|address| address | more).cast_mut()
    }

    fn turns(&self, from: *mut Gift<C>, to: *mut Gift<C>) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// What was given. As this is dropped, it is taken back, or the thread that has it is waited for.
pub(crate) struct Given<'a, C> {
    mailbox: &'a Mailbox<C>,
    gift: &'a Gift<C>,
}

impl<C> Drop for Given<'_, C> {
    fn drop(&mut self) {
        let [given, taken, asleep] = [0, TAKEN, TAKEN | ASLEEP].map(|more| Mailbox::of(self.gift, more));
        let mut asked = 0;
        loop {
            let state = self.mailbox.0.load(Ordering::Acquire);
            if state == given {
                if self.mailbox.turns(given, Mailbox::waited()) {
                    return;
                }
            } else if state == asleep || state == taken && asked >= ASKED {
                if state == asleep || self.mailbox.turns(taken, asleep) {
                    thread::park();
                }
            } else if state == taken {
                asked += 1;
                spin_loop();
            } else {
                return;
            }
        }
    }
}

/// A thread at its mailbox.
pub(crate) struct Waiting<'a, C> {
    mailbox: &'a Mailbox<C>,
    /// Its number.
    pub(crate) at: usize,
}

impl<C> Waiting<'_, C> {
    /// What was given. Until it is dropped nobody gives more.
    pub(crate) fn taken(&self) -> Option<Taken<'_, C>> {
        let gift = self.mailbox.0.load(Ordering::Acquire);
        // The giver may take it back just now.
        let is_taken = gift != Mailbox::waited() && self.mailbox.turns(gift, gift.map_addr(|at| at | TAKEN));
        // SAFETY: a giver waits until what was taken is dropped, by the contract of `give`.
        is_taken.then(|| Taken { mailbox: self.mailbox, gift: unsafe { &*gift } })
    }

    /// Leaves, unless something has been given since.
    pub(crate) fn leaves(&self) -> bool {
        self.mailbox.turns(Mailbox::waited(), ptr::null_mut())
    }
}

/// What a thread has taken. It waits again as this is dropped.
pub(crate) struct Taken<'a, C> {
    mailbox: &'a Mailbox<C>,
    gift: &'a Gift<C>,
}

impl<C> Deref for Taken<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.gift.what
    }
}

impl<C> Drop for Taken<'_, C> {
    fn drop(&mut self) {
        if !self.mailbox.turns(Mailbox::of(self.gift, TAKEN), Mailbox::waited()) {
            // The gift is the giver's alone as soon as the mailbox says so.
            let giver = self.gift.giver.clone();
            self.mailbox.0.store(Mailbox::waited(), Ordering::Release);
            giver.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_who_waits_is_given_something() {
        let mailboxes = Mailboxes::new(3);
        let gifts = ['a', 'b', 'c', 'd', 'e'].map(Gift::new);
        // SAFETY: nothing given is forgotten.
        let give = |first, gift: usize| unsafe { mailboxes.give(first, &gifts[gift]) };
        let taken = |waiting: &Waiting<'_, char>| waiting.taken().as_deref().copied();
        assert!(give(0, 0).is_none());
        let waiting = mailboxes.wait(1).unwrap();
        let given = give(2, 1).unwrap();
        assert!(give(0, 2).is_none());
        assert!(!waiting.leaves());
        assert_eq!((taken(&waiting), taken(&waiting)), (Some('b'), None));
        drop(given);
        // What nobody has taken is taken back.
        drop(give(0, 3).unwrap());
        assert_eq!(taken(&waiting), None);
        assert!(waiting.leaves());
        assert!(give(7, 4).is_none());
        let all = [2, 2, 2].map(|first| mailboxes.wait(first).unwrap());
        assert!(mailboxes.wait(0).is_none());
        assert!(all.iter().all(Waiting::leaves));
    }

    #[test]
    fn who_gave_waits_for_who_took() {
        // Next to other tests each takes a turn of the scheduler.
        let n = if spmv_backend::env::set("SPMV_FULL").is_some() { 20_000 } else { 200 };
        let mailboxes = Mailboxes::new(2);
        let (givers, done) = (AtomicUsize::new(2), AtomicUsize::new(0));
        let (begun, ended) = (0, 1);
        thread::scope(|scope| {
            for mailbox in 0..2 {
                let (mailboxes, givers) = (&mailboxes, &givers);
                scope.spawn(move || {
                    for turn in 0.. {
                        let waiting = mailboxes.wait(mailbox).unwrap();
                        let mut polls = 0..50;
                        while polls.next().is_some() || !waiting.leaves() {
                            let Some(counts) = waiting.taken() else { continue };
                            let counts: &[AtomicUsize; 2] = &counts;
                            counts[begun].fetch_add(1, Ordering::Relaxed);
                            // Now and then for so long that the giver sleeps.
                            if turn % 16 == 0 {
                                thread::sleep(Duration::from_micros(200));
                            }
                            counts[ended].fetch_add(1, Ordering::Relaxed);
                        }
                        if givers.load(Ordering::Relaxed) == 0 {
                            return;
                        }
                        // Who gives may wait for this core.
                        thread::yield_now();
                    }
                });
            }
            for giver in 0..2 {
                let (mailboxes, givers, done) = (&mailboxes, &givers, &done);
                scope.spawn(move || {
                    for _ in 0..n {
                        let gift = Gift::new([const { AtomicUsize::new(0) }; 2]);
                        while gift.what[begun].load(Ordering::Relaxed) == 0 {
                            // SAFETY: it is dropped.
                            let given = unsafe { mailboxes.give(giver, &gift) };
                            thread::yield_now();
                            drop(given);
                        }
                        let is_done_once = gift.what.map(AtomicUsize::into_inner) == [1, 1];
                        done.fetch_add(usize::from(is_done_once), Ordering::Relaxed);
                    }
                    givers.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(done.into_inner(), 2 * n);
    }
}
