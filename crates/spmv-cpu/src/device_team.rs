//! Who works on a launch: the thread that calls, and threads of a pool that come to help.
//!
//! To wake a thread takes as long as a product of some fifty thousand entries. So nobody waits for one to begin: a member of the team
//! calls others, takes parts as they do, and waits for those who came. Who has not come by then finds the launch closed.
//! Helpers sleep only when for a while nobody has called, so that a loop of products wakes nobody.

use std::any::Any;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::device_mailbox::{ASKED, Gift, Mailboxes};

/// How long a helper looks for the next call before it sleeps: what solvers do between products of small matrices takes less.
const AWAKE: Duration = Duration::from_micros(50);
/// How often it polls its mailbox before it polls the queues of the pool and asks for the time, which takes about as long.
const POLLS: usize = 32;
/// Shares of a launch, which are listed on the stack. More threads begin with one that others have too.
const MOST_SHARES: usize = 32;
/// Others that each member calls.
const CALLED: usize = 4;

/// The threads that a launch may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Team<'a> {
    /// Rayon's global pool, if there is none.
    pub(crate) pool: Option<&'a ThreadPool>,
    /// The caller's is one of them.
    pub(crate) threads: usize,
    /// Where those of the pool wait that are awake.
    pub(crate) mailboxes: &'a Arc<Calls>,
}

/// What a launch is cut into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) n: usize,
    /// Threads that are to take part, of those that there are.
    pub(crate) members: usize,
    /// Whether they are about as much work each. Members then take several at once, and fewer the less is left (guided self-scheduling, Polychronopoulos
    /// and Kuck 1987): there are few claims, and all end at about the same time.
    pub(crate) are_equal: bool,
}

/// What comes before a part, and the rest.
// Generic in this, members of a team were compiled for each kernel and type: a sixth of the crate.
type Cut<'a, P> = dyn Fn(P, usize) -> (P, P) + Sync + 'a;

/// Where the threads of a pool wait for calls.
pub(crate) type Calls = Mailboxes<Task>;

impl Team<'_> {
    /// Does `work` with all parts of `all`, one or several at a time, and returns when all of it is done. `cut(what, part)` is what comes before a
    /// part, and the rest. In a thread of a pool, that pool does it, unless the team has a pool of its own.
    ///
    /// # Panics
    /// If `work` or `cut` does, when all others have come to an end.
    pub(crate) fn share<P: Send>(&self, all: P, parts: Parts, cut: &Cut<'_, P>, work: &(dyn Fn(P) + Sync)) {
        // Each begins with a share of its own, the same one in every launch, of which its caches may hold something.
        let members = self.threads.min(parts.members);
        let n_shares = members.min(MOST_SHARES);
        if n_shares <= 1 {
            return work(all);
        }
        let first = |share: usize| share * parts.n / n_shares;
        let mut shares = ArrayVec::<_, MOST_SHARES>::new();
        let mut rest = all;
        for share in 1..n_shares {
            let (own, others) = cut(rest, first(share));
            shares.push(Share::new(first(share - 1)..first(share), own));
            rest = others;
        }
        shares.push(Share::new(first(n_shares - 1)..parts.n, rest));
        // What all members read is here, not somewhere else on the caller's stack: each line of another core's cache takes a hundred nanoseconds.
        let (shares, Parts { are_equal, .. }) = (&*shares, parts);
        let turn = move |member: usize| {
            let own = member % n_shares;
            for share in (own..n_shares).chain(0..own) {
                let is_own = share == own;
                let most = |left: usize| match (is_own, are_equal) {
                    (_, false) => 1,
                    // Most of it stays with one core from launch to launch: lines of another core's cache take longest to read.
                    (true, true) => left - left / 4,
                    // Each claim of a part that is not one's own takes as long as some hundred entries.
                    (false, true) => left.div_ceil(4),
                };
                while let Some(some) = shares[share].claim(is_own, most, cut) {
                    work(some);
                }
            }
        };
        match self.pool {
            None if rayon::current_thread_index().is_some() => in_pool(n_shares, &turn),
            _ => self.call(members, &turn),
        }
    }

    /// Has so many members take their turns, as far as they come before all is done.
    fn call(&self, members: usize, turn: &Turn<'_>) {
        let call = Call {
            turn,
            caller: thread::current(),
            helpers: self.threads - 1,
            mailboxes: self.mailboxes,
            panic: Mutex::new(None),
            door: OnceLock::new(),
        };
        let open = Open(&call);
        let wake = |late: Late| match self.pool {
            Some(pool) => pool.spawn(move || late.help()),
            None => rayon::spawn(move || late.help()),
        };
        call.turn_of(turn, 0, members - 1, &wake);
        drop(open);
        if let Some(panic) = call.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
    }
}

/// The same by the threads of the caller's pool. One function for all kernels: rayon's code is compiled once.
fn in_pool(n_members: usize, turn: &Turn<'_>) {
    (0..n_members).into_par_iter().with_max_len(1).for_each(turn);
}

/// Parts that nobody has claimed. Each share has cache lines of its own, which as a rule one member alone changes.
#[repr(align(128))]
struct Share<P> {
    /// Whether all are claimed: who looks for more need not write to the line to see that.
    is_over: AtomicBool,
    left: Mutex<Left<P>>,
}

struct Left<P> {
    parts: Range<usize>,
    what: Option<P>,
}

impl<P> Share<P> {
    fn new(parts: Range<usize>, what: P) -> Self {
        Self { is_over: AtomicBool::new(false), left: Mutex::new(Left { parts, what: Some(what) }) }
    }

    /// The first parts, or the last: `most` of so many that are left.
    fn claim(&self, is_own: bool, most: impl Fn(usize) -> usize, cut: &Cut<'_, P>) -> Option<P> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let what = left.what.take()?;
        let n = most(left.parts.len());
        if left.parts.len() == n {
            self.is_over.store(true, Ordering::Relaxed);
            return Some(what);
        }
        let (some, rest) = if is_own {
            left.parts.start += n;
            cut(what, left.parts.start)
        } else {
            left.parts.end -= n;
            let (rest, last) = cut(what, left.parts.end);
            (last, rest)
        };
        left.what = Some(rest);
        Some(some)
    }
}

/// Takes parts until there are none, as a member of the team.
type Turn<'a> = dyn Fn(usize) + Sync + 'a;

/// A call for help, on the caller's stack.
struct Call<'a> {
    turn: &'a Turn<'a>,
    caller: Thread,
    /// All threads but the caller.
    helpers: usize,
    mailboxes: &'a Arc<Calls>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// For threads that slept, once one has been woken.
    door: OnceLock<Arc<Door>>,
}

/// What a helper does: it takes a turn, and calls some of the others.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// The call's: found here, it is a line of the caller's cache less on the way to the first part.
    turn: *const Turn<'static>,
    call: *const Call<'static>,
    others: usize,
}

const fn is_sync<T: Sync>() {}
const _: () = is_sync::<Call<'static>>();

// SAFETY: calls are used as shared references, and they are `Sync`.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

impl Task {
    fn new(call: &Call<'_>, others: usize) -> Self {
        let turn: *const Turn<'_> = call.turn;
        // SAFETY: only the lifetime changes; `help` says when it is called.
        let turn = unsafe { std::mem::transmute::<*const Turn<'_>, *const Turn<'static>>(turn) };
        Self { turn, call: ptr::from_ref(call).cast(), others }
    }

    /// # Safety
    ///
    /// The call is there until this returns.
    unsafe fn help(self, member: usize) {
        // SAFETY: by contract.
        let (call, turn) = unsafe { (&*self.call, &*self.turn) };
        let wake = |late: Late| rayon::spawn(move || late.help());
        let turn = || call.turn_of(turn, member, self.others, &wake);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(turn)) {
            *call.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
    }
}

impl Call<'_> {
    /// What a member does: it calls others, each of whom calls a part of the rest, takes parts until there are none, and waits for those it called.
    /// Member 0 is the caller. It wakes one thread at most, which wakes others sooner than the caller would.
    fn turn_of(&self, turn: &Turn<'_>, member: usize, others: usize, wake: &dyn Fn(Late)) {
        let mut left = others;
        let gifts: ArrayVec<_, CALLED> = (0..CALLED.min(others))
            .map(|other| {
                let called = left.div_ceil(CALLED - other);
                left -= called;
                (called, Gift::new(Task::new(self, called - 1)))
            })
            .collect();
        let mut given = ArrayVec::<_, CALLED>::new();
        left = others;
        for (other, (called, gift)) in gifts.iter().enumerate() {
            // SAFETY: it is dropped below, even in a panic.
            if let Some(one) = unsafe { self.mailboxes.give(member * CALLED + other, gift) } {
                given.push(one);
            } else if member == 0 {
                wake(self.late(left - 1));
                break;
            } else {
                wake(self.late(called - 1));
            }
            left -= called;
        }
        turn(member);
        drop(given);
    }

    /// For one that sleeps.
    fn late(&self, others: usize) -> Late {
        let door = || {
            // A helper may be who makes it.
            let (caller, mailboxes) = (self.caller.clone(), Arc::clone(self.mailboxes));
            Arc::new(Door { inside: AtomicUsize::new(0), caller, helpers: self.helpers, mailboxes })
        };
        Late { task: Task::new(self, others), door: Arc::clone(self.door.get_or_init(door)) }
    }
}

/// What a thread does that was not awake.
struct Late {
    task: Task,
    door: Arc<Door>,
}

impl Late {
    fn help(self) {
        let Self { task, door } = self;
        if !door.enter() {
            return;
        }
        let thread = rayon::current_thread_index().unwrap_or(0);
        // SAFETY: between `enter` and `leave`. `call` drops its `Open` before the call is gone, even in a panic, and that returns when
        // everybody who entered has left and nobody can enter any more.
        unsafe { task.help(1 + thread % door.helpers) };
        door.leave();
        stay_awake(&door.mailboxes, thread);
    }
}

/// Where threads enter a call that come whenever they have woken.
struct Door {
    /// How many there are, and [`CLOSED`].
    inside: AtomicUsize,
    caller: Thread,
    /// All threads but the caller.
    helpers: usize,
    mailboxes: Arc<Calls>,
}

/// Nobody may enter.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Door {
    fn enter(&self) -> bool {
        let more = |inside: usize| (inside & CLOSED == 0).then_some(inside + 1);
        self.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
    }

    fn leave(&self) {
        if self.inside.fetch_sub(1, Ordering::AcqRel) == CLOSED + 1 {
            self.caller.unpark();
        }
    }
}

/// Looks for the next call for a while, and does what else there is for the pool.
fn stay_awake(mailboxes: &Calls, thread: usize) {
    thread_local! {
        static ANSWERED: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    // If there was a call before, this thread is looking already, and came by this one so.
    if ANSWERED.replace(Some(Instant::now())).is_some() {
        return;
    }
    // Else as many as can help are awake.
    if let Some(mailbox) = mailboxes.wait(thread) {
        while ANSWERED.get().is_some_and(|at| at.elapsed() < AWAKE) || !mailbox.leaves() {
            let mut polls = 0..POLLS;
            let taken = polls.find_map(|_| {
                spin_loop();
                mailbox.taken()
            });
            if let Some(task) = taken {
                // SAFETY: the call waits until `task` is dropped.
                unsafe { task.help(1 + mailbox.at) };
                drop(task);
                ANSWERED.set(Some(Instant::now()));
            } else {
                rayon::yield_now();
            }
        }
    }
    ANSWERED.set(None);
}

/// A call that can be answered, until this is dropped.
struct Open<'a>(&'a Call<'a>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let Some(door) = self.0.door.get() else { return };
        door.inside.fetch_or(CLOSED, Ordering::AcqRel);
        let mut asked = 0;
        while door.inside.load(Ordering::Acquire) != CLOSED {
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
        let done: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        let cut = |parts: Range<usize>, at| (parts.start..at, at..parts.end);
        // One at a time, and several.
        let parts = Parts { n, members: n.div_ceil(2), are_equal: n.is_multiple_of(2) };
        team.share(0..n, parts, &cut, &|parts: Range<usize>| {
            for part in parts {
                work(part);
                done[part].fetch_add(1, Ordering::Relaxed);
            }
        });
        assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1), "{done:?}");
    }

    #[test]
    fn every_part_is_done_once_whoever_calls_and_whenever_helpers_come() {
        for threads in 1..6 {
            let pool =
                (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads - 1).build().unwrap());
            let mailboxes = Arc::new(Calls::new(threads));
            let team = |pool| Team { pool, threads, mailboxes: &mailboxes };
            for team in [team(pool.as_ref()), team(None)] {
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
        let mailboxes = Arc::new(Calls::new(1));
        each_once(Team { pool: Some(&pool), threads: 2, mailboxes: &mailboxes }, 8, &|_| ());
        release.send(()).unwrap();
    }

    #[test]
    fn who_called_is_woken_whether_helpers_were_awake_or_not() {
        let mailboxes = Arc::new(Calls::new(15));
        let pool = ThreadPoolBuilder::new().num_threads(15).build().unwrap();
        let team = Team { pool: Some(&pool), threads: 16, mailboxes: &mailboxes };
        for round in 0..300 {
            // Some are asleep by the next call, or all.
            each_once(team, 47, &|_| thread::sleep(Duration::from_micros(60)));
            thread::sleep(AWAKE * (round % 3) / 2);
        }
    }

    #[test]
    fn a_panic_comes_out_when_all_others_have_ended() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mailboxes = Arc::new(Calls::new(2));
        let team = Team { pool: Some(&pool), threads: 3, mailboxes: &mailboxes };
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
