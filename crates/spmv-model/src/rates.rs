//! Times of every kernel as sums over what it does: the models that plans compare.

use serde::{Deserialize, Serialize};

/// Terms of [`Work`].
const TERMS: usize = 6;
/// Rounds of the fit, each of which weighs samples less that are far off.
const ROUNDS: usize = 20;
/// Relative error below which samples weigh alike.
const NEAR: f64 = 0.02;
/// Sweeps over the rates of one round.
const SWEEPS: usize = 20_000;

/// What a kernel does for a matrix, in counts that its time is a sum over.
///
/// ```
/// use spmv_model::Work;
/// let work = Work { thread_wakeups: 0.0, slots: 5.0, rows: 3.0, critical_path: 1.5, x_cache_lines: 0.0 };
/// assert_eq!(work.slots, 5.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// 1 if threads of a CPU must be woken, else 0: on a GPU, the launch is in any case.
    pub thread_wakeups: f64,
    /// Nonzeros and padding slots; for each thread that takes part, as `rows` and `x_cache_lines`.
    pub slots: f64,
    /// Rows.
    pub rows: f64,
    /// Steps of the lane that has the most to do, where rows are not cut.
    pub critical_path: f64,
    /// Lines of `x` that entries do not share.
    pub x_cache_lines: f64,
}

impl Work {
    fn terms(&self) -> [f64; TERMS] {
        [1.0, self.thread_wakeups, self.slots, self.rows, self.critical_path, self.x_cache_lines]
    }
}

/// Seconds that a kernel takes for each unit of [`Work`]; none negative.
///
/// ```
/// use spmv_model::{Rates, Work};
/// let work = |slots: f64| Work { thread_wakeups: 0.0, slots, rows: 0.0, critical_path: 0.0, x_cache_lines: 0.0 };
/// // 1 us, and 1 ns a slot.
/// let samples = [1e3, 2e3, 5e3].map(|slots| (work(slots), 1e-6 + 1e-9 * slots));
/// let rates = Rates::fit(&samples);
/// assert!((rates.seconds(&work(1e4)) - 11e-6).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// In any case, and for waking threads.
    start: f64,
    wakeup: f64,
    slot: f64,
    row: f64,
    step: f64,
    cache_line: f64,
}

impl Rates {
    /// The rates, none negative, with the least relative errors: squares for small ones, and as many times less weight for
    /// larger ones, so that a few matrices of another kind do not spoil the rest. Without samples all are 0.
    pub fn fit(samples: &[(Work, f64)]) -> Self {
        // Each equation is divided by its time, and each term by the largest it gets.
        let mut equations: Vec<[f64; TERMS]> =
            samples.iter().filter(|(_, s)| *s > 0.0).map(|(work, s)| work.terms().map(|t| t / s)).collect();
        let mut scale = [0.0f64; TERMS];
        for equation in &equations {
            for (scale, term) in scale.iter_mut().zip(equation) {
                *scale = scale.max(*term);
            }
        }
        for equation in &mut equations {
            for (term, scale) in equation.iter_mut().zip(scale) {
                *term /= if scale > 0.0 { scale } else { 1.0 };
            }
        }
        let mut rates = [0.0; TERMS];
        for _ in 0..ROUNDS {
            let weight = |equation: &[f64; TERMS]| 1.0 / (dot(equation, &rates) - 1.0).abs().max(NEAR);
            let weights: Vec<f64> = equations.iter().map(weight).collect();
            descend(&equations, &weights, &mut rates);
        }
        let [start, wakeup, slot, row, step, cache_line] =
            std::array::from_fn(|i| if scale[i] > 0.0 { rates[i] / scale[i] } else { 0.0 });
        Self { start, wakeup, slot, row, step, cache_line }
    }

    /// Predicted time.
    pub fn seconds(&self, work: &Work) -> f64 {
        let Self { start, wakeup, slot, row, step, cache_line } = *self;
        dot(&[start, wakeup, slot, row, step, cache_line], &work.terms())
    }

    /// Whether none is negative.
    pub(crate) fn is_valid(&self) -> bool {
        let Self { start, wakeup, slot, row, step, cache_line } = *self;
        [start, wakeup, slot, row, step, cache_line].iter().all(|rate| *rate >= 0.0)
    }
}

fn dot(a: &[f64; TERMS], b: &[f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares of `equations * rates = 1` over rates that are not negative, one rate after another.
fn descend(equations: &[[f64; TERMS]], weights: &[f64], rates: &mut [f64; TERMS]) {
    let (mut gram, mut right) = ([[0.0; TERMS]; TERMS], [0.0; TERMS]);
    for (equation, weight) in equations.iter().zip(weights) {
        for i in 0..TERMS {
            right[i] += weight * equation[i];
            for j in 0..TERMS {
                gram[i][j] += weight * equation[i] * equation[j];
            }
        }
    }
    for _ in 0..SWEEPS {
        let mut moved = 0.0f64;
        for i in 0..TERMS {
            if gram[i][i] > 0.0 {
                let next = (rates[i] + (right[i] - dot(&gram[i], rates)) / gram[i][i]).max(0.0);
                moved = moved.max((next - rates[i]).abs());
                rates[i] = next;
            }
        }
        if moved <= 1e-16 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HAND: Rates =
        Rates { start: 1e-6, wakeup: 9e-6, slot: 1e-10, row: 3e-10, step: 5e-8, cache_line: 2e-10 };

    fn work(thread_wakeups: f64, slots: f64, rows: f64, critical_path: f64, x_cache_lines: f64) -> Work {
        Work { thread_wakeups, slots, rows, critical_path, x_cache_lines }
    }

    /// Independent of each other.
    fn works() -> Vec<Work> {
        let mut works = Vec::new();
        for (i, slots) in [1e3, 1e4, 1e5, 1e6].into_iter().enumerate() {
            for (j, rows) in [0.5, 0.1, 0.02].into_iter().enumerate() {
                let k = (i + j) as f64;
                works.push(work((k > 1.0).into(), slots, rows * slots, 3.0 * k * k, slots * (k % 3.0) / 4.0));
            }
        }
        works
    }

    #[test]
    fn rates_of_exact_times_come_back() {
        let samples: Vec<_> = works().into_iter().map(|work| (work, HAND.seconds(&work))).collect();
        let rates = Rates::fit(&samples);
        for (work, seconds) in samples {
            let error = (rates.seconds(&work) - seconds).abs() / seconds;
            assert!(error < 1e-12, "{error:e}: {rates:?}");
        }
    }

    #[test]
    fn one_wild_sample_changes_little() {
        let mut samples: Vec<_> = works().into_iter().map(|work| (work, HAND.seconds(&work))).collect();
        samples[5].1 *= 30.0;
        let rates = Rates::fit(&samples);
        let errors = samples.iter().map(|(work, _)| (rates.seconds(work) / HAND.seconds(work) - 1.0).abs());
        let errors: Vec<_> = errors.collect();
        assert!(errors.iter().all(|error| *error < 0.05), "{errors:?}");
    }

    #[test]
    fn no_rate_is_negative() {
        // Faster, the more rows there are.
        let sample = |rows: f64| (work(0.0, 1e4, rows, 0.0, 0.0), 1e-5 - 1e-10 * rows);
        let Rates { start, wakeup, slot, row, step, cache_line } = Rates::fit(&[1e3, 2e3, 5e3].map(sample));
        assert!([start, wakeup, slot, step, cache_line].iter().all(|rate| *rate >= 0.0));
        assert_eq!(row, 0.0);
    }

    proptest! {
        #[test]
        fn no_samples_make_a_fit_panic_or_a_prediction_negative(
            samples in prop::collection::vec((prop::array::uniform5(0.0..1e9f64), 0.0..1.0f64), 0..8),
            of in prop::array::uniform5(prop_oneof![Just(0.0), Just(f64::MAX), 0.0..1e9f64]),
        ) {
            let of_array = |[a, b, c, d, e]: [f64; 5]| work(a, b, c, d, e);
            let samples: Vec<_> = samples.into_iter().map(|(w, s)| (of_array(w), s)).collect();
            prop_assert!(Rates::fit(&samples).seconds(&of_array(of)) >= 0.0);
        }
    }
}
