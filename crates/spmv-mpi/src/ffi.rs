//! Calls of MPI that rsmpi does not wrap, or whose result it drops. Faults are returned here: none ends the process.
#![allow(unsafe_code)]

use std::fmt;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use mpi::environment::{Threading, is_finalized, is_initialized, threading_support};
use mpi::ffi::{self, MPI_Comm, MPI_Request};

use crate::error::{Error, Result};

/// More than any MPI library's longest message (1,024 bytes in MPICH).
const MESSAGE_BYTES: usize = 8192;
/// Tag of every message. Messages between two processes arrive in the order in which they were sent, and products are started in
/// the same order in all processes.
const TAG: c_int = 1;
/// Most bytes of one message, since counts have 31 bits. Longer ones become several, which arrive in order: no smaller than the network
/// needs for its bandwidth, and small enough that tests send several.
const MOST_BYTES: usize = 16 << 20;

/// Fails unless MPI runs, and this thread may call it.
pub(crate) fn check() -> Result<()> {
    if !is_initialized() || is_finalized() {
        return Err(Error::NotRunning);
    }
    let mut is_main = 0;
    // SAFETY: MPI runs, as was checked above, and `is_main` is written before the call returns.
    done("MPI_Is_thread_main", unsafe { ffi::MPI_Is_thread_main(&mut is_main) })?;
    if is_main == 0 { Err(Error::Thread) } else { Ok(()) }
}

/// The error of a call, in MPI's words.
fn done(call: &'static str, code: c_int) -> Result<()> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let (mut text, mut length) = ([0u8; MESSAGE_BYTES], 0);
    // SAFETY: `text` is longer than MPI_MAX_ERROR_STRING of any library, and codes are MPI's own.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(MESSAGE_BYTES);
    let message = String::from_utf8_lossy(&text[..length]).into_owned();
    Err(Error::Transport { call, code, message })
}

fn count(n: usize) -> Result<c_int> {
    c_int::try_from(n).map_err(|_| Error::Count { n })
}

/// A communicator of our own, in which faults are returned.
#[derive(Debug)]
pub(crate) struct Comm {
    raw: MPI_Comm,
    rank: usize,
    size: usize,
}

// SAFETY: the handle is a value that no method changes, and every method that gives it to MPI checks first that it runs on the
// thread that may call MPI.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

impl Comm {
    /// A duplicate, so that messages of others in `of` are not mixed with ours. Collective.
    pub(crate) fn duplicate(of: MPI_Comm) -> Result<Self> {
        check()?;
        let given = threading_support();
        if given < Threading::Funneled {
            let text = |level| format!("{level:?}");
            return Err(Error::Threading { given: text(given), needed: text(Threading::Funneled) });
        }
        let (mut raw, mut rank, mut size) = (of, 0, 0);
        // SAFETY: `of` is a communicator's handle, since rsmpi's communicators are where callers have it from; the results are
        // written before the calls return. The duplicate is freed by `drop` alone.
        unsafe {
            done("MPI_Comm_dup", ffi::MPI_Comm_dup(of, &mut raw))?;
            let mode = ffi::RSMPI_ERRORS_RETURN;
            done("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(raw, mode))?;
            done("MPI_Comm_rank", ffi::MPI_Comm_rank(raw, &mut rank))?;
            done("MPI_Comm_size", ffi::MPI_Comm_size(raw, &mut size))?;
        }
        Ok(Self { raw, rank: rank as usize, size: size as usize })
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// What all processes give, in the order of ranks. Each gives as many values. Collective.
    pub(crate) fn all_gather<T: Pod>(&self, mine: &[T]) -> Result<Vec<T>> {
        check()?;
        let n = count(size_of_val(mine))?;
        let mut all = vec![T::zeroed(); mine.len() * self.size];
        // SAFETY: `mine` has `n` bytes and `all` as many for each process; values may have any bits (`Pod`).
        let code = unsafe {
            let (from, to) = (mine.as_ptr().cast::<c_void>(), all.as_mut_ptr().cast::<c_void>());
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Allgather(from, n, byte, to, n, byte, self.raw)
        };
        done("MPI_Allgather", code)?;
        Ok(all)
    }

    /// Copies the bytes of `root` to all others. Each has as many. Collective.
    pub(crate) fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        check()?;
        let n = count(bytes.len())?;
        // SAFETY: `bytes` has `n` bytes, which MPI reads or writes before the call returns.
        let code = unsafe {
            let at = bytes.as_mut_ptr().cast::<c_void>();
            ffi::MPI_Bcast(at, n, ffi::RSMPI_UINT8_T, root as c_int, self.raw)
        };
        done("MPI_Bcast", code)
    }

    /// Sends each process the bytes meant for it, and has those meant for this one. Both are in the order of ranks without gaps,
    /// and `counts` are bytes for each. Panics unless the counts add up. Collective.
    pub(crate) fn all_to_all(
        &self,
        (sent, sent_counts): (&[u8], &[usize]),
        (received, received_counts): (&mut [u8], &[usize]),
    ) -> Result<()> {
        check()?;
        let (from_counts, from_offsets) = self.offsets(sent_counts, sent.len())?;
        let (to_counts, to_offsets) = self.offsets(received_counts, received.len())?;
        // SAFETY: there are as many counts and offsets as processes, and `offsets` saw to it that all lie in the buffers.
        let code = unsafe {
            let (from, to) = (sent.as_ptr().cast::<c_void>(), received.as_mut_ptr().cast::<c_void>());
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Alltoallv(
                from,
                from_counts.as_ptr(),
                from_offsets.as_ptr(),
                byte,
                to,
                to_counts.as_ptr(),
                to_offsets.as_ptr(),
                byte,
                self.raw,
            )
        };
        done("MPI_Alltoallv", code)
    }

    /// Counts as MPI has them, and where each process' bytes begin.
    fn offsets(&self, counts: &[usize], bytes: usize) -> Result<(Vec<c_int>, Vec<c_int>)> {
        assert_eq!((counts.len(), counts.iter().sum::<usize>()), (self.size, bytes));
        count(bytes)?;
        let counts: Vec<c_int> = counts.iter().map(|n| *n as c_int).collect();
        let mut offsets = vec![0; counts.len()];
        for rank in 1..counts.len() {
            offsets[rank] = offsets[rank - 1] + counts[rank - 1];
        }
        Ok((counts, offsets))
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        // Where MPI may not be called, the communicator is left to MPI_Finalize.
        if check().is_ok() {
            // SAFETY: the duplicate was made by `duplicate`, and nothing uses it any more. Its errors have nobody to go to.
            unsafe { ffi::MPI_Comm_free(&mut self.raw) };
        }
    }
}

/// Memory that MPI reads and writes by pointers it keeps. It is reached by its raw pointer alone, so that no reference of ours
/// invalidates those.
struct Buffer {
    words: NonNull<[u64]>,
    bytes: usize,
}

impl Buffer {
    fn new(bytes: usize) -> Self {
        let words = Box::leak(vec![0; bytes.div_ceil(8)].into_boxed_slice());
        Self { words: words.into(), bytes }
    }

    fn start(&self) -> *mut u8 {
        self.words.as_ptr().cast()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `new` leaked a box of this very slice, and nobody else frees it.
        drop(unsafe { Box::from_raw(self.words.as_ptr()) });
    }
}

/// A message: the other process, and which bytes of the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) peer: usize,
    pub(crate) bytes: std::ops::Range<usize>,
}

/// Persistent requests, with their memory.
pub(crate) struct Requests {
    /// Receives, then sends. Inactive, except within [`exchange`](Self::exchange).
    requests: Vec<MPI_Request>,
    n_receives: usize,
    sent: Buffer,
    ghosts: Buffer,
    /// The fault after which nothing can be exchanged any more.
    broken: Option<Error>,
    /// Messages belong to it, so it must not be freed before.
    comm: Arc<Comm>,
}

// SAFETY: the buffers belong to this value alone, and requests are handles that are given to MPI after `check` alone: on the thread
// that may call it.
unsafe impl Send for Requests {}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Requests");
        debug.field("requests", &self.requests.len()).field("n_receives", &self.n_receives);
        debug.field("sent_bytes", &self.sent.bytes).field("ghost_bytes", &self.ghosts.bytes);
        debug.field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Requests {
    /// Prepares messages, in the order given. Panics where one lies outside of its buffer.
    pub(crate) fn new(
        comm: Arc<Comm>,
        (ghost_bytes, receives): (usize, &[Message]),
        (sent_bytes, sends): (usize, &[Message]),
    ) -> Result<Self> {
        check()?;
        let (sent, ghosts) = (Buffer::new(sent_bytes), Buffer::new(ghost_bytes));
        let mut made = Self { requests: Vec::new(), n_receives: 0, sent, ghosts, broken: None, comm };
        for message in receives {
            made.init(message, true)?;
        }
        made.n_receives = made.requests.len();
        for message in sends {
            made.init(message, false)?;
        }
        Ok(made)
    }

    /// A request for each [`MOST_BYTES`] of a message.
    fn init(&mut self, message: &Message, is_receive: bool) -> Result<()> {
        let Message { peer, ref bytes } = *message;
        let buffer = if is_receive { &self.ghosts } else { &self.sent };
        assert!(bytes.start <= bytes.end && bytes.end <= buffer.bytes && peer < self.comm.size);
        let peer = peer as c_int;
        for from in bytes.clone().step_by(MOST_BYTES) {
            let n = (bytes.end - from).min(MOST_BYTES) as c_int;
            // SAFETY: `from` and `n` bytes after it lie in the buffer, as was checked above. The buffer is not moved or freed
            // while a request is active, and requests are freed before it (`drop`); where that cannot be, it is leaked.
            let code = unsafe {
                let at = buffer.start().add(from).cast::<c_void>();
                let mut request = ffi::RSMPI_REQUEST_NULL;
                let (byte, comm) = (ffi::RSMPI_UINT8_T, self.comm.raw);
                let (call, code) = match is_receive {
                    true => ("MPI_Recv_init", ffi::MPI_Recv_init(at, n, byte, peer, TAG, comm, &mut request)),
                    false => {
                        ("MPI_Send_init", ffi::MPI_Send_init(at, n, byte, peer, TAG, comm, &mut request))
                    }
                };
                done(call, code).map(|()| request)
            };
            self.requests.push(code?);
        }
        Ok(())
    }

    /// Whether there is nothing to send or receive.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.broken.is_none()
    }

    /// What is sent next.
    pub(crate) fn sent(&mut self) -> &mut [u8] {
        // SAFETY: the buffer has so many bytes, all written; no request is active, since `exchange` has this value borrowed while
        // one is and waits for all before it returns, and `abandon` gives up memory of those that it cannot wait for.
        unsafe { std::slice::from_raw_parts_mut(self.sent.start(), self.sent.bytes) }
    }

    /// What came last.
    pub(crate) fn ghosts(&self) -> &[u8] {
        // SAFETY: as in `sent`.
        unsafe { std::slice::from_raw_parts(self.ghosts.start(), self.ghosts.bytes) }
    }

    /// Starts all requests, receives first, does `work`, and waits for them. The work is done once, whatever MPI reports.
    pub(crate) fn exchange<R>(&mut self, work: impl FnOnce(&mut Active<'_>) -> R) -> (R, Result<()>) {
        let mut active = Active { requests: self, is_active: false };
        let started = active.start();
        let result = work(&mut active);
        let ended = active.wait();
        (result, started.and(ended))
    }

    /// Gives up requests that cannot be waited for, with their memory: MPI may still use it. To wait might be for ever, where another
    /// process failed.
    fn abandon(&mut self, why: &Error) {
        self.requests.clear();
        let (sent, ghosts) = (Buffer::new(self.sent.bytes), Buffer::new(self.ghosts.bytes));
        std::mem::forget(std::mem::replace(&mut self.sent, sent));
        std::mem::forget(std::mem::replace(&mut self.ghosts, ghosts));
        self.broken = Some(why.clone());
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // Elsewhere they are left to MPI_Finalize. They are inactive, so their memory is not used any more.
        if check().is_ok() {
            for request in &mut self.requests {
                // SAFETY: an inactive persistent request, freed once.
                unsafe { ffi::MPI_Request_free(request) };
            }
        }
    }
}

/// Requests between start and end.
pub(crate) struct Active<'a> {
    requests: &'a mut Requests,
    is_active: bool,
}

impl Active<'_> {
    fn start(&mut self) -> Result<()> {
        if let Some(fault) = &self.requests.broken {
            return Err(fault.clone());
        }
        check()?;
        let n_receives = self.requests.n_receives;
        // Receives before sends, so that what arrives has memory to go to and is copied once.
        for range in [0..n_receives, n_receives..self.requests.requests.len()] {
            let requests = &mut self.requests.requests[range];
            // SAFETY: inactive requests, whose memory is neither read nor written by us until `is_active` is false again.
            let code = unsafe { ffi::MPI_Startall(requests.len() as c_int, requests.as_mut_ptr()) };
            if let Err(e) = done("MPI_Startall", code) {
                self.requests.abandon(&e);
                return Err(e);
            }
        }
        self.is_active = true;
        Ok(())
    }

    /// Lets MPI make progress. Whether all is done, or nothing is left that could be.
    pub(crate) fn test(&mut self) -> Result<bool> {
        if !self.is_active {
            return Ok(true);
        }
        let mut all = 0;
        let requests = &mut self.requests.requests;
        // SAFETY: as many requests as are named; statuses are not wanted.
        let code = unsafe {
            let ignored = ffi::RSMPI_STATUSES_IGNORE;
            ffi::MPI_Testall(requests.len() as c_int, requests.as_mut_ptr(), &mut all, ignored)
        };
        self.ended("MPI_Testall", code, all != 0)?;
        Ok(all != 0)
    }

    /// Waits for all.
    pub(crate) fn wait(&mut self) -> Result<()> {
        if !self.is_active {
            return Ok(());
        }
        let requests = &mut self.requests.requests;
        // SAFETY: as in `test`.
        let code = unsafe {
            let ignored = ffi::RSMPI_STATUSES_IGNORE;
            ffi::MPI_Waitall(requests.len() as c_int, requests.as_mut_ptr(), ignored)
        };
        self.ended("MPI_Waitall", code, true)
    }

    fn ended(&mut self, call: &'static str, code: c_int, all: bool) -> Result<()> {
        let result = done(call, code);
        if let Err(e) = &result {
            self.requests.abandon(e);
        }
        self.is_active &= !all && result.is_ok();
        result
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        // Where the work panics: the buffers are about to be freed. What MPI reports has nobody to go to any more.
        let _ = self.wait();
    }
}
