use spmv_core::{Csr, RowStats};

use super::*;
use crate::suite::{self, checksum};

#[test]
fn names_are_unique_and_say_how_many_nonzeros() {
    assert!(ENTRIES.iter().filter(|entry| entry.nnz <= 100_000_000).count() >= 40);
    for (at, entry) in ENTRIES.iter().enumerate() {
        let (kind, size) = entry.name.rsplit_once('-').unwrap();
        assert!(kind.is_ascii() && size.parse::<f64>().unwrap() as usize == entry.nnz, "{}", entry.name);
        assert!(ENTRIES[..at].iter().all(|other| other.name != entry.name), "{}", entry.name);
        assert!(suite::find(entry.name).is_none(), "{}", entry.name);
    }
}

#[test]
fn every_kind_has_a_matrix_in_each_size() {
    let kinds = |nnz| -> Vec<&str> {
        let of_size = ENTRIES.iter().filter(|entry| entry.nnz == nnz);
        of_size.map(|entry| entry.name.rsplit_once('-').unwrap().0).collect()
    };
    let smallest = kinds(100_000);
    assert!([1_000_000, 10_000_000, 100_000_000].iter().all(|nnz| kinds(*nnz) == smallest));
    assert_eq!(kinds(1_000_000_000), ["stencil7", "fem3", "random16"]);
}

/// Of every matrix up to 10^6 nonzeros; with `SPMV_FULL` up to 10^7.
#[test]
fn every_matrix_has_about_its_nonzeros_and_sorted_unique_columns() {
    let most = if std::env::var_os("SPMV_FULL").is_some() { 10_000_000 } else { 1_000_000 };
    ENTRIES.iter().filter(|entry| entry.nnz <= most).for_each(check);
}

#[test]
#[ignore = "takes minutes and 4 GB of memory; run it after a change to a recipe"]
fn so_has_every_matrix_of_1e8() {
    ENTRIES.iter().filter(|entry| entry.nnz == 100_000_000).for_each(check);
}

fn check(entry: &Entry) {
    let start = std::time::Instant::now();
    let a = entry.generate().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let s = RowStats::of(a.view());
    println!(
        "{:15} {} x {}, {} nonzeros, rows {}/{:.1}/{}, deviation {:.1}, {seconds:.3} s",
        entry.name, s.n_rows, s.n_cols, s.nnz, s.min, s.mean, s.max, s.std_dev
    );
    assert!(s.nnz.abs_diff(entry.nnz) * 10 <= entry.nnz, "{}: {}", entry.name, s.nnz);
    for row in 0..a.n_rows() {
        let cols = &a.cols()[a.view().row_range(row)];
        assert!(cols.is_sorted_by(|a, b| a < b), "{}, row {row}", entry.name);
    }
    let is_constant = a.vals().iter().all(|v| *v == a.vals()[0] || *v == -1.0);
    assert_eq!(is_constant, entry.class == Class::Stencil, "{}", entry.name);
}

fn generate(name: &str) -> Csr<f64> {
    find(name).unwrap().generate().unwrap()
}

fn rows(name: &str) -> RowStats {
    RowStats::of(generate(name).view())
}

/// The farthest that an entry is from the diagonal.
fn bandwidth(a: &Csr<f64>) -> usize {
    let of_row = |row: usize| a.row(row).map(move |(col, _)| row.abs_diff(col as usize)).max();
    (0..a.n_rows()).filter_map(of_row).max().unwrap()
}

#[test]
fn stencils_have_their_points_in_a_row() {
    let longest = ["stencil5-1e5", "stencil7-1e5", "stencil27-1e5"].map(|name| rows(name).max);
    assert_eq!(longest, [5, 7, 27]);
}

#[test]
fn rows_of_a_node_have_the_same_columns() {
    for (name, unknowns) in [("fem3-1e5", 3), ("fem6-1e5", 6)] {
        let a = generate(name);
        let cols = |row: usize| &a.cols()[a.view().row_range(row)];
        assert!((0..a.n_rows()).all(|row| cols(row) == cols(row / unknowns * unknowns)), "{name}");
        assert!(cols(0).len().is_multiple_of(unknowns), "{name}");
    }
}

#[test]
fn streaming_matrices_keep_to_the_diagonal() {
    for (name, widest) in [("band-1e6", 32), ("sparse-band-1e6", 1000), ("blocks-1e6", 63)] {
        let found = bandwidth(&generate(name));
        assert!((widest * 9 / 10..=widest).contains(&found), "{name}: {found}");
    }
    for entry in ENTRIES.iter().filter(|entry| entry.nnz == 100_000) {
        let a = entry.generate().unwrap();
        let is_near = bandwidth(&a) < a.n_rows() / 5;
        assert_eq!(is_near, entry.class.is_streaming(), "{}: {}", entry.name, bandwidth(&a));
    }
}

#[test]
fn out_degrees_in_degrees_or_both_follow_a_power_law() {
    let is_skewed = |a: &Csr<f64>| {
        let s = RowStats::of(a.view());
        s.max as f64 > 50.0 * s.mean
    };
    for (name, by_rows, by_columns) in
        [("power-out-1e5", true, false), ("power-in-1e5", false, true), ("rmat-1e5", true, true)]
    {
        let a = generate(name);
        assert_eq!((is_skewed(&a), is_skewed(&a.transpose())), (by_rows, by_columns), "{name}");
    }
}

#[test]
fn constraints_are_wide_or_tall_and_transposes_are_of_the_same_matrix() {
    for (name, transpose) in [
        ("lp-wide-1e5", "lp-wide-t-1e5"),
        ("lp-tall-1e5", "lp-tall-t-1e5"),
        ("power-out-1e5", "power-in-1e5"),
    ] {
        assert_eq!(generate(name).transpose(), generate(transpose), "{name}");
    }
    let (wide, tall) = (rows("lp-wide-1e6"), rows("lp-tall-1e6"));
    assert!(wide.n_cols > 50 * wide.n_rows && wide.min > 100, "{wide:?}");
    assert!(tall.n_rows >= 5 * tall.n_cols && tall.max <= 6, "{tall:?}");
}

/// A matrix that changes is another benchmark, and archived times are of the old one.
#[test]
fn matrices_have_the_same_bits_as_ever() {
    let found: Vec<(&str, u64)> = ENTRIES
        .iter()
        .filter(|entry| entry.nnz == 100_000)
        .map(|entry| (entry.name, checksum(&entry.generate().unwrap())))
        .collect();
    for (name, sum) in &found {
        println!("    (\"{name}\", {sum:#018x}),");
    }
    assert_eq!(found, CHECKSUMS);
}

const CHECKSUMS: [(&str, u64); 18] = [
    ("stencil5-1e5", 0x6d0d_0ee3_2cdb_91eb),
    ("stencil7-1e5", 0x5926_0caa_5a5d_389b),
    ("stencil27-1e5", 0x2da0_b264_2db4_bf68),
    ("fem3-1e5", 0xc9af_819e_b477_7ee1),
    ("fem6-1e5", 0xe19c_5702_18ae_4891),
    ("band-1e5", 0xf974_d6be_8875_f02f),
    ("sparse-band-1e5", 0x51c8_308f_a1a8_341f),
    ("blocks-1e5", 0x8e29_06da_58e1_f2d2),
    ("random4-1e5", 0xb374_ec14_d3fa_7921),
    ("random16-1e5", 0x114e_02de_3cd5_701b),
    ("power-out-1e5", 0x98ea_031e_a8ff_62fb),
    ("power-in-1e5", 0x48f1_ca54_f6a5_2d08),
    ("rmat-1e5", 0x395d_52a8_e388_200c),
    ("lp-wide-1e5", 0x278f_a42b_e9f4_7bf7),
    ("lp-wide-t-1e5", 0x2044_37bc_0a7c_49d8),
    ("lp-tall-1e5", 0xf870_fba6_682f_1c7f),
    ("lp-tall-t-1e5", 0xfeee_043c_a1b7_040f),
    ("circuit-1e5", 0xf8c9_35f4_81df_afe6),
];

#[test]
fn the_number_of_threads_changes_no_bit() {
    for name in ["stencil27-1e5", "blocks-1e5", "rmat-1e5", "circuit-1e5"] {
        let on = |n| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(n)
                .build()
                .unwrap()
                .install(|| checksum(&generate(name)))
        };
        assert_eq!(on(1), on(5), "{name}");
    }
}
