//! A matrix together with its transpose.

use spmv::{Context, Csr, CsrView, Matrix, Offset, Real, Scalar};

use crate::error::Result;

/// A matrix and its transpose, prepared each on its own: what least squares need. It takes the memory of both.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::LeastSquares;
/// let a = Csr::from_coo(3, 2, &[(0, 0, 1.0f64), (1, 1, 2.0), (2, 0, 3.0)])?;
/// let of = LeastSquares::new(&Context::auto()?, &a)?;
/// assert_eq!((of.matrix.n_rows(), of.transpose.n_rows()), (3, 2));
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct LeastSquares<A: Real + Scalar<Accum = A>> {
    /// A.
    pub matrix: Matrix<A>,
    /// The transpose of A.
    pub transpose: Matrix<A>,
}

impl<A: Real + Scalar<Accum = A>> LeastSquares<A> {
    /// Of a matrix, on the device of a context. O(rows + columns + entries) to transpose it.
    ///
    /// # Errors
    /// Whatever preparing it says.
    pub fn new<'a, O: Offset>(context: &Context, a: impl Into<CsrView<'a, A, O>>) -> Result<Self> {
        let a: CsrView<'_, A, O> = a.into();
        let transpose = transposed(a)?;
        Ok(Self { matrix: context.prepare(a)?, transpose: context.prepare(&transpose)? })
    }
}

/// The transpose; entries of a row keep their order. By counting.
fn transposed<A: Real + Scalar<Accum = A>, O: Offset>(a: CsrView<'_, A, O>) -> Result<Csr<A>> {
    let mut starts = vec![0usize; a.n_cols() + 1];
    (0..a.n_rows()).flat_map(|row| a.row(row)).for_each(|(col, _)| starts[col as usize + 1] += 1);
    (0..a.n_cols()).for_each(|col| starts[col + 1] += starts[col]);
    let mut next = starts.clone();
    let mut entries = vec![(0u32, A::zero()); a.nnz()];
    for row in 0..a.n_rows() {
        for (col, value) in a.row(row) {
            entries[next[col as usize]] = (row as u32, value);
            next[col as usize] += 1;
        }
    }
    let rows = starts.windows(2).map(|ends| entries[ends[0]..ends[1]].iter().copied());
    Ok(Csr::from_rows(a.n_rows(), rows)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transpose_has_the_entries_of_the_matrix() {
        let a = Csr::from_coo(3, 4, &[(0, 3, 1.0f64), (0, 0, 2.0), (2, 0, 3.0), (2, 2, 4.0)]).unwrap();
        let expected = Csr::from_coo(4, 3, &[(3, 0, 1.0f64), (0, 0, 2.0), (0, 2, 3.0), (2, 2, 4.0)]).unwrap();
        assert_eq!(transposed(a.view()).unwrap(), expected);
    }
}
