//! Lines through measured times.

use serde::{Deserialize, Serialize};

use crate::format::Format;

/// A measured time of a generated matrix.
///
/// ```
/// use spmv_model::Sample;
/// let sample = Sample { waves: 2.0, per_row: 16.0, seconds: 3e-6 };
/// assert!(sample.seconds > 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// I: rows over those of a wave.
    pub waves: f64,
    /// P: mean entries of a row.
    pub per_row: f64,
    /// Time of a multiplication: mean over executions after the first ones (equation 5).
    pub seconds: f64,
}

/// `slope * x + intercept`.
///
/// ```
/// use spmv_model::Line;
/// let line = Line::through(&[(1.0, 5.0), (2.0, 7.0), (3.0, 9.0)]).unwrap();
/// assert_eq!((line.slope, line.intercept, line.at(4.0)), (2.0, 3.0, 11.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Change of y for one of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
}

impl Line {
    /// The line with the least sum of squared distances in y; `None` unless there are two different x.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (mean_x, mean_y) = (mean(|p| p.0), mean(|p| p.1));
        let xx: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let xy: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        // Not for no points either, whose means are no numbers.
        (xx > 0.0).then(|| {
            let slope = xy / xx;
            Self { slope, intercept: mean_y - slope * mean_x }
        })
    }

    /// y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }
}

/// Samples that no line goes through.
///
/// ```
/// use spmv_model::{Fit, FitError, Format};
/// let e = Fit::of(Format::Ell, &[], None).unwrap_err();
/// assert_eq!(e.to_string(), "ell: fewer than two different row lengths");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{format}: fewer than two different {what}")]
pub struct FitError {
    /// Whose samples.
    pub format: Format,
    /// `waves` or `row lengths`.
    pub what: &'static str,
}

/// The lines of `csr_vector` for rows on one side of the break.
///
/// ```
/// use spmv_model::{Line, Piece};
/// let line = |slope: f64| Line { slope, intercept: 0.0 };
/// let piece = Piece { by_length: line(2.0), by_waves: line(10.0), t0: 20.0 };
/// assert_eq!(piece.seconds(3.0, 7.0), 14.0 / 20.0 * 30.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// T: time by row length, at a fixed number of waves.
    pub by_length: Line,
    /// E: time by waves, at a fixed row length.
    pub by_waves: Line,
    /// Time in seconds of the sample that both lines have in common.
    pub t0: f64,
}

impl Piece {
    /// T(P0) / t0 * E(I0), where neither line is followed below 0.
    pub fn seconds(&self, waves: f64, per_row: f64) -> f64 {
        self.by_length.at(per_row).max(0.0) / self.t0 * self.by_waves.at(waves).max(0.0)
    }
}

/// The lines of one format, of which [`Fit`](crate::Fit) has the samples too.
///
/// ```
/// use spmv_model::{Fit, Format, Sample};
/// let sample = |waves: f64, per_row: f64| Sample { waves, per_row, seconds: waves * (per_row + 1.0) };
/// let samples = [(1.0, 4.0), (1.0, 8.0), (3.0, 4.0)].map(|(waves, per_row)| sample(waves, per_row));
/// let fitted = Fit::of(Format::CsrVector, &samples, None)?.fitted;
/// assert_eq!(fitted.seconds(2.0, 9.0), 20.0);
/// # Ok::<(), spmv_model::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitted {
    /// `csr_vector`: T(P0) / t0 * E(I0).
    ByBunch {
        /// Of rows up to `limit` entries; of all, where there is one piece.
        short: Piece,
        /// Of longer rows, where there are samples of them.
        long: Option<Piece>,
        /// The break: entries of the longest row that counts as short.
        limit: f64,
    },
    /// The others: f(I0) * P0 + g(I0), where g(I) = E(I) - f(I) * P1.
    ByLane {
        /// f: seconds that an entry of a row takes, by waves.
        per_entry: Line,
        /// E: time by waves, at row length P1.
        by_waves: Line,
        /// P1: entries of a row.
        per_row: f64,
    },
}

impl Fitted {
    /// Predicted time of a matrix of so many waves (I0) and entries a row (P0); never negative.
    pub fn seconds(&self, waves: f64, per_row: f64) -> f64 {
        let seconds = match self {
            Self::ByBunch { short, long, limit } => {
                long.filter(|_| per_row > *limit).unwrap_or(*short).seconds(waves, per_row)
            }
            Self::ByLane { per_entry, by_waves, per_row: of_fit } => {
                by_waves.at(waves) + per_entry.at(waves) * (per_row - of_fit)
            }
        };
        // Also what is no number, such as a ratio to a time of 0.
        if seconds > 0.0 { seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_least_squares() {
        // By hand: means 2.5 and 5.25; xx = 5, xy = 7.5.
        let line = Line::through(&[(1.0, 3.0), (2.0, 4.0), (3.0, 7.0), (4.0, 7.0)]).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12;
        assert!(near(line.slope, 1.5) && near(line.intercept, 1.5), "{line:?}");
        assert_eq!(Line::through(&[(1.0, 3.0), (1.0, 4.0)]), None);
        assert_eq!(Line::through(&[]), None);
    }
}
