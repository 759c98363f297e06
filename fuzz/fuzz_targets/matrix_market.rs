//! Any bytes: a matrix or an error. What was read must survive being written and read again.
#![no_main]

use std::io::Write;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use spmv_io::matrix_market::{Reader, Writer};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// Words of a banner, which no mutation finds; else the file begins with the bytes below.
    banner: Option<(u8, u8, u8)>,
    /// Whether the file is gzipped: seldom, as it takes long.
    packing: u8,
    /// What the gzipped file has instead of one of its bytes.
    damage: Option<(u16, u8)>,
    rest: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let reader = Reader::new().real_part(true);
    let Ok(matrix) = reader.parse::<f64>(&input.file()) else { return };
    let mut text = Vec::new();
    Writer::new().write_to(&mut text, matrix.view()).expect("memory takes any bytes");
    let again = reader.max_rows(u64::from(u32::MAX)).parse::<f64>(&text).expect("our own file");
    assert_eq!(again.row_ptr(), matrix.row_ptr());
    assert_eq!(again.cols(), matrix.cols());
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    assert!(again.vals().iter().zip(matrix.vals()).all(same));
});

impl Input<'_> {
    fn file(&self) -> Vec<u8> {
        let banner = self.banner.map(|(format, field, symmetry)| {
            let word = |words: &[&'static str], which: u8| words[usize::from(which) % words.len()];
            format!(
                "%%MatrixMarket matrix {} {} {}\n",
                word(&["coordinate", "array"], format),
                word(&["real", "integer", "pattern", "complex"], field),
                word(&["general", "symmetric", "skew-symmetric", "hermitian"], symmetry),
            )
        });
        let text = [banner.unwrap_or_default().as_bytes(), self.rest].concat();
        if self.packing % 16 != 1 {
            return text;
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&text).expect("memory takes any bytes");
        let mut file = encoder.finish().expect("memory takes any bytes");
        if let Some((at, byte)) = self.damage {
            let at = usize::from(at) % file.len();
            file[at] = byte;
        }
        file
    }
}
