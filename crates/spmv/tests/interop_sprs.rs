//! Matrices of sprs.

use spmv::interop::Error;
use spmv::interop::sprs::{as_sprs, into_sprs, to_csr, view};
use spmv::{Csr, CsrError, Index};
use sprs::{CsMat, CsMatI, SpIndex};

/// Row 1 is empty.
fn ours() -> Csr<f64> {
    Csr::new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, 2.0, 3.0]).unwrap()
}

fn theirs<I: SpIndex, P: SpIndex>() -> CsMatI<f64, I, P> {
    let offsets = [0, 2, 2, 3].map(P::from_usize).to_vec();
    CsMatI::new((3, 4), offsets, [0, 3, 1].map(I::from_usize).to_vec(), vec![1.0, 2.0, 3.0])
}

fn check<I: SpIndex + Index<Offset = u32>, P: SpIndex + Index>() {
    let theirs = theirs::<I, P>();
    let a = view(&theirs).unwrap();
    assert_eq!(a.to_owned().with_offsets(), Ok(ours()));
    assert_eq!(a.cols().as_ptr().cast(), theirs.indices().as_ptr());
    assert_eq!(a.row_ptr().as_ptr().cast(), theirs.indptr().raw_storage().as_ptr());
    assert_eq!(a.vals().as_ptr(), theirs.data().as_ptr());
}

#[test]
fn indices_of_the_same_bits_are_borrowed() {
    check::<u32, u32>();
    check::<u32, u64>();
    check::<u32, usize>();
    check::<u32, i32>();
    check::<i32, i32>();
    check::<i32, i64>();
    check::<i32, usize>();
}

#[test]
fn every_other_matrix_is_copied() {
    assert_eq!(to_csr(&theirs::<usize, usize>()), Ok(ours()));
    assert_eq!(to_csr(&theirs::<i64, u32>()), Ok(ours()));
    assert_eq!(to_csr(&theirs::<u64, i32>()), ours().with_offsets::<u64>());
    assert_eq!(to_csr(&theirs::<usize, usize>().to_csc()), Ok(ours()));
    let transposed: Csr<f64> = to_csr(&theirs::<u32, usize>().transpose_view()).unwrap();
    assert_eq!(transposed, ours().transpose());
}

#[test]
fn a_matrix_by_columns_is_borrowed_as_its_transpose() {
    let by_columns = theirs::<u32, u32>().to_csc();
    assert_eq!(view(&by_columns).unwrap_err(), Error::ByColumns);
    let transpose = by_columns.transpose_view();
    assert_eq!(view(&transpose).unwrap().to_owned(), ours().transpose());
}

#[test]
fn a_slice_of_rows_is_copied() {
    let theirs = theirs::<u32, usize>();
    let last = theirs.slice_outer(2..3);
    assert_eq!(view(&last).unwrap_err(), Error::Csr(CsrError::FirstOffset { found: 2 }));
    let expected = Csr::new(1, 4, vec![0u32, 1], vec![1], vec![3.0]);
    assert_eq!(to_csr(&last), expected);
    // The first rows have offsets from 0 on.
    let first = theirs.slice_outer(0..2);
    assert_eq!(view(&first).unwrap().to_owned().with_offsets::<u32>(), to_csr(&first));
    let columns = theirs.to_csc();
    let by_columns: Csr<f64> = to_csr(&columns.slice_outer(1..4)).unwrap();
    assert_eq!((by_columns.n_cols(), by_columns.cols()), (3, &[2, 0][..]));
}

#[test]
fn ours_are_borrowed_and_moved_to_sprs() {
    assert_eq!(as_sprs(&ours()).unwrap(), theirs::<u32, u32>().view());
    assert_eq!(into_sprs(ours()).unwrap(), theirs::<u32, u32>());
    let wide = ours().with_offsets::<u64>().unwrap();
    assert_eq!(as_sprs(&wide).unwrap(), theirs::<u32, u64>().view());
    assert_eq!(into_sprs(wide).unwrap().get(2, 1), Some(&3.0));
}

#[test]
fn rows_that_are_not_sorted_are_refused_and_can_be_sorted() {
    let jumbled = Csr::new(1, 3, vec![0u32, 3], vec![2, 0, 2], vec![1.0, 2.0, 3.0]).unwrap();
    let expected = CsrError::NotCanonical { row: 0, column: 0, prev: 2 };
    assert_eq!(as_sprs(&jumbled).unwrap_err(), expected);
    assert_eq!(into_sprs(jumbled.clone()).unwrap_err(), expected);
    let sorted = into_sprs(jumbled.to_canonical()).unwrap();
    assert_eq!(sorted.get(0, 2), Some(&4.0));
}

#[test]
fn matrices_without_rows_or_columns_pass_both_ways() {
    for shape in [(0, 0), (0, 5), (5, 0)] {
        let empty: Csr<f32> = to_csr(&CsMat::zero(shape)).unwrap();
        assert_eq!((empty.n_rows(), empty.n_cols()), shape);
        assert_eq!(as_sprs(&empty).unwrap().shape(), shape);
    }
}
