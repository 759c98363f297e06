//! Products and solvers of matrices that the processes have together, against one process.

use spmv::parts::{Peers, Ranges};
use spmv::plan::Tiling;
use spmv::{BackendKind, BlockShape, Context, Csr, Dtype, Matrix, Scalar, Vector, by_dtype, oracle};
use spmv_conformance::{Share, compare, corpus, input, number, same_bits};
use spmv_mpi::{DistMatrix, MpiPeers};
use spmv_solvers::{Links, Options, Report, page_rank};

/// The CPU, with one thread.
fn device() -> Context {
    Context::with(BackendKind::Cpu).expect("a CPU")
}

fn own<V: Clone>(values: &[V], rows: std::ops::Range<u64>) -> Vec<V> {
    values[rows.start as usize..rows.end as usize].to_vec()
}

/// Rows by nonzeros, or all of the last process, so that the others have none.
fn ranges(a: &Csr<f64>, turn: usize, size: usize) -> Ranges {
    match turn % 3 {
        0 => Ranges::by_nonzeros(a.row_ptr(), size).expect("offsets of a matrix"),
        1 => Ranges::even(a.n_rows() as u64, size),
        _ => {
            let mut offsets = vec![0; size + 1];
            offsets[size] = a.n_rows() as u64;
            Ranges::new(offsets).expect("none decreases")
        }
    }
}

fn check<T: Scalar>(
    peers: &MpiPeers,
    context: &Context,
    case: &corpus::Case,
    turn: usize,
    scalings: &[(f64, f64)],
) {
    let a = case.matrix.map_values(number::<T>);
    let given = (peers.rank() == 0).then(|| (a.view(), ranges(&case.matrix, turn, peers.size())));
    let dist = DistMatrix::scatter(context, peers, 0, given).expect("a matrix");
    let x: Vec<T> = (0..a.n_cols()).map(|i| number(case.x(i))).collect();
    let own_x = context.upload(&own(&x, dist.own_cols())).expect("memory");
    for &(alpha, beta) in scalings {
        let old = |i| if beta == 0.0 { number(f64::NAN) } else { number(input(i, case.exact)) };
        let old: Vec<T::Accum> = (0..a.n_rows()).map(old).collect();
        let reference = oracle::multiply(a.view(), number(alpha), &x, number(beta), &old);
        let run = || {
            let mut y = context.upload(&own(&old, dist.own_rows()))?;
            dist.apply(number(alpha), &own_x, number(beta), &mut y)?;
            y.to_vec()
        };
        let (first, again) = (run().expect("a product"), run().expect("a product"));
        let words = |e: String| panic!("{}, alpha {alpha}, beta {beta}: {e}\n{}", case.name, dist.explain());
        same_bits("the second run", &first, &again).unwrap_or_else(words);
        if let Some(y) = peers.gather(0, &first).expect("a gather") {
            compare(&reference, case.exact, &y).unwrap_or_else(words);
        }
    }
}

/// Every group of the corpus, in every type of values in turn.
pub(crate) fn corpus(peers: &MpiPeers) {
    let context = peers.context(&device()).expect("one device");
    let tiling = Tiling::new(32, 4, 2, 1).expect("a valid tiling");
    for (turn, (_, matrices)) in corpus::groups().into_iter().enumerate() {
        let share = Share::of(turn + peers.size());
        let group = matrices(&tiling, share);
        // Rows with ghosts are scaled in two pieces.
        for (i, case) in group.cases.iter().enumerate().filter(|(_, case)| !case.whole_rows) {
            let scalings = group.scalings.unwrap_or_else(|| share.scalings(i, group.cases.len()));
            for dtype in share.next(i).part(&Dtype::ALL, Dtype::ALL.len()) {
                by_dtype!(dtype, T => check::<T>(peers, &context, case, turn + i, scalings));
            }
        }
    }
}

/// Products with several right-hand sides are, column by column, those with one: in both orders, as many columns as before and others.
pub(crate) fn blocks(peers: &MpiPeers) {
    let context = peers.context(&device()).expect("one device");
    let a = poisson(9, 0.2);
    for turn in 0..3 {
        let given = (peers.rank() == 0).then(|| (a.view(), ranges(&a, turn, peers.size())));
        let rows = spmv_mpi::scatter(peers, 0, given).expect("rows");
        let plan = spmv::Options { blocks: true, ..spmv::Options::default() };
        let dist = DistMatrix::from_local_rows(&context, peers, rows, &plan).expect("a matrix");
        let (own_rows, own_cols) = (dist.own_rows(), dist.own_cols());
        let n = |range: &std::ops::Range<u64>| (range.end - range.start) as usize;
        let orders = [BlockShape::row_major, BlockShape::column_major];
        for (columns, order) in [(3, 0), (3, 1), (5, 1), (5, 0), (1, 0)] {
            let (of_x, of_y) =
                (orders[order](n(&own_cols), columns), orders[1 - order](n(&own_rows), columns));
            let value = |i: u64, column: usize| input(i as usize + 3 * column, false);
            let mut x = vec![0.0; of_x.len()];
            for (row, i) in own_cols.clone().enumerate() {
                (0..columns).for_each(|column| x[of_x.index(row, column)] = value(i, column));
            }
            let x = context.upload_block(&x, of_x).expect("memory");
            let mut y = context.zeros_block(of_y).expect("memory");
            dist.apply_block(2.0, &x, 0.0, &mut y).expect("a product");
            let y = y.vector().to_vec().expect("values");
            for column in 0..columns {
                let x: Vec<f64> = (0..a.n_cols() as u64).map(|i| value(i, column)).collect();
                let expected = oracle::multiply(a.view(), 2.0, &x, 0.0, &vec![0.0; a.n_rows()]).y;
                for (row, i) in own_rows.clone().enumerate() {
                    let (found, expected) = (y[of_y.index(row, column)], expected[i as usize]);
                    assert!((found - expected).abs() < 1e-12, "row {i}, column {column}: {found} {expected}");
                }
            }
        }
    }
}

/// 2-D Poisson, not quite symmetric if `skew` is not 0.
fn poisson(n: u32, skew: f64) -> Csr<f64> {
    let entries = (0..n * n).flat_map(|row| {
        let (i, j) = (row / n, row % n);
        let near = [(i > 0, -(n as i64)), (j > 0, -1), (j + 1 < n, 1), (i + 1 < n, n as i64)];
        let near = near.into_iter().filter(|(is, _)| *is).map(move |(_, step)| {
            let value = -1.0 + skew * step.signum() as f64;
            (row, (i64::from(row) + step) as u32, value)
        });
        near.chain([(row, row, 4.1)])
    });
    Csr::from_coo((n * n) as usize, (n * n) as usize, &entries.collect::<Vec<_>>()).expect("valid")
}

type Solve = fn(
    &Matrix<f64>,
    &Vector<f64>,
    &mut Vector<f64>,
    &mut Options<'_, f64>,
) -> spmv_solvers::Result<Report<f64>>;

/// The solvers of `spmv-solvers`, as they are, find what they find in one process.
pub(crate) fn solvers(peers: &MpiPeers) {
    let solvers: [(&str, f64, Solve); 5] = [
        ("cg", 0.0, |a, b, x, o| spmv_solvers::conjugate_gradient(a, b, x, o)),
        ("pipelined cg", 0.0, |a, b, x, o| spmv_solvers::pipelined_conjugate_gradient(a, b, x, o)),
        ("minres", 0.0, |a, b, x, o| spmv_solvers::minres(a, b, x, o)),
        ("bicgstab", 0.2, |a, b, x, o| spmv_solvers::bicgstab(a, b, x, o)),
        ("gmres", 0.2, |a, b, x, o| spmv_solvers::gmres(a, 20, b, x, o)),
    ];
    let context = peers.context(&device()).expect("one device");
    for (name, skew, solve) in solvers {
        let a = poisson(23, skew);
        let given = (peers.rank() == 0).then(|| (a.view(), ranges(&a, 0, peers.size())));
        let dist = DistMatrix::scatter(&context, peers, 0, given).expect("a matrix");
        let exact: Vec<f64> = (0..a.n_cols()).map(|i| input(i, false)).collect();
        let b = oracle::multiply(a.view(), 1.0, &exact, 0.0, &vec![0.0; a.n_rows()]).y;
        let run = || {
            let b = context.upload(&own(&b, dist.own_rows()))?;
            let mut x = dist.zeros_x()?;
            let report = solve(&dist, &b, &mut x, &mut Options { relative: 1e-10, ..Options::default() })?;
            assert!(report.has_converged(), "{name}: {report:?}");
            Ok::<_, spmv_solvers::Error>((x.to_vec()?, report.iterations))
        };
        let (x, iterations) = run().expect(name);
        let (again, _) = run().expect(name);
        same_bits("the second run", &x, &again).expect(name);
        peers.agree_on("iterations", iterations as u64).expect("the same everywhere");
        for (found, exact) in x.iter().zip(own(&exact, dist.own_cols())) {
            assert!((found - exact).abs() < 1e-6, "{name}: {found} {exact}");
        }
    }
}

/// Ranks of pages are those of one process.
pub(crate) fn pages(peers: &MpiPeers) {
    let n = 40u32;
    // Page 7 has no links.
    let links = (0..n).filter(|i| *i != 7).flat_map(|i| (1..4).map(move |k| (i, (i * k + k * k) % n)));
    let mut links: Vec<(u32, u32)> = links.collect();
    links.dedup();
    let lengths = |i: u32| links.iter().filter(|(from, _)| *from == i).count();
    let entries: Vec<_> = links.iter().map(|(i, j)| (*j, *i, 1.0 / lengths(*i) as f64)).collect();
    let transition = Csr::from_coo(n as usize, n as usize, &entries).expect("valid");
    let dangling: Vec<f64> = (0..n).map(|i| f64::from(u8::from(lengths(i) == 0))).collect();
    let ranks = |context: &Context, p: Matrix<f64>, dangling: &[f64]| {
        let links = Links::of_transition(p, dangling).expect("links");
        let mut x = context.zeros(dangling.len()).expect("memory");
        page_rank(&links, 0.85, &mut x, &mut Options { relative: 1e-12, ..Options::default() })
            .expect("ranks");
        x.to_vec().expect("ranks")
    };
    let one = device();
    let expected = ranks(&one, one.prepare(&transition).expect("a matrix"), &dangling);
    let context = peers.context(&one).expect("one device");
    let given = (peers.rank() == 0).then(|| (transition.view(), Ranges::even(u64::from(n), peers.size())));
    let dist = DistMatrix::scatter(&context, peers, 0, given).expect("a matrix");
    let rows = dist.own_rows();
    let found = ranks(&context, dist.into_matrix(), &own(&dangling, rows.clone()));
    for (found, expected) in found.iter().zip(own(&expected, rows)) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

/// The transpose is that of one process, and least squares of both solve what they solve there.
pub(crate) fn transposed(peers: &MpiPeers) {
    let context = peers.context(&device()).expect("one device");
    let a = poisson(9, 0.2);
    let given = (peers.rank() == 0).then(|| (a.view(), ranges(&a, 1, peers.size())));
    let own = spmv_mpi::scatter(peers, 0, given).expect("rows");
    let columns = ranges(&a, 0, peers.size());
    let transposed = spmv_mpi::transpose(peers, &own, columns.clone()).expect("a transpose");
    let expected = a.view().transpose();
    let here = columns.range(peers.rank());
    assert_eq!(transposed.rows.n_rows() as u64, here.end - here.start);
    for (at, row) in here.clone().enumerate() {
        let ends = &transposed.rows.row_ptr()[at..at + 2];
        let entries = (ends[0] as usize..ends[1] as usize)
            .map(|e| (transposed.rows.cols()[e], transposed.rows.vals()[e]));
        let expected = expected.row(row as usize).map(|(col, val)| (u64::from(col), val));
        assert!(entries.eq(expected), "row {row}");
    }
    let strange = Ranges::even(3, peers.size());
    let e = spmv_mpi::transpose(peers, &own, strange).expect_err("other ranges").to_string();
    assert!(e.contains("ranges of 3 columns"), "{e}");
    let plan = spmv::Options::default();
    let back = spmv_mpi::transpose(peers, &transposed, own.ranges.clone()).expect("a transpose");
    assert_eq!(back, own);
    let exact: Vec<f64> = (0..a.n_cols()).map(|i| input(i, false)).collect();
    let b = oracle::multiply(a.view(), 1.0, &exact, 0.0, &vec![0.0; a.n_rows()]).y;
    // Both cut alike, as vectors are.
    let even = own.ranges.clone();
    let transposed = spmv_mpi::transpose(peers, &own, even).expect("a transpose");
    let of =
        |rows| DistMatrix::from_local_rows(&context, peers, rows, &plan).expect("a matrix").into_matrix();
    let rows = own.ranges.range(peers.rank());
    let (a, transposed) = (of(own), of(transposed));
    let b = context.upload(&self::own(&b, rows.clone())).expect("memory");
    let mut x = a.zeros_x().expect("memory");
    let mut options = Options { relative: 1e-12, ..Options::default() };
    let report = spmv_solvers::lsmr(&a, &transposed, &b, &mut x, &mut options).expect("a solution");
    assert!(report.has_converged(), "{report:?}");
    for (found, exact) in x.to_vec().expect("values").iter().zip(self::own(&exact, rows)) {
        assert!((found - exact).abs() < 1e-5, "{found} {exact}");
    }
}
