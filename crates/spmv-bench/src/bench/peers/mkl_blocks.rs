//! Products with several right-hand sides by MKL's inspector-executor.

use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

use spmv::{BlockOrder, BlockShape, CsrView};

use super::mkl::{self, Handle, Hint, MatrixKind};
use super::{PeerValue, fits_c_int};
use crate::bench::block_product::{Contestant, Problem};
use crate::bench::measure::timed;

/// SPARSE_LAYOUT_ROW_MAJOR and SPARSE_LAYOUT_COLUMN_MAJOR.
const ROW_MAJOR: c_int = 101;
const COLUMN_MAJOR: c_int = 102;

/// `mkl_sparse_?_mm`: operation, alpha, matrix, its kind, layout, X, columns, leading dimension, beta, Y, leading dimension.
type Mm<T> = unsafe extern "C" fn(
    c_int,
    T,
    Handle,
    MatrixKind,
    c_int,
    *const T,
    c_int,
    c_int,
    T,
    *mut T,
    c_int,
) -> c_int;

/// `mkl_sparse_set_mm_hint`: matrix, operation, its kind, layout, columns, calls.
type SetHint = unsafe extern "C" fn(Handle, c_int, MatrixKind, c_int, c_int, c_int) -> c_int;

fn layout(shape: BlockShape) -> c_int {
    match shape.order() {
        BlockOrder::RowMajor => ROW_MAJOR,
        BlockOrder::ColumnMajor => COLUMN_MAJOR,
    }
}

/// The product of a problem.
pub(super) fn contestant<'a, T: PeerValue>(problem: &Problem<'a, T>) -> anyhow::Result<Contestant<'a, T>> {
    let Problem { a, x, of_x, of_y } = *problem;
    let a: CsrView<'_, T> = a.view();
    fits_c_int(a)?;
    let library = mkl::library()?;
    let (hint, mm): (SetHint, Mm<T>) =
        (mkl::symbol(library, b"mkl_sparse_set_mm_hint\0")?, mkl::symbol(library, T::MM)?);
    let layout = layout(of_x);
    let [columns, of_x_leading, of_y_leading] =
        [of_x.columns(), of_x.leading(), of_y.leading()].map(|n| n as c_int);
    let matrix = mkl::Matrix::new(
        a,
        &|handle, Hint { operation, kind, calls }| {
            // SAFETY: the handle was just made; the rest are numbers of mkl_spblas.h.
            unsafe { hint(handle, operation, kind, layout, columns, calls) }
        },
        false,
    )?;
    let y = Rc::new(RefCell::new(vec![T::from_f64(f64::NAN); of_y.len()]));
    let to = Rc::clone(&y);
    let (zero, one) = (T::zero(), T::one());
    let run = timed(move |_| {
        let mut y = to.borrow_mut();
        let Hint { operation, kind, .. } = Hint::of(false);
        // SAFETY: the handle lives as long as `matrix`; X and Y are as long as their shapes say, which were made for the rows and columns of
        // the matrix, in the layout that is named.
        let status = unsafe {
            let (x, y) = (x.as_ptr(), y.as_mut_ptr());
            mm(operation, one, matrix.handle(), kind, layout, x, columns, of_x_leading, zero, y, of_y_leading)
        };
        mkl::check("mkl_sparse_mm", status)
    });
    Ok(Contestant { name: "mkl".into(), run, result: Box::new(move || Ok(y.borrow().clone())) })
}
