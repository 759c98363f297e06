//! What a fit measured, printed and kept: Figures 1 to 6 of Wang, Gu & Li 2017 as numbers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spmv::{DeviceCaps, Dtype};
use spmv_model::{Fit, Fitted, FittedLine, Format, PAPER_BREAK, Quantity, Spread, fingerprint, read_json};

use super::lines::Measured;
use super::scope::profile_path;
use crate::bench::devices::Target;
use crate::bench::text::aligned;

/// Samples, lines and residuals of a device, in a file next to its profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Samples {
    pub(crate) device: String,
    fingerprint: String,
    pub(crate) measured: Vec<Measured>,
}

impl Samples {
    /// Where they are, given where the profile is.
    pub(crate) fn path(profile: &Path) -> PathBuf {
        profile.with_extension("samples.json")
    }

    /// Those of earlier fits of the same device, or none.
    pub(crate) fn kept(path: &Path, caps: &DeviceCaps) -> Self {
        let none = Self { device: caps.name.clone(), fingerprint: fingerprint(caps), measured: vec![] };
        // Of another device or version: the next fit writes them anew, as it does the profile.
        read_json(path).ok().filter(|kept: &Self| kept.fingerprint == none.fingerprint).unwrap_or(none)
    }

    /// What earlier fits of a device kept of a spread and type; nothing if a format is missing.
    ///
    /// # Errors
    /// If there is no folder for profiles.
    pub(crate) fn of_spread(target: &Target, value: Dtype, spread: Spread) -> anyhow::Result<Vec<Measured>> {
        let kept = Self::kept(&Self::path(&profile_path(target)?), target.context.caps());
        let is_it = |m: &Measured| m.spread == spread && m.value == value.name();
        let of_it: Vec<Measured> = kept.measured.into_iter().filter(is_it).collect();
        Ok(if of_it.len() == Format::ALL.len() { of_it } else { vec![] })
    }

    /// Whether a fit kept a format, spread and type.
    pub(crate) fn has(&self, format: Format, spread: Spread, value: Dtype) -> bool {
        self.measured.iter().any(|m| (m.format, m.spread) == (format, spread) && m.value == value.name())
    }

    /// Replaces what was measured of that format, spread and type.
    pub(crate) fn put(&mut self, measured: Measured) {
        let key = |m: &Measured| (m.format, m.spread, m.value.clone());
        self.measured.retain(|old| key(old) != key(&measured));
        self.measured.push(measured);
    }
}

/// What was measured of a format, the lines through it, and how far it is from them; with `samples` one by one.
pub(crate) fn text(label: &str, measured: &Measured, samples: bool) -> String {
    let Measured { format, spread, value, wave_rows, left_out, too_narrow, fit, .. } = measured;
    let most = |of: fn(&(f64, f64)) -> f64| {
        fit.samples.iter().map(|s| of(&(s.sample.waves, s.sample.per_row))).fold(0.0, f64::max)
    };
    let mut text = format!(
        "{label} {value} {spread} {format}: {} matrices of up to {} waves of {wave_rows} rows, of up to {} entries a row; {} \
         left out for memory, {} because rows would be as long as the matrix is wide",
        fit.samples.len(),
        most(|p| p.0),
        most(|p| p.1),
        left_out.len(),
        too_narrow.len(),
    );
    if *format == Format::CsrVector {
        let _ = write!(text, "\n{}", breaks(measured));
    }
    let header = ["line", "at", "per x, us", "at 0, us", "points", "off, us (rms)", "off, % (rms)"];
    let lines = fit.lines.iter().filter(|line| is_of_a_figure(*format, line)).map(line).collect();
    let _ = write!(text, "\n{}", aligned(header.map(str::to_owned).to_vec(), lines));
    let _ = writeln!(text, "\nD_r of the samples themselves: {}", of_samples(fit));
    if samples {
        let header = ["I", "P", "us", "fitted us", "D_r %"].map(str::to_owned).to_vec();
        let _ = writeln!(text, "{}", aligned(header, sample_rows(fit)));
    }
    text
}

/// For a lane a row there is a T(P) for each I; Figure 3 has one of them.
fn is_of_a_figure(format: Format, line: &FittedLine) -> bool {
    const FIGURE_3: f64 = 5.0;
    format == Format::CsrVector || line.of != Quantity::TimeByLength || line.at == Some(FIGURE_3)
}

fn line(line: &FittedLine) -> Vec<String> {
    let (name, at) = match line.of {
        Quantity::TimeByLength => ("T(P)", "I"),
        Quantity::TimeByWaves => ("E(I)", "P"),
        Quantity::SlopeByWaves => ("f(I)", ""),
    };
    let relative = line.residuals().zip(&line.points).map(|(off, (_, y))| (off / y).powi(2)).sum::<f64>();
    let us = |seconds: f64| format!("{:.4}", seconds * 1e6);
    vec![
        name.to_owned(),
        line.at.map_or_else(|| "-".to_owned(), |value| format!("{at} = {value}")),
        us(line.line.slope),
        us(line.line.intercept),
        line.points.len().to_string(),
        us(line.rms()),
        format!("{:.1}", 100.0 * (relative / line.points.len() as f64).sqrt()),
    ]
}

/// Where T(P) breaks, where the paper's does, and how well either fits.
fn breaks(measured: &Measured) -> String {
    let Fitted::ByBunch { limit, long, .. } = measured.fit.fitted else { return String::new() };
    let mut text =
        format!("A row has {} lanes, which take as many entries at a time. T(P) breaks", measured.lanes);
    for (i, of) in measured.fit.breaks.iter().enumerate() {
        let whose = if of.limit == PAPER_BREAK { " (the paper's)" } else { "" };
        let _ = write!(
            text,
            "{} at {} entries{whose}: off by {:.3} us, {:.1}% (rms)",
            if i > 0 { ";" } else { "" },
            of.limit,
            of.rms_s * 1e6,
            100.0 * of.relative,
        );
    }
    let taken = if long.is_some() { format!("; taken: {limit}") } else { "; one line is taken".into() };
    text + &taken
}

fn of_samples(fit: &Fit) -> String {
    let mut errors: Vec<f64> = fit.samples.iter().map(|s| 100.0 * s.error()).collect();
    errors.sort_by(f64::total_cmp);
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let at = |share: usize| errors.get(errors.len() * share / 10).copied().unwrap_or_default();
    format!("{mean:.1}% at the mean, {:.1}% at the median, {:.1}% at the ninth decile", at(5), at(9))
}

fn sample_rows(fit: &Fit) -> Vec<Vec<String>> {
    let row = |s: &spmv_model::FittedSample| {
        vec![
            s.sample.waves.to_string(),
            s.sample.per_row.to_string(),
            format!("{:.2}", s.sample.seconds * 1e6),
            format!("{:.2}", s.fitted_s * 1e6),
            format!("{:.1}", 100.0 * s.error()),
        ]
    };
    fit.samples.iter().map(row).collect()
}
