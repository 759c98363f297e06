//! A matrix of NumPy's arrays, with what was prepared of it so far.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use numpy::{BorrowError, PyArray1, PyArrayDescr, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use spmv::plan::{Algorithm, Tune};
use spmv::{Block, BlockShape, Context, CsrView, Index, Matrix, Options, Scalar, c32, c64};
use spmv_core::{AnyCsr, conjugate};

use crate::devices::Device;
use crate::error::raise;
use crate::forks::{Birth, On};

/// A type of matrices and vectors.
pub(crate) trait Number: Scalar<Accum = Self> + spmv::Number + numpy::Element {}

impl Number for f32 {}
impl Number for f64 {}
impl Number for c32 {}
impl Number for c64 {}

/// Arrays that may be borrowed, as far as Rust knows.
pub(crate) fn borrowed<'py, T: numpy::Element>(
    array: &Bound<'py, PyArray1<T>>,
) -> PyResult<PyReadonlyArray1<'py, T>> {
    array.try_readonly().map_err(in_use)
}

pub(crate) fn in_use(e: BorrowError) -> PyErr {
    PyValueError::new_err(format!("an array is in use: {e}"))
}

/// Row offsets, as SciPy keeps them.
#[derive(Debug)]
pub(crate) enum Offsets {
    I32(Py<PyArray1<i32>>),
    I64(Py<PyArray1<i64>>),
}

/// The arrays of a matrix by rows. They are borrowed: Python keeps them alive as long as this is.
#[derive(Debug)]
pub(crate) struct Source<T: Number> {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    pub(crate) offsets: Offsets,
    pub(crate) cols: Py<PyArray1<i32>>,
    pub(crate) vals: Mutex<Py<PyArray1<T>>>,
}

impl<T: Number> Source<T> {
    pub(crate) fn vals(&self, py: Python<'_>) -> Py<PyArray1<T>> {
        self.vals.lock().unwrap_or_else(PoisonError::into_inner).clone_ref(py)
    }

    /// Calls `f` on the matrix, or on a copy of what it is by, with the interpreter released. Both are made in the pool of that birth.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        birth: Birth,
        by: By,
        f: impl FnOnce(AnyCsr<'_, T>) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        match &self.offsets {
            Offsets::I32(offsets) => self.with_offsets(offsets.bind(py), birth, by, f),
            Offsets::I64(offsets) => self.with_offsets(offsets.bind(py), birth, by, f),
        }
    }

    fn with_offsets<P: Index + numpy::Element, R: Send>(
        &self,
        offsets: &Bound<'_, PyArray1<P>>,
        birth: Birth,
        by: By,
        f: impl FnOnce(AnyCsr<'_, T>) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        let py = offsets.py();
        let vals = self.vals(py);
        let (offsets, vals, cols) =
            (borrowed(offsets)?, borrowed(vals.bind(py))?, borrowed(self.cols.bind(py))?);
        let (offsets, vals, cols) = (offsets.as_slice()?, vals.as_slice()?, cols.as_slice()?);
        let (n_rows, n_cols) = (self.n_rows, self.n_cols);
        py.detach(|| {
            let a = birth.run(|| CsrView::from_indices(n_rows, n_cols, offsets, cols, vals))?;
            let a = a.map_err(|e| raise(e.into()))?;
            if by == By::PLAIN {
                return f(a.erase());
            }
            let mut a = birth.run(|| if by.is_transposed { a.transpose() } else { a.to_owned() })?;
            if by.is_conjugate {
                conjugate(a.vals_mut());
            }
            f(a.view().erase())
        })
    }
}

fn prepared<T: Number>(a: AnyCsr<'_, T>, context: &Context, options: &Options) -> PyResult<Matrix<T>> {
    match a {
        AnyCsr::U32(a) => context.prepare_with(a, options),
        AnyCsr::U64(a) => context.prepare_with(a, options),
    }
    .map_err(raise)
}

/// What a prepared matrix is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) by: By,
    /// Several vectors at once.
    pub(crate) has_blocks: bool,
}

impl Role {
    fn at(self) -> usize {
        let By { is_transposed, is_conjugate } = self.by;
        usize::from(is_transposed) + 2 * usize::from(self.has_blocks) + 4 * usize::from(is_conjugate)
    }
}

/// What a product is by: the matrix or its transpose, and perhaps with conjugate values. Of real matrices those are their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct By {
    pub(crate) is_transposed: bool,
    pub(crate) is_conjugate: bool,
}

impl By {
    /// The matrix itself.
    pub(crate) const PLAIN: Self = Self { is_transposed: false, is_conjugate: false };

    /// The same without conjugating.
    pub(crate) fn not_conjugate(self) -> Self {
        Self { is_conjugate: false, ..self }
    }

    /// The transpose of it.
    pub(crate) fn transposed(self) -> Self {
        Self { is_transposed: !self.is_transposed, ..self }
    }

    /// The conjugate transpose of it.
    pub(crate) fn adjoint<T: Number>(self) -> Self {
        Self { is_conjugate: self.is_conjugate != T::DTYPE.is_complex(), ..self.transposed() }
    }

    /// What the matrix multiplies: the conjugate of x, if the product is by a conjugate.
    fn operand<T: Number>(self, x: &[T]) -> Cow<'_, [T]> {
        if self.is_conjugate { x.iter().map(|x| x.conj()).collect() } else { Cow::Borrowed(x) }
    }

    /// Makes the product of what the matrix gave.
    fn finish<T: Number>(self, y: &mut [T]) {
        if self.is_conjugate {
            y.iter_mut().for_each(|y| *y = y.conj());
        }
    }
}

/// What was prepared so far, by [`Role::at`].
type Roles<T> = [Option<Arc<On<Matrix<T>>>>; 8];

/// A matrix and what was prepared of it: each role when it is first needed.
#[derive(Debug)]
pub(crate) struct Stored<T: Number> {
    pub(crate) device: Device,
    pub(crate) options: Options,
    pub(crate) source: Source<T>,
    /// Locked only where the interpreter is released, so that nobody waits for both.
    roles: RwLock<Roles<T>>,
}

impl<T: Number> Stored<T> {
    pub(crate) fn new(device: Device, options: Options, source: Source<T>) -> Self {
        Self { device, options, source, roles: RwLock::default() }
    }

    pub(crate) fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        numpy::dtype::<T>(py)
    }

    /// What the conjugate transpose is of the arrays.
    pub(crate) fn adjoint(&self, by: By) -> By {
        by.adjoint::<T>()
    }

    pub(crate) fn nnz(&self, py: Python<'_>) -> usize {
        self.source.vals(py).bind(py).len()
    }

    /// Prepares a role, unless that was done.
    pub(crate) fn prepare(&self, py: Python<'_>, role: Role) -> PyResult<()> {
        let is_there =
            py.detach(|| self.roles.read().unwrap_or_else(PoisonError::into_inner)[role.at()].is_some());
        if is_there {
            return Ok(());
        }
        // Several vectors run on the arrays of CSR.
        let options = match role.has_blocks {
            true => Options {
                blocks: true,
                algorithm: Algorithm::MergePath,
                tiling: None,
                tune: Tune::Off,
                ..self.options
            },
            false => self.options,
        };
        self.source.with(py, self.device.birth, role.by, |a| {
            let mut roles = self.roles.write().unwrap_or_else(PoisonError::into_inner);
            if roles[role.at()].is_none() {
                let matrix = self.device.birth.run(|| prepared(a, &self.device.context, &options))??;
                roles[role.at()] = Some(Arc::new(On::new(matrix, self.device.birth)));
            }
            Ok(())
        })
    }

    /// Calls `f` on what was prepared for a role, which is done now if it was not, with the interpreter released.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        role: Role,
        f: impl FnOnce(&Arc<On<Matrix<T>>>) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        let mut f = Some(f);
        loop {
            let done = py.detach(|| {
                let roles = self.roles.read().unwrap_or_else(PoisonError::into_inner);
                let a = roles[role.at()].as_ref()?;
                let f = f.take().expect("called once, where the role is there");
                Some(self.device.birth.run(|| f(a)))
            });
            match done {
                Some(result) => return result?,
                // Other values may have come meanwhile; then it is gone again.
                None => self.prepare(py, role)?,
            }
        }
    }

    /// `y <- A*x`, or by the transpose; by the conjugate too.
    pub(crate) fn multiply(&self, py: Python<'_>, by: By, x: &[T], y: &mut [T]) -> PyResult<()> {
        let role = Role { by: by.not_conjugate(), has_blocks: false };
        let x = by.operand(x);
        self.with(py, role, |a| a.apply_slices(T::one(), &x, T::zero(), y).map(drop).map_err(raise))?;
        by.finish(y);
        Ok(())
    }

    /// `Y <- A*X`, or by the transpose; by the conjugate too. Y in row order.
    pub(crate) fn multiply_block(
        &self,
        py: Python<'_>,
        by: By,
        x: (&[T], BlockShape),
        y: &mut [T],
    ) -> PyResult<()> {
        let role = Role { by: by.not_conjugate(), has_blocks: true };
        let values = by.operand(x.0);
        self.with(py, role, |a| {
            let context = a.context();
            let mut run = || -> spmv::Result<()> {
                let of_x = context.upload_block(&values, x.1)?;
                let mut of_y: Block<T> =
                    context.zeros_block(BlockShape::row_major(a.n_rows(), x.1.columns()))?;
                a.apply_block(T::one(), &of_x, T::zero(), &mut of_y)?;
                of_y.vector().read(y)
            };
            run().map_err(raise)
        })?;
        by.finish(y);
        Ok(())
    }

    /// Gives the entries other values. What was prepared of the transpose, or for several vectors, is made anew when it is needed.
    pub(crate) fn set_values(&self, py: Python<'_>, vals: &Bound<'_, PyArray1<T>>) -> PyResult<()> {
        let (found, expected) = (vals.len(), self.nnz(py));
        if found != expected {
            return Err(PyValueError::new_err(format!("{found} values, not {expected}")));
        }
        let guard = borrowed(vals)?;
        let slice = guard.as_slice()?;
        py.detach(|| {
            let mut roles = self.roles.write().unwrap_or_else(PoisonError::into_inner);
            let [plain, others @ ..] = &mut *roles;
            if let Some(plain) = plain {
                let in_use = || PyValueError::new_err("a solver uses the matrix");
                let plain = Arc::get_mut(plain).ok_or_else(in_use)?;
                self.device.birth.run(|| plain.set_values(slice).map_err(raise))??;
            }
            others.fill_with(|| None);
            Ok::<_, PyErr>(())
        })?;
        *self.source.vals.lock().unwrap_or_else(PoisonError::into_inner) = vals.clone().unbind();
        Ok(())
    }
}
