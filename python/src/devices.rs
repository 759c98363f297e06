//! Devices, opened once for a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use spmv::{BackendKind, Context, Dtype};

use crate::error::raise;
use crate::forks::{Birth, On, generation};

/// A device that was opened: a CPU or a GPU, by one of the backends.
///
/// `spmv.devices()` lists those of the machine, and `spmv.device('cuda:1')` opens one. Matrices are prepared on it with
/// `spmv.matrix(a, device=...)`.
#[pyclass(frozen, module = "spmv", from_py_object)]
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) context: Arc<On<Context>>,
    pub(crate) birth: Birth,
}

impl Device {
    fn of(context: Context, has_threads: bool) -> Self {
        let survives = context.backend() == BackendKind::Cpu && !has_threads;
        let birth = Birth { generation: generation(), survives };
        Self { context: Arc::new(On::new(context, birth)), birth }
    }
}

#[pymethods]
impl Device {
    /// `cpu`, `cuda`, `opencl` or `wgpu`.
    #[getter]
    fn backend(&self) -> String {
        self.context.backend().to_string()
    }

    /// What the driver calls it.
    #[getter]
    fn name(&self) -> &str {
        &self.context.caps().name
    }

    /// Cores, or multiprocessors.
    #[getter]
    fn compute_units(&self) -> u32 {
        self.context.caps().compute_units
    }

    /// Types that matrices on it may have: names of NumPy's, and `bfloat16`.
    #[getter]
    fn dtypes(&self) -> Vec<String> {
        let arithmetic = self.context.caps().arithmetic;
        Dtype::ALL.into_iter().filter(|dtype| arithmetic.contains(dtype.accum())).map(name_of).collect()
    }

    fn __repr__(&self) -> String {
        format!("<spmv.Device {}: {}>", self.context.backend(), self.context.caps().name)
    }
}

/// NumPy's name of a type; of the one that it lacks, what others call it.
pub(crate) fn name_of(dtype: Dtype) -> String {
    if dtype.is_complex() {
        return format!("complex{}", 8 * dtype.bytes());
    }
    dtype.name().replacen('f', "float", 1)
}

/// The type that NumPy calls so.
pub(crate) fn dtype_of(name: &str) -> PyResult<Dtype> {
    let known = || Dtype::ALL.map(name_of).join(", ");
    Dtype::ALL
        .into_iter()
        .find(|dtype| name_of(*dtype) == name)
        .ok_or_else(|| PyValueError::new_err(format!("unknown value type '{name}'; use one of {}", known())))
}

/// Every device of the machine that can be opened, GPUs first. `spmv.unavailable()` says why others cannot.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<Device> {
    let (contexts, _) = py.detach(|| Context::every(&BackendKind::ALL));
    contexts.into_iter().map(|context| Device::of(context, false)).collect()
}

/// Backends that have no device here, each with the reason.
#[pyfunction]
pub(crate) fn unavailable(py: Python<'_>) -> Vec<(String, String)> {
    let (_, tried) = py.detach(|| Context::every(&BackendKind::ALL));
    tried.into_iter().map(|tried| (tried.backend.to_string(), tried.reason)).collect()
}

/// Opens a device: `'cpu'`, `'cuda'`, `'cuda:1'`, `'opencl:intel'` (a part of its name) and their like. Without a name, the one that the
/// environment variable `SPMV_BACKEND` names, else a GPU if there is one, else the CPU.
///
/// `threads` is for the CPU: how many, in a pool of their own.
#[pyfunction]
#[pyo3(signature = (name=None, *, threads=None))]
pub(crate) fn device(py: Python<'_>, name: Option<&str>, threads: Option<usize>) -> PyResult<Device> {
    let mut builder = Context::builder();
    if let Some(name) = name {
        let (backend, which) = name.split_once(':').map_or((name, None), |(name, which)| (name, Some(which)));
        let backend: BackendKind = backend.parse().map_err(|e| raise(spmv::Error::from(e)))?;
        builder = builder.backend(backend);
        if let Some(which) = which {
            builder = builder.device(which);
        }
    }
    if let Some(threads) = threads {
        builder = builder.threads(threads);
    }
    let context = py.detach(|| builder.build()).map_err(raise)?;
    Ok(Device::of(context, threads.is_some()))
}

/// Devices by the names that they were asked for by, of this generation.
static OPENED: Mutex<Option<(u64, HashMap<String, Device>)>> = Mutex::new(None);

fn kept(key: &str) -> Option<Device> {
    match &*OPENED.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((of, devices)) if *of == generation() => devices.get(key).cloned(),
        _ => None,
    }
}

/// Keeps a device by a name; what another thread kept by it wins.
fn keep(key: &str, device: Device) -> Device {
    let now = generation();
    let mut slot = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_none_or(|(of, _)| *of != now) {
        *slot = Some((now, HashMap::new()));
    }
    let (_, devices) = slot.as_mut().expect("set above");
    devices.entry(key.to_owned()).or_insert(device).clone()
}

/// The device that an argument means: one that was opened, or a name, which opens it once. Matrices and vectors of one device work
/// together, so it is the same whether it was asked for by the name of its backend or not at all.
pub(crate) fn asked(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
    let name = match device {
        None => None,
        Some(given) => {
            if let Ok(opened) = given.cast::<Device>() {
                return Ok(opened.get().clone());
            }
            let Ok(name) = given.cast::<PyString>() else {
                let text =
                    "a device is a name such as 'cuda:0', or what spmv.device() and spmv.devices() give";
                return Err(PyTypeError::new_err(text));
            };
            Some(name.to_string())
        }
    };
    let key = name.as_deref().unwrap_or_default();
    if let Some(device) = kept(key) {
        return Ok(device);
    }
    // Opened without the lock, which another thread may hold while it waits for the interpreter.
    let opened = self::device(py, name.as_deref(), None)?;
    match name {
        Some(name) => Ok(keep(&name, opened)),
        None => {
            let by_backend = keep(&opened.backend(), opened);
            Ok(keep("", by_backend))
        }
    }
}
