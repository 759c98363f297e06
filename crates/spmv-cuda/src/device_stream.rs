//! Streams, points in their work, and what of it is captured.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Weak};

use spmv_backend::Result;

use crate::device_driver::{self as sys, CUevent, CUgraph, CUgraphExec, CUstream};
use crate::device_held::{Command, Held};
use crate::device_memory::Staging;
use crate::device_owned::{Owned, Shared};
use crate::error::During;

/// A stream of the driver, and pinned memory for its copies.
#[derive(Debug)]
pub struct Stream {
    pub(crate) stagings: RefCell<Vec<Staging>>,
    pub(crate) timed: bool,
    pub(crate) held: RefCell<Option<Held>>,
    /// Of what was held back before.
    pub(crate) graphs: RefCell<HashMap<Vec<Command>, Graph>>,
    /// Hashes of what was held back once.
    pub(crate) seen: RefCell<HashSet<u64>>,
    /// Openings of devices whose memory copies of this stream may go to.
    peers: RefCell<Vec<Weak<Shared>>>,
    stream: Owned<CUstream>,
}

/// A point in a stream's work.
#[derive(Debug)]
pub struct Event {
    pub(crate) timed: bool,
    pub(crate) event: CUevent,
    pub(crate) shared: Arc<Shared>,
}

/// Captured launches.
#[derive(Debug)]
pub struct Graph {
    pub(crate) graph: Owned<CUgraphExec>,
    /// The driver does not guard graphs against several threads.
    pub(crate) by_one_thread: PhantomData<Cell<()>>,
}

/// Launches of a stream that are captured; ends when it is dropped, in a panic too.
pub(crate) struct Capture<'a>(pub(crate) Option<&'a Stream>);

impl Capture<'_> {
    /// What was captured, where all is well.
    pub(crate) fn end(&mut self) -> Result<Option<Owned<CUgraph>>> {
        let Some(stream) = self.0.take() else { return Ok(None) };
        let mut graph = CUgraph::NULL;
        // SAFETY: ends what was begun before this was made, once; writes a new graph, or null, to `graph`.
        let answer = unsafe { sys::cuStreamEndCapture(stream.get(), &mut graph) };
        let graph = (graph != CUgraph::NULL).then(|| Owned::new(graph, sys::cuGraphDestroy, stream.shared()));
        stream.shared().check(During::Other("capture"), answer)?;
        Ok(graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // Where an error can be returned, `end` was called before.
        let _ = self.end();
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.shared.keep_event(self.event, self.timed);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Pinned memory goes with the stream, so its copies are waited for.
        let _ = self.finish();
    }
}

impl Stream {
    pub(crate) fn new(stream: Owned<CUstream>, timed: bool) -> Self {
        let (stagings, held, graphs, seen, peers) = Default::default();
        Self { stagings, timed, held, graphs, seen, peers, stream }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.stream.shared
    }

    pub(crate) fn get(&self) -> CUstream {
        self.stream.get()
    }

    /// Lets the device reach the memory of another one directly, where it can.
    pub(crate) fn open_peer(&self, peer: &Arc<Shared>) -> Result<()> {
        let mut opened = self.peers.borrow_mut();
        if opened.iter().any(|known| ptr::eq(known.as_ptr(), Arc::as_ptr(peer))) {
            return Ok(());
        }
        self.shared().open_peer(peer)?;
        // A weak pointer keeps its address from being used again.
        opened.retain(|known| known.strong_count() > 0);
        opened.push(Arc::downgrade(peer));
        Ok(())
    }

    /// Waits for all that it was given.
    pub(crate) fn finish(&self) -> Result<()> {
        let _current = self.shared().enter()?;
        // SAFETY: the stream lives.
        let answer = unsafe { sys::cuStreamSynchronize(self.get()) };
        self.shared().check(During::Kernel("stream"), answer)
    }

    /// The driver's handle, for other libraries' calls in the order of this stream's work. Good as long as the stream
    /// lives.
    pub fn raw(&self) -> *mut c_void {
        self.get().0
    }
}
