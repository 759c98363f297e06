//! How long rows are: models to draw lengths from, and lengths fitted to exact totals.

use std::ops::RangeInclusive;

use super::GenerateError;
use super::random::{Draw, Scatter, octave_tail};

/// A distribution of row lengths, in entries.
///
/// ```
/// use spmv_io::generate::RowLengths;
/// let lens = RowLengths::PowerLaw { min: 1, max: 500, exponent: 2.0 }.draw(10_000, 7)?;
/// assert!(lens.iter().all(|l| (1..=500).contains(l)));
/// assert_eq!(lens, RowLengths::PowerLaw { min: 1, max: 500, exponent: 2.0 }.draw(10_000, 7)?);
/// # Ok::<(), spmv_io::generate::GenerateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowLengths {
    /// Every length in `min..=max` equally likely.
    Uniform {
        /// Shortest row.
        min: u32,
        /// Longest row.
        max: u32,
    },
    /// Normal, rounded, and clamped to `0..=n_cols` by the generators.
    Normal {
        /// Mean length.
        mean: f64,
        /// Standard deviation.
        dev: f64,
    },
    /// A share proportional to `length^-exponent`, stepwise: constant inside each doubling from `min`.
    PowerLaw {
        /// Shortest row, at least 1.
        min: u32,
        /// Longest row.
        max: u32,
        /// Greater than 1; 2 means that half of the rows are shorter than twice `min`.
        exponent: f64,
    },
}

impl RowLengths {
    /// Draws the lengths of `n_rows` rows. O(rows).
    ///
    /// # Errors
    /// [`GenerateError::Parameter`] if `min > max`, a power law starts at 0, or a number is not finite
    /// or out of range.
    pub fn draw(&self, n_rows: usize, seed: u64) -> Result<Vec<u32>, GenerateError> {
        self.check()?;
        let mut draw = Draw::new(seed, u64::MAX);
        let tail = if let Self::PowerLaw { exponent, .. } = *self { octave_tail(exponent) } else { 0.0 };
        let mut one = || match *self {
            Self::Uniform { min, max } => min + draw.below(u64::from(max) - u64::from(min) + 1) as u32,
            Self::Normal { mean, dev } => (mean + dev * draw.normal() + 0.5).max(0.0) as u32,
            Self::PowerLaw { min, max, .. } => draw.power_law(min.into(), max.into(), tail) as u32,
        };
        Ok((0..n_rows).map(|_| one()).collect())
    }

    fn check(&self) -> Result<(), GenerateError> {
        let bad = |name, value, wanted| Err(GenerateError::Parameter { name, value, wanted });
        match *self {
            Self::Uniform { min, max } | Self::PowerLaw { min, max, .. } if min > max => {
                bad("shortest row", min.into(), "no more than the longest row")
            }
            Self::Normal { mean, .. } if !(0.0..=u32::MAX as f64).contains(&mean) => {
                bad("mean row length", mean, "a number from 0 to 4294967295")
            }
            Self::Normal { dev, .. } if !(dev >= 0.0 && dev.is_finite()) => {
                bad("deviation of row lengths", dev, "finite and not negative")
            }
            Self::PowerLaw { min: 0, .. } => bad("shortest row of a power law", 0.0, "at least 1"),
            Self::PowerLaw { exponent, .. } if !(exponent > 1.0 && exponent <= 32.0) => {
                bad("exponent of row lengths", exponent, "more than 1 and at most 32")
            }
            _ => Ok(()),
        }
    }
}

/// Moves lengths until they sum to `nnz`, each inside `range`; rows in `pinned` stay as they are.
///
/// Rows move in groups of `block` neighbours and by `block` entries, so that the rows of one node keep
/// one length; the last few entries go to single rows. The groups that move are scattered over the matrix.
///
/// # Errors
/// [`GenerateError::Unreachable`] if no lengths inside `range` have that sum.
///
/// # Panics
/// If a pinned row does not exist.
pub fn fit_row_lengths(
    lens: &mut [u32],
    range: RangeInclusive<u32>,
    nnz: u64,
    block: usize,
    pinned: &[usize],
    seed: u64,
) -> Result<(), GenerateError> {
    let (min, max) = (*range.start(), *range.end());
    let mut free = vec![true; lens.len()];
    for &row in pinned {
        free[row] = false;
    }
    for (len, _) in lens.iter_mut().zip(&free).filter(|(_, free)| **free) {
        *len = (*len).clamp(min, max);
    }
    let mut gap = nnz as i64 - lens.iter().map(|&l| i64::from(l)).sum::<i64>();
    for step in [block.max(1), 1] {
        let groups = lens.len().div_ceil(step);
        let scatter = Scatter::new(groups, seed);
        let mut moved = true;
        while moved && gap != 0 {
            moved = false;
            for group in (0..groups as u64).map(|g| scatter.at(g)) {
                let rows = group * step..((group + 1) * step).min(lens.len());
                let change = step as i64 * gap.signum();
                let fits =
                    |&len: &u32| (i64::from(min)..=i64::from(max)).contains(&(i64::from(len) + change));
                if gap.abs() < (step * rows.len()) as i64
                    || !free[rows.clone()].iter().all(|&f| f)
                    || !lens[rows.clone()].iter().all(fits)
                {
                    continue;
                }
                gap -= change * rows.len() as i64;
                moved = true;
                for len in &mut lens[rows] {
                    *len = (i64::from(*len) + change) as u32;
                }
                if gap == 0 {
                    break;
                }
            }
        }
    }
    if gap == 0 { Ok(()) } else { Err(GenerateError::Unreachable { nnz, n_rows: lens.len(), min, max, gap }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_lengths_keep_range_total_pins_and_blocks() {
        let mut lens = RowLengths::Uniform { min: 0, max: 40 }.draw(300, 1).unwrap();
        for rows in lens.chunks_mut(3) {
            rows.fill(rows[0] / 3 * 3);
        }
        lens[0] = 99;
        fit_row_lengths(&mut lens, 3..=36, 300 * 15, 3, &[0], 2).unwrap();
        assert_eq!(lens[0], 99);
        assert!(lens[1..].iter().all(|l| (3..=36).contains(l)));
        assert_eq!(lens.iter().sum::<u32>(), 300 * 15);
        let uneven = lens[3..].chunks(3).filter(|rows| rows.iter().any(|l| *l != rows[0])).count();
        assert!(uneven <= 9, "{uneven} nodes have rows of several lengths");
    }

    #[test]
    fn totals_out_of_reach_are_named() {
        let message = |nnz| fit_row_lengths(&mut [1, 1], 1..=2, nnz, 1, &[], 0).unwrap_err().to_string();
        assert_eq!(message(5), "2 rows of 1 to 2 entries cannot hold 5 entries; they miss it by 1");
        assert_eq!(message(1), "2 rows of 1 to 2 entries cannot hold 1 entries; they miss it by -1");
    }

    #[test]
    fn bad_parameters_are_named() {
        let message = |lengths: RowLengths| lengths.draw(1, 0).unwrap_err().to_string();
        assert_eq!(
            message(RowLengths::Uniform { min: 3, max: 2 }),
            "shortest row is 3; it must be no more than the longest row"
        );
        assert_eq!(
            message(RowLengths::PowerLaw { min: 1, max: 2, exponent: 1.0 }),
            "exponent of row lengths is 1; it must be more than 1 and at most 32"
        );
        assert_eq!(
            message(RowLengths::Normal { mean: 1.0, dev: f64::NAN }),
            "deviation of row lengths is NaN; it must be finite and not negative"
        );
    }
}
