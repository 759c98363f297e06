//! Scales of charts: from a value to a position, and where to put ticks.

/// A range of values laid over a range of positions.
pub(crate) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

/// Steps within a decade, coarsest first.
const STEPS: [&[f64]; 4] = [
    &[1.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
    &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0],
];

/// Fewest ticks of an axis.
const TICKS: usize = 4;

impl Axis {
    /// From 0 to a little above `high`.
    pub(crate) fn linear(high: f64, from: f64, to: f64) -> Self {
        Self { low: 0.0, high: high.max(1e-9) * 1.04, from, to, log: false }
    }

    /// From `low` to `high`, both above 0.
    pub(crate) fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high: high.max(low * 1.01), from, to, log: true }
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The position of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    pub(crate) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let decade = 10f64.powf((self.high / TICKS as f64).log10().floor());
            let factor =
                [5.0, 2.0].into_iter().find(|f| self.high / (decade * f) >= TICKS as f64).unwrap_or(1.0);
            let step = decade * factor;
            return (0..=(self.high / step) as usize).map(|i| i as f64 * step).collect();
        }
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let mut ticks = Vec::new();
        for steps in STEPS {
            ticks = decades.clone().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d))).collect();
            ticks.retain(|t| *t >= self.low * 0.9999 && *t <= self.high * 1.0001);
            if ticks.len() >= TICKS {
                break;
            }
        }
        ticks
    }
}

/// A tick's value without needless digits.
pub(crate) fn tick(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
