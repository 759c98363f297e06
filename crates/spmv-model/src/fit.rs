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
#[derive(Clone, Copy, Debug, PartialEq)]
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
/// use spmv_model::{FitError, Fitted, Format};
/// let e = Fitted::of(Format::Ell, &[], 1024.0).unwrap_err();
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

/// What the samples of one format say.
///
/// ```
/// use spmv_model::{Fitted, Format, Sample};
/// let sample = |waves: f64, per_row: f64| Sample { waves, per_row, seconds: waves * (per_row + 1.0) };
/// let samples = [(1.0, 4.0), (1.0, 8.0), (3.0, 4.0)].map(|(waves, per_row)| sample(waves, per_row));
/// let fitted = Fitted::of(Format::CsrVector, &samples, 1024.0)?;
/// assert_eq!(fitted.seconds(2.0, 9.0), 20.0);
/// # Ok::<(), spmv_model::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitted {
    /// `csr_vector`: T(P0) / t0 * E(I0).
    ByBunch {
        /// T of rows up to `limit` entries, at a fixed number of waves.
        short: Line,
        /// T of longer rows, where there are samples of them.
        long: Option<Line>,
        /// Entries of a row that a group takes at a time.
        limit: f64,
        /// E: time by waves, at a fixed row length.
        by_waves: Line,
        /// Time in seconds of the sample that both lines have in common.
        t0: f64,
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
    /// Fits the samples of a format; `limit` is the most lanes of a group.
    ///
    /// # Errors
    /// [`FitError`] unless two samples differ in waves alone and two in row length alone.
    pub fn of(format: Format, samples: &[Sample], limit: f64) -> Result<Self, FitError> {
        let error = |what| FitError { format, what };
        // The number of waves with the most row lengths, and the row length with the most numbers of waves.
        let lengths = commonest(samples, |s| s.waves, |s| s.per_row).ok_or(error("row lengths"))?;
        let waves = commonest(samples, |s| s.per_row, |s| s.waves).ok_or(error("waves"))?;
        let by_waves: Vec<_> = waves.iter().map(|s| (s.waves, s.seconds)).collect();
        let by_waves = Line::through(&by_waves).ok_or(error("waves"))?;
        let per_row = waves[0].per_row;
        if format != Format::CsrVector {
            let mut slopes = Vec::new();
            for waves in distinct(samples, |s| s.waves) {
                let of_these = samples.iter().filter(|s| s.waves == waves);
                let points: Vec<_> = of_these.map(|s| (s.per_row, s.seconds)).collect();
                slopes.extend(Line::through(&points).map(|line| (waves, line.slope)));
            }
            let per_entry = match slopes[..] {
                [] => return Err(error("row lengths")),
                // One number of waves says nothing of others but that none takes no time.
                [(waves, slope)] => Line { slope: slope / waves, intercept: 0.0 },
                _ => Line::through(&slopes).ok_or(error("waves"))?,
            };
            return Ok(Self::ByLane { per_entry, by_waves, per_row });
        }
        let line = |is_in: &dyn Fn(f64) -> bool| {
            let points = lengths.iter().filter(|s| is_in(s.per_row)).map(|s| (s.per_row, s.seconds));
            Line::through(&points.collect::<Vec<_>>())
        };
        let (short, long) = (line(&|p| p <= limit), line(&|p| p > limit));
        // One length on either side is no line, but both together are.
        let whole = short.or(long).or_else(|| line(&|_| true)).ok_or(error("row lengths"))?;
        let common = lengths.iter().find(|s| s.per_row == per_row);
        // Samples without a common one: the line through one set says what it would be.
        let t0 = common.map_or_else(|| by_waves.at(lengths[0].waves), |s| s.seconds);
        Ok(Self::ByBunch { short: whole, long, limit, by_waves, t0 })
    }

    /// Predicted time of a matrix of so many waves (I0) and entries a row (P0); never negative.
    pub fn seconds(&self, waves: f64, per_row: f64) -> f64 {
        let seconds = match self {
            Self::ByBunch { short, long, limit, by_waves, t0 } => {
                let line = long.filter(|_| per_row > *limit).unwrap_or(*short);
                line.at(per_row).max(0.0) / t0 * by_waves.at(waves).max(0.0)
            }
            Self::ByLane { per_entry, by_waves, per_row: of_fit } => {
                by_waves.at(waves) + per_entry.at(waves) * (per_row - of_fit)
            }
        };
        // Also what is no number, such as a ratio to a time of 0.
        if seconds > 0.0 { seconds } else { 0.0 }
    }
}

/// Different values of a key, ascending.
fn distinct(samples: &[Sample], key: fn(&Sample) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = samples.iter().map(key).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The samples that share the value of a key that has the most values of another, the least of those that have as many.
fn commonest(samples: &[Sample], key: fn(&Sample) -> f64, other: fn(&Sample) -> f64) -> Option<Vec<Sample>> {
    let of = |value: f64| samples.iter().filter(|s| key(s) == value).copied().collect::<Vec<_>>();
    let sets = distinct(samples, key).into_iter().map(of);
    let sets = sets.map(|set| (distinct(&set, other).len(), set));
    sets.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, set)| set)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1.0)
    }

    #[test]
    fn a_line_is_that_of_least_squares() {
        // By hand: means 2.5 and 5.25; xx = 5, xy = 7.5.
        let line = Line::through(&[(1.0, 3.0), (2.0, 4.0), (3.0, 7.0), (4.0, 7.0)]).unwrap();
        assert!(near(line.slope, 1.5) && near(line.intercept, 1.5), "{line:?}");
        assert_eq!(Line::through(&[(1.0, 3.0), (1.0, 4.0)]), None);
        assert_eq!(Line::through(&[]), None);
    }

    #[test]
    fn csr_vector_is_the_product_of_two_lines_in_two_pieces() {
        // T at I = 2: 10 + 2 P up to 100 entries, then 50 + 3 P; E at P = 10: 15 I, so that both give 30 at (2, 10).
        let by_length = |p: f64| if p <= 100.0 { 10.0 + 2.0 * p } else { 50.0 + 3.0 * p };
        let mut samples: Vec<Sample> = [10.0, 50.0, 100.0, 200.0, 400.0]
            .map(|per_row| Sample { waves: 2.0, per_row, seconds: by_length(per_row) })
            .to_vec();
        samples.extend([1.0, 2.0, 5.0, 9.0].map(|waves| Sample {
            waves,
            per_row: 10.0,
            seconds: 15.0 * waves,
        }));
        samples.remove(6);
        let fitted = Fitted::of(Format::CsrVector, &samples, 100.0).unwrap();
        for (waves, per_row) in [(2.0, 10.0), (4.0, 30.0), (1.0, 100.0), (3.0, 300.0)] {
            assert!(near(fitted.seconds(waves, per_row), by_length(per_row) / 30.0 * 15.0 * waves));
        }
    }

    #[test]
    fn lengths_on_either_side_of_the_limit_make_one_line_and_repeats_do_not_count() {
        let sample = |waves, per_row| Sample { waves, per_row, seconds: waves * (1.0 + per_row) };
        // Three times the same at I = 5, two lengths at I = 1.
        let samples =
            [(5.0, 4.0), (5.0, 4.0), (5.0, 4.0), (1.0, 4.0), (1.0, 2000.0)].map(|(i, p)| sample(i, p));
        let fitted = Fitted::of(Format::CsrVector, &samples, 1024.0).unwrap();
        assert!(near(fitted.seconds(3.0, 100.0), 303.0), "{}", fitted.seconds(3.0, 100.0));
    }

    #[test]
    fn the_others_are_lines_whose_slopes_are_lines() {
        // f(I) = 3 I + 1, E(I) at P = 4: 20 I + 6.
        let time = |waves: f64, per_row: f64| (3.0 * waves + 1.0) * (per_row - 4.0) + 20.0 * waves + 6.0;
        let mut samples = Vec::new();
        for waves in [1.0, 2.0, 5.0] {
            samples.extend([4.0, 8.0, 16.0].map(|per_row| Sample {
                waves,
                per_row,
                seconds: time(waves, per_row),
            }));
        }
        // A point that was left out, as for its size.
        samples.pop();
        for format in [Format::CsrScalar, Format::Ell, Format::Jad] {
            let fitted = Fitted::of(format, &samples, 1024.0).unwrap();
            for (waves, per_row) in [(1.0, 4.0), (3.5, 9.0), (40.0, 1.0)] {
                assert!(near(fitted.seconds(waves, per_row), time(waves, per_row)), "{format:?}");
            }
        }
    }

    #[test]
    fn too_few_samples_are_an_error() {
        let sample = |waves, per_row| Sample { waves, per_row, seconds: 1.0 };
        for format in Format::ALL {
            assert!(Fitted::of(format, &[], 32.0).is_err());
            assert!(Fitted::of(format, &[sample(1.0, 4.0), sample(1.0, 8.0)], 32.0).is_err());
            assert!(Fitted::of(format, &[sample(1.0, 4.0), sample(2.0, 4.0)], 32.0).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_samples_make_a_prediction_panic_or_negative(
            samples in prop::collection::vec((0u32..5, 0u32..5, 0.0..1e-3f64), 0..12),
            waves in prop_oneof![Just(0.0), Just(f64::MAX), 0.0..1e6f64],
            per_row in prop_oneof![Just(0.0), Just(f64::MAX), 0.0..1e6f64],
        ) {
            let sample = |(waves, per_row, seconds): &(u32, u32, f64)| Sample {
                waves: f64::from(*waves),
                per_row: f64::from(*per_row),
                seconds: *seconds,
            };
            let samples: Vec<_> = samples.iter().map(sample).collect();
            for format in Format::ALL {
                if let Ok(fitted) = Fitted::of(format, &samples, 3.0) {
                    prop_assert!(fitted.seconds(waves, per_row) >= 0.0);
                }
            }
        }
    }
}
