//! Support vector regressions of seconds, and how far they are off.

use linfa::prelude::*;
use linfa_svm::Svm;
use ndarray::{Array1, Array2};
use spmv_hetero::Svr;

/// Every so many-th matrix is held out; and of the others, to choose the kernel's width and C.
const HELD_OUT: usize = 5;
/// Widths of the kernel in numbers of features, and C.
const WIDTHS: [f64; 3] = [1.0, 3.0, 9.0];
const COSTS: [f64; 3] = [1.0, 10.0, 100.0];
/// Difference of logarithms of seconds that costs nothing.
const TUBE: f64 = 0.05;

/// Features of one split, and seconds.
pub(super) type Samples = Vec<(Vec<f64>, f64)>;

/// Every so many-th matrix, and the others.
pub(super) fn split<'a>(matrices: &[&'a Samples]) -> [Vec<&'a Samples>; 2] {
    let (held_out, others): (Vec<_>, Vec<_>) =
        matrices.iter().enumerate().partition(|(i, _)| i % HELD_OUT == 0);
    [held_out, others].map(|part| part.into_iter().map(|(_, samples)| *samples).collect())
}

/// The regression with the width and C that predict a part best which is left out first.
pub(super) fn fit(matrices: &[&Samples]) -> anyhow::Result<Svr> {
    let [left_out, others] = split(matrices);
    anyhow::ensure!(!left_out.is_empty() && !others.is_empty(), "too few matrices to train with");
    let mut best: Option<(f64, f64, f64)> = None;
    for (width, cost) in WIDTHS.into_iter().flat_map(|width| COSTS.map(|cost| (width, cost))) {
        let errors = errors(&fit_with(&others, width, cost)?, &left_out);
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        if best.is_none_or(|(least, ..)| mean < least) {
            best = Some((mean, width, cost));
        }
    }
    let (_, width, cost) = best.expect("several were tried");
    fit_with(matrices, width, cost)
}

fn fit_with(matrices: &[&Samples], width: f64, cost: f64) -> anyhow::Result<Svr> {
    let samples: Vec<&(Vec<f64>, f64)> = matrices.iter().flat_map(|samples| samples.iter()).collect();
    anyhow::ensure!(!samples.is_empty(), "no times to train with");
    let (n, n_features) = (samples.len(), samples[0].0.len());
    let of = |i: usize| samples.iter().map(move |sample| sample.0[i]);
    let means: Vec<f64> = (0..n_features).map(|i| of(i).sum::<f64>() / n as f64).collect();
    let deviation = |i: usize| (of(i).map(|f| (f - means[i]).powi(2)).sum::<f64>() / n as f64).sqrt();
    // What never differs says nothing.
    let deviations =
        (0..n_features).map(|i| Some(deviation(i)).filter(|dev| *dev > 1e-12).unwrap_or(1.0)).collect();
    let mean_ln = samples.iter().map(|(_, seconds)| seconds.ln()).sum::<f64>() / n as f64;
    let width = width * n_features as f64;
    let mut svr = Svr { means, deviations, width, vectors: vec![], weights: vec![], bias: mean_ln };
    let scaled: Vec<Vec<f64>> = samples.iter().map(|(features, _)| svr.scaled(features)).collect();
    let records = Array2::from_shape_vec((n, n_features), scaled.concat())?;
    let targets = Array1::from_iter(samples.iter().map(|(_, seconds)| seconds.ln() - mean_ln));
    let params = Svm::<f64, f64>::params().c_svr(cost, Some(TUBE)).gaussian_kernel(width);
    let fitted = params.fit(&Dataset::new(records, targets))?;
    let is_support = |(_, weight): &(Vec<f64>, f64)| *weight != 0.0;
    (svr.vectors, svr.weights) =
        scaled.into_iter().zip(fitted.alpha.iter().copied()).filter(is_support).unzip();
    svr.bias -= fitted.rho;
    Ok(svr)
}

/// Relative errors in rising order.
pub(super) fn errors(svr: &Svr, matrices: &[&Samples]) -> Vec<f64> {
    let samples = matrices.iter().flat_map(|samples| samples.iter());
    let mut errors: Vec<f64> =
        samples.map(|(features, seconds)| (svr.seconds(features) - seconds).abs() / seconds).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds that are a product of powers of two features, times a step of a third.
    fn samples(n: usize, from: usize) -> Vec<Samples> {
        let one = |i: usize| {
            let (a, b) = ((i * 37 % 101) as f64 / 10.0, (i * 53 % 89) as f64 / 10.0);
            let seconds = (0.8 * a + 0.1 * b - 14.0 + if i.is_multiple_of(2) { 0.5 } else { 0.0 }).exp();
            (vec![a, b, (i % 2) as f64, 7.0], seconds)
        };
        (from..from + n).map(|matrix| (0..8).map(|split| one(matrix * 8 + split)).collect()).collect()
    }

    #[test]
    fn a_regression_predicts_what_it_has_not_seen_and_comes_out_the_same_again() {
        let (known, unknown) = (samples(40, 0), samples(10, 40));
        let [known, unknown] = [&known, &unknown].map(|list| list.iter().collect::<Vec<_>>());
        let svr = fit(&known).unwrap();
        let errors = errors(&svr, &unknown);
        assert!(errors[errors.len() / 2] < 0.05 && errors[errors.len() * 9 / 10] < 0.15, "{errors:?}");
        assert_eq!(fit(&known).unwrap(), svr);
    }

    #[test]
    fn ours_predicts_as_the_library_does() {
        let known = samples(10, 0);
        let known: Vec<&Samples> = known.iter().collect();
        let svr = fit_with(&known, 2.0, 10.0).unwrap();
        let all: Vec<_> = known.iter().flat_map(|samples| samples.iter()).collect();
        let scaled: Vec<f64> = all.iter().flat_map(|(features, _)| svr.scaled(features)).collect();
        let mean_ln = all.iter().map(|(_, s)| s.ln()).sum::<f64>() / all.len() as f64;
        let records = Array2::from_shape_vec((all.len(), 4), scaled).unwrap();
        let targets = Array1::from_iter(all.iter().map(|(_, s)| s.ln() - mean_ln));
        let params = Svm::<f64, f64>::params().c_svr(10.0, Some(TUBE)).gaussian_kernel(8.0);
        let fitted = params.fit(&Dataset::new(records.clone(), targets)).unwrap();
        for (record, (features, _)) in records.outer_iter().zip(all) {
            let theirs = (fitted.predict(record.to_owned()) + mean_ln).exp();
            let ours = svr.seconds(features);
            assert!((ours - theirs).abs() < 1e-9 * theirs, "{ours} {theirs}");
        }
    }
}
