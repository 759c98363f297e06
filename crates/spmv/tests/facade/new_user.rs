//! What new users write first: functions of any value type, several contexts, statics, arrays of their own index types.

use std::sync::OnceLock;
use std::thread;

use spmv::{Accum as _, BackendKind, Context, Csr, CsrView, Error, Matrix, Scalar, Value, c32, c64, f16};

/// Rows with 1, 2, 3, ... in the diagonal and 1 to the right of it.
fn matrix<T: Value>(n: u32) -> Csr<T> {
    let row = |r: u32| {
        let entries = [(r, f64::from(r + 1)), (r + 1, 1.0)];
        entries.into_iter().filter(move |e| e.0 < n).map(|(c, v)| (c, T::from_f64(v)))
    };
    Csr::from_rows(n as usize, (0..n).map(row)).expect("valid")
}

/// The factor s that makes |b - s*A*x| least, and that norm.
fn nearest<T: Scalar>(
    context: &Context,
    a: &Csr<T>,
    x: &[T],
    b: &[T::Accum],
) -> spmv::Result<(T::Accum, f64)> {
    let (zero, one) = (T::Accum::from_f64(0.0), T::Accum::from_f64(1.0));
    let a = context.prepare(a)?;
    let (x, mut y, mut r) = (context.upload(x)?, a.zeros_y()?, context.upload(b)?);
    a.apply(one, &x, zero, &mut y)?;
    let s = y.dot(&r)? / y.dot(&y)?;
    r.axpby(-s, &y, one)?;
    Ok((s, r.norm2()?.widen()))
}

fn check_nearest<T: Scalar>(context: &Context) {
    // A*x is 2, 3, 3 and b is twice that.
    let x = [1.0; 3].map(T::from_f64);
    let b = [4.0, 6.0, 6.0].map(T::Accum::from_f64);
    let (s, left) = nearest::<T>(context, &matrix(3), &x, &b).unwrap();
    let error = (s - T::Accum::from_f64(2.0)).modulus().widen();
    assert!(error < 1e-6 && left < 1e-5, "{} {s} {left}", T::DTYPE);
}

#[test]
fn one_function_serves_every_value_type() {
    let context = Context::with(BackendKind::Cpu).unwrap();
    check_nearest::<f16>(&context);
    check_nearest::<f32>(&context);
    check_nearest::<f64>(&context);
    check_nearest::<c32>(&context);
    check_nearest::<c64>(&context);
}

#[test]
fn two_contexts_work_at_once() {
    let contexts = [(); 2].map(|()| Context::with(BackendKind::Cpu).unwrap());
    let a = matrix::<f64>(1000);
    let product = |context: &Context| {
        let a = context.prepare(&a)?;
        let (x, mut y) = (context.upload(&vec![1.0; 1000])?, a.zeros_y()?);
        for _ in 0..100 {
            a.apply(1.0, &x, 1.0, &mut y)?;
        }
        y.to_vec()
    };
    let products = thread::scope(|scope| {
        let threads = contexts.each_ref().map(|context| scope.spawn(move || product(context)));
        threads.map(|thread| thread.join().unwrap().unwrap())
    });
    let expected: Vec<f64> = (0..1000).map(|r| 100.0 * f64::from(r + 1 + i32::from(r < 999))).collect();
    assert_eq!(products, [expected.clone(), expected]);
}

#[test]
fn vectors_stay_with_their_context() -> Result<(), Error> {
    let [one, other] = [(); 2].map(|()| Context::with(BackendKind::Cpu).unwrap());
    let (a, x) = (one.prepare(&matrix::<f64>(3))?, other.upload(&[1.0; 3])?);
    let e = a.apply(1.0, &x, 0.0, &mut a.zeros_y()?).unwrap_err();
    assert_eq!(e.to_string(), "x belongs to another device; make it from the one it is used with");
    assert!(a.zeros_y()?.dot(&x).unwrap_err().to_string().contains("belongs to another device"));
    Ok(())
}

fn context() -> &'static Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| Context::auto().expect("the CPU is always there"))
}

fn prepared() -> &'static Matrix<f32> {
    static MATRIX: OnceLock<Matrix<f32>> = OnceLock::new();
    MATRIX.get_or_init(|| context().prepare(&matrix(1000)).expect("it fits every device"))
}

#[test]
fn statics_hold_a_context_and_a_matrix_for_all_threads() {
    let product = |scale: f32| {
        let mut y = prepared().zeros_y()?;
        prepared().apply(scale, &context().upload(&vec![1.0; 1000])?, 0.0, &mut y)?;
        y.to_vec()
    };
    let sums = thread::scope(|scope| {
        let threads = [1.0, 2.0, 3.0, 4.0].map(|scale| scope.spawn(move || product(scale)));
        threads.map(|thread| thread.join().unwrap().unwrap()[9])
    });
    assert_eq!(sums, [11.0, 22.0, 33.0, 44.0]);
}

#[test]
fn arrays_of_any_index_types_are_multiplied() -> Result<(), Error> {
    let context = Context::with(BackendKind::Cpu)?;
    let (row_ptr, cols, vals) = (vec![0usize, 2, 3], vec![0usize, 1, 1], vec![1.0f64, 2.0, 3.0]);
    let by_rows = Csr::<f64>::from_indices(2, 2, &row_ptr, &cols, vals.clone())?;
    assert_eq!(context.prepare(&by_rows)?.multiply(&[1.0, 10.0])?, [21.0, 30.0]);
    let by_columns = Csr::<f64>::from_csc_indices(2, 2, &row_ptr, &cols, &vals)?;
    assert_eq!(by_columns, by_rows.transpose());
    assert_eq!(context.prepare(&by_columns)?.multiply(&[1.0, 10.0])?, [1.0, 32.0]);
    // As C and Fortran libraries have them: borrowed.
    let (row_ptr, cols) = ([0i32, 2, 3], [0i32, 1, 1]);
    let borrowed = CsrView::from_indices(2, 2, &row_ptr, &cols, &vals)?;
    assert_eq!(context.prepare(borrowed)?.multiply(&[1.0, 10.0])?, [21.0, 30.0]);
    Ok(())
}
