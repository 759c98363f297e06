//! Solvers.

use std::ops::ControlFlow;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use spmv::{Matrix as Prepared, Vector, c32, c64};
use spmv_core::Value;
use spmv_solvers::{BiCgStab, ConjugateGradient, Gmres, Lsmr, Minres, Options, Report, Stop};

use crate::error::{raise, raise_solver};
use crate::matrix::{Any, Matrix};
use crate::preconditioner::{AnyPreconditioner, Kind, Preconditioner};
use crate::stored::{By, Number, Role, Stored, borrowed};

/// What a callback is told.
#[pyclass(frozen, get_all, module = "spmv.linalg")]
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// Iterations made.
    iteration: usize,
    /// The norm of the residual.
    residual: f64,
    /// The norm at which the solver stops.
    target: f64,
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        format!(
            "Progress(iteration={}, residual={:.6e}, target={:.6e})",
            self.iteration, self.residual, self.target
        )
    }
}

/// What a solver did.
#[pyclass(frozen, get_all, module = "spmv.linalg")]
pub(crate) struct Outcome {
    /// The solution.
    x: Py<PyAny>,
    /// Whether the residual is small enough.
    converged: bool,
    /// Iterations made.
    iterations: usize,
    /// The norm of the residual.
    residual: f64,
    /// The norm of the residual at each check, with its iteration.
    history: Vec<(usize, f64)>,
}

#[pymethods]
impl Outcome {
    fn __repr__(&self) -> String {
        let state = if self.converged { "converged" } else { "not converged" };
        format!(
            "<spmv.linalg.Outcome: {state} after {} iterations, residual {:.3e}>",
            self.iterations, self.residual
        )
    }
}

/// What a caller asks of a solver.
struct Request<'a> {
    method: &'a str,
    rtol: f64,
    atol: f64,
    max_iterations: usize,
    check_every: usize,
    restart: usize,
    callback: Option<Py<PyAny>>,
}

fn run<T: Number>(
    request: &Request<'_>,
    a: &Prepared<T>,
    adjoint: Option<&Prepared<T>>,
    m: Option<&Kind<T>>,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> PyResult<Report<T::Part>> {
    let mut raised = None;
    let mut options = Options {
        relative: T::Part::from_f64(request.rtol),
        absolute: T::Part::from_f64(request.atol),
        max_iterations: request.max_iterations,
        check_every: request.check_every,
        ..Options::default()
    };
    options.on_check(|progress| {
        let told = Progress {
            iteration: progress.iteration,
            residual: progress.residual.widen(),
            target: progress.target.widen(),
        };
        // Signals too are seen here, so that Ctrl-C ends a solver.
        let asked = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            match &request.callback {
                None => Ok(false),
                Some(callback) => callback.call1(py, (told,))?.is_truthy(py),
            }
        });
        match asked {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(()),
            Err(e) => {
                raised = Some(e);
                ControlFlow::Break(())
            }
        }
    });
    macro_rules! square {
        ($solver:expr) => {
            $solver.and_then(|mut solver| match m {
                None => solver.solve(a, b, x, &mut options),
                Some(m) => solver.solve_with(a, m, b, x, &mut options),
            })
        };
    }
    let report = match (request.method, adjoint) {
        ("cg", _) => square!(ConjugateGradient::new(a)),
        ("bicgstab", _) => square!(BiCgStab::new(a)),
        ("minres", _) => square!(Minres::new(a)),
        ("gmres", _) => square!(Gmres::new(a, request.restart)),
        ("lsmr", Some(adjoint)) => {
            Lsmr::new(a).and_then(|mut lsmr| lsmr.solve(a, adjoint, b, x, &mut options))
        }
        (other, _) => return Err(PyValueError::new_err(format!("unknown method '{other}'"))),
    };
    drop(options);
    if let Some(e) = raised {
        return Err(e);
    }
    report.map_err(raise_solver)
}

trait TypedKind: Number {
    /// The preconditioner, if it is of this type.
    fn of(any: &AnyPreconditioner) -> Option<&Kind<Self>>;
    /// The matrix, if it is of this type.
    fn stored(any: &Any) -> Option<&Stored<Self>>;
}

macro_rules! typed {
    ($($t:ty as $variant:ident;)*) => {$(
        impl TypedKind for $t {
            fn of(any: &AnyPreconditioner) -> Option<&Kind<Self>> {
                if let AnyPreconditioner::$variant(kind) = any { Some(kind) } else { None }
            }

            fn stored(any: &Any) -> Option<&Stored<Self>> {
                if let Any::$variant(stored) = any { Some(stored) } else { None }
            }
        }
    )*};
}

typed! {
    f32 as F32;
    f64 as F64;
    c32 as C32;
    c64 as C64;
}

/// `M`, as an argument gives it.
enum M<'py> {
    None,
    Kind(Bound<'py, Preconditioner>),
    Matrix(Bound<'py, Matrix>),
}

fn solved<T: TypedKind>(
    py: Python<'_>,
    stored: &Stored<T>,
    by: By,
    m: &M<'_>,
    b: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
    request: &Request<'_>,
) -> PyResult<Outcome> {
    let other_type = || PyTypeError::new_err("M has another type than the matrix");
    // Solvers keep what they use, so that no lock is held while they call Python.
    let prepared = |of: &Stored<T>, by| of.with(py, Role { by, has_blocks: false }, |a| Ok(Arc::clone(a)));
    let of_matrix;
    let m = match m {
        M::None => None,
        M::Kind(m) => Some(T::of(&m.get().any).ok_or_else(other_type)?),
        M::Matrix(m) => {
            let Matrix { any, by, .. } = m.get();
            of_matrix = Kind::Matrix(prepared(T::stored(any).ok_or_else(other_type)?, *by)?);
            Some(&of_matrix)
        }
    };
    let a = prepared(stored, by)?;
    let adjoint = (request.method == "lsmr").then(|| prepared(stored, stored.adjoint(by))).transpose()?;
    let solve = |b: &Vector<T>, x: &mut Vector<T>| run(request, &a, adjoint.as_ref().map(|a| &***a), m, b, x);
    #[cfg(feature = "cuda")]
    if let Some(system) = crate::cuda::System::of::<T>(py, b, x)? {
        let objects = system.objects(py);
        let report = detached(py, stored, || {
            let (b, mut x) = system.vectors(a.context(), objects)?;
            solve(&b, &mut x)
        })?;
        return Ok(outcome(&report, x));
    }
    let (of_b, of_x) = (b.cast::<PyArray1<T>>()?, x.cast::<PyArray1<T>>()?);
    let of_b = borrowed(of_b)?;
    let of_b = of_b.as_slice()?;
    let mut into = of_x.try_readwrite().map_err(crate::stored::in_use)?;
    let into = into.as_slice_mut()?;
    let report = detached(py, stored, || {
        let context = a.context();
        let (b, mut x) = (context.upload(of_b).map_err(raise)?, context.upload(into).map_err(raise)?);
        let report = solve(&b, &mut x)?;
        x.read(into).map_err(raise)?;
        Ok(report)
    })?;
    Ok(outcome(&report, x))
}

/// Solves with the interpreter released.
fn detached<T: Number>(
    py: Python<'_>,
    stored: &Stored<T>,
    solve: impl FnOnce() -> PyResult<Report<T::Part>> + Send,
) -> PyResult<Report<T::Part>> {
    py.detach(|| stored.device.birth.run(solve))?
}

fn outcome<A: spmv_core::Real>(report: &Report<A>, x: &Bound<'_, PyAny>) -> Outcome {
    let history = report.history.iter().map(|(iteration, residual)| (*iteration, residual.widen()));
    Outcome {
        x: x.clone().unbind(),
        converged: report.stop == Stop::Converged,
        iterations: report.iterations,
        residual: report.residual.widen(),
        history: history.collect(),
    }
}

/// Solves a system; `spmv.linalg` brings `b` and `x`, which is overwritten, to the type of the matrix.
#[pyfunction]
#[pyo3(name = "_solve")]
#[pyo3(signature = (method, a, b, x, *, rtol, atol, maxiter, check_every, restart, m, callback))]
#[allow(clippy::too_many_arguments)] // `spmv.linalg` gives them by name.
pub(crate) fn solve(
    py: Python<'_>,
    method: &str,
    a: &Matrix,
    b: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
    rtol: f64,
    atol: f64,
    maxiter: usize,
    check_every: usize,
    restart: usize,
    m: Option<&Bound<'_, PyAny>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let request = Request { method, rtol, atol, max_iterations: maxiter, check_every, restart, callback };
    let m = match m {
        None => M::None,
        Some(m) => match (m.cast::<Preconditioner>(), m.cast::<Matrix>()) {
            (Ok(m), _) => M::Kind(m.clone()),
            (_, Ok(m)) => M::Matrix(m.clone()),
            _ => return Err(PyTypeError::new_err("M must be a matrix or a preconditioner of spmv.linalg")),
        },
    };
    match &*a.any {
        Any::F32(stored) => solved(py, stored, a.by, &m, b, x, &request),
        Any::F64(stored) => solved(py, stored, a.by, &m, b, x, &request),
        Any::C32(stored) => solved(py, stored, a.by, &m, b, x, &request),
        Any::C64(stored) => solved(py, stored, a.by, &m, b, x, &request),
    }
}
