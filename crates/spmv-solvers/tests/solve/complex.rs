//! Complex systems.

use num_traits::{One, Zero};
use spmv::{Context, Csr, Number, Scalar, Value, c32, c64};
use spmv_solvers::{
    BiCgStab, BlockJacobi, Breakdown, ConjugateGradient, Error, Gmres, Jacobi, Minres, Options,
    PipelinedConjugateGradient, Report, bicgstab, chebyshev, conjugate_gradient, gmres, lsmr, minres,
    power_iteration,
};

use crate::systems::{contexts, contexts_and_parts, poisson, shifted};

/// `a` in other units of each unknown: Hermitian, with the same eigenvalues.
fn turned<A: Scalar>(a: &Csr<f64>) -> Csr<A> {
    let turn = |row: usize| c64::new(0.0, 0.7 * row as f64).exp();
    let entry = |row: usize, (col, value): (u32, f64)| {
        let value = turn(row) * value * turn(col as usize).conj();
        (col, A::from_parts(if row == col as usize { [value.re, 0.0] } else { [value.re, value.im] }))
    };
    let rows = (0..a.n_rows()).map(|row| a.row(row).map(|of| entry(row, of)).collect::<Vec<_>>());
    Csr::from_rows(a.n_cols(), rows).unwrap()
}

/// The Laplacian less a complex multiple of the identity: damped waves. Symmetric, not Hermitian.
fn damped<A: Scalar>(side: usize) -> Csr<A> {
    let a = poisson(side);
    let entry = |row: usize, (col, value): (u32, f64)| {
        (col, A::from_parts(if row == col as usize { [value - 0.5, 0.4] } else { [value, 0.0] }))
    };
    let rows = (0..a.n_rows()).map(|row| a.row(row).map(|of| entry(row, of)).collect::<Vec<_>>());
    Csr::from_rows(a.n_cols(), rows).unwrap()
}

fn wave<A: Value>(n: usize) -> Vec<A> {
    (0..n).map(|i| A::from_parts([(i as f64 * 0.37).sin(), (i as f64 * 0.11).cos()])).collect()
}

/// `b - A*x`.
fn left<A: Value>(a: &Csr<A>, x: &[A], b: &[A]) -> Vec<c64> {
    let wide = |v: A| {
        let [re, im] = v.parts();
        c64::new(re, im)
    };
    let image = |row: usize| a.row(row).map(|(col, value)| wide(value) * wide(x[col as usize])).sum::<c64>();
    b.iter().enumerate().map(|(row, b)| wide(*b) - image(row)).collect()
}

fn norm(x: &[c64]) -> f64 {
    x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt()
}

/// Of `b - A*x`, over that of `b`.
fn residual<A: Value>(a: &Csr<A>, x: &[A], b: &[A]) -> f64 {
    let zeros = vec![A::default(); x.len()];
    norm(&left(a, x, b)) / norm(&left(a, &zeros, b))
}

fn of<A: Number>(contexts: Vec<Context>) -> impl Iterator<Item = Context> {
    contexts.into_iter().filter(|context| context.caps().arithmetic.contains(A::DTYPE))
}

/// By every method for Hermitian systems, and by those for others.
fn solved<A: Number + Scalar<Accum = A>>(contexts: Vec<Context>, relative: f64) {
    let (hermitian, other) = (turned::<A>(&poisson(5)), damped::<A>(5));
    let b = wave::<A>(hermitian.n_rows());
    let options = || Options {
        relative: <A::Part as Value>::from_f64(relative),
        check_every: 3,
        ..Options::<A::Part>::default()
    };
    for context in of::<A>(contexts) {
        macro_rules! solves {
            ($matrix:expr, $method:expr) => {{
                let (a, on_b) = (context.prepare($matrix).unwrap(), context.upload(&b).unwrap());
                let jacobi = Jacobi::new(&context, $matrix).unwrap();
                let blocks = BlockJacobi::new(&context, $matrix, 5).unwrap();
                let mut method = $method(&a).unwrap();
                let mut x = a.zeros_x().unwrap();
                let is_solved = |report: Result<Report<A::Part>, Error>, x: &spmv::Vector<A>| {
                    let (report, found) = (report.unwrap(), residual($matrix, &x.to_vec().unwrap(), &b));
                    let what = format!("{} {} {found:e}", context.backend(), stringify!($method));
                    assert!(report.has_converged() && found < 1.1 * relative, "{what}");
                    // The residual that is reported is that of x.
                    let reported =
                        report.residual.widen() / norm(&left($matrix, &vec![A::zero(); b.len()], &b));
                    assert!((reported - found).abs() < 0.1 * relative, "{what} {reported:e}");
                };
                is_solved(method.solve(&a, &on_b, &mut x, &mut options()), &x);
                x.fill(A::one()).unwrap();
                is_solved(method.solve_with(&a, &jacobi, &on_b, &mut x, &mut options()), &x);
                x.fill(A::zero()).unwrap();
                is_solved(method.solve_with(&a, &blocks, &on_b, &mut x, &mut options()), &x);
            }};
        }
        solves!(&hermitian, ConjugateGradient::new);
        solves!(&hermitian, PipelinedConjugateGradient::new);
        solves!(&hermitian, Minres::new);
        for a in [&hermitian, &other] {
            solves!(a, BiCgStab::new);
            solves!(a, |a| Gmres::new(a, 20));
        }
        let (a, on_b) = (context.prepare(&hermitian).unwrap(), context.upload(&b).unwrap());
        let bounds = <A::Part as Value>::from_f64(0.59)..<A::Part as Value>::from_f64(11.41);
        let mut x = a.zeros_x().unwrap();
        assert!(chebyshev(&a, bounds, &on_b, &mut x, &mut options()).unwrap().has_converged());
        assert!(residual(&hermitian, &x.to_vec().unwrap(), &b) < 1.1 * relative);
    }
}

#[test]
fn complex_systems_are_solved_by_every_method_on_every_device() {
    solved::<c64>(contexts_and_parts(), 1e-9);
}

#[test]
fn in_single_precision_too() {
    solved::<c32>(contexts(), 1e-4);
}

#[test]
fn minres_solves_what_is_hermitian_and_indefinite() {
    let a = turned::<c64>(&shifted(&poisson(6), -2.5));
    let b = wave::<c64>(a.n_rows());
    for context in of::<c64>(contexts()) {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let mut x = prepared.zeros_x().unwrap();
        let mut options = Options { relative: 1e-9, ..Options::default() };
        assert!(minres(&prepared, &on_b, &mut x, &mut options).unwrap().has_converged());
        assert!(residual(&a, &x.to_vec().unwrap(), &b) < 1.1e-9);
        x.fill(c64::zero()).unwrap();
        let e = conjugate_gradient(&prepared, &on_b, &mut x, &mut Options::default());
        assert!(matches!(e, Err(Error::Breakdown { why: Breakdown::NotPositiveDefinite, .. })), "{e:?}");
    }
}

#[test]
fn least_squares_take_the_conjugate_transpose() {
    // 125 rows and 110 columns.
    let square = turned::<c64>(&poisson(5));
    let rows =
        (0..square.n_rows()).map(|row| square.row(row).filter(|(col, _)| *col < 110).collect::<Vec<_>>());
    let a: Csr<c64> = Csr::from_rows(110, rows).unwrap();
    let b = wave::<c64>(a.n_rows());
    for context in of::<c64>(contexts()) {
        let prepared = context.prepare_with_adjoint(&a, &spmv::Options::default()).unwrap();
        let (on_b, mut x) = (context.upload(&b).unwrap(), prepared.zeros_x().unwrap());
        let mut options = Options { relative: 1e-9, ..Options::default() };
        let report = lsmr(&prepared, prepared.adjoint().unwrap(), &on_b, &mut x, &mut options).unwrap();
        let left = left(&a, &x.to_vec().unwrap(), &b);
        let mut image = vec![c64::zero(); a.n_cols()];
        (0..a.n_rows())
            .for_each(|row| a.row(row).for_each(|(col, v)| image[col as usize] += v.conj() * left[row]));
        assert!(report.has_converged() && norm(&left) > 0.1 && norm(&image) < 1e-7, "{:e}", norm(&image));
    }
}

#[test]
fn an_eigenvalue_may_be_complex() {
    let entries = [(0, 0, c64::new(0.0, 3.0)), (1, 1, c64::one()), (0, 1, c64::one())];
    let a = Csr::from_coo(2, 2, &entries).unwrap();
    for context in of::<c64>(contexts()) {
        let prepared = context.prepare(&a).unwrap();
        let mut x = context.upload(&[c64::one(), c64::one()]).unwrap();
        let found = power_iteration(&prepared, &mut x, &mut Options::default()).unwrap();
        assert!(found.report.has_converged() && (found.value - c64::new(0.0, 3.0)).norm() < 1e-7);
    }
}

#[test]
fn bad_numbers_are_refused_or_end_a_solver() {
    for context in of::<c64>(contexts()) {
        let on_diagonal = |value| Csr::from_coo(2, 2, &[(0, 0, c64::one()), (1, 1, value)]).unwrap();
        for value in [c64::zero(), c64::new(0.0, f64::NAN), c64::new(f64::INFINITY, 1.0)] {
            let a = on_diagonal(value);
            assert!(Jacobi::new(&context, &a).is_err() && BlockJacobi::new(&context, &a, 2).is_err());
        }
        let a = context.prepare(&on_diagonal(c64::new(0.0, 2.0))).unwrap();
        let (b, mut x) = (context.upload(&[c64::one(), c64::new(0.0, 1.0)]).unwrap(), a.zeros_x().unwrap());
        assert!(gmres(&a, 5, &b, &mut x, &mut Options::default()).unwrap().has_converged());
        let x = x.to_vec().unwrap();
        assert!((x[1] - c64::new(0.5, 0.0)).norm() < 1e-12);
        let nan = context.upload(&[c64::new(0.0, f64::NAN); 2]).unwrap();
        for e in [
            bicgstab(&a, &nan, &mut a.zeros_x().unwrap(), &mut Options::default()),
            gmres(&a, 5, &nan, &mut a.zeros_x().unwrap(), &mut Options::default()),
            conjugate_gradient(&a, &nan, &mut a.zeros_x().unwrap(), &mut Options::default()),
        ] {
            assert!(matches!(e, Err(Error::Breakdown { why: Breakdown::NotFinite, .. })), "{e:?}");
        }
    }
}
