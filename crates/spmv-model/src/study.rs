//! From samples to lines, and what both look like: Figures 1 to 6 of Wang, Gu & Li 2017.

use serde::{Deserialize, Serialize};

use crate::fit::{FitError, Fitted, Line, Piece, Sample};
use crate::format::Format;
use crate::grid::{VECTOR_LENGTHS, VECTOR_WAVES};

/// Where the paper breaks T of `csr_vector`: the most threads of a block of its device (section 3.2.1).
pub const PAPER_BREAK: f64 = 1024.0;
/// P1 of the formats whose rows have a lane each (Figure 5).
const LANE_LENGTH: u32 = 32;
/// Row lengths on either side of a break that is looked for: a line always goes through two.
const LEAST_LENGTHS: usize = 3;

/// What a line gives, by what.
///
/// ```
/// use spmv_model::Quantity;
/// assert_eq!(serde_json::to_string(&Quantity::TimeByLength)?, "\"time_by_length\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// T(P): seconds by entries of a row (Figures 1 and 3).
    TimeByLength,
    /// E(I): seconds by waves (Figures 2 and 5).
    TimeByWaves,
    /// f(I): seconds for an entry of a row, by waves (Figure 4).
    SlopeByWaves,
}

/// A line with what it goes through.
///
/// ```
/// use spmv_model::{Fit, Format, Quantity, Sample};
/// let sample = |waves: f64, per_row: f64| Sample { waves, per_row, seconds: waves * per_row };
/// let samples = [(1.0, 4.0), (1.0, 8.0), (2.0, 4.0), (2.0, 8.0)].map(|(waves, p)| sample(waves, p));
/// let lines = Fit::of(Format::Jad, &samples, None)?.lines;
/// let slopes = lines.iter().find(|line| line.of == Quantity::SlopeByWaves).unwrap();
/// assert_eq!(slopes.points, [(1.0, 1.0), (2.0, 2.0)]);
/// assert_eq!((slopes.line.at(3.0), slopes.rms()), (3.0, 0.0));
/// # Ok::<(), spmv_model::FitError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedLine {
    /// Axes.
    pub of: Quantity,
    /// What all its points share: I of T(P), P of E(I).
    pub at: Option<f64>,
    /// The line of least squares.
    pub line: Line,
    /// What was measured, or for [`Quantity::SlopeByWaves`] fitted.
    pub points: Vec<(f64, f64)>,
}

impl FittedLine {
    fn through(of: Quantity, at: Option<f64>, points: Vec<(f64, f64)>) -> Option<Self> {
        Some(Self { of, at, line: Line::through(&points)?, points })
    }

    /// What is measured less what the line gives, point by point.
    pub fn residuals(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().map(|(x, y)| y - self.line.at(*x))
    }

    /// Root of the mean square of the residuals, in the line's unit.
    pub fn rms(&self) -> f64 {
        rms(self.residuals())
    }
}

/// A break of T(P) into two lines, and how well they fit.
///
/// ```
/// use spmv_model::{Fit, Format, Sample};
/// // Rows beyond 16 entries take twice as long for each.
/// let seconds = |p: f64| if p <= 16.0 { p } else { 2.0 * p };
/// let lengths = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].map(|p| (1.0, p));
/// let sample = |(waves, per_row): (f64, f64)| Sample { waves, per_row, seconds: waves * seconds(per_row) };
/// let samples: Vec<Sample> = lengths.into_iter().chain([(2.0, 2.0), (2.0, 128.0)]).map(sample).collect();
/// let fit = Fit::of(Format::CsrVector, &samples, None)?;
/// let [measured, paper] = fit.breaks[..] else { panic!() };
/// assert_eq!((measured.limit, measured.rms_s < 1e-9), (16.0, true));
/// assert!(paper.rms_s > 1.0, "1024 entries are beyond all samples");
/// # Ok::<(), spmv_model::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// Entries of the longest row of the first piece.
    pub limit: f64,
    /// Root of the mean square of what the samples are off the lines, in seconds.
    pub rms_s: f64,
    /// The same of the residuals over the measured times.
    pub relative: f64,
}

/// A measured time, and the one that the fit gives for it.
///
/// ```
/// use spmv_model::{Fit, Format, Sample};
/// let samples = [(1.0, 4.0, 5.0), (1.0, 8.0, 9.0), (2.0, 4.0, 10.0)];
/// let samples = samples.map(|(waves, per_row, seconds)| Sample { waves, per_row, seconds });
/// let fit = Fit::of(Format::CsrVector, &samples, None)?;
/// assert!(fit.samples.iter().all(|s| s.error() < 1e-12), "lines through two points each");
/// # Ok::<(), spmv_model::FitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedSample {
    /// What was measured.
    pub sample: Sample,
    /// Seconds by the whole model.
    pub fitted_s: f64,
}

impl FittedSample {
    /// D_r, a share of the measured time (equation 7).
    pub fn error(&self) -> f64 {
        (self.fitted_s - self.sample.seconds).abs() / self.sample.seconds
    }
}

/// All that was fitted to the samples of one format.
///
/// ```
/// use spmv_model::{Fit, Format, Sample};
/// let sample = |waves: f64, per_row: f64| Sample { waves, per_row, seconds: waves * per_row };
/// let samples = [(1.0, 4.0), (1.0, 8.0), (2.0, 4.0), (2.0, 8.0)].map(|(waves, p)| sample(waves, p));
/// let fit = Fit::of(Format::Ell, &samples, None)?;
/// assert_eq!((fit.samples.len(), fit.breaks.len()), (4, 0));
/// assert!((fit.fitted.seconds(10.0, 30.0) - 300.0).abs() < 1e-9);
/// # Ok::<(), spmv_model::FitError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// What predicts.
    pub fitted: Fitted,
    /// Its lines, and for a lane a row the T(P) of each I, whose slopes f(I) goes through.
    pub lines: Vec<FittedLine>,
    /// For `csr_vector`: the break that fits the samples best, if there are enough, and the paper's.
    pub breaks: Vec<Break>,
    /// Figure 6: what was measured.
    pub samples: Vec<FittedSample>,
}

impl Fit {
    /// Fits the samples of a format. T of `csr_vector` breaks at `limit`, or else where the samples say.
    ///
    /// # Errors
    /// [`FitError`] unless two samples differ in waves alone and two in row length alone.
    pub fn of(format: Format, samples: &[Sample], limit: Option<f64>) -> Result<Self, FitError> {
        let (fitted, lines, breaks) = if format == Format::CsrVector {
            by_bunch(samples, limit)
        } else {
            by_lane(samples).map(|(fitted, lines)| (fitted, lines, vec![]))
        }
        .map_err(|what| FitError { format, what })?;
        let of_fit = |s: &Sample| FittedSample { sample: *s, fitted_s: fitted.seconds(s.waves, s.per_row) };
        Ok(Self { fitted, lines, breaks, samples: samples.iter().map(of_fit).collect() })
    }
}

type Lines = Vec<FittedLine>;

/// `csr_vector`: two lines for either side of the break.
fn by_bunch(samples: &[Sample], limit: Option<f64>) -> Result<(Fitted, Lines, Vec<Break>), &'static str> {
    let lengths = commonest(samples, |s| s.waves, |s| s.per_row, VECTOR_WAVES).ok_or("row lengths")?;
    let waves = lengths[0].waves;
    let points: Vec<(f64, f64)> = lengths.iter().map(|s| (s.per_row, s.seconds)).collect();
    let best = best_break(&points);
    let breaks = best.into_iter().chain(break_at(&points, PAPER_BREAK)).collect();
    // Too few lengths to look for a break: the paper's.
    let limit = limit.or(best.map(|b| b.limit)).unwrap_or(PAPER_BREAK);
    let [short, long] = two_lines(&points, limit);
    let through =
        |points: &[(f64, f64)]| FittedLine::through(Quantity::TimeByLength, Some(waves), points.to_vec());
    let [of_short, of_long] = [&short, &long].map(|points| through(points));
    // One length on either side is no line, but both together are.
    let whole = of_short.or_else(|| of_long.clone()).or_else(|| through(&points)).ok_or("row lengths")?;
    let mut lines = Vec::new();
    let mut piece = |by_length: FittedLine, is_in: &dyn Fn(&Sample) -> bool, near: u32| {
        let inside: Vec<Sample> = samples.iter().filter(|s| is_in(s)).copied().collect();
        let of = |samples: &[Sample]| {
            let waves = commonest(samples, |s| s.per_row, |s| s.waves, near)?;
            let points = waves.iter().map(|s| (s.waves, s.seconds)).collect();
            FittedLine::through(Quantity::TimeByWaves, Some(waves[0].per_row), points)
        };
        let by_waves = of(&inside).or_else(|| of(samples)).ok_or("waves")?;
        let common = lengths.iter().find(|s| Some(s.per_row) == by_waves.at);
        // Samples without a common one: the line through one set says what it would be.
        let t0 = common.map_or_else(|| by_waves.line.at(waves), |s| s.seconds);
        let piece = Piece { by_length: by_length.line, by_waves: by_waves.line, t0 };
        lines.extend([by_length, by_waves]);
        Ok::<_, &'static str>(piece)
    };
    let short = piece(whole, &|s| s.per_row <= limit, VECTOR_LENGTHS[0])?;
    let long = of_long.map(|line| piece(line, &|s| s.per_row > limit, VECTOR_LENGTHS[1])).transpose()?;
    Ok((Fitted::ByBunch { short, long, limit }, lines, breaks))
}

/// The others: a line whose slope is a line.
fn by_lane(samples: &[Sample]) -> Result<(Fitted, Lines), &'static str> {
    let waves = commonest(samples, |s| s.per_row, |s| s.waves, LANE_LENGTH).ok_or("row lengths")?;
    let per_row = waves[0].per_row;
    let mut lines = Vec::new();
    for waves in distinct(samples, |s| s.waves) {
        let of_these = samples.iter().filter(|s| s.waves == waves).map(|s| (s.per_row, s.seconds));
        lines.extend(FittedLine::through(Quantity::TimeByLength, Some(waves), of_these.collect()));
    }
    let slopes: Vec<_> = lines.iter().filter_map(|line| Some((line.at?, line.line.slope))).collect();
    let per_entry = match slopes[..] {
        [] => return Err("row lengths"),
        // One number of waves says nothing of others but that none takes no time.
        [(waves, slope)] => Line { slope: slope / waves, intercept: 0.0 },
        _ => Line::through(&slopes).ok_or("waves")?,
    };
    lines.push(FittedLine { of: Quantity::SlopeByWaves, at: None, line: per_entry, points: slopes });
    let points = waves.iter().map(|s| (s.waves, s.seconds)).collect();
    let by_waves = FittedLine::through(Quantity::TimeByWaves, Some(per_row), points).ok_or("waves")?;
    let fitted = Fitted::ByLane { per_entry, by_waves: by_waves.line, per_row };
    lines.push(by_waves);
    Ok((fitted, lines))
}

/// Points up to a row length, and those beyond.
fn two_lines(points: &[(f64, f64)], limit: f64) -> [Vec<(f64, f64)>; 2] {
    let (short, long) = points.iter().partition(|(per_row, _)| *per_row <= limit);
    [short, long]
}

/// How well two lines fit that break there; `None` if not even one line goes through the points.
fn break_at(points: &[(f64, f64)], limit: f64) -> Option<Break> {
    let whole = Line::through(points)?;
    let sides = two_lines(points, limit).map(|points| (Line::through(&points).unwrap_or(whole), points));
    let off = || sides.iter().flat_map(|(line, points)| points.iter().map(|(x, y)| (y - line.at(*x), *y)));
    Some(Break { limit, rms_s: rms(off().map(|(off, _)| off)), relative: rms(off().map(|(off, y)| off / y)) })
}

/// The break that leaves the least squares; `None` where there are too few row lengths for two lines that could be off.
fn best_break(points: &[(f64, f64)]) -> Option<Break> {
    let mut lengths: Vec<f64> = points.iter().map(|p| p.0).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let last = lengths.len().checked_sub(LEAST_LENGTHS)?;
    let limits = lengths.get(LEAST_LENGTHS - 1..last)?;
    let breaks = limits.iter().filter_map(|limit| break_at(points, *limit));
    breaks.reduce(|best, next| if next.rms_s < best.rms_s { next } else { best })
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (n, squares) = values.fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + v * v));
    if n > 0.0 { (squares / n).sqrt() } else { 0.0 }
}

/// Different values of a key, ascending.
fn distinct(samples: &[Sample], key: fn(&Sample) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = samples.iter().map(key).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The samples that share the value of a key that has the most values of another; of several, the value that is nearest to
/// the paper's.
fn commonest(
    samples: &[Sample],
    key: fn(&Sample) -> f64,
    other: fn(&Sample) -> f64,
    papers: u32,
) -> Option<Vec<Sample>> {
    let of = |value: f64| samples.iter().filter(|s| key(s) == value).copied().collect::<Vec<_>>();
    let off = |set: &[Sample]| (key(&set[0]) / f64::from(papers)).ln().abs();
    let sets = distinct(samples, key).into_iter().map(of);
    let sets = sets.map(|set| (distinct(&set, other).len(), set));
    let is_better = |next: &(usize, Vec<Sample>), best: &(usize, Vec<Sample>)| {
        next.0 > best.0 || (next.0 == best.0 && off(&next.1) < off(&best.1))
    };
    sets.reduce(|best, next| if is_better(&next, &best) { next } else { best }).map(|(_, set)| set)
}

#[cfg(test)]
mod tests;
