//! Work in order: encoders, submissions, copies, times.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use spmv_backend::{Error, Result};
use wgpu::{
    BindGroup, BufferDescriptor, BufferUsages, CommandEncoder, CommandEncoderDescriptor,
    ComputePassDescriptor, Device, MapMode, QuerySet, QuerySetDescriptor, QueryType, SubmissionIndex,
};

use crate::device_memory::Buffer;
use crate::device_shader::Kernel;
use crate::faults::locked;
use crate::shared::Shared;

/// Bytes that are copied at a time.
const STAGED: u64 = 16 << 20;
/// Points of time that events of a stream may hold at the same time.
const TICKS: u32 = 256;
/// Bytes between what one resolved query and the next take.
const TICK_BYTES: u64 = wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT;
/// Bind groups that a stream keeps.
const KEPT: usize = 32;

/// The streams of a device that there are.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<Vec<Weak<Mutex<Work>>>>);

impl Streams {
    fn all(&self) -> Vec<Arc<Mutex<Work>>> {
        let mut streams = locked(&self.0);
        streams.retain(|work| work.strong_count() > 0);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    /// Waits for everything, what streams hold back too. What fails is for the stream's own `wait` to report.
    pub(crate) fn wait_all(&self, shared: &Shared) -> Result<()> {
        self.all().iter().for_each(|work| locked(work).hand_over());
        shared.poll(None)
    }

    /// Allocates; where memory is full, once more without what streams keep of buffers that are gone.
    pub(crate) fn reclaiming<R>(&self, shared: &Shared, allocate: impl Fn() -> Result<R>) -> Result<R> {
        match allocate() {
            Err(Error::OutOfMemory { .. }) => {
                self.tidy(shared);
                allocate()
            }
            result => result,
        }
    }

    /// Lets go of what streams keep of buffers that are gone.
    fn tidy(&self, shared: &Shared) {
        for work in self.all() {
            // A stream in use lets go by itself.
            if let Ok(mut work) = work.try_lock() {
                work.forget_dead();
            }
        }
        // What was let go is freed when the device is done with it.
        let _ = shared.poll(None);
    }
}

/// A queue of work of its own order.
#[derive(Debug)]
pub struct Stream {
    work: Arc<Mutex<Work>>,
    pub(crate) shared: Arc<Shared>,
}

/// A point in a stream's work.
#[derive(Debug)]
pub struct Event {
    work: Arc<Mutex<Work>>,
    /// The submission that it is part of.
    batch: u64,
    tick: Option<Tick>,
}

/// A query that an event holds.
#[derive(Debug)]
struct Tick {
    at: u32,
    free: Arc<Mutex<Vec<u32>>>,
}

impl Drop for Tick {
    fn drop(&mut self) {
        locked(&self.free).push(self.at);
    }
}

/// Points of time of a timed stream.
#[derive(Debug)]
struct Timestamps {
    queries: QuerySet,
    free: Arc<Mutex<Vec<u32>>>,
    resolved: wgpu::Buffer,
    read: wgpu::Buffer,
}

/// A bind group, and the buffers that it is of.
#[derive(Debug)]
struct Bound {
    kernel: u64,
    buffers: Vec<u64>,
    alive: Vec<Weak<()>>,
    group: BindGroup,
}

/// A submission that failed.
#[derive(Debug)]
struct Fault {
    batch: u64,
    error: Error,
    /// Whether the stream has reported it.
    is_reported: bool,
}

/// What a stream has begun.
#[derive(Debug)]
pub(crate) struct Work {
    shared: Arc<Shared>,
    streams: Arc<Streams>,
    encoder: Option<CommandEncoder>,
    /// Whether the queue holds writes that the next submission brings.
    has_writes: bool,
    /// Number of the submission that is being filled.
    batch: u64,
    last: Option<SubmissionIndex>,
    /// The last submission that failed, whoever made it.
    fault: Option<Fault>,
    /// Errors of unknown origin that this stream has reported.
    seen_stray: u64,
    staging: Option<wgpu::Buffer>,
    /// The newest at the end.
    bound: Vec<Bound>,
    timestamps: Option<Timestamps>,
}

/// Whole words that contain `len` bytes from `offset` on.
fn words(offset: u64, len: u64) -> std::ops::Range<u64> {
    offset / 4 * 4..(offset + len).next_multiple_of(4)
}

impl Stream {
    pub(crate) fn new(shared: &Arc<Shared>, streams: &Arc<Streams>, timed: bool) -> Result<Self> {
        let timestamps =
            timed.then(|| shared.guarded("timestamps", 0, || Timestamps::new(&shared.device))).transpose()?;
        let work = Work {
            shared: Arc::clone(shared),
            streams: Arc::clone(streams),
            encoder: None,
            has_writes: false,
            batch: 0,
            last: None,
            fault: None,
            seen_stray: shared.faults.n_stray(),
            staging: None,
            bound: Vec::new(),
            timestamps,
        };
        let work = Arc::new(Mutex::new(work));
        locked(&streams.0).push(Arc::downgrade(&work));
        Ok(Self { work, shared: Arc::clone(shared) })
    }

    pub(crate) fn work(&self) -> MutexGuard<'_, Work> {
        locked(&self.work)
    }

    pub(crate) fn record(&self) -> Result<Event> {
        let mut work = self.work();
        let tick = work.tick()?;
        Ok(Event { work: Arc::clone(&self.work), batch: work.batch, tick })
    }
}

impl Event {
    pub(crate) fn wait(&self) -> Result<()> {
        locked(&self.work).wait(self.batch)
    }

    pub(crate) fn seconds_to(&self, to: &Event) -> Result<f64> {
        let mut work = locked(&self.work);
        let (Some(from), Some(to)) = (&self.tick, &to.tick) else {
            let what = "times of streams that were not opened for them";
            return Err(Error::unsupported(&*work.shared.name, what, "open a timed stream"));
        };
        let [from, to] = work.ticks([from.at, to.at])?;
        let period = f64::from(work.shared.queue.get_timestamp_period());
        Ok(to.saturating_sub(from) as f64 * period * 1e-9)
    }
}

impl Timestamps {
    fn new(device: &Device) -> Self {
        let queries = device.create_query_set(&QuerySetDescriptor {
            label: None,
            ty: QueryType::Timestamp,
            count: TICKS,
        });
        let buffer = |usage| {
            let size = 2 * TICK_BYTES;
            device.create_buffer(&BufferDescriptor {
                label: Some("times"),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        Self {
            queries,
            free: Arc::new(Mutex::new((0..TICKS).collect())),
            resolved: buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST),
        }
    }
}

impl Work {
    fn encoder(&mut self) -> &mut CommandEncoder {
        let device = &self.shared.device;
        self.encoder
            .get_or_insert_with(|| device.create_command_encoder(&CommandEncoderDescriptor::default()))
    }

    /// Hands over what has been encoded or written.
    ///
    /// # Errors
    /// What was wrong with this submission or an earlier one, if the stream has not reported it yet.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.hand_over();
        self.shared.faults.check()?;
        self.shared.faults.stray_since(&mut self.seen_stray)?;
        match &mut self.fault {
            Some(fault) if !fault.is_reported => {
                fault.is_reported = true;
                Err(fault.error.clone())
            }
            _ => Ok(()),
        }
    }

    /// The same for any thread: a fault stays with the stream.
    fn hand_over(&mut self) {
        if self.encoder.is_some() || self.has_writes {
            let encoder = self.encoder.take();
            self.has_writes = false;
            let submit = || self.shared.queue.submit(encoder.map(CommandEncoder::finish));
            match self.shared.guarded("submission", 0, submit) {
                Ok(last) => self.last = Some(last),
                Err(error) => self.fault = Some(Fault { batch: self.batch, error, is_reported: false }),
            }
            self.batch += 1;
        }
    }

    fn forget_dead(&mut self) {
        self.bound.retain(|bound| bound.alive.iter().all(|alive| alive.strong_count() > 0));
    }

    fn wait(&mut self, batch: u64) -> Result<()> {
        if batch >= self.batch {
            self.flush()?;
        }
        match &mut self.fault {
            Some(fault) if fault.batch == batch || (fault.batch < batch && !fault.is_reported) => {
                fault.is_reported = true;
                return Err(fault.error.clone());
            }
            _ => {}
        }
        match &self.last {
            Some(last) => self.shared.poll_awake(Some(last.clone())),
            None => self.shared.faults.check(),
        }
    }

    fn tick(&mut self) -> Result<Option<Tick>> {
        let Some(timestamps) = &self.timestamps else { return Ok(None) };
        let Some(at) = locked(&timestamps.free).pop() else {
            let what = format!("more than {TICKS} events of a stream");
            return Err(Error::unsupported(&*self.shared.name, what, "drop events that are over"));
        };
        let tick = Tick { at, free: Arc::clone(&timestamps.free) };
        let queries = timestamps.queries.clone();
        self.encoder().write_timestamp(&queries, at);
        Ok(Some(tick))
    }

    fn ticks(&mut self, at: [u32; 2]) -> Result<[u64; 2]> {
        let Some(timestamps) = &self.timestamps else {
            unreachable!("events with times come from timed streams")
        };
        let (queries, resolved, read) =
            (timestamps.queries.clone(), timestamps.resolved.clone(), timestamps.read.clone());
        let encoder = self.encoder();
        for (i, at) in at.into_iter().enumerate() {
            encoder.resolve_query_set(&queries, at..at + 1, &resolved, i as u64 * TICK_BYTES);
        }
        encoder.copy_buffer_to_buffer(&resolved, 0, &read, 0, 2 * TICK_BYTES);
        self.flush()?;
        self.shared.map(&read, 0..2 * TICK_BYTES, MapMode::Read, self.last.clone())?;
        let view = read.get_mapped_range(0..2 * TICK_BYTES);
        let ticks = view.map(|view| {
            [0, TICK_BYTES as usize].map(|start| {
                let bytes = view[start..start + 8].try_into().expect("eight bytes");
                u64::from_le_bytes(bytes)
            })
        });
        read.unmap();
        ticks.map_err(|e| self.shared.failed("times", e.to_string()))
    }

    /// Zeroes the first `len` bytes.
    pub(crate) fn zero(&mut self, buffer: &Buffer, len: u64) -> Result<()> {
        // Beyond the end of the buffer there is nothing to keep.
        let (whole, rest) =
            if len == buffer.bytes { (len.next_multiple_of(4), 0) } else { (len / 4 * 4, len % 4) };
        if whole > 0 {
            self.encoder().clear_buffer(&buffer.raw, 0, Some(whole));
        }
        self.write(buffer, whole, &[0; 4][..rest as usize])
    }

    /// Copies words to the device: `offset` and the length are multiples of four.
    fn write_words(&mut self, buffer: &Buffer, offset: u64, words: &[u8]) -> Result<()> {
        // Earlier work comes first.
        self.flush()?;
        for (i, chunk) in words.chunks(STAGED as usize).enumerate() {
            let at = offset + i as u64 * STAGED;
            // wgpu keeps a copy until the device has taken it: two of them at a time.
            let before = self.last.clone().filter(|_| i > 1);
            let write = || self.shared.queue.write_buffer(&buffer.raw, at, chunk);
            self.shared.guarded("write", chunk.len() as u64, write)?;
            self.has_writes = true;
            if words.len() > STAGED as usize {
                self.flush()?;
                before.map_or(Ok(()), |before| self.shared.poll(Some(before)))?;
            }
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let all = words(offset, bytes.len() as u64);
        if all == (offset..offset + bytes.len() as u64) {
            return self.write_words(buffer, offset, bytes);
        }
        // Bytes next to these stay as they are; beyond the end there are none.
        let middle = if offset.is_multiple_of(4) { bytes.len() / 4 * 4 } else { 0 };
        self.write_words(buffer, offset, &bytes[..middle])?;
        let (from, rest) = (offset + middle as u64, &bytes[middle..]);
        let around = words(from, rest.len() as u64);
        let mut old = vec![0; (around.end - around.start) as usize];
        self.read_words(buffer, around.start, &mut old)?;
        old[(from - around.start) as usize..][..rest.len()].copy_from_slice(rest);
        self.write_words(buffer, around.start, &old)
    }

    /// As [`read`](Self::read), of whole words.
    fn read_words(&mut self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let staging = match &self.staging {
            Some(staging) => staging.clone(),
            None => {
                let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
                let allocate = || self.shared.allocate("staging", STAGED, usage);
                let staging = self.streams.reclaiming(&self.shared, allocate)?;
                self.staging.insert(staging).clone()
            }
        };
        for (i, chunk) in bytes.chunks_mut(STAGED as usize).enumerate() {
            let (from, len) = (offset + i as u64 * STAGED, chunk.len() as u64);
            self.encoder().copy_buffer_to_buffer(&buffer.raw, from, &staging, 0, len);
            self.flush()?;
            self.shared.map(&staging, 0..len, MapMode::Read, self.last.clone())?;
            let view = staging.get_mapped_range(0..len);
            let copied = view.map(|view| chunk.copy_from_slice(&view));
            staging.unmap();
            copied.map_err(|e| self.shared.failed("read", e.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn read(&mut self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return self.wait(self.batch);
        }
        // Mapped memory is copied too: others may read the buffer at the same time, or run with it.
        let all = words(offset, bytes.len() as u64);
        if all == (offset..offset + bytes.len() as u64) {
            return self.read_words(buffer, offset, bytes);
        }
        let mut whole = vec![0; (all.end - all.start) as usize];
        self.read_words(buffer, all.start, &mut whole)?;
        bytes.copy_from_slice(&whole[(offset - all.start) as usize..][..bytes.len()]);
        Ok(())
    }

    /// Makes what is submitted visible to the host, which may then access the buffer until it unmaps it.
    pub(crate) fn map(&mut self, buffer: &Buffer, len: u64) -> Result<()> {
        self.flush()?;
        // Only a mapping for reading brings what the device wrote to a memory that is not coherent, only one for writing
        // takes back what the host writes.
        self.shared.map(&buffer.raw, 0..len, MapMode::Read, self.last.clone())?;
        buffer.raw.unmap();
        self.shared.map(&buffer.raw, 0..len, MapMode::Write, self.last.clone())
    }

    pub(crate) fn launch(
        &mut self,
        kernel: &Kernel,
        groups: [u32; 2],
        scalars: &[u8],
        buffers: &[&Buffer],
    ) -> Result<()> {
        let at = self.bind(kernel, buffers)?;
        let group = self.bound[at].group.clone();
        // What is wrong with it is told when the encoder is finished.
        let mut pass = self.encoder().begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.set_immediates(0, scalars);
        pass.dispatch_workgroups(groups[0], groups[1], 1);
        Ok(())
    }

    /// Where the bind group of these buffers is kept.
    fn bind(&mut self, kernel: &Kernel, buffers: &[&Buffer]) -> Result<usize> {
        let is_same = |bound: &Bound| {
            bound.kernel == kernel.id && bound.buffers.iter().copied().eq(buffers.iter().map(|b| b.id))
        };
        if let Some(at) = self.bound.iter().rposition(is_same) {
            return Ok(at);
        }
        // Groups keep their buffers: those of buffers that are gone must go.
        self.forget_dead();
        if self.bound.len() == KEPT {
            self.bound.remove(0);
        }
        self.bound.push(Bound {
            kernel: kernel.id,
            buffers: buffers.iter().map(|b| b.id).collect(),
            alive: buffers.iter().map(|b| Arc::downgrade(&b.alive)).collect(),
            group: self
                .shared
                .guarded(kernel.label, 0, || kernel.bind_group(&self.shared.device, buffers))?,
        });
        Ok(self.bound.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_contain_their_bytes() {
        assert_eq!(words(0, 4), 0..4);
        assert_eq!(words(5, 2), 4..8);
        assert_eq!(words(5, 4), 4..12);
        assert_eq!(words(12, 1), 12..16);
        assert_eq!(words(8, 3), 8..12);
    }
}
