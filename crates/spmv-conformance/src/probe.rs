//! A backend around another that sees what runs do to memory, and fails where it is told to.
//!
//! - Behind every buffer is a canary, and what the host wrote to a buffer must stay there until a kernel that may write the
//!   buffer starts ([`Watch::check`]).
//! - A command that uses a buffer while one of another stream may still write it is found, even on devices that do
//!   everything at once ([`Watch::races`]).
//! - Buffers, streams, events, kernels and graphs that are alive are counted ([`Watch::alive`]).
//! - A call of a verb can be made to fail ([`Faults`](crate::faults::Faults)).
//! - Where the device cannot capture, captured launches are kept and started again one by one; what is held back always is.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::sync::Arc;

use spmv_backend::arguments::{Arguments, Axpby, Finish};
use spmv_backend::{Arg, Args, Backend, DeviceCaps, Error, KernelSpec, Memory, ParamKind, Result, Scalar};

use crate::captured::{Command, Owned, args_of};
use crate::faults::{Verb, lock};
use crate::memory::{CANARY, Slot, Timeline, canary};
use crate::watch::{BUFFER, DEVICE, EVENT, GRAPH, KERNEL, STREAM, Token, Watch};

/// The backend. Its buffers are longer than those it was asked for, as [`Backend::alloc`] allows.
#[derive(Debug)]
pub(crate) struct Probe<B: Backend> {
    watch: Arc<Watch<B>>,
    caps: DeviceCaps,
    _alive: Token,
}

impl<B: Backend> Probe<B> {
    /// Watched by one that no other probe has.
    pub(crate) fn new(watch: &Arc<Watch<B>>) -> Self {
        let mut caps = watch.opened.backend().caps().clone();
        caps.max_buffer_bytes = caps.max_buffer_bytes.saturating_sub(CANARY as u64);
        Self { caps, _alive: watch.token(DEVICE), watch: Arc::clone(watch) }
    }

    fn inner(&self) -> &B {
        self.watch.opened.backend()
    }

    fn verb<R>(&self, verb: Verb, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.watch.faults.verb(verb, work)
    }

    /// Has a kernel set the first `n` sums of a buffer to 0 behind the probe's back, as a faulty one might. A canary is
    /// longer than a sum, so `n` may be one more than the buffer was asked to hold.
    ///
    /// # Errors
    /// Whatever the device says.
    pub(crate) fn stray(&self, kernel: &KernelSpec, buffer: &Buffer<B>, n: u32) -> Result<()> {
        let bytes = u64::from(n) * 4;
        assert!(bytes <= buffer.bytes + CANARY as u64, "room for {n} sums");
        let (backend, stream) = (self.inner(), lock(&self.watch.opened.stream));
        let mut zeros = backend.alloc(bytes)?;
        backend.zero(&stream, &mut zeros, bytes)?;
        let (zero, inner) = (Scalar::F32(0.0), buffer.inner());
        let (t, y) = (Memory::Device(&zeros), Memory::Device(&*inner));
        let args = Axpby { n_rows: n, row_base: 0, finish: Finish::scaled(zero, zero, t), t, y }.list();
        let groups = n.div_ceil(kernel.tiling.group_lanes());
        let kernel = backend.compile(kernel)?;
        // SAFETY: both buffers hold `n` sums of 4 bytes (asserted, with the canary), and nothing else uses them: the lock of
        // `inner` keeps other verbs from the one, the other is this function's.
        unsafe { backend.launch(&stream, &kernel, groups, &args)? };
        self.watch.opened.wait(&stream)
    }
}

/// Device memory, with a canary behind it.
#[derive(Debug)]
pub(crate) struct Buffer<B: Backend> {
    slot: Arc<Slot<B>>,
    _alive: Token,
}

impl<B: Backend> Deref for Buffer<B> {
    type Target = Arc<Slot<B>>;

    fn deref(&self) -> &Arc<Slot<B>> {
        &self.slot
    }
}

#[derive(Debug)]
pub(crate) struct Stream<B: Backend> {
    inner: B::Stream,
    timeline: Arc<Timeline>,
    capturing: RefCell<Option<Vec<Command<B>>>>,
    held: RefCell<Option<Vec<Command<B>>>>,
    /// Whether the last run did.
    ended_with_event: Cell<bool>,
    _alive: Token,
}

impl<B: Backend> Stream<B> {
    /// Holds a command back, if the stream does that.
    fn holds(&self, command: impl FnOnce() -> Command<B>) -> bool {
        self.held.borrow_mut().as_mut().map(|held| held.push(command())).is_some()
    }

    /// Before a verb that would be done before what is held back.
    fn in_order(&self) {
        assert!(self.held.borrow().is_none(), "a stream that holds work back");
    }

    /// Keeps a command if the stream is being captured.
    fn keeps(&self, command: impl FnOnce() -> Command<B>) -> bool {
        let mut capturing = self.capturing.borrow_mut();
        capturing.as_mut().map(|commands| commands.push(command())).is_some()
    }
}

#[derive(Debug)]
pub(crate) struct Event<B: Backend> {
    inner: B::Event,
    timeline: Arc<Timeline>,
    after: u64,
    _alive: Token,
}

#[derive(Debug)]
pub(crate) struct Kernel<B: Backend> {
    inner: Arc<B::Kernel>,
    _alive: Token,
}

#[derive(Debug)]
pub(crate) struct Graph<B: Backend> {
    /// Where the device can capture.
    inner: Option<B::Graph>,
    commands: Vec<Command<B>>,
    _alive: Token,
}

impl<B: Backend> Backend for Probe<B> {
    const NAME: &'static str = B::NAME;
    type Buffer = Buffer<B>;
    type Stream = Stream<B>;
    type Event = Event<B>;
    type Kernel = Kernel<B>;
    type Graph = Graph<B>;

    fn caps(&self) -> &DeviceCaps {
        &self.caps
    }

    fn open_stream(&self, timed: bool) -> Result<Stream<B>> {
        self.verb(Verb::OpenStream, || {
            let (inner, timeline) = (self.inner().open_stream(timed)?, Arc::<Timeline>::default());
            lock(&self.watch.timelines).push(Arc::clone(&timeline));
            let (capturing, held, ended_with_event) = Default::default();
            let _alive = self.watch.token(STREAM);
            Ok(Stream { inner, timeline, capturing, held, ended_with_event, _alive })
        })
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer<B>> {
        self.verb(Verb::Alloc, || {
            if bytes > self.caps.max_buffer_bytes {
                return Err(Error::OutOfMemory { device: self.caps.name.clone(), bytes });
            }
            let (opened, stream) = (&self.watch.opened, lock(&self.watch.opened.stream));
            let mut inner = opened.backend().alloc(bytes + CANARY as u64)?;
            opened.backend().write(&stream, &mut inner, bytes, &canary())?;
            opened.wait(&stream)?;
            let slot = Arc::new(Slot::new(inner, bytes));
            let mut buffers = lock(&self.watch.buffers);
            buffers.retain(|slot| slot.strong_count() > 0);
            buffers.push(Arc::downgrade(&slot));
            Ok(Buffer { slot, _alive: self.watch.token(BUFFER) })
        })
    }

    fn compile(&self, spec: &KernelSpec) -> Result<Kernel<B>> {
        self.verb(Verb::Compile, || {
            let inner = self.watch.opened.kernel(spec)?;
            Ok(Kernel { inner, _alive: self.watch.token(KERNEL) })
        })
    }

    fn zero(&self, stream: &Stream<B>, buffer: &mut Buffer<B>, bytes: u64) -> Result<()> {
        self.verb(Verb::Zero, || {
            Error::check_range(0, bytes, buffer.bytes)?;
            let zero = || Command::Zero { slot: Arc::clone(buffer), bytes };
            if stream.holds(zero) {
                return Ok(());
            }
            if !stream.keeps(zero) {
                self.watch.queue(&stream.timeline, [(&**buffer, true)]);
            } else if !self.watch.opened.captures {
                return Ok(());
            }
            self.inner().zero(&stream.inner, &mut buffer.inner_mut(), bytes)?;
            buffer.know(0, &vec![0; bytes as usize]);
            Ok(())
        })
    }

    fn write(&self, stream: &Stream<B>, buffer: &mut Buffer<B>, offset: u64, bytes: &[u8]) -> Result<()> {
        stream.in_order();
        self.verb(Verb::Write, || {
            Error::check_range(offset, bytes.len() as u64, buffer.bytes)?;
            self.watch.queue(&stream.timeline, [(&**buffer, true)]);
            self.inner().write(&stream.inner, &mut buffer.inner_mut(), offset, bytes)?;
            buffer.know(offset, bytes);
            Ok(())
        })
    }

    fn read(&self, stream: &Stream<B>, buffer: &Buffer<B>, offset: u64, bytes: &mut [u8]) -> Result<()> {
        stream.in_order();
        let read = self.verb(Verb::Read, || {
            Error::check_range(offset, bytes.len() as u64, buffer.bytes)?;
            self.watch.queue(&stream.timeline, [(&**buffer, false)]);
            self.inner().read(&stream.inner, &buffer.inner(), offset, bytes)
        });
        // Not if it failed although it was done: who called it cannot know.
        read.inspect(|()| stream.timeline.waited_for(stream.timeline.last()))
    }

    fn map<R>(
        &self,
        stream: &Stream<B>,
        buffer: &mut Buffer<B>,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        stream.in_order();
        let mapped = self.verb(Verb::Map, || {
            Error::check_range(0, bytes, buffer.bytes)?;
            self.watch.queue(&stream.timeline, [(&**buffer, true)]);
            let f = |mapped: &mut [u8]| {
                let result = f(mapped);
                buffer.know(0, mapped);
                result
            };
            self.inner().map(&stream.inner, &mut buffer.inner_mut(), bytes, f)
        });
        mapped.inspect(|_| stream.timeline.waited_for(stream.timeline.last()))
    }

    fn look(
        &self,
        stream: &Stream<B>,
        buffer: &Buffer<B>,
        bytes: u64,
        f: &mut dyn FnMut(&[u8]),
    ) -> Result<bool> {
        stream.in_order();
        let looked = self.verb(Verb::Look, || {
            Error::check_range(0, bytes, buffer.bytes)?;
            self.watch.queue(&stream.timeline, [(&**buffer, false)]);
            self.inner().look(&stream.inner, &buffer.inner(), bytes, f)
        });
        looked.inspect(|_| stream.timeline.waited_for(stream.timeline.last()))
    }

    unsafe fn launch(
        &self,
        stream: &Stream<B>,
        kernel: &Kernel<B>,
        groups: u32,
        args: &Args<'_, Self>,
    ) -> Result<()> {
        self.verb(Verb::Launch, || {
            let id = args.kernel();
            self.watch.launched(
                id,
                args.iter().zip(id.params()).filter_map(|(arg, param)| match arg {
                    Arg::Memory(Memory::Device(buffer)) => Some((param.name, &***buffer)),
                    _ => None,
                }),
            );
            let owned: Vec<_> =
                args.iter().zip(id.params()).filter_map(|(arg, param)| owned(arg, param.kind)).collect();
            let slots: Vec<_> = owned
                .iter()
                .filter_map(Owned::memory)
                .map(|(slot, writes)| (Arc::clone(slot), writes))
                .collect();
            let launch = || Command::Launch { kernel: Arc::clone(&kernel.inner), groups, id, args: owned };
            if stream.held.borrow().is_some() {
                stream.holds(launch);
                return Ok(());
            }
            if args.iter().any(|arg| matches!(arg, Arg::Memory(Memory::Host(_)))) {
                stream.timeline.uses_host_memory();
            }
            if !stream.keeps(launch) {
                self.watch.queue(&stream.timeline, slots.iter().map(|(slot, writes)| (slot, *writes)));
                written(slots.iter().map(|(slot, writes)| (slot, *writes)));
            } else if !self.watch.opened.captures {
                return Ok(());
            }
            let inner: Vec<_> = slots.iter().map(|(slot, _)| slot.inner()).collect();
            let next = Cell::new(0);
            let args = args.map(|memory| match memory {
                Memory::Device(_) => Memory::Device(&*inner[next.replace(next.get() + 1)]),
                Memory::Host(slice) => Memory::Host(slice),
            });
            // SAFETY: the caller's promise for the same buffers in the same order, each of which is longer than it says; host
            // memory is the same.
            unsafe { self.inner().launch(&stream.inner, &kernel.inner, groups, &args) }
        })
    }

    fn capture<E: From<Error>>(
        &self,
        stream: &Stream<B>,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph<B>, E> {
        self.watch.faults.verb(Verb::Capture, || {
            stream.capturing.replace(Some(vec![]));
            let inner = match self.watch.opened.captures {
                true => self.inner().capture(&stream.inner, work).map(Some),
                false => work().map(|()| None),
            };
            let commands = stream.capturing.take().unwrap_or_default();
            Ok(Graph { inner: inner?, commands, _alive: self.watch.token(GRAPH) })
        })
    }

    unsafe fn replay(&self, stream: &Stream<B>, graph: &Graph<B>) -> Result<()> {
        self.verb(Verb::Replay, || {
            let uses = || graph.commands.iter().flat_map(Command::uses);
            self.watch.queue(&stream.timeline, uses());
            written(uses());
            match &graph.inner {
                // SAFETY: the caller's promise, which is the same.
                Some(inner) => unsafe { self.inner().replay(&stream.inner, inner) },
                // SAFETY: the caller's promise is that of every launch, again.
                None => graph.commands.iter().try_for_each(|command| unsafe { self.again(stream, command) }),
            }
        })
    }

    fn hold(&self, stream: &Stream<B>) -> bool {
        stream.held.borrow_mut().get_or_insert_default();
        true
    }

    fn release(&self, stream: &Stream<B>) -> Result<()> {
        let Some(held) = stream.held.take() else { return Ok(()) };
        self.verb(Verb::Replay, || {
            held.iter().try_for_each(|command| {
                self.watch.queue(&stream.timeline, command.uses());
                written(command.uses().into_iter());
                // SAFETY: the promise of the launch, which lasts until it has run; the command keeps its buffers.
                unsafe { self.again(stream, command) }
            })
        })
    }

    fn record(&self, stream: &Stream<B>) -> Result<Event<B>> {
        stream.in_order();
        self.verb(Verb::Record, || {
            let (timeline, after) = (Arc::clone(&stream.timeline), stream.timeline.last());
            let inner = self.inner().record(&stream.inner)?;
            Ok(Event { inner, timeline, after, _alive: self.watch.token(EVENT) })
        })
    }

    fn submit(&self, stream: &Stream<B>) -> Result<()> {
        self.verb(Verb::Submit, || self.inner().submit(&stream.inner))
    }

    fn wait(&self, event: &Event<B>) -> Result<()> {
        let waited = self.verb(Verb::Wait, || self.inner().wait(&event.inner));
        waited.inspect(|()| event.timeline.waited_for(event.after))
    }

    fn finish(&self, stream: &Stream<B>) -> Result<()> {
        stream.in_order();
        let waited = self.verb(Verb::Wait, || self.inner().finish(&stream.inner));
        waited.inspect(|()| stream.timeline.waited_for(stream.timeline.last()))
    }

    /// One run does and the next does not, whatever the device: both ways must work.
    fn ends_with_event(&self, stream: &Stream<B>) -> bool {
        !stream.ended_with_event.replace(!stream.ended_with_event.get())
    }

    fn wait_all(&self) -> Result<()> {
        let timelines: Vec<_> =
            lock(&self.watch.timelines).iter().map(|t| (Arc::clone(t), t.last())).collect();
        self.verb(Verb::WaitAll, || self.inner().wait_all())?;
        timelines.iter().for_each(|(timeline, last)| timeline.waited_for(*last));
        Ok(())
    }

    fn elapsed_s(&self, from: &Event<B>, to: &Event<B>) -> Result<f64> {
        self.verb(Verb::Elapsed, || self.inner().elapsed_s(&from.inner, &to.inner))
    }
}

impl<B: Backend> Probe<B> {
    /// Does again what was captured.
    ///
    /// # Safety
    /// If it was a launch, its contract.
    unsafe fn again(&self, stream: &Stream<B>, command: &Command<B>) -> Result<()> {
        match command {
            Command::Zero { slot, bytes } => self.inner().zero(&stream.inner, &mut slot.inner_mut(), *bytes),
            Command::Launch { kernel, groups, id, args } => {
                let inner: Vec<_> =
                    args.iter().filter_map(Owned::memory).map(|(slot, _)| slot.inner()).collect();
                let args = args_of(*id, args, inner.iter().map(|buffer| &**buffer));
                // SAFETY: this function's contract, for the same arguments in the same order.
                unsafe { self.inner().launch(&stream.inner, kernel, *groups, &args) }
            }
        }
    }
}

/// A kernel may have written what it is given to write.
fn written<'a, B: Backend>(uses: impl Iterator<Item = (&'a Arc<Slot<B>>, bool)>) {
    uses.filter(|(_, writes)| *writes).for_each(|(slot, _)| slot.forget());
}

/// An argument to be kept; none for host memory.
fn owned<B: Backend>(arg: &Arg<'_, Probe<B>>, kind: ParamKind) -> Option<Owned<B>> {
    match *arg {
        Arg::U32(count) => Some(Owned::Count(count)),
        Arg::Accum(scalar) => Some(Owned::Scalar(scalar)),
        Arg::Memory(Memory::Device(buffer)) => {
            Some(Owned::Memory(Arc::clone(buffer), matches!(kind, ParamKind::Write(_))))
        }
        Arg::Memory(Memory::Host(_)) => None,
    }
}
