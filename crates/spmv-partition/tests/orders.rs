//! Orders of rows and columns change where entries stand, never the product.

use proptest::prelude::*;
use spmv_core::{Csr, CsrView, oracle};
use spmv_partition::{PartitionError, Permutation, Ranges, Traffic, cut, permute, rcm};

/// A five-point stencil on a square grid whose nodes are numbered by multiples of `step` modulo their number.
fn grid(width: u32, step: u32) -> Csr<f64> {
    let n = width * width;
    let number = |x: u32, y: u32| (y * width + x) * step % n;
    let mut entries = Vec::new();
    for (y, x) in (0..width).flat_map(|y| (0..width).map(move |x| (y, x))) {
        entries.push((number(x, y), number(x, y), 4.0));
        for (right, down) in [(x + 1, y), (x, y + 1)].into_iter().filter(|(x, y)| *x < width && *y < width) {
            entries.push((number(x, y), number(right, down), -1.0));
            entries.push((number(right, down), number(x, y), -1.0));
        }
    }
    Csr::from_coo(n as usize, n as usize, &entries).unwrap()
}

fn bandwidth(a: CsrView<'_, f64>) -> usize {
    let of_row = |row| a.row(row).map(move |(col, _)| row.abs_diff(col as usize)).max().unwrap_or(0);
    (0..a.n_rows()).map(of_row).max().unwrap_or(0)
}

fn volume(a: CsrView<'_, f64>, ranges: &Ranges) -> u64 {
    Traffic::of(&cut(a, ranges, ranges).unwrap()).volume()
}

fn square(n: usize, entries: &[(u32, u32)]) -> Csr<f64> {
    let value = |at: usize| (at * 7 % 11) as f64 - 5.0;
    let entries = entries.iter().enumerate().filter(|_| n > 0);
    let entries = entries.map(|(at, (row, col))| (row % n.max(1) as u32, col % n.max(1) as u32, value(at)));
    Csr::from_coo(n, n, &entries.collect::<Vec<_>>()).unwrap()
}

fn check_product(a: &Csr<f64>, order: &Permutation) {
    let x: Vec<f64> = (0..a.n_cols()).map(|i| (i * 5 % 13) as f64 - 6.0).collect();
    let times = |a: &Csr<f64>, x: &[f64]| oracle::multiply(a.view(), 1.0, x, 0.0, &vec![0.0; x.len()]).y;
    let reordered = permute(a.view(), order).unwrap();
    let y = times(&reordered, &order.apply(&x).unwrap());
    assert_eq!(order.inverse().apply(&y).unwrap(), times(a, &x));
    assert_eq!(permute(reordered.view(), &order.inverse()).unwrap(), *a);
}

proptest! {
    #[test]
    fn rcm_of_any_matrix_is_an_order_and_keeps_the_product(
        n in 0usize..60,
        entries in prop::collection::vec(any::<(u32, u32)>(), 0..90),
    ) {
        let a = square(n, &entries);
        let order = rcm(a.view()).unwrap();
        prop_assert_eq!(order.len(), n);
        prop_assert_eq!(&order, &rcm(a.view()).unwrap());
        check_product(&a, &order);
    }
}

#[test]
fn rcm_finds_the_band_of_a_shuffled_grid() {
    let shuffled = grid(30, 469);
    let band = permute(shuffled.view(), &rcm(shuffled.view()).unwrap()).unwrap();
    let natural = grid(30, 1);
    assert!(bandwidth(shuffled.view()) > 400, "{}", bandwidth(shuffled.view()));
    assert!(bandwidth(band.view()) <= bandwidth(natural.view()), "{}", bandwidth(band.view()));
    let ranges = Ranges::even(900, 4);
    assert!(volume(band.view(), &ranges) <= volume(natural.view(), &ranges));
}

#[test]
fn rcm_of_a_path_follows_it_from_end_to_end() {
    // Every node but the ends has two neighbours, so only the search of the rim finds an end first.
    let n = 101u32;
    let path: Vec<_> = (0..n - 1).map(|i| (i * 37 % n, (i + 1) * 37 % n)).collect();
    let a = square(n as usize, &path);
    assert_eq!(bandwidth(permute(a.view(), &rcm(a.view()).unwrap()).unwrap().view()), 1);
}

#[test]
fn rcm_keeps_components_together() {
    // Two rings and three nodes alone, numbered in turn.
    let ring = |first: u32| (0..10).map(move |i| (first + 2 * i, first + 2 * ((i + 1) % 10)));
    let a = square(23, &ring(0).chain(ring(1)).collect::<Vec<_>>());
    let order = rcm(a.view()).unwrap();
    let components: Vec<u32> =
        order.order().iter().map(|node| if *node < 20 { node % 2 } else { *node }).collect();
    let runs = components.chunk_by(|a, b| a == b).map(<[u32]>::len);
    assert_eq!(runs.collect::<Vec<_>>(), [10, 10, 1, 1, 1]);
}

#[test]
fn orders_of_matrices_that_are_not_square_are_refused() {
    let wide = Csr::<f64>::from_coo(2, 3, &[]).unwrap();
    assert_eq!(rcm(wide.view()), Err(PartitionError::NotSquare { n_rows: 2, n_cols: 3 }));
}

#[cfg(feature = "metis")]
mod by_metis {
    use spmv_partition::metis;

    use super::*;

    #[test]
    fn parts_of_a_shuffled_grid_are_even_and_have_few_ghosts() {
        let a = grid(40, 603);
        let (order, ranges) = metis(a.view(), 4, 1).unwrap();
        check_product(&a, &order);
        let parts = cut(permute(a.view(), &order).unwrap().view(), &ranges, &ranges).unwrap();
        let traffic = Traffic::of(&parts);
        // Four squares of 20 x 20 receive 160 values.
        assert!(traffic.volume() < 200, "{}", traffic.volume());
        assert!(traffic.imbalance() < 1.05, "{}", traffic.imbalance());
        assert!(volume(a.view(), &Ranges::even(1600, 4)) > 1000);
        assert_eq!((order, ranges), metis(a.view(), 4, 1).unwrap());
    }

    #[test]
    fn matrices_that_leave_no_choice_keep_their_order() {
        let diagonal = square(6, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
        let (empty, a) = (square(0, &[]), square(4, &[(0, 1), (1, 2), (2, 3)]));
        for (a, parts) in [(&diagonal, 3), (&empty, 3), (&empty, 1), (&a, 1), (&a, 4), (&a, 9)] {
            let (order, ranges) = metis(a.view(), parts, 1).unwrap();
            assert_eq!(order, Permutation::identity(a.n_rows()));
            assert_eq!((ranges.n_parts(), ranges.len()), (parts, a.n_rows() as u64));
        }
        assert_eq!(metis(a.view(), 0, 1), Err(PartitionError::NoParts { rows: 4 }));
        let wide = Csr::<f64>::from_coo(2, 3, &[]).unwrap();
        assert_eq!(metis(wide.view(), 2, 1), Err(PartitionError::NotSquare { n_rows: 2, n_cols: 3 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_matrix_in_any_number_of_parts_keeps_the_product(
            n in 0usize..60,
            entries in prop::collection::vec(any::<(u32, u32)>(), 0..90),
            parts in 1usize..20,
        ) {
            let a = square(n, &entries);
            let (order, ranges) = metis(a.view(), parts, 1).unwrap();
            prop_assert_eq!((ranges.n_parts(), ranges.len()), (parts, n as u64));
            check_product(&a, &order);
        }
    }
}
