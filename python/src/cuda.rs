//! Arrays that are on a CUDA device already, used where they are.

use numpy::{PyUntypedArray, dtype};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use spmv::{Block, BlockShape, Context, Vector};
use spmv_cuda::Cuda;

use crate::error::raise;
use crate::matrix::{lengths, mismatch};
use crate::stored::{By, Number, Role, Stored};

/// An array on a CUDA device, as `spmv._cuda` describes it.
pub(crate) struct Array {
    object: Py<PyAny>,
    address: u64,
    shape: Vec<usize>,
    /// What its library may still fill it on.
    stream: Option<usize>,
}

impl Array {
    fn of(description: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (object, address, shape, stream) = description.extract()?;
        Ok(Self { object, address, shape, stream })
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether both have memory in common.
    fn overlaps<T>(&self, other: &Self) -> bool {
        let end = |array: &Self| array.address + (array.len() * size_of::<T>()) as u64;
        self.address < end(other) && other.address < end(self)
    }
}

fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("spmv._cuda")?.unbind()))?;
    module.bind(py).getattr(name)
}

/// The array that an argument is, if it is on a CUDA device.
pub(crate) fn operand<T: Number>(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    what: &str,
) -> PyResult<Option<Array>> {
    // Those of NumPy are on the host, and have DLPack too.
    let may_be = x.hasattr("__cuda_array_interface__")?
        || !x.is_instance_of::<PyUntypedArray>() && x.hasattr("__dlpack_device__")?;
    if !may_be {
        return Ok(None);
    }
    let found = helper(py, "operand")?.call1((x, dtype::<T>(py), what))?;
    if found.is_none() { Ok(None) } else { Array::of(&found).map(Some) }
}

/// Waits until the array holds what its library was told to put there, then takes it as a vector of the context.
///
/// The interpreter is released: the vector, which keeps the array, is dropped once the device is done.
fn vector<T: Number>(context: &Context, array: &Array, object: Py<PyAny>) -> PyResult<Vector<T>> {
    let Some(cuda) = context.device::<Cuda>() else {
        let text = format!(
            "the array is on a CUDA device and the matrix on {}: prepare the matrix with device='cuda'",
            context.backend()
        );
        return Err(PyTypeError::new_err(text));
    };
    let failed = |e: spmv_backend::Error| raise(spmv_exec::Error::from(e).into());
    if let Some(stream) = array.stream {
        let handle = std::ptr::with_exposed_provenance_mut(stream);
        // SAFETY: the array's library says that this is the stream, or the name of a default stream, which it works on; it
        // keeps that while a call that it makes is under way.
        #[allow(unsafe_code)]
        unsafe { cuda.backend().wait_for(handle) }.map_err(failed)?;
    }
    let bytes = (array.len() * size_of::<T>()) as u64;
    // SAFETY: `__cuda_array_interface__`, or DLPack, says that so many bytes from there on are the array's, and `object` keeps it. What was put on
    // its stream is done (above), and callers wait for the device before they return; that no other thread uses the array
    // meanwhile is their caller's promise, as it is for arrays of the host. The backend checks whose memory it is.
    #[allow(unsafe_code)]
    let buffer = unsafe { cuda.backend().wrap(array.address, bytes, Box::new(object)) }.map_err(failed)?;
    let vector = cuda.adopt(buffer, array.len()).map_err(|e| raise(e.into()))?;
    context.adopt(vector).map_err(raise)
}

/// A product with an array where it is; done when this returns.
pub(crate) fn product<'py, T: Number>(
    a: &Stored<T>,
    py: Python<'py>,
    x: &Array,
    by: By,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (of_x, of_y) = lengths(a, by.is_transposed);
    if x.shape[0] != of_x {
        return Err(mismatch(x.shape[0], of_x));
    }
    let columns = x.shape.get(1).copied();
    let shape: Vec<usize> = std::iter::once(of_y).chain(columns).collect();
    let y = helper(py, "result")?.call1((x.object.bind(py), out, shape, dtype::<T>(py)))?;
    let y = Array::of(&y)?;
    if x.overlaps::<T>(&y) {
        return Err(PyValueError::new_err("x and out have memory in common"));
    }
    let role = Role { by, has_blocks: columns.is_some_and(|columns| columns > 1) };
    let (of_x, of_y) = (x.object.clone_ref(py), y.object.clone_ref(py));
    a.with(py, role, |a| {
        let context = a.context();
        let (vector_x, mut vector_y) = (vector(context, x, of_x)?, vector(context, &y, of_y)?);
        if !role.has_blocks {
            return a.apply(T::one(), &vector_x, T::zero(), &mut vector_y).map(drop).map_err(raise);
        }
        let block = |vector, n_rows| Block::new(vector, BlockShape::row_major(n_rows, columns.unwrap_or(1)));
        let run = || -> spmv::Result<()> {
            let (x, mut y) = (block(vector_x, a.n_cols())?, block(vector_y, a.n_rows())?);
            a.apply_block(T::one(), &x, T::zero(), &mut y)
        };
        run().map_err(raise)
    })?;
    Ok(y.object.into_bound(py))
}

/// The right-hand side and the start of a solver, which become vectors where the interpreter is released.
pub(crate) struct System {
    b: Array,
    x: Array,
}

impl System {
    /// What a caller gives, if it is on a CUDA device: `b`, and `x` to be overwritten.
    pub(crate) fn of<T: Number>(
        py: Python<'_>,
        b: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Self>> {
        match (operand::<T>(py, b, "b")?, operand::<T>(py, x, "x0")?) {
            (Some(b), Some(x)) => Ok(Some(Self { b, x })),
            _ => Ok(None),
        }
    }

    pub(crate) fn objects(&self, py: Python<'_>) -> [Py<PyAny>; 2] {
        [self.b.object.clone_ref(py), self.x.object.clone_ref(py)]
    }

    pub(crate) fn vectors<T: Number>(
        &self,
        context: &Context,
        [b, x]: [Py<PyAny>; 2],
    ) -> PyResult<(Vector<T>, Vector<T>)> {
        Ok((vector(context, &self.b, b)?, vector(context, &self.x, x)?))
    }
}
