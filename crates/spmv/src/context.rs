//! A device that was opened, and what it is asked.

use std::path::PathBuf;
use std::sync::Arc;

use spmv_backend::DeviceCaps;
use spmv_core::{CsrView, Dtype, Offset};
use spmv_exec::{Options, Plan, Profile};
use spmv_hetero::Steering;

use crate::backend::{BackendKind, Tried};
use crate::erased::{AnyDevice, Element, Scalar};
use crate::error::Result;
use crate::origin::Origin;
use crate::vector::Vector;

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
    pub(crate) origin: Arc<Origin>,
    profile_problem: Option<String>,
    /// Where profiles are, if that was asked for.
    profiles: Option<PathBuf>,
    tried: Vec<Tried>,
}

impl Context {
    pub(crate) fn of(
        backend: BackendKind,
        device: Arc<dyn AnyDevice>,
        profile_problem: Option<String>,
        profiles: Option<PathBuf>,
        tried: Vec<Tried>,
    ) -> Self {
        Self { origin: Origin::of(backend, device), profile_problem, profiles, tried }
    }

    /// The same on another device of the backend.
    pub(crate) fn on(&self, device: Arc<dyn AnyDevice>) -> Self {
        Self { origin: Origin::of(self.backend(), device), ..self.clone() }
    }

    pub(crate) fn with_tried(self, tried: Vec<Tried>) -> Self {
        Self { tried, ..self }
    }

    /// The same device together with the cores of the CPU: all but one, which waits for the device (Tan et al. 2019).
    ///
    /// Each matrix is split into a device share and a host share, or goes whole to the faster one where both together gain
    /// nothing; [`Matrix::explain`](crate::Matrix::explain) says which and why. To find the split, [`prepare`](Self::prepare) runs some 20
    /// of them ([`Steering::runs`]), after models if there are any ([`Steering::models`]). It takes two seconds for that
    /// unless [`Steering::budget_s`] says otherwise, and then the best split so far. Vectors are the host's, and the
    /// parts of them that the device needs are copied in every multiplication unless its kernels reach the host's memory:
    /// iterations whose vectors never leave a discrete device are faster on it alone. [`plan`](Self::plan) says what the device
    /// alone would run. Options of [`prepare_with`](Self::prepare_with) are for the device's rows.
    /// A context of the cpu backend gets the host's cores too, the same ones, which is of use in tests alone.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn with_host_cores(&self) -> Result<Self> {
        let (device, profile_problem) = self.origin.device.with_host_cores()?;
        let profile_problem = self.profile_problem.clone().or(profile_problem);
        Ok(Self { profile_problem, ..self.on(device) })
    }

    /// The cores that work with the device, if there are any.
    pub fn cores(&self) -> Option<&DeviceCaps> {
        self.origin.device.cores()
    }

    /// How matrices are split, in co-execution.
    pub fn steering(&self) -> Option<&Steering> {
        self.origin.device.steering()
    }

    /// The same, with matrices split in another way. Without co-execution there is nothing to steer.
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr, hetero::Steering};
    /// let context = Context::with(BackendKind::Cpu)?.with_host_cores()?;
    /// // No time for a search: the faster of device and cores, by one run of each. Models stay as they are.
    /// let hasty = Steering { budget_s: 0.0, ..context.steering().cloned().unwrap_or_default() };
    /// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// let a = context.steered(hasty).prepare(&a)?;
    /// assert!(a.explain().contains("the search stopped at its budget of 0 s"));
    /// # Ok::<(), spmv::Error>(())
    /// ```
    #[must_use]
    pub fn steered(&self, steering: Steering) -> Self {
        self.on(self.origin.device.steered(steering).unwrap_or_else(|| Arc::clone(&self.origin.device)))
    }

    /// The backend that was picked.
    pub fn backend(&self) -> BackendKind {
        self.origin.backend
    }

    /// Devices that were probed before it and could not be opened, or were passed over, with the reason.
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// What the device says of itself.
    pub fn caps(&self) -> &DeviceCaps {
        self.origin.device.caps()
    }

    /// The narrowest type that holds each of these values exactly, for [`Options::values`]: nothing is rounded, and products read less. `None` if
    /// there is none, and for values that are no `f64`, which gain little. Cores take `f32` alone: few of their layouts are fast with
    /// 16 bits. Matrices of ones, stencils and small integers have such a type. O(values), up to the first that does not fit.
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr, Dtype, Options};
    /// let a = Csr::from_coo(2, 2, &[(0, 0, 4.0), (0, 1, -1.0), (1, 1, 4.0)])?;
    /// let context = Context::with(BackendKind::Cpu)?;
    /// let values = context.exact_values(a.vals());
    /// assert_eq!(values, Some(Dtype::F32));
    /// let a = context.prepare_with(&a, &Options { values, ..Options::default() })?;
    /// assert_eq!(a.multiply(&[1.0 / 3.0, 0.0])?, [4.0 / 3.0, 0.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    pub fn exact_values<T: Scalar>(&self, vals: &[T]) -> Option<Dtype> {
        spmv_exec::exact_values(vals, self.caps())
    }

    /// What [`prepare_with`](Self::prepare_with) would run without trials, and the time that is predicted for it if there is a profile;
    /// nothing is copied. O(rows), or O(entries) where there are few diagonals.
    ///
    /// ```
    /// use spmv::{BackendKind, Context, Csr, Options};
    /// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// let plan = Context::with(BackendKind::Cpu)?.plan(&a, &Options::default())?;
    /// println!("{:?} s: {}", plan.seconds(), plan.explain());
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prepare_with`](Self::prepare_with), but for memory, and for layouts that refuse the matrix.
    pub fn plan<'a, T: Scalar, O: Offset>(
        &self,
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Plan> {
        Ok(T::device(&*self.origin.device).plan(a.into().erase(), options)?)
    }

    /// The times that plans for values of a type follow on the device, if there are any.
    pub fn profile(&self, value: Dtype) -> Option<&Profile> {
        self.origin.device.profile(value)
    }

    /// Where the profile of the device is kept: in the folder that [`profiles`](crate::ContextBuilder::profiles) asked for, or that
    /// `SPMV_PROFILES` names, or else in the user's data folder; `None` if there is none. There need not be a file.
    ///
    /// ```
    /// use spmv::{BackendKind, Context};
    /// let context = Context::builder().backend(BackendKind::Cpu).profiles("here").build()?;
    /// assert!(context.profile_path().unwrap().starts_with("here"));
    /// # Ok::<(), spmv::Error>(())
    /// ```
    pub fn profile_path(&self) -> Option<PathBuf> {
        let (backend, caps) = (self.backend().name(), self.caps());
        match &self.profiles {
            Some(folder) => Some(Profile::path_in(folder, backend, caps)),
            None => Profile::path(backend, caps),
        }
    }

    /// Why the profile that was kept for the device is not used, if there is one: it is damaged, or of another driver,
    /// processor or version. `Context::fit` (feature `fit`) makes it anew. In co-execution the same of models. No function here
    /// trains these: they are for those who have them, and without them runs find the split ([`Steering::runs`]).
    pub fn profile_problem(&self) -> Option<&str> {
        self.profile_problem.as_deref()
    }

    /// The same device, whose plans follow a profile. In co-execution nothing changes.
    #[cfg(feature = "fit")]
    pub(crate) fn following(&self, profile: Profile) -> Self {
        let device = &self.origin.device;
        let device = device.following(profile).unwrap_or_else(|| Arc::clone(device));
        Self { profile_problem: None, ..self.on(device) }
    }

    /// A copy of `values` on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload<T: Element>(&self, values: &[T]) -> Result<Vector<T>> {
        let mut vector = self.zeros(values.len())?;
        vector.write(values)?;
        Ok(vector)
    }

    /// A vector of `len` zeros on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Vector<T>> {
        Vector::zeros(&self.origin, len)
    }
}
