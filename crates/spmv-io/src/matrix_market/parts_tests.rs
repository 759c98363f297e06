//! Parts of a file against the reader of the whole.

use std::fs;
use std::io::Write;

use proptest::prelude::*;
use spmv_core::Csr;

use super::{Part, Reader, Summary};

/// What the parts of a file are together: its matrix, or the fault of the first part that has one.
fn joined(reader: &Reader, bytes: &[u8], parts: usize) -> Result<Csr<f64>, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("space for it");
    let read = |part| reader.read_part::<f64>(file.path(), part, parts).map_err(|e| e.to_string());
    let read = (0..parts).map(read).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<Summary> = read.iter().map(Part::summary).collect();
    let faults = read.iter().enumerate().map(|(i, part)| part.check(i, &all).map_err(|e| e.to_string()));
    faults.collect::<Result<(), _>>()?;
    let header = *read[0].header();
    let mut matrix = (vec![], vec![], vec![]);
    for (i, part) in read.into_iter().enumerate() {
        let entries = part.into_entries(i, &all);
        matrix.0.extend(entries.rows);
        matrix.1.extend(entries.cols);
        matrix.2.extend(entries.vals);
    }
    let (rows, cols) = (header.rows as usize, header.cols as usize);
    Csr::from_triplets(rows, cols, &matrix.0, &matrix.1, &matrix.2).map_err(|e| e.to_string())
}

fn check(reader: &Reader, bytes: &[u8], parts: usize) {
    let whole = reader.parse::<f64>(bytes).map_err(|e| e.to_string());
    let joined = joined(reader, bytes, parts);
    // As text, in which a NaN equals itself.
    assert_eq!(format!("{joined:?}"), format!("{whole:?}"), "{parts} parts");
}

/// Every way to be wrong, and to be right: each is read in any number of parts, also in more than it has lines.
const FILES: [&str; 14] = [
    "coordinate real general\n3 3 4\n1 1 1.5\n3 3 2.5\n1 1 0.25\n\n% comment\n2 3 -1e3\n",
    "coordinate real general\n3 3 2\n1 1 1.5\n3 3 2.5",
    "coordinate real general\r\n%\r\n3 3 2\r\n1 1 1.5\r\n3 3 2.5\r\n",
    "coordinate integer symmetric\n4 4 4\n1 1 1\n3 1 -7\n4 4 2\n4 2 5\n",
    "coordinate pattern general\n4 4 3\n1 1\n3 1\n4 4\n",
    "coordinate real skew-symmetric\n4 4 2\n3 1 2.5\n4 2 5\n",
    "array real general\n3 2\n1\n0\n2\n3\n4\n5\n",
    "array real symmetric\n3 3\n1\n0\n2\n3\n4\n5\n",
    "array real skew-symmetric\n3 3\n1\n2\n3\n",
    "coordinate real general\n0 0 0\n",
    // Too few, too many, and no entries; of two faults the first counts.
    "coordinate real general\n3 3 4\n1 1 1\n2 2 2\n3 3 3\n",
    "coordinate real general\n3 3 2\n1 1 1\n% comment\n2 2 2\n3 3 3\n3 3 x\n",
    "coordinate real general\n3 3 3\n1 1 1\n4 2 2\n3 3 3\nx\n",
    "array real general\n2 2\n1\n2\n3\n4\n5\n",
];

#[test]
fn parts_of_a_file_are_the_file_or_its_first_fault() {
    for text in FILES {
        let text = format!("%%MatrixMarket matrix {text}");
        for parts in [1, 2, 3, 4, 7, 50] {
            check(&Reader::new(), text.as_bytes(), parts);
            check(&Reader::new().block_bytes(16).chunk_bytes(8), text.as_bytes(), parts);
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_found_by_one_part() {
    let long = "1 1 1".to_owned() + &" ".repeat(3 << 20) + "\n";
    let text = format!("%%MatrixMarket matrix coordinate real general\n2 2 3\n2 2 5\n{long}1 2 3\n");
    for parts in [1, 2, 3, 5, 8] {
        check(&Reader::new(), text.as_bytes(), parts);
    }
}

#[test]
fn a_compressed_file_is_read_by_part_0() {
    for name in fs::read_dir("../../tests/data").expect("the matrices").flatten() {
        if name.path().extension().is_some_and(|end| end == "gz") {
            check(&Reader::new().real_part(true), &fs::read(name.path()).expect("a matrix"), 3);
        }
    }
}

proptest! {
    #[test]
    fn parts_of_broken_files_agree_with_the_whole(
        file in 0..FILES.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        truncate: bool,
        parts in 1usize..6,
    ) {
        let mut bytes = format!("%%MatrixMarket matrix {}", FILES[file]).into_bytes();
        let at = at.index(bytes.len());
        if truncate { bytes.truncate(at) } else { bytes[at] = byte };
        check(&Reader::new().max_rows(100).max_entries(100), &bytes, parts);
    }
}
