//! A device's context, and driver objects that release themselves in it.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard, TryLockError};
use std::thread::{self, ThreadId};

use spmv_backend::Result;

use crate::device_driver::{self as sys, Answer, CUcontext, CUdevice, CUevent, CUstream};
use crate::device_pool::Pool;
use crate::error::{self, During};
use crate::options::Memory;

/// Events of each kind that a device keeps for later use: far more than queues have on their way.
const MOST_IDLE: usize = 1024;

/// What must not meet on one device, however often it was opened: all share its primary context. Locks are taken in
/// the order of the fields.
#[derive(Debug, Default)]
pub(crate) struct Manners {
    /// Held for reading while launches are captured, for writing while all work of the context is waited for, which the
    /// driver then refuses.
    pub(crate) capturing: RwLock<()>,
    /// Held for reading while work is given to the device, for writing while the host accesses managed memory, on
    /// devices where the two must not meet.
    pub(crate) working: RwLock<()>,
    /// The thread that accesses it.
    pub(crate) looking: Mutex<Option<ThreadId>>,
    /// Whether the two must not meet: then work of every opening waits for accesses of any, whatever memory it uses itself.
    exclusive: AtomicBool,
}

impl Manners {
    fn of(device: CUdevice) -> Arc<Self> {
        static ALL: Mutex<Vec<(CUdevice, Arc<Manners>)>> = Mutex::new(Vec::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(known, _)| *known == device);
        if let Some((_, manners)) = known {
            return Arc::clone(manners);
        }
        let manners = Arc::<Self>::default();
        all.push((device, Arc::clone(&manners)));
        manners
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive.load(Ordering::Acquire)
    }

    /// Whether the calling thread is in the middle of an access.
    pub(crate) fn is_accessing(&self) -> bool {
        *self.looking.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id())
    }
}

/// While it lives, the calling thread accesses managed memory and the device is idle.
pub(crate) struct HostAccess<'a> {
    manners: &'a Manners,
    _alone: RwLockWriteGuard<'a, ()>,
}

impl<'a> HostAccess<'a> {
    /// Waits for the device. The context is the thread's.
    pub(crate) fn begin(shared: &'a Shared) -> Result<Self> {
        let manners = &*shared.manners;
        let _nothing_captured = manners.capturing.write().unwrap_or_else(PoisonError::into_inner);
        let _alone = manners.working.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: waits for all work of the thread's context; nobody gives it more.
        shared.check(During::Kernel("device"), unsafe { sys::cuCtxSynchronize() })?;
        *manners.looking.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        Ok(Self { manners, _alone })
    }
}

impl Drop for HostAccess<'_> {
    fn drop(&mut self) {
        *self.manners.looking.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A stream that the caller made and goes on using.
#[derive(Clone, Debug)]
pub(crate) struct CallersStream {
    pub(crate) stream: CUstream,
    /// Keeps it; [`Shared`] lets go of it before the context, in which it is destroyed.
    #[allow(dead_code)] // Held, never looked at.
    pub(crate) owner: Arc<dyn Any + Send + Sync>,
}

/// A device's context, and what everything made in it shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) device: CUdevice,
    pub(crate) memory: Memory,
    /// Whether the host may access managed memory while the device is at work.
    pub(crate) concurrent_access: bool,
    pub(crate) manners: Arc<Manners>,
    /// Events that nobody has, without and with time.
    idle: [Mutex<Vec<CUevent>>; 2],
    /// Where memory comes from, in [`Memory::Device`] if the driver has pools.
    pub(crate) pool: Option<Pool>,
    /// The stream that all work goes to, where the caller brought one. Fields are dropped in their order.
    pub(crate) callers: Option<CallersStream>,
    context: Primary,
}

/// The primary context of a device, which the CUDA runtime's libraries use too.
#[derive(Debug)]
struct Primary {
    device: CUdevice,
    context: CUcontext,
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained once by `Shared::new`, released only here.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// While it lives, the context is the calling thread's; then the one before is again, or none.
pub(crate) struct Current<'a> {
    /// Not where the context was the thread's already.
    is_pushed: bool,
    /// Threads have contexts of their own, so it stays in this one.
    of_thread: PhantomData<(&'a Shared, *const ())>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if !self.is_pushed {
            return;
        }
        let mut context = CUcontext::NULL;
        // SAFETY: pops what `Shared::enter` pushed on this thread; guards end in the reverse order.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}

impl Shared {
    /// Retains the device's primary context.
    pub(crate) fn new(
        device: CUdevice,
        name: &str,
        memory: Memory,
        concurrent_access: bool,
        callers: Option<CallersStream>,
    ) -> Result<Arc<Self>> {
        let manners = Manners::of(device);
        if !concurrent_access {
            manners.exclusive.store(true, Ordering::Release);
        }
        let mut context = CUcontext::NULL;
        // SAFETY: writes a context to `context`; the driver checks the device.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) }
            .map_err(|refusal| error::unavailable(format!("no context on {name}: {}", refusal.meaning())))?;
        let mut shared = Self {
            name: name.to_owned(),
            device,
            memory,
            concurrent_access,
            manners,
            idle: Default::default(),
            pool: None,
            callers,
            context: Primary { device, context },
        };
        // Elsewhere nothing may be done on a stream while the host accesses managed memory.
        if memory == Memory::Device && concurrent_access {
            let pool = shared.enter().map(|_current| Pool::new(device))?;
            shared.pool = pool;
        }
        Ok(Arc::new(shared))
    }

    pub(crate) fn context(&self) -> CUcontext {
        self.context.context
    }

    /// Makes the context the thread's, where it is not.
    ///
    /// Asks the driver each time, since other code of the thread may have made another one current. A thread without a context has
    /// none afterwards either: the CUDA runtime would take one that is left for the device that its caller chose.
    pub(crate) fn enter(&self) -> Result<Current<'_>> {
        let mut current = CUcontext::NULL;
        // SAFETY: writes the thread's context, or null, to `current`.
        let asked = unsafe { sys::cuCtxGetCurrent(&mut current) };
        // A driver that cannot say is told to take ours, and answers then.
        let is_pushed = asked.is_err() || current != self.context();
        if is_pushed {
            // SAFETY: the context lives as long as `self`.
            let answer = unsafe { sys::cuCtxPushCurrent_v2(self.context()) };
            self.check(During::Other("context"), answer)?;
        }
        Ok(Current { is_pushed, of_thread: PhantomData })
    }

    pub(crate) fn check(&self, during: During<'_>, answer: Answer) -> Result<()> {
        answer.map_err(|refusal| error::of(&self.name, during, refusal))
    }

    /// Lets the device reach the memory of another one directly, where it can.
    pub(crate) fn open_peer(&self, peer: &Self) -> Result<()> {
        if self.device == peer.device {
            return Ok(());
        }
        let _current = self.enter()?;
        let mut can = 0;
        // SAFETY: writes a number to `can`.
        let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.device, peer.device) };
        self.check(During::Other("peer"), asked)?;
        if can != 0 {
            // An error: it was opened before, for another stream or opening, or the driver goes through the host.
            // SAFETY: the context of the peer lives as long as `peer`.
            let _ = unsafe { sys::cuCtxEnablePeerAccess(peer.context(), 0) };
            // Likewise.
            let _ = peer.pool.as_ref().map(|pool| pool.open_to(self.device));
        }
        Ok(())
    }

    /// Waits for all work of the context, which is the thread's.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        let _nothing_captured = self.manners.capturing.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: waits, and changes nothing.
        self.check(During::Kernel("device"), unsafe { sys::cuCtxSynchronize() })
    }

    /// The same, or `None` while launches are captured, by this thread or another, or another thread waits.
    pub(crate) fn wait_unless_captured(&self) -> Option<Answer> {
        let _nothing_captured = match self.manners.capturing.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // SAFETY: waits, and changes nothing.
        Some(unsafe { sys::cuCtxSynchronize() })
    }

    /// An event of earlier use, or a new one. The context is the thread's.
    pub(crate) fn take_event(&self, timed: bool) -> Result<CUevent> {
        let idle = &self.idle[usize::from(timed)];
        if let Some(event) = idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(event);
        }
        self.new_event(timed)
    }

    /// An event that was never recorded. The context is the thread's.
    pub(crate) fn new_event(&self, timed: bool) -> Result<CUevent> {
        /// `CU_EVENT_DISABLE_TIMING`.
        const UNTIMED: u32 = 2;
        let mut event = CUevent::NULL;
        // SAFETY: writes a new event of the thread's context to `event`.
        let answer = unsafe { sys::cuEventCreate(&mut event, if timed { 0 } else { UNTIMED }) };
        self.check(During::Other("event"), answer)?;
        Ok(event)
    }

    /// Keeps an event for later use, or destroys it where many are kept.
    ///
    /// Streams may still wait for it, those of other devices too: each waits for what was recorded last when it was told to wait, whatever
    /// is recorded later (CUDA driver API, cuStreamWaitEvent).
    pub(crate) fn keep_event(&self, event: CUevent, timed: bool) {
        let mut idle = self.idle[usize::from(timed)].lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(event);
            return;
        }
        drop(idle);
        let Ok(_current) = self.enter() else { return };
        // SAFETY: made by `new_event` in this context, in nobody's hands; the driver releases it once it has come to pass.
        let _ = unsafe { sys::cuEventDestroy_v2(event) };
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let events = std::mem::take(&mut self.idle);
        let Ok(_current) = self.enter() else { return };
        for event in events.into_iter().flat_map(|idle| idle.into_inner().unwrap_or_default()) {
            // SAFETY: made by `take_event` in this context, in nobody's hands, destroyed only here.
            let _ = unsafe { sys::cuEventDestroy_v2(event) };
        }
        if let Some(pool) = &self.pool {
            // SAFETY: dropped with `self`, which all memory of it kept.
            unsafe { pool.close(|| self.wait_unless_captured()) };
        }
    }
}

/// An object of the driver, released in its context when it is dropped.
pub(crate) struct Owned<H: Copy> {
    handle: H,
    release: unsafe fn(H) -> Answer,
    pub(crate) shared: Arc<Shared>,
}

impl<H: Copy> Owned<H> {
    /// Takes over a handle that nobody else will release; `release` is the function for its kind.
    pub(crate) fn new(handle: H, release: unsafe fn(H) -> Answer, shared: &Arc<Shared>) -> Self {
        Self { handle, release, shared: Arc::clone(shared) }
    }

    /// A handle that somebody else releases.
    pub(crate) fn borrowed(handle: H, shared: &Arc<Shared>) -> Self {
        Self::new(handle, |_| Ok(()), shared)
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
