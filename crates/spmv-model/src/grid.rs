//! The generated matrices whose times are measured.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::format::Format;

/// How row lengths of a generated matrix spread about their mean.
///
/// ```
/// use spmv_model::Spread;
/// assert_eq!("normal".parse(), Ok(Spread::Normal));
/// assert_eq!("wild".parse::<Spread>().unwrap_err(), "unknown spread 'wild'; known: fixed uniform normal");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// All alike (Guo & Wang 2012).
    Fixed,
    /// Every length from 1 to twice the mean less 1 equally likely.
    Uniform,
    /// Normal, with a quarter of the mean for deviation.
    Normal,
}

impl Spread {
    /// The three of the paper.
    pub const ALL: [Spread; 3] = [Spread::Fixed, Spread::Uniform, Spread::Normal];

    /// Name on the command line and in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Spread::Fixed => "fixed",
            Spread::Uniform => "uniform",
            Spread::Normal => "normal",
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let known = Spread::ALL.map(Spread::name).join(" ");
        Spread::ALL.into_iter().find(|p| p.name() == s).ok_or(format!("unknown spread '{s}'; known: {known}"))
    }
}

/// A generated matrix: square, of `waves` times the rows of a wave.
///
/// ```
/// use spmv_model::Point;
/// assert_eq!(Point { waves: 3, per_row: 8 }.entries(1000), 24_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// I, rows over those of a wave.
    pub waves: u32,
    /// P, mean entries of a row: R times the density.
    pub per_row: u32,
}

impl Point {
    /// Entries of the matrix.
    pub const fn entries(&self, wave_rows: u64) -> u64 {
        (self.waves as u64).saturating_mul(self.per_row as u64).saturating_mul(wave_rows)
    }
}

/// The points of a format: those that fit the budget, and those that do not.
///
/// ```
/// use spmv_model::{Format, Grid};
/// let grid = Grid::of(Format::CsrScalar, 1000, 1_000_000, false);
/// assert!(grid.points.iter().all(|p| p.entries(1000) <= 1_000_000));
/// assert!(grid.left_out.iter().any(|p| p.waves == 10 && p.per_row == 1024));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// To be measured.
    pub points: Vec<Point>,
    /// Larger than the budget.
    pub left_out: Vec<Point>,
}

impl Grid {
    /// The paper's rules: I of 1 to 10, for `csr_vector` then 15 to 50 by fives; P of 4, 8, 16, ... up to 1024, for
    /// `csr_vector` up to 3072. What has more than `max_entries` entries, or rows longer than half the matrix, is left out.
    ///
    /// The fit of `csr_vector` is a product, so it needs all P at one I alone (the least that has room for the longest
    /// rows) and all I at P = 4. `quick` takes every third I and every other P.
    pub fn of(format: Format, wave_rows: u64, max_entries: u64, quick: bool) -> Self {
        let by_bunch = format == Format::CsrVector;
        let most = if by_bunch { 3072u32 } else { 1024 };
        let doubling = std::iter::successors(Some(4u32), |p| Some(p * 2)).take_while(|p| *p < most);
        // Two of those beyond 1024, so that a line goes through them.
        let is_taken = |p: &u32| !quick || p.ilog2().is_multiple_of(2) || *p > 1024;
        let lengths: Vec<u32> = doubling.chain([most]).filter(is_taken).collect();
        let more = (15..=50u32).step_by(5).filter(|_| by_bunch);
        let waves: Vec<u32> = (1..=10).chain(more).step_by(if quick { 3 } else { 1 }).collect();
        let fits_rows =
            |waves: u32, per_row: u32| 2 * u64::from(per_row) <= u64::from(waves).saturating_mul(wave_rows);
        let of_lengths = waves.iter().copied().find(|i| fits_rows(*i, most)).or(waves.last().copied());
        let mut grid = Self::default();
        for &waves in &waves {
            for &per_row in &lengths {
                if by_bunch && Some(waves) != of_lengths && per_row != 4 {
                    continue;
                }
                let point = Point { waves, per_row };
                let fits = point.entries(wave_rows) <= max_entries && fits_rows(waves, per_row);
                if fits { &mut grid.points } else { &mut grid.left_out }.push(point);
            }
        }
        grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_the_papers() {
        let grid = Grid::of(Format::Ell, 10_000, u64::MAX, false);
        assert_eq!((grid.points.len(), grid.left_out.len()), (90, 0));
        let grid = Grid::of(Format::CsrVector, 10_000, u64::MAX, false);
        assert_eq!(grid.points.len(), 11 + 17);
        let longest = |wave_rows| {
            let points = Grid::of(Format::CsrVector, wave_rows, u64::MAX, true).points;
            points.iter().filter(|p| p.per_row > 1024).map(|p| (p.waves, p.per_row)).collect::<Vec<_>>()
        };
        assert_eq!(longest(10_000), [(1, 2048), (1, 3072)]);
        assert_eq!(longest(128), [(40, 2048)], "no room for more");
        assert_eq!(longest(1000), [(7, 2048), (7, 3072)]);
        assert_eq!(grid.points.iter().map(|p| p.waves).max(), Some(50));
        assert_eq!(grid.points.iter().map(|p| p.per_row).max(), Some(3072));
    }

    #[test]
    fn small_devices_and_budgets_leave_points_out() {
        for format in Format::ALL {
            for quick in [false, true] {
                let all = Grid::of(format, 2048, u64::MAX, quick);
                let some = Grid::of(format, 2048, 1 << 20, quick);
                assert_eq!(all.points.len() + all.left_out.len(), some.points.len() + some.left_out.len());
                assert!(some.points.len() < all.points.len());
                // No row is so long that its entries would not find columns of their own.
                let one_row = Grid::of(format, 1, 100, quick).points;
                assert!(one_row.iter().all(|p| p.waves >= 2 * p.per_row));
            }
        }
    }
}
