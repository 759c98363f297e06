//! Other orders of rows and columns.

use spmv_core::{Csr, CsrView, Offset, Value};

use crate::error::{PartitionError, Result};

/// An order of `n` indices: which old index each new one has.
///
/// Rows and columns are reordered alike, so `x` and `y` of the reordered matrix are those of the matrix, reordered. It has the length
/// of the whole matrix, so it is for matrices that one process holds.
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{Permutation, permute};
/// let order = Permutation::new(vec![2, 0, 1])?;
/// assert_eq!(order.apply(&["a", "b", "c"])?, ["c", "a", "b"]);
/// assert_eq!(order.inverse().apply(&["c", "a", "b"])?, ["a", "b", "c"]);
/// let a = Csr::from_coo(3, 3, &[(0, 2, 1.0f32), (2, 2, 3.0)])?;
/// let b = permute(a.view(), &order)?;
/// assert_eq!((b.row(0).collect::<Vec<_>>(), b.row(1).collect::<Vec<_>>()), (vec![(0, 3.0)], vec![(0, 1.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permutation {
    order: Vec<u32>,
}

impl Permutation {
    /// The old index of each new one. O(n).
    ///
    /// # Errors
    /// [`PartitionError::NotAPermutation`].
    pub fn new(order: Vec<u32>) -> Result<Self> {
        let n = order.len();
        let mut is_taken = vec![false; n];
        for (position, found) in order.iter().enumerate() {
            match is_taken.get_mut(*found as usize) {
                Some(taken) if !*taken => *taken = true,
                _ => return Err(PartitionError::NotAPermutation { position, found: *found, n }),
            }
        }
        Ok(Self { order })
    }

    /// The order that changes nothing. `n` is at most 2^32.
    pub fn identity(n: usize) -> Self {
        Self { order: (0..n).map(|index| index as u32).collect() }
    }

    /// How many indices it orders.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it orders none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The old index of each new one.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The order that undoes this one: the new index of each old one. O(n).
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut order = vec![0; self.order.len()];
        for (new, old) in self.order.iter().enumerate() {
            order[*old as usize] = new as u32;
        }
        Self { order }
    }

    /// A vector in the new order; that of [`inverse`](Self::inverse) brings it back. O(n).
    ///
    /// # Errors
    /// [`PartitionError::Length`].
    pub fn apply<T: Copy>(&self, values: &[T]) -> Result<Vec<T>> {
        if values.len() != self.len() {
            return Err(PartitionError::Length { n: self.len(), found: values.len() });
        }
        Ok(self.order.iter().map(|old| values[*old as usize]).collect())
    }
}

/// The matrix with rows and columns in a new order. Entries of a row keep theirs, so its sum has the same bits. O(rows + entries).
///
/// ```
/// use spmv_core::Csr;
/// use spmv_partition::{Permutation, permute};
/// let a = Csr::from_coo(2, 2, &[(0, 0, 1.0f32), (0, 1, 2.0)])?;
/// let swapped = permute(a.view(), &Permutation::new(vec![1, 0])?)?;
/// assert_eq!(swapped.row(1).collect::<Vec<_>>(), [(1, 1.0), (0, 2.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PartitionError::NotSquare`], [`PartitionError::Length`].
pub fn permute<T: Value, O: Offset>(a: CsrView<'_, T, O>, order: &Permutation) -> Result<Csr<T, O>> {
    check_square(a)?;
    if order.len() != a.n_rows() {
        return Err(PartitionError::Length { n: order.len(), found: a.n_rows() });
    }
    let new = order.inverse().order;
    let row = |old: &u32| a.row(*old as usize).map(|(col, val)| (new[col as usize], val));
    Ok(Csr::from_rows(a.n_cols(), order.order.iter().map(row))?)
}

pub(crate) fn check_square<T: Value, O: Offset>(a: CsrView<'_, T, O>) -> Result<()> {
    let (n_rows, n_cols) = (a.n_rows(), a.n_cols());
    if n_rows == n_cols { Ok(()) } else { Err(PartitionError::NotSquare { n_rows, n_cols }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_strange_indices_are_refused() {
        let refused = |order: &[u32]| Permutation::new(order.into()).unwrap_err();
        assert_eq!(refused(&[0, 2, 0]), PartitionError::NotAPermutation { position: 2, found: 0, n: 3 });
        assert_eq!(
            refused(&[0, 2]).to_string(),
            "index 2 at position 1 is repeated or not below 2; a permutation holds each index once"
        );
    }

    #[test]
    fn what_has_another_length_or_is_not_square_is_refused() {
        let order = Permutation::identity(3);
        let wide = Csr::from_coo(3, 4, &[(0, 0, 1.0f32)]).unwrap();
        let small = Csr::from_coo(2, 2, &[(0, 0, 1.0f32)]).unwrap();
        assert_eq!(order.apply(&[1.0]), Err(PartitionError::Length { n: 3, found: 1 }));
        assert_eq!(permute(wide.view(), &order), Err(PartitionError::NotSquare { n_rows: 3, n_cols: 4 }));
        assert_eq!(permute(small.view(), &order), Err(PartitionError::Length { n: 3, found: 2 }));
    }
}
