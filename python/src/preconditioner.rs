//! The class `Preconditioner`.

use pyo3::prelude::*;
use spmv::{Context, DeviceScalar, Queue, Vector};
use spmv_solvers::{BlockJacobi, Jacobi, Preconditioner as Of};

use crate::error::raise_solver;
use crate::forks::On;
use crate::matrix::{Any, Matrix};
use crate::stored::{Number, Stored, with_csr};

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
}

pub(crate) enum Kind<T: Number> {
    Jacobi(Jacobi<T>),
    BlockJacobi(BlockJacobi<T>),
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
        }
    }
}

#[pymethods]
impl Preconditioner {
    fn __repr__(&self) -> String {
        format!("<spmv.linalg.Preconditioner: {}>", self.what)
    }
}

fn made<T: Number>(
    py: Python<'_>,
    stored: &Stored<T>,
    is_transposed: bool,
    make: impl Fn(&Context, &spmv::Csr<T, u64>) -> spmv_solvers::Result<Kind<T>> + Send + Sync,
) -> PyResult<On<Kind<T>>> {
    let device = &stored.device;
    let kind = with_csr(stored, py, is_transposed, |a| {
        device.birth.run(|| make(&device.context, a).map_err(raise_solver))?
    })?;
    Ok(On::new(kind, device.birth))
}

/// The inverse of the diagonal.
#[pyfunction]
#[pyo3(name = "_jacobi")]
pub(crate) fn jacobi(py: Python<'_>, a: &Matrix) -> PyResult<Preconditioner> {
    fn of<T: Number>(py: Python<'_>, a: &Stored<T>, is_transposed: bool) -> PyResult<On<Kind<T>>> {
        made(py, a, is_transposed, |context, a| Ok(Kind::Jacobi(Jacobi::new(context, a)?)))
    }
    let any = match &*a.any {
        Any::F32(stored) => AnyPreconditioner::F32(of(py, stored, a.is_transposed)?),
        Any::F64(stored) => AnyPreconditioner::F64(of(py, stored, a.is_transposed)?),
    };
    Ok(Preconditioner { any, what: "the inverse of the diagonal".into() })
}

/// The inverses of the blocks on the diagonal, of `block` rows each.
#[pyfunction]
#[pyo3(name = "_block_jacobi")]
pub(crate) fn block_jacobi(py: Python<'_>, a: &Matrix, block: usize) -> PyResult<Preconditioner> {
    fn of<T: Number>(
        py: Python<'_>,
        a: &Stored<T>,
        is_transposed: bool,
        block: usize,
    ) -> PyResult<On<Kind<T>>> {
        made(py, a, is_transposed, |context, a| Ok(Kind::BlockJacobi(BlockJacobi::new(context, a, block)?)))
    }
    let any = match &*a.any {
        Any::F32(stored) => AnyPreconditioner::F32(of(py, stored, a.is_transposed, block)?),
        Any::F64(stored) => AnyPreconditioner::F64(of(py, stored, a.is_transposed, block)?),
    };
    Ok(Preconditioner { any, what: format!("the inverses of blocks of {block} rows on the diagonal") })
}
