//! Any arrays: a valid matrix or an error; a valid one can be multiplied and asked for its statistics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spmv_core::{CsrView, MatrixStats, oracle};

fuzz_target!(|input: (u8, u8, Vec<u32>, Vec<u32>)| {
    let (n_rows, n_cols, row_ptr, cols) = input;
    let vals = vec![1.0f32; cols.len()];
    let Ok(a) = CsrView::new(n_rows.into(), n_cols.into(), &row_ptr, &cols, &vals) else { return };
    let reference = oracle::multiply(a, 1.0, &vec![1.0; n_cols.into()], 0.0, &vec![0.0; n_rows.into()]);
    let total: f64 = reference.y.iter().sum();
    assert_eq!(total, cols.len() as f64);
    assert_eq!(MatrixStats::of(a).rows.nnz, cols.len());
});
