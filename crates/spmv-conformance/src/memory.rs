//! What a probe knows of a buffer: what follows it, what it must still hold, and who uses it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use spmv_backend::{Backend, Result};

use crate::faults::lock;

/// Bytes that follow a buffer. None are before it: where a buffer begins is for the driver to say.
pub(crate) const CANARY: usize = 64;

/// What they hold: no byte twice in a row, no small number, no sum.
pub(crate) fn canary() -> [u8; CANARY] {
    std::array::from_fn(|i| 0xa5u8.wrapping_add(37u8.wrapping_mul(i as u8)))
}

/// A stream's commands by number, and how many of them the host knows to be done.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    queued: AtomicU64,
    done: AtomicU64,
    /// The last that borrowed memory of the host.
    with_host_memory: AtomicU64,
}

impl Timeline {
    /// The number of a new command.
    pub(crate) fn queue(&self) -> u64 {
        self.queued.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The last command's number.
    pub(crate) fn last(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// The host has waited for that command.
    pub(crate) fn waited_for(&self, command: u64) {
        self.done.fetch_max(command, Ordering::Relaxed);
    }

    /// The next command borrows memory of the host.
    pub(crate) fn uses_host_memory(&self) {
        self.with_host_memory.store(self.last() + 1, Ordering::Relaxed);
    }

    pub(crate) fn may_use_host_memory(&self) -> bool {
        !self.is_done(self.with_host_memory.load(Ordering::Relaxed))
    }

    fn is_done(&self, command: u64) -> bool {
        command <= self.done.load(Ordering::Relaxed)
    }
}

/// A command that uses a buffer.
#[derive(Debug)]
struct Use {
    timeline: Arc<Timeline>,
    command: u64,
    writes: bool,
}

/// A buffer, with the canary behind what was asked for.
#[derive(Debug)]
pub(crate) struct Slot<B: Backend> {
    inner: RwLock<B::Buffer>,
    /// As many as were asked for.
    pub(crate) bytes: u64,
    /// What the host wrote and no kernel may have overwritten since.
    known: Mutex<Vec<Option<u8>>>,
    /// Those that nobody has waited for.
    uses: Mutex<Vec<Use>>,
}

impl<B: Backend> Slot<B> {
    /// Around a buffer that has [`CANARY`] bytes more than `bytes`.
    pub(crate) fn new(inner: B::Buffer, bytes: u64) -> Self {
        let known = Mutex::new(vec![None; bytes as usize]);
        Self { inner: RwLock::new(inner), bytes, known, uses: Mutex::default() }
    }

    pub(crate) fn inner(&self) -> RwLockReadGuard<'_, B::Buffer> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn inner_mut(&self) -> RwLockWriteGuard<'_, B::Buffer> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host wrote these bytes.
    pub(crate) fn know(&self, offset: u64, bytes: &[u8]) {
        let at = offset as usize;
        let mut known = lock(&self.known);
        known[at..at + bytes.len()].iter_mut().zip(bytes).for_each(|(known, byte)| *known = Some(*byte));
    }

    /// A kernel may have written any of them.
    pub(crate) fn forget(&self) {
        lock(&self.known).fill(None);
    }

    /// Takes note of a command that uses the buffer.
    ///
    /// # Errors
    /// What the command races with: one of another stream that nobody waited for, where one of the two writes.
    pub(crate) fn used(&self, timeline: &Arc<Timeline>, command: u64, writes: bool) -> Result<(), String> {
        let mut uses = lock(&self.uses);
        uses.retain(|of| !of.timeline.is_done(of.command));
        let races = |of: &&Use| !Arc::ptr_eq(&of.timeline, timeline) && (of.writes || writes);
        let result = match uses.iter().find(races) {
            None => Ok(()),
            Some(other) => {
                let verb = |writes| if writes { "writes" } else { "reads" };
                let (first, second) = (verb(other.writes), verb(writes));
                let bytes = self.bytes;
                Err(format!(
                    "a command {second} a buffer of {bytes} bytes that one of another stream still {first}"
                ))
            }
        };
        uses.push(Use { timeline: Arc::clone(timeline), command, writes });
        result
    }

    /// Compares what the buffer holds, canary and all, with what it must.
    ///
    /// # Errors
    /// The first bytes that differ, in words.
    pub(crate) fn compare(&self, found: &[u8]) -> Result<(), String> {
        let bytes = self.bytes as usize;
        if let Some(Range { start, end }) = differing(&found[bytes..], &canary().map(Some)) {
            return Err(format!(
                "a buffer of {bytes} bytes: bytes {start}..{end} behind it were overwritten"
            ));
        }
        match differing(&found[..bytes], &lock(&self.known)) {
            None => Ok(()),
            Some(Range { start, end }) => Err(format!(
                "a buffer of {bytes} bytes: its bytes {start}..{end} changed, and no kernel writes it"
            )),
        }
    }
}

/// From the first byte that differs to the last.
fn differing(found: &[u8], expected: &[Option<u8>]) -> Option<Range<usize>> {
    let differ = |i: &usize| expected[*i].is_some_and(|byte| byte != found[*i]);
    let first = (0..found.len()).find(differ)?;
    (first..found.len()).rfind(differ).map(|last| first..last + 1)
}
