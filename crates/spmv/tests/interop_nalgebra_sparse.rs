//! Matrices of nalgebra-sparse.

use nalgebra_sparse::{CscMatrix, CsrMatrix};
use spmv::interop::nalgebra_sparse::{csc_to_csr, to_csr, to_nalgebra};
use spmv::{Csr, CsrError};

/// Row 1 is empty.
fn ours() -> Csr<f64> {
    Csr::new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, 2.0, 3.0]).unwrap()
}

#[test]
fn matrices_by_rows_and_by_columns_pass_both_ways() {
    let theirs = to_nalgebra(&ours()).unwrap();
    assert_eq!(theirs.get_entry(2, 1).map(|entry| entry.into_value()), Some(3.0));
    assert_eq!(to_csr(&theirs), Ok(ours()));
    assert_eq!(to_csr(&theirs), ours().with_offsets::<u64>());
    assert_eq!(csc_to_csr(&CscMatrix::from(&theirs)), Ok(ours()));
    assert_eq!(to_nalgebra(&ours().with_offsets::<u64>().unwrap()), Ok(theirs));
}

#[test]
fn rows_that_are_not_sorted_are_refused() {
    let jumbled = Csr::new(1, 3, vec![0u32, 2], vec![2, 0], vec![1.0, 2.0]).unwrap();
    assert_eq!(to_nalgebra(&jumbled), Err(CsrError::NotCanonical { row: 0, column: 0, prev: 2 }));
    assert!(to_nalgebra(&jumbled.to_canonical()).is_ok());
}

#[test]
fn matrices_without_rows_or_columns_pass_both_ways() {
    for (m, n) in [(0, 0), (0, 5), (5, 0)] {
        let empty: Csr<f32> = to_csr(&CsrMatrix::zeros(m, n)).unwrap();
        assert_eq!((empty.n_rows(), empty.n_cols()), (m, n));
        assert_eq!(to_nalgebra(&empty), Ok(CsrMatrix::zeros(m, n)));
    }
}
