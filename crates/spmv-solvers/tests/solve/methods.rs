//! Conjugate gradients, BiCGSTAB, Chebyshev, the power method and PageRank.

use std::ops::ControlFlow;

use spmv::{Context, Csr, Real, Scalar, Value};
use spmv_solvers::{
    BiCgStab, Breakdown, ConjugateGradient, Error, Jacobi, Links, Options, Stop, bicgstab, chebyshev,
    conjugate_gradient, page_rank, power_iteration,
};

use crate::systems::{contexts_and_parts, convection, poisson, residual, wave};

#[test]
fn systems_of_positive_definite_matrices_are_solved() {
    let a = poisson(8);
    let b = wave(a.n_rows());
    for context in contexts_and_parts() {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let options = || Options { relative: 1e-9, check_every: 7, ..Options::default() };
        let mut x = prepared.zeros_x().unwrap();
        let report = conjugate_gradient(&prepared, &on_b, &mut x, &mut options()).unwrap();
        assert!(report.has_converged() && report.iterations % 7 == 0, "{report:?}");
        assert!(residual(&a, &x.to_vec().unwrap(), &b) < 2e-9, "{}", context.backend());
        let mut cg = ConjugateGradient::new(&prepared).unwrap();
        let m = Jacobi::new(&context, &a).unwrap();
        for _ in 0..2 {
            x.fill(0.0).unwrap();
            let report = cg.solve_with(&prepared, &m, &on_b, &mut x, &mut options()).unwrap();
            assert!(report.has_converged() && residual(&a, &x.to_vec().unwrap(), &b) < 2e-9, "{report:?}");
        }
        // From the solution on: nothing is left to do.
        let report =
            cg.solve(&prepared, &on_b, &mut x, &mut Options { relative: 1e-8, ..options() }).unwrap();
        assert_eq!(report.iterations, 0);
        x.fill(0.0).unwrap();
        // Eigenvalues of the Laplacian of a cube of 8: 6 - 6*cos(k*pi/9).
        let cos = (std::f64::consts::PI / 9.0).cos();
        let report =
            chebyshev(&prepared, 6.0 - 6.0 * cos..6.0 + 6.0 * cos, &on_b, &mut x, &mut options()).unwrap();
        assert!(report.has_converged() && residual(&a, &x.to_vec().unwrap(), &b) < 2e-9, "{report:?}");
    }
}

#[test]
fn systems_that_are_not_symmetric_are_solved() {
    let a = convection(7);
    let b = wave(a.n_rows());
    for context in contexts_and_parts() {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        for check_every in [1, 4, 25] {
            let options = || Options { relative: 1e-9, check_every, ..Options::default() };
            let mut x = prepared.zeros_x().unwrap();
            let report = bicgstab(&prepared, &on_b, &mut x, &mut options()).unwrap();
            assert!(report.has_converged(), "{report:?}");
            assert!(residual(&a, &x.to_vec().unwrap(), &b) < 1e-8, "{}", context.backend());
            let m = Jacobi::new(&context, &a).unwrap();
            let mut method = BiCgStab::new(&prepared).unwrap();
            for _ in 0..2 {
                x.fill(0.0).unwrap();
                assert!(
                    method.solve_with(&prepared, &m, &on_b, &mut x, &mut options()).unwrap().has_converged()
                );
                assert!(residual(&a, &x.to_vec().unwrap(), &b) < 1e-8, "{}", context.backend());
            }
        }
        // A rotation by a right angle: v is orthogonal to the first residual.
        let rotation = Csr::from_coo(2, 2, &[(0, 1, -1.0), (1, 0, 1.0)]).unwrap();
        let (rotation, b) = (context.prepare(&rotation).unwrap(), context.upload(&[1.0, 0.0]).unwrap());
        let e =
            bicgstab(&rotation, &b, &mut rotation.zeros_x().unwrap(), &mut Options::default()).unwrap_err();
        assert!(matches!(e, Error::Breakdown { why: Breakdown::Orthogonal, .. }), "{e}");
    }
}

#[test]
fn single_precision_converges_as_far_as_it_can() {
    fn solve<T: Scalar<Accum = T> + Real>(context: &Context, a: &Csr<f64>) -> Vec<f64> {
        let b: Vec<T> = wave(a.n_rows()).into_iter().map(T::from_f64).collect();
        let a = context.prepare(&a.map_values(T::from_f64)).unwrap();
        let mut x = a.zeros_x().unwrap();
        let b = context.upload(&b).unwrap();
        assert!(conjugate_gradient(&a, &b, &mut x, &mut Options::default()).unwrap().has_converged());
        x.to_vec().unwrap().into_iter().map(Value::widen).collect()
    }
    let a = poisson(6);
    for context in contexts_and_parts() {
        let x = solve::<f32>(&context, &a);
        assert!(residual(&a, &x, &wave(a.n_rows())) < 1e-3, "{}", context.backend());
    }
}

#[test]
fn what_cannot_be_solved_is_an_error_or_reported() {
    for context in contexts_and_parts() {
        let solve = |a: &Csr<f64>, b: &[f64], options: &mut Options<'_, f64>| {
            let (a, b) = (context.prepare(a).unwrap(), context.upload(b).unwrap());
            let mut x = a.zeros_x().unwrap();
            conjugate_gradient(&a, &b, &mut x, options)
        };
        let why = |e: Result<_, Error>| match e {
            Err(Error::Breakdown { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        let indefinite = Csr::from_coo(2, 2, &[(0, 0, 1.0), (1, 1, -2.0)]).unwrap();
        let once = || Options { check_every: 1, ..Options::default() };
        assert_eq!(why(solve(&indefinite, &[1.0, 1.0], &mut once())), Breakdown::NotPositiveDefinite);
        let zero = Csr::from_coo(2, 2, &[]).unwrap();
        assert!(matches!(
            why(solve(&zero, &[1.0, 1.0], &mut Options::default())),
            Breakdown::NotPositiveDefinite | Breakdown::NotFinite
        ));
        let a = poisson(5);
        let mut b = wave(a.n_rows());
        let report = solve(&a, &b, &mut Options { max_iterations: 3, ..Options::default() }).unwrap();
        assert_eq!((report.stop, report.iterations, report.history.len()), (Stop::MaxIterations, 3, 2));
        assert!(report.residual > 0.0);
        b[17] = f64::NAN;
        assert_eq!(why(solve(&a, &b, &mut Options::default())), Breakdown::NotFinite);
        let nothing = vec![0.0; a.n_rows()];
        assert_eq!(solve(&a, &nothing, &mut Options::default()).unwrap().iterations, 0);
        // A singular system that has solutions: the Laplacian of a circle, and a right-hand side whose sum is zero.
        let n = 40u32;
        let circle = (0..n).flat_map(|i| [(i, (i + 1) % n, -1.0), (i, i, 2.0), (i, (i + n - 1) % n, -1.0)]);
        let circle = Csr::from_coo(40, 40, &circle.collect::<Vec<_>>()).unwrap();
        let b: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        for check_every in [1, 10, 45] {
            let mut options = Options { check_every, ..Options::default() };
            assert!(solve(&circle, &b, &mut options).unwrap().has_converged());
        }
        let e = solve(&a, &b, &mut Options::default()).unwrap_err();
        assert_eq!(e, Error::Dimension { what: "the length of b", found: 40, expected: 125 });
        let never = solve(&a, &wave(125), &mut Options { check_every: 0, ..Options::default() }).unwrap_err();
        assert!(never.to_string().contains("at least 1"));
        let bad = Csr::from_coo(2, 2, &[(0, 0, 1.0), (1, 0, 1.0)]).unwrap();
        assert!(matches!(Jacobi::new(&context, &bad), Err(Error::Option { .. })));
    }
}

#[test]
fn a_callback_sees_every_check_and_can_stop() {
    let a = poisson(6);
    for context in contexts_and_parts() {
        let (a, b) = (context.prepare(&a).unwrap(), context.upload(&wave(216)).unwrap());
        let (mut x, mut seen) = (a.zeros_x().unwrap(), vec![]);
        let mut options = Options { check_every: 5, relative: 1e-12, ..Options::default() };
        options.on_check(|progress| {
            seen.push((progress.iteration, progress.residual));
            if progress.iteration < 15 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let report = conjugate_gradient(&a, &b, &mut x, &mut options).unwrap();
        drop(options);
        assert_eq!((report.stop, report.iterations), (Stop::Asked, 15));
        assert_eq!(report.history, seen);
    }
}

#[test]
fn iterations_after_exact_convergence_change_nothing() {
    // Two eigenvalues: two iterations suffice, and the check comes after fifty.
    let a = Csr::from_coo(3, 3, &[(0, 0, 1.0f64), (1, 1, 1.0), (2, 2, 4.0)]).unwrap();
    for context in contexts_and_parts() {
        let (a, b) = (context.prepare(&a).unwrap(), context.upload(&[1.0, 2.0, 4.0]).unwrap());
        let mut x = a.zeros_x().unwrap();
        let mut options = Options { check_every: 50, ..Options::default() };
        let report = conjugate_gradient(&a, &b, &mut x, &mut options).unwrap();
        assert!(report.has_converged(), "{report:?}");
        let x = x.to_vec().unwrap();
        assert!((x[0] - 1.0).abs() + (x[1] - 2.0).abs() + (x[2] - 1.0).abs() < 1e-12, "{x:?}");
    }
}

#[test]
fn the_greatest_eigenvalue_is_found() {
    let a = poisson(4);
    let greatest = 6.0 + 6.0 * (std::f64::consts::PI / 5.0).cos();
    for context in contexts_and_parts() {
        let a = context.prepare(&a).unwrap();
        let mut x = context.upload(&wave(64)).unwrap();
        let mut options = Options { relative: 1e-7, max_iterations: 5000, ..Options::default() };
        let found = power_iteration(&a, &mut x, &mut options).unwrap();
        assert!(found.report.has_converged() && (found.value - greatest).abs() < 1e-6, "{found:?}");
        let mut zero = context.zeros(64).unwrap();
        assert!(matches!(
            power_iteration(&a, &mut zero, &mut Options::default()),
            Err(Error::Breakdown { why: Breakdown::NotFinite, .. })
        ));
    }
}

#[test]
fn ranks_are_those_of_a_dense_iteration() {
    let links: Vec<(u32, u32, f32)> = (0..50u32)
        .flat_map(|page| (0..page % 4).map(move |k| (page, (page * 7 + k * 13) % 50, 1.0)))
        .collect();
    let links = Csr::from_coo(50, 50, &links).unwrap();
    let mut expected = vec![0.02f64; 50];
    for _ in 0..200 {
        let mut next = vec![0.0; 50];
        let mut lost = 0.0;
        for (page, rank) in expected.iter().enumerate() {
            let to: Vec<u32> = links.row(page).map(|(to, _)| to).collect();
            to.iter().for_each(|page| next[*page as usize] += rank / to.len() as f64);
            lost += if to.is_empty() { *rank } else { 0.0 };
        }
        next.iter_mut().for_each(|rank| *rank = 0.85 * (*rank + lost / 50.0) + 0.15 / 50.0);
        expected = next;
    }
    for context in contexts_and_parts() {
        let links = Links::<f64>::new(&context, &links).unwrap();
        let mut ranks = context.zeros(50).unwrap();
        let mut options = Options { relative: 1e-12, ..Options::default() };
        assert!(page_rank(&links, 0.85, &mut ranks, &mut options).unwrap().has_converged());
        let ranks = ranks.to_vec().unwrap();
        let off = ranks.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12 && (ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{off}");
        assert!(page_rank(&links, 2.0, &mut context.zeros(50).unwrap(), &mut Options::default()).is_err());
    }
}
