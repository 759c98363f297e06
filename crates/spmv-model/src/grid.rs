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

/// How much of the paper's grid is measured.
///
/// ```
/// use spmv_model::{Extent, Format, Grid, Spread};
/// let points = |extent| Grid::of(Format::CsrVector, Spread::Fixed, 10_000, u64::MAX, extent).points.len();
/// assert!(points(Extent::Quick) < points(Extent::Lines) && points(Extent::Lines) < points(Extent::Product));
/// assert_eq!(points(Extent::Product), 18 * 13);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every third I and every other P.
    Quick,
    /// All I and P. For `csr_vector`, whose model reads no others, all P at one I and all I at two P.
    Lines,
    /// Every I with every P (section 3.1).
    Product,
}

/// The points of a format: those to be measured, and those of the paper that are not.
///
/// ```
/// use spmv_model::{Extent, Format, Grid, Spread};
/// let grid = Grid::of(Format::CsrScalar, Spread::Fixed, 1000, 1_000_000, Extent::Lines);
/// assert!(grid.points.iter().all(|p| p.entries(1000) <= 1_000_000));
/// assert!(grid.left_out.iter().any(|p| p.waves == 10 && p.per_row == 1024));
/// assert!(grid.too_narrow.iter().all(|p| p.per_row == 1024 && p.waves == 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// To be measured.
    pub points: Vec<Point>,
    /// Larger than the budget.
    pub left_out: Vec<Point>,
    /// Rows as long as the square matrix is wide, or longer, which the paper excludes (C > P, section 3.1).
    pub too_narrow: Vec<Point>,
}

/// I at which [`Format::CsrVector`]'s times are fitted by P (Figure 1), and P at which they are fitted by I (Figure 2).
pub(crate) const VECTOR_WAVES: u32 = 40;
pub(crate) const VECTOR_LENGTHS: [u32; 2] = [64, 2048];

impl Grid {
    /// The paper's rules: I of 1 to 10, for `csr_vector` then 15 to 50 by fives; P of 4, 8, 16, ... up to 1024, for
    /// `csr_vector` then 1536 to 3072 by 512 (section 3.1). What has more than `max_entries` entries is left out.
    ///
    /// [`Extent::Lines`] takes for `csr_vector` all P at I = 40, and all I at P = 64 and 2048, where Figures 1 and 2 fit its
    /// lines. If not all of P fit at I = 40, it is the I at which most do, the largest of those.
    pub fn of(format: Format, spread: Spread, wave_rows: u64, max_entries: u64, extent: Extent) -> Self {
        let by_bunch = format == Format::CsrVector;
        let quick = extent == Extent::Quick;
        let doubling = std::iter::successors(Some(4u32), |p| Some(p * 2)).take_while(|p| *p <= 1024);
        // Beyond 1024 there are few.
        let is_taken =
            |p: &u32| !quick || p.ilog2().is_multiple_of(2) && *p != 1536 || *p > 2560 || *p == 2048;
        let longer = (1536..=3072u32).step_by(512).filter(|_| by_bunch);
        let lengths: Vec<u32> = doubling.chain(longer).filter(is_taken).collect();
        let more = (15..=50u32).step_by(5).filter(|_| by_bunch);
        let waves: Vec<u32> = (1..=10).chain(more).step_by(if quick { 3 } else { 1 }).collect();
        // Lengths spread to twice the mean less 1; the few that are longer in a normal spread are cut.
        let longest = |p: u32| if spread == Spread::Fixed { p } else { 2 * p - 1 };
        let is_wide = |p: Point| u64::from(p.waves).saturating_mul(wave_rows) > longest(p.per_row).into();
        let fits = |p: Point| is_wide(p) && p.entries(wave_rows) <= max_entries;
        let fitting = |waves: u32| lengths.iter().filter(|p| fits(Point { waves, per_row: **p })).count();
        let of_lengths =
            waves.iter().copied().filter(|i| *i <= VECTOR_WAVES).max_by_key(|i| (fitting(*i), *i));
        let mut grid = Self::default();
        for &waves in &waves {
            for &per_row in &lengths {
                let on_a_line = Some(waves) == of_lengths || VECTOR_LENGTHS.contains(&per_row);
                if by_bunch && extent != Extent::Product && !on_a_line {
                    continue;
                }
                let point = Point { waves, per_row };
                let list = match (is_wide(point), fits(point)) {
                    (false, _) => &mut grid.too_narrow,
                    (true, false) => &mut grid.left_out,
                    (true, true) => &mut grid.points,
                };
                list.push(point);
            }
        }
        grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u64 = u64::MAX;

    #[test]
    fn the_grid_is_the_papers_in_every_point() {
        for format in [Format::CsrScalar, Format::Ell, Format::Jad] {
            for spread in Spread::ALL {
                let grid = Grid::of(format, spread, 10_000, ALL, Extent::Lines);
                assert_eq!(grid, Grid::of(format, spread, 10_000, ALL, Extent::Product));
                let all = (1..=10).flat_map(|waves| (2..=10).map(move |k| Point { waves, per_row: 1 << k }));
                assert_eq!(grid.points, all.collect::<Vec<_>>());
            }
        }
        let waves: Vec<u32> = (1..=9).chain((10..=50).step_by(5)).collect();
        let lengths = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 2560, 3072];
        let vector = |extent| Grid::of(Format::CsrVector, Spread::Fixed, 10_000, ALL, extent).points;
        let product = waves.iter().flat_map(|waves| lengths.map(|per_row| Point { waves: *waves, per_row }));
        let product: Vec<Point> = product.collect();
        assert_eq!(vector(Extent::Product), product);
        let on_lines = product.iter().filter(|p| p.waves == 40 || [64, 2048].contains(&p.per_row));
        assert_eq!(vector(Extent::Lines), on_lines.copied().collect::<Vec<_>>());
    }

    #[test]
    fn the_papers_own_device_holds_what_the_paper_measured() {
        // Two multiprocessors of 96 half-warps.
        let grid = Grid::of(Format::CsrVector, Spread::Fixed, 192, ALL, Extent::Lines);
        assert!(grid.left_out.is_empty());
        let lengths = grid.points.iter().filter(|p| p.waves == 40).map(|p| p.per_row);
        assert_eq!((lengths.clone().count(), lengths.max()), (13, Some(3072)));
        let narrow: Vec<u32> = grid.too_narrow.iter().map(|p| p.waves).collect();
        assert_eq!(narrow, (1..=10).collect::<Vec<_>>(), "of P = 2048");
    }

    #[test]
    fn where_memory_is_short_lengths_are_measured_at_fewer_waves() {
        let of_lengths = |max_entries| {
            let grid = Grid::of(Format::CsrVector, Spread::Fixed, 10_000, max_entries, Extent::Lines);
            let short = grid.points.iter().find(|p| p.per_row == 4).unwrap().waves;
            (short, grid.points.iter().filter(|p| p.waves == short).count())
        };
        assert_eq!(of_lengths(10_000 * 3072 * 40), (40, 13));
        assert_eq!(of_lengths(10_000 * 3072 * 40 - 1), (35, 13));
        assert_eq!(of_lengths(10_000 * 2000), (1, 10));
    }

    #[test]
    fn what_is_quick_is_a_part_of_the_rest() {
        for (format, spread) in Format::ALL.into_iter().flat_map(|f| Spread::ALL.map(|s| (f, s))) {
            let [quick, product] =
                [Extent::Quick, Extent::Product].map(|e| Grid::of(format, spread, 10_000, ALL, e).points);
            assert!(quick.len() < product.len() && quick.iter().all(|p| product.contains(p)));
            assert!(quick.iter().any(|p| p.per_row == product.last().unwrap().per_row));
        }
    }

    #[test]
    fn small_devices_and_budgets_leave_points_out() {
        for (format, extent) in
            Format::ALL.into_iter().flat_map(|f| [Extent::Quick, Extent::Product].map(|e| (f, e)))
        {
            let count = |grid: &Grid| grid.points.len() + grid.left_out.len() + grid.too_narrow.len();
            let all = Grid::of(format, Spread::Uniform, 2048, ALL, extent);
            let some = Grid::of(format, Spread::Uniform, 2048, 1 << 20, extent);
            assert_eq!(count(&all), count(&some));
            assert!(some.points.len() < all.points.len() && all.left_out.is_empty());
            // No row is so long that its entries would not find columns of their own.
            let narrow = Grid::of(format, Spread::Uniform, 1, 100, extent).points;
            assert!(narrow.iter().all(|p| p.waves >= 2 * p.per_row));
        }
    }
}
