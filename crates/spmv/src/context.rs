//! Picking a backend at run time.

use std::sync::Arc;

use spmv_backend::DeviceCaps;
#[cfg(any(feature = "opencl", feature = "wgpu"))]
use spmv_backend::DeviceKind;
use spmv_core::{CsrView, Dtype, Offset};
use spmv_exec::{Options, Plan, Profile};
use spmv_hetero::Steering;

use crate::backend::{BackendKind, Tried};
use crate::device::open;
use crate::erased::{Element, Opened, Scalar};
use crate::error::{Error, Result};
use crate::origin::Origin;
use crate::vector::Vector;

/// A backend, and how its devices are opened.
#[derive(Clone, Copy)]
struct Entry {
    kind: BackendKind,
    n_devices: fn() -> spmv_backend::Result<usize>,
    open: fn(usize) -> Opened,
    /// Why [`Context::auto`] leaves a device alone that could be opened.
    passes: fn(&DeviceCaps) -> Option<&'static str>,
}

/// Every backend in the order of probing; device 0 is its best.
const BACKENDS: &[Entry] = &[
    #[cfg(feature = "cuda")]
    Entry {
        kind: BackendKind::Cuda,
        n_devices: || match spmv_cuda::Options::from_env()?.device {
            Some(_) => Ok(1),
            None => Ok(spmv_cuda::devices()?.len()),
        },
        open: |i| {
            let mut options = spmv_cuda::Options::from_env()?;
            options.device.get_or_insert_with(|| i.to_string());
            open(spmv_cuda::Cuda::open(options))
        },
        passes: |_| None,
    },
    #[cfg(feature = "opencl")]
    Entry {
        kind: BackendKind::OpenCl,
        n_devices: || match spmv_opencl::Options::from_env()?.device {
            Some(_) => Ok(1),
            None => Ok(spmv_opencl::devices()?.len()),
        },
        open: |i| {
            let mut options = spmv_opencl::Options::from_env()?;
            options.device.get_or_insert_with(|| i.to_string());
            open(spmv_opencl::OpenCl::open(options))
        },
        passes: |caps| {
            let reason = "a CPU, which the cpu backend uses better; name opencl to use it";
            (caps.kind == DeviceKind::Cpu).then_some(reason)
        },
    },
    #[cfg(feature = "wgpu")]
    Entry {
        kind: BackendKind::Wgpu,
        n_devices: || match spmv_wgpu::Options::from_env()?.device {
            Some(_) => Ok(1),
            None => Ok(spmv_wgpu::devices()?.len()),
        },
        open: |i| {
            let mut options = spmv_wgpu::Options::from_env()?;
            options.device.get_or_insert_with(|| i.to_string());
            open(spmv_wgpu::Wgpu::open(options))
        },
        passes: |caps| {
            let reason = "a CPU, which the cpu backend uses better; name wgpu to use it";
            (caps.kind == DeviceKind::Cpu).then_some(reason)
        },
    },
    Entry {
        kind: BackendKind::Cpu,
        n_devices: || Ok(1),
        open: |_| open(spmv_cpu::Cpu::open(Default::default())),
        passes: |_| None,
    },
];

fn entry(backend: BackendKind) -> &'static Entry {
    BACKENDS.iter().find(|entry| entry.kind == backend).expect("every backend has an entry")
}

/// The backend that `SPMV_BACKEND` names.
fn asked() -> Result<Option<BackendKind>> {
    let name = spmv_backend::env::set("SPMV_BACKEND");
    Ok(name.map(|name| name.parse()).transpose()?)
}

/// The predicted time, if it is by a profile of this very device.
fn measured(profile: Option<&Profile>, plan: &Plan) -> Option<f64> {
    plan.seconds().filter(|_| profile.is_some_and(|profile| !profile.is_built_in()))
}

/// The one with the least time; one without stands where no earlier one does, and then to the end.
fn fastest<C>(planned: Vec<(C, Option<f64>)>) -> Option<C> {
    let wins = |new: Option<f64>, old: Option<f64>| new.zip(old).is_some_and(|(new, old)| new < old);
    planned.into_iter().reduce(|best, next| if wins(next.1, best.1) { next } else { best }).map(|(c, _)| c)
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
    pub(crate) origin: Arc<Origin>,
    profile_problem: Option<String>,
    tried: Vec<Tried>,
}

impl Context {
    /// Opens the best device of the backend that `SPMV_BACKEND` names, or else of the first that opens: a
    /// GPU if there is one, else the CPU.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason of each, [`Error::UnknownBackend`]. A backend that was named
    /// is never replaced by another.
    pub fn auto() -> Result<Self> {
        asked()?.map_or_else(|| Self::probe(BACKENDS), Self::with)
    }

    /// Opens the best device of one backend.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason.
    pub fn with(backend: BackendKind) -> Result<Self> {
        Self::probe(&[Entry { passes: |_| None, ..*entry(backend) }])
    }

    /// Opens the best device apart from the cores of the CPU, of the backend that `SPMV_BACKEND` names or else of the first that
    /// opens, with [the host's cores](Self::with_host_cores).
    ///
    /// ```
    /// use spmv::{Context, Csr};
    /// let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// match Context::hetero() {
    ///     Ok(context) => {
    ///         let a = context.prepare(&a)?;
    ///         println!("{}", a.explain());
    ///         assert_eq!(a.multiply(&[1.0, 10.0])?, [20.0, 3.0]);
    ///     }
    ///     Err(e) => println!("{e}"),
    /// }
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`auto`](Self::auto); [`Error::NoBackend`] also if the cores are all there is.
    pub fn hetero() -> Result<Self> {
        let asked = asked()?;
        let is_asked_for = |entry: &&Entry| asked.is_none_or(|backend| entry.kind == backend);
        let (mut entries, mut tried) = (Vec::new(), Vec::new());
        for entry in BACKENDS.iter().filter(is_asked_for) {
            if entry.kind == BackendKind::Cpu {
                let reason = "these are the cores; they need a device to work with".into();
                tried.push(Tried::new(entry.kind, reason));
                continue;
            }
            let passes = if asked.is_some() { |_: &DeviceCaps| None } else { entry.passes };
            entries.push(Entry { passes, ..*entry });
        }
        match Self::probe(&entries) {
            Ok(context) => context.with_host_cores(),
            Err(Error::NoBackend { tried: before }) => {
                tried.splice(0..0, before);
                Err(Error::NoBackend { tried })
            }
            Err(e) => Err(e),
        }
    }

    /// The same device together with the cores of the CPU: all but one, which waits for the device (Tan et al. 2019).
    ///
    /// Each matrix is split into a device share and a host share, or goes whole to the faster one where both together gain
    /// nothing; [`Matrix::explain`](crate::Matrix::explain) says which and why. To find the split, [`prepare`](Self::prepare) runs some 20
    /// of them ([`Steering::runs`]), after models that `cargo xtask train` keeps if there are any. It takes two seconds for that
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
        Ok(Self { origin: Origin::of(self.backend(), device), profile_problem, ..self.clone() })
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
    /// use spmv::{BackendKind, Context, Csr, Steering};
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
        let device = self.origin.device.steered(steering).unwrap_or_else(|| Arc::clone(&self.origin.device));
        Self { origin: Origin::of(self.backend(), device), ..self.clone() }
    }

    /// Opens the devices that [`auto`](Self::auto) would take and picks the one that is predicted to multiply this matrix
    /// the fastest, vectors being on the device already. Times are by the device's timestamps, so that of a GPU leaves out what its
    /// caller waits besides. A device that was not fitted is taken in the order of probing: it neither wins over an earlier
    /// one nor loses to a later. Opens every device, and reads the matrix for each as [`plan`](Self::plan) does.
    ///
    /// ```
    /// use spmv::{Context, Csr, Options};
    /// let a = Csr::from_coo(1, 1, &[(0, 0, 2.0f64)])?;
    /// let context = Context::fastest_for(&a, &Options::default())?;
    /// assert_eq!(context.prepare(&a)?.multiply(&[3.0])?, [6.0]);
    /// # Ok::<(), spmv::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason of each, also of those that cannot hold or compute the matrix;
    /// [`Error::UnknownBackend`].
    pub fn fastest_for<'a, T: Scalar, O: Offset>(
        a: impl Into<CsrView<'a, T, O>>,
        options: &Options,
    ) -> Result<Self> {
        let (a, asked) = (a.into(), asked()?);
        let backends = asked.as_ref().map_or(&BackendKind::ALL[..], std::slice::from_ref);
        let (contexts, mut tried) = Self::every(backends);
        let mut planned = Vec::new();
        for context in contexts {
            let (backend, caps) = (context.backend(), context.caps());
            let passed_over = (entry(backend).passes)(caps).filter(|_| asked.is_none()).map(str::to_owned);
            let plan = passed_over.map_or_else(|| context.plan(a, options).map_err(|e| e.to_string()), Err);
            match plan {
                Ok(plan) => {
                    let seconds = measured(context.profile(T::DTYPE), &plan);
                    planned.push((context, seconds));
                }
                Err(reason) => {
                    let reason = format!("{}: {reason}", caps.name);
                    tried.push(Tried { backend, reason });
                }
            }
        }
        match fastest(planned) {
            Some(context) => Ok(Self { tried, ..context }),
            None => Err(Error::NoBackend { tried }),
        }
    }

    /// Opens every device of the given backends (only the one that `SPMV_CUDA_DEVICE`, `SPMV_OPENCL_DEVICE` or
    /// `SPMV_WGPU_DEVICE` names, if it is set), and says what could not be opened and why.
    ///
    /// ```
    /// use spmv::{BackendKind, Context};
    /// let (contexts, tried) = Context::every(&BackendKind::ALL);
    /// for context in &contexts {
    ///     println!("{}: {}", context.backend(), context.caps().name);
    /// }
    /// for tried in &tried {
    ///     println!("{}: {}", tried.backend, tried.reason);
    /// }
    /// assert!(!contexts.is_empty());
    /// ```
    pub fn every(backends: &[BackendKind]) -> (Vec<Self>, Vec<Tried>) {
        let (mut contexts, mut all_tried) = (Vec::new(), Vec::new());
        for entry in BACKENDS.iter().filter(|entry| backends.contains(&entry.kind)) {
            let backend = entry.kind;
            let mut tried = |reason: String| all_tried.push(Tried::new(backend, reason));
            match (entry.n_devices)() {
                Err(e) => tried(e.to_string()),
                Ok(n) => {
                    for i in 0..n {
                        match (entry.open)(i) {
                            Ok((device, profile_problem)) => {
                                let origin = Origin::of(backend, device);
                                contexts.push(Self { origin, profile_problem, tried: vec![] });
                            }
                            Err(e) => tried(e.to_string()),
                        }
                    }
                }
            }
        }
        (contexts, all_tried)
    }

    fn probe(backends: &[Entry]) -> Result<Self> {
        let mut tried = Vec::new();
        for entry in backends {
            let backend = entry.kind;
            let n_devices = match (entry.n_devices)() {
                Ok(n) => n,
                Err(e) => {
                    tried.push(Tried::new(backend, e.to_string()));
                    continue;
                }
            };
            for i in 0..n_devices {
                let reason = match (entry.open)(i) {
                    Err(e) => e.to_string(),
                    Ok((device, profile_problem)) => match (entry.passes)(device.caps()) {
                        None => {
                            return Ok(Self { origin: Origin::of(backend, device), profile_problem, tried });
                        }
                        Some(reason) => format!("{}: {reason}", device.caps().name),
                    },
                };
                tried.push(Tried::new(backend, reason));
            }
        }
        Err(Error::NoBackend { tried })
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

    /// What [`prepare_with`](Self::prepare_with) would run, and the time that is predicted for it if there is a profile;
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

    /// Why the profile that was kept for the device is not used, if there is one: it is damaged, or of another driver,
    /// processor or version. `cargo xtask fit` makes it anew. In co-execution the same of models, which
    /// `cargo xtask train` makes.
    pub fn profile_problem(&self) -> Option<&str> {
        self.profile_problem.as_deref()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(reason: &'static str) -> Opened {
        Err(spmv_backend::Error::Unavailable { backend: "cpu".into(), reason: reason.into() }.into())
    }

    const CPU: Entry = BACKENDS[BACKENDS.len() - 1];
    const NO_DRIVER: Entry = Entry { open: |_| closed("no driver"), ..CPU };
    const NO_DEVICE: Entry = Entry { open: |_| closed("no device"), ..CPU };

    #[test]
    fn every_backend_has_an_entry_in_the_order_of_names() {
        assert!(BACKENDS.iter().map(|entry| entry.kind).eq(BackendKind::ALL));
    }

    #[test]
    fn every_backend_that_was_tried_is_named_with_its_reason() {
        let e = Context::probe(&[NO_DRIVER, NO_DEVICE]).unwrap_err();
        assert_eq!(e.to_string(), "no backend can be opened: cpu: no driver; cpu: no device;");
    }

    #[test]
    fn a_backend_that_fails_is_passed_over_and_remembered() {
        let context = Context::probe(&[NO_DRIVER, CPU]).unwrap();
        assert_eq!(context.tried().len(), 1);
    }

    #[test]
    fn a_device_that_auto_leaves_alone_is_opened_by_name() {
        let shy = Entry { passes: |_| Some("not unasked"), ..CPU };
        let context = Context::probe(&[shy, CPU]).unwrap();
        assert!(context.tried()[0].reason.ends_with(": not unasked"), "{:?}", context.tried());
        assert!(Context::probe(&[shy]).is_err());
    }

    #[test]
    fn the_least_time_wins_but_not_over_an_earlier_device_without_one() {
        let of = |seconds: &[Option<f64>]| fastest(seconds.iter().copied().enumerate().collect());
        assert_eq!(of(&[Some(3.0), None, Some(2.0), Some(2.5)]), Some(2));
        assert_eq!(of(&[None, Some(1.0)]), Some(0));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn times_of_another_processor_do_not_count() {
        let context = Context::probe(&[CPU]).unwrap();
        let a = spmv_core::Csr::from_coo(1, 1, &[(0, 0, 2.0f64)]).unwrap();
        let built_in = Profile::cpu();
        let stats = spmv_core::MatrixStats::of(a.view());
        let plan =
            spmv_exec::plan(stats, Dtype::F64, context.caps(), Some(built_in), &Options::default()).unwrap();
        assert!(plan.seconds().is_some());
        assert_eq!(measured(Some(built_in), &plan), None);
        let mut fitted = Profile::new(context.caps());
        fitted.rates = built_in.rates.clone();
        assert_eq!(measured(Some(&fitted), &plan), plan.seconds());
        assert_eq!(measured(None, &plan), None);
    }
}
