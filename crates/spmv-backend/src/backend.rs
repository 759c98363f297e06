//! The verbs.

use std::fmt::{self, Debug};
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::arg::{HostSlice, Scalar};
use crate::caps::DeviceCaps;
use crate::error::{Error, Result};
use crate::host::HostArray;
use crate::kernels::KernelId;
use crate::params::{Param, ParamKind};
use crate::spec::KernelSpec;

/// Most parameters of a kernel.
///
/// ```
/// use spmv_backend::{KernelId, MAX_PARAMS};
/// assert!(KernelId::VecUpdate.params().len() <= MAX_PARAMS);
/// ```
pub const MAX_PARAMS: usize = 22;

/// Memory that a kernel is given: on the device, or of the host where [`DeviceCaps::host_pointers`] allows it.
///
/// [`DeviceCaps::host_pointers`]: crate::DeviceCaps::host_pointers
///
/// ```
/// use spmv_backend::{Backend, HostSlice, Memory};
/// fn either<'a, B: Backend>(device: Option<&'a B::Buffer>, host: &'a [u8]) -> Memory<'a, B> {
///     device.map_or(Memory::Host(HostSlice::of(host)), Memory::Device)
/// }
/// ```
#[derive(Debug)]
pub enum Memory<'a, B: Backend> {
    /// A whole buffer.
    Device(&'a B::Buffer),
    /// Host memory, borrowed for the launch.
    Host(HostSlice<'a>),
}

/// One argument of a launch.
///
/// ```
/// use spmv_backend::{Arg, Backend, Scalar};
/// fn alpha<B: Backend>(value: f64) -> Arg<'static, B> {
///     Arg::Accum(Scalar::F64(value))
/// }
/// ```
#[derive(Debug)]
pub enum Arg<'a, B: Backend> {
    /// A count.
    U32(u32),
    /// A scalar in the type of sums.
    Accum(Scalar),
    /// Memory.
    Memory(Memory<'a, B>),
}

// Not derived: `B` need not be `Copy`.
impl<B: Backend> Clone for Memory<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Memory<'_, B> {}

impl<B: Backend> Clone for Arg<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Arg<'_, B> {}

impl<B: Backend> From<u32> for Arg<'_, B> {
    fn from(count: u32) -> Self {
        Arg::U32(count)
    }
}

impl<B: Backend> From<Scalar> for Arg<'_, B> {
    fn from(scalar: Scalar) -> Self {
        Arg::Accum(scalar)
    }
}

impl<'a, B: Backend> From<Memory<'a, B>> for Arg<'a, B> {
    fn from(memory: Memory<'a, B>) -> Self {
        Arg::Memory(memory)
    }
}

/// The arguments of a kernel, in the order of [`KernelId::params`]; made by [`Arguments::list`](crate::arguments::Arguments::list).
///
/// ```
/// use spmv_backend::{Args, Backend, KernelId};
/// fn first_count<B: Backend>(args: &Args<'_, B>) -> bool {
///     matches!(args.expect(KernelId::Axpby)[0], spmv_backend::Arg::U32(_))
/// }
/// ```
pub struct Args<'a, B: Backend> {
    kernel: KernelId,
    list: [Arg<'a, B>; MAX_PARAMS],
    len: usize,
}

impl<'a, B: Backend> Args<'a, B> {
    /// None yet.
    pub(crate) fn of(kernel: KernelId) -> Self {
        Self { kernel, list: [Arg::U32(0); MAX_PARAMS], len: 0 }
    }

    /// Those of a launch again, in their order, for a backend that kept them. That each stands for the one that it was is part of what the
    /// caller of [`Backend::launch`] promises.
    ///
    /// # Panics
    /// If there are not as many as the kernel has parameters, or not of their kinds.
    pub fn again(kernel: KernelId, args: impl IntoIterator<Item = Arg<'a, B>>) -> Self {
        let mut again = Self::of(kernel);
        for arg in args {
            again.push(arg);
        }
        let is_of = |(arg, param): (&Arg<'a, B>, &Param)| match (arg, param.kind) {
            (Arg::U32(_), kind) => kind == ParamKind::U32,
            (Arg::Accum(_), kind) => kind == ParamKind::Accum,
            (Arg::Memory(_), kind) => matches!(kind, ParamKind::Read(_) | ParamKind::Write(_)),
        };
        let params = kernel.params();
        assert!(
            again.len() == params.len() && again.iter().zip(params).all(is_of),
            "arguments of another kernel"
        );
        again
    }

    pub(crate) fn push(&mut self, arg: impl Into<Arg<'a, B>>) {
        self.list[self.len] = arg.into();
        self.len += 1;
    }

    /// The kernel whose arguments they are.
    pub fn kernel(&self) -> KernelId {
        self.kernel
    }

    /// The arguments.
    ///
    /// # Panics
    /// If they are those of another kernel.
    pub fn expect(&self, kernel: KernelId) -> &[Arg<'a, B>] {
        assert_eq!(self.kernel, kernel, "arguments of another kernel");
        self
    }

    /// The same for a backend that wraps this one, or is wrapped by it. That each argument keeps its memory is part of what
    /// the caller of [`Backend::launch`] promises.
    #[must_use]
    pub fn map<C: Backend>(&self, memory: impl Fn(Memory<'a, B>) -> Memory<'a, C>) -> Args<'a, C> {
        let mut args = Args::of(self.kernel);
        for arg in &**self {
            args.push(match *arg {
                Arg::U32(count) => Arg::U32(count),
                Arg::Accum(scalar) => Arg::Accum(scalar),
                Arg::Memory(of) => Arg::Memory(memory(of)),
            });
        }
        args
    }
}

impl<'a, B: Backend> Deref for Args<'a, B> {
    type Target = [Arg<'a, B>];

    fn deref(&self) -> &[Arg<'a, B>] {
        &self.list[..self.len]
    }
}

impl<B: Backend> Debug for Args<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.kernel.params().iter().map(|param| param.name);
        f.debug_map().entries(names.zip(&**self)).finish()
    }
}

/// Memory with an address that other libraries' calls can be given.
///
/// ```
/// use spmv_backend::{Addressed, Backend};
/// fn address<B: Backend<Buffer: Addressed>>(buffer: &B::Buffer) -> u64 {
///     buffer.address()
/// }
/// ```
pub trait Addressed {
    /// Of the first byte, on the device.
    fn address(&self) -> u64;
}

/// One opened device: memory, streams, kernels, launches. Never a matrix format.
///
/// A buffer that is written, zeroed or mapped is borrowed mutably, so that the host never races with itself; what kernels do
/// with it meanwhile is for the caller of [`launch`](Self::launch) to promise. After verbs on several streams that nobody waited
/// for, what a buffer holds is unspecified.
///
/// ```compile_fail,E0502
/// # use spmv_backend::{Backend, Result};
/// fn race<B: Backend>(device: &B, stream: &B::Stream, buffer: &mut B::Buffer) -> Result<()> {
///     let mut sevens = [7; 8];
///     device.map(stream, buffer, 8, |_| device.read(stream, buffer, 0, &mut sevens))?
/// }
/// ```
///
/// Implementations promise:
/// - work on one stream happens in the order given; [`read`](Self::read), [`map`](Self::map), [`wait`](Self::wait) and
///   [`finish`](Self::finish) return after the stream's earlier work is done;
/// - a buffer that is dropped while a stream still uses it is freed only when that is over;
/// - after an error of a launch, other devices of the process can still be opened.
///
/// ```
/// use spmv_backend::{Backend, Result};
///
/// fn round_trip<B: Backend>(device: &B, bytes: &[u8]) -> Result<Vec<u8>> {
///     let stream = device.open_stream(false)?;
///     let mut buffer = device.alloc(bytes.len() as u64)?;
///     device.write(&stream, &mut buffer, 0, bytes)?;
///     let mut back = vec![0; bytes.len()];
///     device.read(&stream, &buffer, 0, &mut back)?;
///     Ok(back)
/// }
/// ```
pub trait Backend: Sized + Debug + Send + Sync + 'static {
    /// Lower-case name: `cpu`, `cuda`, `opencl`, `wgpu`.
    const NAME: &'static str;
    /// Device memory.
    type Buffer: Debug + Send + Sync;
    /// An ordered queue of work.
    type Stream: Debug + Send;
    /// A point in a stream's work.
    type Event: Debug + Send;
    /// A compiled kernel.
    type Kernel: Debug + Send + Sync;
    /// Launches that were captured, to be started together ([`Infallible`](std::convert::Infallible) where none can
    /// be).
    type Graph: Debug + Send;

    /// What the device says of itself; probed once, when it was opened.
    fn caps(&self) -> &DeviceCaps;

    /// Opens a queue of work. Only a `timed` one reports [`elapsed_s`](Self::elapsed_s), which makes some drivers
    /// slower.
    ///
    /// # Errors
    /// Whatever the driver says.
    fn open_stream(&self, timed: bool) -> Result<Self::Stream>;

    /// Allocates at least `bytes` bytes (at least one) with unspecified contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn alloc(&self, bytes: u64) -> Result<Self::Buffer>;

    /// Makes a buffer of an array of the host, without a copy, where kernels can use host memory. `None` where they cannot, as it is
    /// here: then the array stays with the caller alone. The buffer is written only once nobody else has the array.
    fn adopt_array(&self, array: &Arc<dyn HostArray>) -> Option<Self::Buffer> {
        let _ = array;
        None
    }

    /// Builds a kernel, or takes it from a cache.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for what [`DeviceCaps::check_kernel`] refuses and nothing else,
    /// [`Error::Compile`](crate::Error::Compile).
    fn compile(&self, spec: &KernelSpec) -> Result<Self::Kernel>;

    /// Sets the first `bytes` bytes to zero, in stream order.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) and whatever the driver says.
    fn zero(&self, stream: &Self::Stream, buffer: &mut Self::Buffer, bytes: u64) -> Result<()>;

    /// Copies to the device, in stream order; `bytes` may be reused at once.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) and whatever the driver says.
    fn write(
        &self,
        stream: &Self::Stream,
        buffer: &mut Self::Buffer,
        offset: u64,
        bytes: &[u8],
    ) -> Result<()>;

    /// Copies from the device after the stream's earlier work, and waits for it.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) and whatever the driver says.
    fn read(&self, stream: &Self::Stream, buffer: &Self::Buffer, offset: u64, bytes: &mut [u8])
    -> Result<()>;

    /// Maps the first `bytes` bytes in place, after the stream's earlier work. Calls may nest for different
    /// buffers.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) where memory is
    /// [`Discrete`](crate::MemoryModel::Discrete).
    fn map<R>(
        &self,
        stream: &Self::Stream,
        buffer: &mut Self::Buffer,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R>;

    /// Shows the first `bytes` bytes in place, after the stream's earlier work; kernels and others may read them at the same time.
    /// Returns whether it did: as it is here, for memory that the host cannot map, it does nothing.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn look(
        &self,
        stream: &Self::Stream,
        buffer: &Self::Buffer,
        bytes: u64,
        f: &mut dyn FnMut(&[u8]),
    ) -> Result<bool> {
        let _ = (stream, buffer, bytes, f);
        Ok(false)
    }

    /// Starts `groups` groups of a kernel, in stream order.
    ///
    /// # Panics
    /// If `args` are those of another kernel.
    ///
    /// # Safety
    /// - Every buffer is as long as the kernel's counts say, and scalars are of the type of sums. Indices of `scalars` are below
    ///   their number, also those that `program` holds.
    /// - Indices in buffers that the kernel reads are in range: `row_ptr`, `jag_ptr` and `slices` are those of a valid
    ///   matrix or layout; columns are below the length of `x`, but for the padding of `ell` and `ell_csr`; so are those that `words` of
    ///   `sell` hold, with the lengths of their runs; `perm` holds each
    ///   row once; `rows` of `coo` are below `n_rows`, those of entries in order; an entry of `dia` or `dia_csr` whose value is not
    ///   zero has a column there; `entries` of `gather_values` are below the number of values, but for padding; `slices` and `parts` of
    ///   `sell_fill` are those of a layout of the same matrix; `at` of
    ///   `vec_scatter_add` is below the length of `y`, and holds no number twice; of `spmm` and what belongs to it, rows of X, Y and panels
    ///   are there for each row and column of the matrix, as far apart and as wide as the counts say, and blocks are those of its rows.
    /// - A buffer that is written is no other argument and is not used elsewhere until the stream's work is done; host
    ///   memory outlives that work.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch), [`Error::DeviceLost`](crate::Error::DeviceLost).
    #[allow(unsafe_code)]
    unsafe fn launch(
        &self,
        stream: &Self::Stream,
        kernel: &Self::Kernel,
        groups: u32,
        args: &Args<'_, Self>,
    ) -> Result<()>;

    /// Captures the launches and zeroings that `work` puts on the stream, instead of running them. `work` does nothing
    /// else with the stream, and what was captured is as unsafe to replay as its launches were to start. As it is here
    /// for devices that cannot capture.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) where there is no such thing, what `work` returns, and
    /// whatever the driver says.
    fn capture<E: From<crate::Error>>(
        &self,
        stream: &Self::Stream,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self::Graph, E> {
        let _ = (stream, work);
        Err(Error::unsupported(&*self.caps().name, "captured runs", "start each run (enqueue)").into())
    }

    /// Runs what was captured, in stream order.
    ///
    /// # Safety
    /// As for every captured [`launch`](Self::launch), again.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    #[allow(unsafe_code)]
    unsafe fn replay(&self, stream: &Self::Stream, graph: &Self::Graph) -> Result<()>;

    /// Holds launches and zeroings on the stream back from here on, until [`release`](Self::release) starts them; no other verb is
    /// given the stream until then. Whether the device can; as it is here for devices that cannot, which start each at once.
    ///
    /// What is held back keeps its buffers, and the promise of a launch lasts as long.
    fn hold(&self, stream: &Self::Stream) -> bool {
        let _ = stream;
        false
    }

    /// Starts what was held back, at the cost of one launch once the device has made a graph of the same, which it may do at a later
    /// time than the first.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    fn release(&self, stream: &Self::Stream) -> Result<()> {
        let _ = stream;
        Ok(())
    }

    /// Marks this point of the stream.
    ///
    /// # Errors
    /// Whatever the driver says.
    fn record(&self, stream: &Self::Stream) -> Result<Self::Event>;

    /// Hands over what has been queued, so that the device begins while the host does something else. Waiting
    /// does so too.
    ///
    /// # Errors
    /// Whatever the driver says.
    fn submit(&self, stream: &Self::Stream) -> Result<()>;

    /// Waits until the stream has come to the event.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch), [`Error::DeviceLost`](crate::Error::DeviceLost) if work before it failed.
    fn wait(&self, event: &Self::Event) -> Result<()>;

    /// Waits until the stream has done all that it was given. As it is here, by an event.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn finish(&self, stream: &Self::Stream) -> Result<()> {
        self.wait(&self.record(stream)?)
    }

    /// Whether a run on the stream ends with an event to be waited for. As it is here it does: not where events cost time and
    /// [`finish`](Self::finish), once the run is to be waited for, waits for nothing else, because nobody but the run's caller gives the
    /// stream work.
    fn ends_with_event(&self, stream: &Self::Stream) -> bool {
        let _ = stream;
        true
    }

    /// Lets later work on the stream begin only when the event has come to pass, which may be one of another device of this backend. As
    /// it is here, the host waits for it.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn after(&self, stream: &Self::Stream, event: &Self::Event) -> Result<()> {
        let _ = stream;
        self.wait(event)
    }

    /// Whether [`copy_to_peer`](Self::copy_to_peer) copies to the memory of a device, which may be this one.
    fn reaches(&self, peer: &Self) -> bool {
        let _ = peer;
        false
    }

    /// Copies bytes of a buffer of this device to one of another that it [reaches](Self::reaches), from `to_at` on, in stream order. When
    /// the other device's streams may use them is for [`after`](Self::after) to say.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds), [`Error::Unsupported`](crate::Error::Unsupported) for a device that it does
    /// not reach, and whatever the driver says.
    fn copy_to_peer(
        &self,
        stream: &Self::Stream,
        from: &Self::Buffer,
        bytes: Range<u64>,
        peer: &Self,
        to: &mut Self::Buffer,
        to_at: u64,
    ) -> Result<()> {
        let _ = (stream, from, bytes, peer, to, to_at);
        Err(Error::unsupported(&*self.caps().name, "copies to other devices", "copy through the host"))
    }

    /// Waits until every stream of this device has done its work; for what was lost sight of.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    fn wait_all(&self) -> Result<()>;

    /// Seconds of device time between two events of a timed stream that have come to pass.
    ///
    /// # Errors
    /// Whatever the driver says.
    fn elapsed_s(&self, from: &Self::Event, to: &Self::Event) -> Result<f64>;
}
