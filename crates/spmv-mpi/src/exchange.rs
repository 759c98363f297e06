//! The exchange of one matrix, while something else is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use spmv::parts::{Exchange, Halo, PeersError};

use crate::error::Result;
use crate::ffi::{Active, Comm, Message, Requests, check};

/// Messages that each library sends whether the receiver asks for them yet or not (Open MPI: 4 KiB with their header, the least of
/// all). Nothing is gained by a second thread then, and to wake one takes some 10 us (`examples/overlap.rs`).
const EAGER_BYTES: usize = 2 << 10;
/// How often MPI is asked without a rest: a short exchange is over by then.
const TESTS_AT_FIRST: usize = 200;
/// The rest between two questions later on, so that a long exchange leaves the core to the threads that multiply.
const REST: Duration = Duration::from_micros(20);

/// Persistent requests: a product starts them and makes no others.
#[derive(Debug)]
pub(crate) struct MpiExchange {
    requests: Requests,
    /// Whether all messages are sent without progress being made.
    is_eager: bool,
    /// Whether it ends before the other work begins.
    goes_before: bool,
}

impl MpiExchange {
    pub(crate) fn new(comm: &Arc<Comm>, halo: &Halo, value_bytes: usize, goes_before: bool) -> Result<Self> {
        let mut next = 0;
        let sends = halo.sends.iter().map(|send| {
            let from = next;
            next += send.values.len() * value_bytes;
            Message { peer: send.to, bytes: from..next }
        });
        let sends: Vec<_> = sends.collect();
        let receives = halo.receives.iter().map(|receive| {
            let ghosts = &receive.ghosts;
            Message { peer: receive.from, bytes: ghosts.start * value_bytes..ghosts.end * value_bytes }
        });
        let receives: Vec<_> = receives.collect();
        let is_eager = sends.iter().chain(&receives).all(|message| message.bytes.len() <= EAGER_BYTES);
        let ghosts = (halo.n_ghosts() * value_bytes, &receives[..]);
        let requests = Requests::new(Arc::clone(comm), ghosts, (next, &sends[..]))?;
        Ok(Self { requests, is_eager, goes_before })
    }

    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<()> {
        // No thread is woken for nothing.
        if let (true, _) | (_, Err(_)) = (self.requests.is_empty(), check()) {
            meanwhile();
            return check();
        }
        if self.is_eager {
            return self.requests.exchange(|_| meanwhile()).1;
        }
        if self.goes_before {
            let (waited, ended) = self.requests.exchange(|active| active.wait());
            meanwhile();
            return waited.and(ended);
        }
        let (progress, ended) = self.requests.exchange(|active| overlap(active, meanwhile));
        progress.and(ended)
    }
}

/// Works on another thread, while this one, which alone may call MPI, makes progress: MPI need not make any by itself.
fn overlap(active: &mut Active<'_>, meanwhile: &mut (dyn FnMut() + Send)) -> Result<()> {
    let is_done = AtomicBool::new(false);
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            meanwhile();
            is_done.store(true, Ordering::Release);
        });
        let mut tests = 0;
        // The wait for the work is the scope's: where this thread is one of rayon's, it does the work itself.
        while !active.test()? {
            if is_done.load(Ordering::Acquire) {
                return active.wait();
            }
            tests += 1;
            match tests < TESTS_AT_FIRST {
                true => thread::yield_now(),
                false => thread::sleep(REST),
            }
        }
        Ok(())
    })
}

impl Exchange for MpiExchange {
    fn sent(&mut self) -> &mut [u8] {
        self.requests.sent()
    }

    fn ghosts(&self) -> &[u8] {
        self.requests.ghosts()
    }

    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<(), PeersError> {
        Ok(MpiExchange::run(self, meanwhile)?)
    }
}
