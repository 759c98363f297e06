//! Where vectors and matrices come from.

use std::sync::{Arc, Mutex, PoisonError};

use spmv_exec::DeviceScalar;

use crate::backend::BackendKind;
use crate::erased::{AnyDevice, Kept, Number};
use crate::erased_matrix::Mismatch;
use crate::erased_queue::AnyQueue;
use crate::error::Result;

/// A device, and queues for operations that wait at once: one for each thread that ever did so at the same time.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) backend: BackendKind,
    pub(crate) device: Arc<dyn AnyDevice>,
    idle: Mutex<Vec<Ready>>,
}

/// A queue, and the scalars that its operations leave results in, once there is one.
#[derive(Debug)]
struct Ready {
    queue: Box<dyn AnyQueue>,
    kept: Kept,
}

impl Origin {
    pub(crate) fn of(backend: BackendKind, device: Arc<dyn AnyDevice>) -> Arc<Self> {
        Arc::new(Self { backend, device, idle: Mutex::default() })
    }

    /// An operation that is over when this returns.
    pub(crate) fn run(
        &self,
        op: impl FnOnce(&mut dyn AnyQueue) -> std::result::Result<(), Mismatch>,
    ) -> Result<()> {
        self.with(|ready| {
            op(&mut *ready.queue)?;
            Ok(ready.queue.wait()?)
        })
    }

    /// What an operation leaves in a scalar.
    pub(crate) fn result<A: Number>(
        &self,
        op: impl FnOnce(&mut dyn AnyQueue, DeviceScalar<A>) -> std::result::Result<(), Mismatch>,
    ) -> Result<A> {
        self.with(|Ready { queue, kept }| {
            let to = match A::kept(kept) {
                Some(to) => *to,
                none => *none.insert(A::vectors(&mut **queue).scalar()?),
            };
            op(&mut **queue, to)?;
            let mut value = [A::zero()];
            A::vectors(&mut **queue).read_scalars(&[to], &mut value)?;
            Ok(value[0])
        })
    }

    fn with<R>(&self, op: impl FnOnce(&mut Ready) -> Result<R>) -> Result<R> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut ready = match taken {
            Some(ready) => ready,
            None => Ready { queue: self.device.queue()?, kept: Kept::default() },
        };
        let result = op(&mut ready);
        idle().push(ready);
        result
    }
}
