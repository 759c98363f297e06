//! GMRES, MINRES, LSMR and pipelined conjugate gradients.

use spmv::{Context, Csr, DeviceScalar, Queue, Real, Scalar, Value, Vector};
use spmv_solvers::{
    BlockJacobi, Breakdown, ConjugateGradient, Error, Gmres, Jacobi, Minres, Options,
    PipelinedConjugateGradient, Preconditioner, Report, Stop, gmres, lsmr, minres,
    pipelined_conjugate_gradient,
};

use crate::systems::{
    contexts, convection, multiplied, norm, poisson, residual, shifted, transposed_product, wave,
};

fn why(e: Result<Report<f64>, Error>) -> Breakdown {
    match e {
        Err(Error::Breakdown { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// The Laplacian of a circle: singular, and consistent where the sum of the right-hand side is zero.
fn circle(n: u32) -> Csr<f64> {
    let of_point = |i| [(i, (i + 1) % n, -1.0), (i, i, 2.0), (i, (i + n - 1) % n, -1.0)];
    Csr::from_coo(n as usize, n as usize, &(0..n).flat_map(of_point).collect::<Vec<_>>()).unwrap()
}

/// Times a number: no preconditioner if that is negative.
struct Times(f64);

impl Preconditioner<f64> for Times {
    fn apply(
        &self,
        queue: &mut Queue,
        r: &Vector<f64>,
        z: &mut Vector<f64>,
        rz: DeviceScalar<f64>,
    ) -> spmv::Result<()> {
        queue.axpby_dot_with(self.0, r, 0.0, z, r, rz)
    }
}

#[test]
fn gmres_solves_what_is_not_symmetric() {
    let a = convection(7);
    let b = wave(a.n_rows());
    for context in contexts() {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let (m, blocks) = (Jacobi::new(&context, &a).unwrap(), BlockJacobi::new(&context, &a, 7).unwrap());
        // Above 62 the queue has not enough scalars for all columns of a cycle at a time.
        let ways = [(30, 25), (100, 7), (1, 1), (5, 4), (30, 1), (30, 90), (100, 100)];
        // Elsewhere the same steps take longer.
        let n_ways = if context.backend() == spmv::BackendKind::Cpu { ways.len() } else { 2 };
        for (restart, check_every) in ways.into_iter().take(n_ways) {
            let options =
                || Options { relative: 1e-9, check_every, max_iterations: 3000, ..Options::default() };
            let mut method = Gmres::new(&prepared, restart).unwrap();
            let mut x = prepared.zeros_x().unwrap();
            let report = method.solve(&prepared, &on_b, &mut x, &mut options()).unwrap();
            let found = residual(&a, &x.to_vec().unwrap(), &b);
            assert!(report.has_converged() && found < 1.01e-9, "{} {restart}: {found}", context.backend());
            // The residual that is reported is that of x.
            assert!((report.residual / norm(&b) - found).abs() < 1e-12, "{report:?}");
            for _ in 0..2 {
                x.fill(0.5).unwrap();
                let report = method.solve_with(&prepared, &m, &on_b, &mut x, &mut options()).unwrap();
                assert!(report.has_converged() && residual(&a, &x.to_vec().unwrap(), &b) < 1.01e-9);
            }
            x.fill(0.0).unwrap();
            let with_blocks = method.solve_with(&prepared, &blocks, &on_b, &mut x, &mut options()).unwrap();
            assert!(with_blocks.has_converged() && residual(&a, &x.to_vec().unwrap(), &b) < 1.01e-9);
        }
        // As many iterations as there are unknowns: exact.
        let rotation = Csr::from_coo(2, 2, &[(0, 1, -1.0), (1, 0, 1.0)]).unwrap();
        let (rotation, b) = (context.prepare(&rotation).unwrap(), context.upload(&[1.0, 0.0]).unwrap());
        let mut x = rotation.zeros_x().unwrap();
        assert!(gmres(&rotation, 9, &b, &mut x, &mut Options::default()).unwrap().has_converged());
        assert_eq!(x.to_vec().unwrap().map_abs(), [0.0, 1.0]);
    }
}

trait MapAbs {
    fn map_abs(self) -> Vec<f64>;
}

impl MapAbs for Vec<f64> {
    fn map_abs(self) -> Vec<f64> {
        self.into_iter().map(f64::abs).collect()
    }
}

#[test]
fn gmres_stops_with_what_it_has() {
    let a = convection(6);
    let b = wave(a.n_rows());
    for context in contexts() {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let mut x = prepared.zeros_x().unwrap();
        let mut before = 1.0;
        for max_iterations in [1, 8, 10, 13] {
            x.fill(0.0).unwrap();
            let mut options = Options { max_iterations, ..Options::default() };
            let report = gmres(&prepared, 10, &on_b, &mut x, &mut options).unwrap();
            assert_eq!((report.stop, report.iterations), (Stop::MaxIterations, max_iterations));
            let found = residual(&a, &x.to_vec().unwrap(), &b);
            assert!(found < before && (report.residual / norm(&b) - found).abs() < 1e-12, "{report:?}");
            before = found;
        }
        assert!(Gmres::new(&prepared, 0).is_err() && Gmres::new(&prepared, 4000).is_err());
        let zero = Csr::from_coo(2, 2, &[]).unwrap();
        let half = Csr::from_coo(2, 2, &[(0, 0, 1.0)]).unwrap();
        for a in [zero, half] {
            let (a, b) = (context.prepare(&a).unwrap(), context.upload(&[1.0, 1.0]).unwrap());
            let e = gmres(&a, 5, &b, &mut a.zeros_x().unwrap(), &mut Options::default());
            assert_eq!(why(e), Breakdown::Singular);
        }
        let nan = context.upload(&vec![f64::NAN; a.n_rows()]).unwrap();
        assert_eq!(why(gmres(&prepared, 5, &nan, &mut x, &mut Options::default())), Breakdown::NotFinite);
        x.fill(0.0).unwrap();
        let nothing = prepared.zeros_y().unwrap();
        assert_eq!(gmres(&prepared, 5, &nothing, &mut x, &mut Options::default()).unwrap().iterations, 0);
    }
}

#[test]
fn minres_solves_what_is_indefinite() {
    let a = shifted(&poisson(7), -2.5);
    let b = wave(a.n_rows());
    for context in contexts() {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let m = Jacobi::new(&context, &a).unwrap();
        for check_every in [1, 10, 33] {
            let options = || Options { relative: 1e-8, check_every, ..Options::default() };
            let mut method = Minres::new(&prepared).unwrap();
            let mut x = prepared.zeros_x().unwrap();
            for _ in 0..2 {
                x.fill(-0.25).unwrap();
                let report = method.solve(&prepared, &on_b, &mut x, &mut options()).unwrap();
                let found = residual(&a, &x.to_vec().unwrap(), &b);
                assert!(report.has_converged() && found < 1.1e-8, "{} {found}", context.backend());
                // Residuals never grow.
                assert!(report.history.windows(2).all(|two| two[1].1 <= two[0].1), "{report:?}");
                x.fill(0.0).unwrap();
                let report = method.solve_with(&prepared, &m, &on_b, &mut x, &mut options()).unwrap();
                let found = residual(&a, &x.to_vec().unwrap(), &b);
                assert!(report.has_converged() && found < 1.1e-8, "{} {found}", context.backend());
                assert!((report.residual / norm(&b) - found).abs() < 1e-10, "{report:?}");
            }
            let bad = method.solve_with(&prepared, &Times(-1.0), &on_b, &mut x, &mut options());
            assert_eq!(why(bad), Breakdown::PreconditionerNotPositiveDefinite);
        }
    }
}

#[test]
fn minres_solves_singular_systems_that_have_solutions() {
    for context in contexts() {
        let solve = |a: &Csr<f64>, b: &[f64], options: &mut Options<'_, f64>| {
            let (a, b) = (context.prepare(a).unwrap(), context.upload(b).unwrap());
            minres(&a, &b, &mut a.zeros_x().unwrap(), options)
        };
        let b: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let mean = b.iter().sum::<f64>() / 40.0;
        let b: Vec<f64> = b.into_iter().map(|b| b - mean).collect();
        for check_every in [1, 10, 45] {
            let mut options = Options { check_every, ..Options::default() };
            assert!(solve(&circle(40), &b, &mut options).unwrap().has_converged());
        }
        for (a, b) in [
            (Csr::from_coo(2, 2, &[]).unwrap(), vec![1.0, 1.0]),
            (Csr::from_coo(2, 2, &[(0, 0, 1.0)]).unwrap(), vec![1.0, 1.0]),
            (circle(40), vec![1.0; 40]),
            (circle(40), b.iter().map(|b| b + 1.0).collect()),
        ] {
            let options = || Options { check_every: 1, max_iterations: 200, ..Options::default() };
            match solve(&a, &b, &mut options()) {
                Err(Error::Breakdown { why: Breakdown::Singular, .. }) => {}
                // Rounding errors may hide it, but never so that it seems to have converged.
                Ok(report) => assert_eq!(report.stop, Stop::MaxIterations),
                other => panic!("{other:?}"),
            }
        }
        let zero = Csr::from_coo(2, 2, &[]).unwrap();
        assert_eq!(why(solve(&zero, &[1.0, 1.0], &mut Options::default())), Breakdown::Singular);
        let mut b = wave(125);
        let a = poisson(5);
        let report = solve(&a, &b, &mut Options { max_iterations: 3, ..Options::default() }).unwrap();
        assert_eq!((report.stop, report.iterations), (Stop::MaxIterations, 3));
        assert_eq!(solve(&a, &[0.0; 125], &mut Options::default()).unwrap().iterations, 0);
        b[3] = f64::NAN;
        assert_eq!(why(solve(&a, &b, &mut Options::default())), Breakdown::NotFinite);
    }
}

/// Some entries of each row; the last column is twice the first, if it shall.
fn tall(n_rows: usize, n_cols: usize, is_deficient: bool) -> Csr<f64> {
    let value = |row: usize, k: usize| ((row * 7 + k * 13) % 17) as f64 - 8.0;
    let rows = (0..n_rows).map(|row| {
        let mut entries: Vec<(u32, f64)> =
            (0..4).map(|k| (((row * 3 + k * k * 5 + k) % (n_cols - 1)) as u32, value(row, k))).collect();
        entries.push((row as u32 % (n_cols as u32 - 1), 20.0));
        entries.sort_by_key(|(col, _)| *col);
        let of_first: f64 = entries.iter().filter(|(col, _)| *col == 0).map(|(_, value)| value).sum();
        let last = if is_deficient { 2.0 * of_first } else { value(row, 9) };
        entries.push((n_cols as u32 - 1, last));
        entries
    });
    Csr::from_rows(n_cols, rows).unwrap()
}

/// A^T*(b - A*x), over A^T*b.
fn normal_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let left: Vec<f64> = multiplied(a, x).iter().zip(b).map(|(ax, b)| b - ax).collect();
    norm(&transposed_product(a, &left)) / norm(&transposed_product(a, b))
}

#[test]
fn lsmr_finds_least_squares_of_any_shape_and_rank() {
    let relative = 1e-10;
    for context in contexts() {
        for (n_rows, n_cols, is_deficient) in
            [(90, 20, false), (90, 20, true), (30, 30, false), (15, 60, false)]
        {
            let a = tall(n_rows, n_cols, is_deficient);
            let b = wave(n_rows);
            let of = context.prepare_with_transpose(&a, &spmv::Options::default()).unwrap();
            let on_b = context.upload(&b).unwrap();
            let mut solutions = vec![];
            for check_every in [1, 10, 200] {
                let mut x = context.zeros(n_cols).unwrap();
                let mut options = Options { relative, check_every, ..Options::default() };
                let report = lsmr(&of, of.transposed().unwrap(), &on_b, &mut x, &mut options).unwrap();
                let x = x.to_vec().unwrap();
                let found = normal_residual(&a, &x, &b);
                assert!(
                    report.has_converged() && found < 2.0 * relative,
                    "{n_rows}x{n_cols} {is_deficient} {check_every}: {found} {report:?}"
                );
                assert!(report.history.windows(2).all(|two| two[1].1 <= two[0].1), "{report:?}");
                solutions.push(x);
            }
            if is_deficient {
                // The shortest solution: what is twice the first column has twice its share.
                let x = &solutions[0];
                assert!((x[n_cols - 1] - 2.0 * x[0]).abs() < 1e-7 * norm(x), "{x:?}");
            }
            // From another x on: also a least squares solution.
            let mut x = context.upload(&vec![1.0; n_cols]).unwrap();
            let mut options = Options { relative, ..Options::default() };
            assert!(
                lsmr(&of, of.transposed().unwrap(), &on_b, &mut x, &mut options).unwrap().has_converged()
            );
            assert!(normal_residual(&a, &x.to_vec().unwrap(), &b) < 2.0 * relative);
        }
    }
}

#[test]
fn lsmr_reports_what_it_cannot_solve() {
    for context in contexts() {
        let a = tall(40, 10, false);
        let of = context.prepare_with_transpose(&a, &spmv::Options::default()).unwrap();
        let mut b = wave(40);
        let solve = |b: &[f64], options: &mut Options<'_, f64>| {
            let mut x = context.zeros(10).unwrap();
            lsmr(&of, of.transposed().unwrap(), &context.upload(b).unwrap(), &mut x, options)
        };
        let report = solve(&b, &mut Options { max_iterations: 2, ..Options::default() }).unwrap();
        assert_eq!((report.stop, report.iterations), (Stop::MaxIterations, 2));
        // Nothing to do: no right-hand side, and one that is orthogonal to all columns.
        assert_eq!(solve(&[0.0; 40], &mut Options::default()).unwrap().iterations, 0);
        b[7] = f64::INFINITY;
        assert_eq!(why(solve(&b, &mut Options::default())), Breakdown::NotFinite);
        let e = solve(&b[..39], &mut Options::default()).unwrap_err();
        assert_eq!(e, Error::Dimension { what: "the length of b", found: 39, expected: 40 });
        let mut x = context.zeros(10).unwrap();
        let b = context.zeros(40).unwrap();
        let e = lsmr(&of, &of, &b, &mut x, &mut Options::default()).unwrap_err();
        assert!(matches!(e, Error::Dimension { what: "the number of rows of the transpose", .. }), "{e}");
        let zero = Csr::<f64>::from_coo(40, 10, &[]).unwrap();
        let zero = context.prepare_with_transpose(&zero, &spmv::Options::default()).unwrap();
        let b = context.upload(&[1.0; 40]).unwrap();
        let report = lsmr(&zero, zero.transposed().unwrap(), &b, &mut x, &mut Options::default()).unwrap();
        assert_eq!((report.stop, report.iterations), (Stop::Converged, 0));
    }
}

#[test]
fn pipelined_conjugate_gradients_take_the_steps_of_conjugate_gradients() {
    let a = poisson(8);
    let b = wave(a.n_rows());
    for context in contexts() {
        let (prepared, on_b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let m = BlockJacobi::new(&context, &a, 8).unwrap();
        let options = || Options { relative: 1e-8, check_every: 1, ..Options::default() };
        let mut x = prepared.zeros_x().unwrap();
        let plain = ConjugateGradient::new(&prepared)
            .unwrap()
            .solve(&prepared, &on_b, &mut x, &mut options())
            .unwrap();
        let with = ConjugateGradient::new(&prepared)
            .unwrap()
            .solve_with(&prepared, &m, &on_b, &mut prepared.zeros_x().unwrap(), &mut options())
            .unwrap();
        assert!(with.iterations < plain.iterations);
        let mut method = PipelinedConjugateGradient::new(&prepared).unwrap();
        for _ in 0..2 {
            x.fill(0.0).unwrap();
            let report = method.solve(&prepared, &on_b, &mut x, &mut options()).unwrap();
            assert!(report.has_converged() && residual(&a, &x.to_vec().unwrap(), &b) < 1.1e-8, "{report:?}");
            assert!(report.iterations.abs_diff(plain.iterations) <= 1, "{report:?}");
            x.fill(0.0).unwrap();
            let report = method.solve_with(&prepared, &m, &on_b, &mut x, &mut options()).unwrap();
            assert!(report.has_converged() && residual(&a, &x.to_vec().unwrap(), &b) < 1.1e-8, "{report:?}");
            assert!(report.iterations.abs_diff(with.iterations) <= 1, "{report:?}");
        }
        // Iterations after exact convergence change nothing.
        let two = Csr::from_coo(3, 3, &[(0, 0, 1.0f64), (1, 1, 1.0), (2, 2, 4.0)]).unwrap();
        let (two, on_b) = (context.prepare(&two).unwrap(), context.upload(&[1.0, 2.0, 4.0]).unwrap());
        let mut x = two.zeros_x().unwrap();
        let mut options = Options { check_every: 50, ..Options::default() };
        let report = pipelined_conjugate_gradient(&two, &on_b, &mut x, &mut options).unwrap();
        assert!(report.has_converged(), "{report:?}");
        let x = x.to_vec().unwrap();
        assert!((x[0] - 1.0).abs() + (x[1] - 2.0).abs() + (x[2] - 1.0).abs() < 1e-12, "{x:?}");
        let indefinite = Csr::from_coo(2, 2, &[(0, 0, 1.0), (1, 1, -2.0)]).unwrap();
        let (indefinite, b) = (context.prepare(&indefinite).unwrap(), context.upload(&[1.0, 1.0]).unwrap());
        let mut x = indefinite.zeros_x().unwrap();
        let mut once = Options { check_every: 1, ..Options::default() };
        let e = pipelined_conjugate_gradient(&indefinite, &b, &mut x, &mut once);
        assert_eq!(why(e), Breakdown::NotPositiveDefinite);
    }
}

#[test]
fn single_precision_converges_as_far_as_it_can() {
    fn solve<T: Scalar<Accum = T> + Real>(context: &Context, a: &Csr<f64>) -> Vec<Vec<f64>> {
        let b: Vec<T> = wave(a.n_rows()).into_iter().map(T::from_f64).collect();
        let a = a.map_values(T::from_f64);
        let of = context.prepare_with_transpose(&a, &spmv::Options::default()).unwrap();
        let (a, b) = (context.prepare(&a).unwrap(), context.upload(&b).unwrap());
        let mut x = a.zeros_x().unwrap();
        let mut solutions = vec![];
        let mut keep = |report: Report<T>, x: &mut Vector<T>| {
            assert!(report.has_converged(), "{report:?}");
            solutions.push(x.to_vec().unwrap().into_iter().map(Value::widen).collect());
            x.fill(T::zero()).unwrap();
        };
        keep(gmres(&a, 30, &b, &mut x, &mut Options::default()).unwrap(), &mut x);
        keep(minres(&a, &b, &mut x, &mut Options::default()).unwrap(), &mut x);
        keep(pipelined_conjugate_gradient(&a, &b, &mut x, &mut Options::default()).unwrap(), &mut x);
        keep(lsmr(&of, of.transposed().unwrap(), &b, &mut x, &mut Options::default()).unwrap(), &mut x);
        solutions
    }
    let a = poisson(6);
    for context in contexts() {
        for x in solve::<f32>(&context, &a) {
            assert!(residual(&a, &x, &wave(a.n_rows())) < 1e-2, "{}", context.backend());
        }
    }
}

#[test]
fn blocks_that_have_no_inverse_are_refused() {
    for context in contexts() {
        let a = Csr::from_coo(
            4,
            4,
            &[(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (2, 3, 2.0), (3, 2, 2.0), (3, 3, 4.0)],
        );
        let a = a.unwrap();
        let e = BlockJacobi::<f64>::new(&context, &a, 2).unwrap_err();
        assert!(e.to_string().contains("first row of a singular block is 2"), "{e}");
        assert!(
            BlockJacobi::<f64>::new(&context, &a, 1).is_ok()
                && BlockJacobi::<f64>::new(&context, &a, 0).is_err()
        );
        let wide = Csr::<f64>::from_coo(2, 3, &[(0, 0, 1.0)]).unwrap();
        assert!(BlockJacobi::new(&context, &wide, 2).is_err());
    }
}
