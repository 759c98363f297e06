//! Prepared matrices as linear operators.

use ::faer::dyn_stack::{MemStack, StackReq};
use ::faer::matrix_free::{BiLinOp, LinOp};
use ::faer::traits::ComplexField;
use ::faer::{MatMut, MatRef, Par};
use spmv_core::Value;

use crate::erased::Scalar;
use crate::matrix::Matrix;

/// [The module](crate::interop::faer) says what a product costs.
///
/// # Panics
/// Products panic where the device fails, and where numbers of rows or columns do not agree.
impl<T: Scalar<Accum = T> + ComplexField> LinOp<T> for Matrix<T> {
    fn apply_scratch(&self, _rhs_ncols: usize, _par: Par) -> StackReq {
        StackReq::EMPTY
    }

    fn nrows(&self) -> usize {
        self.n_rows()
    }

    fn ncols(&self) -> usize {
        self.n_cols()
    }

    #[track_caller]
    fn apply(&self, out: MatMut<'_, T>, rhs: MatRef<'_, T>, _par: Par, _stack: &mut MemStack) {
        multiply(self, out, rhs);
    }

    /// As `apply`: the values are real.
    #[track_caller]
    fn conj_apply(&self, out: MatMut<'_, T>, rhs: MatRef<'_, T>, _par: Par, _stack: &mut MemStack) {
        multiply(self, out, rhs);
    }
}

/// What faer's LSMR multiplies by, of a matrix that was [prepared with its transpose](crate::Context::prepare_with_transpose).
///
/// ```
/// use faer::dyn_stack::{MemBuffer, MemStack};
/// use faer::matrix_free::{IdentityPrecond, lsmr};
/// use faer::{Mat, Par, mat};
/// use spmv::{Context, Csr, Options};
///
/// // The line nearest to (0, 1), (1, 3), (2, 5).
/// let a = Csr::from_dense(3, 2, &[1.0, 0.0, 1.0, 1.0, 1.0, 2.0])?;
/// let a = Context::auto()?.prepare_with_transpose(&a, &Options::default())?;
/// let (b, mut x) = (mat![[1.0], [3.0], [5.0f64]], Mat::zeros(2, 1));
/// let identity = IdentityPrecond { dim: 2 };
/// let mut memory = MemBuffer::new(lsmr::lsmr_scratch(identity, &a, 1, Par::Seq));
/// let stack = MemStack::new(&mut memory);
/// lsmr::lsmr(x.as_mut(), identity, &a, b.as_ref(), lsmr::LsmrParams::default(), |_| {}, Par::Seq, stack).unwrap();
/// assert!((x - mat![[1.0], [2.0]]).norm_max() < 1e-10);
/// # Ok::<(), spmv::Error>(())
/// ```
///
/// # Panics
/// As products of [`Matrix`], and where it was prepared by itself.
impl<T: Scalar<Accum = T> + ComplexField> BiLinOp<T> for Matrix<T> {
    fn transpose_apply_scratch(&self, _rhs_ncols: usize, _par: Par) -> StackReq {
        StackReq::EMPTY
    }

    #[track_caller]
    fn transpose_apply(&self, out: MatMut<'_, T>, rhs: MatRef<'_, T>, _par: Par, _stack: &mut MemStack) {
        multiply(transposed(self), out, rhs);
    }

    /// As `transpose_apply`: the values are real.
    #[track_caller]
    fn adjoint_apply(&self, out: MatMut<'_, T>, rhs: MatRef<'_, T>, _par: Par, _stack: &mut MemStack) {
        multiply(transposed(self), out, rhs);
    }
}

#[track_caller]
fn transposed<T: Scalar>(a: &Matrix<T>) -> &Matrix<T> {
    a.transposed().unwrap_or_else(|e| panic!("a product for faer failed: {e}"))
}

/// `out <- a*rhs`, column by column. What `out` held is not read.
#[track_caller]
fn multiply<T: Scalar<Accum = T> + ComplexField>(a: &Matrix<T>, mut out: MatMut<'_, T>, rhs: MatRef<'_, T>) {
    assert_eq!(out.ncols(), rhs.ncols(), "columns of a product and of its right-hand side");
    for j in 0..rhs.ncols() {
        let (x, y) = (rhs.col(j), out.as_mut().col_mut(j));
        let x_next_to_each_other = x.try_as_col_major().map(|x| x.as_slice());
        let x_copied: Vec<T> = match x_next_to_each_other {
            Some(_) => Vec::new(),
            None => x.iter().copied().collect(),
        };
        let x = x_next_to_each_other.unwrap_or(&x_copied);
        if let Some(y) = y.try_as_col_major_mut() {
            apply(a, x, y.as_slice_mut());
        } else {
            let mut y = vec![<T as Default>::default(); out.nrows()];
            apply(a, x, &mut y);
            out.as_mut().col_mut(j).iter_mut().zip(y).for_each(|(to, sum)| *to = sum);
        }
    }
}

#[track_caller]
fn apply<T: Scalar<Accum = T>>(a: &Matrix<T>, x: &[T], y: &mut [T]) {
    let done = a.apply_slices(<T as Value>::from_f64(1.0), x, T::default(), y);
    if let Err(e) = done {
        // The traits have no way to return it.
        panic!("a product for faer failed: {e}");
    }
}
