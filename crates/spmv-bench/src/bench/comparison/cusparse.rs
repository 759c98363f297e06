//! Products by cuSPARSE: calls of its functions, replays of what they do, and the verbs that [`Flushing`] passes on.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use spmv_backend::{Addressed as _, Args, Backend, DeviceCaps, KernelSpec, Memory, Result as DeviceResult};
use spmv_cuda::{Buffer, Graph, Stream};
use spmv_exec::{Device, DeviceVec};

use super::arrays::{Arrays, GpuValue, OnGpu, on_device};
use super::flush::Flushing;
use super::library::{Functions, Object, OpFunctions, Raw, SpMv, check};
use super::variant::{self, OpAlgorithm, SpMvAlgorithm, Variant};

/// `CUSPARSE_OPERATION_NON_TRANSPOSE` and `CUSPARSE_OPERATION_TRANSPOSE`.
pub(super) const NON_TRANSPOSE: c_int = 0;
const TRANSPOSE: c_int = 1;
/// `CUSPARSE_POINTER_MODE_HOST`.
const SCALARS_ON_HOST: c_int = 0;
/// `CUSPARSE_INDEX_32I`.
const INDEX_32I: c_int = 2;
/// `CUSPARSE_INDEX_BASE_ZERO`.
const BASE_ZERO: c_int = 0;

/// The library, ready on CUDA's first device, with a stream of its own.
pub(super) struct Cusparse {
    // Dropped in this order: the handle uses the stream, and both use the device.
    handle: Object,
    stream: Stream,
    device: Device<OnGpu>,
    functions: Functions,
    version: String,
}

impl Cusparse {
    /// The CUDA runtime inside the library takes the primary context of its first device, which is that of `device`
    /// if this is the first one too.
    pub(super) fn open(device: &Device<OnGpu>) -> anyhow::Result<Self> {
        let mut functions = Functions::load()?;
        let stream = device.backend().open_stream(true)?;
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: writes a new handle to `raw`.
        check("cusparseCreate", unsafe { (functions.create)(&mut raw) })?;
        let handle = Object::new(raw, functions.destroy);
        // SAFETY: the handle was just made; the stream outlives it (order of the fields).
        check("cusparseSetStream", unsafe { (functions.set_stream)(raw, stream.raw()) })?;
        // SAFETY: the handle lives; the mode is one of cusparse.h.
        check("cusparseSetPointerMode", unsafe { (functions.set_pointer_mode)(raw, SCALARS_ON_HOST) })?;
        let mut number = 0;
        // SAFETY: the handle lives; writes a number to `number`.
        check("cusparseGetVersion", unsafe { (functions.get_version)(raw, &mut number) })?;
        functions.op = functions.op.filter(|_| number >= variant::SPMVOP);
        let version = variant::version(number);
        Ok(Self { handle, stream, device: device.clone(), functions, version })
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Ways of `cusparseSpMV` by a matrix, or by its transpose.
    pub(super) fn variants(&self, transposed: bool) -> impl Iterator<Item = Variant> {
        Variant::all(self.can_preprocess(), transposed)
    }

    /// Ways of SpMVOp, which are experimental and may end the process.
    pub(super) fn op_variants(&self) -> impl Iterator<Item = Variant> {
        self.functions.op.iter().flat_map(|_| Variant::ops())
    }

    pub(super) fn can_preprocess(&self) -> bool {
        self.functions.preprocess.is_some()
    }

    pub(super) fn handle(&self) -> Raw {
        self.handle.raw()
    }

    pub(super) fn device(&self) -> &Device<OnGpu> {
        &self.device
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Waits for the work of the library's stream.
    pub(super) fn wait(&self) -> anyhow::Result<()> {
        let backend = self.device.backend();
        Ok(backend.finish(&self.stream)?)
    }
}

/// What one variant needs besides the handle, in the order of dropping.
struct SetUp {
    way: Way,
    matrix: Object,
    x: Object,
    y: Object,
    /// Scratch memory, or what preprocessing or planning found.
    buffer: Buffer,
    bytes: usize,
}

/// How a variant multiplies.
enum Way {
    SpMv(Called),
    SpMvOp(Op),
}

/// What the functions of `cusparseSpMV` are told besides descriptors.
#[derive(Clone, Copy)]
struct Called {
    operation: c_int,
    algorithm: SpMvAlgorithm,
}

/// A plan of SpMVOp and what it was made of, in the order of dropping.
struct Op {
    plan: Object,
    _descr: Object,
    addend: Object,
}

/// `y <- A*x` by one variant, with a `y` and descriptors of its own.
pub(super) struct Operation<'a, T: GpuValue> {
    /// What was captured, and how many multiplications. Dropped before what they use.
    graph: Option<(Graph, u32)>,
    set_up: SetUp,
    set_up_s: f64,
    variant: Variant,
    /// alpha and beta, at one address as long as there may be a graph.
    scalars: Box<[T; 2]>,
    y: DeviceVec<OnGpu, T>,
    /// What beta scales, zeros: SpMVOp crashes if that is the vector of its result.
    _addend: Option<DeviceVec<OnGpu, T>>,
    cusparse: &'a Cusparse,
    borrowed: PhantomData<&'a T>,
}

impl<T: GpuValue> Drop for Operation<'_, T> {
    fn drop(&mut self) {
        // After an error, work may still be on its way; the error was reported.
        let _ = self.cusparse.device.backend().wait_all();
    }
}

impl<'a, T: GpuValue> Operation<'a, T> {
    /// Sets the variant up, twice: at the first time the library loads what it needs.
    pub(super) fn new(
        cusparse: &'a Cusparse,
        variant: Variant,
        arrays: &Arrays<'a, T>,
        x: &'a DeviceVec<OnGpu, T>,
        y: DeviceVec<OnGpu, T>,
    ) -> anyhow::Result<Self> {
        let (rows, columns) = if variant.is_transposed() { (x.len(), y.len()) } else { (y.len(), x.len()) };
        ensure!(arrays.counts()[..2] == [rows, columns], "lengths of x and y");
        let scalars = Box::new([<T as spmv::Value>::from_f64(1.0), <T as spmv::Value>::from_f64(0.0)]);
        let addend = match variant {
            Variant::SpMv { .. } => None,
            Variant::SpMvOp(_) => Some(cusparse.device.zeros::<T>(y.len())?),
        };
        cusparse.device.backend().wait_all()?;
        let set_up = || match (variant, &addend) {
            (Variant::SpMvOp(algorithm), Some(addend)) => cusparse.plan(algorithm, arrays, x, addend, &y),
            (Variant::SpMv { algorithm, preprocess, transposed }, _) => {
                let operation = if transposed { TRANSPOSE } else { NON_TRANSPOSE };
                cusparse.set_up(Called { operation, algorithm }, preprocess, arrays, x, &y, &scalars)
            }
            (Variant::SpMvOp(_), None) => bail!("no vector for beta"),
        };
        drop(set_up()?);
        let start = Instant::now();
        let done = set_up()?;
        let set_up_s = start.elapsed().as_secs_f64();
        Ok(Self {
            graph: None,
            set_up: done,
            set_up_s,
            variant,
            scalars,
            y,
            _addend: addend,
            cusparse,
            borrowed: PhantomData,
        })
    }

    pub(super) fn variant(&self) -> Variant {
        self.variant
    }

    /// Seconds that descriptors, buffer and preprocessing or planning took.
    pub(super) fn set_up_s(&self) -> f64 {
        self.set_up_s
    }

    /// Bytes of the buffer that the library asked for.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.set_up.bytes as u64
    }

    /// The result of the last replay.
    pub(super) fn result(&self) -> anyhow::Result<Vec<T>> {
        Ok(self.y.to_vec()?)
    }

    /// Captures `runs` multiplications in one graph, after one that is not captured: the first may load kernels, which a
    /// capture forbids. Leaves `nothing` in `y`.
    pub(super) fn capture(&mut self, runs: u32, nothing: &[T]) -> anyhow::Result<()> {
        self.multiply()?;
        self.cusparse.wait()?;
        self.y.write(nothing)?;
        let backend = self.cusparse.device.backend();
        // The write is on another stream.
        backend.wait_all()?;
        let graph = backend.capture::<anyhow::Error>(&self.cusparse.stream, || {
            (0..runs).try_for_each(|_| self.multiply())
        })?;
        self.graph = Some((graph, runs));
        Ok(())
    }

    /// Replays what was captured and waits; returns the seconds of one multiplication between two events.
    pub(super) fn replay(&self) -> anyhow::Result<f64> {
        let Some((graph, runs)) = &self.graph else { bail!("nothing was captured") };
        let (backend, stream) = (self.cusparse.device.backend(), &self.cusparse.stream);
        let begin = backend.record(stream)?;
        // SAFETY: the graph holds calls of `multiply` alone, whose descriptors, buffer and vectors live as long as
        // `self` or are borrowed as long; `y` is `self`'s, and every replay is waited for before the next.
        unsafe { backend.replay(stream, graph)? };
        let end = backend.record(stream)?;
        backend.submit(stream)?;
        backend.wait(&end)?;
        Ok(backend.elapsed_s(&begin, &end)? / f64::from(*runs))
    }

    /// The result, which is on its way.
    pub(super) fn y(&self) -> &DeviceVec<OnGpu, T> {
        &self.y
    }

    pub(super) fn multiply(&self) -> anyhow::Result<()> {
        let Self { cusparse, set_up, scalars, .. } = self;
        // SAFETY: what `set_up` holds was made for this variant, this handle and these scalars.
        unsafe { cusparse.multiply(set_up, scalars) }
    }
}

impl Cusparse {
    /// Descriptors, buffer and, if it is asked for, preprocessing; waits until all is done.
    ///
    /// What preprocessing finds belongs to the matrix's descriptor, so each variant has its own.
    fn set_up<'a, T: GpuValue>(
        &self,
        called: Called,
        preprocess: bool,
        arrays: &Arrays<'a, T>,
        x: &'a DeviceVec<OnGpu, T>,
        y: &DeviceVec<OnGpu, T>,
        scalars: &[T; 2],
    ) -> anyhow::Result<SetUp> {
        let functions = &self.functions;
        let (matrix, x, y) = (self.matrix(arrays)?, self.vector(x)?, self.vector(y)?);
        let mut bytes = 0usize;
        // SAFETY: the handle, the descriptors and the scalars live; writes a size to `bytes`.
        let status =
            unsafe { self.call(functions.buffer_size, called, [&matrix, &x, &y], scalars, &raw mut bytes) };
        check("cusparseSpMV_bufferSize", status)?;
        let buffer = self.device.backend().alloc(bytes as u64)?;
        if preprocess {
            let preprocess = functions.preprocess.context("no cusparseSpMV_preprocess")?;
            // SAFETY: as for `multiply`, which has the same parameters.
            let status = unsafe {
                self.call(preprocess, called, [&matrix, &x, &y], scalars, on_device(buffer.address()))
            };
            check("cusparseSpMV_preprocess", status)?;
        }
        self.wait()?;
        Ok(SetUp { way: Way::SpMv(called), matrix, x, y, buffer, bytes })
    }

    /// Descriptors, buffer and plan of SpMVOp, whose sums are those of the library: no code is given for them. Waits until
    /// all is done, on whichever stream.
    fn plan<'a, T: GpuValue>(
        &self,
        algorithm: OpAlgorithm,
        arrays: &Arrays<'a, T>,
        x: &'a DeviceVec<OnGpu, T>,
        addend: &DeviceVec<OnGpu, T>,
        y: &DeviceVec<OnGpu, T>,
    ) -> anyhow::Result<SetUp> {
        let functions = self.op()?;
        let (matrix, x, y) = (self.matrix(arrays)?, self.vector(x)?, self.vector(y)?);
        let (addend, handle, algorithm) = (self.vector(addend)?, self.handle.raw(), algorithm as c_int);
        let [a, x_raw, addend_raw, y_raw] = [&matrix, &x, &addend, &y].map(Object::raw);
        let mut bytes = 0usize;
        // SAFETY: the handle and the descriptors live; writes a size to `bytes`.
        let status = unsafe {
            let size = &raw mut bytes;
            (functions.buffer_size)(
                handle,
                NON_TRANSPOSE,
                a,
                x_raw,
                addend_raw,
                y_raw,
                T::TYPE,
                algorithm,
                size,
            )
        };
        check("cusparseSpMVOp_bufferSize", status)?;
        let buffer = self.device.backend().alloc(bytes as u64)?;
        let memory = on_device(buffer.address());
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: as above; the buffer has the size that the library asked for, and lives as long as what is made.
        let status = unsafe {
            (functions.create_descr)(
                handle,
                &mut raw,
                NON_TRANSPOSE,
                a,
                x_raw,
                addend_raw,
                y_raw,
                T::TYPE,
                algorithm,
                memory,
            )
        };
        check("cusparseSpMVOp_createDescr", status)?;
        let descr = Object::new(raw, functions.destroy_descr);
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: the handle and the descriptor live; without code there are no bytes of it; writes a plan to `raw`.
        let status = unsafe { (functions.create_plan)(handle, descr.raw(), &mut raw, std::ptr::null(), 0) };
        check("cusparseSpMVOp_createPlan", status)?;
        let plan = Object::new(raw, functions.destroy_plan);
        self.device.backend().wait_all()?;
        let way = Way::SpMvOp(Op { plan, _descr: descr, addend });
        Ok(SetUp { way, matrix, x, y, buffer, bytes })
    }

    fn op(&self) -> anyhow::Result<&OpFunctions> {
        self.functions.op.as_ref().context("no cusparseSpMVOp")
    }

    /// # Safety
    /// `set_up` was made with this handle and for values of type `T`; the arrays and vectors that its descriptors name
    /// live, until the library's stream has done its work and for every replay of what it records; so do the scalars.
    unsafe fn multiply<T: GpuValue>(&self, set_up: &SetUp, scalars: &[T; 2]) -> anyhow::Result<()> {
        let SetUp { way, matrix, x, y, buffer, .. } = set_up;
        match way {
            Way::SpMv(called) => {
                let buffer = on_device(buffer.address());
                // SAFETY: the contract above; the buffer has the size that the library asked for.
                let status =
                    unsafe { self.call(self.functions.multiply, *called, [matrix, x, y], scalars, buffer) };
                check("cusparseSpMV", status)
            }
            Way::SpMvOp(Op { plan, addend, .. }) => {
                let ([alpha, beta], handle) = (addresses(scalars), self.handle.raw());
                let multiply = self.op()?.multiply;
                // SAFETY: the contract above; the plan was made for these vectors, three different ones.
                let status =
                    unsafe { multiply(handle, plan.raw(), alpha, beta, x.raw(), addend.raw(), y.raw()) };
                check("cusparseSpMVOp", status)
            }
        }
    }

    /// Calls one of the functions of `cusparseSpMV` with descriptors of a matrix, `x` and `y`.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply); `last` is what `function` takes there.
    unsafe fn call<T: GpuValue, Last>(
        &self,
        function: SpMv<Last>,
        Called { operation, algorithm }: Called,
        descriptors: [&Object; 3],
        scalars: &[T; 2],
        last: *mut Last,
    ) -> c_int {
        let ([alpha, beta], [a, x, y]) = (addresses(scalars), descriptors.map(Object::raw));
        let (handle, algorithm) = (self.handle.raw(), algorithm as c_int);
        // SAFETY: the contract above; the scalars have the type that `T::TYPE` says.
        unsafe { function(handle, operation, alpha, a, x, beta, y, T::TYPE, algorithm, last) }
    }

    pub(super) fn matrix<T: GpuValue>(&self, arrays: &Arrays<'_, T>) -> anyhow::Result<Object> {
        let [n_rows, n_cols, nnz] = arrays.counts().map(|n| n as i64);
        let [row_ptr, cols, vals] = arrays.addresses();
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: the arrays are those of a valid matrix with values of type `T`, as long as the counts say (`Arrays`);
        // the library writes the new descriptor to `raw`.
        let status = unsafe {
            (self.functions.create_csr)(
                &mut raw,
                n_rows,
                n_cols,
                nnz,
                row_ptr,
                cols,
                vals,
                INDEX_32I,
                INDEX_32I,
                BASE_ZERO,
                T::TYPE,
            )
        };
        check("cusparseCreateCsr", status)?;
        Ok(Object::new(raw, self.functions.destroy_sp_mat))
    }

    fn vector<T: GpuValue>(&self, vec: &DeviceVec<OnGpu, T>) -> anyhow::Result<Object> {
        let mut raw: Raw = std::ptr::null_mut();
        let len = vec.len() as i64;
        // SAFETY: the buffer holds `len` values of type `T`; the library writes the new descriptor to `raw`.
        let status =
            unsafe { (self.functions.create_dn_vec)(&mut raw, len, on_device(vec.address()), T::TYPE) };
        check("cusparseCreateDnVec", status)?;
        Ok(Object::new(raw, self.functions.destroy_dn_vec))
    }
}

fn addresses<T>(scalars: &[T; 2]) -> [*const c_void; 2] {
    scalars.each_ref().map(|scalar| std::ptr::from_ref(scalar).cast())
}

impl<B: Backend> Flushing<B> {
    /// Starts the flush, if one is due.
    fn flush(&self, stream: &B::Stream) -> DeviceResult<()> {
        let Some(flush) = self.take_due() else { return Ok(()) };
        // SAFETY: arguments and buffers are those of `csr_vector` for the matrix that `Flush::new` laid out: offsets in
        // order, columns all 0, `x` of one value, `y` of a sum for each row. `y` is written by flushes alone, and
        // whoever asks for one has waited for the last.
        unsafe { self.inner.launch(stream, &flush.kernel, flush.groups(), &flush.args()) }
    }
}

/// Every verb is the inner backend's; `record` starts a flush first if one is due.
impl<B: Backend> Backend for Flushing<B> {
    const NAME: &'static str = B::NAME;
    type Buffer = B::Buffer;
    type Stream = B::Stream;
    type Event = B::Event;
    type Kernel = B::Kernel;
    type Graph = B::Graph;

    fn caps(&self) -> &DeviceCaps {
        self.inner.caps()
    }

    fn open_stream(&self, timed: bool) -> DeviceResult<B::Stream> {
        self.inner.open_stream(timed)
    }

    fn alloc(&self, bytes: u64) -> DeviceResult<B::Buffer> {
        self.inner.alloc(bytes)
    }

    fn compile(&self, spec: &KernelSpec) -> DeviceResult<B::Kernel> {
        self.inner.compile(spec)
    }

    fn zero(&self, stream: &B::Stream, buffer: &mut B::Buffer, bytes: u64) -> DeviceResult<()> {
        self.inner.zero(stream, buffer, bytes)
    }

    fn write(
        &self,
        stream: &B::Stream,
        buffer: &mut B::Buffer,
        offset: u64,
        bytes: &[u8],
    ) -> DeviceResult<()> {
        self.inner.write(stream, buffer, offset, bytes)
    }

    fn read(
        &self,
        stream: &B::Stream,
        buffer: &B::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> DeviceResult<()> {
        self.inner.read(stream, buffer, offset, bytes)
    }

    fn map<R>(
        &self,
        stream: &B::Stream,
        buffer: &mut B::Buffer,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> DeviceResult<R> {
        self.inner.map(stream, buffer, bytes, f)
    }

    unsafe fn launch(
        &self,
        stream: &B::Stream,
        kernel: &B::Kernel,
        groups: u32,
        args: &Args<'_, Self>,
    ) -> DeviceResult<()> {
        let args = args.map(passed_on);
        // SAFETY: the caller's promise, which is the same.
        unsafe { self.inner.launch(stream, kernel, groups, &args) }
    }

    fn capture<E: From<spmv_backend::Error>>(
        &self,
        stream: &B::Stream,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<B::Graph, E> {
        self.inner.capture(stream, work)
    }

    unsafe fn replay(&self, stream: &B::Stream, graph: &B::Graph) -> DeviceResult<()> {
        // SAFETY: the caller's promise, which is the same.
        unsafe { self.inner.replay(stream, graph) }
    }

    fn hold(&self, stream: &B::Stream) -> bool {
        self.inner.hold(stream)
    }

    fn release(&self, stream: &B::Stream) -> DeviceResult<()> {
        self.inner.release(stream)
    }

    fn record(&self, stream: &B::Stream) -> DeviceResult<B::Event> {
        self.flush(stream)?;
        self.inner.record(stream)
    }

    fn submit(&self, stream: &B::Stream) -> DeviceResult<()> {
        self.inner.submit(stream)
    }

    fn wait(&self, event: &B::Event) -> DeviceResult<()> {
        self.inner.wait(event)
    }

    fn wait_all(&self) -> DeviceResult<()> {
        self.inner.wait_all()
    }

    fn elapsed_s(&self, from: &B::Event, to: &B::Event) -> DeviceResult<f64> {
        self.inner.elapsed_s(from, to)
    }
}

fn passed_on<'a, B: Backend>(memory: Memory<'a, Flushing<B>>) -> Memory<'a, B> {
    match memory {
        Memory::Device(buffer) => Memory::Device(buffer),
        Memory::Host(slice) => Memory::Host(slice),
    }
}
