//! The class `Preconditioner`.

use std::sync::Arc;

use pyo3::prelude::*;
use spmv::{Context, CsrView, DeviceScalar, Matrix as Prepared, Offset, Queue, Vector, c32, c64};
use spmv_core::AnyCsr;
use spmv_solvers::{BlockJacobi, Jacobi, Preconditioner as Of};

use crate::error::raise_solver;
use crate::forks::On;
use crate::matrix::{Any, Matrix};
use crate::stored::{By, Number, Stored};

/// What solvers take as `M`: an approximation of the inverse of a matrix, on the device of that. `spmv.linalg.jacobi` and
/// `spmv.linalg.block_jacobi` make it.
#[pyclass(frozen, module = "spmv.linalg")]
pub(crate) struct Preconditioner {
    pub(crate) any: AnyPreconditioner,
    what: String,
}

pub(crate) enum AnyPreconditioner {
    F32(On<Kind<f32>>),
    F64(On<Kind<f64>>),
    C32(On<Kind<c32>>),
    C64(On<Kind<c64>>),
}

pub(crate) enum Kind<T: Number> {
    Jacobi(Jacobi<T>),
    BlockJacobi(BlockJacobi<T>),
    /// A matrix that is one as it is.
    Matrix(Arc<On<Prepared<T>>>),
}

impl<T: Number> Of<T> for Kind<T> {
    fn apply(
        &self,
        q: &mut Queue,
        r: &Vector<T>,
        z: &mut Vector<T>,
        rz: DeviceScalar<T>,
    ) -> spmv::Result<()> {
        match self {
            Self::Jacobi(m) => m.apply(q, r, z, rz),
            Self::BlockJacobi(m) => m.apply(q, r, z, rz),
            Self::Matrix(m) => {
                q.apply(m, T::one(), r, T::zero(), z)?;
                q.dot(r, z, rz)
            }
        }
    }
}

#[pymethods]
impl Preconditioner {
    fn __repr__(&self) -> String {
        format!("<spmv.linalg.Preconditioner: {}>", self.what)
    }
}

/// The inverse of the diagonal, or of the blocks on it, of `block` rows each.
#[pyfunction]
#[pyo3(name = "_jacobi")]
pub(crate) fn jacobi(py: Python<'_>, a: &Matrix, block: Option<usize>) -> PyResult<Preconditioner> {
    let any = match &*a.any {
        Any::F32(stored) => AnyPreconditioner::F32(of(py, stored, a.by, block)?),
        Any::F64(stored) => AnyPreconditioner::F64(of(py, stored, a.by, block)?),
        Any::C32(stored) => AnyPreconditioner::C32(of(py, stored, a.by, block)?),
        Any::C64(stored) => AnyPreconditioner::C64(of(py, stored, a.by, block)?),
    };
    let what = match block {
        None => "the inverse of the diagonal".into(),
        Some(block) => format!("the inverses of blocks of {block} rows on the diagonal"),
    };
    Ok(Preconditioner { any, what })
}

fn of<T: Number>(py: Python<'_>, a: &Stored<T>, by: By, block: Option<usize>) -> PyResult<On<Kind<T>>> {
    let device = &a.device;
    let kind = a.source.with(py, device.birth, by, |a| {
        let context = &device.context;
        let made = device.birth.run(|| match a {
            AnyCsr::U32(a) => made(context, a, block),
            AnyCsr::U64(a) => made(context, a, block),
        })?;
        made.map_err(raise_solver)
    })?;
    Ok(On::new(kind, device.birth))
}

fn made<T: Number, O: Offset>(
    context: &Context,
    a: CsrView<'_, T, O>,
    block: Option<usize>,
) -> spmv_solvers::Result<Kind<T>> {
    Ok(match block {
        None => Kind::Jacobi(Jacobi::new(context, a)?),
        Some(block) => Kind::BlockJacobi(BlockJacobi::new(context, a, block)?),
    })
}
