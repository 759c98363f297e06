//! Inverses of diagonal blocks.

use num_traits::{Float, Zero};
use spmv::{Context, Csr, CsrView, DeviceScalar, Matrix, Number, Offset, Queue, Scalar, Vector};

use crate::error::{Error, Result, expect};
use crate::precondition::Preconditioner;

/// The inverses of the square blocks on the diagonal (block Jacobi), as a block-diagonal matrix: it is applied by a product of that and a
/// pass over vectors.
///
/// Each row of it holds as many nonzeros as its block has columns, so it takes `block` times the memory of a vector, and as many
/// column indices. Blocks of a matrix whose unknowns come in groups, such as displacements of a point, are these groups.
///
/// ```
/// use spmv::{Context, Csr};
/// use spmv_solvers::{BlockJacobi, ConjugateGradient, Options};
/// let a = Csr::from_coo(3, 3, &[(0, 0, 2.0f64), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0), (2, 2, 9.0)])?;
/// let context = Context::auto()?;
/// let (m, a) = (BlockJacobi::new(&context, &a, 2)?, context.prepare(&a)?);
/// let (b, mut x) = (context.upload(&[3.0, 3.0, 9.0])?, a.zeros_x()?);
/// let mut options = Options { check_every: 1, ..Options::default() };
/// let report = ConjugateGradient::new(&a)?.solve_with(&a, &m, &b, &mut x, &mut options)?;
/// assert_eq!(report.iterations, 1); // the blocks are the matrix
/// # Ok::<(), spmv_solvers::Error>(())
/// ```
#[derive(Debug)]
pub struct BlockJacobi<A: Number + Scalar<Accum = A>> {
    inverses: Matrix<A>,
}

impl<A: Number + Scalar<Accum = A>> BlockJacobi<A> {
    /// Of a matrix whose blocks have `block` rows each, the last one what is left; on the device of a context. Entries outside of blocks
    /// count for nothing. O(entries + rows*block^2).
    ///
    /// # Errors
    /// A matrix that is not square, a `block` of 0, a block that is singular to working precision or has entries that are not finite,
    /// and out of memory.
    pub fn new<'a, O: Offset>(
        context: &Context,
        a: impl Into<CsrView<'a, A, O>>,
        block: usize,
    ) -> Result<Self> {
        let a: CsrView<'_, A, O> = a.into();
        let n = a.n_rows();
        expect("the number of columns", a.n_cols(), n)?;
        if block == 0 {
            return Err(Error::Option {
                what: "the size of a block",
                found: 0.0,
                need: "it must be at least 1",
            });
        }
        let mut rows: Vec<Vec<(u32, A)>> = Vec::with_capacity(n);
        for first in (0..n).step_by(block) {
            let size = block.min(n - first);
            let mut dense = vec![A::zero(); size * size];
            for row in 0..size {
                let in_block =
                    a.row(first + row).filter(|(col, _)| (first..first + size).contains(&(*col as usize)));
                in_block.for_each(|(col, value)| {
                    let entry = &mut dense[row * size + col as usize - first];
                    *entry += value;
                });
            }
            let Some(inverse) = inverse(dense, size) else {
                let need = "each diagonal block must be regular";
                return Err(Error::Option {
                    what: "the first row of a singular block",
                    found: first as f64,
                    need,
                });
            };
            rows.extend(inverse.chunks(size).map(|row| (first as u32..).zip(row.iter().copied()).collect()));
        }
        let inverses: Csr<A> = Csr::from_rows(n, rows)?;
        Ok(Self { inverses: context.prepare(&inverses)? })
    }
}

impl<A: Number + Scalar<Accum = A>> Preconditioner<A> for BlockJacobi<A> {
    fn apply(
        &self,
        queue: &mut Queue,
        r: &Vector<A>,
        z: &mut Vector<A>,
        rz: DeviceScalar<A>,
    ) -> spmv::Result<()> {
        queue.apply(&self.inverses, A::one(), r, A::zero(), z)?;
        queue.dot(r, z, rz)
    }
}

/// The inverse of a matrix in row order, by Gauss-Jordan elimination with the greatest pivot of a column; none of a matrix whose pivot is
/// but a rounding error.
fn inverse<A: Number>(mut a: Vec<A>, n: usize) -> Option<Vec<A>> {
    if !a.iter().all(|x| x.modulus().is_finite()) {
        return None;
    }
    // Greatest number of each row, so that rows may be of any size.
    let mut greatest: Vec<A::Part> =
        a.chunks(n).map(|row| row.iter().fold(A::Part::zero(), |most, x| most.max(x.modulus()))).collect();
    let mut inverse = vec![A::zero(); n * n];
    (0..n).for_each(|i| inverse[i * n + i] = A::one());
    for col in 0..n {
        let size_of = |row: &usize| a[row * n + col].modulus();
        let pivot = (col..n)
            .max_by(|i, j| size_of(i).partial_cmp(&size_of(j)).unwrap_or(std::cmp::Ordering::Equal))?;
        let value = a[pivot * n + col];
        if value.modulus() <= greatest[pivot] * A::Part::epsilon() {
            return None;
        }
        greatest.swap(pivot, col);
        for of in [&mut a, &mut inverse] {
            (0..n).for_each(|j| of.swap(pivot * n + j, col * n + j));
            of[col * n..][..n].iter_mut().for_each(|x| *x = *x / value);
        }
        for row in (0..n).filter(|row| *row != col) {
            let by = a[row * n + col];
            for of in [&mut a, &mut inverse] {
                for j in 0..n {
                    of[row * n + j] = of[row * n + j] - by * of[col * n + j];
                }
            }
        }
    }
    inverse.iter().all(|x| x.modulus().is_finite()).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_times_the_matrix_is_the_identity() {
        // Without exchanges of rows the first pivot would be zero.
        let a = [0.0, 2.0, 1.0, 4.0, -1.0, 3.0, 1.0, 1.0, 1.0f64];
        let inverse = inverse(a.to_vec(), 3).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = (0..3).map(|k| inverse[i * 3 + k] * a[k * 3 + j]).sum();
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-15, "{i} {j}: {sum}");
            }
        }
    }

    #[test]
    fn singular_blocks_have_no_inverse() {
        assert!(inverse(vec![1.0, 2.0, 2.0, 4.0f64], 2).is_none());
        assert!(inverse(vec![0.0f64], 1).is_none());
        assert_eq!(inverse(vec![1e20, 0.0, 0.0, 1.0f64], 2).unwrap(), [1e-20, 0.0, 0.0, 1.0]);
        assert!(inverse(vec![1.0, f64::NAN, 0.0, 1.0], 2).is_none());
    }
}
