//! Times of generated matrices and the paper's lines through them: one spread and type of values of a device.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use spmv::{Csr, DeviceKind, Scalar, Value};
use spmv_io::generate::{self, RowLengths};
use spmv_model::{Extent, Fit, Format, Grid, Model, Point, Sample, Spread};

use super::budget::Budget;
use super::scope::progress;
use super::timing;
use crate::bench::devices::Target;

/// Every generated matrix comes from it, its position in the grid and its spread.
const SEED: u64 = 2017;

/// Megabytes of a quick fit's largest matrix, and I times P of it where waves are large.
const FEW_MEGABYTES: u64 = 256;
const FEW_ENTRIES_OF_A_LANE: u64 = 40;
/// Entries from which on the next matrix is generated while the device has one.
const LARGE: u64 = 1 << 20;

/// What is measured, and how it is fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How much of the paper's grid.
    pub(crate) extent: Extent,
    /// Bytes of the largest matrix in CSR form; without it, what memory there is.
    pub(crate) csr_bytes: Option<u64>,
    /// Row length at which T of `csr_vector` breaks; without it, where the samples say.
    pub(crate) limit: Option<f64>,
}

/// What was measured of one format, and the lines through it: Figures 1 to 6 are drawn from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) format: Format,
    pub(crate) spread: Spread,
    /// Name of the type of values.
    pub(crate) value: String,
    /// S, rows of a wave.
    pub(crate) wave_rows: u64,
    /// Lanes of a row: it takes as many entries at a time.
    pub(crate) lanes: u32,
    /// Points of the grid (I, P) that need more memory than there is.
    pub(crate) left_out: Vec<(u32, u32)>,
    /// Points whose rows are as long as the matrix is wide, which the paper excludes.
    pub(crate) too_narrow: Vec<(u32, u32)>,
    /// Samples, lines and residuals.
    pub(crate) fit: Fit,
}

impl Measured {
    /// What predicts.
    pub(crate) fn model(&self) -> Model {
        let Self { format, spread, value, wave_rows, fit, .. } = self;
        let (value, fitted) = (value.clone(), fit.fitted);
        Model { format: *format, spread: *spread, value, wave_rows: *wave_rows, fitted }
    }
}

/// Times the matrices of some formats and fits their lines. Formats with waves of the same size share their matrices.
pub(crate) fn measure<T: Scalar>(
    target: &Target,
    formats: &[Format],
    spread: Spread,
    effort: &Effort,
) -> anyhow::Result<Vec<Measured>>
where
    T::Accum: Scalar,
{
    let grids = grids::<T>(target, formats, spread, effort);
    // What matrices there are, by size: (rows of a wave, point).
    let sizes = grids.iter().flat_map(|(_, rows, grid)| grid.points.iter().map(|p| (*rows, *p)));
    let sizes: Vec<(u64, Point)> = sizes.collect::<BTreeSet<_>>().into_iter().collect();
    let bar = progress(sizes.len(), format!("{} {} {spread}", target.label, T::DTYPE));
    let mut taken: Vec<Taken> = Vec::new();
    std::thread::scope(|scope| {
        let mut next = None;
        for (at, &(wave_rows, point)) in sizes.iter().enumerate() {
            let a = match next.take() {
                None => generated::<T>(wave_rows, point, spread)?,
                Some(generating) => join(generating)?,
            };
            let is_worth_it =
                |(rows, point): &&(u64, Point)| overlaps(target) && point.entries(*rows) >= LARGE;
            if let Some(&(rows, point)) = sizes.get(at + 1).filter(is_worth_it) {
                next = Some(scope.spawn(move || generated::<T>(rows, point, spread)));
            }
            for (format, rows, grid) in &grids {
                if *rows == wave_rows && grid.points.contains(&point) {
                    taken.extend(take(target, *format, point, &a)?);
                }
            }
            bar.inc(1);
        }
        anyhow::Ok(())
    })?;
    bar.finish_and_clear();
    grids.into_iter().map(|of_format| fitted::<T>(target, of_format, spread, effort, &taken)).collect()
}

type OfFormat = (Format, u64, Grid);

/// A sample, whose it is, and the lanes of a row.
type Taken = (Format, Sample, u32);

/// The grid of each format: rows of a wave, and points.
fn grids<T: Scalar>(target: &Target, formats: &[Format], spread: Spread, effort: &Effort) -> Vec<OfFormat> {
    let caps = target.context.caps();
    let few = FEW_ENTRIES_OF_A_LANE * Format::CsrScalar.wave_rows(caps) * (4 + T::DTYPE.bytes() as u64);
    let few = (effort.extent == Extent::Quick).then_some(few.max(FEW_MEGABYTES * 1_000_000));
    let budget = Budget::of(caps, effort.csr_bytes.or(few));
    let grid = |format: &Format| {
        let (rows, most) = (format.wave_rows(caps), budget.max_entries(*format, spread, T::DTYPE));
        (*format, rows, Grid::of(*format, spread, rows, most, effort.extent))
    };
    formats.iter().map(grid).collect()
}

/// Whether matrices can be generated without disturbing what is measured.
fn overlaps(target: &Target) -> bool {
    target.context.caps().kind == DeviceKind::DiscreteGpu && target.has_timestamps()
}

fn join<R>(thread: std::thread::ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The mean time of a format; `None` if the device cannot run it.
fn take<T: Scalar>(target: &Target, format: Format, point: Point, a: &Csr<T>) -> anyhow::Result<Option<Taken>>
where
    T::Accum: Scalar,
{
    // The paper's layouts refuse nothing.
    let runs = timing::of_format(target, format, a, f64::INFINITY)
        .with_context(|| format!("{format}, {} waves of {} entries a row", point.waves, point.per_row))?;
    let (waves, per_row) = (f64::from(point.waves), f64::from(point.per_row));
    Ok(runs.map(|runs| {
        let sample = Sample { waves, per_row, seconds: runs.mean() };
        (format, sample, runs.kernel.tiling.lanes())
    }))
}

fn fitted<T: Scalar>(
    target: &Target,
    (format, wave_rows, grid): OfFormat,
    spread: Spread,
    effort: &Effort,
    taken: &[Taken],
) -> anyhow::Result<Measured> {
    let of_it = || taken.iter().filter(|(f, ..)| *f == format);
    let samples: Vec<Sample> = of_it().map(|(_, sample, _)| *sample).collect();
    let fit = Fit::of(format, &samples, effort.limit).with_context(|| {
        format!(
            "{}: {} points of the grid need more memory; give more with --megabytes",
            target.label,
            grid.left_out.len()
        )
    })?;
    let pairs = |points: &[Point]| points.iter().map(|p| (p.waves, p.per_row)).collect();
    Ok(Measured {
        format,
        spread,
        value: T::DTYPE.name().into(),
        wave_rows,
        lanes: of_it().map(|(.., lanes)| *lanes).max().unwrap_or(1),
        left_out: pairs(&grid.left_out),
        too_narrow: pairs(&grid.too_narrow),
        fit,
    })
}

/// A square matrix of so many rows, its columns at random.
fn generated<T: Value>(wave_rows: u64, point: Point, spread: Spread) -> anyhow::Result<Csr<T>> {
    let n = usize::try_from(wave_rows * u64::from(point.waves))?;
    let (mean, seed) = (point.per_row, SEED ^ (u64::from(point.waves) << 32 | u64::from(point.per_row)));
    let lengths = match spread {
        Spread::Fixed => RowLengths::Uniform { min: mean, max: mean },
        Spread::Uniform => RowLengths::Uniform { min: 1, max: 2 * mean - 1 },
        Spread::Normal => RowLengths::Normal { mean: f64::from(mean), dev: f64::from(mean) / 4.0 },
    };
    let mut lens = lengths.draw(n, seed)?;
    lens.iter_mut().for_each(|len| *len = (*len).min(n as u32));
    Ok(generate::scattered(&lens, n, seed)?)
}

#[cfg(test)]
mod tests {
    use spmv::{BackendKind, Context};

    use super::*;

    #[test]
    fn a_fit_of_one_format_holds_what_was_measured_and_comes_back_from_json() {
        let target = Target::new(Context::with(BackendKind::Cpu).unwrap(), "cpu");
        let effort = Effort { extent: Extent::Quick, csr_bytes: Some(20_000_000), limit: Some(1024.0) };
        for format in [Format::CsrVector, Format::Jad] {
            let [measured] = &measure::<f32>(&target, &[format], Spread::Uniform, &effort).unwrap()[..]
            else {
                panic!("one format");
            };
            let samples = &measured.fit.samples;
            assert!(samples.len() >= 4 && samples.iter().all(|s| s.sample.seconds > 0.0), "{samples:?}");
            assert!(!measured.left_out.is_empty(), "of 20 MB");
            let text = serde_json::to_string(measured).unwrap();
            assert_eq!(&serde_json::from_str::<Measured>(&text).unwrap(), measured);
        }
    }
}
