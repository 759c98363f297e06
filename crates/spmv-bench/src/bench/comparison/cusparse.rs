//! Everything unsafe of the comparison: the functions of cuSPARSE, found at run time, replays of what they do, and the
//! verbs that [`Flushing`] passes on.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail, ensure};
use libloading::{Library, Symbol};
use spmv_backend::{Addressed as _, Args, Backend, DeviceCaps, KernelSpec, Memory, Result as DeviceResult};
use spmv_cuda::{Buffer, Graph, Stream};
use spmv_exec::{Device, DeviceVec};

use super::arrays::{Arrays, GpuValue, OnGpu, on_device};
use super::flush::Flushing;
use super::variant::{self, Variant};

/// `CUSPARSE_OPERATION_NON_TRANSPOSE`.
const NON_TRANSPOSE: c_int = 0;
/// `CUSPARSE_POINTER_MODE_HOST`.
const SCALARS_ON_HOST: c_int = 0;
/// `CUSPARSE_INDEX_32I`.
const INDEX_32I: c_int = 2;
/// `CUSPARSE_INDEX_BASE_ZERO`.
const BASE_ZERO: c_int = 0;

/// A handle or a descriptor.
pub(super) type Raw = *mut c_void;
type Create = unsafe extern "C" fn(*mut Raw) -> c_int;
type Destroy = unsafe extern "C" fn(Raw) -> c_int;
type GetVersion = unsafe extern "C" fn(Raw, *mut c_int) -> c_int;
type SetStream = unsafe extern "C" fn(Raw, Raw) -> c_int;
type SetPointerMode = unsafe extern "C" fn(Raw, c_int) -> c_int;
type CreateDnVec = unsafe extern "C" fn(*mut Raw, i64, *mut c_void, c_int) -> c_int;
type CreateCsr = unsafe extern "C" fn(
    *mut Raw,
    i64,
    i64,
    i64,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;
/// `cusparseSpMV` and `cusparseSpMV_preprocess`, whose last parameter is the buffer, and with a pointer for its size
/// instead `cusparseSpMV_bufferSize`.
type SpMv<Last> = unsafe extern "C" fn(
    Raw,
    c_int,
    *const c_void,
    Raw,
    Raw,
    *const c_void,
    Raw,
    c_int,
    c_int,
    *mut Last,
) -> c_int;

/// The functions in use.
struct Functions {
    create: Create,
    destroy: Destroy,
    get_version: GetVersion,
    set_stream: SetStream,
    set_pointer_mode: SetPointerMode,
    create_csr: CreateCsr,
    destroy_sp_mat: Destroy,
    create_dn_vec: CreateDnVec,
    destroy_dn_vec: Destroy,
    buffer_size: SpMv<usize>,
    multiply: SpMv<c_void>,
    /// Since 12.4.
    preprocess: Option<SpMv<c_void>>,
}

impl Functions {
    fn of(library: &'static Library) -> anyhow::Result<Self> {
        Ok(Self {
            create: symbol(library, "cusparseCreate")?,
            destroy: symbol(library, "cusparseDestroy")?,
            get_version: symbol(library, "cusparseGetVersion")?,
            set_stream: symbol(library, "cusparseSetStream")?,
            set_pointer_mode: symbol(library, "cusparseSetPointerMode")?,
            create_csr: symbol(library, "cusparseCreateCsr")?,
            destroy_sp_mat: symbol(library, "cusparseDestroySpMat")?,
            create_dn_vec: symbol(library, "cusparseCreateDnVec")?,
            destroy_dn_vec: symbol(library, "cusparseDestroyDnVec")?,
            buffer_size: symbol(library, "cusparseSpMV_bufferSize")?,
            multiply: symbol(library, "cusparseSpMV")?,
            preprocess: symbol(library, "cusparseSpMV_preprocess").ok(),
        })
    }
}

/// A handle or a descriptor that is destroyed when it is dropped.
pub(super) struct Object {
    raw: Raw,
    destroy: Destroy,
}

impl Object {
    /// What a library made, with the function of the library for its kind.
    pub(super) fn new(raw: Raw, destroy: Destroy) -> Self {
        Self { raw, destroy }
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: `raw` was made by the library together with `destroy`'s kind, and is destroyed only here. A failure
        // leaks memory, no more.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

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
        let functions = Functions::of(library()?)?;
        let stream = device.backend().open_stream(true)?;
        let mut raw: Raw = std::ptr::null_mut();
        // SAFETY: writes a new handle to `raw`.
        check("cusparseCreate", unsafe { (functions.create)(&mut raw) })?;
        let handle = Object { raw, destroy: functions.destroy };
        // SAFETY: the handle was just made; the stream outlives it (order of the fields).
        check("cusparseSetStream", unsafe { (functions.set_stream)(raw, stream.raw()) })?;
        // SAFETY: the handle lives; the mode is one of cusparse.h.
        check("cusparseSetPointerMode", unsafe { (functions.set_pointer_mode)(raw, SCALARS_ON_HOST) })?;
        let mut number = 0;
        // SAFETY: the handle lives; writes a number to `number`.
        check("cusparseGetVersion", unsafe { (functions.get_version)(raw, &mut number) })?;
        let version = variant::version(number);
        Ok(Self { handle, stream, device: device.clone(), functions, version })
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn variants(&self) -> impl Iterator<Item = Variant> {
        Variant::all(self.can_preprocess())
    }

    pub(super) fn can_preprocess(&self) -> bool {
        self.functions.preprocess.is_some()
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
    matrix: Object,
    x: Object,
    y: Object,
    /// Scratch memory, or what preprocessing found.
    buffer: Buffer,
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
        ensure!(arrays.counts()[..2] == [y.len(), x.len()], "lengths of x and y");
        let scalars = Box::new([<T as spmv::Value>::from_f64(1.0), <T as spmv::Value>::from_f64(0.0)]);
        let set_up = || cusparse.set_up(variant, arrays, x, &y, &scalars);
        drop(set_up()?);
        let start = Instant::now();
        let done = set_up()?;
        let set_up_s = start.elapsed().as_secs_f64();
        Ok(Self { graph: None, set_up: done, set_up_s, variant, scalars, y, cusparse, borrowed: PhantomData })
    }

    pub(super) fn variant(&self) -> Variant {
        self.variant
    }

    /// Seconds that descriptors, buffer and preprocessing took.
    pub(super) fn set_up_s(&self) -> f64 {
        self.set_up_s
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
        let Self { cusparse, set_up, variant, scalars, .. } = self;
        // SAFETY: what `set_up` holds was made for this variant, this handle and these scalars.
        unsafe { cusparse.call("cusparseSpMV", cusparse.functions.multiply, *variant, set_up, scalars) }
    }
}

impl Cusparse {
    /// Descriptors, buffer and, if the variant asks for it, preprocessing; waits until all is done.
    ///
    /// What preprocessing finds belongs to the matrix's descriptor, so each variant has its own.
    fn set_up<'a, T: GpuValue>(
        &self,
        variant: Variant,
        arrays: &Arrays<'a, T>,
        x: &'a DeviceVec<OnGpu, T>,
        y: &DeviceVec<OnGpu, T>,
        scalars: &[T; 2],
    ) -> anyhow::Result<SetUp> {
        let functions = &self.functions;
        let (matrix, x, y) = (self.matrix(arrays)?, self.vector(x)?, self.vector(y)?);
        let mut bytes = 0usize;
        let [alpha, beta] = scalars.each_ref().map(|s| std::ptr::from_ref(s).cast::<c_void>());
        // SAFETY: the handle and the descriptors live; the scalars have the type that `T::TYPE` says; writes a size to
        // `bytes`.
        let status = unsafe {
            (functions.buffer_size)(
                self.handle.raw,
                NON_TRANSPOSE,
                alpha,
                matrix.raw,
                x.raw,
                beta,
                y.raw,
                T::TYPE,
                variant.algorithm as c_int,
                &mut bytes,
            )
        };
        check("cusparseSpMV_bufferSize", status)?;
        let buffer = self.device.backend().alloc(bytes as u64)?;
        let set_up = SetUp { matrix, x, y, buffer };
        if variant.preprocess {
            let preprocess = functions.preprocess.context("no cusparseSpMV_preprocess")?;
            // SAFETY: as for `multiply`, which has the same parameters.
            unsafe { self.call("cusparseSpMV_preprocess", preprocess, variant, &set_up, scalars)? };
        }
        self.wait()?;
        Ok(set_up)
    }

    /// # Safety
    /// `set_up` was made with this handle, for this variant and for values of type `T`; the arrays and vectors that its
    /// descriptors name live, until the library's stream has done its work and for every replay of what it records;
    /// so do the scalars.
    unsafe fn call<T: GpuValue>(
        &self,
        name: &str,
        function: SpMv<c_void>,
        variant: Variant,
        set_up: &SetUp,
        scalars: &[T; 2],
    ) -> anyhow::Result<()> {
        let [alpha, beta] = scalars.each_ref().map(|s| std::ptr::from_ref(s).cast::<c_void>());
        // SAFETY: the contract above; the buffer has the size that the library asked for.
        let status = unsafe {
            function(
                self.handle.raw,
                NON_TRANSPOSE,
                alpha,
                set_up.matrix.raw,
                set_up.x.raw,
                beta,
                set_up.y.raw,
                T::TYPE,
                variant.algorithm as c_int,
                on_device(set_up.buffer.address()),
            )
        };
        check(name, status)
    }

    fn matrix<T: GpuValue>(&self, arrays: &Arrays<'_, T>) -> anyhow::Result<Object> {
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
        Ok(Object { raw, destroy: self.functions.destroy_sp_mat })
    }

    fn vector<T: GpuValue>(&self, vec: &DeviceVec<OnGpu, T>) -> anyhow::Result<Object> {
        let mut raw: Raw = std::ptr::null_mut();
        let len = vec.len() as i64;
        // SAFETY: the buffer holds `len` values of type `T`; the library writes the new descriptor to `raw`.
        let status =
            unsafe { (self.functions.create_dn_vec)(&mut raw, len, on_device(vec.address()), T::TYPE) };
        check("cusparseCreateDnVec", status)?;
        Ok(Object { raw, destroy: self.functions.destroy_dn_vec })
    }
}

fn check(call: &str, status: c_int) -> anyhow::Result<()> {
    ensure!(status == 0, "{call}: {} ({status})", variant::status(status));
    Ok(())
}

/// A function of the library.
pub(super) fn symbol<F: Copy + 'static>(library: &'static Library, name: &str) -> anyhow::Result<F> {
    // SAFETY: `F` is the function's type as the library's header declares it (the aliases of the caller), and the library is never
    // unloaded.
    let symbol: Symbol<'static, F> =
        unsafe { library.get(name) }.with_context(|| format!("the library has no {name}"))?;
    Ok(*symbol)
}

/// `libcusparse`, opened once and never closed.
fn library() -> anyhow::Result<&'static Library> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let given = std::env::var_os("SPMV_CUSPARSE").filter(|value| !value.is_empty());
        let candidates = variant::candidates(&variant::CUSPARSE, given.as_deref().map(Path::new));
        load(&candidates, "libcusparse", "SPMV_CUSPARSE").map_err(|e| format!("{e:#}"))
    });
    library.as_ref().map_err(|e| anyhow!("{e}"))
}

/// The first that loads.
pub(super) fn load(candidates: &[PathBuf], name: &str, variable: &str) -> anyhow::Result<Library> {
    let mut failures = Vec::new();
    for path in candidates {
        // SAFETY: loading runs the library's constructors; the path is one that the user, the loader or a toolkit has
        // for it.
        match unsafe { Library::new(path) } {
            Ok(library) => return Ok(library),
            // Most candidates are merely not there; one that is there and does not load is worth a word.
            Err(e) if path.is_file() => {
                failures.push(format!("{}: {:#}", path.display(), anyhow::Error::from(e)));
            }
            Err(_) => {}
        }
    }
    ensure!(failures.is_empty(), "does not load: {}", failures.join("; "));
    bail!(
        "{name} is neither on the loader's path nor in a toolkit's folder; {variable} may name it or its folder"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_library_gets_the_reason_and_the_way_out() {
        let e = load(&["/nowhere/libcusparse.so.12".into()], "libcusparse", "SPMV_CUSPARSE")
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("SPMV_CUSPARSE"), "{e}");
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let e = load(&[manifest], "libcusparse", "SPMV_CUSPARSE").err().unwrap().to_string();
        assert!(e.contains("does not load") && e.contains("Cargo.toml"), "{e}");
    }

    #[test]
    fn a_failed_call_is_named_with_its_status() {
        assert!(check("cusparseSpMV", 0).is_ok());
        assert_eq!(check("cusparseSpMV", 10).unwrap_err().to_string(), "cusparseSpMV: not supported (10)");
    }
}
