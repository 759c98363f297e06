//! The verbs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use spmv_backend::arguments::{Arguments, Axpby, Finish};
use spmv_backend::{
    Arg, Args, Backend, Cache, DeviceCaps, DeviceKind, Error, KernelId, KernelSpec, Lanes,
    Memory as Argument, MemoryModel, Result, Scalar, why_not,
};
use spmv_core::{Dtype, Tiling};
use wgpu::{DeviceDescriptor, Features};

use crate::device_memory::Buffer;
use crate::device_shader::Kernel;
use crate::faults::{Faults, unavailable};
use crate::options::{Memory, Options};
use crate::probe::{self, Found};
use crate::shared::Shared;
use crate::stream::{Event, Stream, Streams};
use crate::text;

/// How long a thread that waits for a GPU stays awake.
const AWAKE: Duration = Duration::from_micros(200);

/// Body of a kernel that finds out whether lanes shuffle as the prelude believes.
const TRIAL: &str = "
fn axpby()
{
    let value = 1000u * bunch_of_group + lane;
    let first = invocation - lane;
    y[local_id] = accum(subgroupShuffle(value, first + (lane + 1u) % LANES)) + lane_sum(accum(0.0));
}
";

/// A device that wgpu opened.
///
/// ```
/// use spmv_backend::Backend;
/// use spmv_wgpu::{Options, Wgpu};
/// if let Ok(device) = Wgpu::open(Options::default()) {
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
pub struct Wgpu {
    caps: DeviceCaps,
    shared: Arc<Shared>,
    streams: Arc<Streams>,
    options: Options,
}

impl Wgpu {
    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a driver or such a device, [`Error::Unsupported`] for a kind of memory that the
    /// device does not have or if it lacks what every kernel needs, and whatever the driver says.
    pub fn open(options: Options) -> Result<Self> {
        let found = probe::choose(&options)?;
        found.check()?;
        let memory = found.memory(options.memory)?;
        let caps = found.caps(memory, options.mask);
        let shared = Arc::new(open(&found, memory, &options, &caps.fingerprint)?);
        let refused = shared.cache.as_ref().and_then(|(cache, _)| cache.refused());
        let mut opened = Self { caps, shared, streams: Arc::default(), options };
        opened.caps.notes.extend(refused);
        // Lanes of a CPU may shuffle too, which is how that is tested.
        let lanes = if opened.options.mask.no_subgroups { None } else { found.subgroup_lanes() };
        if let Some(lanes) = lanes {
            match opened.shuffles(lanes)? {
                // A bunch may be part of a subgroup.
                None => opened.caps.subgroup = Some((2, lanes)),
                Some(why) => opened.caps.notes.push(format!("no subgroups of {lanes} lanes: {why}")),
            }
        }
        Ok(opened)
    }

    /// The kind of memory in use.
    pub fn memory(&self) -> Memory {
        self.shared.memory
    }

    /// The device and queue of wgpu, for other work on the same device.
    pub fn raw(&self) -> (&wgpu::Device, &wgpu::Queue) {
        (&self.shared.device, &self.shared.queue)
    }

    /// What the texts of kernels depend on besides their specs.
    fn texts(&self) -> text::Of<'_> {
        text::Of { replaced_in: self.options.kernels.as_deref(), joins: self.caps.cross_block_reduction }
    }

    /// Why lanes of subgroups of this size do not shuffle, by a trial kernel; `None` if they do.
    ///
    /// # Errors
    /// What has nothing to do with subgroups, such as memory that is full.
    fn shuffles(&self, lanes: u16) -> Result<Option<String>> {
        let lanes = u32::from(lanes);
        let trial = || -> Result<bool> {
            let tiling = Tiling::new(lanes, 1, 1, 2).expect("a small tiling");
            let spec = KernelSpec::new(KernelId::Axpby, Dtype::F32, Lanes::Subgroup, tiling);
            let text = text::with_body(&spec, TRIAL, self.texts())?;
            let kernel = Kernel::new(&self.shared, &spec, &text)?;
            let bytes = 8 * u64::from(lanes);
            let (stream, t, y) = (self.open_stream(false)?, self.alloc(bytes)?, self.alloc(bytes)?);
            let zero = Scalar::F32(0.0);
            let [t, out] = [&t, &y].map(Argument::Device);
            let args =
                Axpby { n_rows: 0, row_base: 0, finish: Finish::scaled(zero, zero, t), t, y: out }.list();
            // SAFETY: arguments are those of `axpby`, and each lane writes the word of `y` that it has.
            unsafe { self.launch(&stream, &kernel, 1, &args)? };
            let mut words = vec![0; 8 * lanes as usize];
            self.read(&stream, &y, 0, &mut words)?;
            let words = words.as_chunks().0.iter().map(|word| f32::from_ne_bytes(*word));
            Ok(words.eq((0..2 * lanes).map(|i| (1000 * (i / lanes) + (i + 1) % lanes) as f32)))
        };
        why_not(trial())
    }

    /// Buffers and streams are good for the device that made them alone.
    fn own(&self, stream: &Stream, buffers: &[&Buffer]) {
        assert!(Arc::ptr_eq(&stream.shared, &self.shared), "a stream of another device");
        assert!(buffers.iter().all(|b| Arc::ptr_eq(&b.shared, &self.shared)), "a buffer of another device");
    }
}

fn open(found: &Found, memory: Memory, options: &Options, fingerprint: &str) -> Result<Shared> {
    let name = found.info.name.clone();
    let descriptor = DeviceDescriptor {
        label: Some("spmv"),
        required_features: found.wanted(),
        required_limits: found.limits.clone(),
        memory_hints: wgpu::MemoryHints::Performance,
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(found.adapter.request_device(&descriptor))
        .map_err(|e| unavailable(format!("{name} does not open: {e}")))?;
    let faults = Arc::new(Faults::new(&name));
    let told = Arc::clone(&faults);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| told.uncaptured(&error)));
    let told = Arc::clone(&faults);
    device.set_device_lost_callback(move |reason, detail| told.lost(format!("{reason:?}: {detail}")));
    let line = found.limits.max_compute_workgroups_per_dimension;
    Ok(Shared {
        device,
        queue,
        faults,
        name,
        memory,
        groups_of_line: options.mask.max_groups_of_line.unwrap_or(line).clamp(1, line),
        // Software needs the cores for its own threads.
        awake: if found.info.kind == DeviceKind::Cpu { Duration::ZERO } else { AWAKE },
        cache: found
            .features
            .contains(Features::PIPELINE_CACHE)
            .then(|| (Cache::of(Wgpu::NAME, options.cache.as_deref()), fingerprint.to_owned())),
    })
}

/// Factors the workgroup count into a 2-D grid: fewer spare workgroups than it has lines.
fn grid(groups: u32, line: u32) -> [u32; 2] {
    let lines = groups.div_ceil(line);
    [groups.div_ceil(lines), lines]
}

impl Backend for Wgpu {
    const NAME: &'static str = "wgpu";
    type Buffer = Buffer;
    type Stream = Stream;
    type Event = Event;
    type Kernel = Kernel;
    type Graph = Infallible;

    fn caps(&self) -> &DeviceCaps {
        &self.caps
    }

    fn open_stream(&self, timed: bool) -> Result<Stream> {
        if timed && !self.caps.timestamps {
            return Err(Error::unsupported(&*self.caps.name, "timestamps", "open an untimed stream"));
        }
        Stream::new(&self.shared, &self.streams, timed)
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        if bytes > self.caps.max_buffer_bytes {
            return Err(Error::OutOfMemory { device: self.caps.name.clone(), bytes });
        }
        self.streams.reclaiming(&self.shared, || self.shared.alloc(bytes))
    }

    fn compile(&self, spec: &KernelSpec) -> Result<Kernel> {
        self.caps.check_kernel(spec)?;
        Kernel::new(&self.shared, spec, &text::text(spec, self.texts())?)
    }

    fn zero(&self, stream: &Stream, buffer: &mut Buffer, bytes: u64) -> Result<()> {
        self.own(stream, &[buffer]);
        let len = buffer.range(0, bytes)?.len() as u64;
        stream.work().zero(buffer, len)
    }

    fn write(&self, stream: &Stream, buffer: &mut Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.own(stream, &[buffer]);
        buffer.range(offset, bytes.len() as u64)?;
        stream.work().write(buffer, offset, bytes)
    }

    fn read(&self, stream: &Stream, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.own(stream, &[buffer]);
        buffer.range(offset, bytes.len() as u64)?;
        stream.work().read(buffer, offset, bytes)
    }

    fn map<R>(
        &self,
        stream: &Stream,
        buffer: &mut Buffer,
        bytes: u64,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R> {
        self.own(stream, &[buffer]);
        let len = buffer.range(0, bytes)?.len() as u64;
        if self.caps.memory == MemoryModel::Discrete {
            let way_out = "read it, or let the device repair (Fixup::Device)";
            return Err(Error::unsupported(&*self.caps.name, "memory that the host can map", way_out));
        }
        stream.work().map(buffer, len.max(4).next_multiple_of(4))?;
        buffer.lend(len, f)
    }

    unsafe fn launch(
        &self,
        stream: &Stream,
        kernel: &Kernel,
        groups: u32,
        args: &Args<'_, Self>,
    ) -> Result<()> {
        let args = args.expect(kernel.of);
        let mut buffers = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                Arg::Memory(Argument::Device(buffer)) => buffers.push(*buffer),
                Arg::Memory(Argument::Host(_)) => panic!("host memory, which `caps` deny"),
                Arg::U32(_) | Arg::Accum(_) => {}
            }
        }
        self.own(stream, &buffers);
        if groups == 0 {
            return Ok(());
        }
        let grid = grid(groups, self.shared.groups_of_line);
        let scalars = kernel.scalars(args, [groups, grid[0]]);
        stream.work().launch(kernel, grid, scalars.bytes(), &buffers)
    }

    unsafe fn replay(&self, _: &Stream, graph: &Infallible) -> Result<()> {
        match *graph {}
    }

    fn record(&self, stream: &Stream) -> Result<Event> {
        self.own(stream, &[]);
        stream.record()
    }

    fn submit(&self, stream: &Stream) -> Result<()> {
        self.own(stream, &[]);
        stream.work().flush()
    }

    fn wait(&self, event: &Event) -> Result<()> {
        event.wait()
    }

    fn wait_all(&self) -> Result<()> {
        self.streams.wait_all(&self.shared)
    }

    fn elapsed_s(&self, from: &Event, to: &Event) -> Result<f64> {
        from.seconds_to(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_all_groups_and_few_spare_ones() {
        assert_eq!(grid(1, 65535), [1, 1]);
        assert_eq!(grid(65535, 65535), [65535, 1]);
        assert_eq!(grid(65536, 65535), [32768, 2]);
        for (groups, line) in [(7, 3), (100_000, 1000), (u32::MAX / 2, 65535)] {
            let [x, y] = grid(groups, line);
            let all = u64::from(x) * u64::from(y);
            assert!(x <= line && all >= u64::from(groups) && all - u64::from(groups) < u64::from(y));
        }
    }
}
