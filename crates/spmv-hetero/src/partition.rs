//! How a split was found.

use std::fmt;

use crate::pattern::Pattern;
use crate::split::Split;

/// Where the times of a [`Step`] are from.
///
/// ```
/// use spmv_hetero::By;
/// assert_eq!(By::Models.to_string(), "predicted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// Support vector regression.
    Models,
    /// Runs.
    Runs,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            By::Models => "predicted",
            By::Runs => "measured",
        })
    }
}

/// A split that was tried.
///
/// ```
/// use spmv_hetero::{By, Split, Step};
/// let step = Step { split: Split::by_rows(5), by: By::Models, device_s: 2e-6, cores_s: 1e-6, total_s: 2e-6 };
/// assert_eq!(step.to_string(), "no regular part, 5 rows of the rest by auto: predicted 2.0 us of the device, 1.0 of the cores, 2.0 in all");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Where.
    pub split: Split,
    /// Whether the times are predicted.
    pub by: By,
    /// T_GPU in seconds, copies included; 0 without a part.
    pub device_s: f64,
    /// T_CPU in seconds; 0 without a part.
    pub cores_s: f64,
    /// Of a multiplication, in seconds; if predicted, the longer of the two.
    pub total_s: f64,
}

impl Step {
    /// |T_GPU - T_CPU| over the longer of both.
    pub fn imbalance(&self) -> f64 {
        imbalance(self.device_s, self.cores_s)
    }
}

pub(crate) fn imbalance(device_s: f64, cores_s: f64) -> f64 {
    let longer = device_s.max(cores_s);
    if longer > 0.0 { (device_s - cores_s).abs() / longer } else { 0.0 }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [device, cores, total] = [self.device_s, self.cores_s, self.total_s].map(|s| s * 1e6);
        write!(
            f,
            "{}: {} {device:.1} us of the device, {cores:.1} of the cores, {total:.1} in all",
            self.split, self.by
        )
    }
}

/// What was tried to find a split, and what was taken.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(co_matrix: &spmv_hetero::CoMatrix<B, B, f64>) {
/// if let Some(partition) = co_matrix.partition() {
///     println!("{} steps, {}", partition.trace.len(), partition.chosen.split);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Of the matrix.
    pub pattern: Pattern,
    /// Every split that was tried, in order.
    pub trace: Vec<Step>,
    /// Of the splits that take at most 1.03 times as long as the fastest the most balanced, if times are known.
    pub best: Option<Step>,
    /// The device alone, and the cores alone, if times are known.
    pub alone: Option<[Step; 2]>,
    /// The budget in seconds ([`Steering::budget_s`](crate::Steering::budget_s)), if the search ended because it was spent.
    pub stopped_s: Option<f64>,
    /// What was taken.
    pub chosen: Choice,
}

impl Partition {
    /// Of a split that was not compared with others.
    pub(crate) fn untried(pattern: Pattern, split: Split, why: &str) -> Self {
        let chosen = Choice { split, why: why.into() };
        Self { pattern, trace: vec![], best: None, alone: None, stopped_s: None, chosen }
    }
}

/// What was taken, and why.
///
/// ```
/// use spmv_hetero::{Choice, Split};
/// let choice = Choice { split: Split::by_rows(0), why: "the cores alone are faster".into() };
/// assert_eq!(choice.to_string(), "no regular part, 0 rows of the rest by auto: the cores alone are faster");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Where it is split: device or host may have everything, where that is as fast.
    pub split: Split,
    /// In words.
    pub why: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.split, self.why)
    }
}

impl Partition {
    /// Everything that was tried, a line each.
    pub fn trace(&self) -> String {
        self.trace.iter().map(|step| format!("{step}\n")).collect()
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} matrix; {}", self.pattern, self.chosen)?;
        match self.stopped_s {
            Some(budget_s) => write!(f, "; the search stopped at its budget of {budget_s} s"),
            None => Ok(()),
        }
    }
}
