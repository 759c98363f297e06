//! A device's context, and driver objects that release themselves in it.

use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, ThreadId};

use cust::context::Context;
use cust::device::Device;
use cust::sys::{
    self, CUcontext, CUdevice, CUevent,
    CUresult::{self, CUDA_SUCCESS},
};
use spmv_backend::{Error, Result};

use crate::Memory;
use crate::error::{self, During};

/// What must not meet on one device, however often it was opened: all share its primary context. Locks are taken in
/// the order of the fields.
#[derive(Debug, Default)]
pub(crate) struct Manners {
    /// Held for reading while launches are recorded, for writing while all work of the context is waited for, which the
    /// driver then refuses.
    pub(crate) recording: RwLock<()>,
    /// Held for reading while work is given to the device, for writing while the host looks at managed memory, on
    /// devices where the two must not meet.
    pub(crate) working: RwLock<()>,
    /// The thread that looks.
    pub(crate) looking: Mutex<Option<ThreadId>>,
}

impl Manners {
    fn of(device: Device) -> Arc<Self> {
        static ALL: Mutex<Vec<(CUdevice, Arc<Manners>)>> = Mutex::new(Vec::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(known, _)| *known == device.as_raw());
        if let Some((_, manners)) = known {
            return Arc::clone(manners);
        }
        let manners = Arc::<Self>::default();
        all.push((device.as_raw(), Arc::clone(&manners)));
        manners
    }

    /// Whether the calling thread is in the middle of a look.
    pub(crate) fn looks(&self) -> bool {
        *self.looking.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id())
    }
}

/// A device's context, and what everything made in it shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) device: Device,
    pub(crate) memory: Memory,
    /// Whether the host may look at managed memory while the device is at work.
    pub(crate) concurrent_access: bool,
    pub(crate) manners: Arc<Manners>,
    /// Events that nobody waits for, with and without time.
    idle: [Mutex<Vec<RawEvent>>; 2],
    context: Context,
}

#[derive(Clone, Copy, Debug)]
struct RawEvent(CUevent);

// SAFETY: handles of the driver may be used from any thread (CUDA driver API, "Initialization").
unsafe impl Send for RawEvent {}

/// While it lives, the context is the calling thread's; then the one before is again.
pub(crate) struct Current<'a>(#[allow(dead_code)] &'a Shared);

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut context: CUcontext = ptr::null_mut();
        // SAFETY: pops what `Shared::enter` pushed on this thread; guards end in the reverse order.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}

impl Shared {
    /// Retains the device's primary context, which the CUDA runtime's libraries use too.
    pub(crate) fn new(
        device: Device,
        name: &str,
        memory: Memory,
        concurrent_access: bool,
    ) -> Result<Arc<Self>> {
        let mut before: CUcontext = ptr::null_mut();
        // SAFETY: writes the thread's context, or null, to `before`.
        let known = unsafe { sys::cuCtxGetCurrent(&mut before) } == CUDA_SUCCESS;
        let context =
            Context::new(device).map_err(|e| error::unavailable(format!("no context on {name}: {e}")))?;
        if known {
            // `Context::new` made itself the thread's.
            // SAFETY: `before` was the thread's context, or null for none.
            let _ = unsafe { sys::cuCtxSetCurrent(before) };
        }
        Ok(Arc::new(Self {
            name: name.to_owned(),
            device,
            memory,
            concurrent_access,
            manners: Manners::of(device),
            idle: Default::default(),
            context,
        }))
    }

    /// Makes the context the thread's.
    pub(crate) fn enter(&self) -> Result<Current<'_>> {
        // SAFETY: the context lives as long as `self`.
        let code = unsafe { sys::cuCtxPushCurrent_v2(self.context.as_raw()) };
        self.check(During::Other("context"), code)?;
        Ok(Current(self))
    }

    pub(crate) fn error(&self, during: During<'_>, code: CUresult) -> Error {
        error::of(&self.name, during, code)
    }

    pub(crate) fn check(&self, during: During<'_>, code: CUresult) -> Result<()> {
        if code == CUDA_SUCCESS { Ok(()) } else { Err(self.error(during, code)) }
    }

    /// Whether the host must not look at managed memory while the device is at work.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.memory == Memory::Managed && !self.concurrent_access
    }

    /// An event of earlier use, or a new one. The context is the thread's.
    pub(crate) fn take_event(&self, timed: bool) -> Result<CUevent> {
        let idle = &self.idle[usize::from(timed)];
        if let Some(RawEvent(event)) = idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(event);
        }
        self.new_event(timed)
    }

    /// An event that was never recorded. The context is the thread's.
    pub(crate) fn new_event(&self, timed: bool) -> Result<CUevent> {
        /// `CU_EVENT_DISABLE_TIMING`.
        const UNTIMED: u32 = 2;
        let mut event: CUevent = ptr::null_mut();
        // SAFETY: writes a new event of the thread's context to `event`.
        let code = unsafe { sys::cuEventCreate(&mut event, if timed { 0 } else { UNTIMED }) };
        self.check(During::Other("event"), code)?;
        Ok(event)
    }

    /// Keeps an event for later use.
    pub(crate) fn keep_event(&self, event: CUevent, timed: bool) {
        let idle = &self.idle[usize::from(timed)];
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(RawEvent(event));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let events = std::mem::take(&mut self.idle);
        let Ok(_current) = self.enter() else { return };
        for RawEvent(event) in events.into_iter().flat_map(|idle| idle.into_inner().unwrap_or_default()) {
            // SAFETY: made by `take_event` in this context, in nobody's hands, destroyed only here.
            let _ = unsafe { sys::cuEventDestroy_v2(event) };
        }
    }
}

/// An object of the driver, released in its context when it is dropped.
pub(crate) struct Owned<H: Copy> {
    handle: H,
    release: unsafe extern "C" fn(H) -> CUresult,
    pub(crate) shared: Arc<Shared>,
}

// SAFETY: handles of the driver may be used from any thread (CUDA driver API, "Initialization"); who may use what
// they stand for, and when, is the contract of the verbs in `device.rs`.
unsafe impl<H: Copy> Send for Owned<H> {}
// SAFETY: as above.
unsafe impl<H: Copy> Sync for Owned<H> {}

impl<H: Copy> Owned<H> {
    /// Takes over a handle that nobody else will release; `release` is the function for its kind.
    pub(crate) fn new(handle: H, release: unsafe extern "C" fn(H) -> CUresult, shared: &Arc<Shared>) -> Self {
        Self { handle, release, shared: Arc::clone(shared) }
    }

    pub(crate) fn get(&self) -> H {
        self.handle
    }
}

impl<H: Copy> Drop for Owned<H> {
    fn drop(&mut self) {
        let Ok(_current) = self.shared.enter() else { return };
        // SAFETY: `new` was given a live handle of this context and the function that releases its kind; released
        // only here. An error (of a device that was lost, say) leaves nothing to be done.
        let _ = unsafe { (self.release)(self.handle) };
    }
}

impl<H: Copy + fmt::Debug> fmt::Debug for Owned<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owned").field(&self.handle).finish()
    }
}
