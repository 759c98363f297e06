use spmv_core::{Csr, RowStats};

use super::*;

/// Sorted unique columns and values of the promised size in every row.
fn check(a: Result<Csr<f64>, GenerateError>) -> Csr<f64> {
    let a = a.unwrap();
    for row in 0..a.n_rows() {
        let cols: Vec<u32> = a.row(row).map(|(col, _)| col).collect();
        assert!(cols.windows(2).all(|w| w[0] < w[1]), "row {row}: {cols:?}");
    }
    assert!(a.vals().iter().all(|v| (0.1..1.0).contains(&v.abs())));
    a
}

fn lens(a: &Csr<f64>) -> Vec<u32> {
    a.row_ptr().windows(2).map(|w| w[1] - w[0]).collect()
}

const MIXED: ColumnModel = ColumnModel::Mixed { near: 0.5, half_width: 3, hubs: 0.3, exponent: 1.5 };
const BLOCKS: ColumnModel = ColumnModel::Blocks { block: 3, run: 2, half_width: 4 };
const BAND: ColumnModel = ColumnModel::Band { half_width: 5 };

#[test]
fn every_model_holds_every_length_from_none_to_all() {
    for model in [ColumnModel::Uniform, BAND, BLOCKS, MIXED] {
        for n_cols in [1usize, 2, 3, 7, 64, 100] {
            let wanted: Vec<u32> = (0..=n_cols as u32).collect();
            let a = check(from_row_lengths(&wanted, n_cols, model, 5));
            assert_eq!(lens(&a), wanted, "{model:?}");
        }
    }
}

#[test]
fn matrices_without_rows_or_columns_are_generated() {
    for model in [ColumnModel::Uniform, BAND, BLOCKS, MIXED] {
        assert_eq!(check(from_row_lengths(&[], 5, model, 0)).n_cols(), 5);
        assert_eq!(check(from_row_lengths(&[0, 0], 0, model, 0)).n_rows(), 2);
    }
    assert_eq!(check(grid_2d(0, 3, Stencil::Star, 0)).n_rows(), 0);
    assert_eq!(check(lattice(&[3, 0], 2, 0)).n_rows(), 0);
    assert_eq!(check(diagonal(0, 0)).n_rows(), 0);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let generate = || power_law_rows(20_000, 20_000, 1, 5_000, 1.8, 9).unwrap();
    let on = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(generate);
    assert_eq!(on(1), on(5));
    assert_ne!(on(1), power_law_rows(20_000, 20_000, 1, 5_000, 1.8, 10).unwrap());
}

#[test]
fn families_have_square_matrices_of_every_size_and_mean() {
    for family in Family::ALL {
        for (n, mean) in [(10, 3), (30, 8), (500, 60), (1, 1), (0, 1)] {
            // No power law begins above where it ends.
            if family == Family::Skewed && n < 4 {
                assert!(family.matrix(n, mean, 1).is_err());
                continue;
            }
            let a = check(family.matrix(n, mean, 1));
            assert_eq!((a.n_rows(), a.n_cols()), (n, n), "{family}");
        }
        assert!(matches!(family.matrix(10, 0, 1), Err(GenerateError::Parameter { name: "mean", .. })));
    }
}

#[test]
fn values_have_both_signs_about_equally() {
    let a = check(uniform_rows(1000, 1000, 5, 15, 3));
    let negative = a.vals().iter().filter(|v| **v < 0.0).count();
    assert!((4 * a.nnz() / 10..6 * a.nnz() / 10).contains(&negative));
}

#[test]
fn row_lengths_follow_their_model() {
    let s = RowStats::of(check(uniform_rows(5000, 900, 2, 8, 1)).view());
    assert!((s.min, s.max) == (2, 8) && (s.mean - 5.0).abs() < 0.1, "{s:?}");
    let s = RowStats::of(check(normal_rows(5000, 900, 30.0, 5.0, 1)).view());
    assert!((s.mean - 30.0).abs() < 0.3 && (s.std_dev - 5.0).abs() < 0.3, "{s:?}");
    let s = RowStats::of(check(power_law_rows(5000, 900, 1, 800, 2.0, 1)).view());
    assert!(s.min == 1 && s.max > 200 && (6.0..11.0).contains(&s.mean), "{s:?}");
}

#[test]
fn grids_have_their_stencil_inside_and_less_at_the_edge() {
    let a = check(grid_3d(3, 4, 5, Stencil::Star, 0));
    let s = RowStats::of(a.view());
    assert_eq!((s.n_rows, s.min, s.max), (60, 4, 7));
    assert_eq!(a.row(0).map(|e| e.0).collect::<Vec<_>>(), [0, 1, 3, 12]);
    let s = RowStats::of(check(grid_3d(3, 4, 5, Stencil::Box, 0)).view());
    assert_eq!((s.min, s.max), (8, 27));
    let s = RowStats::of(check(grid_2d(4, 4, Stencil::Star, 0)).view());
    assert_eq!((s.nnz, s.min, s.max), (64, 3, 5));
}

#[test]
fn rows_of_a_node_share_their_columns() {
    let a = check(fem(200, 6, 9, 20, 4));
    assert_eq!(lens(&a), [60; 1200]);
    for node in 0..200 {
        let of = |row| a.row(row).map(|e| e.0).collect::<Vec<_>>();
        assert!((1..6).all(|k| of(node * 6) == of(node * 6 + k)), "node {node}");
        assert!(of(node * 6).iter().all(|c| (*c as usize / 6).abs_diff(node) <= 20));
    }
}

#[test]
fn lattices_close_on_themselves() {
    let a = check(lattice(&[3, 3], 1, 0));
    assert_eq!(a.row(0).map(|e| e.0).collect::<Vec<_>>(), [0, 1, 2, 3, 6]);
    assert_eq!(lens(&check(lattice(&[2, 1], 1, 0))), [2, 2]);
}

#[test]
fn dense_and_empty_rows_stand_where_they_should() {
    assert_eq!(lens(&check(dense_row(4, 9, 2, 1, 0))), [1, 1, 9, 1]);
    assert_eq!(lens(&check(empty_rows(4, 9, EmptyRows::Leading(3), 2, 0))), [0, 0, 0, 2]);
    assert_eq!(lens(&check(empty_rows(4, 9, EmptyRows::Trailing(9), 2, 0))), [0; 4]);
    let a = check(empty_rows(1000, 9, EmptyRows::Random(0.25), 2, 0));
    assert!((200..300).contains(&RowStats::of(a.view()).empty));
}

#[test]
fn hubs_draw_their_share() {
    let model = ColumnModel::Mixed { near: 0.0, half_width: 0, hubs: 0.5, exponent: 2.0 };
    let a = check(from_row_lengths(&[9; 2000], 2000, model, 1));
    let mut count = vec![0; 2000];
    a.cols().iter().for_each(|&c| count[c as usize] += 1);
    // 8 of 9 entries are drawn, half of them for hubs, half of those for the first one.
    assert!(*count.iter().max().unwrap() > 1400);
}

#[test]
fn wrong_arguments_are_named_with_their_numbers() {
    let message = |r: Result<Csr<f64>, GenerateError>| r.unwrap_err().to_string();
    assert_eq!(
        message(from_row_lengths(&[1, 5], 4, ColumnModel::Uniform, 0)),
        "row 1 shall hold 5 entries, but there are 4 columns"
    );
    assert_eq!(
        message(from_row_lengths(&[1 << 31; 2], 1 << 31, ColumnModel::Uniform, 0)),
        "4294967296 entries are more than the 4294967295 that u32 row offsets count"
    );
    assert_eq!(message(fem(5, 3, 5, 9, 0)), "row 0 shall hold 18 entries, but there are 15 columns");
    assert_eq!(message(fem(5, 0, 1, 9, 0)), "block or run is 0; it must be at least 1");
    assert_eq!(
        message(diagonal(1 << 33, 0)),
        "8589934592 rows are more than the 4294967295 that u32 indices count"
    );
    assert_eq!(message(dense_row(3, 3, 3, 1, 0)), "dense row is 3; it must be less than the number of rows");
}
