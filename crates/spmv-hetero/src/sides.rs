//! The device and the cores.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use spmv_backend::Backend;
use spmv_exec::{Device, Error, Result};

/// A device, and the cores of the CPU: beside it in a pool of their own, and alone.
///
/// ```
/// use spmv_cpu::Cpu;
/// use spmv_exec::Device;
/// use spmv_hetero::Sides;
/// let cores = || Ok(Device::new(Cpu::open(Default::default())?)?);
/// // The cores also as the device, for want of another.
/// let sides = Sides::new(cores()?, 1, cores)?;
/// assert_eq!(sides.beside().caps().compute_units, 1);
/// # Ok::<(), spmv_exec::Error>(())
/// ```
#[derive(Debug)]
pub struct Sides<B: Backend, C: Backend> {
    device: Device<B>,
    alone: Device<C>,
    beside: Device<C>,
    pool: Arc<ThreadPool>,
}

impl<B: Backend, C: Backend> Clone for Sides<B, C> {
    fn clone(&self) -> Self {
        let Self { device, alone, beside, pool } = self;
        Self { device: device.clone(), alone: alone.clone(), beside: beside.clone(), pool: Arc::clone(pool) }
    }
}

impl<B: Backend, C: Backend> Sides<B, C> {
    /// Starts a pool of so many threads for what the cores do while the device works, and opens the cores twice: in the pool, and
    /// where it is called, for what they do alone. `open` must open them with the threads of the pool it is called in.
    ///
    /// # Errors
    /// What `open` returns, and [`Unavailable`](spmv_backend::Error::Unavailable) if threads cannot be started.
    pub fn new(
        device: Device<B>,
        threads: usize,
        open: impl Fn() -> Result<Device<C>> + Sync,
    ) -> Result<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build().map_err(|e| {
            let reason = format!("no threads: {e}");
            Error::Device(spmv_backend::Error::Unavailable { backend: C::NAME.into(), reason })
        })?;
        let (alone, beside) = (open()?, pool.install(&open)?);
        Ok(Self { device, alone, beside, pool: Arc::new(pool) })
    }

    /// The device.
    pub fn device(&self) -> &Device<B> {
        &self.device
    }

    /// The cores without the device: all of them.
    pub fn alone(&self) -> &Device<C> {
        &self.alone
    }

    /// The cores while the device works.
    pub fn beside(&self) -> &Device<C> {
        &self.beside
    }

    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}
