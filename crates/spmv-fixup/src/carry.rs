//! The synchronizer: one sum per bunch, for the row in which the bunch began.

use spmv_core::Accum;

use crate::{FixupError, Structure};

/// Adds each bunch's carry to the row in which the bunch began, in bunch order.
///
/// `rows` and `sums` have one entry per bunch, `y` has `n_rows`. O(bunches); the sums of a row that
/// spans many bunches are added in the same order on every run.
///
/// # Errors
/// [`FixupError::CarryMisplaced`] if a row is not the one that holds the bunch's first entry,
/// [`FixupError::CarryCount`], [`FixupError::YLength`].
pub fn add<A: Accum>(s: &Structure<'_>, rows: &[u32], sums: &[A], y: &mut [A]) -> Result<(), FixupError> {
    s.check_y(y.len())?;
    let n_bunches = s.n_bunches();
    if rows.len() != n_bunches || sums.len() != n_bunches {
        return Err(FixupError::CarryCount { found: rows.len().min(sums.len()), n_bunches });
    }
    for (bunch, (&row, &sum)) in rows.iter().zip(sums).enumerate() {
        let start = s.tiling.bunch_range(bunch as u32, s.nnz()).start;
        let holds_start = |r: usize| s.row_ptr[r] <= start && start < s.row_ptr[r + 1];
        if row as usize >= s.n_rows() || !holds_start(row as usize) {
            return Err(FixupError::CarryMisplaced { bunch, row, n_rows: s.n_rows() });
        }
        y[row as usize] += sum;
    }
    Ok(())
}
