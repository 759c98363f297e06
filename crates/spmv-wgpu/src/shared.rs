//! What every handle of a device shares: calls of wgpu whose faults are told, and waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use spmv_backend::{Cache, Error, Result};
use wgpu::{Device, ErrorFilter, MapMode, PollError, PollType, Queue, SubmissionIndex};

use crate::faults::Faults;
use crate::options::Memory;

/// What every handle of a device shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) faults: Arc<Faults>,
    pub(crate) name: String,
    pub(crate) memory: Memory,
    /// Most groups in each dimension of a launch.
    pub(crate) groups_of_line: u32,
    /// How long a thread that waits asks again and again before it sleeps. To wake it takes drivers as long as many a product.
    pub(crate) awake: Duration,
    /// Compiled pipelines, if the driver gives them, and what stands before each key.
    pub(crate) cache: Option<(Cache, String)>,
}

impl Shared {
    /// Lets callbacks run, after a submission or all work.
    pub(crate) fn poll(&self, submission_index: Option<SubmissionIndex>) -> Result<()> {
        self.told(|| self.device.poll(PollType::Wait { submission_index, timeout: None }))
    }

    /// The same after the last submission of a stream, whose caller has nothing else to do.
    pub(crate) fn poll_awake(&self, last: Option<SubmissionIndex>) -> Result<()> {
        self.told(|| self.stay_awake())?;
        self.poll(last)
    }

    /// What is wrong after some polls.
    fn told<R>(&self, polls: impl FnOnce() -> Result<R, PollError>) -> Result<()> {
        self.faults.check()?;
        // A driver that fails while it is waited for makes wgpu panic, after it has told that the device is lost.
        let polled = catch_unwind(AssertUnwindSafe(polls));
        self.faults.check()?;
        let detail = match polled {
            Ok(Ok(_)) => return Ok(()),
            // The index is that of a submission that was taken, so the device is gone and has not said so yet.
            Ok(Err(e)) => e.to_string(),
            Err(_) => "the driver failed while it was waited for".to_owned(),
        };
        self.faults.lost(detail);
        self.faults.check()
    }

    /// Asks again and again, for a while, whether all that was submitted is done.
    ///
    /// Not by waits for no time at all: wgpu-core 30.0.1 panics where another thread finds the same work done meanwhile.
    fn stay_awake(&self) -> Result<(), PollError> {
        if self.awake.is_zero() {
            return Ok(());
        }
        let (began, is_done) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let done = Arc::clone(&is_done);
        self.queue.on_submitted_work_done(move || done.store(true, Ordering::Relaxed));
        while !is_done.load(Ordering::Relaxed) && began.elapsed() < self.awake {
            self.device.poll(PollType::Poll)?;
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// What is wrong with calls of wgpu that report nothing themselves: scopes are the thread's own, so that no error goes
    /// to another.
    pub(crate) fn guarded<R>(&self, kernel: &str, bytes: u64, calls: impl FnOnce() -> R) -> Result<R> {
        self.scoped(calls)?.map_err(|e| self.faults.of(kernel, &e, bytes))
    }

    /// The same, with what wgpu itself said.
    pub(crate) fn scoped<R>(&self, calls: impl FnOnce() -> R) -> Result<Result<R, wgpu::Error>> {
        let filters = [ErrorFilter::OutOfMemory, ErrorFilter::Internal, ErrorFilter::Validation];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let result = calls();
        // They end in the reverse order of their beginnings.
        let mut first = None;
        for scope in scopes.into_iter().rev() {
            if let Some(e) = pollster::block_on(scope.pop()) {
                first.get_or_insert(e);
            }
        }
        self.faults.check()?;
        Ok(first.map_or(Ok(result), Err))
    }

    pub(crate) fn failed(&self, kernel: &str, detail: String) -> Error {
        Error::Launch { device: self.name.clone(), kernel: kernel.to_owned(), detail }
    }

    /// Maps part of a buffer that no unsubmitted work uses, and waits for it.
    pub(crate) fn map(
        &self,
        buffer: &wgpu::Buffer,
        range: std::ops::Range<u64>,
        mode: MapMode,
        last: Option<SubmissionIndex>,
    ) -> Result<()> {
        let told = Arc::new(OnceLock::new());
        let report = Arc::clone(&told);
        buffer.slice(range).map_async(mode, move |result| {
            let _ = report.set(result);
        });
        let wait = || {
            self.poll_awake(last)?;
            loop {
                match told.get() {
                    Some(Ok(())) => return Ok(()),
                    Some(Err(e)) => return Err(self.failed("map", e.to_string())),
                    // Another stream used it, or another thread runs the callback.
                    None => {
                        self.poll(None)?;
                        std::thread::yield_now();
                    }
                }
            }
        };
        // What is not mapped after all must not stay half mapped.
        wait().inspect_err(|_| buffer.unmap())
    }
}
