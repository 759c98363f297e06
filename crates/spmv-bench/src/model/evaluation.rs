//! Predicted and measured times of matrices, as data: Figures 7 to 14 of Wang, Gu & Li 2017.

use serde::Serialize;
use spmv::{
    Csr, Options, Scalar,
    fit::Runs,
    plan::{Algorithm, MatrixStats, Profile},
};
use spmv_model::{Format, Shape, Spread};

use super::scope::algorithms;
use super::timing;
use crate::bench::MatrixCache;
use crate::bench::devices::Target;
use crate::bench::inputs::{Input, Loaded};

/// Longest row over the mean up to which rows count as of one length.
pub(crate) const EVEN: f64 = 2.0;
/// Waves of the smallest matrix that the paper names: the 132 rows of bcsstk04, of which its device holds 192 (2
/// multiprocessors of 96 half-warps; the paper names the device, not these numbers).
pub(crate) const PAPERS_LEAST_WAVES: f64 = 132.0 / 192.0;

/// A matrix in one format: what was measured, and what each spread's model says.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prediction {
    pub(crate) matrix: String,
    pub(crate) format: Format,
    pub(crate) n_rows: u64,
    /// Rows over those of a wave.
    pub(crate) waves: f64,
    /// P0: the most common row length for `csr_vector`, the longest for the others.
    pub(crate) per_row: f64,
    pub(crate) longest_row: usize,
    pub(crate) mean_row: f64,
    /// Cache lines of `x` for each of consecutive nonzeros; nearly 1 for the generated matrices.
    pub(crate) scatter: f64,
    /// Mean of several multiplications (equation 5).
    pub(crate) measured_s: f64,
    pub(crate) estimates: Vec<Estimate>,
}

/// What the model of one spread says.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Estimate {
    pub(crate) spread: Spread,
    /// With a part of a wave counted as one, as in the paper, and as what it is.
    pub(crate) rounded_up_s: f64,
    pub(crate) unrounded_s: f64,
}

impl Prediction {
    /// D_r of a spread in percent (equation 7).
    pub(crate) fn error(&self, spread: Spread, round_up: bool) -> Option<f64> {
        let of_it = self.estimates.iter().find(|estimate| estimate.spread == spread)?;
        let estimated = if round_up { of_it.rounded_up_s } else { of_it.unrounded_s };
        Some(percent(estimated, self.measured_s))
    }

    /// Whether the matrix is as the models see one: it fills a wave with rows of about one length.
    pub(crate) fn is_modelled(&self) -> bool {
        self.waves >= 1.0 && self.is_even()
    }

    pub(crate) fn is_even(&self) -> bool {
        self.longest_row as f64 <= EVEN * self.mean_row
    }
}

/// An algorithm as it is planned, and what the rates say that `Auto` compares.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Planned {
    pub(crate) matrix: String,
    pub(crate) algorithm: &'static str,
    /// Median of several multiplications; `None` where its layout refuses the matrix.
    pub(crate) measured_s: Option<f64>,
    pub(crate) predicted_s: Option<f64>,
    /// Whether it is what `Auto` takes.
    pub(crate) is_taken: bool,
}

impl Planned {
    /// D_r in percent.
    pub(crate) fn error(&self) -> Option<f64> {
        Some(percent(self.predicted_s?, self.measured_s?))
    }
}

/// All that was predicted and measured on a device with one type of values.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Evaluation {
    pub(crate) device: String,
    pub(crate) label: String,
    /// Name of the type of values.
    pub(crate) value: &'static str,
    pub(crate) predictions: Vec<Prediction>,
    pub(crate) planned: Vec<Planned>,
    /// Matrix and layout.
    pub(crate) refused: Vec<String>,
}

/// How the models of a format do over all its matrices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) format: Format,
    pub(crate) matrices: usize,
    /// D_r in percent.
    pub(crate) errors: Vec<(Spread, Errors)>,
    pub(crate) comparisons: Vec<Comparison>,
    /// Of the rates that `Auto` compares, for the algorithm of that name as it is planned.
    pub(crate) rates: Option<Errors>,
}

/// Errors in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Errors {
    pub(crate) mean: f64,
    pub(crate) median: f64,
}

impl Errors {
    pub(crate) fn of(errors: &[f64]) -> Option<Self> {
        let mut sorted = errors.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        Some(Self { mean: sorted.iter().sum::<f64>() / sorted.len() as f64, median })
    }
}

/// One spread's model against another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    pub(crate) of: Spread,
    pub(crate) against: Spread,
    /// Matrices on which either is nearer to the measured time; those on which both are as near count for none.
    pub(crate) better: usize,
    pub(crate) worse: usize,
    /// D_r of the other over its own: means, as in the paper, and medians.
    pub(crate) factor: f64,
    pub(crate) median_factor: f64,
}

/// Who is compared with whom in the paper: its models with Guo & Wang's, then with each other.
pub(crate) const COMPARED: [(Spread, Spread); 3] =
    [(Spread::Normal, Spread::Fixed), (Spread::Uniform, Spread::Fixed), (Spread::Normal, Spread::Uniform)];

impl Evaluation {
    /// Each format that was predicted, over the matrices that `is_in` takes.
    pub(crate) fn summaries(&self, round_up: bool, is_in: impl Fn(&Prediction) -> bool) -> Vec<Summary> {
        let of = |format| {
            let predictions: Vec<_> =
                self.predictions.iter().filter(|p| p.format == format && is_in(p)).collect();
            let of_rates: Vec<f64> = predictions.iter().filter_map(|p| self.rates_error(p)).collect();
            let rates = Errors::of(&of_rates);
            (!predictions.is_empty()).then(|| Summary::of(format, &predictions, round_up, rates))
        };
        Format::ALL.into_iter().filter_map(of).collect()
    }

    /// D_r of the rates for the same matrix, with the algorithm of that name as it is planned.
    pub(crate) fn rates_error(&self, prediction: &Prediction) -> Option<f64> {
        let name = prediction.format.to_string();
        let is_it = |p: &&Planned| p.matrix == prediction.matrix && p.algorithm == name;
        self.planned.iter().find(is_it)?.error()
    }
}

impl Summary {
    fn of(format: Format, predictions: &[&Prediction], round_up: bool, rates: Option<Errors>) -> Self {
        let errors =
            |spread| -> Vec<f64> { predictions.iter().filter_map(|p| p.error(spread, round_up)).collect() };
        let known = Spread::ALL.into_iter().filter_map(|spread| Some((spread, Errors::of(&errors(spread))?)));
        let known: Vec<(Spread, Errors)> = known.collect();
        let compared = |(of, against)| {
            let find = |spread| known.iter().find(|(known, _)| *known == spread).map(|(_, errors)| *errors);
            let (own, others) = (find(of)?, find(against)?);
            let both = predictions
                .iter()
                .filter_map(|p| Some((p.error(of, round_up)?, p.error(against, round_up)?)));
            let both: Vec<(f64, f64)> = both.collect();
            Some(Comparison {
                of,
                against,
                better: both.iter().filter(|(own, others)| own < others).count(),
                worse: both.iter().filter(|(own, others)| own > others).count(),
                factor: others.mean / own.mean,
                median_factor: others.median / own.median,
            })
        };
        let comparisons = COMPARED.into_iter().filter_map(compared).collect();
        Self { format, matrices: predictions.len(), errors: known, comparisons, rates }
    }
}

/// Predicts and measures all matrices on one device.
pub(crate) fn evaluate<T: Scalar>(
    target: &Target,
    profile: &Profile,
    spreads: &[Spread],
    inputs: &[Input],
    matrix_cache: &MatrixCache,
) -> anyhow::Result<Evaluation>
where
    T::Accum: Scalar,
{
    let mut found = Evaluation {
        device: target.context.caps().name.clone(),
        label: target.label.clone(),
        value: T::DTYPE.name(),
        predictions: vec![],
        planned: vec![],
        refused: vec![],
    };
    for (at, input) in inputs.iter().enumerate() {
        matrix_cache.with(at, input, |loaded| {
            let a: Csr<T> = loaded.matrix.map_values(T::from_f64);
            planned(target, &loaded.name, &a, &mut found)?;
            predicted(target, profile, spreads, loaded, &a, &mut found)
        })??;
    }
    Ok(found)
}

/// Every algorithm of one matrix, as it is planned.
fn planned<T: Scalar>(target: &Target, name: &str, a: &Csr<T>, found: &mut Evaluation) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let auto = target.context.plan(a, &Options::default())?;
    for algorithm in algorithms() {
        let options = Options { algorithm, ..Options::default() };
        let runs = Runs::of(&target.context, a, &options)?;
        found.planned.push(Planned {
            matrix: name.to_owned(),
            algorithm: Algorithm::name(algorithm),
            measured_s: runs.map(|runs| runs.median()).filter(|seconds| *seconds > 0.0),
            predicted_s: auto.candidates.iter().find(|c| c.algorithm == algorithm).map(|c| c.seconds),
            is_taken: algorithm == auto.algorithm,
        });
    }
    Ok(())
}

/// Every format of one matrix.
fn predicted<T: Scalar>(
    target: &Target,
    profile: &Profile,
    spreads: &[Spread],
    loaded: &Loaded,
    a: &Csr<T>,
    found: &mut Evaluation,
) -> anyhow::Result<()>
where
    T::Accum: Scalar,
{
    let stats = MatrixStats::of(a.view());
    for format in Format::ALL {
        let models: Vec<_> = spreads.iter().filter_map(|s| profile.model(format, *s, T::DTYPE)).collect();
        if models.is_empty() {
            continue;
        }
        let Some(runs) = timing::of_format(target, format, a, spmv::format::MAX_BLOW_UP)? else {
            found.refused.push(format!("{} {format}", loaded.name));
            continue;
        };
        let measured_s = runs.mean();
        // Some timestamps do not see a matrix without entries.
        if measured_s <= 0.0 {
            continue;
        }
        let shape = Shape::of(format, a.view());
        let estimates = models.iter().map(|model| Estimate {
            spread: model.spread,
            rounded_up_s: model.seconds(&shape, true),
            unrounded_s: model.seconds(&shape, false),
        });
        found.predictions.push(Prediction {
            matrix: loaded.name.clone(),
            format,
            n_rows: shape.n_rows,
            waves: shape.waves(format.wave_rows(target.context.caps()), false),
            per_row: shape.per_row,
            longest_row: stats.rows.max,
            mean_row: stats.rows.mean,
            scatter: stats.scatter,
            measured_s,
            estimates: estimates.collect(),
        });
    }
    Ok(())
}

fn percent(estimated: f64, measured: f64) -> f64 {
    100.0 * (estimated - measured).abs() / measured
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A matrix that takes 100 us, and what fixed, uniform and normal say.
    pub(crate) fn prediction(matrix: &str, estimated_us: [f64; 3]) -> Prediction {
        let estimate =
            |(spread, us): (Spread, f64)| Estimate { spread, rounded_up_s: us * 1e-6, unrounded_s: 100e-6 };
        Prediction {
            matrix: matrix.into(),
            format: Format::CsrVector,
            n_rows: 300,
            waves: 1.5,
            per_row: 4.0,
            longest_row: 8,
            mean_row: 4.0,
            scatter: 1.0,
            measured_s: 100e-6,
            estimates: Spread::ALL.into_iter().zip(estimated_us).map(estimate).collect(),
        }
    }

    pub(crate) fn evaluation(predictions: Vec<Prediction>) -> Evaluation {
        let planned = Planned {
            matrix: "a".into(),
            algorithm: "csr_vector",
            measured_s: Some(2.0),
            predicted_s: Some(3.0),
            is_taken: true,
        };
        let (device, label) = ("d".into(), "cpu".into());
        Evaluation { device, label, value: "f32", predictions, planned: vec![planned], refused: vec![] }
    }

    #[test]
    fn wins_and_factors_are_those_of_the_paper() {
        // Fixed is off by 40 and 20 percent, uniform by 10 and 20, normal by 30 and 10.
        let evaluation =
            evaluation(vec![prediction("a", [140.0, 110.0, 130.0]), prediction("b", [80.0, 80.0, 90.0])]);
        let [summary] = &evaluation.summaries(true, |_| true)[..] else { panic!("one format") };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let [normal, uniform, each_other] = summary.comparisons[..] else { panic!("three") };
        assert_eq!((normal.better, normal.worse), (2, 0));
        assert!(near(normal.factor, 30.0 / 20.0) && near(normal.median_factor, 40.0 / 30.0), "{normal:?}");
        assert_eq!((uniform.better, uniform.worse), (1, 0), "one is as near");
        assert!(near(uniform.factor, 2.0));
        assert_eq!((each_other.better, each_other.worse), (1, 1));
        assert!(near(summary.rates.unwrap().mean, 50.0), "of the one matrix with rates");
        let unrounded = &evaluation.summaries(false, |_| true)[0];
        assert!(unrounded.errors.iter().all(|(_, errors)| near(errors.mean, 0.0)));
        assert_eq!(evaluation.summaries(true, |p| p.matrix == "b")[0].matrices, 1);
    }
}
