//! Picking a backend at run time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use spmv_backend::DeviceCaps;
use spmv_core::{CsrView, Offset};
use spmv_exec::{Device, Options};

use crate::erased::{AnyDevice, Scalar};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::vector::Vector;

/// A backend of this build.
///
/// ```
/// use spmv::BackendKind;
/// assert_eq!("cpu".parse(), Ok(BackendKind::Cpu));
/// assert_eq!(BackendKind::Cpu.to_string(), "cpu");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendKind {
    /// CPU cores.
    Cpu,
}

/// Every backend in the order of probing, and how to open its best device.
const BACKENDS: [(BackendKind, Opener); 1] =
    [(BackendKind::Cpu, || open(spmv_cpu::Cpu::open(Default::default())))];

type Opener = fn() -> spmv_exec::Result<Arc<dyn AnyDevice>>;

fn open<B: spmv_backend::Backend>(backend: spmv_backend::Result<B>) -> spmv_exec::Result<Arc<dyn AnyDevice>> {
    Ok(Arc::new(Device::new(backend?)?))
}

impl BackendKind {
    /// Every backend of this build, in the order of probing.
    pub const ALL: [BackendKind; BACKENDS.len()] = [BACKENDS[0].0];

    /// Lower-case name, as in `SPMV_BACKEND`.
    pub const fn name(self) -> &'static str {
        match self {
            BackendKind::Cpu => "cpu",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no backend of this build.
///
/// ```
/// use spmv::BackendKind;
/// let e = "abacus".parse::<BackendKind>().unwrap_err();
/// assert_eq!(e.to_string(), "unknown backend 'abacus'; this build has: cpu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown backend '{0}'; this build has: {known}", known = BackendKind::ALL.map(BackendKind::name).join(" "))]
pub struct UnknownBackend(String);

impl FromStr for BackendKind {
    type Err = UnknownBackend;

    fn from_str(s: &str) -> Result<Self, UnknownBackend> {
        BackendKind::ALL.into_iter().find(|b| b.name() == s).ok_or_else(|| UnknownBackend(s.to_owned()))
    }
}

/// A backend that could not be opened, and why.
///
/// ```
/// use spmv::{BackendKind, Tried};
/// let tried = Tried { backend: BackendKind::Cpu, reason: "no threads".into() };
/// assert_eq!(tried.backend.name(), "cpu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The backend.
    pub backend: BackendKind,
    /// What its driver or the system said.
    pub reason: String,
}

/// An opened device of the backend that was picked.
///
/// ```
/// use spmv::{BackendKind, Context};
/// let context = Context::with(BackendKind::Cpu)?;
/// assert_eq!(context.backend(), BackendKind::Cpu);
/// println!("{}", context.caps().name);
/// # Ok::<(), spmv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    backend: BackendKind,
    device: Arc<dyn AnyDevice>,
    tried: Vec<Tried>,
}

impl Context {
    /// Opens the backend that `SPMV_BACKEND` names, or else the first that opens.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason of each, [`Error::UnknownBackend`]. A backend that was named
    /// is never replaced by another.
    pub fn auto() -> Result<Self> {
        match std::env::var("SPMV_BACKEND") {
            Ok(name) if !name.is_empty() => Self::with(name.parse()?),
            _ => Self::probe(&BACKENDS),
        }
    }

    /// Opens one backend.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason.
    pub fn with(backend: BackendKind) -> Result<Self> {
        let one = BACKENDS.iter().position(|b| b.0 == backend).map_or(&[][..], |i| &BACKENDS[i..=i]);
        Self::probe(one)
    }

    fn probe(backends: &[(BackendKind, Opener)]) -> Result<Self> {
        let mut tried = Vec::new();
        for &(backend, open) in backends {
            match open() {
                Ok(device) => return Ok(Self { backend, device, tried }),
                Err(e) => tried.push(Tried { backend, reason: e.to_string() }),
            }
        }
        Err(Error::NoBackend { tried })
    }

    /// The backend that was picked.
    pub fn backend(&self) -> BackendKind {
        self.backend
    }

    /// Backends that were probed before it and could not be opened.
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// What the device says of itself.
    pub fn caps(&self) -> &DeviceCaps {
        self.device.caps()
    }

    /// Copies a matrix to the device, laid out by the plan that is expected to be fastest.
    /// O(rows + entries).
    ///
    /// # Errors
    /// What the device cannot hold or compute, and out of memory.
    pub fn prepare<'a, T: Scalar, O: Offset>(&self, a: impl Into<CsrView<'a, T, O>>) -> Result<Matrix<T>> {
        self.prepare_with(a, &Options::default())
    }

    /// As [`prepare`](Self::prepare), with algorithm, tiling and place of repair chosen.
    ///
    /// ```
    /// use spmv::{Algorithm, Context, Csr, Options};
    /// let a = Csr::from_coo(1, 1, &[(0, 0, 2.0f64)])?;
    /// let options = Options { algorithm: Algorithm::SpeculativeSegmentedSum, ..Options::default() };
    /// let a = Context::auto()?.prepare_with(&a, &options)?;
    /// println!("{}", a.plan().explain());
    /// assert_eq!(a.multiply(&[3.0])?, [6.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare), and options that the device cannot follow.
    pub fn prepare_with<'a, T: Scalar, O: Offset>(
        &self,
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Matrix<T>> {
        let erased = T::device(&*self.device).prepare(a.into().erase(), options)?;
        Ok(Matrix::new(self.backend, erased))
    }

    /// A copy of `values` on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload<T: Scalar>(&self, values: &[T]) -> Result<Vector<T>> {
        let mut vector = self.zeros(values.len())?;
        vector.write(values)?;
        Ok(vector)
    }

    /// A vector of `len` zeros on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros<T: Scalar>(&self, len: usize) -> Result<Vector<T>> {
        Ok(Vector::new(T::device(&*self.device).zeros(len)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(reason: &'static str) -> spmv_exec::Result<Arc<dyn AnyDevice>> {
        Err(spmv_backend::Error::Unavailable { backend: "cpu".into(), reason: reason.into() }.into())
    }

    #[test]
    fn every_backend_that_was_tried_is_named_with_its_reason() {
        let probes: [(BackendKind, Opener); 2] =
            [(BackendKind::Cpu, || closed("no driver")), (BackendKind::Cpu, || closed("no device"))];
        let e = Context::probe(&probes).unwrap_err();
        assert_eq!(e.to_string(), "no backend can be opened: cpu: cpu: no driver; cpu: cpu: no device;");
    }

    #[test]
    fn a_backend_that_fails_is_passed_over_and_remembered() {
        let context = Context::probe(&[(BackendKind::Cpu, || closed("no driver")), BACKENDS[0]]).unwrap();
        assert_eq!(context.tried().len(), 1);
    }
}
