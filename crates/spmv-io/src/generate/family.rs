//! Families of square matrices that products of one algorithm take unlike times for.

use std::fmt;

use spmv_core::Csr;

use super::{ColumnModel, GenerateError, RowLengths, banded, from_row_lengths};

/// How row lengths and columns of a generated square matrix lie. Times that are to hold for matrices of all shapes are
/// measured on all of them.
///
/// ```
/// use spmv_core::RowStats;
/// use spmv_io::generate::Family;
/// let rows = |family: Family| RowStats::of(family.matrix(1_000, 8, 1).unwrap().view());
/// assert_eq!(rows(Family::Even).max, 8);
/// assert!(rows(Family::LongRows).max >= 500);
/// assert_eq!(Family::ALL.map(Family::name), ["even", "diagonals", "scattered", "skewed", "long rows"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Rows of the same length, near the diagonal.
    Even,
    /// Full diagonals next to each other.
    Diagonals,
    /// Lengths that deviate by half the mean, columns anywhere.
    Scattered,
    /// A power law of lengths and of columns.
    Skewed,
    /// As `Even`, but for a few rows that hold a fifth of all entries.
    LongRows,
}

impl Family {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Even, Self::Diagonals, Self::Scattered, Self::Skewed, Self::LongRows];

    /// In words: `even`, `diagonals`, `scattered`, `skewed`, `long rows`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Diagonals => "diagonals",
            Self::Scattered => "scattered",
            Self::Skewed => "skewed",
            Self::LongRows => "long rows",
        }
    }

    /// A matrix of `n` rows and columns with about `mean` entries a row, and no row longer than `n`. O(entries).
    ///
    /// # Errors
    /// [`GenerateError`]: a mean of 0, too many rows or entries, and for `Skewed` a mean of more than `n` or fewer than 4 rows.
    pub fn matrix(self, n: usize, mean: u32, seed: u64) -> Result<Csr<f64>, GenerateError> {
        if mean == 0 {
            let (name, value, wanted) = ("mean", 0.0, "at least 1");
            return Err(GenerateError::Parameter { name, value, wanted });
        }
        let longest = u32::try_from(n).map_err(|_| GenerateError::TooLarge { axis: "rows", n })?;
        let per_row = mean as usize;
        let band = ColumnModel::Band { half_width: 4 * per_row };
        let drawn = |lengths: RowLengths| lengths.draw(n, seed ^ u64::from(mean));
        let (mut lens, columns) = match self {
            Self::Even => (vec![mean; n], band),
            Self::Diagonals => {
                let lower = per_row / 2;
                return banded(n, lower, per_row - 1 - lower, seed);
            }
            Self::Scattered => {
                let (mean, dev) = (f64::from(mean), f64::from(mean) / 2.0);
                (drawn(RowLengths::Normal { mean, dev })?, ColumnModel::Uniform)
            }
            // The mean is some four times the shortest row.
            Self::Skewed => {
                let (min, max) = ((mean / 4).max(1), longest / 4);
                let hubs = ColumnModel::Mixed { near: 0.3, half_width: 64, hubs: 0.3, exponent: 2.0 };
                (drawn(RowLengths::PowerLaw { min, max, exponent: 2.0 })?, hubs)
            }
            Self::LongRows => {
                let long = (n / 2).min(200 * per_row);
                let every = (5 * long / per_row).clamp(1, n.max(1));
                let len = |row: usize| if row % every == every / 2 { long as u32 } else { mean };
                ((0..n).map(len).collect(), band)
            }
        };
        lens.iter_mut().for_each(|len| *len = (*len).min(longest));
        from_row_lengths(&lens, n, columns, seed)
    }
}

/// Its [name](Family::name).
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
