//! The compiled half of the Python package `spmv`: prepared matrices, devices and solvers for NumPy arrays.

#[cfg(feature = "cuda")]
mod cuda;
mod devices;
mod error;
mod forks;
mod matrix;
mod preconditioner;
mod solvers;
mod stored;

use pyo3::prelude::*;

/// What `spmv/__init__.py` offers by other names, and what it calls.
#[pymodule(gil_used = false)]
mod _spmv {
    use super::*;

    #[pymodule_export]
    use crate::devices::{Device, device, devices, unavailable};
    #[pymodule_export]
    use crate::error::{BreakdownError, DeviceLostError, NoBackendError, SpmvError, UnsupportedError};
    #[pymodule_export]
    use crate::forks::after_fork;
    #[pymodule_export]
    use crate::matrix::{Matrix, prepare};
    #[pymodule_export]
    use crate::preconditioner::{Preconditioner, jacobi};
    #[pymodule_export]
    use crate::solvers::{Outcome, Progress, solve};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
