//! Any bytes: a matrix or an error. What was read must survive being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spmv_io::matrix_market::{Reader, Writer};

fuzz_target!(|bytes: &[u8]| {
    let reader = Reader::new().real_part(true).max_entries(1 << 20);
    let Ok(matrix) = reader.parse::<f64>(bytes) else { return };
    let mut text = Vec::new();
    Writer::new().write_to(&mut text, matrix.view()).expect("memory takes any bytes");
    let again = reader.max_rows(u64::from(u32::MAX)).parse::<f64>(&text).expect("our own file");
    assert_eq!(again.row_ptr(), matrix.row_ptr());
    assert_eq!(again.cols(), matrix.cols());
});
