//! What a process does that was forked off another.
//!
//! A fork copies the calling thread alone. The pool that products run in has no threads in the child, so a product there would wait for
//! ever; and drivers of GPUs do not survive a fork. So in a child the host's products run in a pool that the child starts, and
//! what the parent opened on a GPU is refused.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::SpmvError;

/// How many forks lie between this process and the one that loaded the module.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The pool of a child, with its generation. Leaked, because a thread of a pool that a fork copied cannot be joined.
static POOL: Mutex<Option<(u64, &'static ThreadPool)>> = Mutex::new(None);

/// Python calls this in every child of a fork.
#[pyfunction]
#[pyo3(name = "_after_fork")]
pub(crate) fn after_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Where something was opened, and whether it can be used after a fork.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub(crate) generation: u64,
    /// Whether it has no threads and no driver of its own.
    pub(crate) survives: bool,
}

impl Birth {
    /// Runs what multiplies or prepares, in a pool that is alive.
    pub(crate) fn run<R: Send>(self, f: impl FnOnce() -> R + Send) -> PyResult<R> {
        let now = generation();
        if now == 0 {
            return Ok(f());
        }
        if now != self.generation && !self.survives {
            return Err(SpmvError::new_err(
                "the device was opened before this process was forked; open it in the child, or start processes by 'spawn'",
            ));
        }
        Ok(pool(now)?.install(f))
    }
}

/// What is on a device. In a child that cannot use it any more it is never dropped: a driver without its threads would wait for ever.
#[derive(Debug)]
pub(crate) struct On<T> {
    value: Option<T>,
    birth: Birth,
}

impl<T> On<T> {
    pub(crate) fn new(value: T, birth: Birth) -> Self {
        Self { value: Some(value), birth }
    }
}

impl<T> Deref for On<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("taken by `drop` alone")
    }
}

impl<T> DerefMut for On<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("taken by `drop` alone")
    }
}

impl<T> Drop for On<T> {
    fn drop(&mut self) {
        if !self.birth.survives && self.birth.generation != generation() {
            std::mem::forget(self.value.take());
        }
    }
}

fn pool(generation: u64) -> PyResult<&'static ThreadPool> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *slot {
        Some((of, pool)) if of == generation => Ok(pool),
        _ => {
            let pool = ThreadPoolBuilder::new().build().map_err(|e| SpmvError::new_err(e.to_string()))?;
            let pool: &'static ThreadPool = Box::leak(Box::new(pool));
            *slot = Some((generation, pool));
            Ok(pool)
        }
    }
}
