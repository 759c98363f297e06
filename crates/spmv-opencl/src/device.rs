//! The verbs: copies, maps, launches, events.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use opencl3::command_queue::{
    enqueue_fill_buffer, enqueue_nd_range_kernel, enqueue_read_buffer, enqueue_svm_mem_fill,
    enqueue_write_buffer, finish, flush,
};
use opencl3::error_codes::{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_MEM_OBJECT_ALLOCATION_FAILURE};
use opencl3::event::{
    CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_QUEUED,
    CL_PROFILING_COMMAND_START, get_event_info, get_event_profiling_info, release_event, wait_for_events,
};
use opencl3::kernel::{
    CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_WORK_GROUP_SIZE,
    get_kernel_sub_group_info, get_kernel_work_group_info, set_kernel_arg, set_kernel_arg_svm_pointer,
};
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
use opencl3::types::{CL_TRUE, cl_event, cl_kernel};
use spmv_backend::{
    Arg, Args, Backend, Cache, DeviceCaps, DeviceKind, Error, KernelId, KernelSpec, Lanes,
    Memory as Argument, Result, Scalar, why_not,
};
use spmv_core::{Dtype, Tiling};

use crate::device_memory::{Buffer, Queue, Shared, Storage};
use crate::device_owned::Owned;
use crate::device_program::{Builder, source};
use crate::error::During;
use crate::options::{Memory, Options};
use crate::probe::{self, Shuffle};

/// Name of PoCL's platform.
const POCL: &str = "Portable Computing Language";

/// Kernel source that finds out whether lanes shuffle as the prelude believes.
const TRIAL: &str = "
KERNEL void trial(GLOBAL uint *out)
{
    const uint value = 1000 * bunch_id() + lane_id();
    const uint read = lane_read_word(value, (lane_id() + 1) % LANES);
    const uint at = bunch_id() * LANES + lane_id();
    if (at < 2 * LANES) out[at] = read;
}
";

/// A command's event, shared by the marks around it.
type Command = Arc<Owned<cl_event>>;

/// An opened OpenCL device.
///
/// ```
/// use spmv_backend::Backend;
/// use spmv_opencl::{OpenCl, Options};
/// if let Ok(device) = OpenCl::open(Options::default()) {
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
pub struct OpenCl {
    caps: DeviceCaps,
    builder: Builder,
    options: Options,
}

/// A compiled kernel.
#[derive(Debug)]
pub struct Kernel {
    id: KernelId,
    label: &'static str,
    group_lanes: usize,
    /// Arguments belong to the object, so setting them and launching is one step.
    kernel: Mutex<Owned<cl_kernel>>,
}

/// A queue, and what is known of its commands.
#[derive(Debug)]
pub struct Stream {
    pub(crate) queue: Arc<Queue>,
    pub(crate) shared: Arc<Shared>,
    /// The last command.
    last: RefCell<Option<Command>>,
    /// Whether the queue keeps time.
    timed: bool,
    /// Marks that wait for the next command; of a queue that keeps time.
    marks: RefCell<Vec<Arc<OnceLock<Command>>>>,
    /// Whether commands may be on their way.
    busy: Cell<bool>,
    /// Nested maps.
    pub(crate) n_mapped: Cell<u32>,
}

/// A point between two commands of a stream.
#[derive(Debug)]
pub struct Event {
    shared: Arc<Shared>,
    before: Option<Command>,
    after: Arc<OnceLock<Command>>,
}

impl OpenCl {
    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a library, a driver or such a device, [`Error::Unsupported`] for a kind
    /// of memory that the device does not have, and whatever the driver says.
    pub fn open(options: Options) -> Result<Self> {
        let found = probe::choose(&options)?;
        let memory = found.memory(options.memory)?;
        let mut caps = found.caps(memory, options.mask);
        let shared = Shared::new(found.device, &found.info.name, memory)?;
        let cache = match options.cache.as_deref() {
            // PoCL keeps compiled kernels itself, for the group sizes in use. Asked for a binary, it compiles each kernel
            // once more, for any size.
            None if found.info.platform == POCL => Cache::new(None),
            asked => Cache::of(Self::NAME, asked),
        };
        caps.notes.extend(cache.refused());
        let builder = Builder { shared, cache, fingerprint: caps.fingerprint.clone(), shuffle: None };
        let mut opened = Self { caps, builder, options };
        // Lanes of a CPU are iterations of a loop: they have nothing to shuffle.
        if !opened.options.mask.no_subgroups && found.info.kind != DeviceKind::Cpu {
            for (shuffle, [least, most]) in found.shuffles() {
                match opened.shuffles(shuffle, [least, most])? {
                    None => {
                        opened.builder.shuffle = Some(shuffle);
                        opened.caps.subgroup = Some((least, most));
                        opened.caps.cross_block_reduction = opened.builder.joins();
                        break;
                    }
                    Some(why) => opened.caps.notes.push(format!("no subgroups of {most} lanes: {why}")),
                }
            }
        }
        Ok(opened)
    }

    /// The kind of memory in use.
    pub fn memory(&self) -> Memory {
        self.builder.shared.memory
    }

    /// Why lanes of subgroups of these sizes do not shuffle in this way, by a trial kernel; `None` if they do. Sizes are the
    /// powers of two from the least to the most. The trial has a context of its own, so that whatever it does has no
    /// consequences.
    ///
    /// # Errors
    /// What has nothing to do with subgroups, such as memory that is full.
    fn shuffles(&self, shuffle: Shuffle, [least, most]: [u16; 2]) -> Result<Option<String>> {
        let trial = || -> Result<bool> {
            let builder = Builder {
                shared: Shared::new(self.shared().device, &self.caps.name, Memory::Buffers)?,
                cache: self.builder.cache.clone(),
                fingerprint: self.builder.fingerprint.clone(),
                shuffle: Some(shuffle),
            };
            let device = Self { caps: self.caps.clone(), builder, options: self.options.clone() };
            let smaller = |lanes: &u32| (*lanes > u32::from(least)).then_some(lanes / 2);
            for lanes in std::iter::successors(Some(u32::from(most)), smaller) {
                if !device.shuffled(lanes)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        why_not(trial())
    }

    /// Whether each lane of two bunches reads what the next one of its bunch has.
    fn shuffled(&self, lanes: u32) -> Result<bool> {
        let tiling = Tiling::new(lanes, 1, 1, 2).expect("a small tiling");
        // The id does not matter: `trial` is no kernel of the library.
        let spec = KernelSpec::new(KernelId::Axpby, Dtype::F32, Lanes::Subgroup, tiling);
        let source = source("prelude", self.options.kernels.as_deref())? + TRIAL;
        let options = self.builder.options(&spec);
        let kernel = self.builder.kernel("trial", "trial", &source, &options)?;
        self.check_kernel(&spec, &kernel)?;
        let (label, group_lanes) = ("trial", 2 * lanes as usize);
        let kernel = Kernel { id: spec.id, label, group_lanes, kernel: Mutex::new(kernel) };
        let (stream, mut buffer) = (self.open_stream(false)?, self.alloc(8 * u64::from(lanes))?);
        self.zero(&stream, &mut buffer, 8 * u64::from(lanes))?;
        // SAFETY: the trial takes one buffer and writes at most the two words that each lane has room for.
        unsafe { self.start(&stream, &kernel, 1, &[Arg::Memory(Argument::Device(&buffer))])? };
        let mut words = vec![0; 8 * lanes as usize];
        self.read(&stream, &buffer, 0, &mut words)?;
        let words = words.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word));
        Ok(words.eq((0..2 * lanes).map(|i| 1000 * (i / lanes) + (i + 1) % lanes)))
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// The contract of [`Backend::launch`], for arguments that are those of the kernel.
    unsafe fn start(
        &self,
        stream: &Stream,
        kernel: &Kernel,
        groups: u32,
        args: &[Arg<'_, Self>],
    ) -> Result<()> {
        self.own(stream, &[]);
        let buffers = || {
            args.iter().filter_map(|arg| match arg {
                Arg::Memory(Argument::Device(buffer)) => Some(*buffer),
                _ => None,
            })
        };
        for buffer in buffers() {
            self.own(stream, &[buffer]);
            buffer.used_on(&stream.queue);
        }
        let failed = |code| match code {
            // Drivers may put off allocating until a kernel needs the buffers.
            CL_MEM_OBJECT_ALLOCATION_FAILURE => {
                self.shared().error(During::Memory { bytes: buffers().map(|b| b.bytes).sum() }, code)
            }
            _ => self.shared().error(During::Kernel(kernel.label), code),
        };
        let object = kernel.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, arg) in (0u32..).zip(args) {
            // SAFETY: `args` follow the kernel's parameter table (contract); each value is passed with its size.
            unsafe { set(object.get(), i, arg) }.map_err(failed)?;
        }
        let (global, local) = (groups as usize * kernel.group_lanes, kernel.group_lanes);
        // SAFETY: arguments are set, sizes agree with the kernel's `reqd_work_group_size`, and what kernels may
        // do with the buffers is the caller's contract.
        let event = unsafe {
            let queue = stream.queue.get();
            enqueue_nd_range_kernel(queue, object.get(), 1, ptr::null(), &global, &local, 0, ptr::null())
        };
        stream.queued(event.map_err(failed)?);
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.builder.shared
    }

    /// Buffers and streams are good for the device that made them alone.
    fn own(&self, stream: &Stream, buffers: &[&Buffer]) {
        let own = |shared: &Arc<Shared>| Arc::ptr_eq(shared, self.shared());
        assert!(own(&stream.shared), "a stream of another device");
        assert!(buffers.iter().all(|buffer| own(&buffer.shared)), "a buffer of another device");
    }

    pub(crate) fn unsupported(&self, what: String, way_out: &str) -> Error {
        Error::unsupported(&*self.caps.name, what, way_out)
    }

    /// What the driver says of a compiled kernel; the least where it says nothing.
    fn check_kernel(&self, spec: &KernelSpec, kernel: &Owned<cl_kernel>) -> Result<()> {
        let info = |name| get_kernel_work_group_info(kernel.get(), self.shared().device.id(), name);
        let most = info(CL_KERNEL_WORK_GROUP_SIZE).map_or(usize::MAX, |size| size.to_size());
        let lanes = spec.tiling.group_lanes();
        if (lanes as usize) > most {
            let what = format!("groups of {lanes} lanes for {} (at most {most})", spec.id);
            return Err(self.unsupported(what, "use a tiling with a smaller T*B"));
        }
        // Drivers add bytes of their own, which a limit that was set for plans does not count.
        let local = info(CL_KERNEL_LOCAL_MEM_SIZE).map_or(0, |bytes| bytes.to_ulong());
        let most = self.shared().device.local_mem_size().unwrap_or(u64::MAX);
        if local > most {
            let what = format!("{local} bytes of local memory (at most {most})");
            return Err(self.unsupported(what, "use a tiling with a smaller W or B"));
        }
        // Intel's are demanded in the source, NVIDIA's are fixed; any other driver may choose for each kernel.
        if spec.lanes == Lanes::Subgroup && self.builder.shuffle == Some(Shuffle::Khr) {
            let group = lanes as usize;
            let found = get_kernel_sub_group_info(
                kernel.get(),
                self.shared().device.id(),
                CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                size_of::<usize>(),
                ptr::from_ref(&group).cast(),
            );
            if found.map(|size| size.to_size()) != Ok(spec.tiling.lanes() as usize) {
                let what = format!("subgroups of {} lanes for {}", spec.tiling.lanes(), spec.id);
                return Err(self.unsupported(what, "hide its subgroups (Mask::no_subgroups)"));
            }
        }
        Ok(())
    }
}

impl Stream {
    /// Takes note of a command that was put into the queue.
    pub(crate) fn queued(&self, event: cl_event) {
        let event = Arc::new(Owned::new(event, release_event));
        for mark in self.marks.borrow_mut().drain(..) {
            let _ = mark.set(Arc::clone(&event));
        }
        self.last.replace(Some(event));
        self.busy.set(true);
    }

    pub(crate) fn finish(&self) -> Result<()> {
        if self.busy.get() {
            finish(self.queue.get()).map_err(|code| self.shared.error(During::Kernel("queue"), code))?;
            self.busy.set(false);
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Memory that its commands use may be freed as soon as the queue is gone.
        let _ = finish(self.queue.get());
    }
}

impl Buffer {
    fn range(&self, offset: u64, bytes: u64) -> Result<std::ops::Range<usize>> {
        Error::check_range(offset, bytes, self.bytes)
    }
}

/// A pointer into shared virtual memory, for the driver.
fn at(start: *mut c_void, offset: usize) -> *mut c_void {
    start.cast::<u8>().wrapping_add(offset).cast()
}

impl Backend for OpenCl {
    const NAME: &'static str = "opencl";
    type Buffer = Buffer;
    type Stream = Stream;
    type Event = Event;
    type Kernel = Kernel;
    type Graph = Infallible;

    fn caps(&self) -> &DeviceCaps {
        &self.caps
    }

    fn open_stream(&self, timed: bool) -> Result<Stream> {
        Ok(Stream {
            queue: self.shared().open_queue(timed)?,
            shared: Arc::clone(self.shared()),
            timed,
            last: RefCell::default(),
            marks: RefCell::default(),
            busy: Cell::new(false),
            n_mapped: Cell::new(0),
        })
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        if bytes > self.caps.max_buffer_bytes {
            return Err(Error::OutOfMemory { device: self.caps.name.clone(), bytes });
        }
        self.shared().alloc(bytes)
    }

    fn compile(&self, spec: &KernelSpec) -> Result<Kernel> {
        self.caps.check_kernel(spec)?;
        let folder = self.options.kernels.as_deref();
        let source = source("prelude", folder)? + &source(spec.id.stem(), folder)?;
        let options = self.builder.options(spec);
        let kernel = self.builder.kernel(spec.id.stem(), &spec.to_string(), &source, &options)?;
        self.check_kernel(spec, &kernel)?;
        let group_lanes = spec.tiling.group_lanes() as usize;
        Ok(Kernel { id: spec.id, label: spec.id.stem(), group_lanes, kernel: Mutex::new(kernel) })
    }

    fn zero(&self, stream: &Stream, buffer: &mut Buffer, bytes: u64) -> Result<()> {
        self.own(stream, &[buffer]);
        let range = buffer.range(0, bytes)?;
        if range.is_empty() {
            return Ok(());
        }
        buffer.zeroed_on = Some(Arc::clone(&stream.queue));
        buffer.used_on(&stream.queue);
        let zero = [0u8];
        let queue = stream.queue.get();
        // SAFETY: `range` lies in the buffer; the pattern is copied by the call.
        let event = unsafe {
            let zero = zero.as_ptr().cast();
            match &buffer.storage {
                Storage::Mem(mem) => {
                    enqueue_fill_buffer(queue, mem.get(), zero, 1, 0, range.len(), 0, ptr::null())
                }
                Storage::Svm(start) => {
                    enqueue_svm_mem_fill(queue, *start, zero, 1, range.len(), 0, ptr::null())
                }
            }
        };
        let event =
            event.map_err(|code| self.shared().error(During::Memory { bytes: buffer.bytes }, code))?;
        stream.queued(event);
        Ok(())
    }

    fn write(&self, stream: &Stream, buffer: &mut Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.own(stream, &[buffer]);
        let range = buffer.range(offset, bytes.len() as u64)?;
        if range.is_empty() {
            return Ok(());
        }
        let mem = match &buffer.storage {
            Storage::Mem(mem) => mem.get(),
            Storage::Svm(start) => {
                let (from, flags) = (at(*start, range.start), CL_MAP_WRITE_INVALIDATE_REGION);
                let zeroed_on = buffer.zeroed_on.take();
                return self.reach(stream, zeroed_on.as_deref(), from, range.len(), flags, |memory| {
                    // SAFETY: as many bytes may be written there, which nobody else uses: the buffer is borrowed.
                    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
                });
            }
        };
        let (queue, start, from) = (stream.queue.get(), range.start, bytes.as_ptr().cast());
        // SAFETY: `range` lies in the buffer and is as long as `bytes`; the call returns when it has copied.
        let event =
            unsafe { enqueue_write_buffer(queue, mem, CL_TRUE, start, range.len(), from, 0, ptr::null()) };
        let event =
            event.map_err(|code| self.shared().error(During::Memory { bytes: buffer.bytes }, code))?;
        stream.queued(event);
        stream.busy.set(false);
        Ok(())
    }

    fn read(&self, stream: &Stream, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.own(stream, &[buffer]);
        let range = buffer.range(offset, bytes.len() as u64)?;
        if range.is_empty() {
            return stream.finish();
        }
        let mem = match &buffer.storage {
            Storage::Mem(mem) => mem.get(),
            Storage::Svm(start) => {
                let (from, flags) = (at(*start, range.start), CL_MAP_READ);
                let zeroed_on = buffer.zeroed_on.as_deref();
                return self.reach(stream, zeroed_on, from, range.len(), flags, |memory| {
                    // SAFETY: as many bytes may be read there, and are no part of the caller's.
                    unsafe { ptr::copy_nonoverlapping(memory, bytes.as_mut_ptr(), bytes.len()) };
                });
            }
        };
        let (queue, start, to) = (stream.queue.get(), range.start, bytes.as_mut_ptr().cast());
        // SAFETY: as in `write`.
        let event =
            unsafe { enqueue_read_buffer(queue, mem, CL_TRUE, start, range.len(), to, 0, ptr::null()) };
        let event = event.map_err(|code| self.shared().error(During::Kernel("copy"), code))?;
        stream.queued(event);
        stream.busy.set(false);
        Ok(())
    }

    fn map<R>(
        &self,
        stream: &Stream,
        buffer: &mut Buffer,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        self.own(stream, &[buffer]);
        let Storage::Svm(start) = buffer.storage else { return Err(self.cannot_map()) };
        if !self.caps.memory.host_can_map() {
            return Err(self.cannot_map());
        }
        let range = buffer.range(0, bytes)?;
        let zeroed_on = buffer.zeroed_on.take();
        let (bytes, flags) = (range.len(), CL_MAP_READ | CL_MAP_WRITE);
        self.reach(stream, zeroed_on.as_deref(), start, bytes, flags, |memory| {
            // SAFETY: the host may read and write so many bytes there. No kernel uses them (contract of `launch`), and the
            // borrow is exclusive. They may have any value.
            f(unsafe { std::slice::from_raw_parts_mut(memory, bytes) })
        })
    }

    fn look(&self, stream: &Stream, buffer: &Buffer, bytes: u64, f: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.own(stream, &[buffer]);
        let range = buffer.range(0, bytes)?;
        let Storage::Svm(start) = buffer.storage else { return Ok(false) };
        if !self.caps.memory.host_can_map() {
            return Ok(false);
        }
        self.reach(stream, buffer.zeroed_on.as_deref(), start, range.len(), CL_MAP_READ, |memory| {
            // SAFETY: the host may read so many bytes there. Nothing writes them while the buffer is borrowed (contract of
            // `launch`). They may have any value.
            f(unsafe { std::slice::from_raw_parts(memory, range.len()) });
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
        // SAFETY: the caller's contract; `expect` saw arguments of this kernel.
        unsafe { self.start(stream, kernel, groups, args.expect(kernel.id)) }
    }

    unsafe fn replay(&self, _: &Stream, graph: &Infallible) -> Result<()> {
        match *graph {}
    }

    fn record(&self, stream: &Stream) -> Result<Event> {
        let after = Arc::default();
        if stream.timed {
            stream.marks.borrow_mut().push(Arc::clone(&after));
        }
        Ok(Event { shared: Arc::clone(self.shared()), before: stream.last.borrow().clone(), after })
    }

    fn submit(&self, stream: &Stream) -> Result<()> {
        flush(stream.queue.get()).map_err(|code| self.shared().error(During::Kernel("queue"), code))
    }

    fn wait(&self, event: &Event) -> Result<()> {
        let Some(before) = &event.before else { return Ok(()) };
        wait_for_events(&[before.get()]).map_err(|code| {
            // The command itself says what was wrong with it.
            let status = get_event_info(before.get(), CL_EVENT_COMMAND_EXECUTION_STATUS);
            let status = status.map_or(0, |status| status.to_int());
            let because = code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && status < 0;
            event.shared.error(During::Kernel("queue"), if because { status } else { code })
        })
    }

    fn wait_all(&self) -> Result<()> {
        self.shared().finish_all().map_err(|code| self.shared().error(During::Kernel("queue"), code))
    }

    /// From the end of the command before `from`, or the start of the one after it if that was not yet in the
    /// queue by then (a device that waits for the host is not at work), to the end of the one before `to`.
    fn elapsed_s(&self, from: &Event, to: &Event) -> Result<f64> {
        let (Some(last), Some(first)) = (&to.before, from.after.get()) else { return Ok(0.0) };
        if from.before.as_ref().is_some_and(|before| Arc::ptr_eq(before, last)) {
            return Ok(0.0);
        }
        let ns = |event: &Command, what| {
            let info = get_event_profiling_info(event.get(), what).map(|ns| ns.to_ulong());
            info.map_err(|code| self.shared().error(During::Kernel("profiling"), code))
        };
        let mut start = ns(first, CL_PROFILING_COMMAND_START)?;
        if let Some(before) = &from.before {
            let before = ns(before, CL_PROFILING_COMMAND_END)?;
            if ns(first, CL_PROFILING_COMMAND_QUEUED)? <= before {
                start = start.min(before);
            }
        }
        Ok(ns(last, CL_PROFILING_COMMAND_END)?.saturating_sub(start) as f64 * 1e-9)
    }
}

/// Sets argument `i`.
///
/// # Safety
/// The kernel's parameter `i` has the argument's type; nobody else sets arguments of the kernel now.
unsafe fn set(kernel: cl_kernel, i: u32, arg: &Arg<'_, OpenCl>) -> Result<(), i32> {
    /// # Safety
    /// As for `set`.
    unsafe fn value<V>(kernel: cl_kernel, i: u32, value: &V) -> Result<(), i32> {
        // SAFETY: `value` is that many bytes, which the call copies.
        unsafe { set_kernel_arg(kernel, i, size_of::<V>(), ptr::from_ref(value).cast()) }
    }
    // SAFETY (all arms): this function's contract.
    match arg {
        // SAFETY: see above.
        Arg::U32(v) => unsafe { value(kernel, i, v) },
        // SAFETY: see above.
        Arg::Accum(Scalar::F32(v)) => unsafe { value(kernel, i, v) },
        // SAFETY: see above.
        Arg::Accum(Scalar::F64(v)) => unsafe { value(kernel, i, v) },
        // SAFETY: see above.
        Arg::Accum(Scalar::C32(v)) => unsafe { value(kernel, i, v) },
        // SAFETY: see above.
        Arg::Accum(Scalar::C64(v)) => unsafe { value(kernel, i, v) },
        Arg::Memory(Argument::Device(buffer)) => match &buffer.storage {
            // SAFETY: see above; a buffer object is passed by its handle.
            Storage::Mem(mem) => unsafe { value(kernel, i, &mem.get()) },
            // SAFETY: see above.
            Storage::Svm(start) => unsafe { set_kernel_arg_svm_pointer(kernel, i, *start) },
        },
        Arg::Memory(Argument::Host(_)) => panic!("host memory, which `caps` deny"),
    }
}
