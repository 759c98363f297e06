//! Real files: those in `tests/data`, and a larger folder that `SPMV_MATRICES` names. Each has an
//! `INDEX.tsv` that says what must be found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use spmv_core::Csr;
use spmv_io::matrix_market::{ErrorKind, Field, Reader, Symmetry, read_header};

fn check(folder: &Path) {
    let index = std::fs::read_to_string(folder.join("INDEX.tsv")).expect("an INDEX.tsv");
    let mut lines = index.lines();
    let columns: Vec<&str> = lines.next().expect("a head line").split('\t').collect();
    let mut files = 0;
    for line in lines {
        let facts: HashMap<&str, &str> = columns.iter().copied().zip(line.split('\t')).collect();
        let number = |name: &str| facts[name].parse::<usize>().expect("a number");
        let name = facts["name"];
        let path = folder.join(format!("{name}.mtx.gz"));
        let header = read_header(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((header.rows as usize, header.cols as usize), (number("rows"), number("cols")), "{name}");
        assert_eq!(header.entries as usize, number("stored_entries"), "{name}");
        if header.field == Field::Complex {
            let e = Reader::new().read::<f64, u32>(&path).unwrap_err();
            assert_eq!(e.kind(), &ErrorKind::Complex, "{name}");
        }
        let reader = Reader::new().real_part(true);
        let a: Csr<f64, u64> = reader.read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let lens: Vec<u64> = a.row_ptr().windows(2).map(|w| w[1] - w[0]).collect();
        // Duplicates are counted in the file, and summed in the matrix; none lies on a diagonal.
        let mirrored = if header.symmetry == Symmetry::General { 1 } else { 2 };
        assert_eq!(a.nnz() + mirrored * number("duplicates"), number("expanded_nnz"), "{name}: entries");
        assert_eq!(lens.iter().filter(|l| **l == 0).count(), number("empty_rows"), "{name}: empty rows");
        files += 1;
    }
    assert!(files > 0, "no files in {}", folder.display());
}

#[test]
fn the_repositorys_own_files() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data"));
}

#[test]
fn a_folder_of_files() {
    match std::env::var_os("SPMV_MATRICES").map(PathBuf::from) {
        Some(folder) => check(&folder),
        None => println!("skipped: SPMV_MATRICES names no folder of .mtx.gz files with an INDEX.tsv"),
    }
}
