//! The times of every algorithm on matrices of all shapes, and the rates that plans compare.

use std::collections::BTreeMap;

use spmv::{Csr, Options, Scalar, plan::MatrixStats};
use spmv_exec::work_of;
use spmv_io::generate::{self, ColumnModel, RowLengths};
use spmv_model::{KernelRates, Rates, Work};

use super::scope::{algorithms, progress, square};
use super::timing;
use crate::bench::devices::Target;

const SEED: u64 = 2019;
/// Rows, and mean entries of a row, of the generated matrices.
const ROWS: [usize; 8] = [10, 30, 100, 500, 4_000, 30_000, 200_000, 1_000_000];
const MEANS: [u32; 6] = [3, 8, 20, 60, 200, 700];
/// Entries of the largest one, and where it is to be quick.
const MOST_ENTRIES: usize = 8_000_000;
const FEW_ENTRIES: usize = 300_000;

/// How row lengths and columns of a generated matrix lie.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Rows of the same length, near the diagonal.
    Even,
    /// Full diagonals side by side.
    Diagonals,
    /// Lengths that deviate by half the mean, columns anywhere.
    Scattered,
    /// A power law of lengths and of columns.
    Skewed,
    /// As `Even`, but for a few rows that hold a fifth of all entries.
    LongRows,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] =
        [Kind::Even, Kind::Diagonals, Kind::Scattered, Kind::Skewed, Kind::LongRows];

    pub(super) fn matrix(self, n: usize, mean: u32) -> anyhow::Result<Csr<f64>> {
        let band = ColumnModel::Band { half_width: 4 * mean as usize };
        let drawn = |lengths: RowLengths| lengths.draw(n, SEED ^ u64::from(mean));
        let (lens, columns) = match self {
            Kind::Even => (vec![mean; n], band),
            Kind::Diagonals => {
                let lower = mean as usize / 2;
                return Ok(generate::banded(n, lower, mean as usize - 1 - lower, SEED)?);
            }
            Kind::Scattered => {
                let (mean, dev) = (f64::from(mean), f64::from(mean) / 2.0);
                (drawn(RowLengths::Normal { mean, dev })?, ColumnModel::Uniform)
            }
            // The mean is some four times the shortest row.
            Kind::Skewed => {
                let (min, max) = ((mean / 4).max(1), (n / 4) as u32);
                let hubs = ColumnModel::Mixed { near: 0.3, half_width: 64, hubs: 0.3, exponent: 2.0 };
                (drawn(RowLengths::PowerLaw { min, max, exponent: 2.0 })?, hubs)
            }
            Kind::LongRows => {
                let long = (n / 2).min(200 * mean as usize);
                let every = (5 * long / mean as usize).clamp(1, n);
                let len = |row: usize| if row % every == every / 2 { long as u32 } else { mean };
                ((0..n).map(len).collect(), band)
            }
        };
        square(lens, columns, SEED)
    }
}

/// The rates of each algorithm as it is planned, on matrices that its layout takes.
pub(super) fn of_type<T: Scalar>(target: &Target, quick: bool) -> anyhow::Result<Vec<KernelRates>>
where
    T::Accum: Scalar,
{
    let most = if quick { FEW_ENTRIES } else { MOST_ENTRIES };
    let sizes = ROWS.into_iter().flat_map(|n| MEANS.map(|mean| (n, mean)));
    let fits = |(n, mean): &(usize, u32)| n * *mean as usize <= most && 2 * *mean as usize <= *n;
    let sizes: Vec<_> = sizes.filter(fits).collect();
    let bar = progress(sizes.len() * Kind::ALL.len(), format!("{} {} rates", target.label, T::DTYPE));
    let caps = target.context.caps();
    let mut samples: BTreeMap<_, Vec<(Work, f64)>> = BTreeMap::new();
    for ((n, mean), kind) in sizes.into_iter().flat_map(|size| Kind::ALL.map(|kind| (size, kind))) {
        let a: Csr<T> = kind.matrix(n, mean)?.map_values(T::from_f64);
        let stats = MatrixStats::of(a.view());
        for algorithm in algorithms() {
            let options = Options { algorithm, ..Options::default() };
            let Some(runs) = timing::of(target, &options, &a)? else { continue };
            let kernel = runs.kernel;
            // No rates can be fitted to what statistics do not say.
            let Some(work) = work_of(algorithm, &kernel, &stats, caps) else { continue };
            let name = algorithm.facts().expect("one that can be planned").rates;
            samples.entry(name).or_default().push((work, runs.median()));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut fitted = Vec::new();
    for (kernel, samples) in samples {
        let rates = Rates::fit(&samples);
        let mut errors: Vec<f64> =
            samples.iter().map(|(work, s)| 100.0 * (rates.seconds(work) - s).abs() / s.max(1e-12)).collect();
        errors.sort_by(f64::total_cmp);
        println!(
            "{} {} {kernel}: {} matrices; off by {:.0}% at the median, {:.0}% at the ninth decile",
            target.label,
            T::DTYPE,
            errors.len(),
            errors[errors.len() / 2],
            errors[errors.len() * 9 / 10],
        );
        fitted.push(KernelRates { kernel: kernel.into(), value: T::DTYPE.name().into(), rates });
    }
    Ok(fitted)
}
