//! Matrices of faer, and its solvers on ours.

use std::panic::{AssertUnwindSafe, catch_unwind};

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::matrix_free::{BiLinOp, IdentityPrecond, LinOp, bicgstab as bicg, conjugate_gradient as cg, lsmr};
use faer::sparse::{
    SparseColMatRef, SparseRowMatRef, SymbolicSparseColMatRef, SymbolicSparseRowMatRef, Triplet,
};
use faer::traits::RealField;
use faer::{Mat, MatRef, Par};
use spmv::interop::Error;
use spmv::interop::faer::{as_faer, csc_to_csr, into_faer, to_csr, view};
use spmv::{BackendKind, Context, Csr, CsrError, Scalar, Value};

/// Row 1 is empty.
fn ours() -> Csr<f64> {
    Csr::new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, 2.0, 3.0]).unwrap()
}

fn cpu() -> Context {
    Context::with(BackendKind::Cpu).unwrap()
}

/// -1, 4, -2 on `n` rows; symmetric with -1 twice.
fn tridiagonal<T: Value>(n: usize, above: f64) -> Csr<T> {
    let n = n as u32;
    let row = |r: u32| {
        let entries = [(r.wrapping_sub(1), -1.0), (r, 4.0), (r + 1, above)];
        entries.into_iter().filter(move |e| e.0 < n).map(|(c, v)| (c, T::from_f64(v)))
    };
    Csr::from_rows(n as usize, (0..n).map(row)).unwrap()
}

#[test]
fn u32_indices_are_borrowed() {
    let a = ours();
    let theirs = as_faer(&a).unwrap();
    let back = view(theirs).unwrap();
    assert_eq!((back.to_owned(), back.cols().as_ptr()), (a.clone(), a.cols().as_ptr()));
    assert_eq!(theirs.to_dense()[(2, 1)], 3.0);
    let moved = into_faer(a.clone()).unwrap();
    assert_eq!(view(moved.as_ref()).unwrap().to_owned(), a);
    assert_eq!(view(moved.to_col_major().unwrap().transpose()).unwrap().to_owned(), a.transpose());
}

#[test]
fn every_other_matrix_is_copied() {
    let entries = [(0, 0, 1.0), (0, 3, 2.0), (2, 1, 3.0)].map(|(r, c, v)| Triplet::new(r, c, v));
    let by_rows = faer::sparse::SparseRowMat::<usize, f64>::try_new_from_triplets(3, 4, &entries).unwrap();
    assert_eq!(to_csr(by_rows.as_ref()), Ok(ours()));
    assert_eq!(to_csr(by_rows.as_ref()), ours().with_offsets::<u64>());
    assert_eq!(csc_to_csr(by_rows.to_col_major().unwrap().as_ref()), Ok(ours()));
    assert_eq!(csc_to_csr(as_faer(&ours()).unwrap().transpose()), Ok(ours().transpose()));
}

#[test]
fn rows_with_unused_slots_are_copied() {
    let (starts, cols, vals) = ([1u32, 4, 5, 7], [9, 0, 3, 9, 9, 1, 9, 9], [0., 1., 2., 0., 0., 3., 0., 0.]);
    let nnz = [2u32, 0, 1];
    let pattern = SymbolicSparseRowMatRef::new_checked(3, 4, &starts, Some(&nnz), &cols);
    let theirs = SparseRowMatRef::new(pattern, &vals);
    assert_eq!(view(theirs).unwrap_err(), Error::UnusedSlots { row: 0 });
    assert_eq!(to_csr(theirs), Ok(ours()));
    let pattern = SymbolicSparseColMatRef::new_checked(4, 3, &starts, Some(&nnz), &cols);
    assert_eq!(csc_to_csr(SparseColMatRef::new(pattern, &vals)), Ok(ours().transpose()));
}

#[test]
fn slots_around_the_rows_are_left_out() {
    let (cols, vals) = ([0, 3, 1, 9], [1.0, 2.0, 3.0, 0.0]);
    let pattern = SymbolicSparseRowMatRef::new_checked(3, 4, &[0u32, 2, 2, 3], None, &cols);
    let theirs = SparseRowMatRef::new(pattern, &vals);
    assert_eq!(view(theirs).unwrap().to_owned(), ours());
    assert_eq!(to_csr(theirs), Ok(ours()));
    let (cols, vals) = ([9, 0, 3, 1], [0.0, 1.0, 2.0, 3.0]);
    let pattern = SymbolicSparseRowMatRef::new_checked(3, 4, &[1u32, 3, 3, 4], None, &cols);
    let theirs = SparseRowMatRef::new(pattern, &vals);
    assert_eq!(view(theirs).unwrap_err(), Error::Csr(CsrError::FirstOffset { found: 1 }));
    assert_eq!(to_csr(theirs), Ok(ours()));
    assert_eq!(csc_to_csr(theirs.transpose()), Ok(ours().transpose()));
}

#[test]
fn what_faer_would_panic_at_is_an_error() {
    let jumbled = Csr::new(1, 3, vec![0, 2], vec![2, 0], vec![1.0, 2.0]).unwrap();
    let expected = Error::Csr(CsrError::NotCanonical { row: 0, column: 0, prev: 2 });
    assert_eq!(as_faer(&jumbled).unwrap_err(), expected);
    assert_eq!(into_faer(jumbled).unwrap_err(), expected);
    let wide = Csr::new(1, 1 << 31, vec![0, 1], vec![7], vec![1.0]).unwrap();
    let e = as_faer(&wide).unwrap_err();
    assert_eq!(
        e.to_string(),
        "2147483648 columns are more than the 2147483647 that faer can name by u32 indices"
    );
}

/// Solutions by faer's matrix are those by ours, for right-hand sides of two columns.
fn check_cg<T: Scalar<Accum = T> + RealField>(tolerance: T) {
    let a = tridiagonal::<T>(50, -1.0);
    let prepared = cpu().prepare(&a).unwrap();
    let b = Mat::from_fn(50, 2, |r, c| <T as Value>::from_f64((r * (c + 1) % 7) as f64));
    let identity = IdentityPrecond { dim: 50 };
    let mut x = Mat::zeros(50, 2);
    let mut memory = MemBuffer::new(cg::conjugate_gradient_scratch(identity, &prepared, 2, Par::Seq));
    let params = cg::CgParams { rel_tolerance: tolerance, ..cg::CgParams::default() };
    let stack = MemStack::new(&mut memory);
    let info =
        cg::conjugate_gradient(x.as_mut(), identity, &prepared, b.as_ref(), params, |_| {}, Par::Seq, stack)
            .unwrap();
    assert!(info.iter_count > 3);
    let left = as_faer(&a).unwrap() * &x - &b;
    assert!(left.norm_l2() <= tolerance * <T as Value>::from_f64(4.0) * b.norm_l2(), "{left:?}");
}

#[test]
fn conjugate_gradients_of_faer_run_on_our_matrices() {
    check_cg::<f64>(1e-12);
    check_cg::<f32>(1e-5);
}

#[test]
fn bicgstab_of_faer_runs_on_our_matrices() {
    let a = tridiagonal::<f64>(50, -2.0);
    let prepared = cpu().prepare(&a).unwrap();
    let b = Mat::from_fn(50, 1, |r, _| (r % 7) as f64);
    let (identity, mut x) = (IdentityPrecond { dim: 50 }, Mat::zeros(50, 1));
    let scratch = bicg::bicgstab_scratch(identity, identity, &prepared, 1, Par::Seq);
    let (params, mut memory) = (bicg::BicgParams::default(), MemBuffer::new(scratch));
    let (out, stack) = (x.as_mut(), MemStack::new(&mut memory));
    bicg::bicgstab(out, identity, identity, &prepared, b.as_ref(), params, |_| {}, Par::Seq, stack).unwrap();
    assert!((as_faer(&a).unwrap() * &x - &b).norm_l2() < 1e-11 * b.norm_l2());
}

#[test]
fn lsmr_of_faer_runs_on_a_matrix_with_its_transpose() {
    // More rows than columns: a row of ones below a square matrix.
    let mut rows: Vec<Vec<(u32, f64)>> = (0..20).map(|r| tridiagonal(20, -2.0).row(r).collect()).collect();
    rows.push((0..20).map(|c| (c, 1.0)).collect());
    let a = Csr::from_rows(20, rows).unwrap();
    let both = cpu().prepare_with_transpose(&a, &spmv::Options::default()).unwrap();
    assert_eq!((both.n_rows(), both.transposed().unwrap().n_rows()), (21, 20));
    let (identity, mut x) = (IdentityPrecond { dim: 20 }, Mat::zeros(20, 1));
    let b = Mat::from_fn(21, 1, |r, _| (r % 5) as f64);
    let mut memory = MemBuffer::new(lsmr::lsmr_scratch(identity, &both, 1, Par::Seq));
    let (params, stack) = (lsmr::LsmrParams::default(), MemStack::new(&mut memory));
    lsmr::lsmr(x.as_mut(), identity, &both, b.as_ref(), params, |_| {}, Par::Seq, stack).unwrap();
    let theirs = as_faer(&a).unwrap();
    let gradient = theirs.transpose() * (theirs * &x - &b);
    assert!(gradient.norm_l2() < 1e-10 * b.norm_l2(), "{gradient:?}");
}

#[test]
fn strided_columns_are_copied() {
    let a = ours();
    let both = cpu().prepare_with_transpose(&a, &spmv::Options::default()).unwrap();
    let stack = || MemBuffer::new(both.apply_scratch(2, Par::Seq));
    // By rows: the values of a column are two apart.
    let x = MatRef::from_row_major_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 4, 2);
    let mut y = Mat::from_fn(2, 3, |_, _| f64::NAN);
    LinOp::apply(&both, y.as_mut().transpose_mut(), x, Par::Seq, MemStack::new(&mut stack()));
    assert_eq!(y.transpose(), as_faer(&a).unwrap() * x);
    let mut y_of_matrix = Mat::from_fn(3, 2, |_, _| f64::NAN);
    both.conj_apply(y_of_matrix.as_mut(), x, Par::Seq, MemStack::new(&mut stack()));
    assert_eq!(y_of_matrix, y.transpose());
    let (x, mut y) = (MatRef::from_row_major_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2), Mat::zeros(4, 2));
    both.transpose_apply(y.as_mut(), x, Par::Seq, MemStack::new(&mut stack()));
    let expected = as_faer(&a).unwrap().transpose() * x;
    assert_eq!(y, expected);
    let mut adjoint = Mat::zeros(4, 2);
    both.adjoint_apply(adjoint.as_mut(), x, Par::Seq, MemStack::new(&mut stack()));
    assert_eq!(adjoint, expected);
}

#[test]
fn a_wrong_length_panics_with_the_reason() {
    let prepared = cpu().prepare(&ours()).unwrap();
    let (x, mut y) = (Mat::<f64>::zeros(5, 1), Mat::zeros(3, 1));
    let mut memory = MemBuffer::new(prepared.apply_scratch(1, Par::Seq));
    let product = AssertUnwindSafe(|| {
        LinOp::apply(&prepared, y.as_mut(), x.as_ref(), Par::Seq, MemStack::new(&mut memory));
    });
    let panic = catch_unwind(product).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert_eq!(message, "a product for faer failed: x has 5 values, not 4");
}
