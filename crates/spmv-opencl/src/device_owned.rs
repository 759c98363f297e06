//! OpenCL objects that release themselves.

use std::fmt;

/// An object of the driver, released when it is dropped. The driver counts references: an object that
/// queued work needs lives until that work is done (buffers of shared virtual memory excepted).
pub(crate) struct Owned<H: Copy> {
    handle: H,
    release: unsafe fn(H) -> Result<(), i32>,
}

// SAFETY: OpenCL objects may be used from any thread (OpenCL 3.0 API, appendix A.2). The one exception is
// setting arguments of a kernel object, which `device.rs` does under a lock.
unsafe impl<H: Copy> Send for Owned<H> {}
// SAFETY: as above.
unsafe impl<H: Copy> Sync for Owned<H> {}

impl<H: Copy> Owned<H> {
    /// Takes over a handle that nobody else will release; `release` is the function for its kind.
    pub(crate) fn new(handle: H, release: unsafe fn(H) -> Result<(), i32>) -> Self {
        Self { handle, release }
    }

    pub(crate) fn get(&self) -> H {
        self.handle
    }
}

impl<H: Copy> Drop for Owned<H> {
    fn drop(&mut self) {
        // SAFETY: `new` was given a live handle and the function that releases its kind; released only here.
        // An error (of a device that was lost, say) leaves nothing to be done.
        let _ = unsafe { (self.release)(self.handle) };
    }
}

impl<H: Copy> fmt::Debug for Owned<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").finish_non_exhaustive()
    }
}
