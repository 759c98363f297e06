//! The verbs: copies, maps, launches, events.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLockReadGuard};

use spmv_backend::{
    Arg, Args, Backend, DeviceCaps, Error, KernelSpec, MAX_PARAMS, Memory as Argument, Result, Scalar,
};

use crate::device_driver::{self as sys, Answer, CUgraphExec, CUstream};
use crate::device_held::{Command, Held, Words};
use crate::device_memory::{self, Buffer, Staging};
use crate::device_module::{Kernel, Modules};
use crate::device_owned::{CallersStream, HostAccess, Owned, Shared};
use crate::device_stream::{Capture, Event, Graph, Stream};
use crate::error::During;
use crate::options::{Memory, Options};
use crate::probe::{self, Found};

/// Graphs of what was held back that a stream keeps: solvers need one for each kind of iteration, GMRES for each column.
const MOST_GRAPHS: usize = 256;
/// Hashes of what may become one.
const MOST_SEEN: usize = 4096;

/// An opened CUDA device.
///
/// ```
/// use spmv_backend::Backend;
/// use spmv_cuda::{Cuda, Options};
/// if let Ok(device) = Cuda::open(Options::default()) {
///     let mut buffer = device.alloc(16)?;
///     let stream = device.open_stream(false)?;
///     device.write(&stream, &mut buffer, 4, &[1, 2, 3])?;
///     let mut back = [0; 3];
///     device.read(&stream, &buffer, 4, &mut back)?;
///     assert_eq!(back, [1, 2, 3]);
/// }
/// # Ok::<(), spmv_backend::Error>(())
/// ```
#[derive(Debug)]
pub struct Cuda {
    caps: DeviceCaps,
    modules: Modules,
}

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a driver or such a device, [`Error::Unsupported`] for a device older than Pascal
    /// or a kind of memory that it does not have, and whatever the driver says.
    pub fn open(options: Options) -> Result<Self> {
        Self::of(probe::choose(&options)?, &options, None)
    }

    pub(crate) fn of(found: &Found, options: &Options, callers: Option<CallersStream>) -> Result<Self> {
        found.check_compute()?;
        let memory = found.memory(options.memory)?;
        let caps = found.caps(memory, options.mask);
        let concurrent = found.concurrent_access && !options.mask.no_concurrent_access;
        let shared = Shared::new(found.device, &found.info.name, memory, concurrent, callers)?;
        let oldest = spmv_kernels_cuda::TARGETS[0].compute;
        let compute = if options.mask.baseline { oldest } else { found.info.compute };
        let modules = Modules::new(shared, compute, found.driver, options);
        Ok(Self { caps, modules })
    }

    /// The kind of memory in use.
    pub fn memory(&self) -> Memory {
        self.shared().memory
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.modules.shared
    }

    /// What is not held back would be done before what is.
    fn in_order(&self, stream: &Stream) {
        assert!(
            stream.held.borrow().is_none(),
            "a stream that holds work back, which must be released first"
        );
    }

    /// Buffers and streams are good for the device that made them alone.
    fn own(&self, stream: &Stream, buffers: &[&Buffer]) {
        let own = |shared: &Arc<Shared>| Arc::ptr_eq(shared, self.shared());
        assert!(own(stream.shared()), "a stream of another device");
        assert!(buffers.iter().all(|buffer| own(buffer.shared())), "a buffer of another device");
    }

    /// Gives work to the device: in its context, and not while the host accesses memory that it must not share.
    fn work(&self, during: During<'_>, give: impl FnOnce() -> Answer) -> Result<()> {
        let shared = self.shared();
        let _current = shared.enter()?;
        let _working = self.working()?;
        shared.check(during, give())
    }

    /// Starts a command, or holds it back where the stream does.
    ///
    /// # Safety
    /// If it is a launch, the contract of [`Backend::launch`]. `buffers` are all that it uses, besides gaps.
    unsafe fn give(&self, stream: &Stream, command: &Command, buffers: &[Option<&Buffer>]) -> Result<()> {
        if let Some(held) = &mut *stream.held.borrow_mut()
            && held.take(command, buffers)
        {
            return Ok(());
        }
        self.release(stream)?;
        // SAFETY: this function's contract; stream and buffers are borrowed, and freeing a buffer waits.
        self.work(command.label(), || unsafe { command.start(stream.get()) })
    }

    /// Starts what was held back: at the first time one by one, at the second as a new graph, then as that graph.
    fn start_held(&self, stream: &Stream, held: &Held) -> Result<()> {
        // SAFETY: `give` had the promise of each command when it was held back, which lasts until it has run; `held` keeps what they
        // use until then, since freeing waits for the device's work.
        let give = |command: &Command| self.work(command.label(), || unsafe { command.start(stream.get()) });
        let start = || held.commands.iter().try_for_each(give);
        if held.commands.len() < 2 {
            return start();
        }
        let mut graphs = stream.graphs.borrow_mut();
        // SAFETY: what was captured are the same launches with the same arguments, so the promise is the same.
        let replay = |graph: &Graph| unsafe { self.replay(stream, graph) };
        if let Some(graph) = graphs.get(&held.commands) {
            return replay(graph);
        }
        // What is held back once only is not worth a graph.
        let mut seen = stream.seen.borrow_mut();
        if seen.len() >= MOST_SEEN {
            seen.clear();
        }
        if seen.insert(held.key()) {
            return start();
        }
        if graphs.len() >= MOST_GRAPHS {
            stream.finish()?;
            graphs.clear();
        }
        match self.capture::<Error>(stream, start) {
            Ok(graph) => replay(graphs.entry(held.commands.clone()).or_insert(graph)),
            // Of a driver without graphs, or without memory for one: nothing has run yet.
            Err(_) => start(),
        }
    }

    /// While it lives the host does not access memory that it must not share with a device at work.
    fn working(&self) -> Result<Option<RwLockReadGuard<'_, ()>>> {
        let shared = self.shared();
        if !shared.manners.is_exclusive() {
            return Ok(None);
        }
        if shared.manners.is_accessing() {
            let what = "work for it while the host accesses its memory";
            return Err(self.unsupported(what, "let the access end first"));
        }
        Ok(Some(shared.manners.working.read().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(crate) fn unsupported(&self, what: &str, way_out: &str) -> Error {
        Error::unsupported(&*self.caps.name, what, way_out)
    }

    /// With pinned memory of the stream, of which there is one part at least.
    fn staged<R>(&self, stream: &Stream, copy: impl FnOnce(&mut Vec<Staging>) -> Result<R>) -> Result<R> {
        let shared = self.shared();
        let _current = shared.enter()?;
        let _working = self.working()?;
        let mut stagings = stream.stagings.borrow_mut();
        if stagings.is_empty() {
            stagings.push(Staging::new(shared)?);
        }
        copy(&mut stagings)
    }

    /// Gives the host access to the first `bytes` bytes of managed memory, after the stream's earlier work and, if it was `zeroed`,
    /// after what does that.
    fn reach<R>(
        &self,
        stream: &Stream,
        buffer: &Buffer,
        zeroed: bool,
        bytes: u64,
        f: impl FnOnce(*mut u8, usize) -> R,
    ) -> Result<R> {
        self.own(stream, &[buffer]);
        self.in_order(stream);
        let len = Error::check_range(0, bytes, buffer.bytes)?.len();
        let shared = self.shared();
        let _current = shared.enter()?;
        // An access within another of this thread finds the device idle.
        let exclusive = shared.manners.is_exclusive();
        let alone =
            (exclusive && !shared.manners.is_accessing()).then(|| HostAccess::begin(shared)).transpose()?;
        // An exclusive access finds the device idle. Waiting again would take `capturing` after `working`.
        if !exclusive && zeroed {
            // On whichever stream that was.
            shared.wait_for_all()?;
        } else if !exclusive {
            // SAFETY: the stream lives.
            let answer = unsafe { sys::cuStreamSynchronize(stream.get()) };
            shared.check(During::Kernel("stream"), answer)?;
        }
        // Managed memory is at the same address for the host, which may access it: the stream's work is done and what zeroed the
        // buffer on another one, and where no kernel at all may be at work, none is.
        let result = f(ptr::with_exposed_provenance_mut(buffer.start() as usize), len);
        drop(alone);
        self.bring_back(stream, buffer, len);
        Ok(result)
    }

    /// After the host accessed managed memory: pages that went to the host come back before the next kernel asks for them.
    fn bring_back(&self, stream: &Stream, buffer: &Buffer, bytes: usize) {
        if self.shared().concurrent_access && bytes > 0 {
            let device = self.shared().device;
            // A hint: without it, pages come when they are touched.
            // SAFETY: the range lies in the buffer, which is managed memory.
            let _ = unsafe { sys::cuMemPrefetchAsync(buffer.start(), bytes, device, stream.get()) };
        }
    }
}

impl Backend for Cuda {
    const NAME: &'static str = "cuda";
    type Buffer = Buffer;
    type Stream = Stream;
    type Event = Event;
    type Kernel = Kernel;
    type Graph = Graph;

    fn caps(&self) -> &DeviceCaps {
        &self.caps
    }

    fn open_stream(&self, timed: bool) -> Result<Stream> {
        let shared = self.shared();
        if let Some(CallersStream { stream, .. }) = &shared.callers {
            return Ok(Stream::new(Owned::borrowed(*stream, shared), timed));
        }
        let _current = shared.enter()?;
        let mut stream = CUstream::NULL;
        shared.check(During::Other("stream"), sys::new_stream(&mut stream))?;
        Ok(Stream::new(Owned::new(stream, sys::cuStreamDestroy_v2, shared), timed))
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        if bytes > self.caps.max_buffer_bytes {
            return Err(Error::OutOfMemory { device: self.caps.name.clone(), bytes });
        }
        Buffer::alloc(self.shared(), bytes)
    }

    fn compile(&self, spec: &KernelSpec) -> Result<Kernel> {
        self.caps.check_kernel(spec)?;
        self.modules.kernel(spec)
    }

    fn zero(&self, stream: &Stream, buffer: &mut Buffer, bytes: u64) -> Result<()> {
        self.own(stream, &[buffer]);
        let len = Error::check_range(0, bytes, buffer.bytes)?.len();
        if len == 0 {
            return Ok(());
        }
        buffer.zeroed = true;
        let zero = Command::Zero { start: buffer.start(), bytes: len };
        // SAFETY: the range lies in the buffer.
        unsafe { self.give(stream, &zero, &[Some(&*buffer)]) }
    }

    fn write(&self, stream: &Stream, buffer: &mut Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.own(stream, &[buffer]);
        self.in_order(stream);
        Error::check_range(offset, bytes.len() as u64, buffer.bytes)?;
        // SAFETY: the range lies in the buffer.
        self.staged(stream, |stagings| unsafe {
            device_memory::write(self.shared(), stagings, stream.get(), buffer.start() + offset, bytes)
        })
    }

    fn read(&self, stream: &Stream, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.own(stream, &[buffer]);
        self.in_order(stream);
        Error::check_range(offset, bytes.len() as u64, buffer.bytes)?;
        // SAFETY: the range lies in the buffer.
        self.staged(stream, |stagings| unsafe {
            stagings[0].read(stream.get(), buffer.start() + offset, bytes)
        })?;
        // The last copy came after all else and was waited for.
        if bytes.is_empty() { stream.finish() } else { Ok(()) }
    }

    fn map<R>(
        &self,
        stream: &Stream,
        buffer: &mut Buffer,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        if self.shared().memory != Memory::Managed {
            self.own(stream, &[buffer]);
            let way_out = "read it, or let the device repair (Fixup::Device)";
            return Err(self.unsupported("memory that the host can map", way_out));
        }
        let zeroed = std::mem::take(&mut buffer.zeroed);
        self.reach(stream, buffer, zeroed, bytes, |start, len| {
            // SAFETY: the host may access so many bytes there. No kernel uses them (contract of `launch`), and the borrow is
            // exclusive. They may have any value.
            f(unsafe { std::slice::from_raw_parts_mut(start, len) })
        })
    }

    fn look(&self, stream: &Stream, buffer: &Buffer, bytes: u64, f: &mut dyn FnMut(&[u8])) -> Result<bool> {
        if self.shared().memory != Memory::Managed {
            return Ok(false);
        }
        self.reach(stream, buffer, buffer.zeroed, bytes, |start, len| {
            // SAFETY: the host may access so many bytes there. Nothing writes them while the buffer is borrowed (contract of
            // `launch`). They may have any value.
            f(unsafe { std::slice::from_raw_parts(start, len) });
        })?;
        Ok(true)
    }

    unsafe fn launch(
        &self,
        stream: &Stream,
        kernel: &Kernel,
        groups: u32,
        args: &Args<'_, Self>,
    ) -> Result<()> {
        assert!(Arc::ptr_eq(kernel.shared(), self.shared()), "a kernel of another device");
        let args = args.expect(kernel.id);
        assert!(args.len() <= MAX_PARAMS, "room for every parameter");
        if groups == 0 {
            return Ok(());
        }
        let mut words = Words::new();
        let mut buffers = [None; MAX_PARAMS];
        let mut n_buffers = 0;
        for arg in args {
            words.push(&[match *arg {
                Arg::U32(v) => v.into(),
                Arg::Accum(Scalar::F32(v)) => v.to_bits().into(),
                Arg::Accum(Scalar::F64(v)) => v.to_bits(),
                Arg::Accum(Scalar::C32(v)) => u64::from(v.im.to_bits()) << 32 | u64::from(v.re.to_bits()),
                Arg::Accum(Scalar::C64(v)) => {
                    words.push(&[v.re.to_bits(), v.im.to_bits()]);
                    continue;
                }
                Arg::Memory(Argument::Device(buffer)) => {
                    self.own(stream, &[buffer]);
                    buffers[n_buffers] = Some(buffer);
                    n_buffers += 1;
                    buffer.start()
                }
                Arg::Memory(Argument::Host(_)) => panic!("host memory, which `caps` deny"),
            }]);
        }
        let Kernel { function, label, group_lanes, local_bytes, is_early, .. } = *kernel;
        let command =
            Command::Launch { function, label, groups, group_lanes, local_bytes, is_early, args: words };
        // SAFETY: the caller's promise: `args` follow the kernel's parameter table.
        unsafe { self.give(stream, &command, &buffers) }
    }

    fn hold(&self, stream: &Stream) -> bool {
        self.own(stream, &[]);
        // What others put on a stream of the caller cannot be held back.
        let holds = self.shared().callers.is_none();
        if holds {
            stream.held.borrow_mut().get_or_insert_default();
        }
        holds
    }

    fn release(&self, stream: &Stream) -> Result<()> {
        self.own(stream, &[]);
        match stream.held.take() {
            Some(held) => self.start_held(stream, &held),
            None => Ok(()),
        }
    }

    fn capture<E: From<Error>>(
        &self,
        stream: &Stream,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        self.own(stream, &[]);
        self.in_order(stream);
        if self.shared().callers.is_some() {
            // What others put on the stream meanwhile would be captured instead of done.
            let what = "captured runs on a stream of the caller";
            return Err(self.unsupported(what, "open it without one").into());
        }
        let shared = self.shared();
        let _current = shared.enter()?;
        let check = |answer| shared.check(During::Other("capture"), answer);
        let _nobody_waits = shared.manners.capturing.read().unwrap_or_else(PoisonError::into_inner);
        /// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
        const BY_THREAD: i32 = 1;
        // SAFETY: the stream lives; other threads' calls are no part of this, and none waits for the whole context.
        check(unsafe { sys::cuStreamBeginCapture_v2(stream.get(), BY_THREAD) })?;
        let mut capture = Capture(Some(stream));
        let worked = work();
        let captured = capture.end();
        worked?;
        let Some(graph) = captured? else { unreachable!("a capture that succeeds gives a graph") };
        let mut ready = CUgraphExec::NULL;
        // SAFETY: the graph lives; writes a new executable one, which needs it no longer, to `ready`.
        check(unsafe { sys::cuGraphInstantiateWithFlags(&mut ready, graph.get(), 0) })?;
        Ok(Graph { graph: Owned::new(ready, sys::cuGraphExecDestroy, shared), by_one_thread: PhantomData })
    }

    unsafe fn replay(&self, stream: &Stream, graph: &Graph) -> Result<()> {
        self.own(stream, &[]);
        self.in_order(stream);
        // SAFETY: stream and graph live; what its kernels do is the caller's contract.
        self.work(During::Kernel("graph"), || unsafe { sys::cuGraphLaunch(graph.graph.get(), stream.get()) })
    }

    fn record(&self, stream: &Stream) -> Result<Event> {
        self.own(stream, &[]);
        self.in_order(stream);
        let shared = self.shared();
        let _current = shared.enter()?;
        let event = shared.take_event(stream.timed)?;
        let event = Event { timed: stream.timed, event, shared: Arc::clone(shared) };
        // SAFETY: event and stream live, in the same context.
        let answer = unsafe { sys::cuEventRecord(event.event, stream.get()) };
        shared.check(During::Other("event"), answer)?;
        Ok(event)
    }

    /// The driver hands work over by itself.
    fn submit(&self, _: &Stream) -> Result<()> {
        Ok(())
    }

    fn wait(&self, event: &Event) -> Result<()> {
        let _current = event.shared.enter()?;
        // SAFETY: the event lives.
        let answer = unsafe { sys::cuEventSynchronize(event.event) };
        event.shared.check(During::Kernel("stream"), answer)
    }

    fn finish(&self, stream: &Stream) -> Result<()> {
        self.own(stream, &[]);
        self.in_order(stream);
        stream.finish()
    }

    /// On a stream of the caller a run is not waited for together with what the caller puts there after it.
    fn ends_with_event(&self, _: &Stream) -> bool {
        self.shared().callers.is_some()
    }

    fn after(&self, stream: &Stream, event: &Event) -> Result<()> {
        self.own(stream, &[]);
        self.in_order(stream);
        let _current = self.shared().enter()?;
        // SAFETY: event and stream live; the driver takes an event of another device.
        let answer = unsafe { sys::cuStreamWaitEvent(stream.get(), event.event, 0) };
        self.shared().check(During::Other("event"), answer)
    }

    /// The driver copies through the host where the devices cannot reach each other. Not with memory that the host maps: who does would
    /// not know what another device still writes.
    fn reaches(&self, peer: &Self) -> bool {
        [self, peer].iter().all(|device| device.shared().memory == Memory::Device)
    }

    fn copy_to_peer(
        &self,
        stream: &Stream,
        from: &Buffer,
        bytes: Range<u64>,
        peer: &Self,
        to: &mut Buffer,
        to_at: u64,
    ) -> Result<()> {
        self.own(stream, &[from]);
        assert!(Arc::ptr_eq(to.shared(), peer.shared()), "a buffer of another device");
        self.in_order(stream);
        if !self.reaches(peer) {
            return Err(self.unsupported("copies to peers of memory that is mapped", "copy through the host"));
        }
        let len = Error::check_range(bytes.start, bytes.end.saturating_sub(bytes.start), from.bytes)?.len();
        Error::check_range(to_at, len as u64, to.bytes)?;
        stream.open_peer(peer.shared())?;
        to.written_by(self.shared());
        let (start, of) = (to.start() + to_at, peer.shared().context());
        let (from, own) = (from.start() + bytes.start, self.shared().context());
        let to_copy = || match len {
            0 => Ok(()),
            // SAFETY: both ranges lie in their buffers, each of its context, and freeing either waits for this device.
            _ => unsafe { sys::cuMemcpyPeerAsync(start, of, from, own, len, stream.get()) },
        };
        self.work(During::Kernel("copy to a peer"), to_copy)
    }

    fn wait_all(&self) -> Result<()> {
        let _current = self.shared().enter()?;
        self.shared().wait_for_all()
    }

    fn elapsed_s(&self, from: &Event, to: &Event) -> Result<f64> {
        let shared = self.shared();
        let _current = shared.enter()?;
        let mut ms = 0f32;
        // SAFETY: both events live, were made with time (`timed`), and have come to pass (contract of the verb).
        let answer = unsafe { sys::cuEventElapsedTime(&mut ms, from.event, to.event) };
        shared.check(During::Other("event"), answer)?;
        Ok(f64::from(ms) * 1e-3)
    }
}
