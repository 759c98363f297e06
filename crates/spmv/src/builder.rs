//! Opening devices: by wishes, by the environment, by what a matrix would take.

use std::path::PathBuf;

use spmv_backend::DeviceCaps;
use spmv_core::{CsrView, Offset};
use spmv_exec::{Options, Plan, Profile};

use crate::backend::{BackendKind, Memory, Tried};
use crate::context::Context;
use crate::entries::{BACKENDS, Entry, Wish, entry};
use crate::erased::Scalar;
use crate::error::{Error, Result};

/// What to open. Whatever is not asked for, the environment says (`SPMV_BACKEND`, `SPMV_CUDA_DEVICE`, `SPMV_CUDA_MEMORY` and their
/// like, `SPMV_PROFILES`); what is asked for wins over it.
///
/// ```
/// use spmv::{BackendKind, Context, Csr, Error};
/// let context = Context::builder().backend(BackendKind::Cpu).threads(2).build()?;
/// assert_eq!(context.caps().compute_units, 2);
/// // The first of several that opens, and why others do not.
/// let context = Context::builder().backends(&BackendKind::ALL).build()?;
/// context.tried().iter().for_each(|tried| println!("{}: {}", tried.backend, tried.reason));
/// // By a part of its name, in any case of letters.
/// match Context::builder().device("no such device").build() {
///     Err(Error::NoBackend { tried }) => assert_eq!(tried.len(), BackendKind::ALL.len()),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "opens nothing before `build`"]
pub struct ContextBuilder {
    backends: Vec<BackendKind>,
    wish: Wish,
}

impl ContextBuilder {
    /// Asks for a backend; where there are several calls, in the order of preference. None
    /// that was not asked for is taken instead.
    pub fn backend(self, backend: BackendKind) -> Self {
        self.backends(&[backend])
    }

    /// Asks for backends in the order of preference, after those that were asked for before.
    pub fn backends(mut self, backends: &[BackendKind]) -> Self {
        self.backends.extend(backends);
        self
    }

    /// Asks for a device: its index among those of the backend, or part of its name in any case of letters. A device that is
    /// named is not passed over for being a CPU. An index means another device on each backend, so name the backend too.
    pub fn device(mut self, device: impl ToString) -> Self {
        self.wish.device = Some(device.to_string());
        self
    }

    /// Asks for a kind of memory. Backends that do not know it do not open.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.wish.memory = Some(memory);
        self
    }

    /// Threads of the cpu backend, in a pool of its own; without this it uses rayon's. Other backends do not care.
    pub fn threads(mut self, threads: usize) -> Self {
        self.wish.threads = Some(threads);
        self
    }

    /// The folder with the profiles that plans follow, instead of that of `SPMV_PROFILES` or the user's. What
    /// [`with_host_cores`](Context::with_host_cores) adds is looked for there as before.
    pub fn profiles(mut self, folder: impl Into<PathBuf>) -> Self {
        self.wish.profiles = Some(folder.into());
        self
    }

    /// Opens the first device that there is: of the backends asked for, or of that which `SPMV_BACKEND` names, or of all, and then
    /// one that is no CPU before the cpu backend.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason of each, be it the machine's or that a backend has no such device, memory or number of
    /// threads; [`Error::UnknownBackend`].
    pub fn build(self) -> Result<Context> {
        let Self { mut backends, wish } = self;
        if backends.is_empty() {
            backends.extend(asked()?);
        }
        let named = |kind: &BackendKind| Entry { passes: |_| None, ..*entry(*kind) };
        match (backends.is_empty(), &wish.device) {
            (true, None) => probe(BACKENDS, &wish),
            (true, Some(_)) => probe(&BackendKind::ALL.each_ref().map(named), &wish),
            (false, _) => probe(&backends.iter().map(named).collect::<Vec<_>>(), &wish),
        }
    }
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

/// The first device that opens and is not passed over.
fn probe(backends: &[Entry], wish: &Wish) -> Result<Context> {
    let mut tried = Vec::new();
    for entry in backends {
        let backend = entry.kind;
        let n_devices = match (entry.n_devices)(wish) {
            Ok(n) => n,
            Err(e) => {
                tried.push(Tried::new(backend, e.to_string()));
                continue;
            }
        };
        for i in 0..n_devices {
            let reason = match (entry.open)(wish, i) {
                Err(e) => e.to_string(),
                Ok((device, profile_problem)) => match (entry.passes)(device.caps()) {
                    None => {
                        let folder = wish.profiles.clone();
                        return Ok(Context::of(backend, device, profile_problem, folder, tried));
                    }
                    Some(reason) => format!("{}: {reason}", device.caps().name),
                },
            };
            tried.push(Tried::new(backend, reason));
        }
    }
    Err(Error::NoBackend { tried })
}

impl Context {
    /// Says what to open, and opens it with [`build`](ContextBuilder::build).
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Opens the best device of the backend that `SPMV_BACKEND` names, or else of the first that opens: a
    /// GPU if there is one, else the CPU.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason of each, [`Error::UnknownBackend`]. A backend that was named
    /// is never replaced by another.
    pub fn auto() -> Result<Self> {
        Self::builder().build()
    }

    /// Opens the best device of one backend.
    ///
    /// # Errors
    /// [`Error::NoBackend`] with the reason.
    pub fn with(backend: BackendKind) -> Result<Self> {
        Self::builder().backend(backend).build()
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
        match probe(&entries, &Wish::default()) {
            Ok(context) => context.with_host_cores(),
            Err(Error::NoBackend { tried: before }) => {
                tried.splice(0..0, before);
                Err(Error::NoBackend { tried })
            }
            Err(e) => Err(e),
        }
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
            Some(context) => Ok(context.with_tried(tried)),
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
        let wish = &Wish::default();
        let (mut contexts, mut all_tried) = (Vec::new(), Vec::new());
        for entry in BACKENDS.iter().filter(|entry| backends.contains(&entry.kind)) {
            let backend = entry.kind;
            let mut tried = |reason: String| all_tried.push(Tried::new(backend, reason));
            match (entry.n_devices)(wish) {
                Err(e) => tried(e.to_string()),
                Ok(n) => {
                    for i in 0..n {
                        match (entry.open)(wish, i) {
                            Ok((device, profile_problem)) => {
                                contexts.push(Self::of(backend, device, profile_problem, None, vec![]));
                            }
                            Err(e) => tried(e.to_string()),
                        }
                    }
                }
            }
        }
        (contexts, all_tried)
    }
}

#[cfg(test)]
mod tests {
    use spmv_core::Dtype;

    use super::*;
    use crate::erased::Opened;

    fn closed(reason: &'static str) -> Opened {
        Err(spmv_backend::Error::Unavailable { backend: "cpu".into(), reason: reason.into() }.into())
    }

    const CPU: Entry = BACKENDS[0];
    const NO_DRIVER: Entry = Entry { open: |_, _| closed("no driver"), ..CPU };
    const NO_DEVICE: Entry = Entry { open: |_, _| closed("no device"), ..CPU };

    #[test]
    fn every_backend_that_was_tried_is_named_with_its_reason() {
        let e = probe(&[NO_DRIVER, NO_DEVICE], &Wish::default()).unwrap_err();
        assert_eq!(e.to_string(), "no backend can be opened: cpu: no driver; cpu: no device;");
    }

    #[test]
    fn a_backend_that_fails_is_passed_over_and_remembered() {
        let context = probe(&[NO_DRIVER, CPU], &Wish::default()).unwrap();
        assert_eq!(context.tried().len(), 1);
    }

    #[test]
    fn a_device_that_auto_leaves_alone_is_opened_by_name() {
        let shy = Entry { passes: |_| Some("not unasked"), ..CPU };
        let context = probe(&[shy, CPU], &Wish::default()).unwrap();
        assert!(context.tried()[0].reason.ends_with(": not unasked"), "{:?}", context.tried());
        assert!(probe(&[shy], &Wish::default()).is_err());
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
        let context = probe(&[CPU], &Wish::default()).unwrap();
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
