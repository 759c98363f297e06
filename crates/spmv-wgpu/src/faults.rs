//! What the driver says is wrong, whenever it says so.

use std::sync::{Mutex, MutexGuard, PoisonError};

use spmv_backend::{Error, Result};

/// A device that cannot be had, and why.
pub(crate) fn unavailable(reason: impl Into<String>) -> Error {
    Error::Unavailable { backend: "wgpu".into(), reason: reason.into() }
}

/// What a mutex holds, after a panic of another thread too.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where callbacks of a device leave what they are told.
#[derive(Debug)]
pub(crate) struct Faults {
    device: String,
    lost: Mutex<Option<String>>,
    /// The last error outside of any scope, and how many there were: whose it is, nobody knows, so every stream reports it.
    stray: Mutex<(u64, Option<Error>)>,
}

impl Faults {
    pub(crate) fn new(device: &str) -> Self {
        Self { device: device.to_owned(), lost: Mutex::default(), stray: Mutex::default() }
    }

    /// For the callback of a lost device.
    pub(crate) fn lost(&self, detail: String) {
        locked(&self.lost).get_or_insert(detail);
    }

    /// For the callback of errors outside of any scope.
    pub(crate) fn uncaptured(&self, error: &wgpu::Error) {
        let error = self.of("kernel", error, 0);
        let mut stray = locked(&self.stray);
        *stray = (stray.0 + 1, Some(error));
    }

    /// The typed error for what a scope caught, or for what went unnoticed.
    pub(crate) fn of(&self, kernel: &str, error: &wgpu::Error, bytes: u64) -> Error {
        let device = self.device.clone();
        if let Err(lost) = self.check() {
            return lost;
        }
        match error {
            wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { device, bytes },
            other => Error::Launch { device, kernel: kernel.to_owned(), detail: other.to_string() },
        }
    }

    /// Whether the device is still there.
    pub(crate) fn check(&self) -> Result<()> {
        match &*locked(&self.lost) {
            Some(detail) => Err(Error::DeviceLost { device: self.device.clone(), detail: detail.clone() }),
            None => Ok(()),
        }
    }

    /// Errors outside of any scope so far.
    pub(crate) fn n_stray(&self) -> u64 {
        locked(&self.stray).0
    }

    /// The last such error, if there are more than a stream has `seen`.
    pub(crate) fn stray_since(&self, seen: &mut u64) -> Result<()> {
        let (n, error) = &*locked(&self.stray);
        let is_new = *n > std::mem::replace(seen, *n);
        error.clone().filter(|_| is_new).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> wgpu::Error {
        wgpu::Error::OutOfMemory { source: "full".into() }
    }

    #[test]
    fn full_memory_a_failed_launch_and_a_lost_device_are_told_apart() {
        let faults = Faults::new("d");
        assert_eq!(faults.of("k", &memory(), 7), Error::OutOfMemory { device: "d".into(), bytes: 7 });
        let other = wgpu::Error::Validation { source: "no".into(), description: "no such thing".into() };
        assert!(matches!(faults.of("k", &other, 0), Error::Launch { kernel, .. } if kernel == "k"));
        faults.uncaptured(&other);
        assert_eq!(faults.check(), Ok(()), "the device is still there");
        for mut seen in [0, 0] {
            assert!(matches!(faults.stray_since(&mut seen), Err(Error::Launch { .. })), "every stream");
            assert_eq!(faults.stray_since(&mut seen), Ok(()), "once");
        }
        faults.lost("gone".into());
        for _ in 0..2 {
            assert!(matches!(faults.check(), Err(Error::DeviceLost { .. })));
        }
        assert!(matches!(faults.of("k", &memory(), 7), Error::DeviceLost { .. }));
    }
}
