//! Errors of the Rust crates as exceptions, in their words.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(spmv, SpmvError, PyRuntimeError, "What devices and their drivers fail with.");
pyo3::create_exception!(
    spmv,
    NoBackendError,
    SpmvError,
    "No device could be opened; the text has the reason of each."
);
pyo3::create_exception!(
    spmv,
    UnsupportedError,
    SpmvError,
    "A device cannot do what was asked; the text says what to do instead."
);
pyo3::create_exception!(spmv, DeviceLostError, SpmvError, "The device is gone, and everything on it.");
pyo3::create_exception!(spmv, BreakdownError, SpmvError, "A solver cannot go on; the text says why.");

/// The exception for an error of the facade.
pub(crate) fn raise(e: spmv::Error) -> PyErr {
    use spmv::Error as E;
    let text = e.to_string();
    match e {
        E::NoBackend { .. } => NoBackendError::new_err(text),
        E::OutOfMemory { .. } => PyMemoryError::new_err(text),
        E::Unsupported { .. } => UnsupportedError::new_err(text),
        E::DeviceLost { .. } => DeviceLostError::new_err(text),
        E::UnknownBackend(_)
        | E::Length { .. }
        | E::Matrix(_)
        | E::Layout(_)
        | E::Tiling(_)
        | E::Narrow { .. } => PyValueError::new_err(text),
        _ => SpmvError::new_err(text),
    }
}

/// The exception for an error of a solver.
pub(crate) fn raise_solver(e: spmv_solvers::Error) -> PyErr {
    use spmv_solvers::Error as E;
    match e {
        E::Spmv(e) => raise(e),
        e @ E::Breakdown { .. } => BreakdownError::new_err(e.to_string()),
        e @ (E::Dimension { .. } | E::Option { .. }) => PyValueError::new_err(e.to_string()),
        e => SpmvError::new_err(e.to_string()),
    }
}
