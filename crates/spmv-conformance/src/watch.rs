//! What a probe saw, for the test to ask.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use spmv_backend::{Backend, Error, KernelId, KernelSpec, Result};
use spmv_exec::Device;

use crate::faults::{Faults, lock};
use crate::memory::{CANARY, Slot, Timeline};

/// An opened device for any number of probes, which share its kernels.
#[derive(Debug)]
pub(crate) struct Opened<B: Backend> {
    device: Device<B>,
    /// For canaries and their checks.
    pub(crate) stream: Mutex<B::Stream>,
    pub(crate) captures: bool,
}

impl<B: Backend> Opened<B> {
    /// Of a device whose backend works.
    ///
    /// # Errors
    /// Whatever the driver says about a new stream.
    pub(crate) fn new(device: &Device<B>) -> Result<Arc<Self>> {
        let backend = device.backend();
        let stream = backend.open_stream(false)?;
        let captures = backend.capture::<Error>(&stream, || Ok(())).is_ok();
        let stream = Mutex::new(stream);
        Ok(Arc::new(Self { device: device.clone(), stream, captures }))
    }

    pub(crate) fn backend(&self) -> &B {
        self.device.backend()
    }

    pub(crate) fn kernel(&self, spec: &KernelSpec) -> Result<Arc<B::Kernel>> {
        self.device.kernel(spec)
    }

    pub(crate) fn wait(&self, stream: &B::Stream) -> Result<()> {
        self.backend().finish(stream)
    }
}

/// What a probe saw. The test keeps it when the probe is gone.
#[derive(Debug)]
pub(crate) struct Watch<B: Backend> {
    pub(crate) opened: Arc<Opened<B>>,
    pub(crate) faults: Faults,
    pub(crate) buffers: Mutex<Vec<Weak<Slot<B>>>>,
    pub(crate) timelines: Mutex<Vec<Arc<Timeline>>>,
    races: Mutex<Vec<String>>,
    /// The buffers of each kernel's last launch, by parameter.
    launched: Mutex<HashMap<KernelId, Named<B>>>,
    alive: [Token; 6],
    /// Events that nobody will drop.
    forgotten: AtomicUsize,
}

/// Buffers by parameter.
type Named<B> = Vec<(&'static str, Weak<Slot<B>>)>;

/// One for each kind of handle in [`KINDS`], and a copy for each handle.
pub(crate) type Token = Arc<()>;

/// What is counted.
const KINDS: [&str; 6] = ["devices", "buffers", "streams", "events", "kernels", "graphs"];
pub(crate) const DEVICE: usize = 0;
pub(crate) const BUFFER: usize = 1;
pub(crate) const STREAM: usize = 2;
pub(crate) const EVENT: usize = 3;
pub(crate) const KERNEL: usize = 4;
pub(crate) const GRAPH: usize = 5;

impl<B: Backend> Watch<B> {
    /// For one probe.
    pub(crate) fn new(opened: &Arc<Opened<B>>, faults: Faults) -> Arc<Self> {
        Arc::new(Self {
            opened: Arc::clone(opened),
            faults,
            buffers: Mutex::default(),
            timelines: Mutex::default(),
            races: Mutex::default(),
            launched: Mutex::default(),
            alive: Default::default(),
            forgotten: AtomicUsize::new(0),
        })
    }

    pub(crate) fn token(&self, kind: usize) -> Token {
        Arc::clone(&self.alive[kind])
    }

    /// Handles that are alive.
    pub(crate) fn alive(&self) -> Vec<String> {
        let mut counts = self.alive.each_ref().map(|token| Arc::strong_count(token) - 1);
        counts[EVENT] -= self.forgotten.load(Ordering::Relaxed);
        counts.into_iter().zip(KINDS).filter(|(n, _)| *n > 0).map(|(n, kind)| format!("{n} {kind}")).collect()
    }

    /// What has events now is forgotten, so that they stay.
    pub(crate) fn forget_events(&self) {
        self.forgotten.store(Arc::strong_count(&self.alive[EVENT]) - 1, Ordering::Relaxed);
    }

    /// Commands that used a buffer while one of another stream might.
    pub(crate) fn races(&self) -> Vec<String> {
        lock(&self.races).clone()
    }

    /// Whether commands may still use memory that they borrowed from the host.
    pub(crate) fn uses_host_memory(&self) -> bool {
        lock(&self.timelines).iter().any(|timeline| timeline.may_use_host_memory())
    }

    /// Waits for all work; then every canary is whole, every buffer that no kernel may have written holds what the host
    /// wrote, and nothing raced.
    ///
    /// # Errors
    /// The first fault, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let backend = self.opened.backend();
        backend.wait_all().map_err(|e| e.to_string())?;
        let stream = lock(&self.opened.stream);
        for slot in lock(&self.buffers).iter().filter_map(Weak::upgrade) {
            let mut found = vec![0; slot.bytes as usize + CANARY];
            backend.read(&stream, &slot.inner(), 0, &mut found).map_err(|e| e.to_string())?;
            slot.compare(&found)?;
        }
        self.races().first().map_or(Ok(()), |race| Err(race.clone()))
    }

    /// Takes note of the buffers that a launch was given.
    pub(crate) fn launched<'a>(
        &self,
        kernel: KernelId,
        buffers: impl Iterator<Item = (&'static str, &'a Arc<Slot<B>>)>,
    ) {
        let buffers = buffers.map(|(name, slot)| (name, Arc::downgrade(slot))).collect();
        lock(&self.launched).insert(kernel, buffers);
    }

    /// The first `n` elements of a buffer that the last launch of a kernel was given, after all work.
    ///
    /// # Errors
    /// No such launch or buffer, and whatever the driver says.
    pub(crate) fn elements<E: bytemuck::Pod>(
        &self,
        kernel: KernelId,
        name: &str,
        n: usize,
    ) -> Result<Vec<E>, String> {
        let backend = self.opened.backend();
        backend.wait_all().map_err(|e| e.to_string())?;
        let launched = lock(&self.launched);
        let of_kernel = launched.get(&kernel).into_iter().flatten();
        let slot = of_kernel.filter(|(of, _)| *of == name).find_map(|(_, slot)| slot.upgrade());
        let slot = slot.ok_or_else(|| format!("no launch of {kernel} had a buffer {name}"))?;
        let mut elements = vec![E::zeroed(); n];
        let (stream, bytes) = (lock(&self.opened.stream), bytemuck::cast_slice_mut(&mut elements));
        backend.read(&stream, &slot.inner(), 0, bytes).map_err(|e| e.to_string())?;
        Ok(elements)
    }

    /// Takes note of a command on a stream, and of its buffers.
    pub(crate) fn queue<'a>(
        &self,
        timeline: &Arc<Timeline>,
        uses: impl IntoIterator<Item = (&'a Arc<Slot<B>>, bool)>,
    ) {
        let command = timeline.queue();
        for (slot, writes) in uses {
            if let Err(race) = slot.used(timeline, command, writes) {
                lock(&self.races).push(race);
            }
        }
    }
}
