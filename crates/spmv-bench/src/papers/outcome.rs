//! What a run of `reproduce` found, as it is printed, drawn and archived.

use serde::{Deserialize, Serialize};

use crate::bench::report::Device;

/// Version of the archives. It grows when a field goes away, is renamed or changes its meaning.
pub(crate) const SCHEMA: &str = "spmv-reproduce/1";

/// One run: some items of one paper on some devices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Findings {
    pub(crate) schema: String,
    pub(crate) paper: String,
    /// Processor, threads and system.
    pub(crate) machine: String,
    pub(crate) commit: String,
    /// Whether it was a preview: few matrices, few runs.
    pub(crate) quick: bool,
    pub(crate) devices: Vec<Device>,
    /// Read bandwidth of the host's memory, GB/s.
    pub(crate) read_gbs: f64,
    pub(crate) outcomes: Vec<Outcome>,
}

/// What was found of one item.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) item: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) figures: Vec<Figure>,
    /// What was left out, and why: a sentence each.
    pub(crate) notes: Vec<String>,
    /// Results that the oracle refuses. They have no times.
    pub(crate) wrong: Vec<String>,
}

/// Numbers of the paper next to ours, matrix by matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// What the rows are: `matrix`, `device`.
    pub(crate) rows_are: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// After the point.
    pub(crate) digits: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// Whether the matrix was generated in the likeness of the paper's.
    pub(crate) twin: bool,
    /// One for each column.
    pub(crate) values: Vec<Value>,
    /// What numbers do not say: a tiling, a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
}

/// The paper's number, ours, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Value {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paper: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ours: Option<f64>,
}

/// A sentence of the paper with a number in it, and what became of it here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) what: String,
    /// Label of our device.
    pub(crate) on: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) precision: Option<String>,
    /// The paper's device and number, if it states one.
    pub(crate) papers: Vec<(String, f64)>,
    pub(crate) ours: Option<f64>,
    pub(crate) unit: String,
    pub(crate) rule: Rule,
}

/// When a claim counts as reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// Ours is on the same side of 1 as each of the paper's: the same one is faster.
    SameWinner,
    /// Ours is at most so many times the paper's greatest, and at least its least over that.
    Within(f64),
    /// Ours is at most so many times the paper's greatest: errors, costs.
    AtMost(f64),
    /// Ours equals the paper's to the digits that it prints (1 in 100, and half a unit).
    Equal,
    /// Stated for the reader; nothing follows.
    Shown,
}

/// Whether an item is as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Reproduced,
    Differs,
    /// Measured, but the paper states nothing that could hold or not.
    Shown,
    /// Nothing of it was measured.
    NotMeasured,
}

/// A figure, on the paper's axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) log: bool,
    /// Names of the positions 0, 1, ..., if they have names: matrices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) marks: Marks,
    pub(crate) points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Marks {
    Bars,
    Points,
    Line,
}

impl Value {
    pub(crate) fn ours(value: impl Into<Option<f64>>) -> Self {
        Self { paper: None, ours: value.into() }
    }

    pub(crate) fn both(paper: Option<f64>, ours: impl Into<Option<f64>>) -> Self {
        Self { paper, ours: ours.into() }
    }

    /// Ours over the paper's.
    pub(crate) fn ratio(self) -> Option<f64> {
        Some(self.ours? / self.paper.filter(|p| *p != 0.0)?)
    }
}

impl Column {
    pub(crate) fn new(name: impl Into<String>, digits: usize) -> Self {
        Self { name: name.into(), digits }
    }
}

impl Axis {
    pub(crate) fn linear(name: &str) -> Self {
        Self { name: name.into(), log: false, names: vec![] }
    }

    pub(crate) fn log(name: &str) -> Self {
        Self { log: true, ..Self::linear(name) }
    }

    pub(crate) fn named(name: &str, names: Vec<String>) -> Self {
        Self { names, ..Self::linear(name) }
    }
}

impl Claim {
    /// Whether it holds; `None` where nothing was measured or nothing follows.
    pub(crate) fn holds(&self) -> Option<bool> {
        let ours = self.ours?;
        let papers = || self.papers.iter().map(|(_, value)| *value);
        let (least, most) =
            (papers().fold(f64::INFINITY, f64::min), papers().fold(f64::NEG_INFINITY, f64::max));
        match self.rule {
            Rule::Shown => None,
            _ if self.papers.is_empty() => None,
            Rule::SameWinner => Some(papers().all(|paper| (paper >= 1.0) == (ours >= 1.0))),
            Rule::Within(factor) => Some(ours <= factor * most && ours >= least / factor),
            Rule::AtMost(factor) => Some(ours <= factor * most),
            Rule::Equal => {
                Some(papers().any(|paper| (ours - paper).abs() <= 0.5_f64.max(paper.abs() * 0.01)))
            }
        }
    }
}

impl Outcome {
    pub(crate) fn of(item: &str) -> Self {
        Self { item: item.into(), ..Self::default() }
    }

    /// Differs if a claim does not hold, is shown if none could be decided, and not measured if there is no table either.
    pub(crate) fn verdict(&self) -> Verdict {
        let decided: Vec<bool> = self.claims.iter().filter_map(Claim::holds).collect();
        match decided.iter().all(|holds| *holds) {
            false => Verdict::Differs,
            true if !decided.is_empty() => Verdict::Reproduced,
            true if self.tables.iter().all(|table| table.rows.is_empty()) => Verdict::NotMeasured,
            true => Verdict::Shown,
        }
    }
}

impl Verdict {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "differs",
            Verdict::Shown => "shown",
            Verdict::NotMeasured => "not measured",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn claim(papers: &[f64], ours: Option<f64>, rule: Rule) -> Claim {
        let papers = papers.iter().map(|value| ("some device".to_owned(), *value)).collect();
        Claim {
            what: "over CSR-vector, mean".into(),
            on: "cpu".into(),
            precision: None,
            papers,
            ours,
            unit: "x".into(),
            rule,
        }
    }

    #[test]
    fn a_claim_holds_by_its_rule() {
        let holds = |papers: &[f64], ours, rule| claim(papers, Some(ours), rule).holds();
        assert_eq!(holds(&[2.57, 5.61], 1.1, Rule::SameWinner), Some(true));
        assert_eq!(holds(&[2.57, 5.61], 0.9, Rule::SameWinner), Some(false));
        assert_eq!(holds(&[2.0, 4.0], 8.0, Rule::Within(2.0)), Some(true));
        assert_eq!(holds(&[2.0, 4.0], 0.9, Rule::Within(2.0)), Some(false));
        assert_eq!(holds(&[2.42], 4.9, Rule::AtMost(2.0)), Some(false));
        assert_eq!(holds(&[62e3], 62_451.0, Rule::Equal), Some(true));
        assert_eq!(holds(&[53.0], 54.0, Rule::Equal), Some(false));
        assert_eq!(holds(&[], 54.0, Rule::Equal), None);
        assert_eq!(claim(&[2.0], None, Rule::SameWinner).holds(), None);
    }

    #[test]
    fn an_item_differs_if_one_claim_does_and_is_shown_or_not_measured_without_any() {
        let mut outcome = Outcome::of("figure-4");
        assert_eq!(outcome.verdict(), Verdict::NotMeasured);
        let row = Row { label: "a".into(), twin: false, values: vec![], note: String::new() };
        outcome.tables.push(Table {
            title: "t".into(),
            rows_are: "matrix".into(),
            columns: vec![],
            rows: vec![row],
        });
        outcome.claims.push(claim(&[2.0], Some(3.0), Rule::Shown));
        assert_eq!(outcome.verdict(), Verdict::Shown);
        outcome.claims.push(claim(&[2.0], Some(3.0), Rule::SameWinner));
        assert_eq!(outcome.verdict(), Verdict::Reproduced);
        outcome.claims.push(claim(&[2.0], Some(0.3), Rule::SameWinner));
        assert_eq!(outcome.verdict(), Verdict::Differs);
    }
}
