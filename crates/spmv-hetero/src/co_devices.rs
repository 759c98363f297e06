//! The device and the cores.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use spmv_backend::Backend;
use spmv_exec::{Device, Error, Result};

/// A device, and the cores of its host: all of them, and those that work while the device does, in a pool of their own.
///
/// ```
/// use spmv_cpu::Cpu;
/// use spmv_exec::Device;
/// use spmv_hetero::CoDevices;
/// let cores = || Ok(Device::new(Cpu::open(Default::default())?)?);
/// // The cores also as the device, for want of another.
/// let devices = CoDevices::new(cores()?, 1, cores)?;
/// assert_eq!(devices.sharing().caps().compute_units, 1);
/// # Ok::<(), spmv_exec::Error>(())
/// ```
#[derive(Debug)]
pub struct CoDevices<B: Backend, C: Backend> {
    device: Device<B>,
    alone: Device<C>,
    sharing: Device<C>,
    pool: Arc<ThreadPool>,
}

impl<B: Backend, C: Backend> Clone for CoDevices<B, C> {
    fn clone(&self) -> Self {
        let Self { device, alone, sharing, pool } = self;
        Self {
            device: device.clone(),
            alone: alone.clone(),
            sharing: sharing.clone(),
            pool: Arc::clone(pool),
        }
    }
}

impl<B: Backend, C: Backend> CoDevices<B, C> {
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
        let (alone, sharing) = (open()?, pool.install(&open)?);
        Ok(Self { device, alone, sharing, pool: Arc::new(pool) })
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
    pub fn sharing(&self) -> &Device<C> {
        &self.sharing
    }

    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}
