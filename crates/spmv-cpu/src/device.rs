//! Memory and launches: the only file here, besides `simd.rs`, that contains `unsafe`.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use bytemuck::Pod;
use rayon::prelude::*;
use spmv_backend::{Arg, Backend, DeviceCaps, Error, HostSlice, KernelId, KernelSpec, Result};
use spmv_core::{Accum, Dtype, Value, bf16, f16};

use crate::Cpu;
use crate::kernels::axpby::Axpby;
use crate::kernels::carry_apply::CarryApply;
use crate::kernels::csr_scalar::CsrScalar;
use crate::kernels::csr_vector::CsrVector;
use crate::kernels::dia::Dia;
use crate::kernels::ell::Ell;
use crate::kernels::fixup_apply::FixupApply;
use crate::kernels::ipcsr::Ipcsr;
use crate::kernels::jad::Jad;
use crate::kernels::merge_path::MergePath;
use crate::kernels::pcsr_products::PcsrProducts;
use crate::kernels::pcsr_sums::PcsrSums;
use crate::kernels::spec_segsum::{MAX_TILE, SpecSegsum};
use crate::simd::{Isa, Operand, SimdValue};

/// Copies larger than this are made by all threads, so that each touches the pages it will read.
const PARALLEL_COPY: usize = 1 << 20;
/// Buffers begin at a multiple of this: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// Memory of the CPU "device".
#[derive(Debug)]
pub struct Buffer {
    /// Owns the memory; never read through, only freed.
    words: *mut [u64],
    /// First aligned byte.
    start: *mut u8,
    bytes: usize,
    /// Set while `map` lends the memory out.
    mapped: AtomicBool,
}

// SAFETY: the memory is plain bytes owned by the buffer; who may touch it when is the contract of
// `Backend::launch`, and the other verbs hold the stream, of which there is one per workspace.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new(device: &str, bytes: u64) -> Result<Self> {
        let oom = || Error::OutOfMemory { device: device.to_owned(), bytes };
        let len =
            usize::try_from(bytes).ok().filter(|b| *b <= isize::MAX as usize - 2 * ALIGN).ok_or_else(oom)?;
        let n_words = len.div_ceil(8).max(1) + ALIGN / 8;
        let mut words: Vec<u64> = Vec::new();
        words.try_reserve_exact(n_words).map_err(|_| oom())?;
        drop(words);
        // Zeroed by the allocator, which maps fresh pages lazily: the first to write owns the page.
        let words = Box::into_raw(vec![0u64; n_words].into_boxed_slice());
        let base = words.cast::<u8>();
        let start = base.wrapping_add(base.align_offset(ALIGN));
        Ok(Self { words, start, bytes: len, mapped: AtomicBool::new(false) })
    }

    /// The first `bytes` bytes.
    ///
    /// # Safety
    /// Nothing else uses the buffer meanwhile.
    #[allow(clippy::mut_from_ref)]
    unsafe fn bytes_mut(&self, bytes: usize) -> &mut [u8] {
        debug_assert!(bytes <= self.bytes);
        // SAFETY: `new` allocated `bytes + ALIGN` zeroed bytes from `words` on and `start` is at most
        // `ALIGN` bytes into them; exclusive by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.start, bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `words` came from `Box::into_raw` in `new` and is freed nowhere else.
        drop(unsafe { Box::from_raw(self.words) });
    }
}

/// A kernel: on the CPU a function is chosen, nothing is compiled.
#[derive(Debug)]
pub struct Kernel {
    spec: KernelSpec,
    isa: Isa,
}

/// The queue of work: on the CPU every launch has finished when it returns.
#[derive(Debug)]
pub struct Stream(());

impl Backend for Cpu {
    const NAME: &'static str = "cpu";
    type Buffer = Buffer;
    type Stream = Stream;
    type Event = Instant;
    type Kernel = Kernel;
    type Recording = Infallible;

    fn caps(&self) -> &DeviceCaps {
        &self.caps
    }

    fn open_stream(&self, _: bool) -> Result<Stream> {
        Ok(Stream(()))
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        if bytes > self.caps.max_buffer_bytes {
            return Err(Error::OutOfMemory { device: self.caps.name.clone(), bytes });
        }
        Buffer::new(&self.caps.name, bytes)
    }

    fn compile(&self, spec: &KernelSpec) -> Result<Kernel> {
        if spec.tiling.tile_entries() as usize > MAX_TILE && spec.id == KernelId::SpecSegsum {
            let what = format!("tile of {} entries (at most {MAX_TILE})", spec.tiling.tile_entries());
            return Err(Error::unsupported(&*self.caps.name, what, "use smaller T or W"));
        }
        Ok(Kernel { spec: *spec, isa: self.isa })
    }

    fn zero(&self, _: &Stream, buffer: &Buffer, bytes: u64) -> Result<()> {
        let range = Error::check_range(0, usize::try_from(bytes).unwrap_or(usize::MAX), buffer.bytes as u64)?;
        // SAFETY: in range; this stream's earlier work is done and the buffer is used by no other stream.
        unsafe { buffer.bytes_mut(range.end) }.fill(0);
        Ok(())
    }

    fn write(&self, _: &Stream, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        let range = Error::check_range(offset, bytes.len(), buffer.bytes as u64)?;
        // SAFETY: as in `zero`.
        let target = &mut unsafe { buffer.bytes_mut(range.end) }[range.start..];
        self.run(bytes.len() > PARALLEL_COPY, || {
            if bytes.len() <= PARALLEL_COPY {
                return target.copy_from_slice(bytes);
            }
            let chunk = bytes.len().div_ceil(8 * rayon::current_num_threads()).next_multiple_of(4096);
            target
                .par_chunks_mut(chunk)
                .zip(bytes.par_chunks(chunk))
                .for_each(|(to, from)| to.copy_from_slice(from));
        });
        Ok(())
    }

    fn read(&self, _: &Stream, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let range = Error::check_range(offset, bytes.len(), buffer.bytes as u64)?;
        // SAFETY: as in `zero`.
        bytes.copy_from_slice(&unsafe { buffer.bytes_mut(range.end) }[range.start..]);
        Ok(())
    }

    fn map<R>(
        &self,
        _: &Stream,
        buffer: &Buffer,
        bytes: u64,
        look: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        if !self.caps.memory.host_can_map() {
            let way_out = "read it, or let the device repair (Fixup::Device)";
            return Err(Error::unsupported(&*self.caps.name, "memory that the host can map", way_out));
        }
        let range = Error::check_range(0, usize::try_from(bytes).unwrap_or(usize::MAX), buffer.bytes as u64)?;
        assert!(!buffer.mapped.swap(true, Ordering::Acquire), "a buffer is mapped once at a time");
        // SAFETY: as in `zero`; nested calls are for other buffers, as was just checked.
        let result = look(unsafe { buffer.bytes_mut(range.end) });
        // After a panic in `look` the buffer stays unusable, not aliased.
        buffer.mapped.store(false, Ordering::Release);
        Ok(result)
    }

    unsafe fn launch(&self, _: &Stream, kernel: &Kernel, groups: u32, args: &[Arg<'_, Self>]) -> Result<()> {
        let args = Args { args };
        self.run(groups > 1, || {
            // SAFETY: the caller's contract is this function's, passed on unchanged.
            unsafe {
                match kernel.spec.value {
                    Dtype::F16 => run::<f16>(kernel, groups, &args),
                    Dtype::Bf16 => run::<bf16>(kernel, groups, &args),
                    Dtype::F32 => run::<f32>(kernel, groups, &args),
                    Dtype::F64 => run::<f64>(kernel, groups, &args),
                }
            }
        });
        Ok(())
    }

    unsafe fn replay(&self, _: &Stream, recording: &Infallible) -> Result<()> {
        match *recording {}
    }

    fn record(&self, _: &Stream) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn submit(&self, _: &Stream) -> Result<()> {
        Ok(())
    }

    fn wait(&self, _: &Instant) -> Result<()> {
        Ok(())
    }

    fn wait_all(&self) -> Result<()> {
        Ok(())
    }

    fn elapsed_s(&self, from: &Instant, to: &Instant) -> Result<f64> {
        Ok(to.duration_since(*from).as_secs_f64())
    }
}

/// The arguments of a launch, read by position; the positions are those of `spmv_backend::params`.
struct Args<'a, 'b> {
    args: &'a [Arg<'b, Cpu>],
}

// Arguments are only read here; the memory behind them is governed by the contract of `launch`.
// SAFETY: `HostSlice` holds a pointer that is not `Sync`, but is borrowed for the launch like the rest.
unsafe impl Sync for Args<'_, '_> {}
// SAFETY: as above.
unsafe impl Send for Args<'_, '_> {}

impl<'a> Args<'a, '_> {
    fn u32(&self, i: usize) -> u32 {
        match self.args[i] {
            Arg::U32(v) => v,
            ref other => panic!("argument {i} is {other:?}, not a count"),
        }
    }

    fn scalar<A: Accum>(&self, i: usize) -> A {
        match self.args[i] {
            Arg::Accum(v) => A::from_f64(v.as_f64()),
            ref other => panic!("argument {i} is {other:?}, not a scalar"),
        }
    }

    /// The memory of argument `i` as elements, as many as fit.
    ///
    /// # Safety
    /// Nothing writes the memory during the launch.
    unsafe fn slice<E: Pod>(&self, i: usize) -> &'a [E] {
        // SAFETY: this function's contract; a mutable slice is made and at once given up for a shared one.
        unsafe { self.slice_mut(i) }
    }

    /// As [`slice`](Self::slice), to be written.
    ///
    /// # Safety
    /// Nothing else reads or writes the memory during the launch.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice_mut<E: Pod>(&self, i: usize) -> &'a mut [E] {
        let (start, bytes) = match &self.args[i] {
            Arg::Buffer(buffer) => (buffer.start, buffer.bytes),
            Arg::Host(host) => (HostSlice::start(host), host.bytes()),
            other => panic!("argument {i} is {other:?}, not a buffer"),
        };
        assert_eq!(start.align_offset(align_of::<E>()), 0, "argument {i} is not aligned");
        // SAFETY: the buffer or the lent slice has that many initialised bytes for the whole launch, any
        // bytes are a valid `Pod`, alignment was just checked; exclusive by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes / size_of::<E>()) }
    }
}

/// Argument positions of a matrix in CSR form.
struct CsrAt {
    row_ptr: usize,
    cols: usize,
    x: usize,
    y: usize,
}

/// # Safety
/// The contract of [`Backend::launch`].
unsafe fn run<T: SimdValue>(kernel: &Kernel, groups: u32, args: &Args<'_, '_>) {
    // Kernels that walk take S as the argument `tiles`.
    let tiles = kernel.spec.id.params().iter().position(|p| p.name == "tiles").map_or(1, |i| args.u32(i));
    let tiling = kernel.spec.tiling.with_tiles(tiles);
    // SAFETY (all blocks below): `launch` promises arguments in the order of the parameter table, long
    // enough for the counts, columns below the length of x, and written buffers that are no other argument.
    match kernel.spec.id {
        KernelId::SpecSegsum => {
            // SAFETY: see above.
            let m = unsafe { csr::<T>(args, CsrAt { row_ptr: 6, cols: 8, x: 10, y: 11 }) };
            let (n_tiles, n_bunches) = (tiling.n_tiles(m.nnz) as usize, tiling.n_bunches(m.nnz) as usize);
            // SAFETY: see above; `AtomicU32` has the size, alignment and bit validity of `u32`.
            unsafe {
                let speculator = &mut args.slice_mut::<u32>(15)[..n_tiles];
                let dirty_count = &args.slice_mut::<u32>(14)[args.u32(4) as usize];
                SpecSegsum {
                    tiling,
                    alpha: args.scalar(5),
                    row_ptr: m.row_ptr,
                    tile_rows: &args.slice(7)[..n_tiles + 1],
                    a: m.a,
                    y: m.y,
                    sync_rows: &mut args.slice_mut(12)[..n_bunches],
                    sync_sums: &mut args.slice_mut(13)[..n_bunches],
                    dirty_count: &*std::ptr::from_ref(dirty_count).cast::<AtomicU32>(),
                    speculator: std::slice::from_raw_parts(speculator.as_ptr().cast(), n_tiles),
                }
                .run(groups);
            }
        }
        KernelId::FixupApply => {
            let (n_rows, row_base, nnz) = (args.u32(0) as usize, args.u32(1) as usize, args.u32(2));
            let (n_tiles, n_bunches) = (tiling.n_tiles(nnz) as usize, tiling.n_bunches(nnz) as usize);
            // SAFETY: see above.
            unsafe {
                FixupApply::<T::Accum> {
                    tiling,
                    turn: args.u32(4) as usize,
                    row_ptr: &args.slice(5)[..n_rows + 1],
                    tile_rows: &args.slice(6)[..n_tiles + 1],
                    sync_sums: &args.slice(7)[..n_bunches],
                    dirty_count: &mut args.slice_mut(8)[..2],
                    speculator: &args.slice(9)[..n_tiles],
                    y: &mut args.slice_mut(10)[row_base..row_base + n_rows],
                }
                .run();
            }
        }
        KernelId::CsrScalar => {
            // SAFETY: see above.
            let m = unsafe { csr::<T>(args, CsrAt { row_ptr: 5, cols: 6, x: 8, y: 9 }) };
            let (alpha, beta) = (args.scalar(3), args.scalar(4));
            CsrScalar { tiling, alpha, beta, row_ptr: m.row_ptr, a: m.a, y: m.y }.run(groups);
        }
        KernelId::CsrVector => {
            // SAFETY: see above.
            let m = unsafe { csr::<T>(args, CsrAt { row_ptr: 5, cols: 6, x: 8, y: 9 }) };
            let (alpha, beta) = (args.scalar(3), args.scalar(4));
            CsrVector { tiling, isa: kernel.isa, alpha, beta, row_ptr: m.row_ptr, a: m.a, y: m.y }
                .run(groups);
        }
        KernelId::MergePath => {
            // SAFETY: see above.
            let m = unsafe { csr::<T>(args, CsrAt { row_ptr: 6, cols: 8, x: 10, y: 12 }) };
            let n_bunches = tiling.n_bunches(m.y.len() as u32 + m.nnz) as usize;
            // SAFETY: see above.
            let (bunch_rows, carries) = unsafe { (args.slice::<u32>(7), args.slice_mut::<T::Accum>(11)) };
            MergePath {
                tiling,
                isa: kernel.isa,
                alpha: args.scalar(4),
                beta: args.scalar(5),
                row_ptr: m.row_ptr,
                bunch_rows: &bunch_rows[..n_bunches + 1],
                a: m.a,
                carries: &mut carries[..n_bunches],
                y: m.y,
            }
            .run(groups);
        }
        KernelId::Ipcsr => {
            // SAFETY: see above.
            let m = unsafe { csr::<T>(args, CsrAt { row_ptr: 4, cols: 7, x: 9, y: 12 }) };
            // SAFETY: see above.
            let (block_rows, block_entries, carries) =
                unsafe { (args.slice(5), args.slice(6), args.slice_mut::<T::Accum>(10)) };
            Ipcsr {
                isa: kernel.isa,
                alpha: args.scalar(2),
                beta: args.scalar(3),
                row_ptr: m.row_ptr,
                block_rows: &block_rows[..groups as usize + 1],
                block_entries: &block_entries[..groups as usize + 1],
                a: m.a,
                carries: &mut carries[..groups as usize],
                y: m.y,
            }
            .run(groups);
        }
        KernelId::PcsrProducts => {
            let nnz = args.u32(0) as usize;
            // SAFETY: see above.
            unsafe {
                let a = Operand::new_unchecked(&args.slice(2)[..nnz], &args.slice(3)[..nnz], args.slice(4));
                let products = &mut args.slice_mut::<T::Accum>(5)[..nnz];
                PcsrProducts::<T> { tiling, a, products }.run(groups);
            }
        }
        KernelId::PcsrSums => {
            let (n_rows, row_base) = (args.u32(0) as usize, args.u32(1) as usize);
            // SAFETY: see above.
            let (row_ptr, products, y) =
                unsafe { (args.slice(5), args.slice(6), args.slice_mut::<T::Accum>(7)) };
            PcsrSums {
                tiling,
                alpha: args.scalar(3),
                beta: args.scalar(4),
                row_ptr: &row_ptr[..n_rows + 1],
                products,
                y: &mut y[row_base..row_base + n_rows],
            }
            .run(groups);
        }
        KernelId::Ell => {
            let [n_rows, row_base, width] = [0, 1, 2].map(|i| args.u32(i) as usize);
            // SAFETY: see above.
            let (cols, vals, x, y) =
                unsafe { (args.slice(6), args.slice::<T>(7), args.slice(8), args.slice_mut::<T::Accum>(9)) };
            let (alpha, beta) = (args.scalar(4), args.scalar(5));
            let y = &mut y[row_base..row_base + n_rows];
            Ell { tiling, width, alpha, beta, cols, vals, x, y }.run(groups);
        }
        KernelId::Jad => {
            let [n_rows, row_base, n_jags] = [0, 1, 2].map(|i| args.u32(i) as usize);
            let (alpha, beta) = (args.scalar(4), args.scalar(5));
            // SAFETY: see above; `perm` holds every row once.
            unsafe {
                let y = &mut args.slice_mut::<T::Accum>(11)[row_base..row_base + n_rows];
                let y = Places::new(&args.slice(6)[..n_rows], y);
                let jag_ptr = &args.slice(7)[..n_jags + 1];
                let (cols, vals, x) = (args.slice(8), args.slice::<T>(9), args.slice(10));
                Jad { tiling, alpha, beta, jag_ptr, cols, vals, x, y }.run(groups);
            }
        }
        KernelId::Dia => {
            let [n_rows, row_base, n_cols, n_diags] = [0, 1, 2, 3].map(|i| args.u32(i) as usize);
            // SAFETY: see above.
            let (offsets, vals, x, y) = unsafe {
                (args.slice(7), args.slice::<T>(8), args.slice::<T>(9), args.slice_mut::<T::Accum>(10))
            };
            let (alpha, beta) = (args.scalar(5), args.scalar(6));
            let (offsets, x) = (&offsets[..n_diags], &x[..n_cols]);
            let y = &mut y[row_base..row_base + n_rows];
            Dia { tiling, alpha, beta, offsets, vals, x, y }.run(groups);
        }
        KernelId::CarryApply => {
            let [n_rows, row_base, n_bunches] = [0, 1, 2].map(|i| args.u32(i) as usize);
            // SAFETY: see above.
            let (bunch_rows, carries, y) =
                unsafe { (args.slice(4), args.slice(5), args.slice_mut::<T::Accum>(6)) };
            CarryApply {
                alpha: args.scalar(3),
                bunch_rows: &bunch_rows[..n_bunches + 1],
                carries: &carries[..n_bunches],
                y: &mut y[row_base..row_base + n_rows],
            }
            .run();
        }
        KernelId::Axpby => {
            let (n_rows, row_base) = (args.u32(0) as usize, args.u32(1) as usize);
            // SAFETY: see above.
            let (t, y) = unsafe { (args.slice(4), args.slice_mut::<T::Accum>(5)) };
            let rows = row_base..row_base + n_rows;
            Axpby { alpha: args.scalar(2), beta: args.scalar(3), t: &t[..n_rows], y: &mut y[rows] }.run();
        }
        other => unreachable!("compile refuses {other}"),
    }
}

/// Rows of `y` in another order, as [`Rows`](crate::kernels::prelude::Rows) are in their own: place `i` is row `perm[i]`.
pub(crate) struct Places<'a, A> {
    base: usize,
    /// The rows from place `base` on; no other `Places` has them.
    perm: &'a [u32],
    y: *mut A,
    n_rows: usize,
    life: PhantomData<&'a mut [A]>,
}

// SAFETY: the rows of `perm` are this value's alone, like those of a mutable slice.
unsafe impl<A: Send> Send for Places<'_, A> {}

impl<'a, A: Copy> Places<'a, A> {
    /// All rows of `y`.
    ///
    /// # Safety
    /// No row is twice in `perm`.
    unsafe fn new(perm: &'a [u32], y: &'a mut [A]) -> Self {
        Self { base: 0, perm, y: y.as_mut_ptr(), n_rows: y.len(), life: PhantomData }
    }

    /// The first place.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.perm.len()
    }

    /// The places before `place`, and the rest.
    pub(crate) fn split_before(self, place: usize) -> (Self, Self) {
        let (left, right) = self.perm.split_at(place - self.base);
        (Self { perm: left, ..self }, Self { base: place, perm: right, ..self })
    }

    /// Writes the row at `place`.
    pub(crate) fn update(&mut self, place: usize, f: impl FnOnce(A) -> A) {
        let row = self.perm[place - self.base] as usize;
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        // SAFETY: `new` was given `n_rows` rows for the whole of 'a, and none of this value's rows is another's.
        unsafe {
            let y = self.y.add(row);
            *y = f(*y);
        }
    }
}

struct CsrArgs<'a, T: Value> {
    nnz: u32,
    row_ptr: &'a [u32],
    a: Operand<'a, T>,
    y: &'a mut [T::Accum],
}

/// The matrix, `x`, and the rows of `y` that the kernel writes; `n_rows` and `row_base` come first.
///
/// # Safety
/// The contract of [`Backend::launch`].
unsafe fn csr<'a, T: SimdValue>(args: &Args<'a, '_>, at: CsrAt) -> CsrArgs<'a, T> {
    let (n_rows, row_base) = (args.u32(0) as usize, args.u32(1) as usize);
    // SAFETY: `launch` promises valid arguments, columns below the length of x, and a y of its own.
    unsafe {
        let row_ptr = &args.slice::<u32>(at.row_ptr)[..n_rows + 1];
        let nnz = row_ptr[n_rows];
        let (cols, vals) = (args.slice(at.cols), args.slice(at.cols + 1));
        let a = Operand::new_unchecked(&cols[..nnz as usize], &vals[..nnz as usize], args.slice(at.x));
        CsrArgs { nnz, row_ptr, a, y: &mut args.slice_mut(at.y)[row_base..row_base + n_rows] }
    }
}
