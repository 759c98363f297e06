//! Products by parts are the product of the whole matrix, and parts hold what their rows say.

use proptest::prelude::*;
use spmv_core::{Csr, CsrView, Value, bf16, f16, oracle};
use spmv_partition::{LocalRows, Part, PartitionError, Ranges, cut};

/// Small integers, so that sums are exact in any order.
fn value<T: Value>(seed: usize) -> T {
    T::from_f64((seed * 7 % 11) as f64 - 5.0)
}

fn vector<T: Value>(n: usize) -> Vec<T> {
    (0..n).map(|i| value(i * i + 3)).collect()
}

/// Multiplies by parts: values are packed, handed over and multiplied as halos say.
fn product<T: Value<Wide = f64>>(parts: &[Part<T>], x: &[T]) -> Vec<f64> {
    let own = |part: &Part<T>| x[part.cols().start as usize..part.cols().end as usize].to_vec();
    let mut y = Vec::new();
    for part in parts {
        let mut ghosts = vec![None; part.ghosts().len()];
        for receive in part.needs() {
            let owner = &parts[receive.from];
            let mut to_this = owner.halo().sends.iter().filter(|send| send.to == part.index());
            let sent = to_this.next().expect("the owner sends what is received");
            let packed = sent.values.iter().map(|at| Some(own(owner)[*at as usize]));
            ghosts[receive.ghosts.clone()].copy_from_slice(&packed.collect::<Vec<_>>());
        }
        let ghosts: Vec<T> =
            ghosts.into_iter().map(|ghost| ghost.expect("every ghost is received")).collect();
        let times = |a: &Csr<T, u64>, x: &[T]| {
            let y = vec![T::from_f64(f64::NAN).to_accum(); a.n_rows()];
            oracle::multiply(a.view(), 1.0, x, 0.0, &y).y
        };
        let mut of_part = times(part.local(), &own(part));
        let boundary = times(part.remote(), &ghosts);
        for (row, sum) in part.boundary_rows().iter().zip(boundary) {
            of_part[*row as usize] += sum;
        }
        y.extend(of_part);
    }
    y
}

fn check<T: Value<Wide = f64>>(a: CsrView<'_, T, u32>, rows: &Ranges, cols: &Ranges) {
    let parts = cut(a, rows, cols).unwrap();
    assert_eq!(parts.len(), rows.n_parts());
    let x = vector::<T>(a.n_cols());
    let y = vec![T::default().to_accum(); a.n_rows()];
    assert_eq!(product(&parts, &x), oracle::multiply(a, 1.0, &x, 0.0, &y).y);
    for part in &parts {
        check_entries(a, part);
        check_halo(part, &parts);
    }
}

/// Each row is the row of the matrix without the entries of others, and those alone, both in the order of the matrix.
fn check_entries<T: Value>(a: CsrView<'_, T, u32>, part: &Part<T>) {
    let cols = part.cols();
    let mut boundary = 0;
    for (row, global) in part.rows().enumerate() {
        let entries = || a.row(global as usize).map(|(col, val)| (u64::from(col), val));
        let own: Vec<_> = entries().filter(|(col, _)| cols.contains(col)).collect();
        let local = part.local().row(row).map(|(col, val)| (u64::from(col) + cols.start, val));
        assert_eq!(local.collect::<Vec<_>>(), own);
        let others: Vec<_> = entries().filter(|(col, _)| !cols.contains(col)).collect();
        if others.is_empty() {
            continue;
        }
        assert_eq!(part.boundary_rows()[boundary], row as u32);
        let remote = part.remote().row(boundary).map(|(col, val)| (part.ghosts()[col as usize], val));
        assert_eq!(remote.collect::<Vec<_>>(), others);
        boundary += 1;
    }
    assert_eq!(part.boundary_rows().len(), boundary);
    assert!(part.ghosts().is_sorted_by(|a, b| a < b));
}

fn check_halo<T: Value>(part: &Part<T>, parts: &[Part<T>]) {
    let halo = part.halo();
    assert_eq!(halo.n_ghosts(), part.ghosts().len());
    assert!(halo.receives.is_sorted_by(|a, b| a.from < b.from && a.ghosts.end == b.ghosts.start));
    assert!(halo.sends.is_sorted_by(|a, b| a.to < b.to));
    for send in &halo.sends {
        let sent: Vec<u64> = send.values.iter().map(|at| u64::from(*at) + part.cols().start).collect();
        assert_eq!(sent, parts[send.to].requests(part.index()));
        assert!(!sent.is_empty());
    }
    let requested: usize = parts.iter().map(|other| other.requests(part.index()).len()).sum();
    assert_eq!(requested, halo.n_sent());
}

fn matrix<T: Value>(n_rows: usize, n_cols: usize, lengths: &[usize], seed: usize) -> Csr<T> {
    let mut at = seed;
    let mut next = || {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at >> 33
    };
    let rows = (0..n_rows).map(|row| {
        let length = if n_cols == 0 { 0 } else { lengths[row % lengths.len()] };
        (0..length).map(|_| ((next() % n_cols) as u32, value(next() % 1000))).collect::<Vec<_>>()
    });
    Csr::from_rows(n_cols, rows).unwrap()
}

/// Ranges that end at given rows, in any order.
fn at(n: usize, parts: usize, ends: &[usize]) -> Ranges {
    let mut offsets: Vec<u64> = (1..parts).map(|p| (ends[p % ends.len()] * p % (n + 1)) as u64).collect();
    offsets.extend([0, n as u64]);
    offsets.sort_unstable();
    Ranges::new(offsets).unwrap()
}

proptest! {
    #[test]
    fn random_matrices_by_any_ranges_give_the_product(
        (n_rows, n_cols) in (0usize..40, 0usize..40),
        lengths in prop::collection::vec(0usize..9, 1..8),
        seed in any::<usize>(),
        parts in prop::sample::select(vec![1usize, 2, 3, 4, 7]),
        ends in prop::collection::vec(any::<u16>().prop_map(usize::from), 1..7),
    ) {
        let a = matrix::<f64>(n_rows, n_cols, &lengths, seed);
        let (even_rows, even_cols) = (Ranges::even(n_rows as u64, parts), Ranges::even(n_cols as u64, parts));
        let (any_rows, any_cols) = (at(n_rows, parts, &ends), at(n_cols, parts, &ends));
        check(a.view(), &even_rows, &even_cols);
        check(a.view(), &any_rows, &any_cols);
        check(a.view(), &any_rows, &even_cols);
    }
}

#[test]
fn every_value_type_gives_the_product() {
    fn of<T: Value<Wide = f64>>() {
        let a = matrix::<T>(23, 23, &[0, 3, 5], 1);
        check(a.view(), &Ranges::even(23, 4), &Ranges::even(23, 4));
    }
    of::<f16>();
    of::<bf16>();
    of::<f32>();
    of::<f64>();
}

#[test]
fn ghosts_from_everybody_are_received_of_everybody() {
    let dense = Csr::from_dense(7, 7, &[1.0f32; 49]).unwrap();
    let ranges = Ranges::even(7, 7);
    check(dense.view(), &ranges, &ranges);
    for part in cut(dense.view(), &ranges, &ranges).unwrap() {
        assert_eq!((part.halo().receives.len(), part.halo().sends.len()), (6, 6));
        assert_eq!((part.remote().nnz(), part.ghosts().len()), (6, 6));
    }
}

#[test]
fn more_parts_than_rows_and_parts_without_rows_or_columns_give_the_product() {
    let a = matrix::<f32>(3, 5, &[2, 4], 9);
    check(a.view(), &Ranges::even(3, 7), &Ranges::even(5, 7));
    // Rows without columns and columns without rows.
    let (rows, cols) = (Ranges::new(vec![0, 3, 3, 3]).unwrap(), Ranges::new(vec![0, 0, 2, 5]).unwrap());
    check(a.view(), &rows, &cols);
    let parts = cut(a.view(), &rows, &cols).unwrap();
    assert_eq!((parts[0].local().nnz(), parts[0].remote().nnz()), (0, a.nnz()));
    assert!(parts[1].halo().receives.is_empty() && parts[1].halo().n_sent() > 0);
}

#[test]
fn matrices_without_rows_columns_or_entries_are_cut() {
    for (n_rows, n_cols) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
        let a = Csr::<f64>::from_coo(n_rows, n_cols, &[]).unwrap();
        check(a.view(), &Ranges::even(n_rows as u64, 3), &Ranges::even(n_cols as u64, 3));
    }
}

#[test]
fn one_part_has_no_ghosts_and_its_rows_are_the_matrix() {
    let a = matrix::<f64>(9, 6, &[3, 0, 2], 4);
    let parts = cut(a.view(), &Ranges::even(9, 1), &Ranges::even(6, 1)).unwrap();
    assert_eq!(*parts[0].local(), a.with_offsets::<u64>().unwrap());
    assert_eq!(parts[0].halo(), &Default::default());
}

/// An array of global length would take 8 PB.
#[test]
fn a_part_of_10_to_the_15_rows_takes_its_own_rows_alone() {
    let n = 1_000_000_000_000_000u64;
    let ranges = Ranges::new(vec![0, 10, 12, n - 3_000_000_000, n]).unwrap();
    let rows = LocalRows::new(n, vec![0, 2, 4], vec![n - 1, 11, n / 2, n - 2], vec![1.0f32; 4]);
    let part = Part::new(1, &ranges, &ranges, rows.unwrap());
    let too_many = PartitionError::TooMany { part: 2, what: "rows", n: n - 3_000_000_012 };
    let part = part.unwrap().with_sends([(3, [10, 11])]).unwrap();
    assert_eq!(part.ghosts(), [n / 2, n - 2, n - 1]);
    assert_eq!((part.requests(2), part.requests(3)), (&[n / 2][..], &[n - 2, n - 1][..]));
    assert_eq!(part.halo().sends[0].values, [0, 1]);
    let none = LocalRows::<f32>::new(n, vec![0], vec![], vec![]).unwrap();
    assert_eq!(Part::new(2, &ranges, &ranges, none), Err(too_many));
}

#[test]
fn what_does_not_belong_together_is_refused_with_its_numbers() {
    let rows = |n: usize| LocalRows::<f32>::new(4, vec![0; n + 1], vec![], vec![]).unwrap();
    let message =
        |index, own: &Ranges, cols: &Ranges, n| Part::new(index, own, cols, rows(n)).unwrap_err().to_string();
    let (two, three) = (Ranges::even(4, 2), Ranges::even(4, 3));
    assert!(message(0, &two, &three, 2).starts_with("rows are partitioned among 2 parts, columns among 3"));
    assert_eq!(message(2, &two, &two, 2), "there is no part 2 in a partition of 2; indices begin with 0");
    assert_eq!(message(1, &two, &two, 1), "part 1 owns 2 rows, 2 to before 4, but 1 were given");
    let five = Ranges::even(5, 2);
    assert!(message(0, &two, &five, 2).starts_with("the ranges hold 5 columns, the matrix has 4"));
    let wide = Ranges::new(vec![0, 1 << 32]).unwrap();
    let none = LocalRows::<f32>::new(1 << 32, vec![0], vec![], vec![]).unwrap();
    let too_many = PartitionError::TooMany { part: 0, what: "columns", n: 1 << 32 };
    assert_eq!(Part::new(0, &Ranges::even(0, 1), &wide, none), Err(too_many));

    let a = Csr::<f32>::from_coo(4, 4, &[]).unwrap();
    let shape = |axis| PartitionError::Shape { axis, ranges: 5, matrix: 4 };
    assert_eq!(cut(a.view(), &five, &two), Err(shape("rows")));
    assert_eq!(cut(a.view(), &two, &five), Err(shape("columns")));
    assert_eq!(cut(a.view(), &two, &three), Err(PartitionError::Partitions { rows: 2, cols: 3 }));
}

#[test]
fn requests_that_a_part_cannot_serve_are_refused() {
    let ranges = Ranges::even(6, 3);
    let part = || {
        let rows = LocalRows::<f32>::new(6, vec![0; 3], vec![], vec![]).unwrap();
        Part::new(1, &ranges, &ranges, rows).unwrap()
    };
    let refused = |requests: &[(usize, &[u64])]| part().with_sends(requests.iter().copied()).unwrap_err();
    assert_eq!(
        refused(&[(0, &[2, 4])]).to_string(),
        "part 0 requests column 4 of part 1, which owns 2 to before 4; all parts must use the same ranges"
    );
    assert_eq!(refused(&[(1, &[2])]), PartitionError::Receiver { part: 1, to: 1, parts: 3 });
    assert_eq!(refused(&[(3, &[2])]), PartitionError::Receiver { part: 1, to: 3, parts: 3 });
    assert_eq!(refused(&[(2, &[2]), (2, &[3])]), PartitionError::RequestedTwice { part: 1, to: 2 });
    // In ascending order of receivers, whatever the order of requests; an empty list is none.
    let served = part().with_sends([(2, vec![3]), (0, vec![3, 2])]).unwrap();
    let sends: Vec<_> = served.halo().sends.iter().map(|send| (send.to, send.values.clone())).collect();
    assert_eq!(sends, [(0, vec![1, 0]), (2, vec![1])]);
    assert!(part().with_sends([(0, [])]).unwrap().halo().sends.is_empty());
}
