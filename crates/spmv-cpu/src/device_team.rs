//! Who works on a launch: the thread that calls, and threads of a pool that come to help.
//!
//! To wake a thread takes as long as a product of some fifty thousand entries. So the caller never waits for one to begin:
//! it takes parts as the others do, and returns once all are done. Whoever comes after that finds the launch closed.
//! Helpers sleep only when for a while nobody has called, so that a loop of products wakes nobody.

use std::any::Any;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, Yield};

/// How often the caller asks whether the last part is done before it sleeps: some 20 us, which is what sleeping costs.
const ASKED: usize = 2000;
/// How long a helper looks for the next call before it sleeps: what solvers do between products of small matrices takes less.
const AWAKE: Duration = Duration::from_micros(50);
/// Shares of a launch, which are listed on the stack. More threads begin with one that others have too.
const MOST_SHARES: usize = 32;
/// Threads that each thread wakes.
const WAKES: usize = 2;

/// The threads that a launch may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Team<'a> {
    /// Rayon's global pool, if there is none.
    pub(crate) pool: Option<&'a ThreadPool>,
    /// The caller's is one of them.
    pub(crate) threads: usize,
}

/// A part of a launch, until somebody takes it.
pub(crate) type Part<P> = Mutex<Option<P>>;

fn take<P>(part: &Part<P>) -> Option<P> {
    part.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Team<'_> {
    /// Does `work` once for each part, and returns when all of it is done. In a thread of a pool, that pool does it, unless the
    /// team has a pool of its own.
    ///
    /// # Panics
    /// If `work` does, when all others have come to an end.
    pub(crate) fn share<P: Send>(&self, parts: &[Part<P>], work: &(impl Fn(P) + Sync)) {
        if self.threads == 1 || parts.len() <= 1 {
            return parts.iter().filter_map(take).for_each(work);
        }
        if self.pool.is_none() && rayon::current_thread_index().is_some() {
            return parts.par_iter().with_max_len(1).filter_map(take).for_each(work);
        }
        // Each begins with a share of its own, the same one in every launch, of which its caches may hold something.
        let n_shares = self.threads.min(MOST_SHARES);
        let first = |share: usize| share.min(n_shares) * parts.len() / n_shares;
        let shares: [_; MOST_SHARES] =
            std::array::from_fn(|share| Share::new(first(share)..first(share + 1)));
        let turn = |member: usize| {
            let own = member % n_shares;
            for share in (own..n_shares).chain(0..own) {
                // From others' shares, what they will come to last.
                while let Some(at) = shares[share].claim(share == own) {
                    take(&parts[at]).into_iter().for_each(work);
                }
            }
        };
        let borrowed: *const Turn<'_> = &raw const turn;
        let call = Arc::new(Call {
            // SAFETY: only the lifetime changes; `help` says when it is called.
            turn: unsafe { std::mem::transmute::<*const Turn<'_>, *const Turn<'static>>(borrowed) },
            state: AtomicUsize::new(0),
            helpers: self.threads - 1,
            // Who comes last should find something still.
            uncalled: AtomicUsize::new(self.threads.min(parts.len().div_ceil(2)) - 1),
            caller: thread::current(),
            panic: Mutex::new(None),
        });
        let open = Open(&call);
        if call.one_more() {
            let call = Arc::clone(&call);
            match self.pool {
                Some(pool) => pool.spawn(move || call.help()),
                None => rayon::spawn(move || call.help()),
            }
        }
        turn(0);
        drop(open);
        let panic = call.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// Parts that nobody has claimed: the first in the low half, the end in the high one. Each has cache lines of its own, which as a rule one member
/// alone changes.
#[repr(align(128))]
struct Share(AtomicU64);

impl Share {
    fn new(parts: Range<usize>) -> Self {
        Self(AtomicU64::new(parts.start as u64 | (parts.end as u64) << 32))
    }

    /// The first part, or the last.
    fn claim(&self, is_own: bool) -> Option<usize> {
        let without = |parts: u64| {
            let is_left = (parts as u32) < (parts >> 32) as u32;
            is_left.then(|| if is_own { parts + 1 } else { parts - (1 << 32) })
        };
        let parts = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, without).ok()?;
        Some(if is_own { parts as u32 as usize } else { (parts >> 32) as usize - 1 })
    }
}

/// Takes parts until there are none, as a member of the team.
type Turn<'a> = dyn Fn(usize) + Sync + 'a;

/// A call for help.
struct Call {
    /// The caller's, which borrows what the launch does.
    turn: *const Turn<'static>,
    /// Helpers at work, and [`CLOSED`].
    state: AtomicUsize,
    /// All members but the caller.
    helpers: usize,
    /// Helpers that may still be called.
    uncalled: AtomicUsize,
    caller: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `turn` is called as a shared reference to what is `Sync`; the rest is `Send` and `Sync`.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

/// Nobody may enter.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Call {
    /// Whether one more helper may be called, who then is.
    fn one_more(&self) -> bool {
        let less = |uncalled: usize| uncalled.checked_sub(1);
        self.uncalled.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn enter(&self) -> bool {
        let more = |state: usize| (state & CLOSED == 0).then_some(state + 1);
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }

    fn leave(&self) {
        if self.state.fetch_sub(1, Ordering::AcqRel) == CLOSED + 1 {
            self.caller.unpark();
        }
    }

    /// What a thread of the pool does.
    fn help(self: Arc<Self>) {
        if !self.enter() {
            return;
        }
        for _ in 0..WAKES {
            if self.one_more() {
                let call = Arc::clone(&self);
                rayon::spawn(move || call.help());
            }
        }
        let member = 1 + rayon::current_thread_index().unwrap_or(0) % self.helpers;
        // SAFETY: between `enter` and `leave`. `share` drops its `Open` before what `turn` borrows is gone, even in a panic, and
        // that returns when everybody who entered has left and nobody can enter any more.
        let turn = || unsafe { (*self.turn)(member) };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(turn)) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        self.leave();
        stay_awake();
    }
}

/// Looks for the next call for a while, and does what else there is for the pool.
fn stay_awake() {
    thread_local! {
        static ANSWERED: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    // If there was a call before, this thread is looking already, and came by this one so.
    if ANSWERED.replace(Some(Instant::now())).is_some() {
        return;
    }
    while ANSWERED.get().is_some_and(|at| at.elapsed() < AWAKE) {
        if rayon::yield_now() != Some(Yield::Executed) {
            spin_loop();
        }
    }
    ANSWERED.set(None);
}

/// A call that can be answered, until this is dropped.
struct Open<'a>(&'a Call);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        let mut asked = 0;
        while self.0.state.load(Ordering::Acquire) != CLOSED {
            asked += 1;
            if asked < ASKED { spin_loop() } else { thread::park() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::time::Duration;

    use rayon::ThreadPoolBuilder;

    use super::*;

    fn each_once(team: Team<'_>, n: usize, work: &(impl Fn(usize) + Sync)) {
        let parts: Vec<Part<usize>> = (0..n).map(|part| Part::new(Some(part))).collect();
        let done: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        team.share(&parts, &|part| {
            work(part);
            done[part].fetch_add(1, Ordering::Relaxed);
        });
        assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1), "{done:?}");
    }

    #[test]
    fn every_part_is_done_once_whoever_calls_and_whenever_helpers_come() {
        for threads in 1..6 {
            let pool =
                (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads - 1).build().unwrap());
            for team in [Team { pool: pool.as_ref(), threads }, Team { pool: None, threads }] {
                thread::scope(|scope| {
                    for caller in 0..3 {
                        scope.spawn(move || {
                            for n in [0, 1, 2, 3, 7, 40] {
                                // None for helpers, then some, then much.
                                each_once(team, n, &|_| ());
                                each_once(team, n, &|part| {
                                    thread::sleep(Duration::from_micros(30 * (part % 3) as u64))
                                });
                                each_once(team, n, &|part| {
                                    if part == n - 1 {
                                        thread::sleep(Duration::from_millis(caller))
                                    }
                                });
                            }
                        });
                    }
                });
                rayon::scope(|_| each_once(team, 9, &|_| ()));
            }
        }
    }

    #[test]
    fn who_is_busy_need_not_come() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (release, wait) = std::sync::mpsc::channel::<()>();
        pool.spawn(move || wait.recv().unwrap());
        // The only helper waits for what comes after.
        each_once(Team { pool: Some(&pool), threads: 2 }, 8, &|_| ());
        release.send(()).unwrap();
    }

    #[test]
    fn a_panic_comes_out_when_all_others_have_ended() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let team = Team { pool: Some(&pool), threads: 3 };
        for bad in 0..12 {
            let running = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                each_once(team, 12, &|part| {
                    running.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_micros(100));
                    running.fetch_sub(1, Ordering::SeqCst);
                    assert_ne!(part, bad, "a bad part");
                });
            }));
            assert_eq!(running.load(Ordering::SeqCst), 0);
            assert!(result.unwrap_err().downcast_ref::<String>().unwrap().contains("a bad part"));
        }
    }
}
