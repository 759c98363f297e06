//! Memory and launches.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use memmap2::MmapMut;
use spmv_backend::{Arg, Args, Backend, DeviceCaps, Error, HostArray, KernelSpec, Memory as Given, Result};

use crate::cpu::Cpu;
use crate::device_args::{Argument, List, run};
use crate::kernels::prelude::for_chunks;
use crate::launch::{Groups, Launch};
use crate::simd::Isa;

/// Copies larger than this are made by all threads, so that each touches the pages it will read.
const PARALLEL_COPY: usize = 1 << 20;
/// Buffers begin at a multiple of this: a cache line, and the widest vector.
const ALIGN: usize = 64;
/// Larger buffers are pages that nobody had before: they are zeroed by the thread that first writes to them, where an allocator zeroes what it
/// reuses by the one that asks. They begin at a multiple of this, and ask for pages of that size: of pages of 4 KiB a core keeps the addresses
/// of too few.
const HUGE_PAGE: usize = 2 << 20;

/// Memory of the CPU "device".
#[derive(Debug)]
pub struct Buffer {
    memory: Memory,
    bytes: usize,
}

#[derive(Debug)]
enum Memory {
    /// Allocated here.
    Own {
        owner: Owner,
        /// First aligned byte.
        start: *mut u8,
    },
    /// Of the host, as it was made there.
    Array(Arc<dyn HostArray>),
}

/// Keeps memory; never read through, only freed.
#[derive(Debug)]
enum Owner {
    Words(*mut [u64]),
    Pages { _pages: MmapMut },
}

// SAFETY: the memory is plain bytes owned by the buffer. The verbs borrow the buffer as they use it, and who else may touch it
// is the contract of `Backend::launch`, whose work is over when it returns.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new(device: &str, bytes: u64) -> Result<Self> {
        let oom = || Error::OutOfMemory { device: device.to_owned(), bytes };
        let len = usize::try_from(bytes)
            .ok()
            .filter(|b| *b <= isize::MAX as usize - 2 * HUGE_PAGE)
            .ok_or_else(oom)?;
        if len > HUGE_PAGE {
            let mut pages = MmapMut::map_anon(len + HUGE_PAGE).map_err(|_| oom())?;
            // A system that cannot follow it leaves pages as they are.
            #[cfg(target_os = "linux")]
            let _ = pages.advise(memmap2::Advice::HugePage);
            let base = pages.as_mut_ptr();
            let start = base.wrapping_add(base.align_offset(HUGE_PAGE));
            return Ok(Self {
                memory: Memory::Own { owner: Owner::Pages { _pages: pages }, start },
                bytes: len,
            });
        }
        let n_words = len.div_ceil(8).max(1) + ALIGN / 8;
        let mut words: Vec<u64> = Vec::new();
        words.try_reserve_exact(n_words).map_err(|_| oom())?;
        words.resize(n_words, 0);
        let words = Box::into_raw(words.into_boxed_slice());
        let base = words.cast::<u8>();
        let start = base.wrapping_add(base.align_offset(ALIGN));
        Ok(Self { memory: Memory::Own { owner: Owner::Words(words), start }, bytes: len })
    }

    /// First byte, for kernels.
    fn start(&self) -> *mut u8 {
        match &self.memory {
            Memory::Own { start, .. } => *start,
            // No kernel writes it: it was given away as an array of a matrix.
            Memory::Array(array) => array.bytes().as_ptr().cast_mut(),
        }
    }

    fn as_slice(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: `new` allocated zeroed memory, which the buffer keeps, and of which the `bytes` from `start` on are a part. Nobody writes: that takes a mutable
            // borrow, or a launch, whose caller promises it.
            Memory::Own { start, .. } => unsafe { std::slice::from_raw_parts(*start, self.bytes) },
            Memory::Array(array) => array.bytes(),
        }
    }

    /// `None` for an array that somebody else has too.
    fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        match &mut self.memory {
            // SAFETY: as in `as_slice`, and the borrow is exclusive.
            Memory::Own { start, .. } => Some(unsafe { std::slice::from_raw_parts_mut(*start, self.bytes) }),
            Memory::Array(array) => Arc::get_mut(array).map(|array| array.bytes_mut()),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Memory::Own { owner: Owner::Words(words), .. } = self.memory {
            // SAFETY: `words` came from `Box::into_raw` in `new` and is freed nowhere else.
            drop(unsafe { Box::from_raw(words) });
        }
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
    type Graph = Infallible;

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

    fn adopt_array(&self, array: &Arc<dyn HostArray>) -> Option<Buffer> {
        let bytes = array.bytes().len();
        let adopts = self.caps.host_pointers && bytes as u64 <= self.caps.max_buffer_bytes;
        adopts.then(|| Buffer { memory: Memory::Array(Arc::clone(array)), bytes })
    }

    fn compile(&self, spec: &KernelSpec) -> Result<Kernel> {
        self.caps.check_kernel(spec)?;
        Ok(Kernel { spec: *spec, isa: self.isa })
    }

    fn zero(&self, _: &Stream, buffer: &mut Buffer, bytes: u64) -> Result<()> {
        let range = range(buffer, 0, bytes)?;
        self.writable(buffer)?[range].fill(0);
        Ok(())
    }

    fn write(&self, _: &Stream, buffer: &mut Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        let range = range(buffer, offset, bytes.len() as u64)?;
        let target = &mut self.writable(buffer)?[range];
        if bytes.len() <= PARALLEL_COPY {
            target.copy_from_slice(bytes);
            return Ok(());
        }
        let chunk = bytes.len().div_ceil(8 * self.team().threads).next_multiple_of(4096);
        for_chunks(self.team(), chunk, target, &|to| {
            to.rows.copy_from_slice(&bytes[to.base..][..to.rows.len()])
        });
        Ok(())
    }

    fn read(&self, _: &Stream, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let range = range(buffer, offset, bytes.len() as u64)?;
        bytes.copy_from_slice(&buffer.as_slice()[range]);
        Ok(())
    }

    fn map<R>(
        &self,
        _: &Stream,
        buffer: &mut Buffer,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        if !self.caps.memory.host_can_map() {
            let way_out = "read it, or let the device repair (Fixup::Device)";
            return Err(Error::unsupported(&*self.caps.name, "memory that the host can map", way_out));
        }
        let range = range(buffer, 0, bytes)?;
        Ok(f(&mut self.writable(buffer)?[range]))
    }

    fn look(&self, _: &Stream, buffer: &Buffer, bytes: u64, f: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let range = range(buffer, 0, bytes)?;
        if self.caps.memory.host_can_map() {
            f(&buffer.as_slice()[range]);
        }
        Ok(self.caps.memory.host_can_map())
    }

    unsafe fn launch(&self, _: &Stream, kernel: &Kernel, groups: u32, args: &Args<'_, Self>) -> Result<()> {
        let spec = &kernel.spec;
        let list = List::new(args.expect(spec.id).iter().map(argument));
        let groups = Groups { n: groups, team: self.team() };
        let launch = Launch { tiling: spec.tiling, isa: kernel.isa, groups };
        // SAFETY: `expect` saw arguments of this kernel; the rest is the caller's contract, passed on unchanged.
        unsafe { run(spec.id, spec.types, launch, &list) };
        Ok(())
    }

    unsafe fn replay(&self, _: &Stream, graph: &Infallible) -> Result<()> {
        match *graph {}
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

    /// All of them are the memory of the host.
    fn reaches(&self, _: &Self) -> bool {
        true
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
        let range = range(from, bytes.start, bytes.end.saturating_sub(bytes.start))?;
        peer.write(stream, to, to_at, &from.as_slice()[range])
    }

    fn wait_all(&self) -> Result<()> {
        Ok(())
    }

    fn elapsed_s(&self, from: &Instant, to: &Instant) -> Result<f64> {
        Ok(to.duration_since(*from).as_secs_f64())
    }
}

impl Cpu {
    fn writable<'b>(&self, buffer: &'b mut Buffer) -> Result<&'b mut [u8]> {
        let shared = || {
            let (what, way_out) = ("writes to an array that somebody else has too", "give it away first");
            Error::unsupported(&*self.caps.name, what, way_out)
        };
        buffer.as_mut_slice().ok_or_else(shared)
    }
}

/// Bytes of a buffer, if they are in range.
fn range(buffer: &Buffer, offset: u64, bytes: u64) -> Result<Range<usize>> {
    Error::check_range(offset, bytes, buffer.bytes as u64)
}

/// An argument as kernels read it.
fn argument(arg: &Arg<'_, Cpu>) -> Argument {
    match arg {
        Arg::U32(count) => Argument::Count(*count),
        Arg::Accum(scalar) => Argument::Scalar(*scalar),
        Arg::Memory(Given::Device(buffer)) => Argument::Memory(buffer.start(), buffer.bytes),
        Arg::Memory(Given::Host(host)) => Argument::Memory(host.start(), host.bytes()),
    }
}
