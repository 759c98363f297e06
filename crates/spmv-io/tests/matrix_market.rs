//! What the Matrix Market reader and writer promise, seen from outside.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use spmv_core::{Csr, Value, bf16, f16};
use spmv_io::matrix_market::{ErrorKind, Reader, Writer};

const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn one_value<T: Value>(word: &str) -> T {
    Reader::new().parse::<T>(format!("{REAL}1 1 1\n1 1 {word}\n").as_bytes()).unwrap().vals()[0]
}

fn written<T: Value>(writer: &Writer, a: &Csr<T>) -> Result<String, String> {
    let mut text = Vec::new();
    writer.write_to(&mut text, a.view()).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn f32_values_are_rounded_once() {
    // Each is nearest to a tie of two f32 as an f64, but is no tie itself.
    for word in ["1.00000017881393432617187499", "1.00000005960464477539062501"] {
        assert_eq!(one_value::<f32>(word), word.parse::<f32>().unwrap(), "{word}");
    }
}

#[test]
fn sixteen_bit_values_are_written_with_the_fewest_digits() {
    fn line<T: Value>(value: f64) -> String {
        let a = Csr::from_coo(1, 1, &[(0, 0, T::from_f64(value))]).unwrap();
        written(&Writer::new(), &a).unwrap().lines().last().unwrap().to_owned()
    }
    assert_eq!(line::<f16>(0.1), "1 1 0.1");
    assert_eq!(line::<bf16>(0.1), "1 1 0.1");
    assert_eq!(line::<f16>(65504.0), "1 1 65500.0");
    assert_eq!(line::<f16>(-0.0), "1 1 -0.0");
    assert_eq!(line::<bf16>(f64::NEG_INFINITY), "1 1 -inf");
}

/// All 65536 of each: no sample could miss the one that fails.
#[test]
fn every_sixteen_bit_value_survives_a_round_trip() {
    fn check<T: Value<Wide = f64>>(value: impl Fn(u16) -> T) {
        let triplets: Vec<_> = (0..=u16::MAX).map(|bits| (u32::from(bits), 0, value(bits))).collect();
        let a = Csr::from_coo(1 << 16, 1, &triplets).unwrap();
        let back = Reader::new().parse::<T>(written(&Writer::new(), &a).unwrap().as_bytes()).unwrap();
        assert_eq!(back.nnz(), 1 << 16);
        for (x, y) in back.vals().iter().zip(a.vals()) {
            let (x, y) = (x.widen(), y.widen());
            assert!(
                x == y && x.is_sign_negative() == y.is_sign_negative() || x.is_nan() && y.is_nan(),
                "{y}"
            );
        }
    }
    check(f16::from_bits);
    check(bf16::from_bits);
}

#[test]
fn line_ends_of_any_kind_make_the_same_matrix() {
    let text = format!("{REAL}% c\n3 3 3\n1 1 1.5\n\n2 3 -2\n% c\n3 1 4e-3\n");
    let expected = Reader::new().parse::<f64>(text.as_bytes()).unwrap();
    for end in ["\r\n", " \n", "\t\r\n"] {
        let other = text.replace('\n', end);
        assert_eq!(Reader::new().parse::<f64>(other.as_bytes()).unwrap(), expected, "{end:?}");
    }
}

#[test]
fn gzip_faults_say_that_they_are() {
    let whole = gzip(format!("{REAL}1 1 1\n1 1 0.125\n").as_bytes());
    let message = |bytes: &[u8]| Reader::new().parse::<f64>(bytes).unwrap_err().to_string();
    let fault = "the gzip data is truncated or damaged: ";
    for cut in 3..whole.len() {
        assert!(message(&whole[..cut]).starts_with(fault), "cut at {cut}: {}", message(&whole[..cut]));
    }
    assert!(message(&[&whole[..], b"junk"].concat()).starts_with(fault));
}

#[test]
fn compressed_bytes_justify_no_more_rows_than_plain_ones() {
    // 64 MB of comments in some 64 KB: were inflated bytes counted, they would pay for 500 million rows.
    let comments = "%".repeat(63) + "\n";
    let bomb = gzip(format!("{REAL}100000000 1 0\n{}", comments.repeat(1 << 20)).as_bytes());
    let e = Reader::new().parse::<f32>(&bomb).unwrap_err();
    let bytes = bomb.len() as u64;
    assert_eq!(e.kind(), &ErrorKind::ImplausibleRows { rows: 100_000_000, bytes });
    assert_eq!(e.line(), Some(2));
}

#[test]
fn a_bomb_is_read_where_the_caller_allows_its_entries() {
    let entries = 4 << 20;
    let head = format!("%%MatrixMarket matrix coordinate pattern general\n1 1 {entries}\n");
    let bomb = gzip(&[head.as_bytes(), &b"1 1\n".repeat(entries)].concat());
    let e = Reader::new().parse::<f32>(&bomb).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::ImplausibleEntries { .. }), "{e}");
    let a = Reader::new().max_entries(entries as u64).parse::<f32>(&bomb).unwrap();
    assert_eq!(a.vals(), [entries as f32]);
}

#[test]
fn a_source_that_never_ends_is_left_at_the_first_entry_too_many() {
    struct Endless(usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len();
            for (i, byte) in buffer.iter_mut().enumerate() {
                *byte = b"1 1\n"[i % 4];
            }
            Ok(buffer.len() / 4 * 4)
        }
    }
    let head = "%%MatrixMarket matrix coordinate pattern general\n1 1 2\n";
    let mut endless = Endless(0);
    let e = Reader::new().read_from::<f32, u64>(head.as_bytes().chain(&mut endless)).unwrap_err();
    assert_eq!(e.to_string(), "line 5: more than the 2 entries that the header says");
    assert!(endless.0 < 64 << 20, "{} bytes were read", endless.0);
}

#[test]
fn symmetry_is_checked_fast_even_with_a_full_row() {
    // Row by row against each other, these would be 10^10 comparisons.
    let n = 100_000;
    let arrow = (0..n).flat_map(|i| [(0, i, 1.0), (i, 0, 1.0)]);
    let a = Csr::from_coo(n as usize, n as usize, &arrow.collect::<Vec<_>>()).unwrap();
    let text = written(&Writer::new().symmetric(true), &a).unwrap();
    let back = Reader::new().parse::<f64>(text.as_bytes()).unwrap();
    assert_eq!(back, a);
}

#[test]
fn what_has_no_equal_across_the_diagonal_is_named() {
    let symmetric = Writer::new().symmetric(true);
    let message = |writer: &Writer, triplets: &[(u32, u32, f64)]| {
        written(writer, &Csr::from_coo(3, 3, triplets).unwrap()).unwrap_err()
    };
    let above = "row 0, column 2 has no equal across the diagonal; write the matrix as general";
    assert_eq!(message(&symmetric, &[(0, 2, 1.0)]), above);
    let below = "row 2, column 1 has no equal across the diagonal; write the matrix as general";
    assert_eq!(message(&symmetric, &[(1, 1, 5.0), (2, 1, 1.0)]), below);
    // Mirrored, an explicit zero would become an entry that was not there.
    let pattern = symmetric.pattern(true);
    assert_eq!(message(&pattern, &[(2, 1, 0.0)]), below);
    let unequal = Csr::from_coo(2, 2, &[(0, 1, 1.0), (1, 0, 2.0)]).unwrap();
    assert!(written(&pattern, &unequal).unwrap().ends_with("2 2 1\n2 1\n"));
}

#[test]
fn a_file_is_kept_if_the_matrix_cannot_be_written() {
    let path = std::env::temp_dir().join(format!("spmv-io-kept-{}.mtx", std::process::id()));
    std::fs::write(&path, "precious").unwrap();
    let a = Csr::from_coo(2, 2, &[(0, 1, 1.0f32)]).unwrap();
    assert!(Writer::new().symmetric(true).write(&path, a.view()).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
}

proptest! {
    /// Whatever is done to a compressed file: a matrix or an error, no panic, no end of memory or time.
    #[test]
    fn damaged_gzip_is_survived(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let entries: String = (0..200).map(|i| format!("{} {} {}\n", i % 9 + 1, i % 7 + 1, i * i)).collect();
        let mut bytes = gzip(format!("{REAL}9 7 200\n{entries}").as_bytes());
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = Reader::new().parse::<f32>(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = Reader::new().parse::<f32>(&bytes);
    }
}
