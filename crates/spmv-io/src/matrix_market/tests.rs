use std::io::Write;

use proptest::prelude::*;
use spmv_core::{Csr, Value, bf16, f16};

use super::{Reader, Writer};

fn parse(text: &str) -> Result<Csr<f64>, String> {
    Reader::new().parse(text.as_bytes()).map_err(|e| e.to_string())
}

fn coordinate(rest: &str) -> Result<Csr<f64>, String> {
    parse(&format!("%%MatrixMarket matrix coordinate real general\n{rest}"))
}

fn dense(a: &Csr<f64>) -> Vec<Vec<f64>> {
    let mut dense = vec![vec![0.0; a.n_cols()]; a.n_rows()];
    for (row, values) in dense.iter_mut().enumerate() {
        a.row(row).for_each(|(col, value)| values[col as usize] += value);
    }
    dense
}

#[test]
fn bad_banners_are_named() {
    for (text, message) in [
        ("", "line 1: not a Matrix Market file; it must begin with '%%MatrixMarket matrix'"),
        ("\u{0}\u{1}\u{2}", "line 1: not a Matrix Market file; it must begin with '%%MatrixMarket matrix'"),
        ("1 1 1\n", "line 1: not a Matrix Market file; it must begin with '%%MatrixMarket matrix'"),
        ("%%MatrixMarket vector", "line 1: unknown object 'vector'; known: matrix"),
        ("%%MatrixMarket matrix", "line 1: unknown format ''; known: coordinate array"),
        (
            "%%MatrixMarket matrix coordinate quaternion general\n1 1 0",
            "line 1: unknown field 'quaternion'; known: real integer pattern complex",
        ),
        (
            "%%MatrixMarket matrix coordinate real diagonal\n1 1 0",
            "line 1: unknown symmetry 'diagonal'; known: general symmetric skew-symmetric hermitian",
        ),
        (
            "%%MatrixMarket matrix coordinate real general please\n",
            "line 1: 'please' is left over at the end of the line",
        ),
        (
            "%%MatrixMarket matrix array pattern general\n1 1",
            "line 1: a matrix cannot be both array and pattern",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n1 1 0",
            "line 1: a matrix cannot be both real and hermitian",
        ),
        (
            "%%MatrixMarket matrix coordinate integer hermitian\n1 1 0",
            "line 1: a matrix cannot be both integer and hermitian",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0",
            "line 1: a matrix cannot be both pattern and skew-symmetric",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n1 1 0",
            "line 1: the matrix is complex; ask for its real part (Reader::real_part)",
        ),
        ("%%MatrixMarket matrix coordinate real general", "line 1: the file ends before the size line"),
        (
            "%%MatrixMarket matrix coordinate real general\n% no more\n\n",
            "line 3: the file ends before the size line",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), message);
    }
}

#[test]
fn bad_sizes_and_entries_are_named_with_their_line() {
    let size = "is no size line; it must hold rows, columns and entries";
    for (text, message) in [
        ("1 1\n".to_owned(), format!("line 2: '1 1' {size}")),
        ("% c\n\n1 1 1 1\n".into(), format!("line 4: '1 1 1 1' {size}")),
        ("1 -1 1\n".into(), format!("line 2: '1 -1 1' {size}")),
        ("1 1 99999999999999999999999\n".into(), format!("line 2: '1 1 99999999999999999999999' {size}")),
        (
            "5000000000 1 0\n".into(),
            "line 2: 5000000000 rows are more than the 4294967295 that 32-bit indices can name".into(),
        ),
        (
            "4000000000 1 0\n".into(),
            format!(
                "line 2: 4000000000 rows are implausible for {} bytes; Reader::max_rows allows them",
                46 + 15
            ),
        ),
        (
            "2 2 1000000000000\n1 1 1\n".into(),
            "line 3: the file ends after 1 of 1000000000000 entries".into(),
        ),
        ("2 2 2\n1 1 1\n".into(), "line 3: the file ends after 1 of 2 entries".into()),
        (
            "2 2 1\n1 1 1\n\n% c\n2 2 2\n".into(),
            "line 6: more than the 1 entries that the header says".into(),
        ),
        ("2 2 1\n0 1 1\n".into(), "line 3: row 0 is out of range; the header says 2 rows".into()),
        ("2 2 1\n3 1 1\n".into(), "line 3: row 3 is out of range; the header says 2 rows".into()),
        ("2 2 1\n\n1 912 1\n".into(), "line 4: column 912 is out of range; the header says 2 columns".into()),
        (
            "2 2 1\n1 4294967297 1\n".into(),
            "line 3: column 4294967297 is out of range; the header says 2 columns".into(),
        ),
        ("2 2 1\n1 1\n".into(), "line 3: 2 words, 3 are needed: value".into()),
        ("2 2 1\n1\n".into(), "line 3: 1 words, 3 are needed: row, column, value".into()),
        ("2 2 1\n1 1 1 1\n".into(), "line 3: '1' is left over at the end of the line".into()),
        ("2 2 1\n1 1 one\n".into(), "line 3: 'one' is no real number".into()),
        ("2 2 1\n1.0 1 1\n".into(), "line 3: '1.0' is no index".into()),
        ("2 2 1\n-1 1 1\n".into(), "line 3: '-1' is no index".into()),
        ("2 2 1\n1 1 \u{1}\u{2}\n".into(), "line 3: '\\x01\\x02' is no real number".into()),
    ] {
        assert_eq!(coordinate(&text).unwrap_err(), message, "{text:?}");
    }
    let long = format!("2 2 1\n1 1 {}\n", "9".repeat(2 << 20));
    assert_eq!(coordinate(&long).unwrap_err(), "line 3: the line is longer than 1048576 bytes");
    let long = format!("% {}\n2 2 0\n", "c".repeat(2 << 20));
    assert_eq!(coordinate(&long).unwrap_err(), "line 2: the line is longer than 1048576 bytes");
    let long = format!("2 2 1\n1 1 {}\n", "9".repeat(1000));
    assert!(coordinate(&long).unwrap_err().ends_with("...' is no real number"));
}

#[test]
fn symmetry_is_checked() {
    let symmetric =
        |kind: &str, rest: &str| parse(&format!("%%MatrixMarket matrix coordinate real {kind}\n{rest}"));
    for (kind, rest, message) in [
        ("symmetric", "2 3 0\n", "line 2: a symmetric matrix must be square, the header says 2 x 3"),
        (
            "symmetric",
            "2 2 1\n1 2 1\n",
            "line 3: entry (1, 2) lies above the diagonal of a symmetric matrix, whose lower triangle alone is stored",
        ),
        (
            "skew-symmetric",
            "2 2 1\n2 2 1\n",
            "line 3: entry (2, 2) lies on the diagonal of a skew-symmetric matrix, which is zero",
        ),
    ] {
        assert_eq!(symmetric(kind, rest).unwrap_err(), message);
    }
    let a = symmetric("symmetric", "2 2 2\n1 1 4\n2 1 .5\n").unwrap();
    assert_eq!(dense(&a), [[4.0, 0.5], [0.5, 0.0]]);
    let a = symmetric("skew-symmetric", "2 2 1\n2 1 .5\n").unwrap();
    assert_eq!(dense(&a), [[0.0, -0.5], [0.5, 0.0]]);
}

#[test]
fn arrays_run_down_their_columns() {
    let array = |field: &str, kind: &str, rest: &str| {
        let text = format!("%%MatrixMarket matrix array {field} {kind}\n{rest}");
        Reader::new()
            .real_part(true)
            .parse::<f64>(text.as_bytes())
            .map(|a| dense(&a))
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        array("real", "general", "2 3\n1\n2\n3\n4\n0\n6\n").unwrap(),
        [[1.0, 3.0, 0.0], [2.0, 4.0, 6.0]]
    );
    let lower = "3 3\n1\n2\n3\n4\n5\n6\n";
    assert_eq!(
        array("integer", "symmetric", lower).unwrap(),
        [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    );
    let below = "3 3\n1\n2\n3\n";
    assert_eq!(
        array("real", "skew-symmetric", below).unwrap(),
        [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]]
    );
    assert_eq!(array("complex", "hermitian", "1 1\n7 0\n").unwrap(), [[7.0]]);
    assert_eq!(
        array("real", "general", "2 2\n1\n2\n3\n").unwrap_err(),
        "line 5: the file ends after 3 of 4 entries"
    );
    assert_eq!(
        array("real", "general", "1 1\n1\n2\n").unwrap_err(),
        "line 4: more than the 1 entries that the header says"
    );
}

#[test]
fn what_is_legal_is_read() {
    let text = "\u{feff}%%matrixmarket MATRIX Coordinate Real General\r\n%c\r\n\r\n  2\t2  6 \r\n% c\r\n1 1 1.5D+01\r\n\r\n \
                1 2 nan\r\n2 1 -Inf\r\n2 2 1e400\r\n2 2 .5e0\r\n1 1 1d0";
    let a = parse(text).unwrap();
    assert_eq!(a.vals()[0], 16.0, "duplicates are summed, Fortran exponents read");
    assert!(a.vals()[1].is_nan());
    assert_eq!(a.vals()[2..], [f64::NEG_INFINITY, f64::INFINITY]);
    let integers =
        "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 -7\n1 2 12345678901234567890123\n";
    assert_eq!(parse(integers).unwrap().vals(), [-7.0, 12345678901234567890123.0]);
    let e = parse("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n").unwrap_err();
    assert_eq!(e, "line 3: '1.5' is no integer");
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n";
    assert_eq!(parse(pattern).unwrap().nnz(), 3);
    assert_eq!(parse("%%MatrixMarket matrix coordinate real general\n0 0 0\n").unwrap().n_rows(), 0);
}

#[test]
fn limits_are_the_callers() {
    let text = b"%%MatrixMarket matrix coordinate pattern general\n2000000 1 1\n1 1\n";
    let e = Reader::new().parse::<f32>(text).unwrap_err();
    assert!(e.to_string().starts_with("line 2: 2000000 rows are implausible"), "{e}");
    assert_eq!(Reader::new().max_rows(2_000_000).parse::<f32>(text).unwrap().n_rows(), 2_000_000);
    let e = Reader::new().max_rows(3_000_000).max_entries(0).parse::<f32>(text).unwrap_err();
    assert_eq!(e.to_string(), "line 2: 1 entries are more than the 0 that Reader::max_entries allows");
}

#[test]
fn gzip_is_found_by_content_and_faults_in_it_are_errors() {
    let text = Sample::text();
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let expected = Reader::new().parse::<f64>(&text).unwrap();
    let whole = gzip(&text);
    assert_eq!(Reader::new().parse::<f64>(&whole).unwrap(), expected);
    let members = [gzip(&text[..100]), gzip(&text[100..])].concat();
    assert_eq!(Reader::new().parse::<f64>(&members).unwrap(), expected);
    for cut in [3, 20, whole.len() / 2, whole.len() - 1] {
        assert!(Reader::new().parse::<f64>(&whole[..cut]).is_err(), "cut at {cut}");
    }
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    assert!(Reader::new().parse::<f64>(&damaged).is_err());
}

/// A file with everything that makes lines differ.
struct Sample;

impl Sample {
    fn text() -> Vec<u8> {
        let mut text = b"%%MatrixMarket matrix coordinate real general\n% c\n40 30 120\n".to_vec();
        for i in 0..120 {
            let end = ["\n", "\r\n", " \n", "\n% c\n", "\n\n"][i % 5];
            text.extend(format!("{} {} {:?}{end}", i * 7 % 40 + 1, i * 11 % 30 + 1, i as f64 / 7.0).bytes());
        }
        text
    }
}

#[test]
fn a_block_or_a_chunk_may_end_anywhere() {
    let text = Sample::text();
    let expected = Reader::new().parse::<f64>(&text).unwrap();
    let mut faulty = text.clone();
    let at = faulty.len() - 30;
    faulty[at] = b'x';
    let fault = Reader::new().parse::<f64>(&faulty).unwrap_err();
    assert!(fault.line() > Some(100));
    for bytes in 1..=text.len() + 1 {
        for reader in [Reader::new().block_bytes(bytes), Reader::new().chunk_bytes(bytes)] {
            assert_eq!(reader.parse::<f64>(&text).unwrap(), expected, "{reader:?}");
            assert_eq!(reader.parse::<f64>(&faulty).unwrap_err(), fault, "{reader:?}");
        }
    }
}

#[test]
fn the_first_fault_of_many_is_named() {
    // Long enough for many chunks.
    let mut text = String::from("%%MatrixMarket matrix coordinate pattern general\n9 9 100000\n");
    for i in 0..100_000 {
        text.push_str(if i >= 70_000 && i % 1000 == 0 { "x 1\n" } else { "1 1\n" });
    }
    assert_eq!(parse(&text).unwrap_err(), "line 70003: 'x' is no index");
    let fewer = text.replacen("9 9 100000", "9 9 60000", 1);
    assert_eq!(parse(&fewer).unwrap_err(), "line 60003: more than the 60000 entries that the header says");
}

#[test]
fn only_symmetric_matrices_are_written_as_such() {
    let a = Csr::from_coo(2, 2, &[(0, 1, 1.0), (1, 0, 2.0)]).unwrap();
    let e = Writer::new().symmetric(true).write_to(&mut Vec::new(), a.view()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "row 0, column 1 has no equal across the diagonal; write the matrix as general"
    );
}

#[test]
fn files_are_written_and_read_plain_and_gzipped() {
    let folder = std::env::temp_dir().join(format!("spmv-io-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let a = Reader::new().parse::<f64>(&Sample::text()).unwrap();
    for name in ["a.mtx", "a.mtx.gz"] {
        let path = folder.join(name);
        super::write(&path, a.view()).unwrap();
        assert_eq!(super::read::<f64>(&path).unwrap(), a);
        assert_eq!(super::read_header(&path).unwrap().entries, a.nnz() as u64);
    }
    let gzip = std::fs::read(folder.join("a.mtx.gz")).unwrap();
    assert_eq!(gzip[..2], [0x1f, 0x8b]);
    assert!(super::read::<f64>(folder.join("none.mtx")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

fn round_trip<T: Value<Wide = f64>>(triplets: &[(u32, u32, f64)]) -> Result<(), TestCaseError> {
    let triplets: Vec<_> = triplets.iter().map(|&(r, c, v)| (r, c, T::from_f64(v))).collect();
    let a = Csr::from_coo(50, 40, &triplets).unwrap();
    let mut text = Vec::new();
    Writer::new().write_to(&mut text, a.view()).unwrap();
    let back = Reader::new().parse::<T>(&text).unwrap();
    prop_assert_eq!(back.cols(), a.cols());
    for (x, y) in back.vals().iter().zip(a.vals()) {
        prop_assert!(x == y || x.widen().is_nan() && y.widen().is_nan(), "{x} {y}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_value_survives_a_round_trip(
        triplets in prop::collection::vec((0u32..50, 0u32..40, any::<f64>()), 0..80),
        moderate in prop::collection::vec((0u32..50, 0u32..40, -1e5..1e5), 0..80),
    ) {
        for triplets in [&triplets, &moderate] {
            round_trip::<f64>(triplets)?;
            round_trip::<f32>(triplets)?;
            round_trip::<f16>(triplets)?;
            round_trip::<bf16>(triplets)?;
        }
    }

    /// Whatever is done to a file: a matrix or an error, no panic, no end of memory or time.
    #[test]
    fn damaged_files_are_survived(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 1..8),
    ) {
        let mut text = Sample::text();
        for (at, kind, byte) in edits {
            let at = at.index(text.len().max(1)).min(text.len().saturating_sub(1));
            match kind {
                _ if text.is_empty() => {}
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => drop(text.remove(at)),
                _ => text.truncate(at),
            }
        }
        let _ = Reader::new().parse::<f32>(&text);
    }

    #[test]
    fn random_bytes_are_survived(head in 0usize..3, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let head = ["", "%%MatrixMarket matrix coordinate real general\n", "%%MatrixMarket matrix array real general\n3 3\n"][head];
        let _ = Reader::new().real_part(true).parse::<f64>(&[head.as_bytes(), &bytes].concat());
    }
}
