//! The class `Matrix`.

use std::sync::Arc;
use std::time::Instant;

use numpy::{PyArray1, PyArray2, PyArrayDescr, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use spmv::plan::{Algorithm, Tune};
use spmv::{BlockShape, Dtype, Options, c32, c64};

use crate::devices::{Device, asked, dtype_of};
use crate::error::raise;
use crate::stored::{By, Number, Offsets, Role, Source, Stored, borrowed, in_use};

/// A matrix of each type.
#[derive(Debug)]
pub(crate) enum Any {
    F32(Stored<f32>),
    F64(Stored<f64>),
    C32(Stored<c32>),
    C64(Stored<c64>),
}

/// Evaluates an expression for the type of a matrix.
macro_rules! by_type {
    ($any:expr, $stored:ident => $body:expr) => {
        match $any {
            Any::F32($stored) => $body,
            Any::F64($stored) => $body,
            Any::C32($stored) => $body,
            Any::C64($stored) => $body,
        }
    };
}

/// A sparse matrix on a device, ready to multiply. `spmv.matrix` makes it.
///
/// It multiplies vectors and blocks of vectors (`A @ x`, `A.T @ x`, `x @ A`), and has what `scipy.sparse.linalg` asks of a linear operator. It
/// never changes but by `set_values`, and threads may share it. The arrays that it was made of must not change while it lives.
#[pyclass(frozen, module = "spmv")]
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) any: Arc<Any>,
    /// What it is of the arrays.
    pub(crate) by: By,
    /// What was copied or converted to make it.
    notes: Arc<str>,
}

/// A function of `spmv._arrays`, imported once.
macro_rules! helper {
    ($function:ident) => {
        fn $function(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
            static HELPER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            HELPER.import(py, "spmv._arrays", stringify!($function))
        }
    };
}

helper!(as_operand);
helper!(as_linear_operator);
helper!(as_csr_array);
helper!(as_values);
helper!(to_html);

#[pymethods]
impl Matrix {
    /// Without it NumPy's arrays would take the product over, entry by entry.
    #[classattr]
    fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let (n_rows, n_cols) = by_type!(&*self.any, a => (a.source.n_rows, a.source.n_cols));
        if self.by.is_transposed { (n_cols, n_rows) } else { (n_rows, n_cols) }
    }

    #[classattr]
    fn ndim() -> usize {
        2
    }

    /// Number of stored entries.
    #[getter]
    fn nnz(&self, py: Python<'_>) -> usize {
        by_type!(&*self.any, a => a.nnz(py))
    }

    /// The type of vectors and sums, and of values unless they are kept in a narrower one.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        by_type!(&*self.any, a => a.dtype(py))
    }

    /// Where it is.
    #[getter]
    fn device(&self) -> Device {
        by_type!(&*self.any, a => a.device.clone())
    }

    /// The transpose. It shares all arrays; its own layout is made by the first product.
    #[getter(T)]
    fn transposed(&self) -> Self {
        Self { by: self.by.transposed(), ..self.clone() }
    }

    /// The conjugate transpose: that of a real matrix is its transpose.
    #[getter(H)]
    fn conjugate_transposed(&self) -> Self {
        Self { by: self.adjoint(), ..self.clone() }
    }

    /// The transpose, as a method: what NumPy and SciPy have too.
    fn transpose(&self) -> Self {
        self.transposed()
    }

    fn __matmul__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.product(py, x, self.by, None)
    }

    /// `x @ A` for a vector x, and for the rows of a matrix.
    fn __rmatmul__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let x = as_operand(py)?.call1((x, self.dtype(py)))?;
        let y = self.product(py, &x.getattr("T")?, self.by.transposed(), None)?;
        y.getattr("T")
    }

    /// `A @ x`.
    fn dot<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.product(py, x, self.by, None)
    }

    /// `A @ x` for a vector, into `out` if it is given: a contiguous array of the type of the matrix.
    #[pyo3(signature = (x, out=None))]
    fn matvec<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.product(py, x, self.by, out)
    }

    /// `A.H @ x` for a vector: by the conjugate transpose. The first such product prepares the transpose.
    #[pyo3(signature = (x, out=None))]
    fn rmatvec<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.product(py, x, self.adjoint(), out)
    }

    /// `A @ X` for the columns of a two-dimensional array, into `out` if it is given: in row order ('C').
    #[pyo3(signature = (x, out=None))]
    fn matmat<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.product(py, x, self.by, out)
    }

    /// `A.H @ X` for the columns of a two-dimensional array.
    #[pyo3(signature = (x, out=None))]
    fn rmatmat<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.product(py, x, self.adjoint(), out)
    }

    /// Gives the entries other values, in the order of the array `data` that the matrix was made of: structure and plan stay. `data` must not
    /// change while the matrix lives.
    fn set_values(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = as_values(py)?.call1((data, self.dtype(py)))?;
        by_type!(&*self.any, a => a.set_values(py, data.cast()?))
    }

    /// Which algorithm multiplies, on which device, and why; and what was copied to make the matrix.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let role = self.role();
        let plan = by_type!(&*self.any, a => a.with(py, role, |a| Ok(a.explain())))?;
        let of_transpose =
            if self.by.is_transposed { "transposed: a copy with a plan of its own\n" } else { "" };
        Ok(format!("{}{of_transpose}{plan}", self.notes))
    }

    /// The name of the algorithm that multiplies a vector.
    #[getter]
    fn algorithm(&self, py: Python<'_>) -> PyResult<String> {
        let role = self.role();
        by_type!(&*self.any, a => a.with(py, role, |a| Ok(a.plan().algorithm.to_string())))
    }

    /// A `scipy.sparse.linalg.LinearOperator` of the matrix.
    fn aslinearoperator<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        as_linear_operator(slf.py())?.call1((slf,))
    }

    /// The matrix as `scipy.sparse.csr_array`; its arrays are those that this one was made of.
    fn tocsr<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        as_csr_array(slf.py())?.call1((slf,))
    }

    /// Values, columns and row offsets of the arrays by rows; and whether the matrix is the transpose of what they say, and the conjugate.
    #[getter]
    fn _arrays<'py>(&self, py: Python<'py>) -> (Py<PyAny>, Py<PyAny>, Py<PyAny>, bool, bool) {
        let By { is_transposed, is_conjugate } = self.by;
        by_type!(&*self.any, a => {
            let offsets = match &a.source.offsets {
                Offsets::I32(offsets) => offsets.clone_ref(py).into_any(),
                Offsets::I64(offsets) => offsets.clone_ref(py).into_any(),
            };
            (a.source.vals(py).into_any(), a.source.cols.clone_ref(py).into_any(), offsets, is_transposed, is_conjugate)
        })
    }

    /// Seconds of a product on slices, as Rust calls it: the mean of so many, the interpreter released.
    fn _seconds(&self, py: Python<'_>, x: &Bound<'_, PyAny>, runs: u32) -> PyResult<f64> {
        by_type!(&*self.any, a => seconds(a, py, self.role(), x.cast()?, runs))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (n_rows, n_cols) = self.shape();
        let (device, dtype) = (self.device(), self.dtype(py));
        Ok(format!(
            "<spmv.Matrix {n_rows} x {n_cols}, {} entries, {dtype}, on {}: {}>",
            self.nnz(py),
            device.context.backend(),
            device.context.caps().name
        ))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_html(slf.py())?.call1((slf,))
    }
}

impl Matrix {
    fn role(&self) -> Role {
        Role { by: self.by.not_conjugate(), has_blocks: false }
    }

    fn adjoint(&self) -> By {
        by_type!(&*self.any, a => a.adjoint(self.by))
    }

    fn product<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        by: By,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        by_type!(&*self.any, a => product(a, py, x, by, out))
    }
}

/// A product with whatever NumPy makes an array of.
fn product<'py, T: Number>(
    a: &Stored<T>,
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    by: By,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    // What needs no conversion needs no call of Python either.
    if let Ok(x) = x.cast::<PyArray1<T>>()
        && x.is_c_contiguous()
    {
        return vector_product(a, py, x, by, out);
    }
    #[cfg(feature = "cuda")]
    if let Some(x) = crate::cuda::operand::<T>(py, x, "x")? {
        return crate::cuda::product(a, py, &x, by, out);
    }
    let x = as_operand(py)?.call1((x, dtype::<T>(py)))?;
    if let Ok(x) = x.cast::<PyArray1<T>>() {
        return vector_product(a, py, x, by, out);
    }
    let x = x.cast::<PyArray2<T>>()?;
    block_product(a, py, x, by, out)
}

/// Length of what a product takes, and of what it makes.
pub(crate) fn lengths<T: Number>(a: &Stored<T>, is_transposed: bool) -> (usize, usize) {
    let (n_rows, n_cols) = (a.source.n_rows, a.source.n_cols);
    if is_transposed { (n_rows, n_cols) } else { (n_cols, n_rows) }
}

pub(crate) fn mismatch(found: usize, expected: usize) -> PyErr {
    PyValueError::new_err(format!("dimension mismatch: x has {found} rows, not {expected}"))
}

/// What `out` may not be.
fn bad_out<T: Number>(py: Python<'_>, shape: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "out must be a writable C-contiguous array of {} and shape {shape}",
        dtype::<T>(py)
    ))
}

fn vector_product<'py, T: Number>(
    a: &Stored<T>,
    py: Python<'py>,
    x: &Bound<'py, PyArray1<T>>,
    by: By,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (of_x, of_y) = lengths(a, by.is_transposed);
    if x.len() != of_x {
        return Err(mismatch(x.len(), of_x));
    }
    let y = match out {
        None => PyArray1::<T>::zeros(py, of_y, false),
        Some(out) => match out.cast::<PyArray1<T>>() {
            Ok(out) if out.len() == of_y && out.is_c_contiguous() => out.clone(),
            _ => return Err(bad_out::<T>(py, &format!("({of_y},)"))),
        },
    };
    let x = borrowed(x)?;
    let mut into = y.try_readwrite().map_err(in_use)?;
    a.multiply(py, by, x.as_slice()?, into.as_slice_mut()?)?;
    drop(into);
    Ok(y.into_any())
}

fn block_product<'py, T: Number>(
    a: &Stored<T>,
    py: Python<'py>,
    x: &Bound<'py, PyArray2<T>>,
    by: By,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (of_x, of_y) = lengths(a, by.is_transposed);
    let &[n, columns] = x.shape() else { unreachable!("an array of two dimensions") };
    if n != of_x {
        return Err(mismatch(n, of_x));
    }
    let y = match out {
        None => PyArray2::<T>::zeros(py, [of_y, columns], false),
        Some(out) => match out.cast::<PyArray2<T>>() {
            Ok(out) if out.shape() == [of_y, columns] && out.is_c_contiguous() => out.clone(),
            _ => return Err(bad_out::<T>(py, &format!("({of_y}, {columns})"))),
        },
    };
    let of_x = match x.is_c_contiguous() {
        true => BlockShape::row_major(n, columns),
        false => BlockShape::column_major(n, columns),
    };
    let x = x.try_readonly().map_err(in_use)?;
    let mut into = y.try_readwrite().map_err(in_use)?;
    let (from, to) = (x.as_slice()?, into.as_slice_mut()?);
    match columns {
        0 => {}
        // In either order a column by itself is a vector.
        1 => a.multiply(py, by, from, to)?,
        _ => a.multiply_block(py, by, (from, of_x), to)?,
    }
    drop(into);
    Ok(y.into_any())
}

fn seconds<T: Number>(
    a: &Stored<T>,
    py: Python<'_>,
    role: Role,
    x: &Bound<'_, PyArray1<T>>,
    runs: u32,
) -> PyResult<f64> {
    let x = borrowed(x)?;
    let x = x.as_slice()?;
    let mut y = vec![T::zero(); lengths(a, role.by.is_transposed).1];
    a.with(py, role, |a| {
        let start = Instant::now();
        for _ in 0..runs {
            a.apply_slices(T::one(), x, T::zero(), &mut y).map_err(raise)?;
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(runs.max(1)))
    })
}

/// Prepares a matrix by rows, or by columns: then the arrays are those of the transpose. `spmv.matrix` brings them to these types.
#[pyfunction]
#[pyo3(name = "_prepare")]
#[pyo3(signature = (data, indices, indptr, shape, is_by_columns, device, values, algorithm, tune, expected_products, notes))]
#[allow(clippy::too_many_arguments)] // `spmv.matrix` gives them by name.
pub(crate) fn prepare(
    py: Python<'_>,
    data: &Bound<'_, PyUntypedArray>,
    indices: &Bound<'_, PyArray1<i32>>,
    indptr: &Bound<'_, PyAny>,
    shape: (usize, usize),
    is_by_columns: bool,
    device: Option<&Bound<'_, PyAny>>,
    values: Option<&str>,
    algorithm: Option<&str>,
    tune: Option<&str>,
    expected_products: Option<u64>,
    notes: &str,
) -> PyResult<Matrix> {
    let device = asked(py, device)?;
    let algorithm = algorithm.map_or(Ok(Algorithm::Auto), |name| {
        name.parse().map_err(|e: <Algorithm as std::str::FromStr>::Err| PyValueError::new_err(e.to_string()))
    })?;
    let tune = match tune {
        None => Tune::Off,
        Some("quick") => Tune::Quick,
        Some("thorough") => Tune::Thorough,
        Some(other) => {
            return Err(PyValueError::new_err(format!("tune is '{other}'; use None, 'quick' or 'thorough'")));
        }
    };
    let values = match values {
        Some("exact") => match data.as_any().cast::<PyArray1<f64>>() {
            Ok(data) => device.context.exact_values(borrowed(data)?.as_slice()?),
            Err(_) => None,
        },
        values => values.map(dtype_of).transpose()?,
    };
    let options = Options { algorithm, tune, expected_runs: expected_products, values, ..Options::default() };
    let offsets = || match indptr.cast::<PyArray1<i32>>() {
        Ok(offsets) => Ok(Offsets::I32(offsets.clone().unbind())),
        Err(_) => Ok::<_, PyErr>(Offsets::I64(indptr.cast::<PyArray1<i64>>()?.clone().unbind())),
    };
    let cols = indices.clone().unbind();
    let by = By { is_transposed: is_by_columns, is_conjugate: false };
    let role = Role { by, has_blocks: false };
    let any = match dtype_of(&data.dtype().to_string())? {
        Dtype::F32 => Any::F32(store(py, data, device, options, shape, offsets()?, cols, role)?),
        Dtype::C32 => Any::C32(store(py, data, device, options, shape, offsets()?, cols, role)?),
        Dtype::C64 => Any::C64(store(py, data, device, options, shape, offsets()?, cols, role)?),
        _ => Any::F64(store(py, data, device, options, shape, offsets()?, cols, role)?),
    };
    Ok(Matrix { any: Arc::new(any), by, notes: notes.into() })
}

#[allow(clippy::too_many_arguments)] // Those of `prepare`.
fn store<T: Number>(
    py: Python<'_>,
    data: &Bound<'_, PyUntypedArray>,
    device: Device,
    options: Options,
    (n_rows, n_cols): (usize, usize),
    offsets: Offsets,
    cols: Py<PyArray1<i32>>,
    role: Role,
) -> PyResult<Stored<T>> {
    let vals = data.as_any().cast::<PyArray1<T>>()?.clone().unbind().into();
    let (n_rows, n_cols) = if role.by.is_transposed { (n_cols, n_rows) } else { (n_rows, n_cols) };
    let stored = Stored::new(device, options, Source { n_rows, n_cols, offsets, cols, vals });
    stored.prepare(py, role)?;
    Ok(stored)
}
