use std::fs;

use spmv_core::RowStats;

use super::*;

/// The table's facts, sorted unique columns and the same bits as ever, for every entry; without `SPMV_FULL`, for every small one and some.
#[test]
fn every_matrix_has_the_table_s_shape_and_its_own_bits() {
    let mut wrong = Vec::new();
    let all = std::env::var_os("SPMV_FULL").is_some();
    let entries = ENTRIES.iter().chain(&TAN_2019_QUASI_DIAGONAL).chain(&TAN_2019_TETRIS).chain(&GAO_2016);
    for (_, entry) in entries.enumerate().filter(|(at, entry)| all || entry.nnz < 1_000_000 || at % 6 == 0) {
        let start = std::time::Instant::now();
        let a = entry.generate().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let s = RowStats::of(a.view());
        assert_eq!(
            (s.n_rows, s.n_cols, s.nnz, s.min, s.max),
            (entry.rows, entry.cols, entry.nnz, entry.row_min as usize, entry.row_max as usize),
            "{}",
            entry.name
        );
        for row in 0..a.n_rows() {
            let cols = &a.cols()[a.view().row_range(row)];
            assert!(cols.windows(2).all(|w| w[0] < w[1]), "{}, row {row}", entry.name);
        }
        assert!(a.vals().iter().all(|v| (0.1..=1.0).contains(&v.abs())), "{}", entry.name);
        let found = checksum(&a);
        println!("{:16} {seconds:6.3} s, {found:#018x}, deviation {:.1}", entry.name, s.std_dev);
        if found != entry.checksum {
            wrong.push(entry.name);
        }
    }
    assert_eq!(wrong, [""; 0], "a twin that changes is another benchmark: see the checksums above");
}

#[test]
fn names_are_unique_and_found() {
    for (i, entry) in ENTRIES.iter().enumerate() {
        assert_eq!(find(entry.name).unwrap().checksum, entry.checksum);
        assert!(ENTRIES[..i].iter().all(|e| e.name != entry.name && e.checksum != entry.checksum));
    }
}

#[test]
fn names_of_another_paper_s_tables_are_unique_too() {
    let names: Vec<_> = TAN_2019_QUASI_DIAGONAL
        .iter()
        .chain(&TAN_2019_TETRIS)
        .chain(&GAO_2016)
        .map(|entry| entry.name)
        .collect();
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name) && ENTRIES.iter().all(|entry| entry.name != *name), "{name}");
    }
}

/// gamma_t has no partner spins, so only its 3 of 39 entries lack a mirror image: gamma_5 exchanges them.
#[test]
fn the_wilson_matrix_is_symmetric_but_for_the_time_direction() {
    let a = find("qcd5_4").unwrap().generate().unwrap();
    let has = |row: u32, col: u32| a.cols()[a.view().row_range(row as usize)].binary_search(&col).is_ok();
    for row in (0..a.n_rows() as u32).step_by(97) {
        assert!(!has(row, row));
        assert_eq!(a.row(row as usize).filter(|(col, _)| has(*col, row)).count(), 36, "row {row}");
    }
}

#[test]
fn the_epidemic_s_rates_never_cancel_its_diagonal() {
    let a = find("mc2depi").unwrap().generate().unwrap();
    for row in 0..a.n_rows() {
        let sum: f64 = a.row(row).map(|(_, rate)| rate).sum();
        assert!((-0.95..-0.25).contains(&sum), "row {row}: {sum}");
    }
    assert_eq!(a.row(0).map(|e| e.0).collect::<Vec<_>>(), [0, 1025]);
    assert_eq!(a.row(1026).map(|e| e.0).collect::<Vec<_>>(), [2, 1025, 1026, 2050]);
}

/// A directory that is gone when the test ends, also by a panic.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("spmv-io-{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing to do about a directory that stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_cached_matrix_comes_back_bit_by_bit() {
    let dir = Scratch::new("cache");
    let entry = find("mc2depi").unwrap();
    let first = entry.load_from(None, Some(&dir.0)).unwrap();
    let second = entry.load_from(None, Some(&dir.0)).unwrap();
    assert_eq!(first.source, Source::Generated);
    assert_eq!(second.source, Source::Cache(dir.0.join("mc2depi.csr")));
    assert_eq!(first.matrix, second.matrix);

    fs::write(dir.0.join("mc2depi.csr"), "damage").unwrap();
    let third = entry.load_from(None, Some(&dir.0)).unwrap();
    let fourth = entry.load_from(None, Some(&dir.0)).unwrap();
    assert_eq!((third.source, fourth.source), (Source::Generated, second.source));
    assert_eq!(fourth.matrix, first.matrix);
    let files: Vec<_> = fs::read_dir(&dir.0).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["mc2depi.csr"]);
}

#[test]
fn stale_truncated_and_damaged_files_are_not_trusted() {
    let dir = Scratch::new("damage");
    let path = dir.0.join("small.csr");
    let a = crate::generate::uniform_rows(50, 40, 0, 9, 1).unwrap();
    let sum = checksum(&a);
    cache::write(&path, &a, sum).unwrap();
    assert_eq!(cache::read(&path, sum), Some(a));
    assert_eq!(cache::read(&path, sum ^ 1), None);

    let good = fs::read(&path).unwrap();
    let check = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        assert_eq!(cache::read(&path, sum), None, "{what}");
    };
    for len in 0..good.len() {
        check(&good[..len], &format!("cut to {len} bytes"));
    }
    check(&[&good[..], &[0]].concat(), "one byte more");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        check(&bad, &format!("byte {at} changed"));
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(cache::read(&path, sum), None);
}

#[test]
fn an_original_on_disk_replaces_the_twin() {
    let dir = Scratch::new("original");
    fs::create_dir(dir.0.join("cant")).unwrap();
    let file = dir.0.join("cant/cant.mtx");
    fs::write(&file, "%%MatrixMarket matrix coordinate real general\n62451 62451 1\n3 5 0.5\n").unwrap();
    let loaded = find("cant").unwrap().load_from(Some(&dir.0), None).unwrap();
    assert!(!loaded.twin);
    assert_eq!(loaded.source, Source::File(file));
    assert_eq!(loaded.matrix.row(2).collect::<Vec<_>>(), [(4, 0.5)]);

    let elsewhere = find("dense2").unwrap().load_from(Some(&dir.0), None).unwrap();
    assert_eq!(elsewhere.source, Source::Generated);
}

#[test]
fn a_wrong_or_broken_original_is_an_error() {
    let dir = Scratch::new("wrong");
    let file = dir.0.join("conf5_4-8x8-05.mtx");
    let load = || find("qcd5_4").unwrap().load_from(Some(&dir.0), None).unwrap_err();
    fs::write(&file, "%%MatrixMarket matrix coordinate real general\n3 2 1\n3 1 0.5\n").unwrap();
    assert_eq!(
        load().to_string(),
        format!(
            "{} is 3 x 2, but qcd5_4 is 49152 x 49152; remove the file or get the original",
            file.display()
        )
    );
    fs::write(&file, "no matrix").unwrap();
    assert!(matches!(load(), SuiteError::Original { .. }));
}
